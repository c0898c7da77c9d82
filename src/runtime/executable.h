// A planned graph that can run: what its caller needs to know of it, whoever computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/deferred_commit.h"
#include "graph/plan.h"
#include "graph/support/check.h"
#include "runtime/context.h"
#include "runtime/part_meter.h"

namespace fw::runtime {

using graph::DeferredCommit;

struct CompileTimings {
  double kernelMs = 0, irMs = 0, codegenMs = 0, linkMs = 0;
};

/// Several threads may run one, each on a Context of its own. Native code never throws and never calls Python.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual const graph::Plan& plan() const = 0;

  /// Computes the results, and what commits need of the values before them. Answers Status bits. Nothing visible has
  /// happened by then, but that loops may have rewritten inputs (graph/rewriting.h): who begins again, at this or as
  /// Python, finds all that it reads as it was.
  virtual int32_t compute(Context& context) const = 0;
  /// Computes what deferred commits will store, for the flags only: after compute().
  virtual int32_t check(Context&) const {
    FW_CHECK_MSG(deferred().empty(), "nobody checks the deferred commits");
    return 0;
  }
  /// Stores the plan's commits into the inputs: after compute() on the same context, once its status was accepted.
  /// Answers 0 when everything is stored. Else a watched flag came up in the part [position, end) of a deferred commit.
  /// Nothing before it has raised a watched flag, and nothing behind it is stored; what stood in the part itself lies
  /// in `saved`, partElements() for each of the commit's stores, in the order of DeferredCommit::order. When the caller
  /// has put it back, another call goes on there.
  virtual int32_t commit(Context&) const {
    FW_CHECK_MSG(plan().commits.empty(), "nobody stores the commits");
    return 0;
  }
  virtual absl::Span<const DeferredCommit> deferred() const { return {}; }
  /// Asked when compute() has answered `status`, and the call would be given up. Where compute() may raise flags that
  /// the program does not, or expects what need not be (kStatusDoubt): what computes the same on the same context, from
  /// the beginning, and does neither. It is made when it is first asked for. Null: the status is what it is, or there
  /// is nobody to tell more; then a status with kStatusDoubt is one of a call that is given up.
  virtual const Executable* exact(int32_t /*status*/) const { return nullptr; }
  /// The code reads the extents of the buffers: see Context.
  virtual bool isChecked() const { return false; }

  /// Whether there is code to run: kUnavailable while it is still being made, where compute() answers kStatusNotYet;
  /// what else is no kOk says why there will be none. Not to be asked from inside of a compiler.
  virtual absl::Status ready() const { return absl::OkStatus(); }
  /// The same when it has been made.
  virtual absl::Status wait() const { return ready(); }

  /// As far as it has been made.
  virtual CompileTimings timings() const { return {}; }
  /// What its parts take in runs that are watched; null if it was made without.
  virtual PartMeter* meter() const { return nullptr; }
  /// Names its machine code for profilers and debuggers, if they are listening.
  virtual void announce(std::string_view) const {}
  /// Size of the machine code in bytes.
  virtual size_t codeSize() const { return 0; }
};

}  // namespace fw::runtime
