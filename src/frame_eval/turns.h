// Turns of loops that become one loop of the graph. A turn is counted by a symbol that means something in that loop
// only: no guard speaks of it, and no decision is taken from a value seen now.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "cpython/bytecode.h"
#include "frame_eval/value.h"
#include "graph/symint.h"
#include "guards/guard_set.h"

namespace fw::capture {

class Trace;

enum class CarriedKind : uint8_t { kSame, kNumber, kInt, kDataInt, kChosen, kArray };

class Turns {
 public:
  explicit Turns(Trace& trace) : trace_(trace) {}

  /// A symbol that counts the turns of a loop from 0 to `last`, if that is known; the loop stands in those entered
  /// before.
  graph::SymId enter(std::optional<graph::SymId> last);
  /// The loop entered last is over.
  void leave() { open_.pop_back(); }
  int bodies = 0;         ///< being traced, one inside of the other
  bool unrolled = false;  ///< some loop is
  /// Whether the expression may be another in each turn of some loop.
  bool contains(graph::SymId expr) const;
  /// left relation right, if that is the same in all turns; of the first and the last ones it is decided and guarded.
  std::optional<bool> decide(graph::SymId left, guards::Relation relation, graph::SymId right);
  [[noreturn]] void refuse() const;
  /// The expression in the last turn of the loop entered last, if it can be told.
  std::optional<graph::SymId> inLastTurn(graph::SymId expr) const;

 private:
  struct Open {
    graph::SymId symbol;
    std::optional<graph::SymId> last;
  };
  std::optional<graph::SymId> longest(size_t inner, size_t outer) const;
  std::pair<graph::SymId, std::optional<graph::SymId>> turnsOf(size_t outer) const;
  Trace& trace_;
  std::vector<Open> open_;
  absl::flat_hash_set<graph::SymId> symbols_;  ///< of all loops, those that are over as well
};

/// What lists in lists hold (pooled_list.h): a list of all those items, and where its free room begins.
struct ListPool {
  Value *items, *end;
  bool outside = false;  ///< the lists are the caller's, and are not changed
  bool record = false;   ///< an item is all that one of the lists holds
};
struct ListPools {
  absl::flat_hash_map<std::pair<const void*, size_t>, ListPool> bySite;
  /// How often another list has come to stand where one stood, by the array that the lengths of both stand in. Of all
  /// that has been traced, what has been given up as well.
  absl::flat_hash_map<const Value*, unsigned> replaced;
};

/// What a loop hands from turn to turn, as the trace of it has found out that has become one of the graph. A loop in
/// others is met in each trace of theirs, which begins with that and need not trace a turn to find out.
struct LoopShape {
  struct Place {  ///< of a list that is worked off: as CarriedPlace, the list by its slot
    size_t slot, at;
    bool attribute;
  };
  struct Variable {
    CarriedKind kind;
    ValueKind number;  ///< kNumber: as Python sees it
    int64_t step;      ///< kInt
    std::optional<graph::DType> mixes;
    graph::SymRange classes;  ///< of a mixed one
    graph::SymRange range;    ///< kDataInt
    std::optional<Place> place{};
  };
  std::vector<Variable> variables;                       ///< by slot that a turn may read; behind them those of places
  std::vector<size_t> lists;                             ///< slots of lists that are worked off, which it writes
  std::vector<size_t> owners;                            ///< slots of arrays that it writes, or of views of those
  absl::flat_hash_set<size_t> decidedByData, mayBeBoth;  ///< slots of ints of array data, of numbers of several classes
};

/// What traces of one function have found out about its loops, by Bytecode::identity() and the instruction that begins
/// a turn. Whoever finds out more has the trace made again.
struct LoopDecisions {
  using Key = std::pair<const void*, size_t>;
  absl::flat_hash_set<Key> tooLong;                                ///< to be unrolled
  absl::flat_hash_map<Key, std::string> refused;                   ///< cannot be one loop of the graph, and why
  absl::flat_hash_map<Key, LoopShape> shapes;                      ///< of loops that have been traced
  absl::flat_hash_map<Key, absl::flat_hash_set<size_t>> computed;  ///< slots of ints that no step counts
  /// Code with that of generators in it which it walks (inlined_generator.h), by Bytecode::identity(); each time that
  /// another one is found there is more of it. The last one counts.
  absl::flat_hash_map<const void*, std::vector<std::unique_ptr<cpython::Bytecode>>> withGenerators;
  absl::flat_hash_set<Key> notInlined;  ///< instructions that walk generators whose code does not stand there
  /// Of lists of equal numbers ([0] * n): the instruction that makes one of which turns read or write items. `mixes`:
  /// they are of several classes, by that type, `least` the least one (mixed_numbers.h).
  struct NumberList {
    std::optional<graph::DType> mixes;
    int64_t least = 0;
    friend bool operator==(const NumberList&, const NumberList&) = default;
  };
  absl::flat_hash_map<Key, NumberList> lists;
  /// Of lists and deques that are worked off (work_list.h): the instruction that makes one. What an item is like: sizes
  /// of tuples, outside first, -1 for a number; nothing if it has been made empty, and nobody knows yet.
  struct WorkedList {
    struct Number {
      ValueKind kind;
      graph::DType dtype;
      std::optional<int64_t> least;        ///< of one of several classes: the least one
      std::vector<cpython::Ref> things{};  ///< kChosen: constants that it may be (choices.h)
      Key pool{};                          ///< kPooledList: of which pool
      friend bool operator==(const Number&, const Number&) = default;
    };
    std::vector<int> shape;
    std::vector<Number> numbers;
    bool hasHead = false;  ///< items are taken from in front as well, or put there
    bool refused = false;  ///< it gets things that are no numbers
    bool record = false;   ///< [i, x]: lists in lists, of as many items of kinds of their own; what they are like
  };
  absl::flat_hash_map<Key, WorkedList> works;
  /// Lists in lists that stand in pools (pooled_list.h): instructions that make them, and the one among those that the
  /// pool is named by; what it holds says `works`.
  std::vector<std::pair<Key, Key>> pooled;
  /// Of dicts and sets whose keys array data decides (work_table.h): the instruction that makes one.
  struct WorkedTable {
    WorkedList keys, items;
    bool refused = false;  ///< it gets things that are no numbers
  };
  absl::flat_hash_map<Key, WorkedTable> tables;
  absl::flat_hash_set<Key> popped;           ///< lists and deques that items are taken from
  absl::flat_hash_set<const void*> outside;  ///< lists of the caller's that stand in arrays (LongList::ofOutside)
  std::vector<const void*> logs;             ///< lists of the caller's that loops append to (logs.h)
  absl::flat_hash_set<Key> shapeless;        ///< those that were not of that shape when they were met again
  /// Loops whose first turn is one of all, although it leaves numbers of another class than it finds: data decides
  /// about what it does, and a turn by itself would leave things that nobody can hand on. Where the trace had ended
  /// without.
  absl::flat_hash_set<Key> wholes;
  bool handlesRaises = false;                ///< a turn is traced in which code raises what it handles, for certain
  absl::flat_hash_set<Key> unforked;         ///< instructions that are no branches where they raise (raising.h)
  absl::flat_hash_set<Key> splits;           ///< instructions that are traced for each thing of a choice that they take
  absl::flat_hash_map<Key, int> laterJoins;  ///< of branches: the instruction where their arms end
  int endedAt = -1;
  bool keepsFirstTurns = false;  ///< that has not helped
  /// Values that are not known behind a loop that is one: who looks at one has the loop refused.
  absl::flat_hash_map<const void*, Key> unknownBehind;

  /// False if the remedy is no news, or there is none.
  bool mayHelp(const std::optional<Remedy>& remedy);
};

/// Thrown by whoever has added to LoopDecisions.
struct LoopsDecided {};

}  // namespace fw::capture
