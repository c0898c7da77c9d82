#include "bindings/list_items.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "cpython/objects.h"
#include "frame_eval/data_ints.h"

namespace fw::bindings {
namespace {

using guards::InputBinding;

/// One after the other to `to`, which has room.
bool copyNumbers(PyObject* list, const InputBinding& binding, int64_t* to) {
  const Py_ssize_t count = PyList_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < count; ++i, ++to) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (binding.width > 0) {
      if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) != binding.width) return false;
      item = PyTuple_GET_ITEM(item, binding.column);
    }
    if (binding.from == InputBinding::From::kListOfFloats) {
      if (!PyFloat_CheckExact(item)) return false;
      std::memcpy(to, &reinterpret_cast<PyFloatObject*>(item)->ob_fval, sizeof(double));
    } else if (!PyLong_CheckExact(item) || !cpython::asInt64(item, to) || *to > capture::kMostDataInt ||
               *to < -capture::kMostDataInt) {
      return false;
    }
  }
  return true;
}

bool isNested(PyObject* list) { return PyList_GET_SIZE(list) > 0 && PyList_CheckExact(PyList_GET_ITEM(list, 0)); }

/// Of lists in it, which are as long as the first.
bool copyRows(PyObject* list, const InputBinding& binding, int64_t* to) {
  const Py_ssize_t size = PyList_GET_SIZE(PyList_GET_ITEM(list, 0));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* row = PyList_GET_ITEM(list, i);
    if (!PyList_CheckExact(row) || PyList_GET_SIZE(row) != size || !copyNumbers(row, binding, to + i * size))
      return false;
  }
  return true;
}

/// Of lists in it, of any lengths: what they hold, or how many that is, or where it begins.
bool copyLists(PyObject* list, const InputBinding& binding, int64_t* to) {
  int64_t total = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* row = PyList_GET_ITEM(list, i);
    if (!PyList_CheckExact(row)) return false;
    const int64_t size = PyList_GET_SIZE(row);
    if (binding.from == InputBinding::From::kListLengths)
      to[i] = size;
    else if (binding.from == InputBinding::From::kListStarts)
      to[i] = total;
    else if (total + size > binding.room || !copyNumbers(row, binding, to + total))
      return false;
    total += size;
  }
  return true;
}

bool copyAll(PyObject* list, const InputBinding& binding, int64_t* to) {
  if (binding.room > 0) return copyLists(list, binding, to);
  return isNested(list) ? copyRows(list, binding, to) : copyNumbers(list, binding, to);
}

/// Whether all are different lists, with those in them.
bool areApart(const guards::CallFrame& frame, const std::vector<ListInput>& inputs) {
  std::vector<PyObject*> lists;
  std::vector<int> seen;
  for (const ListInput& input : inputs) {
    if (std::find(seen.begin(), seen.end(), input.object) != seen.end()) continue;  // another part of the same
    seen.push_back(input.object);
    PyObject* list = frame.objects[input.object];
    lists.push_back(list);
    for (Py_ssize_t i = 0; isNested(list) && i < PyList_GET_SIZE(list); ++i) lists.push_back(PyList_GET_ITEM(list, i));
  }
  std::sort(lists.begin(), lists.end());
  return std::adjacent_find(lists.begin(), lists.end()) == lists.end();
}

}  // namespace

int64_t numbersIn(PyObject* list, const InputBinding& binding) {
  const bool items =
      binding.from == InputBinding::From::kListOfFloats || binding.from == InputBinding::From::kListOfInts;
  if (items && binding.room > 0) return binding.room;
  const int64_t count = PyList_GET_SIZE(list);
  return binding.room == 0 && isNested(list) ? count * PyList_GET_SIZE(PyList_GET_ITEM(list, 0)) : count;
}

std::vector<ListInput> listInputs(guards::GuardSet& guards) {
  std::vector<ListInput> inputs;
  for (size_t i = 0; i < guards.inputs.size(); ++i)
    if (guards::isList(guards.inputs[i].from))
      inputs.push_back({i, guards.objectIndex(guards.inputs[i].source), guards.inputs[i]});
  return inputs;
}

bool ListItems::fill(const guards::CallFrame& frame, const std::vector<ListInput>& inputs) try {
  const auto isWritten = [](const ListInput& input) { return input.binding.written; };
  if (std::any_of(inputs.begin(), inputs.end(), isWritten) && !areApart(frame, inputs)) return false;
  memory_.resize(inputs.size());
  for (size_t n = 0; n < inputs.size(); ++n) {
    PyObject* list = frame.objects[inputs[n].object];
    memory_[n] = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(numbersIn(list, inputs[n].binding)));
    if (!copyAll(list, inputs[n].binding, memory_[n].get())) return false;
    frame.buffers[inputs[n].input] = memory_[n].get();
  }
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace fw::bindings
