// From raw memory to Python: allocates output arrays before the native call; after it builds objects, replays side
// effects and writes the slots of the frame, as the exit plan says.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "absl/functional/function_ref.h"
#include "absl/container/inlined_vector.h"
#include "bindings/array_factory.h"
#include "cpython/numpy_api.h"
#include "frame_eval/exit_plan.h"
#include "graph/plan.h"
#include "graph/symint.h"
#include "runtime/sym_program.h"

namespace fw::bindings {

class HeldLocks;

class ResultBuilder {
 public:
  /// `arrays` makes the arrays of the results, and lives as long as this. `hostInputs`: inputs of the plan that are
  /// numbers of the host, where its arrays are elsewhere.
  ResultBuilder(const graph::Plan& plan, capture::ExitPlan exit, const graph::SymContext& syms,
                const ArrayFactory& arrays, absl::Span<const int> hostInputs);

  /// Memory of one call, laid out by the caller: sizeCount() words, scalarWords() for scalars, arrayCount() array
  /// pointers (null-initialised).
  struct Call {
    const int64_t* symbols;
    void** buffers;
    PyObject* const* objects;
    PyObject** slots = nullptr;  ///< regions: the slots of the frame
    int64_t* sizes;
    uint64_t* scalars;
    PyArrayObject** arrays;  ///< by buffer of the plan; behind them, by copy: the copy, and what it is of if a window
    HeldLocks* locks = nullptr;  ///< those of the exit plan, if it has any
    int64_t outputBytes = 0;     ///< out: size of all output arrays
  };
  size_t sizeCount() const { return program_.resultCount(); }
  size_t scalarWords() const { return 2 * (outputs_.size() + numbers_.size()); }
  size_t bufferCount() const { return bufferCount_; }
  size_t arrayCount() const { return bufferCount_ + 2 * copies_.size(); }

  /// Evaluates sizes, allocates every array of the result's own memory and fills call.buffers. False with a Python
  /// exception set. Nothing is written by then: what behind it may still fail is small.
  bool allocate(Call& call) const;
  int64_t workspaceBytes(const Call& call) const { return call.sizes[workspace_]; }
  /// Of arrays elsewhere: brings the numbers that the exit plan names to the host. False if `read` does not answer.
  bool readNumbers(Call& call, absl::FunctionRef<bool(void* to, const void* from, size_t bytes)> read) const;
  bool hasNumbersToRead() const { return !numbers_.empty(); }
  /// Everything the exit plan says. *result is a new reference if it returns. False with a Python exception set:
  /// nothing visible has changed unless memory ran out between side effects.
  bool leave(Call& call, PyObject** result) const;
  const capture::ExitPlan& exit() const { return exit_; }
  /// Some copy of a result can only be allocated when everything is computed.
  bool hasLateCopies() const;
  /// Drops the arrays that build() did not hand over. Call exactly once, whatever happened.
  void release(Call& call) const;

 private:
  struct OutputBuffer {
    int buffer;  ///< index in the plan
    int typeNumber;
    size_t itemSize;
    int rank;
    int sizes;         ///< index of the first dimension in Call::sizes
    int strides = -1;  ///< index of the first stride there; -1: packed in C order
    bool fortran = false;
    bool scalarOnly;  ///< rank 0 and only ever returned as a scalar: no array is made
  };
  struct View {
    int buffer;
    bool wholeBuffer;  ///< the array allocated for an output buffer, not a window into memory
    bool given;        ///< in memory that is there only when everything is computed
    int typeNumber;
    int rank;
    int offset;  ///< indices in Call::sizes; offset -1: at the start
    int sizes, strides;
    bool late = false;  ///< the data of the call decides its sizes
  };
  void checkMemory(const graph::Plan& plan) const;
  bool allocateOne(Call& call, size_t output) const;
  struct Progress {
    explicit Progress(size_t nodes) : made(nodes) {}
    absl::InlinedVector<PyObject*, 16> made;  ///< exit node -> its object, borrowed, for kShared
  };
  void planCopies();
  void planNumbers(const graph::Plan& plan, absl::Span<const int> hostInputs);
  bool allocateCopies(Call& call) const;
  bool allocateCopy(Call& call, int output) const;
  bool fillCopies(Call& call) const;
  bool copyOnDevice(Call& call) const;
  /// A slot of Call::arrays for each output that is an array: its buffer's, or its copy's.
  size_t slotOf(int output) const;
  PyObject* buildNode(Call& call, int node, Progress& progress) const;
  PyObject* buildItems(Call& call, const capture::ExitNode& node, Progress& progress) const;
  using ItemPlace = absl::InlinedVector<Py_ssize_t, 2>;
  /// An item of a list, or of a list in it, from what node `index` says of each. `at`: its place in the axes of the
  /// outputs.
  PyObject* buildItem(Call& call, int index, const ItemPlace& at) const;
  /// Where the item's number stands in an array.
  char* itemData(const Call& call, const View& view, const ItemPlace& at) const;
  /// A list of those along the next axis.
  PyObject* buildList(Call& call, int item, Py_ssize_t count, ItemPlace at, Py_ssize_t first = 0) const;
  /// The node of the one of its things.
  static int chosen(const capture::ExitNode& node, int64_t number);
  PyObject* buildArray(Call& call, const capture::ExitNode& node) const;
  PyObject* buildView(Call& call, const View& view, void* data, PyObject* base, bool writeable) const;
  void* dataOf(const Call& call, const View& view) const;
  bool isWhole(const capture::ExitNode& node) const;
  PyObject* buildContainer(Call& call, const capture::ExitNode& node, Progress& progress) const;
  PyObject* buildResult(Call& call) const;
  bool leaveRegion(Call& call, PyObject** result) const;

  const ArrayFactory& arrays_;
  capture::ExitPlan exit_;
  std::vector<OutputBuffer> outputs_;
  std::vector<int> given_;                       ///< buffers whose arrays library calls make
  std::vector<View> views_;                      ///< where each graph output lies
  std::vector<int> numbers_;                     ///< outputs that are numbers of Python's, computed by a device
  std::vector<int> numberOf_;                    ///< output -> its index there, or -1
  std::vector<int> copies_;                      ///< outputs that are arrays of their own, apart from their buffer
  std::vector<int> copyOf_;                      ///< output -> its index there, or -1
  std::vector<std::pair<int, size_t>> written_;  ///< part of an array that each commit stores: first size, rank
  std::vector<int> intResults_;                  ///< exit node -> index in sizes for kPyInt
  mutable runtime::RepeatedSymProgram program_;  ///< the GIL is held
  bool late_ = false;                            ///< some of it depends on sizes that the data of the call decides
  int workspace_ = 0;
  size_t bufferCount_ = 0;
};

}  // namespace fw::bindings
