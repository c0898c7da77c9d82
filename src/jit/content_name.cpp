// Everything is written down, binary, and digested by BLAKE3. A symbolic integer is written when it is first met,
// behind its operands, and is a number from then on, so that shared expressions cost no more than they are long. Names
// of symbols and kernels, ranges, strides and layouts are not written: no code depends on them.
#include "jit/content_name.h"

#include "absl/container/flat_hash_map.h"

#include "jit/kernel_text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

namespace fw::jit {
namespace {

class Writer {
 public:
  explicit Writer(const graph::SymContext& syms) : syms_(syms) {}

  void put(uint64_t v) { text_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void put(std::string_view text) {
    put(text.size());
    text_.append(text);
  }
  void put(graph::BufferId id) { put(uint64_t{id.index}); }

  void put(graph::SymId id) {
    if (!id.valid()) return put(uint64_t{0});
    if (const auto known = numbers_.find(id); known != numbers_.end()) return put(known->second);
    const graph::SymNode& node = syms_.node(id);
    for (graph::SymId operand : node.operands) put(operand);
    numbers_.emplace(id, numbers_.size() + 1);
    put(~uint64_t{0});
    put(static_cast<uint64_t>(node.op) << 32 | node.operands.size());
    put(static_cast<uint64_t>(node.value));
    for (graph::SymId operand : node.operands) put(numbers_.at(operand));
  }

  template <class List>
  void list(const List& list) {
    put(uint64_t{list.size()});
    for (const auto& item : list) put(item);
  }

  void put(const kernels::Kernel& kernel) {
    const KernelText written = writeDown(kernel, syms_);
    put(written.text);
    put(static_cast<uint64_t>(kernel.errors ? kernel.errors->code() : 0));
    put(uint64_t{written.arguments.places.size()});
    for (const auto& [buffer, offset] : written.arguments.places) {
      put(buffer);
      put(offset);
    }
    list(written.arguments.syms);
    for (kernels::ExprId id : written.arguments.numbers) put(kernel.exprs[id.index].imm);
    flush();
  }

  void put(const graph::Buffer& buffer) {
    put(static_cast<uint64_t>(buffer.kind) << 8 | static_cast<uint64_t>(buffer.dtype));
    list(buffer.shape);
    put(buffer.offset);
    put(uint64_t{buffer.home.index});
  }

  void put(const kernels::Reach& reach) {
    put(reach.buffer);
    put(reach.offset);
    put(static_cast<uint64_t>(reach.bytes));
    put(uint64_t{reach.terms.size()});
    for (const kernels::Reach::Term& term : reach.terms)
      for (graph::SymId id : {term.stride, term.first, term.last}) put(id);
    list(reach.spans);
  }

  void put(const graph::DeferredCommit& commit) {
    put(static_cast<uint64_t>(commit.commit) << 1 | commit.whole);
    put(static_cast<uint64_t>(commit.outer));
    put(uint64_t{commit.order.size()});
    for (int64_t axis : commit.order) put(static_cast<uint64_t>(axis));
  }

  void steps(const graph::Steps& steps) {
    put(uint64_t{steps.size()});
    for (const graph::Step& step : steps) {
      put(uint64_t{step.what.index()});
      std::visit([&](const auto& what) { show(what); }, step.what);
    }
  }

  std::string digest() {
    flush();
    const auto bytes = hasher_.final<20>();
    return llvm::toHex(bytes, /*LowerCase=*/true);
  }

 private:
  void flush() {
    hasher_.update(llvm::StringRef(text_));
    text_.clear();
  }

  void show(const graph::KernelStep& step) { put(static_cast<uint64_t>(step.group)); }
  void show(const graph::AcceptStep&) {}
  void show(const graph::CommitStep& step) { put(static_cast<uint64_t>(step.commit)); }
  void show(const graph::CallStep& step) {
    put(static_cast<uint64_t>(step.number));
    for (const graph::Window& operand : step.operands) {
      put(operand.buffer);
      put(operand.offset);
      list(operand.shape);
      list(operand.strides);
    }
    list(step.results);
    list(step.sizes);
  }
  void show(const graph::AllocStep& step) {
    put(step.buffer);
    put(static_cast<uint64_t>(step.number));
  }
  void show(const graph::FreeStep& step) { put(step.buffer); }
  void show(const graph::CopyStep& step) {
    put(step.from);
    put(step.to);
  }
  void show(const graph::LoopStep& step) {
    put(step.trip.value_or(graph::SymId()));
    put(step.index.value_or(graph::SymId()));
    put(step.again);
    list(step.handles);
    put(uint64_t{step.moves.size()});
    for (const auto& [to, from] : step.moves) {
      put(to);
      put(from);
    }
    bodies(step);
  }
  void show(const graph::CondStep& step) {
    put(step.predicate);
    bodies(step);
  }
  void show(const graph::BindStep& step) {
    for (graph::SymId id : {step.symbol, step.least, step.most}) put(id);
    put(step.from);
    bodies(step);
  }
  void show(const graph::DefineStep& step) {
    for (graph::SymId id : {step.symbol, step.least, step.most}) put(id);
    put(step.from);
  }
  void bodies(const graph::ControlStep& step) {
    for (const graph::ControlStep::Body& body : step.bodies) steps(body.steps);
  }

  const graph::SymContext& syms_;
  std::string text_;  // not digested yet
  llvm::BLAKE3 hasher_;
  absl::flat_hash_map<graph::SymId, uint64_t> numbers_;
};

}  // namespace

std::string contentName(const kernels::KernelProgram& program, const graph::SymContext& syms, const graph::Plan& plan,
                        const TargetSpec& target, const CompileOptions& options) {
  Writer w(syms);
  w.put(std::string_view(target.cpu));
  w.put(std::string_view(target.features));
  w.put(static_cast<uint64_t>(options.optLevel) << 2 | static_cast<uint64_t>(options.timed) << 1 | options.checked);
  w.list(program.kernels);
  w.put(uint64_t{program.kernelsUpTo.size()});
  for (size_t count : program.kernelsUpTo) w.put(uint64_t{count});
  w.list(program.commits);
  w.put(uint64_t{plan.commits.size()});
  w.list(program.deferred);
  w.list(program.reaches);
  w.list(plan.buffers);
  w.steps(plan.steps);
  w.put(uint64_t{plan.regions.size()});
  return "fw_" + w.digest();
}

}  // namespace fw::jit
