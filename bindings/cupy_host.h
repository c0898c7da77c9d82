// What compiled code asks of CuPy while it runs: memory of its current allocator, its current stream, its functions.
#pragma once

#include <Python.h>

#include <chrono>
#include <vector>

#include "bindings/call_policy.h"
#include "bindings/library_host.h"
#include "cpython/ref.h"
#include "jit/cuda/device.h"
#include "runtime/cuda/host.h"

namespace fw::bindings {

/// For one call; made, used and destroyed with the GIL held. What is released goes back to CuPy at once: its pools give
/// memory out again in the order of the stream.
class CupyHost : public runtime::cuda::Host {
 public:
  /// What the call has to do with. `arrays[b]` receives the array whose memory is buffer b of the plan, and owns it.
  struct Surroundings {
    const LibraryCalls& library;
    CallPolicy& policy;
    PyArrayObject** arrays;
    PyObject* const* objects;  ///< of the call's frame
    int device;                ///< the current one
    bool mayUnlock;            ///< other threads may run meanwhile
  };
  explicit CupyHost(const Surroundings& around);
  ~CupyHost() override;
  CupyHost(const CupyHost&) = delete;

  /// Whether CuPy has told its stream.
  bool ok() const { return ok_; }
  void* allocate(int64_t bytes) override;
  void release(void* data) override;
  /// CuPy's own function, on arrays over memory of the call. What it raises declines the call, so that Python reports
  /// it.
  int32_t call(runtime::Context& context, int number) override;
  /// Handles signals. What a handler raises ends the run, and is not lost.
  int32_t look(runtime::Context& context, bool heavy) override;
  void* stream() override { return stream_; }
  /// Waits for the stream, and copies to the host. False with an exception set.
  bool read(void* to, const void* from, size_t bytes);
  /// Puts back the exception that kept memory from being allocated; false if there is none.
  bool restoreMemoryError();
  /// Puts back one that must not be lost (KeyboardInterrupt); false if there is none.
  bool restoreError();

 private:
  class Arguments;
  int32_t declined();
  int32_t differs(const capture::LibraryCall& site);
  bool take(PyObject* item, const runtime::CallArray& wanted, runtime::Context& context);

  const Surroundings around_;
  void* stream_ = nullptr;
  bool ok_ = false;
  std::vector<PyObject*> held_;
  cpython::Ref memoryError_, error_;
  std::chrono::steady_clock::time_point sharedAt_;  ///< when other threads had their turn
};

}  // namespace fw::bindings
