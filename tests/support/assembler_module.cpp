// _fw_assembler_test: the assembler for tests written in Python. Instructions are given as (name, argument, target) of
// neutral instructions; the argument of LOAD_CONST is the object, "CALLABLE" pushes an object to be called. Targets: an
// index of the assembly, or ~index - 1 (cpython::inside) of the inserted code.
#include "cpython/assembler.h"
#include "cpython/version.h"

namespace {

using namespace fw::cpython;

template <typename F>
PyObject* guarded(F body) {
  try {
    return body().release();
  } catch (const PythonError&) {
    return nullptr;
  }
}

Assembly assemblyOf(PyObject* code) {
  if (!PyCode_Check(code)) {
    PyErr_SetString(PyExc_TypeError, "a code object is expected");
    throw PythonError();
  }
  return disassemble(reinterpret_cast<PyCodeObject*>(code));
}

Opcode opcodeNamed(PyObject* name) {
  constexpr const char* kNames[] = {
#define FW_OPCODE(Id, text, arg, pops, pushes, counted) text,
#include "cpython/neutral_ops.def"
  };
  int number = 0;
  for (const char* text : kNames) {
    if (PyUnicode_CompareWithASCIIString(name, text) == 0) return static_cast<Opcode>(number);
    ++number;
  }
  PyErr_Format(PyExc_ValueError, "no instruction %R", name);
  throw PythonError();
}

void appendInstruction(Assembly& assembly, std::vector<Instr>& code, PyObject* row) {
  PyObject *name, *argument;
  int target;
  checked(PyArg_ParseTuple(row, "UOi", &name, &argument, &target) ? 0 : -1);
  if (PyUnicode_CompareWithASCIIString(name, "CALLABLE") == 0) {
    appendCallable(code, assembly.addConstant(argument), {});
    return;
  }
  Instr instr{.op = opcodeNamed(name), .target = target};
  if (instr.op == Opcode::kLoadConst) {
    instr.arg = assembly.addConstant(argument);
  } else if (info(instr.op).arg == OpcodeArg::kName) {
    instr.arg = assembly.addName(PyUnicode_AsUTF8(argument));
  } else {
    instr.arg = static_cast<int>(PyLong_AsLong(argument));
    if (PyErr_Occurred()) throw PythonError();
  }
  code.push_back(instr);
}

PyObject* roundtrip(PyObject*, PyObject* code) {
  return guarded([&] { return assemble(assemblyOf(code)); });
}

PyObject* stackSizeOf(PyObject*, PyObject* code) {
  return guarded([&] { return checked(PyLong_FromLong(stackSize(assemblyOf(code)))); });
}

PyObject* instructions(PyObject*, PyObject* code) {
  return guarded([&] {
    Ref list = checked(PyList_New(0));
    for (const RawInstr& i : assemblyOf(code).instructions) {
      Ref row = checked(Py_BuildValue("(iiii)", int{i.opcode}, i.arg, i.target, i.unit));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list;
  });
}

PyObject* handlers(PyObject*, PyObject* code) {
  return guarded([&] {
    Ref list = checked(PyList_New(0));
    for (const Handler& h : assemblyOf(code).handlers) {
      Ref row = checked(Py_BuildValue("(iiiiO)", h.start, h.end, h.target, h.depth, h.lasti ? Py_True : Py_False));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list;
  });
}

PyObject* points(PyObject*, PyObject* code) {
  return guarded([&] {
    Ref list = checked(PyList_New(0));
    for (bool allowed : insertionPoints(assemblyOf(code))) {
      checked(PyList_Append(list.get(), allowed ? Py_True : Py_False));
    }
    return list;
  });
}

/// insert(code, [(before, [(name, argument, target), ...], jumps_enter), ...])
PyObject* insertInto(PyObject*, PyObject* args) {
  PyObject *code, *list;
  if (!PyArg_ParseTuple(args, "OO!", &code, &PyList_Type, &list)) return nullptr;
  return guarded([&] {
    Assembly assembly = assemblyOf(code);
    std::vector<Insertion> insertions;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      Insertion insertion;
      PyObject* rows;
      int enter;
      PyObject* row = PyList_GET_ITEM(list, i);
      checked(PyArg_ParseTuple(row, "iO!p", &insertion.before, &PyList_Type, &rows, &enter) ? 0 : -1);
      insertion.jumpsEnter = enter != 0;
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(rows); ++k) {
        appendInstruction(assembly, insertion.code, PyList_GET_ITEM(rows, k));
      }
      insertions.push_back(std::move(insertion));
    }
    insert(assembly, insertions);
    return assemble(assembly);
  });
}

PyObject* splitPairsOf(PyObject*, PyObject* code) {
  return guarded([&] {
    Assembly assembly = assemblyOf(code);
    splitPairs(assembly);
    return assemble(assembly);
  });
}

PyObject* rejoinedPairsOf(PyObject*, PyObject* code) {
  return guarded([&] {
    Assembly assembly = assemblyOf(code);
    splitPairs(assembly);
    joinPairs(assembly);
    return assemble(assembly);
  });
}

/// The code from its neutral instructions.
PyObject* relower(PyObject*, PyObject* code) {
  return guarded([&] {
    Assembly assembly = assemblyOf(code);
    Bytecode neutral = decode(reinterpret_cast<PyCodeObject*>(code));
    std::vector<int> begin;
    assembly.instructions = lower(neutral.instructions, &begin);
    assembly.handlers = neutral.handlers;
    for (Handler& h : assembly.handlers) h = {begin[h.start], begin[h.end], begin[h.target], h.depth, h.lasti};
    return assemble(assembly);
  });
}

PyMethodDef kMethods[] = {{"roundtrip", roundtrip, METH_O, nullptr},
                          {"stack_size", stackSizeOf, METH_O, nullptr},
                          {"instructions", instructions, METH_O, nullptr},
                          {"handlers", handlers, METH_O, nullptr},
                          {"points", points, METH_O, nullptr},
                          {"insert", insertInto, METH_VARARGS, nullptr},
                          {"split_pairs", splitPairsOf, METH_O, nullptr},
                          {"rejoined_pairs", rejoinedPairsOf, METH_O, nullptr},
                          {"relower", relower, METH_O, nullptr},
                          {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_fw_assembler_test", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__fw_assembler_test() {
  return PyModule_Create(&kModule);
}
