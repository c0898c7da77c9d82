// The symbolic interpreter: executes neutral bytecode on Values and records a Trace. Families of instructions stand in
// files of their own (interpret_*.cpp); every instruction of neutral_ops.def has one member function on##Id.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpython/bytecode.h"
#include "frame_eval/capture.h"
#include "frame_eval/interpreter_state.h"
#include "frame_eval/numpy/numpy_ops.h"

namespace fw::capture {

using cpython::Instr;
using numpy::CallArgs;

class Interpreter : InterpreterState {
 public:
  Interpreter(Trace& trace, const CaptureOptions& options) : InterpreterState(trace, options) {
    trace_.objectTruth = [this](Value* value) { return objectTruth(value); };
  }
  Interpreter(const Interpreter&) = delete;

  /// Runs the outermost call and answers what it returns. The frames stay when a CaptureBreak passes, for file().
  Value* run(const CallView& call);
  /// The same for a region.
  FrameEnd runRegion(const RegionView& region);
  /// Before run(): what cannot be executed leaves unknown values (survey.h). What run() answers then is of no use.
  void follow(Survey* survey) { survey_ = survey; }
  std::string file() const;  ///< of the innermost frame

  // Shared by the families. Values answered are open.
  Value* call(Value* callable, CallArgs args) { return trace_.open(callRaw(callable, std::move(args))); }
  Value* binary(int op, bool inplace, Value* left, Value* right);
  Value *compare(int op, Value* left, Value* right), *equalsOrNone(int op, Value* left, Value* right);
  Value* unary(numpy::Unary op, Value* value);
  Value* getAttribute(Value* self, PyObject* name) { return trace_.open(attributeRaw(self, name)); }
  Value* getItem(Value* container, Value* index);
  Value* length(Value* container);
  /// Everything an iteration over the value yields; breaks for infinite or unknown iterables.
  std::vector<Value*> iterate(Value* iterable, bool asArguments = false);
  bool is(Value* left, Value* right);
  bool isNone(Value* value);
  bool contains(Value* container, Value* item);
  /// Whether getAttribute() would find it; for kinds of values where that can be told, else a break.
  bool hasAttribute(Value* self, PyObject* name);
  std::vector<Value*> sorted(std::vector<Value*> items, Value* keyFunction, bool reverse);
  /// Key as a plain constant, or break.
  Value* key(Value* value);
  Value* viewItem(Value* view, size_t index);
  Value* opened(Value* value) { return trace_.open(value); }
  Value* tupleOf(std::vector<Value*> items) { return trace_.tuple(std::move(items)); }
  bool typeHasAttribute(Value* self, PyObject* name);
  Value* iteratorOf(Value* iterable);  ///< iter(iterable)
  Value* nextOf(Value* iterator);      ///< null when it is exhausted
  graph::ValueId asFloat(Value* number);

  // Exceptions of the traced code: they unwind to its own handlers, or end the trace where there is none. What they
  // depend on must be known or guarded. (raises() always ends the trace and needs no guards.)
  [[noreturn]] void raiseValue(Value* exception);
  [[noreturn]] void raiseError(PyObject* type, const std::vector<Value*>& args);
  [[noreturn]] void raiseError(PyObject* type, const std::string& message);  ///< CPython's own text
  [[noreturn]] void raiseAbout(PyObject* type, const std::string& what);     ///< code that reads the text breaks
  /// Where Python must take over if the trace ends now: the outermost instruction that raised what is being handled; or
  /// -1.
  int resumeAt() const;
  /// Runs a suspended generator; null when it has returned.
  Value* resume(GeneratorIterator& generator, Value* sent, Value* thrown);
  /// Breaks if a generator is left where its death would run code.
  void checkGenerators() const;

 private:
  friend struct Branching;
  friend class Rolling;
  friend struct Builtins;
  friend struct ConsumedGenerators;
  friend struct InlinedGenerators;
  friend struct DeclaredCalls;
  friend struct LibraryCalls;
  friend struct Collections;
  friend struct Sets;
  friend struct Copier;
  friend struct Classes;
  friend struct Locks;
  friend struct Caches;
  friend class Choices;
  friend Value* callLibrary(Interpreter& interpreter, Trace& trace, PyObject* function, const CallArgs& args);

  void execute(Frame& frame), runTo(Frame& frame, int stop, int other = -1, const std::vector<bool>* inside = nullptr),
      step(Frame& frame);
  bool atStop(const Frame& frame), passUnknown(Frame& frame);
  void followLoopOnce(Frame& frame, const Instr& back);
  FrameEnd frameEnd(Frame& frame, const RegionView& region);
  const Bytecode &decoded(PyCodeObject* code), &decodedAlone(PyCodeObject* code);  ///< with inlined generators; without

  /// Opened; the raw ones may be unopened.
  Value* pop();
  Value* popCondition();  ///< opened, unless its truth can be told without
  Value* popRaw();
  /// The entry below the top, then the top, opened in this order.
  std::pair<Value*, Value*> popPair();
  Value* top(int depth = 1);
  /// What slot or stack entry `entry` of the outermost frame of a region holds, once it is looked at.
  Value* look(Value*& entry);
  Value* local(int slot);
  Value *cellAt(int slot), *contentOf(Value* cell);
  Value* closureCell(SourceId function, PyObject* closure, Py_ssize_t index);
  void push(Value* value) { frame_->stack.push_back(value); }
  std::vector<Value*> popMany(size_t count), popManyRaw(size_t count);
  PyObject* nameAt(int index) const;
  void jump(const Instr& at), branch(const Instr& at, bool jumpsIf), branchOnNone(const Instr& at, bool jumpsIf);
  std::optional<std::string> limitUnrolled(const Value* iterator);
  void drop(Value*& entry);
  [[noreturn]] void unsupported(const Instr& instr);
  [[noreturn]] void raises(const std::string& what);
  /// The Python exception that is pending becomes a break.
  [[noreturn]] void raisesPending();
  /// Constant of a fresh object; a pending exception becomes kPythonException.
  Value* fold(PyObject* fresh);
  Value* virtualized(Ref object);

  // Calls.
  Value *callRaw(Value* callable, CallArgs args), *callFound(Value* callable, const CallArgs& args);
  Value *makeMethod(const CallArgs& args), *callFunctionSlot(PyObject* wrapper, const CallArgs& args);
  Value *memberOf(Value* object, const char* name), *orMissing(const std::function<Value*()>& ask);
  Value* callFunction(Value* function, CallArgs args, Value* names = nullptr);
  Value* callConstant(Value* callable, CallArgs args, bool asDeclared = true);
  Value* callMethod(Value* self, const std::string& name, CallArgs args);
  Value* constantMethod(Value* self, const std::string& name, const CallArgs& args);
  void bind(Frame& frame, Value* function, CallArgs args);
  CallArgs popArguments(size_t positional, Value* keywordNames);
  void finishCall(CallArgs args);
  Value* defaultOf(Value* function, Py_ssize_t index);
  Value* kwDefaultOf(Value* function, PyObject* name);
  Ref codeOf(Value* function);
  Value* setting(SourceId source, PyObject* object);
  SourceId sourceOf(Value* function);

  // Attributes.
  Value* attributeRaw(Value* self, PyObject* name);
  Value* moduleAttribute(Value* module, PyObject* name);
  Value *typeAttribute(Value* type, PyObject* name), *typeFact(Value* type, PyObject* name, PyObject* descriptor);
  Value *constantAttribute(Value* self, PyObject* name), *objectAttribute(Value* self, PyObject* name);
  Value *superAttribute(Value* super, PyObject* name), *functionAttribute(Value* self, PyObject* name);
  Value *madeFunctionAttribute(Value* self, PyObject* name), *foundFunctionAttribute(Value* self, PyObject* name);
  Value* knownFunction(Value* function);
  Value* genericAttribute(Value* self, PyTypeObject* type, PyObject* name);
  Value* storedAttribute(Value* self, PyObject* name, bool slot);
  Value* bindDescriptor(Value* self, Value* cls, PyTypeObject* type, PyObject* name, PyObject* found);
  static bool isClassAttribute(PyObject* name, PyObject* found), isFunction(const Value* v);
  void storeAttribute(Value* self, PyObject* name, Value* value),
      setFunctionAttribute(Value* self, PyObject* name, Value* value);
  void genericStore(Value* self, PyTypeObject* type, PyObject* name, Value* value);
  void descriptorStore(Value* self, PyTypeObject* type, PyObject* name, PyObject* found, Value* value);
  // Objects of classes written in Python (interpret_protocol.cpp).
  static Ref internedName(const std::string& name);
  PyObject* specialMethod(Value* self, const std::string& name);
  Value* callSpecial(Value* self, const std::string& name, std::vector<Value*> args);
  Value* callOwnSpecial(Value* self, const std::string& name, std::vector<Value*> args);
  Value* objectBinary(int op, bool inplace, Value* left, Value* right);
  Value *compareSide(int op, Value* self, Value* other), *objectCompare(int op, Value* left, Value* right);
  Value *objectUnary(numpy::Unary op, Value* value), *objectBool(Value* value);
  bool objectTruth(Value* value);
  std::optional<bool> objectContains(Value* container, Value* item);
  Value* makeInstance(Value* cls, CallArgs args);
  Value* makeSuper(const CallArgs& args);
  Value* callObjectSlot(PyObject* wrapper, const CallArgs& args);

  // Globals written during the trace.
  /// Nothing if it was not written, null if it was deleted.
  std::optional<Value*> writtenGlobal(PyObject* globals, PyObject* name);
  void storeGlobal(PyObject* name, Value* value);
  void guardTypeVersion(PyTypeObject* type);

  // Python numbers (interpret_numbers.cpp).
  Value* intBinary(int op, Value* left, Value* right);
  Value* floatBinary(int op, Value* left, Value* right);
  Value* specializedBinary(int op, Value* left, Value* right);
  Value* numberCompare(int op, Value* left, Value* right);
  Value* foldBinary(int op, Value* left, Value* right);

  // Exceptions and with (interpret_exceptions.cpp).
  bool unwind(Frame& frame, Value* exception);
  [[noreturn]] void escaped(Value* exception);
  Value *makeException(PyObject* cls, CallArgs args), *makeGroup(PyObject* cls, const CallArgs& args),
      *raisable(Value* value), *exceptionText(Value* self, bool repr);
  void needText(Value* exception), setContext(Value* exception), setCause(Value* exception, Value* cause);
  Value* exceptionAttribute(Value* self, PyObject* name);
  void setExceptionAttribute(Value* self, PyObject* name, Value* value);
  Value* exceptionMethod(Value* self, const std::string& name, const CallArgs& args);
  static bool isInstanceOf(Value* exception, PyObject* cls);
  Value* boundSpecial(Value* self, const char* name);
  void landed() { inFlight_ = -1; }  ///< to be called by those who have caught a VirtualRaise

  // Iteration, generators, imports.
  Value *viewOf(Value* dict, const std::string& name), *arrayIterator(Value* array, bool reversed);
  Value *dictIterator(Value* view, bool reversed), *setIterator(Value* set),
      *rangeIterator(Value* range, bool reversed);
  std::vector<Value*> viewItems(Value* view), constantItems(Value* iterable);
  void suspend();
  bool suspendedInHandler(const GeneratorIterator& generator) const;
  [[noreturn]] void stopIteration(Value* returned);
  Value *thrownBy(const CallArgs& args), *delegate(const GeneratorIterator& generator),
      *closeGenerator(GeneratorIterator& generator);
  Value *throwInto(GeneratorIterator& generator, Value* exception), *collected(Value* iterable);
  Value* generatorMethod(Value* self, const std::string& name, const CallArgs& args);
  Value* iteratorMethod(Value* self, const std::string& name, const CallArgs& args);
  Value *returnedBy(Value* iterator), *callMade(Value* made, CallArgs args), *loadedModule(const std::string& name);
  static GeneratorIterator* generatorOf(Value* iterator);

  // Containers.
  Value* dictUnion(int op, bool inplace, Value* left, Value* right);
  Value* sequenceBinary(int op, bool inplace, Value* left, Value* right);
  Value *sliceItems(Value* container, Value* index), *missingKey(Value* dict, Value* index);
  size_t itemIndex(Value* container, Value* index, const char* outside);
  int findKey(Value* dict, Value* key);
  std::optional<Py_hash_t> keyHash(Value* key);
  bool sameKey(Value* held, Value* wanted);
  Value* plainItem(Value* container, Value* index);
  void updateDict(Value* dict, const CallArgs& args);
  bool equal(Value* left, Value* right), isOrEquals(Value* left, Value* right);
  void setKey(Value* dict, Value* key, Value* value);
  void eraseKey(Value* dict, int at);
  void spliceList(Value* list, size_t lo, size_t hi, std::vector<Value*> items);
  void extendList(Value* list, std::vector<Value*> items);
  void storeSlice(Value* list, Value* index, std::vector<Value*> items, bool remove);
  Ref constantSlice(Value* index);
  Value* blindMethod(Value* self, const std::string& name, const CallArgs& args);
  Value* unseenMethod(PyObject* callable, const CallArgs& args);
  Value* sortList(Value* list, const CallArgs& args);
  Ref knownKey(Value* key);
  std::exception_ptr sortItems(std::vector<Value*>& items, Value* keyFunction, bool reverse);
  Value* listMethod(Value* self, const std::string& name, const CallArgs& args);
  Value* dictMethod(Value* self, const std::string& name, const CallArgs& args);
  Value* formatValue(Value* value, Value* spec);

#define FW_OPCODE(Id, text, arg, pops, pushes, counted) void on##Id(const Instr& instr);
#include "cpython/neutral_ops.def"
};

/// Name of a callable for messages: "module.qualname".
std::string calleeName(PyObject* callable);
/// Call of a builtin function or type that the trace understands (builtins.cpp); null if it is none.
Value* callBuiltin(Interpreter& interpreter, Trace& trace, PyObject* callable, const CallArgs& args);

}  // namespace fw::capture
