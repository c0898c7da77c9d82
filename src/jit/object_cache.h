// Object files by content name, as far as they fit: what has been generated once is linked again when it is wanted
// again. Relocatable, and the same in every process.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace fw::jit {

class ObjectCache {
 public:
  explicit ObjectCache(size_t limit) : limit_(limit) {}

  /// Null if it is not there. Valid until the next store().
  const std::string* find(const std::string& name) const {
    const auto at = objects_.find(name);
    return at == objects_.end() ? nullptr : &at->second;
  }
  /// The oldest go where there is no room.
  void store(const std::string& name, std::string_view object) {
    if (object.size() > limit_ || !objects_.try_emplace(name, object).second) return;
    order_.push_back(name);
    for (bytes_ += object.size(); bytes_ > limit_; order_.pop_front()) {
      const auto oldest = objects_.find(order_.front());
      bytes_ -= oldest->second.size();
      objects_.erase(oldest);
    }
  }

 private:
  const size_t limit_;
  size_t bytes_ = 0;
  absl::flat_hash_map<std::string, std::string> objects_;
  std::deque<std::string> order_;
};

}  // namespace fw::jit
