#include "bindings/extents.h"

#include <algorithm>

#include "bindings/list_items.h"
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

ByteRange extentOf(PyArrayObject* array) {
  return reachOf(PyArray_BYTES(array), PyArray_ITEMSIZE(array), PyArray_NDIM(array), PyArray_DIMS(array),
                 PyArray_STRIDES(array));
}

PyArrayObject* ownerOf(PyArrayObject* array) {
  while (PyArray_BASE(array) && PyArray_Check(PyArray_BASE(array)))
    array = reinterpret_cast<PyArrayObject*>(PyArray_BASE(array));
  return array;
}

/// What hangs together with the memory that `first` is a part of. That their owner is an array, and all of one, is not
/// said: arrays over one buffer object, windows made by as_strided.
ByteRange joined(std::vector<ByteRange> parts, ByteRange first) {
  parts.push_back(first);
  std::sort(parts.begin(), parts.end(), [](const ByteRange& a, const ByteRange& b) { return a.first < b.first; });
  ByteRange run = parts.front();
  for (const ByteRange& part : parts) {
    if (part.first <= run.end) {
      run.end = std::max(run.end, part.end);
    } else if (first.first < run.end) {
      break;
    } else {
      run = part;
    }
  }
  return run;
}

}  // namespace

BufferExtents::BufferExtents(const graph::Plan& plan, guards::GuardSet& guards) {
  for (const guards::SymbolBinding& binding : guards.symbols)
    if (binding.from == guards::SymbolBinding::From::kAddress) members_.push_back(guards.objectIndex(binding.source));
  for (const graph::Buffer& buffer : plan.buffers) {
    Memory memory{.bytes = graph::itemSize(buffer.dtype)};
    memory.asked = buffer.kind == graph::BufferKind::kInput || buffer.kind == graph::BufferKind::kOutput;
    if (buffer.kind == graph::BufferKind::kInput) {
      const guards::InputBinding& input = guards.inputs.at(static_cast<size_t>(buffer.index));
      if (input.from == guards::InputBinding::From::kArrayData) {
        memory.object = guards.objectIndex(input.source);
        memory.block = !isWhole(buffer, guards, input.source);
      }
      if (guards::isList(input.from)) {
        memory.list = guards.objectIndex(input.source);
        memory.binding = input;
      }
    }
    buffers_.push_back(memory);
  }
}

void BufferExtents::fill(const guards::CallFrame& frame, const ResultBuilder::Call& call) const {
  auto arrayAt = [&](int object) { return reinterpret_cast<PyArrayObject*>(frame.objects[object]); };
  std::vector<ByteRange> members;
  for (const int object : members_) members.push_back(extentOf(ownerOf(arrayAt(object))));
  for (size_t b = 0; b < buffers_.size(); ++b) {
    const Memory& memory = buffers_[b];
    if (!memory.asked) continue;
    auto* data = static_cast<char*>(frame.buffers[b]);
    ByteRange range{data, data + memory.bytes};
    if (memory.object >= 0) {
      PyArrayObject* array = arrayAt(memory.object);
      range = memory.block ? joined(members, extentOf(ownerOf(array))) : extentOf(array);
    } else if (memory.list >= 0) {
      range.end = data + memory.bytes * numbersIn(frame.objects[memory.list], memory.binding);
    } else if (call.arrays[b]) {
      range = extentOf(call.arrays[b]);
    }
    void** to = frame.buffers + buffers_.size() + kWordsPerBuffer * b;
    to[0] = range.first;
    to[1] = range.end;
  }
}

}  // namespace fw::bindings
