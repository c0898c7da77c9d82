// Tiles of maps: see emit_tiles.cpp.
#pragma once

#include "kernels/cuda/writer.h"

namespace fw::kernels::cuda {

void emitTiles(Writer& w, const Piece& piece, const Form& form);

}  // namespace fw::kernels::cuda
