// A call from its first computation to the last store into its arguments: computes, asks whether the answer may stand,
// and changes arguments only then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "runtime/commit_report.h"
#include "runtime/executable.h"

namespace fw::runtime {

/// What the surroundings of a call decide about it. Asked with their lock held.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Whether these Status bits must be reported, so that somebody else has to compute the call.
  virtual bool mustReport(int32_t status) = 0;
  /// Those Status bits that must be reported, if report() can do it when everything is stored; nullopt if not.
  virtual std::optional<int32_t> reportable() = 0;
  /// Everything is stored; reports those flags that are among `watched`. False if an error came of it.
  virtual bool report(std::vector<RaisedFlags> raised, int32_t watched) = 0;
  /// Around long work: others may go on meanwhile.
  virtual void unlock() = 0;
  virtual void lock() = 0;
};

enum class Outcome : uint8_t {
  kDone,         ///< results are computed, commits are stored
  kDeclined,     ///< nothing visible has happened, as with the next three
  kNotYet,       ///< on a device: the code is still being made
  kOutside,      ///< checked code met an access outside of its buffer, and did not make it
  kOutOfMemory,  ///< for the workspace, or to keep what is needed while commits are stored
  kFailed,       ///< commits are stored, but report() answered false; on a device: storing has failed
};

class Transaction {
 public:
  /// Checks commits before it stores them.
  Transaction() = default;
  /// Of a planned graph: looks at the flags of commits while it stores them, where it can put back what they overwrite.
  Transaction(const graph::Graph& graph, const graph::Plan& plan) : reporter_(CommitReporter::make(graph, plan)) {}

  /// Whether executables may defer the checks of commits.
  bool mayDefer() const { return reporter_.has_value(); }

  struct Work {
    int64_t workspaceBytes;
    int64_t resultBytes;  ///< about: what is computed or stored
    bool mayUnlock;
  };
  /// Runs the executable of that plan on a context that has symbols and buffers.
  Outcome run(const Executable& executable, Context& context, const Work& work, Policy& policy) const;

 private:
  struct Watch;
  bool watch(const Executable& executable, const Context& context, int64_t bytes, Policy& policy, Watch& watch) const;
  Outcome runOnDevice(const Executable& executable, Context& context, const Work& work, Policy& policy) const;
  Outcome runNear(const Executable& executable, Context& context, const Work& work, Policy& policy) const;
  Outcome runOnHost(const Executable& executable, Context& context, const Work& work, Policy& policy) const;
  Outcome commit(const Executable& executable, Context& context, const Work& work, bool unlock, Policy& policy) const;
  Outcome store(const Executable& executable, Context& context, Watch& watch, bool unlock, Policy& policy) const;

  std::optional<CommitReporter> reporter_;
};

}  // namespace fw::runtime
