// A planned graph that can run: what its caller needs to know of it, whoever computes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "graph/deferred_commit.h"
#include "graph/plan.h"
#include "graph/support/check.h"
#include "runtime/context.h"

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
  /// happened by then.
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
  /// The code reads the extents of the buffers: see Context.
  virtual bool isChecked() const { return false; }

  virtual CompileTimings timings() const { return {}; }
  /// Size of the machine code in bytes.
  virtual size_t codeSize() const { return 0; }
};

}  // namespace fw::runtime
