#include "bindings/call_arguments.h"

#include "cpython/numpy_api.h"
#include "guards/array_layout.h"

namespace fw::bindings {

using capture::LibraryArgument;
using cpython::checked;
using cpython::Ref;
using runtime::CallArray;

Ref CallArguments::build(const LibraryArgument& argument) {
  switch (argument.kind) {
    case LibraryArgument::Kind::kConstant: return argument.object;
    case LibraryArgument::Kind::kObject: return Ref::create(objects_[argument.index]);
    case LibraryArgument::Kind::kArray: return window(argument.index);
    case LibraryArgument::Kind::kScalar: {
      const CallArray array = frame.operand(static_cast<size_t>(argument.index));
      Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(guards::typeNumber(array.dtype))));
      return checked(PyArray_Scalar(array.data, reinterpret_cast<PyArray_Descr*>(descr.get()), nullptr));
    }
    case LibraryArgument::Kind::kFloat: return checked(PyFloat_FromDouble(number<double>(argument)[0]));
    case LibraryArgument::Kind::kInt: return checked(PyLong_FromLongLong(number<int64_t>(argument)[0]));
    case LibraryArgument::Kind::kBool: return checked(PyBool_FromLong(number<uint8_t>(argument)[0]));
    case LibraryArgument::Kind::kComplex: {
      const double* parts = number<double>(argument);
      return checked(PyComplex_FromDoubles(parts[0], parts[1]));
    }
    case LibraryArgument::Kind::kTuple:
    case LibraryArgument::Kind::kList: break;
    case LibraryArgument::Kind::kSlice:
      return checked(
          PySlice_New(build(argument.items[0]).get(), build(argument.items[1]).get(), build(argument.items[2]).get()));
  }
  const auto count = static_cast<Py_ssize_t>(argument.items.size());
  const bool tuple = argument.kind == LibraryArgument::Kind::kTuple;
  Ref items = checked(tuple ? PyTuple_New(count) : PyList_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref item = build(argument.items[static_cast<size_t>(i)]);
    tuple ? PyTuple_SET_ITEM(items.get(), i, item.release()) : PyList_SET_ITEM(items.get(), i, item.release());
  }
  return items;
}

CallArguments::Given CallArguments::build(const capture::LibraryCall& site) {
  Given given;
  for (const LibraryArgument& argument : site.positional) given.owned.push_back(build(argument));
  if (site.keywords.empty()) return given;
  given.names = checked(PyTuple_New(static_cast<Py_ssize_t>(site.keywords.size())));
  for (size_t i = 0; i < site.keywords.size(); ++i) {
    given.owned.push_back(build(site.keywords[i].second));
    PyTuple_SET_ITEM(given.names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(site.keywords[i].first.get()));
  }
  return given;
}

Ref CallArguments::make(const capture::LibraryCall& site, const Given& given) {
  absl::InlinedVector<PyObject*, 8> arguments = {nullptr};  // room for what a bound method puts in front
  for (const Ref& object : given.owned) arguments.push_back(object.get());
  const size_t count = site.positional.size() | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return Ref::steal(PyObject_Vectorcall(site.function.get(), arguments.data() + 1, count, given.names.get()));
}

}  // namespace fw::bindings
