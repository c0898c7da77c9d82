// What a variant relies on of a class. CPython gives a class a new version whenever one of its attributes is set, be it
// a counter that no variant looks at; the facts tell whether anything that counts has changed.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "cpython/ref.h"

namespace fw::guards {

/// Answer of a look-up along the MRO of a class, or of one of its bases.
struct ClassLookup {
  cpython::Ref name;      ///< str
  cpython::Ref found;     ///< null: there is no such attribute
  bool typeOnly = false;  ///< only its type counts, not which object of that type it is
  Py_ssize_t base = 0;    ///< index into the MRO of the class where the look-up began
};

class ClassFacts {
 public:
  /// The facts of `type` as it is now: its slots, its MRO and these look-ups. Nothing of the user's is kept alive. Null
  /// if something that was found cannot be told from an object that may once lie at its address, or if the class has no
  /// MRO yet.
  static std::shared_ptr<ClassFacts> create(PyTypeObject* type, const std::vector<ClassLookup>& lookups);

  /// Whether they hold still. Runs no Python code; remembers the version of the class if they do.
  bool hold(PyTypeObject* type);

  /// "C.limit has changed"; "" if all of them hold.
  std::string change(PyTypeObject* type) const;

  /// Version of the class for which the facts are known to hold: what stubs compare first.
  const unsigned int* version() const { return &version_; }

 private:
  ClassFacts() = default;
  struct Fact;
  struct Weak {
    PyObject* address;       ///< for static types all there is to compare
    cpython::Ref reference;  ///< weak, of heap types
  };
  static std::shared_ptr<const Fact> factOf(const ClassLookup& lookup);
  bool hasShape(PyTypeObject* type) const;
  void remember(PyTypeObject* type);

  std::vector<Weak> mro_;
  std::vector<uintptr_t> slots_;
  std::vector<std::shared_ptr<const Fact>> facts_;
  static constexpr unsigned int kNone = ~0u;  ///< a version that no class has
  unsigned int version_ = kNone;
};

}  // namespace fw::guards
