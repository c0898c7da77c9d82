// What a call or a compiled region does after its native code: builds Python objects, replays side effects, and leaves
// the frame as the interpreter would have left it.
#pragma once

#include <string>
#include <vector>

#include "cpython/ref.h"
#include "graph/symint.h"

namespace fw::capture {

/// An object as a tree. Node 0 of ExitPlan::nodes is the returned object if the exit returns; otherwise the nodes are
/// roots of effects and slots. Children precede nothing in particular.
struct ExitNode {
  enum class Kind : uint8_t {
    kConstant,     ///< object
    kObject,       ///< CallFrame::objects[index]: an object that exists outside, as it is
    kArray,        ///< graph output `index` as a fresh array, or as a view where the plan says so
    kArrayScalar,  ///< graph output `index` (rank 0) as NumPy scalar
    kPyFloat,
    kDataInt,
    kPyBool,
    kPyComplex,  ///< graph output `index` as a Python number
    kMixed,   ///< graph output `index`, f64 or i64, as a number of the class that output `which` says (mixed_numbers.h)
    kChosen,  ///< one of the children, kConstant or kObject, the first of which has number `which`: that of the number
              ///< that int64 graph output `index` is (choices.h)
    kPyInt,   ///< value of `sym`
    kTuple,
    kList,     ///< children
    kItems,    ///< a list: children[0] = its length, children[1] = what an item is like, a tree of tuples, numbers,
               ///< kRow and kRowList, of which each item has the next element of the graph output
    kRow,      ///< in kItems: part of graph output `index` as an array of its own
    kRowList,  ///< in kItems: a list of what children[0] is like, along the next axis of its graph output `index`
    kBlock,   ///< in kItems: a list of what children[0] is like, as many as graph output `index` says, from the element
              ///< of its graph outputs on that graph output `which` says
    kRecord,  ///< in kItems: a list of one of what each child is like, at the element that graph output `index` says
    kSet,
    kFrozenSet,  ///< children, hashable by code that is not the user's
    kDict,       ///< children = key, value, key, value ...
    kSlice,
    kRange,     ///< children = start, stop, step
    kIterator,  ///< iter(children[0]) of an exact builtin type, from which `index` items are taken
    kCall,  ///< children[0](the others): a builtin that runs no user code; if it made an iterator, `index` items are
            ///< taken from it; object = tuple of names if the last of them are keywords
    kSubclass,   ///< object = class (or live) derived from a builtin container; children = that container, then name,
                 ///< value, ... of attributes
    kAttribute,  ///< attribute `object` (interned str) of children[0], whose exact type is builtin or NumPy's
    kMethod,     ///< children = function, self: a bound method
    kFunction,   ///< object = code (or live); children = globals, qualname, defaults, kwdefaults, closure, annotations,
                 ///< __dict__ (-1: none), then name, value, ... of attributes that are set
    kCell,       ///< a fresh cell; children[0] = content or -1
    kInstance,   ///< object = class (or live; neither: the first child); children = name, value, ...:
                 ///< object.__new__(class) and its instance attributes in order
    kShared,     ///< the same object as node `index` (a list returned twice)
  };
  Kind kind;
  int index = 0;
  int baseObject = -1;    ///< kArray that views an argument: index into CallFrame::objects of the base
  int baseNode = -1;      ///< kArray that views another result: index of its graph output
  bool writeable = true;  ///< kArray views
  int which = -1;         ///< kMixed: output; kChosen: number of the first child
  graph::SymId sym;
  cpython::Ref object;
  int live = -1;  ///< kFunction, kInstance of what the plan may not hold: index into CallFrame::objects
  std::vector<int> children;
};

/// A change of an object that outlives the region; none runs user code. Applied in program order after all nodes they
/// and the slots need exist, so that a failure (memory) leaves everything as it was.
struct Effect {
  enum class Kind : uint8_t {
    kSetAttr,      ///< target.key = value, as PyObject_GenericSetAttr does; value -1 deletes
    kSetItem,      ///< target[key] = value by dict's own methods; value -1 deletes
    kListSlice,    ///< target[lo:hi] = value (a list node) of an exact list
    kListNumbers,  ///< items of an exact list of numbers, or of the lists in it, as in `value`, where they differ
    kSetAdd,       ///< target.add(key) of an exact set
    kSetDiscard,   ///< target.discard(key)
    kSetCell,      ///< content of the cell `target`; value -1 empties it
    kCall,         ///< target.key(*value) of a builtin container; value: a tuple node
    kAdvance,      ///< takes `lo` items from the exact builtin iterator `target`
    kRelease,      ///< releases ExitPlan::locks[lo]
  };
  Kind kind;
  int target = -1, key = -1, value = -1;  ///< nodes
  int64_t lo = 0, hi = 0;
};

/// Slot of the frame (localsplus, then the value stack from its bottom) that gets a new object; node -1 leaves it
/// unbound (locals) or NULL (stack).
struct SlotWrite {
  int slot;
  int node;
};

struct ExitPlan {
  static constexpr int kReturn = -1;
  std::vector<ExitNode> nodes;
  std::vector<Effect> effects;
  size_t cellsFilled =
      0;  ///< so many of the last effects fill cells made here; their nodes are made after those of the slots
  std::vector<SlotWrite> slots;  ///< regions: changed locals that are read later, changed entries of the stack
  std::vector<int> locks;        ///< objects of the frame: taken, without waiting, once the guards have passed
  bool atomic = false;           ///< no other thread may run from the guards to the end
  int end = kReturn;             ///< regions: neutral instruction where the interpreter goes on
  int depth = 0;                 ///< regions: height of the stack there
};

/// "tuple(array #0 writeable, view #1 of object 0, x: object 1)": what the call answers.
std::string print(const ExitPlan& plan, const graph::SymContext& syms);

}  // namespace fw::capture
