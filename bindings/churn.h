// Variants that are made again and again since one value changes: which instruction looks at it.
#pragma once

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "bindings/variant.h"

namespace fw::bindings {

class Churn {
 public:
  struct Blame {
    int at;                 ///< instruction of the outermost frame
    std::string why;        ///< "n is 5, compiled for 4"
    bool isLearned;         ///< the next capture does without the value: see changing()
    bool ofPlaces = false;  ///< it is where arrays lie in the memory that they share
  };

  /// The call is about to get a variant since `newest` rejects it. Answers the instruction that `newest` asked its
  /// failing guard for, if `limit` variants have been made on its account (0: never), or one for a setting; then
  /// counting starts anew. Where an array lies in the memory of another counts for itself. Guards that would not go
  /// away if Python ran the instruction (Cure::kNone) are never to blame: arrays of another dtype want variants of
  /// their own.
  std::optional<Blame> blame(const Variant& newest, const Invocation& call, int limit);

  /// Whether the variant was made for one value of what is to blame.
  static bool reliesOn(const Variant& variant, const Blame& blame);

  /// The next capture knows; false if one has known.
  bool learn(int what) { return changing_.insert(what).second; }
  /// Instructions whose settings were to blame, and capture::kSharedPlaces if those were.
  const absl::flat_hash_set<int>& changing() const { return changing_; }

  void clear();

 private:
  absl::flat_hash_map<int, int> counts_;  ///< by instruction
  absl::flat_hash_set<int> changing_;
};

}  // namespace fw::bindings
