// The table of access paths and their names for people. Names come from the code object of the function called, or of
// the constant function that a path starts at; nothing here runs Python code (no repr of user objects).
#include "guards/source.h"

#include "cpython/attributes.h"
#include "cpython/objects.h"
#include "graph/support/check.h"

namespace fw::guards {

SourceId SourceTable::intern(SourceKind kind, SourceId base, int64_t index, PyObject* object) {
  FW_CHECK(isRoot(kind) != base.valid());
  FW_CHECK(!base.valid() || base.index < sources_.size());
  auto [at, isNew] = ids_.try_emplace(Key{kind, base.index, index, object}, SourceId(sources_.size()));
  if (isNew) sources_.push_back({kind, base, index, cpython::Ref::create(object)});
  return at->second;
}

void SourceTable::replace(SourceId id, Source root) {
  FW_CHECK(isRoot(root.kind) && !sources_[id.index].base.valid());
  sources_[id.index] = std::move(root);
  ids_.clear();
}

namespace {

std::string text(PyObject* str) {
  if (!str || !PyUnicode_Check(str)) return "?";
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(str, &size);
  if (!utf8) {  // lone surrogates
    PyErr_Clear();
    return "?";
  }
  return std::string(utf8, static_cast<size_t>(size));
}

std::string typeName(PyTypeObject* type) {
  std::string name = type->tp_name;
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::string describeConstant(PyObject* object) {
  if (PyModule_CheckExact(object)) {
    const char* name = PyModule_GetName(object);
    if (!name) PyErr_Clear();
    return name ? name : "module";
  }
  if (PyType_Check(object)) return typeName(reinterpret_cast<PyTypeObject*>(object));
  if (PyFunction_Check(object)) return text(reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
  if (PyUnicode_CheckExact(object)) return "'" + text(object) + "'";
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object) ||
      PyBytes_CheckExact(object) || object == Py_None || object == Py_Ellipsis) {
    cpython::Ref repr = cpython::Ref::steal(PyObject_Repr(object));
    if (repr) return text(repr.get());
    PyErr_Clear();
  }
  return "<" + typeName(Py_TYPE(object)) + ">";
}

/// Name of slot `index` of a frame: arguments come first among the locals, the value stack behind them.
std::string slotName(PyObject* code, int64_t index) {
  if (!code || !PyCode_Check(code)) return "argument " + std::to_string(index);
  PyObject* names = reinterpret_cast<PyCodeObject*>(code)->co_localsplusnames;
  int64_t count = PyTuple_GET_SIZE(names);
  return index < count ? text(PyTuple_GET_ITEM(names, index)) : "stack[" + std::to_string(index - count) + "]";
}

std::string freeVariableName(PyObject* code, int64_t index) {
  std::string fallback = "cell " + std::to_string(index);
  if (!code || !PyCode_Check(code)) return fallback;
  cpython::Ref names = cpython::Ref::steal(PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(code)));
  if (!names) PyErr_Clear();
  if (!names || index < 0 || index >= PyTuple_GET_SIZE(names.get())) return fallback;
  return text(PyTuple_GET_ITEM(names.get(), index));
}

/// Code of the function that source `id` stands for, nullptr if not known.
PyObject* codeOf(const SourceTable& table, SourceId id, PyObject* code) {
  const Source& s = table[id];
  if (s.kind == SourceKind::kFunction) return code;
  PyObject* known = s.kind == SourceKind::kConst ? s.object.get() : nullptr;
  if (s.kind == SourceKind::kWeak) known = cpython::weakTarget(s.object.get());
  return known && PyFunction_Check(known) ? PyFunction_GET_CODE(known) : nullptr;
}

std::string functionName(const SourceTable& table, SourceId id, PyObject* code) {
  PyObject* own = codeOf(table, id, code);
  if (own && PyCode_Check(own)) return text(reinterpret_cast<PyCodeObject*>(own)->co_qualname);
  return table.describe(id, code);
}

}  // namespace

std::string SourceTable::describe(SourceId id, PyObject* code) const {
  const Source& s = (*this)[id];
  PyObject* object = s.object.get();
  auto base = [&] { return describe(s.base, code); };
  switch (s.kind) {
    case SourceKind::kArg: return slotName(code, s.index);
    case SourceKind::kFunction: return functionName(*this, id, code);
    case SourceKind::kConst: return describeConstant(object);
    case SourceKind::kGlobals: return "globals of " + functionName(*this, s.base, code);
    case SourceKind::kBuiltins: return "builtins of " + functionName(*this, s.base, code);
    case SourceKind::kCell:
    case SourceKind::kClosureCell: {
      std::string name = freeVariableName(codeOf(*this, s.base, code), s.index) + " (closure of " +
                         functionName(*this, s.base, code) + ")";
      return s.kind == SourceKind::kCell ? name : "cell of " + name;
    }
    case SourceKind::kTypeOf: return "type(" + base() + ")";
    case SourceKind::kAttr:
    case SourceKind::kTypeAttr: return base() + "." + text(object);
    case SourceKind::kItem: return base() + "[" + std::to_string(s.index) + "]";
    case SourceKind::kDictItem: {
      const Source& dict = (*this)[s.base];
      if (dict.kind == SourceKind::kGlobals)
        return text(object) + " (global of " + functionName(*this, dict.base, code) + ")";
      if (dict.kind == SourceKind::kBuiltins) return text(object) + " (builtin)";
      return base() + "[" + describeConstant(object) + "]";
    }
    case SourceKind::kDefault: return "default " + std::to_string(s.index) + " of " + functionName(*this, s.base, code);
    case SourceKind::kKwDefault: return "default " + text(object) + " of " + functionName(*this, s.base, code);
    case SourceKind::kBoundSelf: return base() + ".__self__";
    case SourceKind::kBoundFunc: return base() + ".__func__";
    case SourceKind::kContents: {
      // A cell among the slots of a frame, or in a closure, has the name of its variable.
      const Source& cell = (*this)[s.base];
      if (cell.kind == SourceKind::kArg) return base();
      if (cell.kind == SourceKind::kClosureCell) return base().substr(std::string_view("cell of ").size());
      return base() + ".cell_contents";
    }
    case SourceKind::kWeak: {
      PyObject* target = reinterpret_cast<PyWeakReference*>(object)->wr_object;
      return target == Py_None ? "<dead object>" : describeConstant(target);
    }
    case SourceKind::kModuleDict: return base() + ".__dict__";
    case SourceKind::kElement: return "element " + std::to_string(s.index) + " of " + base();
    case SourceKind::kHeldItem: return base() + "[" + describeConstant(object) + "]";
    case SourceKind::kIterated: return "what " + base() + " iterates over";
  }
  FW_UNREACHABLE();
}

}  // namespace fw::guards
