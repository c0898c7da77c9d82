// The items of a list or deque while user code compares them one by one, which may change the container.
#pragma once

#include <vector>

#include "frame_eval/trace.h"

namespace fw::capture {

class WatchedItems {
 public:
  WatchedItems(Trace& trace, const Value* container)
      : trace_(trace),
        container_(container),
        items_(container->items),
        changes_(container->changes) {}

  /// After a comparison: Python knows what it means that the container is another one now.
  void check() const {
    if (container_->items != items_ || container_->changes != changes_)
      trace_.fail(BreakReason::kUnsupportedObject, "a container that changes while its items are compared");
  }

 private:
  Trace& trace_;
  const Value* container_;
  std::vector<Value*> items_;
  unsigned changes_;
};

}  // namespace fw::capture
