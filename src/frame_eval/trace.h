// State of one symbolic execution: the graph under construction, guards, values. The Python side (interpreter.cpp) and
// the NumPy side (numpy/*.cpp) both work on it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "frame_eval/branches.h"
#include "frame_eval/break_reason.h"
#include "frame_eval/contents.h"
#include "frame_eval/data_sizes.h"
#include "frame_eval/numbers.h"
#include "frame_eval/policy.h"
#include "frame_eval/type_lookups.h"
#include "frame_eval/exit_plan.h"
#include "frame_eval/library_call.h"
#include "frame_eval/library_ways.h"
#include "frame_eval/numpy/overlap.h"
#include "frame_eval/program_write.h"
#include "frame_eval/side_effect.h"
#include "frame_eval/turns.h"
#include "frame_eval/value.h"
#include "graph/numpy_types.h"

namespace fw::capture {

class Trace {
 public:
  Trace();
  Trace(const Trace&) = delete;

  graph::Graph& graph() { return graph_; }
  graph::SymContext& syms() { return graph_.syms(); }
  guards::SourceTable& sources() { return *guards_.sources; }
  guards::GuardSet& guardSet() { return guards_; }
  Numbers& numbers() { return numbers_; }
  const guards::ArrayLibrary& arrays() const { return *guards_.arrays; }  ///< whose arrays the values are
  bool onDevice() const { return arrays().onDevice(); }
  void useArrays(const guards::ArrayLibrary& library);  ///< breaks if there are those of another library

  // ---- values -----------------------------------------------------------------------------------------------------
  Value* constant(PyObject* borrowed);  ///< known object
  Value* constant(Ref owned);
  Value* array(graph::ValueId node, Value* base = nullptr);
  bool isReturned(graph::ValueId node) const;  ///< an array as a library call returns it
  /// A result that NumPy would return as a scalar if its rank is 0, else as an array.
  Value* arrayOrScalar(graph::ValueId node);
  Value* number(ValueKind kind, graph::ValueId node);  ///< kArrayScalar, kPyFloat, kPyBool, kPyComplex
  Value* pyInt(graph::SymId sym);                      ///< constant if the SymId is
  Value* tuple(std::vector<Value*> items);
  Value* list(std::vector<Value*> items);
  Value* slice(Value* start, Value* stop, Value* step);
  void holdRange(Value* range);  ///< a kRange becomes a constant, by guards
  Value* make(ValueKind kind);   ///< blank
  std::deque<Value>& values() { return values_; }
  const std::vector<Value*>& notNumbers() const { return notNumbers_; }  ///< of values(): what may hold others
  /// The value of an object that exists outside the trace, unopened: a kObject without guards, which can be moved and
  /// handed back. One Value per source, and one per mutable object: a second source of the same object is guarded to be
  /// the same.
  Value* fromSource(SourceId source, PyObject* object);
  /// Makes an unopened Value what it is, in place: installs guards and makes arrays and Python scalars inputs of the
  /// graph, containers virtual, everything else a constant or kObject. What is not understood (containers too large,
  /// arrays of other kinds) stays a kObject that only its users refuse. Unopened Values occur only on the stack, in
  /// locals, in cells, in attributes and as self of methods.
  Value* open(Value* value);
  Value* openRange(Value* value);                        ///< of a range that is only walked, the bounds stay unknown
  graph::SymId lengthOf(SourceId source, int64_t seen);  ///< of a list by its own source, whose type is guarded
  graph::ValueId addInput(guards::InputBinding::From from, SourceId source, graph::ValueType type);
  void refuseOpaque(Value* value);  ///< breaks with the reason why the kObject is not understood, if there is one

  // ---- side effects: the Values are changed by the caller, at once ------------------------------------------------
  const std::vector<SideEffect>& effects() const { return effects_; }
  /// Nothing happens for targets made in the trace.
  void effectAttr(Value* target, Value* name, Value* value);
  void effectItem(Value* dict, Value* key, Value* value);
  void effectSlice(Value* list, int64_t lo, int64_t hi, std::vector<Value*> items);
  void effectItems(Value* list, Value* items);      ///< those of another list are appended
  void effectNumbers(Value* list, Value* numbers);  ///< all of its items, or those of its items
  void effectSet(Value* set, Value* item, bool add);
  void effectCell(Value* cell, Value* content);
  void effectAdvance(Value* iterator, int64_t count);
  /// A method of a builtin container, called for what it does.
  void effectCall(Value* target, const char* method, std::vector<Value*> args);
  void effectRelease(size_t index);  ///< of locks[index]
  /// What the object holds - item `at`, or entry `at` of its attributes - becomes another thing.
  void effectHeld(Value* object, size_t at, bool attribute, Value* value);
  void noteChange(Value* object);  ///< in front of it, while somebody may want to go back (`watchers`)
  int watchers = 0;
  std::vector<std::pair<Value*, Contents>> changes;
  /// Goes back to where there were so many effects and changes.
  void undo(size_t effects, size_t changes);
  /// Guards that the objects written are no others that were read by another name; once, at the end.
  void guardAliases();
  /// Notes that names are read straight from the dict `source` (globals, a module's), which must not have been written
  /// as a dict.
  void readNamespace(SourceId source, PyObject* dict);
  void guardPresence();  ///< of what was loaded and then only dropped or moved; once, at the end

  // ---- decisions: answered from the values seen now, and guarded --------------------------------------------------
  /// left relation right? Proven without a guard where possible. Equality, once decided, is assumed by the SymContext.
  bool decide(graph::SymId left, guards::Relation relation, graph::SymId right);
  /// The same, but nullopt where array data or the turn of a loop decides.
  std::optional<bool> tell(graph::SymId left, guards::Relation relation, graph::SymId right);
  /// What holds whatever the values are, or was guarded before.
  std::optional<bool> known(graph::SymId left, guards::Relation relation, graph::SymId right);
  int64_t specialize(graph::SymId sym);  ///< to the value seen now
  /// Value seen now; breaks for what depends on the turn of a loop.
  int64_t hint(graph::SymId sym) const;
  void guard(guards::Guard guard);
  void pinFrom(size_t first);  ///< the guards from that number on hold fast one value of many
  /// Python truth of a value, decided with guards; breaks with kDataDependentBranch on array data.
  bool truth(Value* value);

  // ---- conversions ------------------------------------------------------------------------------------------------
  /// Operand of a NumPy call: graph value and weakness. Breaks if the value is not numeric.
  graph::UfuncOperand operand(Value* value);
  /// Python int, known or symbolic (bools and NumPy integers that are constants included), or break.
  graph::SymId asSym(Value* value);
  /// The same for a size: one that array data decides is a symbol from here on.
  graph::SymId asSize(Value* value);
  /// Known object behind the value (constants; tuples and slices of constants are built), or null.
  Ref asObject(Value* value);
  PyTypeObject* typeOf(Value* value);  ///< guarded from then on

  static bool isMutable(PyObject* object);  ///< its identity can be told: two sources of one are one Value

  /// By reference, as all parameters of functions that only throw: GCC 12 destroys moved-from values twice there.
  [[noreturn]] void fail(BreakReason reason, const std::string& detail);

  /// A constant equal to a Python number of the trace, whose arguments are specialised (Equals guards); null if the
  /// number depends on array data.
  Value* specializeNumber(Value* value);
  /// Makes sure by a guard that lo <= sym <= hi; false if that does not hold now.
  bool ensureWithin(graph::SymId sym, int64_t lo, int64_t hi);
  /// Constant of a guarded value: one whose guard is already installed.
  Value* guardedConstant(SourceId source, PyObject* object, guards::GuardKind kind);

  /// As the user would write it.
  std::string describe(SourceId source) const { return guards_.sources->describe(source, code); }

  /// Value that was read from `source`, or null.
  Value* valueOf(SourceId source) const {
    auto it = bySource_.find(source);
    return it == bySource_.end() ? nullptr : it->second;
  }

  std::vector<std::pair<const Value*, Value*>> tableWalks;       ///< of a kWorkTable, an iterator over it
  std::vector<ArrayWrite> arrayWrites;                           ///< numpy/memory.cpp; commits of the graph in the end
  bool keepsWrites = false;                                      ///< CaptureOptions::keepWrites
  std::vector<ProgramWrite> programWrites;                       ///< if so
  absl::flat_hash_map<Value*, int> programArrays;                ///< their arrays, numbered
  std::vector<std::pair<Value*, graph::ValueId>> writtenArrays;  ///< owners, and the inputs that they were;
                                                                 ///< those of lists, whether written or not

  std::vector<LibraryCall> libraryCalls;            ///< by the sites of the graph's calls
  std::vector<Value*> locks;                        ///< taken before the compiled code runs; see locks.h
  absl::flat_hash_map<PyObject*, Value*> standIns;  ///< objects that exist for look-ups only; see classes.h
  std::vector<Ref> heldStandIns;
  TypeLookups lookups;  ///< in classes, by this capture
  bool atomic = false;  ///< no other thread may run from the guards to the end

  std::vector<SharedMemory> shared;  ///< arrays known to share memory; see numpy/overlap.cpp
  void openSharedArrays();           ///< their views stand in front of what follows
  Branches branches{*this};          ///< on array data
  Turns turns{*this};                ///< of loops that become one loop of the graph
  ListPools pools;
  LoopDecisions* loops = nullptr;  ///< null: all loops are unrolled
  struct Log {
    const void* object;
    Value *list, *items;  ///< the caller's, once something has been appended; what has been
  };
  std::vector<Log> logs;                    ///< see logs.h
  LibraryWays* ways = nullptr;              ///< of calls of library functions
  DataSizes decided{*this};                 ///< sizes that library calls decide
  bool leavesRaises = false;                ///< Captured::leavesRaises
  int ufuncCalls = 0;                       ///< those counted for Captured::ufuncsAreOwn
  bool inlines = false;                     ///< some call of a Python function was traced into
  int errorsAt = -1;                        ///< instruction that has entered the error state in force
  bool mayRestart = true;                   ///< knowing more of them
  PyObject* code = nullptr;                 ///< code object of the function being captured (borrowed)
  SizePolicy sizes = SizePolicy::kAuto;     ///< of arrays without a mark of their own
  bool fixesSizes = true;                   ///< for products of small matrices
  std::function<bool(Value*)> objectTruth;  ///< of objects whose class decides
  int nesting = 0;                          ///< see Nesting
  int line = 0;                             ///< user's line being executed
  int at = -1;                              ///< instruction of the outermost frame being executed
  bool again = false;                       ///< an instruction that is executed has been before: a loop is unrolled

 private:
  friend class Interpreter;
  friend class Numbers;
  friend class DataSizes;
  friend struct CaptureSession;
  friend struct Locks;
  friend struct OutsideIterators;
  friend class Turns;
  bool isMadeByFrame(SourceId source, PyObject* function) const;
  Value* functionFromSource(SourceId source, PyObject* function);
  void convertSource(SourceId source, PyObject* object, Value* into);
  Value* arrayFromSource(SourceId source, PyObject* object);
  /// The array as a view of a shared block, or null if it belongs to none.
  Value* sharedArray(PyObject* object);
  struct Geometry {
    graph::DType dtype;
    graph::Layout layout;
    graph::SymShape shape;
    graph::SymList strides;
    graph::SymId address;
  };
  Geometry geometryOf(SourceId source, PyObject* array);
  void openShared(SharedMemory& memory);
  using AxisTerm = std::function<graph::SymId(size_t member, size_t axis)>;
  graph::ValueId sharedView(const SharedMemory& memory, size_t member, const Geometry& geometry, const AxisTerm& lowOf,
                            const AxisTerm& spanOf);
  Value* numberFromSource(SourceId source, PyObject* object);
  Value* containerFromSource(SourceId source, PyObject* object);
  void record(SideEffect effect);
  graph::SymId addSymbol(std::string name, graph::SymRange range, int64_t hint, guards::SymbolBinding binding);
  std::optional<bool> concreteTruth(Value* value);

  graph::Graph graph_;
  guards::GuardSet guards_;
  Numbers numbers_{*this};
  std::vector<int64_t> hints_;  ///< value of symbol i seen now
  std::deque<Value> values_;
  std::vector<Value*> notNumbers_;
  absl::flat_hash_map<SourceId, Value*> bySource_;
  absl::flat_hash_map<PyObject*, Value*> byObject_;  ///< mutable objects with a source
  std::vector<Value*> mutables_;                     ///< the same in order of appearance
  std::vector<Value*> sourced_;                      ///< all of bySource_ in order of appearance
  std::vector<SideEffect> effects_;
  /// Answers `left relation right` from what was guarded before.
  std::optional<bool> decidedBefore(graph::SymId left, guards::Relation relation, graph::SymId right);
  absl::flat_hash_map<graph::SymId, int64_t> lowerBounds_;  ///< guarded: expression without constant term >= bound
  absl::flat_hash_set<graph::SymId> nonZero_;               ///< guarded differences
  int dimCount_ = 0, intCount_ = 0;
  bool hasArrays_ = false;                                  ///< arrays() is settled
  int sourceDepth_ = 0;                                     ///< nesting of containers being read
  std::vector<std::pair<SourceId, PyObject*>> namespaces_;  ///< see readNamespace()
};

/// Exact types whose operations run no user code: int, float, complex, str, bytes, bool, None, tuples of them.
bool isPlain(PyObject* object);

}  // namespace fw::capture
