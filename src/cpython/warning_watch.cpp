// C code and Python code of the warnings module show a warning by `warnings._showwarnmsg`. While anybody watches, that
// is a function of ours, which passes on what other threads show.
#include "cpython/warning_watch.h"

#include "cpython/ref.h"

namespace fw::cpython {
namespace {

constexpr const char* kShow = "_showwarnmsg";

// Guarded by the GIL.
int watches = 0;
PyObject* own = nullptr;      // the function that is replaced, while there are watches
PyObject* instead = nullptr;  // ours, for ever
thread_local WarningWatch* innermost = nullptr;

Ref module() { return checked(PyImport_ImportModule("warnings")); }

}  // namespace

PyObject* WarningWatch::note(PyObject*, PyObject* message) {
  if (!innermost) return own ? PyObject_CallOneArg(own, message) : Py_NewRef(Py_None);
  innermost->warned_ = true;
  Py_RETURN_NONE;
}

WarningWatch::WarningWatch() : outer_(innermost) {
  static PyMethodDef method = {kShow, note, METH_O, nullptr};
  if (!instead) instead = checked(PyCFunction_New(&method, nullptr)).release();
  if (watches == 0) {
    const Ref warnings = module();
    Ref found = checked(PyObject_GetAttrString(warnings.get(), kShow));
    checked(PyObject_SetAttrString(warnings.get(), kShow, instead));
    own = found.release();
  }
  ++watches;
  innermost = this;
}

WarningWatch::~WarningWatch() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  innermost = outer_;
  if (warned_ && outer_) outer_->warned_ = true;
  const Ref warnings = Ref::steal(PyImport_ImportModule("warnings"));
  if (--watches == 0) {
    const Ref now = Ref::steal(warnings ? PyObject_GetAttrString(warnings.get(), kShow) : nullptr);
    if (now && now.get() == instead) (void)PyObject_SetAttrString(warnings.get(), kShow, own);
    Py_CLEAR(own);
  }
  if (warned_ && warnings) Py_XDECREF(PyObject_CallMethod(warnings.get(), "_filters_mutated", nullptr));
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

}  // namespace fw::cpython
