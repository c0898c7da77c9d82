// How many axes an array of the graph may have. NumPy allows 64; arrays with more than the masks of Layout have bits
// for are Python's.
#pragma once

#include <stdexcept>

namespace fw::graph {

inline constexpr int kMaxRank = 31;

/// A result would have more axes than that. No defect: Graph throws it where it would have to make such a value, and
/// capture leaves the instruction to Python.
class TooManyAxes : public std::runtime_error {
 public:
  TooManyAxes() : std::runtime_error("more than 31 axes") {}
};

}  // namespace fw::graph
