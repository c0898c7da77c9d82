// What containers of C hold, read without running Python code: deques, tuples of any class, list and tuple iterators,
// and dicts of any class in the order in which their own iterators walk.
#pragma once

#include <Python.h>

#include <cstdint>

#include "cpython/ref.h"

namespace fw::cpython {

/// collections.deque; held for the life of the process. nullptr (no exception) if this Python has none that we know.
PyTypeObject* dequeType();
bool isDeque(PyObject* object);
/// The largest length of a deque, -1 for none.
int64_t maxlenOf(PyObject* deque);

/// collections.defaultdict; as dequeType().
PyTypeObject* defaultdictType();

/// zip, map and filter objects; false if this Python lays them out in a way that we do not know.
bool isWalker(PyTypeObject* type);

/// functools.lru_cache objects written in C; false if this Python lays them out in a way that we do not know.
bool isCachedFunction(PyTypeObject* type);
/// Whether the arguments' types are part of its keys, and how many results it keeps (-1: all).
bool keysHaveTypes(PyObject* cached);
int64_t resultsKept(PyObject* cached);

/// Element `index`, borrowed (0 of a cached function: the dict of what it keeps, whose items are results or links to
/// them; 0 of a link: the result; 0 of a defaultdict: its factory or None; zip: its iterators; map and filter: the
/// function, then the iterators); nullptr if there is none or the object is none of these kinds.
PyObject* elementOf(PyObject* object, int64_t index);
/// Number of elements (list and tuple iterators: that are left), and maxlen of a deque or -1; false for other objects.
bool readElements(PyObject* object, int64_t out[2]);

/// Keys of a dict of any class, borrowed; an OrderedDict has an order of its own.
class DictWalk {
 public:
  explicit DictWalk(PyObject* dict);
  PyObject* next();

 private:
  PyObject* dict_;
  Py_ssize_t position_ = 0;
  Ref iterator_;
};

}  // namespace fw::cpython
