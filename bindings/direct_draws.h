// Single numbers from NumPy's random generators by the functions that the generators themselves call: they stand in the
// library of numpy.random, as numpy/random/distributions.h declares them.
#pragma once

#include <Python.h>

#include <array>
#include <optional>

#include "frame_eval/library_call.h"
#include "numpy/random/bitgen.h"
#include "runtime/calls.h"
#include "runtime/context.h"

namespace fw::bindings {

class DirectDraw {
 public:
  struct Row;
  /// A parameter: a constant, or an operand of the call.
  struct Parameter {
    int operand = -1;
    double real = 0;
    int64_t whole = 0;
    bool isWhole = false;
  };

  /// What computes the draws of the site; nullopt where the method has to be called. Needs the GIL.
  static std::optional<DirectDraw> of(const capture::LibraryCall& site);

  /// Draws a float64 or int64 to `out`. False if nothing is drawn: the method knows what is wrong with its arguments.
  bool draw(bitgen_t* source, const runtime::Calls::Frame& frame, void* out) const;
  bool drawWith(bitgen_t* source, const Parameter& first, const Parameter& second, void* out) const;

  /// Parameters are computed: there is no shortcut.
  bool hasOperands() const { return parameters_[0].operand >= 0 || parameters_[1].operand >= 0; }
  /// What a shortcut to whole numbers is given.
  struct Whole {
    const DirectDraw* direct;
    bitgen_t* source;
  };
  /// What draws from that source; no function if parameters are operands, or none that are drawn with. It may refer to
  /// `kept`.
  runtime::CallShortcut shortcut(bitgen_t* source, Whole& kept) const;

 private:
  /// The method draws with such parameters.
  bool fits(const Parameter& first, const Parameter& second) const;
  bool isKnownTo(bitgen_t* source) const;
  bool findFunction();
  bool findParameters(const capture::LibraryCall& site);

  const Row* row_ = nullptr;
  void* function_ = nullptr;  ///< null: the generator's own next_double
  std::array<Parameter, 2> parameters_;
};

}  // namespace fw::bindings
