// What the symbolic interpreter holds in its stack and locals.
#pragma once

#include <Python.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpython/ref.h"
#include "graph/graph.h"
#include "guards/source.h"

namespace fw::capture {

using cpython::Ref;
using guards::SourceId;

enum class ValueKind : uint8_t {
  kNull,         ///< CPython's NULL stack entry
  kConstant,     ///< a known object: number, str, None, dtype, function, module, class, ufunc ...
  kArray,        ///< exact ndarray
  kArrayScalar,  ///< NumPy scalar such as np.float32: a rank-0 graph value that leaves as a scalar
  kPyFloat,      ///< Python float not known at compile time: a rank-0 f64 graph value
  kPyInt,        ///< Python int not known at compile time: a SymId
  kDataInt,      ///< Python int that array data decides: a rank-0 i64 graph value (data_ints.h)
  kPyBool,       ///< Python bool not known at compile time: a rank-0 bool graph value
  kPyComplex,    ///< rank-0 c128 graph value
  kTuple,        ///< items
  kList,         ///< items; identity is the Value itself
  kLongList,     ///< one that loops append to; see long_list.h
  kPooledList,   ///< one in a list, of a length of its own; see pooled_list.h
  kDict,         ///< keys[i] (constants) -> items[i], in insertion order
  kWorkTable,    ///< dict or set whose keys array data decides; see work_table.h
  kSlice,        ///< items = start, stop, step
  kRange,        ///< items = start, stop, step, which are not all known; `sym` = how many it yields. Opened, it is held
                 ///< fast and becomes a constant; `opened`: array data decides
  kIterator,  ///< items not yet taken, from `position` on; with a `name`: a view of a dict, walked any number of times
  kFunction,  ///< Python function made during the trace (a constant function has kind kConstant)
  kMethod,    ///< items[0] = function or builtin value, items[1] = self; `name` for methods of arrays
  kCell,      ///< items[0] = content or nullptr
  kObject,  ///< any other object with a Source, read through guarded attributes; its type is guarded by Trace::typeOf()
  kInstance,   ///< instance of the class `object` made during the trace; attributes in overlay
  kSet,        ///< set or frozenset (`cls`): object = a real one, private to the trace, of plain constants, which keeps
               ///< CPython's order; items = the Values of its elements in the order of adding
  kDeque,      ///< collections.deque: items; `position` = maxlen, SIZE_MAX for none
  kException,  ///< exception made or raised in the trace: object = class, items = args, overlay = attributes,
               ///< base = cause; with a `name`: the text of args is not known exactly
  kOpaque,     ///< exists, has the type `cls`, and nothing else is known of it: tracebacks
  kSuper,      ///< super(items[0], items[1])
  kUnread,     ///< slot `position` of a region's frame that nothing has read yet; only in frames
  kChosen,     ///< one of `items`, as array data decides: number `which`, a kDataInt, in a table (choices.h)
  kUnjoined,   ///< behind a branch on array data: not the same on both sides. Not to be looked at (branches.h)
};

struct Value;
class Interpreter;
class Trace;

/// What a function made by the trace consists of besides code and globals; null where it has none of it.
struct FunctionParts {
  Value *defaults = nullptr, *kwdefaults = nullptr, *annotations = nullptr, *closure = nullptr, *dict = nullptr;
};

/// An iterator that computes its items when they are asked for: generators, map, zip ...
struct VirtualIterator {
  /// A call of a builtin that makes an equal iterator, and how many items are then taken from it.
  struct Recipe {
    PyObject* callable;
    std::vector<Value*> args;
    size_t taken = 0;
  };
  virtual ~VirtualIterator() = default;
  /// How what is left can leave the trace; none: it cannot.
  virtual std::optional<Recipe> recipe(Trace&) { return std::nullopt; }
  /// Null when it is exhausted. Python exceptions raised on the way pass as VirtualRaise.
  virtual Value* next(Interpreter& interpreter) = 0;
  /// What is left, by number, where all of it is known to be there.
  struct Items {
    graph::SymId count;
    std::function<Value*(graph::SymId number)> item;
  };
  virtual std::optional<Items> items(Interpreter&) { return std::nullopt; }
  /// A call of a generator function of _substitutes.py that yields what is left; none: there is no such.
  struct Loops {
    const char* function;
    std::vector<Value*> args;
  };
  virtual std::optional<Loops> loops(Interpreter&) { return std::nullopt; }
  /// One that has items() goes on behind the first of them.
  virtual void skip() {}
  /// Iterators that this one takes its items from.
  virtual std::vector<Value*> sources() const { return {}; }
  /// Another that will answer the same. Null: there is no way to make one.
  virtual std::unique_ptr<VirtualIterator> copy() const { return nullptr; }
  bool isAsked = false;  ///< next() is at work: what code it runs leaves it as it is
};

/// Owned by the Trace, never copied: identity of Values is identity of the Python objects they stand for.
struct Value {
  ValueKind kind = ValueKind::kNull;
  SourceId source;  ///< where the object came from, if it exists outside the trace
  Ref object;       ///< kConstant; for values with a source: the object seen while tracing (the hint)

  graph::ValueId node;                        ///< kArray, kArrayScalar, kPyFloat, kDataInt, kPyBool, kPyComplex
  graph::SymId sym;                           ///< kPyInt
  graph::SymRange range{0, 0}, growth{0, 0};  ///< kDataInt: where it is known to be; how far from `base`
  Value* base = nullptr;   ///< kArray: the array whose memory this one views (NumPy's .base), or null;
                           ///< kIterator: the list or tuple it walks, read as it goes;
                           ///< kDataInt: what a loop has given, from which it has come by `growth`
  bool frozen = false;     ///< kArray: read-only by what the trace did (np.broadcast_to), whatever its memory is
  bool outside = false;    ///< kArray: the numbers of a list of the caller's
  bool returned = false;   ///< kArray: a library call has returned this very array
  bool joined = false;     ///< kArray: has the content of one array or of another (branches.h);
                           ///< kPyBool: a bool or a np.bool_, good for decisions only; kLongList: see long_list.h
  Value* which = nullptr;  ///< kChosen; kArrayScalar: a number of one of several classes, or None; the kDataInt that
                           ///< says and `range` where it is if it is an int (mixed_numbers.h)

  Ref cls;  ///< class of kSet, kWorkTable and kOpaque, and of kTuple, kDict, kIterator, kLongList where it is not the
            ///< plain one
  std::unique_ptr<VirtualIterator> lazy;  ///< kIterator that computes its items

  std::vector<Value*> items;
  std::vector<Value*> keys;
  /// kObject, kInstance, kTuple and kDict with a `cls`: attributes written or deleted (null) during the trace, over
  /// those of the object.
  std::vector<std::pair<Ref, Value*>> overlay;
  size_t position = 0;
  unsigned changes = 0;  ///< kDeque: how often items came, went or moved
  std::string name;      ///< kMethod, kIterator: see there; kObject: why it could not be opened further
  size_t number = 0;     ///< in the order of their making
  int madeAt = -1;       ///< instruction of the outermost frame during which it came into being
  std::pair<const void*, size_t> site{};  ///< lists, dicts, sets: of LoopDecisions; null if that cannot help
  bool opened = false;   ///< kObject: see Trace::open(); kCell with contents: items[0] is known; kSet: see needOrder();
                         ///< kArray: see Branches::isOwn(); kUnjoined: one of the sides has a source; kList: its items
                         ///< are written out, [a, b, c]
  bool typed = false;    ///< kObject: its exact type is guarded
  bool written = false;  ///< has a source and an effect changes it

  Ref code, globals, qualname;   ///< kFunction; kInstance: code stands for it in real sets
  Ref builtins;                  ///< kFunction
  SourceId contents;             ///< kCell that exists outside the trace: of what it holds; read once `opened`
  SourceId globalsOf;            ///< kFunction: the function whose globals it shares
  std::vector<Value*> defaults;  ///< kFunction
  std::vector<std::pair<Ref, Value*>> kwdefaults;  ///< keywords of a kOpaque callable
  std::vector<Value*> closure;                     ///< kFunction: cells
  std::unique_ptr<FunctionParts>
      parts;  ///< kFunction without a source; its overlay: __name__, __doc__ and the like, as set

  /// Nobody knows which object it is, or of which class.
  bool isUnsure() const { return joined || which; }
  /// Not to be opened: not known, or one of several things.
  bool isUnknown() const { return kind == ValueKind::kUnjoined || kind == ValueKind::kChosen; }
  bool isConstant() const { return kind == ValueKind::kConstant; }
  bool isNone() const { return isConstant() && object.get() == Py_None; }
  /// Any kind that stands for numbers in the graph.
  bool isNumeric() const {
    return kind == ValueKind::kArray || kind == ValueKind::kArrayScalar || kind == ValueKind::kPyFloat ||
           kind == ValueKind::kPyInt || kind == ValueKind::kDataInt || kind == ValueKind::kPyBool ||
           kind == ValueKind::kPyComplex;
  }
};

}  // namespace fw::capture
