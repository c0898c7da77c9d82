#include "bindings/direct_orders.h"

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

/// False if there are none, too many, or NaNs.
template <class T>
bool gatherAll(const runtime::CallArray& array, Numbers<T>& numbers) {
  int64_t count = 1;
  for (int axis = 0; axis < array.rank; ++axis)
    if (array.shape[axis] > kMost || (count *= array.shape[axis]) > kMost) return false;
  if (count == 0) return false;
  numbers.reserve(static_cast<size_t>(count));
  gather(array, 0, static_cast<const char*>(array.data), numbers);
  if constexpr (std::is_integral_v<T>) return true;
  return std::none_of(numbers.begin(), numbers.end(), [](T number) { return std::isnan(number); });
}

/// Which of equal numbers stands at a place does not matter, but for zeros.
template <class T>
bool isSettled(T answer, const Numbers<T>& numbers) {
  const auto isNegativeZero = [](T number) { return number == 0 && std::signbit(number); };
  return std::isfinite(answer) && (answer != 0 || std::none_of(numbers.begin(), numbers.end(), isNegativeZero));
}

template <class T>
bool median(const runtime::CallArray& array, void* out) {
  using Float = std::conditional_t<std::is_integral_v<T>, double, T>;
  Numbers<T> numbers;
  if (!gatherAll(array, numbers)) return false;
  const auto count = static_cast<int64_t>(numbers.size());
  const auto middle = numbers.begin() + count / 2;
  std::nth_element(numbers.begin(), middle, numbers.end());
  auto answer = static_cast<Float>(*middle);
  if (count % 2 == 0) answer = (static_cast<Float>(*std::max_element(numbers.begin(), middle)) + answer) / 2;
  if constexpr (!std::is_integral_v<T>) {
    if (!isSettled(answer, numbers)) return false;
  }
  *static_cast<Float*>(out) = answer;
  return true;
}

}  // namespace

bool quantile(const runtime::CallArray& array, double place, void* out) {
  Numbers<double> numbers;
  if (!gatherAll(array, numbers)) return false;
  const auto last = static_cast<int64_t>(numbers.size()) - 1;
  const double rank = static_cast<double>(last) * place;
  const auto low = std::min(static_cast<int64_t>(std::floor(rank)), last);
  const auto at = numbers.begin() + low;
  std::nth_element(numbers.begin(), at, numbers.end());
  const double below = *at, above = low == last ? below : *std::min_element(at + 1, numbers.end());
  const double difference = above - below, part = rank - static_cast<double>(low);
  const double answer = part >= 0.5 ? above - difference * (1 - part) : below + difference * part;
  if (!isSettled(answer, numbers)) return false;
  *static_cast<double*>(out) = answer;
  return true;
}

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
