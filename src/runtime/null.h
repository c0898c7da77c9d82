// What computes nothing: the results of the plan are arguments, views of them, and what is no array at all.
#pragma once

#include <utility>

#include "runtime/executable.h"

namespace fw::runtime {

class NullExecutable : public Executable {
 public:
  /// A straight plan without groups, commits and calls.
  explicit NullExecutable(graph::Plan plan) : plan_(std::move(plan)) {
    FW_CHECK(plan_.isStraight() && plan_.groups.empty() && plan_.commits.empty() && plan_.calls == 0);
  }
  const graph::Plan& plan() const override { return plan_; }
  int32_t compute(Context&) const override { return 0; }

 private:
  graph::Plan plan_;
};

}  // namespace fw::runtime
