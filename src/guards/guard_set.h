// The conditions under which a variant is valid, and what a call reads on the way.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "guards/array_library.h"
#include "guards/class_facts.h"
#include "guards/number.h"
#include "guards/source.h"

namespace fw::guards {

enum class GuardKind : uint8_t {
#define FW_GUARD(Id, text, cost, cure) k##Id,
#include "guards/guard_kinds.def"
};

/// Static facts of an array argument.
struct ArrayMeta {
  graph::DType dtype;
  graph::Layout layout;  ///< class that the array must have; a packed C array never has to be tested for F
  int device = -1;       ///< where it must be; -1: the host
  int rank() const { return layout.rank(); }
};

enum class Relation : uint8_t { kEq, kNe, kLt, kLe };

/// Whether a guard holds fast one value of many, rather than one of a few answers (a < b, is None): then it may fail
/// for ever other values. A setting is a number that was taken for a constant, though every call could read it; a size
/// was made a constant for a product of small matrices, which can be a call of NumPy.
enum class Pin : uint8_t { kNone, kValue, kSetting, kSize };

struct Guard {
  GuardKind kind;
  SourceId source;  ///< none for kSymRelation, kNumber, kDisjoint, kGlobalState and kNumpyErrors
  SourceId other;   ///< kSameObject, kNotSameObject, kNoOverlap
  cpython::Ref object;
  int64_t lo = 0, hi = 0;
  Pin pin = Pin::kNone;
  ArrayMeta meta;  ///< kArrayMeta
  Relation relation = Relation::kEq;
  graph::SymId left, right;                     ///< kSymRelation: left relation right
  uint32_t line = 0;                            ///< source line that asked for it
  int at = -1;                                  ///< instruction of the outermost frame that asked for it, if one did
  std::vector<SourceId> list;                   ///< kDisjoint: arrays that are written first; kNumber: its sources
  std::shared_ptr<const NumberProgram> number;  ///< kNumber
  std::shared_ptr<ClassFacts> facts;            ///< kTypeVersion: what counts of the class; null: all of it
};

/// How a symbol of the graph gets its value on a call.
struct SymbolBinding {
  enum class From : uint8_t {
    kDim,
    kStride,
    kAddress,  ///< of an array with an ArrayMeta guard
    kPyInt,    ///< of an int with an IntRange guard
    kLength,   ///< of a tuple, list, dict, set or frozenset with a Type guard, of a range with a Range guard
    kRangeStart,
    kRangeStep,      ///< of a range with a Range guard; next value and step of a range iterator with an Iterator guard
    kRangeStop,      ///< of a range with a Range guard
    kIterIndex,      ///< position of a list or tuple iterator, count of an enumerate, with an Iterator guard
    kIterRemaining,  ///< items that a list, tuple or range iterator with an Iterator guard has left at the moment
    kNumber,         ///< the int that the Number guard of this ordinal has computed
    kCall,           ///< a library call of the graph binds it: guards know nothing of it
    kTurn,           ///< counts the turns of a loop of the graph: neither
  } from;
  SourceId source;  ///< none for kNumber, kCall and kTurn
  int axis = 0;     ///< kDim, kStride (bytes); kNumber: ordinal
};

/// How input number i of the graph gets its data pointer.
struct InputBinding {
  enum class From : uint8_t {
    kArrayData,
    kPyFloat,
    kPyInt,
    kPyBool,
    kPyComplex,
    kNumpyScalar,
    kNumber,
    kListOfFloats,
    kListOfInts,  ///< the numbers of a list, or of lists in it: whoever runs the variant makes an array of them
    kListLengths,
    kListStarts  ///< of lists in a list: how many items they have, and where those begin among all of them
  } from;
  SourceId source;       ///< none for kNumber
  int ordinal = -1;      ///< kNumber: float or bool that the Number guard of this ordinal has computed
  bool written = false;  ///< lists: the call sets items
  int width = 0;         ///< lists of tuples: of so many numbers, of which
  int column = 0;        ///< this one is meant
  int64_t room = 0;      ///< lists in a list, of any lengths: how many items all of them may have
};

inline bool isList(InputBinding::From from) {
  using From = InputBinding::From;
  return from == From::kListOfFloats || from == From::kListOfInts || from == From::kListLengths ||
         from == From::kListStarts;
}

struct GuardSet {
  std::shared_ptr<SourceTable> sources;
  std::shared_ptr<graph::SymContext> syms;
  const ArrayLibrary* arrays = &numpyArrays();  ///< whose arrays these are: one library in one set
  std::vector<Guard> guards;                    ///< stable-sorted by cost within what dependence allows
  std::vector<SymbolBinding> symbols;           ///< symbol index -> binding
  std::vector<InputBinding> inputs;             ///< input index -> binding
  std::vector<SourceId> objects;                ///< objects the exit plan needs: views' bases, returned arguments ...
  /// Number of the object among `objects`, which it joins.
  int objectIndex(SourceId source);
  int boundSlots = 0;  ///< kArg sources below this are never null (arguments of a call); others may be
                       ///< unbound slots of a frame, which fails the guard that needs them
};

/// Answer of a check. A guard never answers a bool: an error is not a pass.
enum class Outcome : uint8_t { kPass, kFail, kError };

/// What a stub (or the slow checker) leaves behind on a pass. References are borrowed: valid while the caller holds the
/// arguments and the GIL.
struct CallFrame {
  PyObject* const* args;  ///< in: bound arguments, kArg order; or the slots of a frame
  PyObject* function;     ///< in
  int64_t* symbols;       ///< out: one per symbol
  void** buffers;         ///< out: data pointer of input i at buffers[i]
  uint64_t* scalars;      ///< out: two words per input, storage that buffers[i] points to for scalars
  PyObject** objects;     ///< out: GuardSet::objects
};

/// Index of the first guard that fails, if any, by the slow, explaining checker; fills the frame like a stub.
struct SlowResult {
  Outcome outcome;
  int failed = -1;     ///< index into guards; guards.size() if the path of an input or object broke
  std::string reason;  ///< "x.dtype is float64, compiled for float32"
};
SlowResult checkSlow(const GuardSet& set, CallFrame& frame);

std::string print(const GuardSet& set, PyObject* code);

/// The kind's name and cost in guard_kinds.def.
std::string_view guardName(GuardKind kind);
int guardCost(GuardKind kind);
/// What helps against a guard that fails for ever other values (guard_kinds.def).
enum class Cure : uint8_t { kNone, kStop };
Cure guardCure(GuardKind kind);

/// What both the checker and the stub rely on: operands are present and of the right kind; a symbol is read only from a
/// source with the guard that SymbolBinding names, a scalar input from one whose Type is guarded; a SymRelation stands
/// after the guards that make its symbols readable. Paths need no guards of their own: a step that cannot be taken
/// fails the guard that needs it.
absl::Status validate(const GuardSet& set);

/// Orders guards by cost, keeping each behind those that it depends on: guards of the objects along its path, of the
/// arrays whose memory or symbols it compares. Stable. O(n log n).
void sortGuards(GuardSet& set);

/// As sortGuards, but guards that fail often come first, with what they depend on. history[i] counts the failures of
/// guard i (the answer of its stub - 1) and is permuted along. A stub must be emitted anew for the new order.
void reorder(GuardSet& set, std::vector<uint32_t>& history);

}  // namespace fw::guards
