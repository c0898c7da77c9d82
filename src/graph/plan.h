// What fuse and plan_memory decide: which values are computed together, where materialised values live, and what is
// done in which order. Input of kernels (one Kernel per Group) and of jit (buffers, workspace, steps).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "graph/target.h"

namespace fw::graph {

struct BufferTag;
using BufferId = StrongId<BufferTag>;

/// A value of the graph or of one of its regions: ids are local to those.
struct Place {
  int region;  ///< number in Plan::regions; 0: the graph itself
  ValueId value;
  friend bool operator==(const Place&, const Place&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Place& place) {
    return H::combine(std::move(h), place.region, place.value);
  }
};

/// A graph of the tree: the outermost one, or region `number` of the node at `owner`.
struct PlanRegion {
  Place owner;
  int number;
};

enum class BufferKind : uint8_t {
  kInput,   ///< array or scalar number `index` of the call; strides are symbols or follow from a packed layout
  kOutput,  ///< array number `index` that the call allocates: packed in the layout's order
  kTemp,    ///< packed, in the workspace
  kHandle,  ///< packed, in memory that changes: the address stands in the table of the call. A loop puts that of `home`
            ///< there before it begins, and exchanges those of its handles behind every iteration
  kGiven,  ///< packed, in an array that the host of the call gives: the result of a library call, or of the whole where
           ///< its size is known only on the way. The address stands in the table of the call from that step on
  kHeap,   ///< packed, in memory that is asked for when its size is known: it is there from its AllocStep to its
           ///< FreeStep, or to the end of the run. The address stands in the table of the call
};

struct Buffer {
  BufferKind kind;
  int index = 0;  ///< input or output number; for others the ordinal
  DType dtype;
  SymShape shape;
  Layout layout;
  SymList strides;  ///< bytes per axis
  SymId offset;     ///< kTemp: byte offset in the workspace (multiple of 64)
  BufferId home;    ///< kHandle
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
    kMap,      ///< no reduction
    kReduce,   ///< one or more reductions over reducedAxes, producers and consumers fused
    kJoin,     ///< one concatenate; each operand is stored into its part of the output
    kUpdate,   ///< a map some of whose outputs are updates, which run along all axes: the base is in the output buffer
               ///< already, and its slice is stored over, at each point behind everything that is computed there
    kCommit,   ///< stores of one domain, each through its target's views into the buffer of an input of its own
    kCheck,    ///< the values of a commit, for the flags they raise: its outputs, the stores, happen in the commit only
    kControl,  ///< a loop, branch, bind or library call, with its projects: no kernel, but steps of the plan
  };
  Kind kind;
  int region = 0;  ///< whose values they are
  SymShape domain;
  IntList reducedAxes;
  std::vector<ValueId> values;                    ///< in dependence order
  absl::flat_hash_map<ValueId, IntList> axisMap;  ///< for every entry of values
  std::vector<ValueId> outputs;                   ///< members stored to their buffer

  /// kUpdate: members read what other points store to. Points are taken in the order of `axis`, some rows at a time,
  /// and what updates store goes through buffers: it is held back until `delay` rows more have been computed.
  struct Held {
    int64_t axis;
    int64_t delay;
    int64_t rows = 0;                    ///< computed at a time
    std::vector<BufferId> buffers = {};  ///< of rows + delay, by update among the outputs
  };
  std::optional<Held> held;
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

struct Step;
using Steps = std::vector<Step>;

/// Runs Plan::groups[group].
struct KernelStep {
  int group;
};

/// What loops, branches and binds have in common.
struct ControlStep {
  struct Body {
    int region;
    Steps steps;
  };
  Place node;
  std::vector<Body> bodies;      ///< by region of the node
  std::vector<ValueId> results;  ///< its projects by element of the tuple; invalid: nobody reads it
};

/// do { body } while (again), at most `trip` times, and not at all if that is 0.
struct LoopStep : ControlStep {
  std::optional<SymId> trip;
  std::optional<SymId> index;  ///< the symbol that counts iterations, from 0
  BufferId again;              ///< bool
  std::vector<BufferId> handles;
  /// Behind every iteration the handles on the left get the addresses that those on the right had; each stands once on
  /// either side.
  std::vector<std::pair<BufferId, BufferId>> moves;
  std::vector<BufferId> rewrites;  ///< inputs that it stores into (rewriting.h)
};

/// bodies[0] if the predicate holds, else bodies[1].
struct CondStep : ControlStep {
  BufferId predicate;  ///< bool
};

/// Runs the body with the symbol being what stands in `from`, an i64. Declines unless that is in the range.
struct BindStep : ControlStep {
  SymId symbol;
  BufferId from;
  SymId least, most;
};

/// From here to the end of the region the symbol is what stands in `from`, an i64. Declines unless that is in the
/// range.
struct DefineStep {
  Place node;
  SymId symbol;
  BufferId from;
  SymId least, most;
  SymId of = {};  ///< what the number is, where that is an expression; it is within the bounds as well then
};

/// An array in a buffer.
struct Window {
  BufferId buffer;
  SymId offset;  ///< bytes from the start of the buffer's data
  SymShape shape;
  SymList strides;  ///< bytes
};

/// Library function `site` computes on the operands. Results of rank 0 are written into their buffers, others are where
/// the library has put them. Declines if it raises, or answers something of another type or shape.
struct CallStep {
  Place node;
  int site;
  int number;  ///< among the calls of the plan
  std::vector<Window> operands;
  std::vector<ValueId> projects;  ///< by element of the tuple; invalid: nobody reads it
  std::vector<BufferId> results;  ///< likewise
  std::vector<SymId> sizes;       ///< symbols that it binds: sizes of its results
};

/// Memory for a kHeap buffer, or an array for a kGiven one, as large as its sizes now say. Declines if there is none.
struct AllocStep {
  BufferId buffer;
  int number;  ///< of kGiven buffers: among those of the plan
};

/// Nobody reads the kHeap buffer any more.
struct FreeStep {
  BufferId buffer;
};

/// Both are packed alike, or one memory.
struct CopyStep {
  BufferId from, to;
};

/// Nothing visible has happened so far. What has come up is judged: flags, declines.
struct AcceptStep {};

/// Stores Plan::commits[commit] into inputs.
struct CommitStep {
  int commit;
};

struct Step {
  std::variant<KernelStep, LoopStep, CondStep, BindStep, DefineStep, CallStep, AllocStep, FreeStep, CopyStep,
               AcceptStep, CommitStep>
      what;
};
/// Null for steps that have no regions.
ControlStep* controlOf(Step& step);
const ControlStep* controlOf(const Step& step);

struct Plan {
  Target target;                    ///< what it was made for
  std::vector<PlanRegion> regions;  ///< numbered in the order of the steps
  std::vector<Group> groups;        ///< in the order in which the steps mention them
  std::vector<Group> commits;       ///< kCommit groups: run in order once the call is accepted
  std::vector<Buffer> buffers;
  absl::flat_hash_map<Place, BufferId> memory;  ///< inputs and materialised values
  SymId workspaceBytes;                         ///< 0 if there are no temporaries
  std::vector<OutputBinding> outputs;           ///< for graph.outputs()[i]
  Steps steps;
  int calls = 0;                     ///< CallSteps
  int definitions = 0;               ///< DefineSteps
  int madeArrays = 0;                ///< AllocSteps of kGiven buffers
  bool rewrites = false;             ///< a loop rewrites inputs
  absl::flat_hash_set<SymId> bound;  ///< symbols that loops, binds and calls give their values

  /// Where a value lives that has memory (FW_CHECKed).
  BufferId bufferOf(ValueId value, int region = 0) const;
  std::optional<BufferId> findBuffer(ValueId value, int region = 0) const;
  /// No loops, branches, binds or definitions: kernels, calls, Accept, commits.
  bool isStraight() const { return regions.size() <= 1 && definitions == 0; }
};

/// The graph of a region of the plan; `graph` is the outermost one.
const Graph& regionOf(const Plan& plan, const Graph& graph, int region);

/// The library calls of a plan, by number.
std::vector<const CallStep*> callsOf(const Plan& plan);
/// The kGiven buffers that AllocSteps make, by number.
std::vector<BufferId> madeArraysOf(const Plan& plan);
/// Symbols that library calls and definitions bind, from their step on.
absl::flat_hash_set<SymId> boundOnTheWay(const Plan& plan);

std::string print(const Plan& plan, const Graph& graph);

}  // namespace fw::graph
