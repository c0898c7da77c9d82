// Iterators of the trace. Each is exhausted for good once it has answered null, as those of CPython are.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

/// The builtin iter(), for recipes.
PyObject* iterFunction(Trace& trace);

/// Items that are computed by a function object: `auto step(Interpreter&) -> Value*`; it may have a `recipe(Trace&)`
/// `items(Interpreter&)` with `skip()`, `loops(Interpreter&)`, and a list `sources` of the iterators that it takes its
/// items from.
template <typename Step>
class StepIterator : public VirtualIterator {
 public:
  explicit StepIterator(Step step) : step_(std::move(step)) {}
  Value* next(Interpreter& interpreter) override {
    Value* item = done_ ? nullptr : step_(interpreter);
    done_ = !item;
    return item;
  }
  std::unique_ptr<VirtualIterator> copy() const override {
    if constexpr (std::is_copy_constructible_v<Step>) return std::make_unique<StepIterator>(*this);
    return nullptr;
  }
  std::optional<Items> items(Interpreter& interpreter) override {
    if constexpr (requires { step_.items(interpreter); })
      if (!done_) return step_.items(interpreter);
    return std::nullopt;
  }
  std::optional<Loops> loops(Interpreter& interpreter) override {
    if constexpr (requires { step_.loops(interpreter); })
      if (!done_) return step_.loops(interpreter);
    return std::nullopt;
  }
  void skip() override {
    if constexpr (requires { step_.skip(); }) step_.skip();
  }
  std::vector<Value*> sources() const override {
    if constexpr (requires { step_.sources; }) return step_.sources;
    return {};
  }
  std::optional<Recipe> recipe(Trace& trace) override {
    if constexpr (requires { step_.recipe(trace); }) return step_.recipe(trace);
    return std::nullopt;
  }

  const Step& step() const { return step_; }

 private:
  Step step_;
  bool done_ = false;
};

/// `cls`: the type that the iterator shows, or null.
/// Of so many items, each known by its number. `Item`: (SymId number) answers one; check(at) breaks in front of one
/// that is asked for by itself where that cannot be.
template <typename Item>
struct NumberedStep {
  Trace& trace;
  graph::SymId size;
  Item item;
  int64_t at = 0;

  Value* operator()(Interpreter&) {
    item.check(at);
    if (at == trace.specialize(size)) return nullptr;
    return item(trace.syms().constant(at++));
  }
  std::optional<VirtualIterator::Items> items(Interpreter&) {
    graph::SymContext& syms = trace.syms();
    const graph::SymId taken = syms.constant(at);
    return VirtualIterator::Items{syms.sub(size, taken), [step = *this, taken](graph::SymId number) {
                                    return step.item(step.trace.syms().add(taken, number));
                                  }};
  }
  void skip() { ++at; }
};

template <typename Step>
Value* makeIterator(Trace& trace, PyTypeObject* cls, Step step) {
  Value* v = trace.make(ValueKind::kIterator);
  v->lazy = std::make_unique<StepIterator<Step>>(std::move(step));
  v->cls = Ref::create(reinterpret_cast<PyObject*>(cls));
  return v;
}

}  // namespace fw::capture
