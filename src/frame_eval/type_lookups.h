// Look-ups in classes, all of which a capture notes: its guards on classes are about what was looked up (ClassFacts).
#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "guards/class_facts.h"

namespace fw::capture {

/// What lookUp() answers in this thread while one exists; they nest.
class TypeLookups {
 public:
  TypeLookups();
  ~TypeLookups();
  TypeLookups(const TypeLookups&) = delete;

  /// The value is no part of the trace: it is read by a source of its own. That it is there, and no descriptor, counts.
  void readAsSource(PyTypeObject* type, PyObject* name);

  /// Those in `type` and its bases.
  std::vector<guards::ClassLookup> of(PyTypeObject* type) const;

 private:
  friend PyObject* lookUp(PyTypeObject* type, PyObject* name);
  struct Noted {
    guards::ClassLookup lookup;
    bool sourceOnly = false;
  };
  TypeLookups* outer_;
  absl::flat_hash_map<PyTypeObject*, std::vector<Noted>> noted_;
};

/// As _PyType_Lookup: borrowed, null if there is none. A type that is not ready breaks the graph.
PyObject* lookUp(PyTypeObject* type, PyObject* name);

/// The classes along the MRO, borrowed. A type that is not ready breaks the graph.
std::span<PyTypeObject* const> mroOf(PyTypeObject* type);

}  // namespace fw::capture
