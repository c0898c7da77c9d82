// A look at the raw code units, as compiled: caches are zero there, and nothing is specialised.
#include "cpython/code_facts.h"

#include <opcode.h>

#include "cpython/ref.h"

namespace fw::cpython {

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
