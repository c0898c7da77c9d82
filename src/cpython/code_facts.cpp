// Loops are found in the raw code units, as compiled: caches are zero there, and nothing is specialised.
#include "cpython/code_facts.h"

#include <opcode.h>

#include "cpython/ref.h"

namespace fw::cpython {

/// Its address is not exported by every version; a function that nobody has touched has it.
vectorcallfunc plainVectorcall() {
  static const vectorcallfunc plain = [] {
    const Ref code = checked(reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "", 0)));
    const Ref globals = checked(PyDict_New());
    const Ref function = checked(PyFunction_New(code.get(), globals.get()));
    return reinterpret_cast<PyFunctionObject*>(function.get())->vectorcall;
  }();
  return plain;
}

bool hasLoop(PyCodeObject* code) {
  const Ref units = checked(PyCode_GetCode(code));
  const auto* bytes = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(units.get()));
  for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(units.get()); i += 2) {
    switch (bytes[i]) {
#ifdef POP_JUMP_BACKWARD_IF_TRUE  // 3.11
      case POP_JUMP_BACKWARD_IF_TRUE:
      case POP_JUMP_BACKWARD_IF_FALSE:
      case POP_JUMP_BACKWARD_IF_NONE:
      case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
      case JUMP_BACKWARD: return true;
    }
  }
  return false;
}

}  // namespace fw::cpython
