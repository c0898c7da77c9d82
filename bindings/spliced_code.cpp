// Splicing anew costs some 0.1 ms, so it is done for calls only, and less and less often as calls go on, unless a region has
// become reachable or has got an end that the running stubs do not know.
#include "bindings/spliced_code.h"

#include "bindings/describe.h"
#include "frame_eval/policy.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::Break;
using cpython::Opcode;
using cpython::Ref;

std::shared_ptr<SplicedCode> SplicedCode::create(PyCodeObject* code, FunctionSettings settings, bool loud) {
  std::shared_ptr<SplicedCode> result(new SplicedCode(code, std::move(settings), loud));
  for (int start : result->map_.candidates()) result->addRegion(start);
  for (int stop : capture::profiledStops(reinterpret_cast<PyObject*>(code)))
    if (stop >= 0 && stop < static_cast<int>(result->stops_.size())) result->addPythonStop(stop);
  return result->regions_.empty() ? nullptr : result;
}

SplicedCode::SplicedCode(PyCodeObject* code, FunctionSettings settings, bool loud)
    : settings_(std::move(settings)), map_(code), stops_(map_.code().instructions.size()), python_(stops_.size()), loud_(loud) {}

std::string SplicedCode::name() const {
  const char* text = PyUnicode_AsUTF8(map_.object()->co_qualname);
  if (!text) PyErr_Clear();
  return text ? text : "<code>";
}

void SplicedCode::addRegion(int start) {
  if (start < 0 || regions_.contains(start)) return;
  const int depth = map_.depth(start);
  if (depth < 0) return;
  regions_[start] = std::make_shared<Region>(weak_from_this(), start, map_.slotCount() + depth, predictEnds(start));
  dirty_ = true;
  nextSplice_ = 0;
}

/// In a loop, where the first call may stay for long, stubs are made before anything is known: a region there will end at
/// a call, a loop or a branch that Python has to run, or at the end of the body.
std::vector<capture::StubEnd> SplicedCode::predictEnds(int start) const {
  constexpr size_t kMost = 16;
  std::vector<capture::StubEnd> ends;
  const std::vector<int> headers = map_.headersOf(start);
  if (headers.empty()) return ends;
  auto add = [&](int instr) {
    const int stop = map_.stopFor(instr);
    if (stop < 0 || stop == start || map_.depth(stop) < 0 || ends.size() == kMost) return;
    for (const capture::StubEnd& known : ends)
      if (known.target == stop) return;
    ends.push_back({stop, map_.depth(stop)});
  };
  add(headers.front());
  const auto& code = map_.code().instructions;
  for (int i = start + 1; i < static_cast<int>(code.size()) && ends.size() < kMost; ++i) {
    const Opcode op = code[i].op;
    if (op == Opcode::kReturnValue) break;
    if (op == Opcode::kCall || op == Opcode::kCallKw || op == Opcode::kCallEx || op == Opcode::kForIter ||
        op == Opcode::kPopJumpIfFalse || op == Opcode::kPopJumpIfTrue)
      add(i);
  }
  return ends;
}

/// Of a probe all ends that it may have, of a compiled region those that it has.
capture::Stub SplicedCode::stubFor(const std::shared_ptr<Region>& region) const {
  capture::Stub stub{region->start(), Ref(), {}};
  Region::Port port;
  port.answers.assign(region->ends().size(), -1);
  auto use = [&](size_t end) {
    if (port.answers[end] >= 0) return;
    port.answers[end] = static_cast<int>(stub.ends.size());
    stub.ends.push_back(region->ends()[end]);
  };
  if (region->status() == Region::Status::kProbe)
    for (size_t end = 0; end < region->ends().size(); ++end) use(end);
  for (const auto& variant : region->variants().variants()) use(static_cast<size_t>(variant->endIndex));
  port.headroom = capture::stubHeadroom(map_, stub);
  stub.callable = newRegionEntry(region, std::move(port));
  return stub;
}

bool SplicedCode::addStop(int at, Break what) {
  record(std::move(what));
  return addPythonStop(at);
}

std::vector<int> SplicedCode::pythonStops() const {
  std::vector<int> stops;
  for (size_t i = 0; i < python_.size(); ++i)
    if (python_[i]) stops.push_back(static_cast<int>(i));
  return stops;
}

bool SplicedCode::addPythonStop(int at) {
  const int stop = map_.stopFor(at);
  if (stop < 0 || python_[stop]) return false;
  python_[stop] = stops_[stop] = true;
  const Opcode op = map_.code().instructions[at].op;
  callsOut_ |= op == Opcode::kCall || op == Opcode::kCallKw || op == Opcode::kCallEx;
  for (int start : map_.startsAfter(at)) addRegion(start);
  for (int header : map_.headersOf(at)) {
    const int boundary = map_.stopFor(header);
    if (boundary < 0 || stops_[boundary]) continue;
    stops_[boundary] = dirty_ = true;
    nextSplice_ = 0;
    if (map_.code().instructions[header].op == Opcode::kForIter) {
      python_[boundary] = true;
      for (int start : map_.startsAfter(header)) addRegion(start);
    } else {
      addRegion(boundary);
    }
  }
  return true;
}

bool SplicedCode::isOpen(int start) const {
  for (int header : map_.headersOf(start)) {
    const int boundary = map_.stopFor(header);
    if (boundary >= 0 && !stops_[boundary]) return false;
  }
  return true;
}

void SplicedCode::record(Break what) { recordBreak(breaks_, std::move(what), name()); }

void SplicedCode::added(const Region& region, const Variant& variant, PyFunctionObject* function, PyObject* const* slots) {
  logVariant(name() + " line " + std::to_string(lineOf(region.start())), variant, function, slots);
  dirty_ = true;
  nextSplice_ = 0;
}

void SplicedCode::reportLimit(int start, size_t limit) {
  record({capture::BreakReason::kRecompileLimit, "the region from here has " + std::to_string(limit) + " variants", "", lineOf(start)});
  if (loud_ && PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                       "fusewire: the region of %s from line %d reached its recompile limit of %zu variants; other kinds of "
                       "values run as Python (FUSEWIRE_LOGS=recompiles explains)", name().c_str(), lineOf(start), limit) < 0)
    throw cpython::PythonError();
}

PyObject* SplicedCode::codeForCall() {
  ++calls_;
  if (dirty_ && calls_ >= nextSplice_) splice();
  return code_ ? code_.get() : reinterpret_cast<PyObject*>(map_.object());
}

void SplicedCode::splice() {
  dirty_ = false;
  nextSplice_ = calls_ * 2;
  std::vector<capture::Stub> stubs;
  for (const auto& [start, region] : regions_) {
    if (region->status() == Region::Status::kDead) continue;
    if (python_[start]) continue;   // Python runs the very first instruction
    if (calls_ > 1 && !isOpen(start)) continue;
    stubs.push_back(stubFor(region));
  }
  if (stubs.empty()) {
    code_ = Ref();
    return;
  }
  code_ = capture::splice(map_, stubs);
  for (const capture::Stub& stub : stubs) setRegionHome(stub.callable.get(), code_.get());
}

void recordBreak(std::vector<RecordedBreak>& breaks, Break what, const std::string& function) {
  for (RecordedBreak& known : breaks)
    if (known.what.reason == what.reason && known.what.detail == what.detail && known.what.line == what.line) {
      ++known.count;
      return;
    }
  logBreak(function, what);
  breaks.push_back({std::move(what), 1});
}

}  // namespace fw::bindings
