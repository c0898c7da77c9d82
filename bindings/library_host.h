// Library calls of compiled code: NumPy's own functions on arrays over the memory of the call.
#pragma once

#include <Python.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "bindings/call_policy.h"
#include "bindings/direct_draws.h"
#include "bindings/direct_loops.h"
#include "bindings/draws.h"
#include "bindings/error_state.h"
#include "cpython/numpy_api.h"
#include "cpython/ref.h"
#include "frame_eval/library_call.h"
#include "runtime/calls.h"
#include "runtime/heap.h"
#include "runtime/host.h"

namespace fw::bindings {

/// What the calls of a variant are of.
struct LibraryCalls {
  runtime::Calls calls;
  std::vector<capture::LibraryCall> sites;
  std::vector<std::optional<DirectLoop>> loops;  ///< by site
  std::vector<std::optional<DirectDraw>> draws;
  std::vector<runtime::CallShortcut> shortcuts;  ///< by call; empty: there are none, and none can come
  // Guarded by the GIL:
  mutable bool reported = false;  ///< that a function answered something else than its rule says
  /// Arrays that the operands of a call were shown as, for the next one: [call][operand], some null.
  mutable std::vector<std::vector<cpython::Ref>> windows;
};

/// Of the function, for messages.
std::string nameOf(const capture::LibraryCall& site);

/// For one run. Made and destroyed with the GIL held.
class LibraryHost : public runtime::Host {
 public:
  /// `arrays[b]` receives the array whose memory is buffer b of the plan, and owns it.
  /// `mayUnlock`: other threads may run meanwhile.
  /// `objects`: of the call's frame.
  LibraryHost(const LibraryCalls& library, CallPolicy& policy, PyArrayObject** arrays, PyObject* const* objects,
              bool mayUnlock)
      : library_(library),
        policy_(policy),
        arrays_(arrays),
        objects_(objects),
        shortcuts_(library.shortcuts.begin(), library.shortcuts.end()),
        mayUnlock_(mayUnlock) {}
  LibraryHost(const LibraryHost&) = delete;
  /// For Context::shortcuts.
  runtime::CallShortcut* shortcuts() { return shortcuts_.empty() ? nullptr : shortcuts_.data(); }

  /// What goes wrong in a function declines the call, so that Python reports it: floating-point conditions raise
  /// meanwhile where they are not ignored.
  int32_t call(runtime::Context& context, int number) override;
  void* allocate(int64_t bytes) override { return heap_.allocate(bytes); }
  void release(void* data) override { heap_.release(data); }
  bool make(runtime::Context& context, int number) override;
  /// Handles signals. What a handler raises ends the run, and is not lost.
  int32_t look(runtime::Context& context, bool heavy) override;

  void beginAgain() override { takeBackDraws(); }
  /// The run is given up: what it has drawn is put back.
  void takeBackDraws() {
    forgetSources();
    sources_.clear();
    draws_.takeBack();
  }
  /// Puts back an exception that must not be lost (KeyboardInterrupt); false if there is none.
  bool restoreError();

 private:
  struct Arguments;
  int32_t callWithLock(runtime::Context& context, int number);
  bool raiseConditions();
  int32_t accept(PyObject* answer, const capture::LibraryCall& site, runtime::Calls::Frame& frame,
                 runtime::Context& context, const Arguments& arguments);
  bool makeWithLock(runtime::Context& context, int number);
  bool take(PyObject* item, const runtime::CallArray& wanted, runtime::Context& context, const Arguments& arguments);
  /// Without a call of Python; false if that cannot be.
  bool runLoop(const DirectLoop& loop, int number, runtime::Context& context);
  /// Of the array that the same call has answered last, if it can hold this result, nobody else has it, and no operand
  /// lies in it; else null.
  void* memoryOfLast(const runtime::CallArray& result, absl::Span<const runtime::CallArray> operands) const;
  /// One number without a call of Python; false if that cannot be.
  bool drawOne(const DirectDraw& direct, int number, runtime::Context& context);
  bool drawFrom(bitgen_t* source, const DirectDraw& direct, int number, runtime::Context& context);
  /// Other threads or other code may draw from here on.
  void forgetSources();
  /// A number of Python's.
  static bool takeNumber(PyObject* item, const runtime::CallArray& wanted);
  int32_t declined();
  int32_t differs(const capture::LibraryCall& site);

  const LibraryCalls& library_;
  CallPolicy& policy_;
  PyArrayObject** arrays_;
  PyObject* const* objects_;
  Draws draws_;
  std::vector<bitgen_t*> sources_;  ///< by call: of single draws that were made
  absl::InlinedVector<runtime::CallShortcut, 4> shortcuts_;
  absl::InlinedVector<DirectDraw::Whole, 4> wholes_;  ///< of those, likewise
  absl::InlinedVector<size_t, 4> drawing_;            ///< calls whose shortcuts draw
  std::optional<RaisingState> state_;                 ///< from the first call that may report on
  cpython::Ref error_;                                ///< an exception that must not be lost
  runtime::Heap heap_;
  bool mayUnlock_;
  std::chrono::steady_clock::time_point looked_{}, sharedAt_{};
  int32_t pauses_[2] = {1, 1};  ///< calls of look() that are left out, as Context::untilLook
};

}  // namespace fw::bindings
