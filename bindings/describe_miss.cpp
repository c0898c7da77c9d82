// Why a call needs another variant, in words: the guard that failed, what changed, what can be done about it.
#include "bindings/describe.h"

#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using guards::GuardKind;
using nlohmann::json;

namespace {

struct Advice {
  GuardKind kind;
  std::string_view text;
};
/// Kinds that are not listed say enough by their reason.
constexpr Advice kAdvice[] = {
    {GuardKind::kArrayMeta,
     "each element type, rank and memory layout has a variant of its own; convert the array first to share one"},
    {GuardKind::kType, "pass the same type on every call, or let the types have variants of their own"},
    {GuardKind::kWeakType,
     "pass the same type on every call, or let the types have variants of their own; a class made anew for "
     "every call never matches"},
    {GuardKind::kIdentity,
     "the code reads another object than when it was compiled; an object made anew for every call never matches: "
     "make it once, or pass what it holds as arguments"},
    {GuardKind::kEquals,
     "the value was compiled in, because control flow, a shape or a global depended on it; pass it as a "
     "float, or as an array, if it changes often"},
    {GuardKind::kIntRange, "small Python ints, those beyond 2**31 and those beyond 2**62 have variants of their own"},
    {GuardKind::kNumber, "a decision on numbers went another way than before; each way that is taken gets a variant"},
    {GuardKind::kLength, "containers are compiled item by item; an array of the items has one variant for all lengths"},
    {GuardKind::kDictKeys, "a dict is compiled for its keys in their order; build it in the same order"},
    {GuardKind::kTypeVersion, "a class was changed after the compile; do this before the first call"},
    {GuardKind::kFunctionCode, "a function was redefined after the compile"},
    {GuardKind::kWeakFunctionCode, "a function was redefined after the compile"},
    {GuardKind::kSymRelation,
     "a branch or a shape depends on how these numbers relate; a size that is a constant by mark_static(), "
     "dynamic=False or a profile becomes a symbol by mark_dynamic()"},
    {GuardKind::kGlobalState,
     "NumPy's error state or print options differ from those at the compile; set them outside of the "
     "loop of calls"},
    {GuardKind::kNotSameObject, "the same object was passed twice: writes through one name show under the other"},
    {GuardKind::kNoOverlap, "arguments share memory, and one of them is written"},
    {GuardKind::kWriteable, "the array is read-only, and the code writes to it"}};

}  // namespace

json describeMiss(size_t variant, const guards::GuardSet& set, const guards::SlowResult& miss, PyObject* code) {
  json result = {{"variant", variant}, {"reason", miss.reason}, {"guard", ""}, {"source", ""},
                 {"line", 0},          {"advice", ""}};
  if (miss.failed < 0 || static_cast<size_t>(miss.failed) >= set.guards.size()) return result;
  const guards::Guard& guard = set.guards[miss.failed];
  result["guard"] = std::string(guards::guardName(guard.kind));
  result["line"] = guard.line;
  if (guard.source.valid()) result["source"] = set.sources->describe(guard.source, code);
  for (const Advice& advice : kAdvice)
    if (advice.kind == guard.kind) result["advice"] = std::string(advice.text);
  const bool flag = guard.object && (PyBool_Check(guard.object.get()) || guard.object.get() == Py_None);
  if (guard.kind == GuardKind::kEquals && guard.object && PyUnicode_Check(guard.object.get()))
    result["advice"] =
        "the text was compiled in, because the code decides on it or makes another text of it; where it "
        "changes often, do that outside of the function";
  if (guard.kind == GuardKind::kIdentity && flag)
    result["advice"] = "the code decides on it: True, False and None have a variant each";
  return result;
}

void logRecompile(const std::string& function, const json& misses) {
  const json& cause = misses.back();  // against the newest one; the others are in the data
  std::string text = function + ": compiled again, since " + cause["reason"].get<std::string>();
  if (cause["line"] != 0) text += " (line " + std::to_string(cause["line"].get<int>()) + ")";
  if (misses.size() > 1) text += "; this will be variant " + std::to_string(misses.size() + 1);
  if (cause["advice"] != "") text += "\n    " + cause["advice"].get<std::string>();
  emit(Channel::kRecompiles, "recompile", text, {{"function", function}, {"misses", misses}});
}

}  // namespace fw::bindings
