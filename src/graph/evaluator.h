// Reference evaluator: runs a graph one element at a time, straight from the definition of each op. The oracle that
// kernels are tested against; also the "reference" rung of the backend ladder.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace fw::graph {

/// Dense array in C order.
struct HostArray {
  DType dtype = DType::kF64;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  static HostArray zeros(DType dtype, std::vector<int64_t> shape);
  int64_t elements() const;
  Scalar at(int64_t flat) const;
  void set(int64_t flat, const Scalar& v);
};

/// What library call `site` answers.
using LibraryCall = std::function<absl::StatusOr<std::vector<HostArray>>(int64_t site, absl::Span<const HostArray>)>;

/// Values of graph.outputs(), given the inputs by index and the symbols' values. Layouts in the types decide the order
/// of float additions, so the results are NumPy's bit for bit where the contract is exact. `committed`, if given,
/// receives the inputs as the graph's commits leave them. Graphs with library calls need
/// `library`.
absl::StatusOr<std::vector<HostArray>> evaluate(const Graph& graph, absl::Span<const HostArray> inputs,
                                                absl::Span<const int64_t> symbols,
                                                std::vector<HostArray>* committed = nullptr,
                                                const LibraryCall* library = nullptr);

}  // namespace fw::graph
