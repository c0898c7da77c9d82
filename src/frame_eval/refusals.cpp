// By operation, type and line. An operation that passes make may come from one that they take apart (std: the root of
// a complex number); then the line decides.
#include "frame_eval/refusals.h"

#include "frame_eval/break_reason.h"
#include "graph/op.h"

namespace fw::capture {
namespace {

thread_local const RefusalScope* current = nullptr;

}  // namespace

RefusalScope::RefusalScope(const graph::Refused& refused, std::string why)
    : refused_(refused),
      why_(std::move(why)),
      outer_(current) {
  current = this;
}

RefusalScope::~RefusalScope() { current = outer_; }

void checkRefusals(const graph::Graph& graph, size_t from) {
  for (const RefusalScope* scope = current; scope; scope = scope->outer_) {
    const graph::Refused& refused = scope->refused_;
    for (size_t i = from; i < graph.size(); ++i) {
      const graph::Refused here = graph::Refused::of(graph, graph::ValueId(i));
      const bool madeOf = graph::info(here.op).cpu == "Decompose" && here.line == refused.line;
      if (here == refused || madeOf) throw CaptureBreak(BreakReason::kUnsupportedOperation, scope->why_);
    }
  }
}

}  // namespace fw::capture
