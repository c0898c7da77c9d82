// NumPy 2 keeps errstate in a context variable whose value is a capsule around {int errmask; npy_intp bufsize;
// PyObject* callback}. warnings.catch_warnings replaces the list of filters by a copy of the same tuples, so that a
// list is compared by its items.
#include "guards/numpy_state.h"

#include "cpython/numpy_api.h"

namespace fw::guards {

namespace {

constexpr const char* kCapsule = "numpy.ufunc.extobj";

struct ErrorState {
  int mask;
  npy_intp bufferSize;
  PyObject* callback;
};

/// The context variable; nullptr if this NumPy has none by that name. Kept for ever, as NumPy itself does.
PyObject* errorVariable() {
  // Under the GIL, which the import may let go of: no lock of ours may be held meanwhile, so that two threads may both
  // look.
  static PyObject* variable = nullptr;
  static bool looked = false;
  if (looked) return variable;
  cpython::Ref module = cpython::Ref::steal(PyImport_ImportModule("numpy._core._multiarray_umath"));
  cpython::Ref found =
      cpython::Ref::steal(module ? PyObject_GetAttrString(module.get(), "_extobj_contextvar") : nullptr);
  if (!found) PyErr_Clear();
  if (!looked && found && PyContextVar_CheckExact(found.get())) variable = found.release();
  looked = true;
  return variable;
}

}  // namespace

int64_t numpyErrorToken() {
  PyObject* variable = errorVariable();
  PyObject* value = nullptr;
  if (!variable || PyContextVar_Get(variable, nullptr, &value) < 0 || !value) {
    if (variable) PyErr_Clear();
    return -1;
  }
  cpython::Ref capsule = cpython::Ref::steal(value);
  if (!PyCapsule_IsValid(value, kCapsule)) return -1;
  auto* state = static_cast<const ErrorState*>(PyCapsule_GetPointer(value, kCapsule));
  return static_cast<int64_t>(static_cast<uint64_t>(state->bufferSize) << 24 ^ static_cast<uint64_t>(state->mask)) &
         INT64_MAX;
}

std::optional<Guard> numpyErrorsGuard() {
  int64_t token = numpyErrorToken();
  if (token < 0) return std::nullopt;
  return Guard{.kind = GuardKind::kNumpyErrors, .lo = token};
}

std::optional<Guard> warningFiltersGuard(SourceTable& sources) {
  cpython::Ref module = cpython::Ref::steal(PyImport_ImportModule("warnings"));
  cpython::Ref filters = cpython::Ref::steal(module ? PyObject_GetAttrString(module.get(), "filters") : nullptr);
  if (!filters) PyErr_Clear();
  if (!filters || !PyModule_CheckExact(module.get()) || !PyList_CheckExact(filters.get())) return std::nullopt;
  cpython::Ref items = cpython::checked(PyList_AsTuple(filters.get()));
  cpython::Ref name = cpython::checked(PyUnicode_InternFromString("filters"));
  SourceId base = sources.intern(SourceKind::kConst, {}, 0, module.get());
  return Guard{
      .kind = GuardKind::kItemsAre, .source = sources.intern(SourceKind::kAttr, base, 0, name.get()), .object = items};
}

}  // namespace fw::guards
