// What a run has drawn from the user's random generators (frame_eval/numpy/random.h). If the run is given up, Python
// computes the call again, and is to draw the same numbers.
#pragma once

#include <Python.h>

#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "cpython/ref.h"
#include "frame_eval/library_call.h"
#include "graph/plan.h"
#include "numpy/random/bitgen.h"

namespace fw::bindings {

/// Of a Generator or a RandomState; a random.Random itself. Throws PythonError.
cpython::Ref bitGeneratorOf(PyObject* generator);
/// What draws from it, as long as that and `own` live; null if that cannot be told. Throws PythonError.
bitgen_t* sourceIn(PyObject* generator, PyObject* bitGenerator, std::unique_ptr<bitgen_t>& own);

/// In a RandomState: a copy of its source, and the second one of the two normal numbers that it draws at a time.
struct LegacySource {
  bitgen_t numbers;
  bitgen_t* itself;
  int hasNormal;
  double normal;
  /// Null if the source is none of these.
  static LegacySource* of(bitgen_t* source);
};

/// Needs the GIL.
class Draws {
 public:
  /// Before a draw: keeps the state of the generator, once. Throws PythonError.
  void begin(PyObject* generator);
  /// The same, and the source of numbers of the generator, if no other thread may use it meanwhile; else null. Throws
  /// PythonError.
  bitgen_t* sourceOf(PyObject* generator);
  /// Other threads may run from here on, until the next draw.
  void pause();
  /// No other thread has run since sourceOf(): what it answered may be asked again.
  bool isAlone() const { return alone_; }
  /// Other threads may have run.
  void wake() { alone_ = false; }
  /// Gives the generators the states that they had. Where another thread has drawn in the meantime, the stream goes on
  /// from there: nobody gets a number twice. Leaves an exception that is set as it is.
  void takeBack();

 private:
  /// A stream of numbers, of which several generators may take.
  struct Kept {
    cpython::Ref bits;
    cpython::Ref generator;  ///< the first of them
    cpython::Ref before;
    cpython::Ref after;          ///< when other threads could draw last
    bitgen_t* source = nullptr;  ///< lives as long as `bits` and `own`
    std::unique_ptr<bitgen_t> own{};
  };
  Kept& streamOf(PyObject* generator);
  Kept& begun(PyObject* generator);

  bool alone_ = false;  ///< there are no other threads
  absl::InlinedVector<Kept, 1> kept_;
  absl::InlinedVector<std::pair<PyObject*, size_t>, 1> streams_;  ///< of generators, which the call holds: their kept_
};

/// Whether the steps draw in the order of the sites, which is that of the program.
bool drawInOrder(const graph::Steps& steps, absl::Span<const capture::LibraryCall> sites);

}  // namespace fw::bindings
