// One visit of the tree; numbers keep their kind.
#include "bindings/to_python.h"

#include "cpython/ref.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using cpython::Ref;
using nlohmann::json;

namespace {

PyObject* text(const std::string& s) {
  return PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace");
}

PyObject* toList(const json& value) {
  Ref list = Ref::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const json& item : value) {
    Ref object = Ref::steal(toPython(item));
    if (!object || PyList_Append(list.get(), object.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* toDict(const json& value) {
  Ref dict = Ref::steal(PyDict_New());
  if (!dict) return nullptr;
  for (const auto& [name, item] : value.items()) {
    Ref key = Ref::steal(text(name)), object = Ref::steal(toPython(item));
    if (!key || !object || PyDict_SetItem(dict.get(), key.get(), object.get()) < 0) return nullptr;
  }
  return dict.release();
}

}  // namespace

PyObject* toPython(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
    case json::value_t::discarded: return Py_NewRef(Py_None);
    case json::value_t::boolean: return PyBool_FromLong(value.get<bool>());
    case json::value_t::number_integer: return PyLong_FromLongLong(value.get<int64_t>());
    case json::value_t::number_unsigned: return PyLong_FromUnsignedLongLong(value.get<uint64_t>());
    case json::value_t::number_float: return PyFloat_FromDouble(value.get<double>());
    case json::value_t::string: return text(value.get_ref<const std::string&>());
    case json::value_t::binary: {
      const auto& bytes = value.get_binary();
      return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                       static_cast<Py_ssize_t>(bytes.size()));
    }
    case json::value_t::array: return toList(value);
    case json::value_t::object: return toDict(value);
  }
  Py_UNREACHABLE();
}

}  // namespace fw::bindings
