// Where a value comes from: a path from the call's arguments, the function's globals, cells or constants. Guards check
// along it, the stub loads along it, diagnostics print it.
#pragma once

#include <Python.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cpython/ref.h"
#include "graph/support/ids.h"

namespace fw::guards {

struct SourceTag;
using SourceId = StrongId<SourceTag>;

enum class SourceKind : uint8_t {
  kArg,       ///< bound argument number `index` (order of co_varnames: positional, keyword-only, *args, **kwargs); in a
              ///< region any slot of the frame: localsplus, then the value stack
  kFunction,  ///< the function object being called (its defaults, closure and globals hang below it)
  kConst,     ///< `object`, held strongly; `index` kPinned: also after holdWeakly() (builders.h)
  kGlobals,   ///< globals dict of the function of the base
  kBuiltins,  ///< builtins dict of the function of the base
  kCell,      ///< content of closure cell `index` of the base function
  kTypeOf,    ///< type(base)
  kAttr,      ///< instance attribute `object` (interned str) found in the instance dict or slot of the base
  kTypeAttr,  ///< attribute found along the MRO of the type `base`, as is (no descriptor call)
  kItem,      ///< base[index] of an exact tuple or list; of a list also counted from the end, for index < 0
  kDictItem,  ///< base[object] of an exact dict; `object` is a plain key, or any key with `index` the hash it has (see
              ///< isPlainKey)
  kDefault,   ///< positional default `index` of the base function
  kKwDefault,    ///< keyword-only default `object` of the base function
  kBoundSelf,    ///< __self__ of a bound method
  kBoundFunc,    ///< __func__ of a bound method
  kContents,     ///< content of the cell object `base`; an empty cell has none
  kClosureCell,  ///< the cell object itself that is closure cell `index` of the base function
  kWeak,         ///< what the weak reference `object` refers to; none when it has died
  kModuleDict,   ///< __dict__ of the module `base`
  kElement,      ///< element `index` of a deque or a tuple of any class; item `index` ahead of a list or tuple iterator
  kHeldItem,  ///< what a dict of any class holds for the key `object` (as kDictItem), whatever its methods would answer
  kIterated,  ///< what the iterator `base` (of a list, tuple or enumerate) goes over; an exhausted iterator has none
};

constexpr int64_t kPinned = 1;

/// Whether sources of this kind start a path.
constexpr bool isRoot(SourceKind kind) {
  return kind == SourceKind::kArg || kind == SourceKind::kFunction || kind == SourceKind::kConst ||
         kind == SourceKind::kWeak;
}

struct Source {
  SourceKind kind;
  SourceId base;  ///< none for roots
  int64_t index = 0;
  cpython::Ref object;
};

/// Hash-consed sources of one capture.
class SourceTable {
 public:
  SourceId intern(SourceKind kind, SourceId base = {}, int64_t index = 0, PyObject* object = nullptr);
  const Source& operator[](SourceId id) const { return sources_[id.index]; }
  size_t size() const { return sources_.size(); }
  /// Puts another root in the place of one. What was interned before is not found again after.
  void replace(SourceId id, Source root);
  /// As the user would write it: "x", "self.weight", "cfg['rate']", "G (global of module.f)".
  /// Slots of a frame by the names of `code`'s locals and cells, stack entries as "stack[0]".
  std::string describe(SourceId id, PyObject* code) const;

 private:
  using Key = std::tuple<SourceKind, size_t, int64_t, PyObject*>;
  std::vector<Source> sources_;
  absl::flat_hash_map<Key, SourceId> ids_;  // what is in sources_
};

}  // namespace fw::guards
