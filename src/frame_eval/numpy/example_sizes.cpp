#include "frame_eval/numpy/example_sizes.h"

#include <algorithm>

#include "graph/support/check.h"

namespace fw::capture::numpy {

using Form = SizeRule::Form;
using graph::SymId;

int64_t SizeRule::evaluate(absl::Span<const int64_t> arguments) const {
  switch (form) {
    case Form::kConstant: return offset;
    case Form::kOne: return arguments[a] + offset;
    case Form::kTwice: return 2 * arguments[a] + offset;
    case Form::kHalf: return arguments[a] / 2 + offset;
    case Form::kSum: return arguments[a] + arguments[b] + offset;
    case Form::kAround: return arguments[a] + 2 * arguments[b] + offset;
    case Form::kDistance: return std::max(arguments[a], arguments[b]) - std::min(arguments[a], arguments[b]) + offset;
    case Form::kProduct: return arguments[a] * arguments[b] + offset;
    case Form::kLeast: return std::min(arguments[a], arguments[b]) + offset;
    case Form::kMost: return std::max(arguments[a], arguments[b]) + offset;
    case Form::kDecided: break;
  }
  FW_UNREACHABLE();
}

SymId SizeRule::build(graph::SymContext& syms, absl::Span<const SymId> arguments) const {
  const SymId more = syms.constant(offset);
  const auto at = [&](size_t which) { return arguments[which]; };
  switch (form) {
    case Form::kConstant: return more;
    case Form::kOne: return syms.add(at(a), more);
    case Form::kTwice: return syms.add(syms.mul(syms.constant(2), at(a)), more);
    case Form::kHalf: return syms.add(syms.floorDiv(at(a), syms.constant(2)), more);
    case Form::kSum: return syms.add(syms.add(at(a), at(b)), more);
    case Form::kAround: return syms.add(syms.add(at(a), syms.mul(syms.constant(2), at(b))), more);
    case Form::kDistance: return syms.add(syms.sub(syms.max(at(a), at(b)), syms.min(at(a), at(b))), more);
    case Form::kProduct: return syms.add(syms.mul(at(a), at(b)), more);
    case Form::kLeast: return syms.add(syms.min(at(a), at(b)), more);
    case Form::kMost: return syms.add(syms.max(at(a), at(b)), more);
    case Form::kDecided: break;
  }
  FW_UNREACHABLE();
}

SizeRule ruleOf(absl::Span<const std::vector<int64_t>> arguments, absl::Span<const int64_t> sizes) {
  constexpr int64_t kFar = 64;  // by which a size is more likely to be off than by a product
  constexpr int64_t kNear = 2;
  const size_t count = arguments[0].size();
  const auto holds = [&](const SizeRule& rule) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (rule.evaluate(arguments[i]) != sizes[i]) return false;
    return true;
  };
  const auto offset = [&](SizeRule rule) {
    rule.offset = sizes[0] - rule.evaluate(arguments[0]);
    return rule;
  };
  for (size_t a = 0; a < count; ++a)
    if (const SizeRule same{Form::kOne, a}; holds(same)) return same;
  // Nothing is what the data of examples may have left.
  if (const SizeRule constant{Form::kConstant, 0, 0, sizes[0]}; holds(constant))
    return sizes[0] == 0 ? SizeRule{} : constant;
  if (sizes.size() > 1) {
    for (Form form : {Form::kOne, Form::kTwice, Form::kHalf}) {
      const int64_t far = form == Form::kOne ? kFar : kNear;
      for (size_t a = 0; a < count; ++a)
        if (const SizeRule rule = offset({form, a}); std::abs(rule.offset) <= far && holds(rule)) return rule;
    }
  }
  for (Form form : {Form::kLeast, Form::kMost, Form::kSum, Form::kAround, Form::kProduct, Form::kDistance}) {
    for (size_t a = 0; a < count; ++a) {
      for (size_t b = form == Form::kAround ? 0 : a; b < count; ++b) {
        const SizeRule rule{form, a, b};
        if (holds(rule)) return rule;
        const SizeRule off = offset(rule);
        if (sizes.size() > 1 && std::abs(off.offset) <= 1 && holds(off)) return off;
      }
    }
  }
  return {};
}

}  // namespace fw::capture::numpy
