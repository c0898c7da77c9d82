// The hook's part of _fw_guards_test: a frame handler whose decisions are set from Python, by code object.
#include <Python.h>

#include <string>
#include <unordered_map>

#include "cpython/code_extra.h"
#include "cpython/hook.h"

namespace {

using namespace fw::cpython;  // NOLINT

struct Plan {
  enum class Action { kRecord, kReturn, kReplace, kRaise, kCall, kLeaveError } action;
  Ref object;
};

class TestHandler : public FrameHandler {
 public:
  HookDecision onFrame(const FrameView& frame) override {
    ++seen;
    auto it = plans.find(frame.code);
    if (it == plans.end()) return HookDecision::runAsIs();
    Plan plan = it->second;
    switch (plan.action) {
      case Plan::Action::kRecord: record(frame); return HookDecision::runAsIs();
      case Plan::Action::kReturn: return HookDecision::answer(plan.object);
      case Plan::Action::kReplace: return HookDecision::replace(plan.object);
      case Plan::Action::kRaise:
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(plan.object.get())), plan.object.get());
        return HookDecision::answer({});
      case Plan::Action::kLeaveError: PyErr_SetString(PyExc_ValueError, "left behind"); return HookDecision::runAsIs();
      case Plan::Action::kCall: {  // answers object(*args)
        Ref args = Ref::steal(tupleOf(frame));
        return HookDecision::answer(Ref::steal(PyObject_Call(plan.object.get(), args.get(), nullptr)));
      }
    }
    return HookDecision::runAsIs();
  }

  static PyObject* tupleOf(const FrameView& frame) {
    PyObject* args = PyTuple_New(frame.argCount);
    for (int i = 0; i < frame.argCount; ++i) PyTuple_SET_ITEM(args, i, Py_NewRef(frame.args[i]));
    return args;
  }
  void record(const FrameView& frame) {
    Ref args = Ref::steal(tupleOf(frame));
    Ref entry = Ref::steal(Py_BuildValue("(OOO)", frame.function, frame.code, args.get()));
    PyList_Append(log.get(), entry.get());
  }

  std::unordered_map<PyCodeObject*, Plan> plans;
  Ref log;
  long seen = 0;
};
TestHandler* theHandler = nullptr;

PyObject* hookInstall(PyObject*, PyObject*) {
  installHook();
  return PyLong_FromLong(hookInstallCount());
}
PyObject* hookUninstall(PyObject*, PyObject*) {
  uninstallHook();
  return PyLong_FromLong(hookInstallCount());
}

/// hook_plan(code, action, object): None as action forgets the code.
PyObject* hookPlan(PyObject*, PyObject* args) {
  PyObject *code, *object = Py_None;
  const char* action;
  if (!PyArg_ParseTuple(args, "O!z|O", &PyCode_Type, &code, &action, &object)) return nullptr;
  auto* key = reinterpret_cast<PyCodeObject*>(code);
  if (!action) {
    if (theHandler->plans.erase(key)) Py_DECREF(code);
    Py_RETURN_NONE;
  }
  static const std::unordered_map<std::string, Plan::Action> actions = {
      {"record", Plan::Action::kRecord}, {"return", Plan::Action::kReturn}, {"replace", Plan::Action::kReplace},
      {"raise", Plan::Action::kRaise},   {"call", Plan::Action::kCall},     {"leave_error", Plan::Action::kLeaveError}};
  if (theHandler->plans.insert_or_assign(key, Plan{actions.at(action), Ref::create(object)}).second) Py_INCREF(code);
  Py_RETURN_NONE;
}

PyObject* hookLog(PyObject*, PyObject*) {
  Ref log = theHandler->log;
  theHandler->log = Ref::steal(PyList_New(0));
  return log.release();
}

PyObject* hookSeen(PyObject*, PyObject*) { return PyLong_FromLong(theHandler->seen); }

PyObject* hookCount(PyObject*, PyObject*) { return PyLong_FromLong(hookInstallCount()); }

long extrasDestroyed = 0;
void destroyExtra(void* p) {
  ++extrasDestroyed;
  delete static_cast<long*>(p);
}
PyObject* extraSet(PyObject*, PyObject* args) {
  PyObject* code;
  long value;
  if (!PyArg_ParseTuple(args, "O!l", &PyCode_Type, &code, &value)) return nullptr;
  if (!initCodeExtra(destroyExtra) || !setCodeExtra(reinterpret_cast<PyCodeObject*>(code), new long(value)))
    return nullptr;
  Py_RETURN_NONE;
}
PyObject* extraGet(PyObject*, PyObject* code) {
  auto* value = static_cast<long*>(codeExtra(reinterpret_cast<PyCodeObject*>(code)));
  if (!value) Py_RETURN_NONE;
  return PyLong_FromLong(*value);
}
PyObject* extrasGone(PyObject*, PyObject*) { return PyLong_FromLong(extrasDestroyed); }

}  // namespace

PyMethodDef* hookTestMethods() {
  static PyMethodDef methods[] = {
      {"hook_install", hookInstall, METH_NOARGS, nullptr}, {"hook_uninstall", hookUninstall, METH_NOARGS, nullptr},
      {"hook_plan", hookPlan, METH_VARARGS, nullptr},      {"hook_log", hookLog, METH_NOARGS, nullptr},
      {"hook_seen", hookSeen, METH_NOARGS, nullptr},       {"hook_count", hookCount, METH_NOARGS, nullptr},
      {"extra_set", extraSet, METH_VARARGS, nullptr},      {"extra_get", extraGet, METH_O, nullptr},
      {"extras_gone", extrasGone, METH_NOARGS, nullptr},   {nullptr, nullptr, 0, nullptr}};
  if (!theHandler) {
    theHandler = new TestHandler;
    theHandler->log = Ref::steal(PyList_New(0));
    setFrameHandler(theHandler);
  }
  return methods;
}
