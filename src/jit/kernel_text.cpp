#include "jit/kernel_text.h"

#include <optional>

#include "absl/container/flat_hash_map.h"

namespace fw::jit {
namespace {

using kernels::Block;
using kernels::Expr;
using kernels::ExprId;
using kernels::Kernel;
using kernels::ScalarOp;
using kernels::Stmt;

/// Writes a kernel down and keeps what the text leaves out.
class TextWriter {
 public:
  TextWriter(const Kernel& kernel, const graph::SymContext& syms) : kernel_(kernel), syms_(syms) { findNumbers(); }

  KernelText run() {
    put(kernel_.axisCount);
    for (const kernels::Access& access : kernel_.accesses) write(access);
    for (size_t i = 0; i < kernel_.exprs.size(); ++i) write(ExprId(i));
    for (const Stmt& stmt : kernel_.stmts) write(stmt);
    write(kernel_.body);
    return {std::move(text_), std::move(arguments_)};
  }

 private:
  void put(uint64_t v) { text_.append(reinterpret_cast<const char*>(&v), sizeof v); }

  void findNumbers() {
    isNumber_.resize(kernel_.exprs.size());
    for (size_t i = 0; i < isNumber_.size(); ++i) {
      const Expr& e = kernel_.exprs[i];
      isNumber_[i] = e.op == ScalarOp::kConst && (e.dtype == graph::DType::kF32 || e.dtype == graph::DType::kF64);
    }
    const auto fix = [&](ExprId id) {
      if (id.valid()) isNumber_[id.index] = false;
    };
    for (const Expr& e : kernel_.exprs)
      if (e.op != ScalarOp::kAdd && e.op != ScalarOp::kSub && e.op != ScalarOp::kMul)
        for (ExprId operand : e.operands) fix(operand);
    for (const Stmt& stmt : kernel_.stmts) {
      for (ExprId id : {stmt.lower, stmt.upper, stmt.value}) fix(id);
      for (const kernels::Accumulator& a : stmt.accumulators) fix(a.init), fix(a.element);
    }
  }

  template <class Key>
  void number(const Key& key, absl::flat_hash_map<Key, size_t>& known, std::vector<Key>& list) {
    const auto [at, fresh] = known.try_emplace(key, list.size());
    if (fresh) list.push_back(key);
    put(at->second);
  }

  void write(graph::SymId id) {
    const std::optional<int64_t> constant = id.valid() ? syms_.asConst(id) : std::nullopt;
    put(id.valid() ? constant.has_value() : 2);
    if (constant) return put(static_cast<uint64_t>(*constant));
    if (id.valid()) number(id, symNumbers_, arguments_.syms);
  }

  void write(const kernels::Access& access) {
    number({access.buffer, access.offset}, placeNumbers_, arguments_.places);
    put(access.terms.size());
    for (const kernels::Access::Term& term : access.terms) {
      put(term.axis.index);
      write(term.stride);
    }
  }

  void write(ExprId id) {
    const Expr& e = kernel_.exprs[id.index];
    put(static_cast<uint64_t>(e.op) << 32 | static_cast<uint64_t>(e.dtype) << 16 | e.operands.size() << 1 | e.whole);
    for (ExprId operand : e.operands) put(operand.index);
    put(isNumber_[id.index] ? 0 : e.imm);
    if (isNumber_[id.index]) arguments_.numbers.push_back(id);
    write(e.sym);
    put(static_cast<uint64_t>(e.axis.index) << 32 | e.stmt.index);
    put(e.access);
  }

  void write(const Stmt& s) {
    put(static_cast<uint64_t>(s.kind) << 32 | static_cast<uint64_t>(s.order) << 16 | s.vectorize << 1 | s.parallel);
    for (uint32_t index : {s.axis.index, s.lower.index, s.upper.index, s.value.index, s.access}) put(index);
    put(s.accumulators.size());
    for (const kernels::Accumulator& a : s.accumulators) {
      put(static_cast<uint64_t>(a.dtype) << 32 | static_cast<uint64_t>(a.combine));
      put(static_cast<uint64_t>(a.init.index) << 32 | a.element.index);
    }
    write(s.body);
  }

  void write(const Block& block) {
    put(block.items.size());
    for (const kernels::Item& item : block.items) put(static_cast<uint64_t>(item.expr.index) << 32 | item.stmt.index);
  }

  const Kernel& kernel_;
  const graph::SymContext& syms_;
  std::string text_;
  KernelArguments arguments_;
  std::vector<bool> isNumber_;
  absl::flat_hash_map<graph::SymId, size_t> symNumbers_;
  absl::flat_hash_map<std::pair<graph::BufferId, graph::SymId>, size_t> placeNumbers_;
};

}  // namespace

KernelText writeDown(const Kernel& kernel, const graph::SymContext& syms) { return TextWriter(kernel, syms).run(); }

}  // namespace fw::jit
