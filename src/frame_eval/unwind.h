// Python exceptions raised by the traced code while it is traced. They unwind the symbolic frames as CPython unwinds
// its own; Interpreter::execute() catches them where the exception table of the frame names a handler.
#pragma once

#include <exception>

#include "frame_eval/value.h"

namespace fw::capture {

class VirtualRaise : public std::exception {
 public:
  explicit VirtualRaise(Value* exception) : exception(exception) {}
  const char* what() const noexcept override { return "an exception of the traced code"; }
  Value* exception;  ///< kException
};

/// While one lives, somebody in C++ catches VirtualRaise, as next() with a default does.
class CatchScope {
 public:
  explicit CatchScope(int& count) : count_(count) { ++count_; }
  ~CatchScope() { --count_; }
  CatchScope(const CatchScope&) = delete;
  CatchScope& operator=(const CatchScope&) = delete;

 private:
  int& count_;
};

}  // namespace fw::capture
