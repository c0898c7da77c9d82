// What fuse and plan_memory decide: which values are computed together, and where materialised values live.
// Input of kernels (one Kernel per Group) and of jit (buffers, workspace).
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace fw::graph {

struct BufferTag;
using BufferId = StrongId<BufferTag>;

enum class BufferKind : uint8_t {
  kInput,   ///< array or scalar number `index` of the call; strides are symbols or follow from a packed layout
  kOutput,  ///< array number `index` that the call allocates: packed in the layout's order
  kTemp,    ///< packed, in the workspace
};

struct Buffer {
  BufferKind kind;
  int index = 0;  ///< input or output number; for kTemp the ordinal
  DType dtype;
  SymShape shape;
  Layout layout;
  SymList strides;  ///< bytes per axis
  SymId offset;     ///< kTemp: byte offset in the workspace (multiple of 64)
};

/// Values computed by one kernel. Every value of a group other than views is elementwise, a reduction, a
/// creation, a copy or a join; views of group members and of buffers are free and not listed.
///
/// All values of a group live in one iteration space `domain`, which has no axes of size statically 1. Axis d of a
/// value runs along domain axis axisMap[value][d], -1 where its own size is statically 1; domain axes a value does not
/// have are broadcast. An update's domain and axisMap are those of the stored slice. Reductions of the group all reduce
/// the domain axes `reducedAxes`; values that do not run along those axes are row values, computed once per row,
/// between stages.
struct Group {
  enum class Kind : uint8_t {
    kMap,     ///< no reduction
    kReduce,  ///< one or more reductions over reducedAxes, producers and consumers fused
    kJoin,    ///< one concatenate; each operand is stored into its part of the output
    kUpdate,  ///< one update: the base is already in the output buffer, the value is stored over the slice
    kCommit,  ///< stores of one domain, each through its target's views into the buffer of an input of its own
    kCheck,   ///< the values of a commit, for the flags they raise: its outputs, the stores, happen in the commit only
  };
  Kind kind;
  SymShape domain;
  IntList reducedAxes;
  std::vector<ValueId> values;                    ///< in dependence order
  absl::flat_hash_map<ValueId, IntList> axisMap;  ///< for every entry of values
  std::vector<ValueId> outputs;                   ///< members stored to their buffer
};

/// How graph.outputs()[i] is found after the call: the whole buffer, or a view of it. The shapes and strides are those
/// of the NumPy array to return.
struct OutputBinding {
  BufferId buffer;
  bool isView = false;
  SymId offset;  ///< bytes from the start of the buffer's data
  SymShape shape;
  SymList strides;  ///< bytes
};

struct Plan {
  std::vector<Group> groups;   ///< in execution order
  std::vector<Group> commits;  ///< kCommit groups: run in order once the call is accepted
  std::vector<Buffer> buffers;
  absl::flat_hash_map<ValueId, BufferId> bufferOf;  ///< inputs and materialised values
  SymId workspaceBytes;                             ///< 0 if there are no temporaries
  std::vector<OutputBinding> outputs;               ///< for graph.outputs()[i]
};

std::string print(const Plan& plan, const Graph& graph);

}  // namespace fw::graph
