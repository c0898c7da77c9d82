// _fw_splice_test: code maps and splicing for tests written in Python. A region's callable is Python code; it reaches
// the frame that the stub stands in through slots(), get() and put(), which look at the frame that was current when the
// region was called.
#include "cpython/current_frame.h"
#include "frame_eval/splice/splice.h"

namespace {

using namespace fw;
using cpython::checked;
using cpython::PythonError;
using cpython::Ref;

template <typename F>
PyObject* guarded(F body) {
  try {
    return body().release();
  } catch (const PythonError&) {
    return nullptr;
  }
}

PyCodeObject* codeOf(PyObject* code) {
  if (!PyCode_Check(code)) {
    PyErr_SetString(PyExc_TypeError, "a code object is expected");
    throw PythonError();
  }
  return reinterpret_cast<PyCodeObject*>(code);
}

Ref listOf(const std::vector<int>& numbers) {
  Ref list = checked(PyList_New(0));
  for (int n : numbers) checked(PyList_Append(list.get(), checked(PyLong_FromLong(n)).get()));
  return list;
}

/// A Region: calls its handler with itself; the handler sees the frame through the methods. The C function is what the
/// stub calls, so that the frame is the one that holds the stub.
struct Region {
  PyObject_HEAD
  PyObject* handler;
  cpython::CurrentFrame frame;
  int depth;  // entries of the value stack that may be looked at
};

PyObject* callRegion(PyObject* self, PyObject*, PyObject*) {
  auto* region = reinterpret_cast<Region*>(self);
  cpython::CurrentFrame outer = region->frame;
  region->frame = cpython::currentFrame();
  PyObject* result = PyObject_CallOneArg(region->handler, self);
  region->frame = outer;
  return result;
}

/// The slot of localsplus or, behind it, the value stack; nullptr with an exception if it cannot be.
PyObject** slotAt(Region* region, int index) {
  int slots = region->frame.code ? region->frame.code->co_nlocalsplus : -1;
  if (index < 0 || index >= slots + region->depth) {
    PyErr_SetString(PyExc_IndexError, "no such slot, or the region does not run");
    return nullptr;
  }
  return region->frame.slots + index;
}

PyObject* get(PyObject* self, PyObject* args) {
  int index;
  if (!PyArg_ParseTuple(args, "i", &index)) return nullptr;
  PyObject** slot = slotAt(reinterpret_cast<Region*>(self), index);
  if (!slot) return nullptr;
  return Py_NewRef(*slot ? *slot : Py_NotImplemented);
}

/// put(index, value): NotImplemented empties the slot.
PyObject* put(PyObject* self, PyObject* args) {
  int index;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "iO", &index, &value)) return nullptr;
  PyObject** slot = slotAt(reinterpret_cast<Region*>(self), index);
  if (!slot) return nullptr;
  Py_XSETREF(*slot, value == Py_NotImplemented ? nullptr : Py_NewRef(value));
  Py_RETURN_NONE;
}

PyObject* frameOf(PyObject* self, PyObject*) {
  auto* region = reinterpret_cast<Region*>(self);
  if (!region->frame.code) Py_RETURN_NONE;
  return Py_BuildValue("(OOi)", region->frame.function, region->frame.code, cpython::isThreadTraced());
}

PyObject* setDepth(PyObject* self, PyObject* number) {
  long depth = PyLong_AsLong(number);
  if (PyErr_Occurred()) return nullptr;
  reinterpret_cast<Region*>(self)->depth = static_cast<int>(depth);
  Py_RETURN_NONE;
}

void deallocRegion(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<Region*>(self)->handler);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* newRegion(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* handler;
  int depth = 0;
  if (!PyArg_ParseTuple(args, "O|i", &handler, &depth)) return nullptr;
  auto* region = reinterpret_cast<Region*>(type->tp_alloc(type, 0));
  if (!region) return nullptr;
  region->handler = Py_NewRef(handler);
  region->depth = depth;
  return reinterpret_cast<PyObject*>(region);
}

PyMethodDef kRegionMethods[] = {{"get", get, METH_VARARGS, nullptr},
                                {"put", put, METH_VARARGS, nullptr},
                                {"frame", frameOf, METH_NOARGS, nullptr},
                                {"set_depth", setDepth, METH_O, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyType_Slot kRegionSlots[] = {{Py_tp_new, reinterpret_cast<void*>(newRegion)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(deallocRegion)},
                              {Py_tp_call, reinterpret_cast<void*>(callRegion)},
                              {Py_tp_methods, kRegionMethods},
                              {0, nullptr}};
PyType_Spec kRegionSpec = {"_fw_splice_test.Region", sizeof(Region), 0, Py_TPFLAGS_DEFAULT, kRegionSlots};

/// What a compiled region's entry costs at least: answers a constant. decline and accept are METH_NOARGS builtins.
PyObject* decline(PyObject*, PyObject*) { Py_RETURN_NONE; }
PyObject* accept(PyObject*, PyObject*) { return PyLong_FromLong(0); }

/// map(code) -> dict of everything that CodeMap answers.
PyObject* mapOf(PyObject*, PyObject* object) {
  return guarded([&] {
    capture::CodeMap map(codeOf(object));
    const auto& code = map.code().instructions;
    Ref rows = checked(PyList_New(0));
    for (int i = 0; i < static_cast<int>(code.size()); ++i) {
      Ref live = checked(PyList_New(0));
      const std::vector<bool>& set = map.liveBefore(i);
      for (size_t s = 0; s < set.size(); ++s)
        if (set[s]) checked(PyList_Append(live.get(), checked(PyLong_FromSize_t(s)).get()));
      std::string text(cpython::info(code[i].op).text);
      if (code[i].op == cpython::Opcode::kUnsupported) text = cpython::rawName(code[i].arg);
      Ref row = checked(Py_BuildValue("{s:s,s:i,s:i,s:i,s:i,s:O,s:i,s:O,s:O,s:O}", "op", text.c_str(), "arg",
                                      code[i].arg, "target", code[i].target, "line", code[i].position.line, "depth",
                                      map.depth(i), "allows", map.allows(i) ? Py_True : Py_False, "stop",
                                      map.stopFor(i), "after", listOf(map.startsAfter(i)).get(), "headers",
                                      listOf(map.headersOf(i)).get(), "live", live.get()));
      checked(PyList_Append(rows.get(), row.get()));
    }
    return checked(Py_BuildValue("{s:i,s:i,s:O,s:O}", "slots", map.slotCount(), "entry", map.entry(), "candidates",
                                 listOf(map.candidates()).get(), "code", rows.get()));
  });
}

std::vector<capture::Stub> stubsOf(PyObject* list) {
  std::vector<capture::Stub> stubs;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    int start;
    PyObject *callable, *ends;
    checked(PyArg_ParseTuple(PyList_GET_ITEM(list, i), "iOO!", &start, &callable, &PyList_Type, &ends) ? 0 : -1);
    capture::Stub stub{start, Ref::create(callable), {}};
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(ends); ++k) {
      capture::StubEnd end;
      checked(PyArg_ParseTuple(PyList_GET_ITEM(ends, k), "ii", &end.target, &end.depth) ? 0 : -1);
      stub.ends.push_back(end);
    }
    stubs.push_back(std::move(stub));
  }
  return stubs;
}

/// splice(code, [(start, callable, [(target, depth), ...]), ...])
PyObject* spliceInto(PyObject*, PyObject* args) {
  PyObject *code, *list;
  if (!PyArg_ParseTuple(args, "OO!", &code, &PyList_Type, &list)) return nullptr;
  return guarded([&] { return capture::splice(capture::CodeMap(codeOf(code)), stubsOf(list)); });
}

/// headroom(code, start, [(target, depth), ...])
PyObject* headroomOf(PyObject*, PyObject* args) {
  PyObject *code, *ends;
  int start;
  if (!PyArg_ParseTuple(args, "OiO!", &code, &start, &PyList_Type, &ends)) return nullptr;
  return guarded([&] {
    Ref rows = checked(Py_BuildValue("[(iOO)]", start, Py_None, ends));
    return checked(PyLong_FromLong(stubHeadroom(capture::CodeMap(codeOf(code)), stubsOf(rows.get()).front())));
  });
}

PyMethodDef kMethods[] = {{"map", mapOf, METH_O, nullptr},
                          {"splice", spliceInto, METH_VARARGS, nullptr},
                          {"headroom", headroomOf, METH_VARARGS, nullptr},
                          {"decline", decline, METH_NOARGS, nullptr},
                          {"accept", accept, METH_NOARGS, nullptr},
                          {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_fw_splice_test", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__fw_splice_test() {
  Ref module = Ref::steal(PyModule_Create(&kModule));
  if (!module) return nullptr;
  Ref type = Ref::steal(PyType_FromSpec(&kRegionSpec));
  if (!type || PyModule_AddObjectRef(module.get(), "Region", type.get()) < 0) return nullptr;
  return module.release();
}
