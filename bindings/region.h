// A compiled region: the variants of one stretch of a function's own bytecode, run by the stub in front of it.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "bindings/variant_set.h"
#include "cpython/current_frame.h"
#include "frame_eval/splice/splice.h"

namespace fw::bindings {

class SplicedCode;

class Region {
 public:
  enum class Status : uint8_t {
    kProbe,   ///< nothing compiled yet
    kActive,  ///< has variants
    kDead,    ///< nothing to compile here: the stub is left out of the next splice
  };

  struct Place {
    int start;                    ///< neutral instruction
    int stackBase;                ///< index of the first slot above the stack as it is there
    std::vector<int> boundaries;  ///< of the loops around it, innermost first: where regions in front of one end
  };
  /// `ends` are those that it may turn out to have, so that the first stub can already jump there.
  Region(std::weak_ptr<SplicedCode> owner, Place place, std::vector<capture::StubEnd> ends)
      : owner_(std::move(owner)),
        place_(std::move(place)),
        ends_(std::move(ends)) {}

  /// What a stub knows of its region.
  struct Port {
    std::vector<int> answers;  ///< end of the region -> number for the stub, -1 if it does not know that end
    int headroom = 0;          ///< entries that it has pushed
  };
  /// No region, but a place that frames come by at the end of one that is on trial: runs nothing. `atReturn`: in front
  /// of a return.
  static std::shared_ptr<Region> marker(std::weak_ptr<SplicedCode> owner, Place place, bool atReturn);
  /// Whether some variant has yet to be compared with Python: then its ends want markers.
  bool isOnTrial() const;

  /// Called by a stub. Answers the number of the end reached, -1 if the original instructions are to run, -2 with a
  /// Python exception set.
  enum { kDeclined = -1, kFailed = -2 };
  int run(const cpython::CurrentFrame& frame, const Port& port);
  /// After run() has thrown a failure of ours: this region is dead, and Python goes on; unless compiled code had run,
  /// as hits() tells. Then, and if it cannot be reported, false with an exception set.
  bool giveUp(const cpython::CurrentFrame& frame, const char* failure, uint64_t hitsBefore);

  std::shared_ptr<SplicedCode> owner() const { return owner_.lock(); }
  int start() const { return place_.start; }
  const Place& place() const { return place_; }
  Status status() const { return status_; }
  const std::vector<capture::StubEnd>& ends() const { return ends_; }
  /// The region may turn out to have this end, too.
  void expect(capture::StubEnd end);
  const VariantSet& variants() const { return variants_; }
  uint64_t hits() const { return hits_; }
  /// Of all regions.
  static uint64_t allHits() { return allHits_; }
  uint64_t declines() const { return declines_; }

 private:
  int finish(RunOutcome outcome, const Variant* variant, PyObject* result, const cpython::CurrentFrame& frame,
             const Port& port);
  int miss(const cpython::CurrentFrame& frame, const Port& port);
  /// The new variant, null if there is none.
  Variant* compile(SplicedCode& owner, const cpython::CurrentFrame& frame, uint64_t kind);
  int endFor(const capture::ExitPlan& exit);
  void failed(const cpython::CurrentFrame& frame, std::string failure);
  void failed(const cpython::CurrentFrame& frame, capture::Break what);
  int passed(uint32_t longestRest);
  void gaveWay();
  bool isUseless(const SplicedCode& owner) const;
  void declined();

  std::weak_ptr<SplicedCode> owner_;
  Place place_;
  Status status_ = Status::kProbe;
  std::vector<capture::StubEnd> ends_;
  VariantSet variants_;
  static inline uint64_t allHits_ = 0;
  uint64_t hits_ = 0, declines_ = 0;
  uint64_t entries_ = 0;  ///< before there were variants
  uint32_t missesInARow_ = 0, rest_ = 0;
  uint32_t givenUpInARow_ = 0;  ///< entries that a trial has left to Python
  bool atReturn_ = false;       ///< a marker's
  int idle_ = 0;                ///< runs without any variant, in a row
  int exceptions_ = 0;          ///< captures that met an exception or nothing to compile
  bool limitReported_ = false;
};

/// Creates the type of the stubs' callables. False with an exception set.
bool addRegionEntryType(PyObject* module);

/// A callable without arguments for a stub: runs `region` on the calling frame, if that runs the code set below.
cpython::Ref newRegionEntry(std::shared_ptr<Region> region, Region::Port port);
/// The code object that the entry stands in; in any other frame it declines.
void setRegionHome(PyObject* entry, PyObject* code);

}  // namespace fw::bindings
