#include "frame_eval/type_lookups.h"

#include <string>
#include <utility>

#include "cpython/types.h"
#include "frame_eval/break_reason.h"

namespace fw::capture {

using cpython::Ref;

namespace {

thread_local TypeLookups* active = nullptr;  // captures of other threads go on while one runs Python code

bool isDunder(PyObject* name) {
  const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
  return length > 4 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_';
}

}  // namespace

TypeLookups::TypeLookups() : outer_(std::exchange(active, this)) {}
TypeLookups::~TypeLookups() { active = outer_; }

std::span<PyTypeObject* const> mroOf(PyTypeObject* type) {
  if (cpython::isReady(type)) return cpython::mroOf(type);
  const bool made = type->tp_flags & Py_TPFLAGS_HEAPTYPE;
  throw CaptureBreak(
      BreakReason::kUnsupportedObject,
      (made ? "a class that is being made: " : "a type that is not ready: ") + std::string(type->tp_name));
}

PyObject* lookUp(PyTypeObject* type, PyObject* name) {
  (void)mroOf(type);
  PyObject* found = _PyType_Lookup(type, name);
  if (!active || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return found;
  std::vector<TypeLookups::Noted>& noted = active->noted_[type];
  for (const TypeLookups::Noted& known : noted)
    if (known.lookup.name.get() == name && known.lookup.found.get() == found) return found;
  noted.push_back({{Ref::create(name), Ref::create(found)}});
  return found;
}

void TypeLookups::readAsSource(PyTypeObject* type, PyObject* name) {
  if (isDunder(name)) return;  // classes and capture itself look at those
  for (Noted& known : noted_[type])
    if (known.lookup.name.get() == name) known.sourceOnly = true;
}

std::vector<guards::ClassLookup> TypeLookups::of(PyTypeObject* type) const {
  std::vector<guards::ClassLookup> lookups;
  const std::span<PyTypeObject* const> mro = cpython::mroOf(type);
  for (size_t i = 0; i < mro.size(); ++i) {
    auto it = noted_.find(mro[i]);
    if (it == noted_.end()) continue;
    for (const Noted& noted : it->second) {
      lookups.push_back(noted.lookup);
      lookups.back().typeOnly = noted.sourceOnly && noted.lookup.found;
      lookups.back().base = static_cast<Py_ssize_t>(i);
    }
  }
  return lookups;
}

}  // namespace fw::capture
