// What compiled code asks of CuPy while it runs: memory of its current allocator, its current stream.
#pragma once

#include <Python.h>

#include <vector>

#include "cpython/ref.h"
#include "runtime/cuda/host.h"

namespace fw::bindings {

struct CupyPointer;

/// A MemoryPointer for a result of that many bytes on the current stream; null with an exception set.
cpython::Ref allocateResult(size_t bytes);
/// A MemoryPointer to part of the memory that another one points into.
cpython::Ref pointIntoMemory(const CupyPointer& whole, intptr_t address);
/// Where a MemoryPointer points.
void* addressOf(PyObject* pointer);

/// For one call; made, used and destroyed with the GIL held. What is released goes back to CuPy at once: its pools give
/// memory out again in the order of the stream.
class CupyHost : public runtime::cuda::Host {
 public:
  CupyHost();
  ~CupyHost() override;
  CupyHost(const CupyHost&) = delete;

  /// Whether CuPy has told its stream.
  bool ok() const { return ok_; }
  void* allocate(int64_t bytes) override;
  void release(void* data) override;
  int32_t call(runtime::Context&, int) override { return runtime::kStatusDecline; }
  void* stream() override { return stream_; }
  /// Puts back the exception that kept memory from being allocated; false if there is none.
  bool restoreError();

 private:
  void* stream_;
  bool ok_ = false;
  std::vector<PyObject*> held_;
  PyObject* error_ = nullptr;
};

}  // namespace fw::bindings
