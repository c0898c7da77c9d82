// Rows: see emit_rows.cpp.
#pragma once

#include "kernels/cuda/writer.h"

namespace fw::kernels::cuda {

void emitRows(Writer& w, const Piece& piece, const Form& form);

}  // namespace fw::kernels::cuda
