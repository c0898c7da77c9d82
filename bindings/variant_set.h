// The compiled versions of one entry (a whole function or a region) and what is known about calls that run as Python.
#pragma once

#include <Python.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "bindings/variant.h"
#include "graph/support/config.h"
#include "nlohmann/json_fwd.hpp"

namespace fw::bindings {

struct RecordedBreak {
  capture::Break what;
  uint64_t count = 1;                   ///< how often it was met by a capture
};

/// Hash of the kinds of objects: types, and for arrays element type, rank and flags. Null entries count as a kind.
uint64_t kindKey(PyObject* const* slots, int count);

class VariantSet {
 public:
  VariantSet() = default;
  VariantSet(const VariantSet&) = delete;

  /// Runs the first variant whose guards pass; kMiss if none does. A failed check of ours retires the variant and declines.
  RunOutcome run(const Invocation& call, PyObject** result, Variant** ran);

  /// True if a variant fits that leaves by an end which the caller does not know.
  bool fitsElsewhere(const Invocation& call) const;

  Variant* add(std::unique_ptr<Variant> variant);
  const std::vector<std::unique_ptr<Variant>>& variants() const { return variants_; }

  /// Kinds of calls that run as Python without being looked at again.
  bool isLeftToPython(uint64_t kind) const { return pythonKinds_.contains(kind); }
  void leaveToPython(uint64_t kind) { pythonKinds_.insert(kind); }
  size_t pythonKindCount() const { return pythonKinds_.size(); }

  /// Why each variant does not fit: a list as describeMiss() makes them.
  nlohmann::json misses(const Invocation& call) const;
  /// Tells the log why no variant fits, before another one is made.
  void logMisses(const std::string& name, const Invocation& call) const;

  /// Drops everything. Variants that are running are kept until they have answered.
  void clear();
  /// Set by run() when a check of ours failed in a variant; taken by the caller, who reports it.
  std::string takeFailure() { return std::exchange(failure_, {}); }

 private:
  void retire(Variant* variant);
  // Guarded by the GIL.
  std::vector<std::unique_ptr<Variant>> variants_;
  std::vector<std::unique_ptr<Variant>> retired_;   ///< dropped while a call was inside: freed when none is
  int activeCalls_ = 0;
  absl::flat_hash_set<uint64_t> pythonKinds_;
  std::string failure_;
};

/// Whether it is a place that cannot be compiled, rather than the end of what there is to compile.
bool isGraphBreak(const capture::Break& what);
/// Where breaks are errors (error_on_graph_break): throws PythonError with fusewire.GraphBreakError set.
void refuseBreaks(const std::string& function, const capture::Break& what);

/// Captures by `capture` and compiles. Answers the variant, or the break that prevented it; failed checks of ours are breaks too.
/// Throws PythonError.
std::variant<std::unique_ptr<Variant>, capture::Break> buildVariant(
    const Config& config, const std::function<std::variant<capture::Captured, capture::Break>(const capture::CaptureOptions&)>& capture);

}  // namespace fw::bindings
