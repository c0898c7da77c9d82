#include "frame_eval/refers_to.h"

#include <algorithm>

#include "frame_eval/classes.h"
#include "frame_eval/generator.h"
#include "frame_eval/nesting.h"

namespace fw::capture {

bool refersTo(Trace& trace, Value* from, Value* to, absl::flat_hash_set<Value*>& seen) {
  if (from == to) return true;
  const bool constant = from && from->isConstant() && !isMadeClass(trace, from);
  if (!from || from->source.valid() || from->isNumeric() || constant || !seen.insert(from).second) return false;
  Nesting nesting(trace);
  auto any = [&](Value* value) { return refersTo(trace, value, to, seen); };
  auto anyOf = [&](const auto& named) {
    return std::any_of(named.begin(), named.end(), [&](auto& p) { return any(p.second); });
  };
  if (std::any_of(from->items.begin(), from->items.end(), any) || anyOf(from->overlay) || anyOf(from->kwdefaults))
    return true;
  if (from->kind == ValueKind::kInstance && any(madeClass(trace, from->object.get()))) return true;
  if (auto* generator = dynamic_cast<GeneratorIterator*>(from->lazy.get())) {
    const CallArgs& args = generator->args;
    if (any(generator->function) || std::any_of(args.positional.begin(), args.positional.end(), any) ||
        anyOf(args.keywords))
      return true;
  }
  if (!from->parts) return false;
  const FunctionParts& p = *from->parts;
  return any(p.closure) || any(p.defaults) || any(p.kwdefaults) || any(p.dict) || any(p.annotations);
}

}  // namespace fw::capture
