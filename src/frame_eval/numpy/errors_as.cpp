#include "frame_eval/numpy/errors_as.h"

namespace fw::capture::numpy {

using cpython::checked;
using cpython::Ref;

ErrorsAs::ErrorsAs(const char* kind, const char* how) {
  std::fegetexceptflag(&flags_, FE_ALL_EXCEPT);
  const Ref numpy = checked(PyImport_ImportModule("numpy"));
  const Ref errstate = checked(PyObject_GetAttrString(numpy.get(), "errstate"));
  const Ref none = checked(PyTuple_New(0)), keywords = checked(PyDict_New());
  checked(PyDict_SetItemString(keywords.get(), kind, checked(PyUnicode_FromString(how)).get()));
  state_ = checked(PyObject_Call(errstate.get(), none.get(), keywords.get()));
  (void)checked(PyObject_CallMethod(state_.get(), "__enter__", nullptr));
}

ErrorsAs::~ErrorsAs() {
  PyObject *type, *value, *trace;  // of what may have been thrown
  PyErr_Fetch(&type, &value, &trace);
  const Ref left = Ref::steal(PyObject_CallMethod(state_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  if (!left) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  std::fesetexceptflag(&flags_, FE_ALL_EXCEPT);
}

}  // namespace fw::capture::numpy
