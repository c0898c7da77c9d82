// What the kernels and library calls of native code take, in the runs that are watched (Context::times).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "runtime/context.h"

namespace fw::runtime {

/// Of a kernel: bytes of arrays, each element counted once a kernel however often it is read, and once more where it is
/// written; arithmetic on floats as the code has it, the polynomials of mathematical functions included.
struct Work {
  double bytes = 0, operations = 0;
};

/// Sums over runs of one executable, by part: a kernel, a commit or a library call. Not thread-safe.
class PartMeter {
 public:
  struct Part {
    std::string name;
    int group = -1;  ///< of the plan, or of its commits; -1 for a library call
    bool commit = false;
    /// Of one run with these values of symbols.
    std::function<std::optional<Work>(absl::Span<const int64_t> symbols)> work = nullptr;
  };
  struct Sum {
    const Part* part;
    int64_t runs = 0;
    double ns = 0;
    Work work;             ///< 0 where it is unknown
    bool isKnown = false;  ///< the work of all runs is known
    /// Of the sizes that ran most: the fastest run, which no other process disturbed, and what it did.
    double bestNs = 0;
    Work bestWork;
  };

  PartMeter(std::vector<Part> parts, size_t symbols) : parts_(std::move(parts)), symbols_(symbols) {}

  /// One run: native code adds to its table while it lives.
  class Run {
   public:
    Run(PartMeter& meter, Context& context);
    ~Run();
    Run(const Run&) = delete;

   private:
    PartMeter& meter_;
    Context& context_;
    std::vector<PartTime> times_;
  };

  /// In the order of the parts; those that have not run are left out.
  std::vector<Sum> sums() const;
  /// Values of the symbols in the last run; empty if there was none.
  const std::vector<int64_t>& lastSymbols() const { return last_; }

 private:
  void add(const Context& context, absl::Span<const PartTime> times);

  struct Times {
    PartTime all;
    double best = 0;  ///< cycles of a run; 0 if there was none
  };

  const std::vector<Part> parts_;
  const size_t symbols_;
  std::vector<int64_t> last_;
  absl::flat_hash_map<std::vector<int64_t>, std::vector<Times>> bySymbols_;
};

}  // namespace fw::runtime
