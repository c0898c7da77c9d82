#include "jit/strip_bounds.h"

#include <array>

#include "llvm/IR/PatternMatch.h"

namespace fw::jit {

using llvm::Instruction;
using llvm::PHINode;
using llvm::Value;

namespace {

constexpr unsigned kSmallBits = 26;  ///< so that a product is no overflow of a Size
constexpr Size kSmall = Size{1} << kSmallBits;

Size sizeOf(const llvm::APInt& number) {
  const Size value = number.getSExtValue();
  return value < 0 ? -value : value;
}

Size product(Size size, Size small) { return size >= kUnbounded ? size : std::min(size * small, kUnbounded); }

}  // namespace

Bound Bounds::of(Value* value) {
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  known_[value] = Bound();  // while it is looked for
  Bound found = find(value);
  found.beyond = std::min(found.beyond, std::max(found.alone - anchor_, Size{0}));
  return known_[value] = found;
}

template <class Values>
Bound Bounds::largest(const Values& values) {
  Bound most = {0, 0};
  for (Value* one : values) {
    const Bound bound = of(one);
    most = {std::max(most.alone, bound.alone), std::max(most.beyond, bound.beyond)};
  }
  return most;
}

Bound Bounds::find(Value* value) {
  using namespace llvm::PatternMatch;
  if (!value->getType()->isIntegerTy(64)) return {};
  const llvm::ConstantRange range = evolution_.getSignedRange(evolution_.getSCEV(value));
  const Size most = std::max(sizeOf(range.getSignedMax()), sizeOf(range.getSignedMin()));
  if (most <= kSmall) return {most, kUnbounded};
  auto* instruction = llvm::dyn_cast<Instruction>(value);
  if (!instruction || !loop_.contains(instruction)) {
    if (!llvm::isa<llvm::Constant>(value)) anchors.outside.insert(value);
    return llvm::isa<llvm::Constant>(value) ? Bound() : Bound{anchor_, 0};
  }
  if (auto* phi = llvm::dyn_cast<PHINode>(value)) {
    if (phi->getParent() == loop_.getHeader()) {
      handedOn.insert(phi);
      return {kUnbounded, 0};
    }
    return largest(phi->incoming_values());
  }
  Value *first, *second;
  if (match(value, m_Add(m_Value(first), m_Value(second))) || match(value, m_Sub(m_Value(first), m_Value(second)))) {
    const Bound a = of(first), b = of(second);
    return {sum(a.alone, b.alone), std::min(sum(a.beyond, b.alone), sum(a.alone, b.beyond))};
  }
  if (match(value, m_SMin(m_Value(first), m_Value(second))) || match(value, m_SMax(m_Value(first), m_Value(second))))
    return largest(std::array{first, second});
  if (match(value, m_Select(m_Value(), m_Value(first), m_Value(second)))) return largest(std::array{first, second});
  const llvm::APInt* number;
  if (match(value, m_Mul(m_Value(first), m_APInt(number))) && sizeOf(*number) <= kSmall)
    return {product(of(first).alone, sizeOf(*number)), kUnbounded};
  if (match(value, m_Shl(m_Value(first), m_APInt(number))) && number->ult(kSmallBits))
    return {product(of(first).alone, Size{1} << number->getZExtValue()), kUnbounded};
  if (!dominators_.dominates(instruction->getParent(), loop_.getLoopLatch())) return {};
  anchors.inside.insert(instruction);
  return {anchor_, 0};
}

}  // namespace fw::jit
