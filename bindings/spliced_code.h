// A function's bytecode with compiled regions: which instructions Python runs itself (stops), where regions stand, and
// the code object that is run.
#pragma once

#include <Python.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/claim.h"
#include "bindings/overhead.h"
#include "bindings/region.h"
#include "bindings/settings.h"
#include "frame_eval/splice/code_map.h"

namespace fw::bindings {

class SplicedCode : public std::enable_shared_from_this<SplicedCode> {
 public:
  /// nullptr if no region can stand in this code. Throws PythonError.
  static std::shared_ptr<SplicedCode> create(PyCodeObject* code, FunctionSettings settings,
                                             std::shared_ptr<Overhead> overhead, bool decorated);

  /// The code to run for the next call, a borrowed reference: spliced anew when regions have come or gone, the user's
  /// own if nothing is left to run.
  PyObject* codeForCall();

  /// The function may not be called again: only loops have stubs, and only those are compiled that go on for long.
  void setCold(bool cold);
  /// Whether a region that has no variants is compiled when it is entered for this time.
  bool isDue(const Region& region, uint64_t entry);
  bool isDecorated() const { return decorated_; }
  /// Whether captures may cost time now.
  bool mayCapture();
  Overhead& overhead() { return *overhead_; }

  /// Python runs the instruction `at` itself from now on; regions may begin behind it. False if that changes nothing.
  bool addStop(int at, capture::Break what);
  void record(capture::Break what);
  /// A break at an instruction of this code.
  capture::Break breakAt(capture::BreakReason reason, std::string detail, int at) const;
  /// A region is about to get a new variant.
  void added(const Region& region, Variant& variant, PyFunctionObject* function, PyObject* const* slots);
  /// A region has died.
  void changed() { dirty_ = true; }
  void reportLimit(int start, size_t limit);
  /// A trial of a region has come to an end: what was put up for it may go.
  void trialDecided() { resplice(); }

  /// Whether the region may be captured: not while one in front of it may still swallow the whole loop that it lies in.
  bool isOpen(const Region& region) const;
  /// One capture at a time.
  Claim claimCompiling() { return Claim(compiling_); }

  std::shared_ptr<const Config> config() const { return settings_.current(); }
  const capture::CodeMap& map() const { return map_; }
  const std::vector<bool>& stops() const { return stops_; }
  /// Instructions that Python runs, for profiles.
  std::vector<int> pythonStops() const;
  const std::map<int, std::shared_ptr<Region>>& regions() const { return regions_; }
  const std::vector<RecordedBreak>& breaks() const { return breaks_; }
  int lineOf(int instr) const { return map_.code().instructions[instr].position.line; }
  std::string name() const;
  /// True if some stop is a call, whose callee the hook may compile.
  bool callsOut() const { return callsOut_; }
  bool isOnTrial() const;

 private:
  SplicedCode(PyCodeObject* code, FunctionSettings settings, std::shared_ptr<Overhead> overhead, bool decorated);
  void addRegion(int start);
  bool isCovered(const Region& region) const;
  void expectStops(Region& region) const;
  void stopAtLoop(int header);
  void stopAtLoopOver(int getIter);
  bool addPythonStop(int at);
  void cutBehind(int at);
  /// The next call runs new stubs.
  void resplice() { dirty_ = true, nextSplice_ = 0; }
  std::vector<capture::StubEnd> predictEnds(int start) const;
  capture::Stub stubFor(const std::shared_ptr<Region>& region) const;
  std::vector<capture::Stub> markers(const std::vector<capture::Stub>& stubs);
  void splice();

  FunctionSettings settings_;
  std::shared_ptr<Overhead> overhead_;
  capture::CodeMap map_;
  // Guarded by the GIL.
  std::vector<bool> stops_;                         ///< regions end before these instructions
  std::vector<bool> python_;                        ///< those of them that Python runs
  std::map<int, std::shared_ptr<Region>> regions_;  ///< by start
  std::vector<RecordedBreak> breaks_;
  cpython::Ref code_;
  bool decorated_, dirty_ = true, compiling_ = false, callsOut_ = false, cold_ = false;
  bool pays_ = false;  ///< some region has had array work
  uint64_t calls_ = 0, nextSplice_ = 0;
  struct Stretch {
    int start, end;
  };
  std::vector<Stretch> covered_;  ///< by regions that have been compiled in call `coveredIn_`
  uint64_t coveredIn_ = 0;
};

/// Adds a break to a list, or counts it if it is there, and tells the log.
void recordBreak(std::vector<RecordedBreak>& breaks, capture::Break what, const std::string& function);

}  // namespace fw::bindings
