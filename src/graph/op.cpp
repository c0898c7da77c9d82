// Look-ups in the op table. The table itself is built by the preprocessor from ops/*.def; the static_asserts turn a
// bad row (duplicate name, a name that is not an identifier) into a compile error.
#include "graph/op.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

constexpr OpInfo kOps[] = {
#define FW_OP(Id, text, arity, cls, loops, result, numpy, cpu, contract, raises, cost)                         \
  {Op::k##Id,          text,           arity,     OpClass::cls, Loops::loops, ResultType::result, numpy, #cpu, \
   Contract::contract, Raises::raises, Cost::cost},
#include "graph/ops/all.def"
};

constexpr bool isIdentifier(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return true;
}

constexpr bool rowsAreSound() {
  for (size_t i = 0; i < std::size(kOps); ++i) {
    if (kOps[i].op != static_cast<Op>(i) || !isIdentifier(kOps[i].text) || kOps[i].cpu.empty()) return false;
    for (size_t j = 0; j < i; ++j) {
      if (kOps[i].text == kOps[j].text) return false;
    }
  }
  return true;
}
static_assert(rowsAreSound(), "ops/*.def: duplicate or malformed name, or an empty CPU lowering");

using NameMap = absl::flat_hash_map<std::string, Op>;

const NameMap& textMap() {
  static const NameMap* map = [] {
    auto* m = new NameMap;
    for (const OpInfo& row : kOps) m->emplace(std::string(row.text), row.op);
    return m;
  }();
  return *map;
}

/// The first row wins where two rows claim a Python name; a test makes sure that none do.
const NameMap& numpyMap() {
  static const NameMap* map = [] {
    auto* m = new NameMap;
    for (const OpInfo& row : kOps) {
      std::string_view rest = row.numpy;
      while (!rest.empty()) {
        size_t bar = std::min(rest.find('|'), rest.size());
        m->emplace(std::string(rest.substr(0, bar)), row.op);
        rest.remove_prefix(std::min(bar + 1, rest.size()));
      }
    }
    return m;
  }();
  return *map;
}

std::optional<Op> lookUp(const NameMap& map, std::string_view name) {
  auto it = map.find(std::string(name));
  if (it == map.end()) return std::nullopt;
  return it->second;
}

}  // namespace

std::string_view name(OpClass cls) {
  switch (cls) {
    case OpClass::kSource: return "source";
    case OpClass::kElementwise: return "elementwise";
    case OpClass::kReduction: return "reduction";
    case OpClass::kScan: return "scan";
    case OpClass::kView: return "view";
    case OpClass::kCreation: return "creation";
    case OpClass::kJoin: return "join";
    case OpClass::kGather: return "gather";
    case OpClass::kUpdate: return "update";
    case OpClass::kControl: return "control";
  }
  FW_UNREACHABLE();
}

std::string_view name(Raises raises) {
  switch (raises) {
    case Raises::kNothing: return "nothing";
    case Raises::kFloats: return "floats";
    case Raises::kComplex: return "complex";
    case Raises::kNumbers: return "numbers";
    case Raises::kByTypes: return "types";
    case Raises::kAnything: return "anything";
  }
  FW_UNREACHABLE();
}

absl::Span<const OpInfo> opTable() { return kOps; }

const OpInfo& info(Op op) {
  FW_CHECK(static_cast<size_t>(op) < std::size(kOps));
  return kOps[static_cast<size_t>(op)];
}

std::optional<Op> opFromText(std::string_view text) { return lookUp(textMap(), text); }

std::optional<Op> opFromNumpyName(std::string_view name) { return lookUp(numpyMap(), name); }

}  // namespace fw::graph
