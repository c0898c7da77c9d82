// The slow checker, shared by the check_*.cpp files, which are its parts. One check##Id per row of guard_kinds.def.
#pragma once

#include <optional>
#include <string>

#include "cpython/attributes.h"
#include "cpython/numpy_api.h"
#include "guards/set_index.h"

namespace fw::guards {

/// Last part of a type's name.
std::string typeName(PyTypeObject* type);
/// A constant as SourceTable::describe shows it.
std::string constantText(PyObject* object);

class Checker {
 public:
  Checker(const GuardSet& set, CallFrame& frame) : set_(set), frame_(frame), index_(set), values_(set.sources->size()) {
    if (frame.function && PyFunction_Check(frame.function)) code_ = PyFunction_GET_CODE(frame.function);
  }

  SlowResult run();

 private:
#define FW_GUARD(Id, text, cost, cure) bool check##Id(const Guard& g);
#include "guards/guard_kinds.def"

  bool check(const Guard& g) {
    switch (g.kind) {
#define FW_GUARD(Id, text, cost, cure) \
  case GuardKind::k##Id: return check##Id(g);
#include "guards/guard_kinds.def"
    }
    return fail("unknown guard");
  }

  std::string name(SourceId id) const { return set_.sources->describe(id, code_); }
  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  PyFunctionObject* loadFunction(SourceId id);
  bool runsCode(SourceId function, PyObject* code);
  /// Object of a source; nullptr with a reason if its path is broken.
  PyObject* load(SourceId id);
  /// An exact array of the set's library.
  std::optional<ArrayView> loadArray(SourceId id);
  bool bindSymbols();  ///< those that the guard at hand makes readable; true
  bool bindInput(size_t index);
  bool hasMember(const Guard& g, cpython::LookupState wanted);
  std::string symbolsText(graph::SymId id) const;
  std::optional<size_t> symbolNamed(const std::string& word) const;
  std::string symbolSource(size_t symbol) const;

  const GuardSet& set_;
  CallFrame& frame_;
  PyObject* code_ = nullptr;
  SetIndex index_;
  size_t guard_ = 0;               ///< being checked
  std::vector<PyObject*> values_;  ///< by source, nullptr if not loaded yet
  std::string reason_;
};

}  // namespace fw::guards
