#include "bindings/extents.h"

#include <algorithm>

#include "cpython/numpy_api.h"

namespace fw::bindings {
namespace {

/// The input has the sizes that the array has in the call.
bool isWhole(const graph::Buffer& buffer, const guards::GuardSet& guards, guards::SourceId source) {
  graph::SymContext& syms = *guards.syms;
  size_t found = 0;
  for (size_t i = 0; i < guards.symbols.size(); ++i) {
    const guards::SymbolBinding& binding = guards.symbols[i];
    if (binding.from != guards::SymbolBinding::From::kDim || binding.source != source) continue;
    const auto axis = static_cast<size_t>(binding.axis);
    found += axis < buffer.shape.size() &&
             syms.canonical(syms.symbolId(static_cast<int>(i))) == syms.canonical(buffer.shape[axis]);
  }
  return found == buffer.shape.size();
}

struct Range {
  char *first, *end;
};

Range extentOf(PyArrayObject* array) {
  char* data = PyArray_BYTES(array);
  Range range{data, data + PyArray_ITEMSIZE(array)};
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    if (PyArray_DIM(array, axis) == 0) return {data, data};
    const npy_intp reach = (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis);
    (reach < 0 ? range.first : range.end) += reach;
  }
  return range;
}

PyArrayObject* ownerOf(PyArrayObject* array) {
  while (PyArray_BASE(array) && PyArray_Check(PyArray_BASE(array)))
    array = reinterpret_cast<PyArrayObject*>(PyArray_BASE(array));
  return array;
}

}  // namespace

BufferExtents::BufferExtents(const graph::Plan& plan, guards::GuardSet& guards) {
  for (const graph::Buffer& buffer : plan.buffers) {
    Memory memory{.bytes = graph::itemSize(buffer.dtype)};
    if (buffer.kind == graph::BufferKind::kInput) {
      const guards::InputBinding& input = guards.inputs.at(static_cast<size_t>(buffer.index));
      if (input.from == guards::InputBinding::From::kArrayData) {
        auto at = std::find(guards.objects.begin(), guards.objects.end(), input.source);
        if (at == guards.objects.end()) at = guards.objects.insert(at, input.source);
        memory.object = static_cast<int>(at - guards.objects.begin());
        memory.block = !isWhole(buffer, guards, input.source);
      }
    }
    buffers_.push_back(memory);
  }
}

void BufferExtents::fill(const guards::CallFrame& frame, const ResultBuilder::Call& call) const {
  for (size_t b = 0; b < buffers_.size(); ++b) {
    const Memory& memory = buffers_[b];
    auto* data = static_cast<char*>(frame.buffers[b]);
    Range range{data, data + memory.bytes};
    if (memory.object >= 0) {
      auto* array = reinterpret_cast<PyArrayObject*>(frame.objects[memory.object]);
      range = extentOf(memory.block ? ownerOf(array) : array);
    } else if (call.arrays[b]) {
      range = extentOf(call.arrays[b]);
    }
    void** to = frame.buffers + buffers_.size() + kWordsPerBuffer * b;
    to[0] = range.first;
    to[1] = range.end;
  }
}

}  // namespace fw::bindings
