// The symbolic interpreter: executes neutral bytecode on Values and records a Trace. Families of instructions stand in
// files of their own (interpret_*.cpp); every instruction of neutral_ops.def has one member function on##Id.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "cpython/bytecode.h"
#include "frame_eval/capture.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/trace.h"

namespace fw::capture {

using cpython::Bytecode;
using cpython::Instr;
using numpy::CallArgs;

/// One activation of a Python function.
struct Frame {
  const Bytecode* code = nullptr;
  Ref globals, builtins;
  SourceId function;                  ///< below which globals hang
  std::vector<Value*> slots;          ///< localsplus; null is unbound
  std::vector<Value*> closure;        ///< cells, for COPY_FREE_VARS
  std::vector<Value*> stack;
  size_t pc = 0;
  Value* result = nullptr;            ///< set by RETURN_VALUE
  absl::flat_hash_map<size_t, int> backJumps;

  PyCodeObject* object() const { return code->object(); }
};

class Interpreter {
 public:
  Interpreter(Trace& trace, const CaptureOptions& options) : trace_(trace), options_(options) {}

  /// Runs the outermost call and answers what it returns. The frames stay when a CaptureBreak passes, for file().
  Value* run(const CallView& call);
  /// File of the innermost frame.
  std::string file() const;

  // Shared by the families.
  Value* call(Value* callable, CallArgs args);
  Value* binary(int op, bool inplace, Value* left, Value* right);
  Value* compare(int op, Value* left, Value* right);
  Value* unary(numpy::Unary op, Value* value);
  Value* getAttribute(Value* self, PyObject* name);
  Value* getItem(Value* container, Value* index);
  Value* length(Value* container);
  /// Everything an iteration over the value yields; breaks for infinite or unknown iterables.
  std::vector<Value*> iterate(Value* iterable);
  bool is(Value* left, Value* right);
  bool contains(Value* container, Value* item);
  /// Whether getAttribute() would find it; for kinds of values where that can be told, else a break.
  bool hasAttribute(Value* self, PyObject* name);
  /// Key as a plain constant, or break.
  Value* key(Value* value);

 private:
  friend struct Builtins;

  void execute(Frame& frame);
  const Bytecode& decoded(PyCodeObject* code);

  Value* pop();
  Value* top(int depth = 1) { return frame_->stack.at(frame_->stack.size() - static_cast<size_t>(depth)); }
  void push(Value* value) { frame_->stack.push_back(value); }
  std::vector<Value*> popMany(size_t count);
  PyObject* nameAt(int index) const;
  void jump(const Instr& instr);
  void jumpIf(const Instr& instr, bool taken);
  [[noreturn]] void unsupported(const Instr& instr);
  [[noreturn]] void raises(std::string what);
  /// The Python exception that is pending becomes a break.
  [[noreturn]] void raisesPending();
  /// Constant of a fresh object; a pending exception becomes kPythonException.
  Value* fold(PyObject* fresh);

  // Calls.
  Value* callFunction(Value* function, CallArgs args);
  Value* callConstant(Value* callable, CallArgs args);
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
  Value* moduleAttribute(Value* module, PyObject* name);
  Value* typeAttribute(Value* type, PyObject* name);
  Value* constantAttribute(Value* self, PyObject* name);
  Value* objectAttribute(Value* self, PyObject* name);
  Value* bindDescriptor(Value* self, PyTypeObject* type, PyObject* name, PyObject* found);
  void guardTypeVersion(PyTypeObject* type);

  // Python numbers (interpret_numbers.cpp).
  Value* intBinary(int op, Value* left, Value* right);
  Value* floatBinary(int op, Value* left, Value* right);
  Value* specializedBinary(int op, Value* left, Value* right);
  graph::ValueId asFloat(Value* value);
  Value* numberCompare(int op, Value* left, Value* right);
  Value* foldBinary(int op, Value* left, Value* right);

  // Containers.
  Value* sequenceBinary(int op, bool inplace, Value* left, Value* right);
  Value* sliceItems(Value* container, Value* index);
  size_t itemIndex(Value* container, Value* index);
  int findKey(Value* dict, Value* key);
  bool equal(Value* left, Value* right);
  void setKey(Value* dict, Value* key, Value* value);
  void checkOwned(Value* container, const char* what);
  Value* listMethod(Value* self, const std::string& name, const CallArgs& args);
  Value* dictMethod(Value* self, const std::string& name, const CallArgs& args);
  Value* formatValue(Value* value, Value* spec);

#define FW_OPCODE(Id, text, arg) void on##Id(const Instr& instr);
#include "cpython/neutral_ops.def"

  Trace& trace_;
  const CaptureOptions& options_;
  std::vector<std::unique_ptr<Frame>> frames_;
  Frame* frame_ = nullptr;
  absl::flat_hash_map<PyCodeObject*, std::unique_ptr<Bytecode>> decoded_;
  absl::flat_hash_set<PyTypeObject*> guardedTypes_;
  absl::flat_hash_set<std::pair<SourceId, PyObject*>> absentAttributes_;   ///< guarded NoInstanceAttr
  absl::flat_hash_set<SourceId> guardedFunctions_;
  absl::flat_hash_map<SourceId, Value*> settings_;     ///< numbers read from globals, defaults, modules
  absl::flat_hash_map<SourceId, Value*> cells_;
  absl::flat_hash_map<SourceId, Value*> globals_;      ///< names read before, with their guards
  int executed_ = 0;
};

/// Name of a callable for messages: "module.qualname".
std::string calleeName(PyObject* callable);
/// Call of a builtin function or type that the trace understands (builtins.cpp); null if it is none.
Value* callBuiltin(Interpreter& interpreter, Trace& trace, PyObject* callable, const CallArgs& args);

}  // namespace fw::capture
