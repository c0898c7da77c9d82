// A function of an array library can be taken into a graph in several ways. Which one a call is taken in, traces find
// out by trying: whoever finds that a way does not work has the trace made again.
#pragma once

#include <Python.h>

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "frame_eval/break_reason.h"

namespace fw::capture {

enum class LibraryWay : uint8_t {
  kRule,    ///< a row of numpy_functions.def, a ufunc of the op table
  kFollow,  ///< its own Python code is traced, as the user's would be
  kCall,    ///< it is called, and examples tell what it answers (numpy/examples.h)
};

/// Which callable it is. Of a method written in C each look-up makes another object, mostly where the last one was: it
/// is known by what it is bound to and its definition.
struct CalleeIdentity {
  const void* object;
  const void* method;  ///< or null
  friend bool operator==(const CalleeIdentity&, const CalleeIdentity&) = default;
};

inline CalleeIdentity identityOf(PyObject* callable) {
  if (!PyCFunction_Check(callable) || !PyCFunction_GET_SELF(callable)) return {callable, nullptr};
  return {PyCFunction_GET_SELF(callable), reinterpret_cast<PyCFunctionObject*>(callable)->m_ml};
}

/// What traces of one function have found out about its calls, by callable, code object and instruction.
class LibraryWays {
 public:
  struct Site {
    CalleeIdentity callable;
    const void* code;
    size_t instruction;
    friend bool operator==(const Site&, const Site&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Site& site) {
      return H::combine(std::move(h), site.callable.object, site.callable.method, site.code, site.instruction);
    }
  };

  /// How many ways have been tried in vain.
  size_t tried(const Site& site) const {
    const auto at = refused_.find(site);
    return at == refused_.end() ? 0 : at->second.ways;
  }
  struct Refusal {
    BreakReason reason;
    std::string why;
  };
  /// False: so many traces were made again that this one has to do with what is known; callables may be new each time.
  bool mayRefuse() const { return refusals_ < kMaxRefusals; }
  void refuse(const Site& site, Refusal refusal) {
    ++refusals_;
    Refused& refused = refused_[site];
    ++refused.ways;
    if (!refused.first) refused.first = std::move(refusal);
  }
  /// Why the first way was refused, which is what users should hear of; null if it was not.
  const Refusal* first(const Site& site) const {
    const auto at = refused_.find(site);
    return at == refused_.end() || !at->second.first ? nullptr : &*at->second.first;
  }

 private:
  struct Refused {
    size_t ways = 0;
    std::optional<Refusal> first;
  };
  static constexpr int kMaxRefusals = 500;  // as many traces: of functions with far more calls than people write
  absl::flat_hash_map<Site, Refused> refused_;
  int refusals_ = 0;
};

/// Thrown by whoever has added to LibraryWays.
struct WayRefused {};

}  // namespace fw::capture
