// The arguments of a library call as Python objects.
#pragma once

#include <Python.h>

#include <vector>

#include "absl/container/inlined_vector.h"
#include "cpython/ref.h"
#include "frame_eval/library_call.h"
#include "runtime/calls.h"

namespace fw::bindings {

/// For one call. Made and destroyed with the GIL held. Arrays are made by who knows their library.
class CallArguments {
 public:
  /// `objects`: of the call's frame.
  CallArguments(const runtime::Calls::Frame& frame, PyObject* const* objects) : frame(frame), objects_(objects) {}
  virtual ~CallArguments() = default;
  CallArguments(const CallArguments&) = delete;

  /// What the function answers; null with an exception set. `begin` is called with the first argument when all of them
  /// are there.
  template <class Begin>
  cpython::Ref call(const capture::LibraryCall& site, Begin begin) {
    Given given = build(site);
    begin(given.owned.empty() ? nullptr : given.owned[0].get());
    return make(site, given);
  }
  cpython::Ref call(const capture::LibraryCall& site) {
    return call(site, [](PyObject*) {});
  }

  const runtime::Calls::Frame& frame;

 protected:
  /// An array over the operand, for the time of the call.
  virtual cpython::Ref window(int operand) = 0;

 private:
  struct Given {
    absl::InlinedVector<cpython::Ref, 6> owned;
    cpython::Ref names;
  };
  Given build(const capture::LibraryCall& site);
  static cpython::Ref make(const capture::LibraryCall& site, const Given& given);
  cpython::Ref build(const capture::LibraryArgument& argument);
  template <class T>
  const T* number(const capture::LibraryArgument& argument) const {
    return static_cast<const T*>(frame.operand(static_cast<size_t>(argument.index)).data);
  }

  PyObject* const* objects_;
};

}  // namespace fw::bindings
