#include "bindings/direct_median.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "absl/container/inlined_vector.h"

namespace fw::bindings {
namespace {

/// Beyond that, a call costs little beside what it computes.
constexpr int64_t kMost = 2048;

template <class T>
using Numbers = absl::InlinedVector<T, 64>;

template <class T>
void gather(const runtime::CallArray& array, int axis, const char* from, Numbers<T>& numbers) {
  if (axis == array.rank) {
    numbers.push_back(*reinterpret_cast<const T*>(from));
    return;
  }
  for (int64_t i = 0; i < array.shape[axis]; ++i) gather(array, axis + 1, from + i * array.strides[axis], numbers);
}

template <class T>
bool median(const runtime::CallArray& array, void* out) {
  using Float = std::conditional_t<std::is_integral_v<T>, double, T>;
  int64_t count = 1;
  for (int axis = 0; axis < array.rank; ++axis)
    if (array.shape[axis] > kMost || (count *= array.shape[axis]) > kMost) return false;
  if (count == 0) return false;
  Numbers<T> numbers;
  numbers.reserve(static_cast<size_t>(count));
  gather(array, 0, static_cast<const char*>(array.data), numbers);
  if constexpr (!std::is_integral_v<T>) {
    for (const T number : numbers)
      if (std::isnan(number)) return false;
  }
  const auto middle = numbers.begin() + count / 2;
  std::nth_element(numbers.begin(), middle, numbers.end());
  auto answer = static_cast<Float>(*middle);
  if (count % 2 == 0) answer = (static_cast<Float>(*std::max_element(numbers.begin(), middle)) + answer) / 2;
  if constexpr (!std::is_integral_v<T>) {
    if (!std::isfinite(answer)) return false;
    // Which of equal numbers stands in the middle does not matter, but for zeros.
    const auto isNegativeZero = [](T number) { return number == 0 && std::signbit(number); };
    if (answer == 0 && std::any_of(numbers.begin(), numbers.end(), isNegativeZero)) return false;
  }
  *static_cast<Float*>(out) = answer;
  return true;
}

}  // namespace

DirectMedian* medianOf(graph::DType type) {
  switch (type) {
    case graph::DType::kI8: return median<int8_t>;
    case graph::DType::kU8: return median<uint8_t>;
    case graph::DType::kI16: return median<int16_t>;
    case graph::DType::kU16: return median<uint16_t>;
    case graph::DType::kI32: return median<int32_t>;
    case graph::DType::kU32: return median<uint32_t>;
    case graph::DType::kI64: return median<int64_t>;
    case graph::DType::kU64: return median<uint64_t>;
    case graph::DType::kF32: return median<float>;
    case graph::DType::kF64: return median<double>;
    case graph::DType::kBool:
    case graph::DType::kF16:
    case graph::DType::kC64:
    case graph::DType::kC128: return nullptr;
  }
  return nullptr;
}

}  // namespace fw::bindings
