// A PyDataMem_Handler over the pool of large blocks.
#include "bindings/output_memory.h"

#include <cstring>

#include "cpython/numpy_api.h"
#include "runtime/block_pool.h"

namespace fw::bindings {
namespace {

void* poolMalloc(void*, size_t bytes) { return runtime::takeBlock(bytes); }
void* poolCalloc(void*, size_t count, size_t size) {
  void* data = runtime::takeBlock(count * size);
  if (data) std::memset(data, 0, count * size);
  return data;
}
void poolFree(void*, void* data, size_t) {
  if (data) runtime::giveBlock(data);
}
void* poolRealloc(void*, void* data, size_t bytes) {
  if (!data) return runtime::takeBlock(bytes);
  const size_t capacity = runtime::blockBytes(data);
  if (bytes <= capacity) return data;
  void* fresh = runtime::takeBlock(bytes);
  if (!fresh) return nullptr;
  std::memcpy(fresh, data, capacity);
  runtime::giveBlock(data);
  return fresh;
}

PyObject* handlerCapsule() {
  static PyDataMem_Handler handler = {"fusewire", 1, {nullptr, poolMalloc, poolCalloc, poolRealloc, poolFree}};
  static PyObject* capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return capsule;
}

}  // namespace

PooledAllocation::PooledAllocation() {
  PyObject* capsule = handlerCapsule();
  previous_ = capsule ? PyDataMem_SetHandler(capsule) : nullptr;
}

PooledAllocation::~PooledAllocation() {
  if (!previous_) return;
  PyObject* ours = PyDataMem_SetHandler(previous_);
  Py_XDECREF(ours);
  Py_DECREF(previous_);
}

}  // namespace fw::bindings
