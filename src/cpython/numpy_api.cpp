#define FW_IMPORT_NUMPY
#include "cpython/numpy_api.h"

namespace fw::cpython {

bool importNumpy() { return _import_array() >= 0; }

}  // namespace fw::cpython
