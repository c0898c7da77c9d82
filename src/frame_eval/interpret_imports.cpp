// `import` inside functions: of modules that sys.modules holds, which is what the statement answers without running
// anything. The module and the import function are guarded by identity; whatever would load code breaks.
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

using cpython::checked;
using guards::SourceKind;

namespace {

/// The functions that this process began with.
PyObject* originalImport() {
  static PyObject* const function = [] {
    PyObject* builtins = PyImport_GetModule(checked(PyUnicode_FromString("builtins")).get());
    return builtins ? PyDict_GetItemString(PyModule_GetDict(builtins), "__import__") : nullptr;
  }();
  return function;
}

/// Half-initialised modules are waited for.
bool isInitializing(PyObject* module) {
  PyObject* spec = PyDict_GetItemString(PyModule_GetDict(module), "__spec__");
  if (!spec || spec == Py_None) return false;
  Ref flag = Ref::steal(PyObject_GetAttrString(spec, "_initializing"));
  if (!flag) PyErr_Clear();
  return flag && flag.get() != Py_False;
}

}  // namespace

/// The module that sys.modules holds under the name, guarded.
Value* Interpreter::loadedModule(const std::string& name) {
  PyObject* modules = PyImport_GetModuleDict();
  Ref key = checked(PyUnicode_InternFromString(name.c_str()));
  PyObject* module = PyDict_CheckExact(modules) ? PyDict_GetItemWithError(modules, key.get()) : nullptr;
  if (!module || !PyModule_CheckExact(module) || isInitializing(module)) {
    trace_.fail(BreakReason::kUnsupportedInstruction, "import " + name);
  }
  SourceId base = trace_.sources().intern(SourceKind::kConst, {}, 0, modules);
  return trace_.open(setting(trace_.sources().intern(SourceKind::kDictItem, base, 0, key.get()), module));
}

void Interpreter::onImportName(const Instr& instr) {
  Value* names = pop();
  Value* level = pop();
  std::string name = text(nameAt(instr.arg));
  PyObject* builtins = frame_->builtins.get();
  Ref key = checked(PyUnicode_InternFromString("__import__"));
  PyObject* function = PyDict_CheckExact(builtins) ? PyDict_GetItemWithError(builtins, key.get()) : nullptr;
  bool absolute = isConstantOf(level, &PyLong_Type) && PyLong_AsLong(level->object.get()) == 0;
  if (!absolute || !function || function != originalImport()) {
    trace_.fail(BreakReason::kUnsupportedInstruction, "import " + name);
  }
  SourceId base = trace_.sources().intern(SourceKind::kBuiltins, frame_->function);
  (void)trace_.open(trace_.fromSource(trace_.sources().intern(SourceKind::kDictItem, base, 0, key.get()), function));
  Value* module = loadedModule(name);
  size_t dot = name.find('.');
  if (dot != std::string::npos && isNone(names)) module = loadedModule(name.substr(0, dot));
  const bool isPackage = PyDict_GetItemString(PyModule_GetDict(module->object.get()), "__path__") != nullptr;
  if (isPackage && isConstantOf(names, &PyTuple_Type)) {
    // One that it does not have is a submodule, which this very instruction loads.
    PyObject* all = names->object.get();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all); ++i) getAttribute(module, PyTuple_GET_ITEM(all, i));
  }
  push(module);
}

/// Keeps the module and pushes its attribute; one that is missing breaks.
void Interpreter::onImportFrom(const Instr& instr) { push(getAttribute(trace_.open(top()), nameAt(instr.arg))); }

}  // namespace fw::capture
