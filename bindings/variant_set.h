// The compiled versions of one entry (a whole function or a region) and what is known about calls that run as Python.
#pragma once

#include <Python.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "bindings/churn.h"
#include "bindings/overhead.h"
#include "bindings/variant.h"
#include "graph/support/config.h"
#include "nlohmann/json_fwd.hpp"

namespace fw::bindings {

struct RecordedBreak {
  capture::Break what;
  uint64_t count = 1;  ///< how often it was met by a capture
};

/// Hash of the kinds of objects: types, and for arrays element type, rank and flags. Null entries count as a kind.
uint64_t kindKey(PyObject* const* slots, int count);

class VariantSet {
 public:
  VariantSet() = default;
  VariantSet(const VariantSet&) = delete;

  /// Runs the first variant whose guards pass; kMiss if none does. A failed check of ours retires the variant and
  /// declines.
  RunOutcome run(Invocation& call, PyObject** result, Variant** ran);

  /// For somebody who wants to see what compiled code does: waits for all that is being made.
  void awaitCode(Overhead& account);

  /// True if a variant fits that leaves by an end which the caller does not know.
  bool fitsElsewhere(const Invocation& call) const;

  Variant* add(std::unique_ptr<Variant> variant);
  /// Whether Python is faster than all of them, whatever the sizes.
  bool allGaveUp() const;
  const std::vector<std::unique_ptr<Variant>>& variants() const { return variants_; }

  /// Kinds of calls that run as Python without being looked at again.
  bool isLeftToPython(uint64_t kind) const;
  void leaveToPython(uint64_t kind) { pythonKinds_[kind] = {kForGood, 0}; }
  /// The variant has declined a call. Where that is the rule and another one may do better, it is retired.
  bool givesWay(const Variant* variant);
  /// Kinds that run as Python for a while, twice as long each time: calls so far had nothing to compile because of the
  /// values that they had (empty arrays, a loop without turns), and those of later calls may be others.
  void postpone(uint64_t kind);
  /// For how many calls it is: these are not counted any more. PlainCalls::kForever if for good.
  uint32_t takeRest(uint64_t kind);
  /// Whether a call of this kind, which is counted, runs as Python without being looked at.
  bool passes(uint64_t kind);
  size_t pythonKindCount() const { return pythonKinds_.size(); }

  /// Why each variant does not fit: a list as describeMiss() makes them.
  nlohmann::json misses(const Invocation& call) const;
  /// Tells the log why no variant fits, before another one is made.
  void logMisses(const std::string& name, const Invocation& call) const;

  /// Before another variant is made for this call: the instruction that has cost `limit` variants by looking at a value
  /// that changes, if Python is to run it. Drops those of them that no second call has used.
  std::optional<Churn::Blame> blame(const Invocation& call, int limit);

  /// `options` for the next capture, with what was learned from earlier ones.
  capture::CaptureOptions learned(capture::CaptureOptions options) const;

  /// Whether there may be no more than the variants that there are. First retires those that no call can pass any more,
  /// since an object that they wait for has died; a few times the limit of them is enough, too.
  bool isFull(size_t limit);
  /// The limit from the settings; less for code that is not decorated, as long as its variants have no array work.
  size_t limit(const Config& config, bool decorated) const;

  /// Drops everything. Variants that are running are kept until they have answered.
  void clear();
  /// Set by run() when the code of a variant, which was being made, has not come about; taken by the caller, who treats
  /// it as a compile that has ended so.
  std::optional<capture::Break> takeLost() { return std::exchange(lost_, std::nullopt); }
  /// Set by run() when a check of ours failed in a variant; taken by the caller, who reports it.
  std::string takeFailure() { return std::exchange(failure_, {}); }

 private:
  void retire(const Variant* variant);
  /// Kinds that are remembered; types of every call's own would make them ever more.
  static constexpr size_t kMostKinds = 1000;
  /// How many calls of a kind run as Python before the next look at one, and what that number was at first.
  struct Rest {
    uint32_t calls = 0, length = 0;
  };
  static constexpr uint32_t kForGood = UINT32_MAX, kFirstRest = 4, kLongestRest = 1u << 20;
  // Guarded by the GIL.
  std::vector<std::unique_ptr<Variant>> variants_;
  std::vector<std::unique_ptr<Variant>> retired_;  ///< dropped while a call was inside: freed when none is
  int activeCalls_ = 0;
  size_t made_ = 0;
  const Variant* newest_ = nullptr;  ///< of variants_
  Churn churn_;
  absl::flat_hash_map<uint64_t, Rest> pythonKinds_;
  std::string failure_;
  std::optional<capture::Break> lost_;
};

/// RuntimeWarning to the user whose function (`subject`) has `limit` variants; other kinds of `what` run as Python.
/// Throws PythonError if the warning is an error.
void warnRecompileLimit(const std::string& subject, size_t limit, const char* what);

/// What a capture under these settings may do.
capture::CaptureOptions captureOptions(const Config& config);

/// Whether variants under these settings have to be faster than Python.
bool wantsTrials(const Config& config);

using Capture = std::function<std::variant<capture::Captured, capture::Break>(const capture::CaptureOptions&)>;
/// Captures by `capture` and compiles. Answers the variant, or the break that prevented it; failed checks of ours are
/// breaks too. Throws PythonError.
std::variant<std::unique_ptr<Variant>, capture::Break> buildVariant(const Config& config, const Capture& capture);

}  // namespace fw::bindings
