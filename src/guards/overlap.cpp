// Overlap of memory. Two arrays of addresses a + sum(s_i x_i) and b + sum(t_j y_j) share a byte if the difference lies
// in
// (-itemsize_a, itemsize_b) for some indices: a linear Diophantine problem with bounds. Terms of equal stride are
// merged, which turns slices of one array into a box test; the rest is a search from the largest stride down, pruned by
// reach and by greatest common divisors, that gives up after kBudget steps. (NumPy's solve_may_share_memory works on
// the same problem.) A list is swept in order of address and only pairs whose extents meet are looked at.
#include "guards/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace fw::guards {

namespace {

constexpr int kBudget = 512;

struct Extent {
  const char *lo, *hi;  // empty if equal
  bool meets(const Extent& other) const { return lo < other.hi && other.lo < hi; }
};

Extent extentOf(const ArrayView& array) {
  auto* lo = static_cast<const char*>(array.data);
  const char* hi = lo;
  for (int i = 0; i < array.rank; ++i) {
    npy_intp size = array.shape[i], reach = (size - 1) * array.strides[i];
    if (size == 0) return {lo, lo};
    (reach < 0 ? lo : hi) += reach;
  }
  return {lo, hi + array.itemSize()};
}

/// Is there a sum of stride * z, 0 <= z <= range, within [lo, hi]?
class Problem {
 public:
  Problem(const ArrayView& a, const ArrayView& b) {
    npy_intp distance = a.data - b.data;
    lo_ = 1 - a.itemSize() - distance;
    hi_ = b.itemSize() - 1 - distance;
    for (int i = 0; i < a.rank; ++i) add(a.strides[i], a.shape[i] - 1);
    for (int i = 0; i < b.rank; ++i) add(-b.strides[i], b.shape[i] - 1);
    std::sort(terms_, terms_ + count_, [](const Term& x, const Term& y) { return x.stride > y.stride; });
    int merged = 0;
    for (int i = 0; i < count_; ++i) {
      if (merged > 0 && terms_[merged - 1].stride == terms_[i].stride)
        terms_[merged - 1].range += terms_[i].range;
      else
        terms_[merged++] = terms_[i];
    }
    count_ = merged;
    npy_intp reach = 0, gcd = 0;
    for (int i = count_ - 1; i >= 0; --i) {
      terms_[i].reach = reach += terms_[i].stride * terms_[i].range;
      terms_[i].gcd = gcd = std::gcd(gcd, terms_[i].stride);
    }
  }

  bool mayHaveSolution() { return search(0, lo_, hi_); }

 private:
  struct Term {
    npy_intp stride, range;
    npy_intp reach, gcd;  // of this term and all behind it
  };

  /// A term stride * x with 0 <= x <= range, written with a positive stride.
  void add(npy_intp stride, npy_intp range) {
    if (stride == 0 || range == 0) return;
    if (stride < 0) {
      lo_ -= stride * range;
      hi_ -= stride * range;
    }
    terms_[count_++] = {std::abs(stride), range, 0, 0};
  }

  static npy_intp floorDiv(npy_intp a, npy_intp b) { return a / b - (a % b < 0); }

  bool search(int i, npy_intp lo, npy_intp hi) {
    if (lo <= 0 && hi >= 0) return true;
    if (hi < 0 || i == count_ || lo > terms_[i].reach) return false;
    if (--budget_ < 0) return true;
    const Term& t = terms_[i];
    if (floorDiv(hi, t.gcd) * t.gcd < lo) return false;
    npy_intp rest = i + 1 < count_ ? terms_[i + 1].reach : 0;
    npy_intp first = std::max<npy_intp>(0, -floorDiv(rest - lo, t.stride)),
             last = std::min(t.range, floorDiv(hi, t.stride));
    for (npy_intp z = first; z <= last; ++z)
      if (search(i + 1, lo - z * t.stride, hi - z * t.stride)) return true;
    return false;
  }

  Term terms_[2 * NPY_MAXDIMS];
  int count_ = 0, budget_ = kBudget;
  npy_intp lo_, hi_;
};

bool stridesOverlap(const ArrayView& a, const ArrayView& b) {
  // Packed arrays fill their extents.
  constexpr int kPacked = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
  if ((a.flags & kPacked) && (b.flags & kPacked)) return true;
  return Problem(a, b).mayHaveSolution();
}

struct Item {
  Extent extent;
  ArrayView array;
  bool written;
};

/// Items that began before the one at hand and may reach into it.
struct Active {
  const Item* items[kMaxDisjointArrays];
  size_t count = 0;

  void push(const Item& item) { items[count++] = &item; }
  /// Whether one of them overlaps `item`; forgets those that end before it begins.
  bool overlaps(const Item& item, int& budget) {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      if (items[i]->extent.hi <= item.extent.lo) continue;
      if (--budget < 0 || stridesOverlap(items[i]->array, item.array)) return true;
      items[kept++] = items[i];
    }
    count = kept;
    return false;
  }
};

}  // namespace

bool mayOverlap(const ArrayView& a, const ArrayView& b) {
  Extent x = extentOf(a), y = extentOf(b);
  if (x.lo == x.hi || y.lo == y.hi || !x.meets(y)) return false;
  return stridesOverlap(a, b);
}

bool areDisjoint(absl::Span<PyObject* const> arrays, size_t written) {
  Item items[kMaxDisjointArrays];
  size_t count = 0;
  for (size_t i = 0; i < arrays.size() && i < kMaxDisjointArrays; ++i) {
    const ArrayView array = viewOf(arrays[i]);
    Extent extent = extentOf(array);
    if (extent.lo != extent.hi) items[count++] = {extent, array, i < written};
  }
  std::sort(items, items + count, [](const Item& a, const Item& b) { return a.extent.lo < b.extent.lo; });
  Active writers, readers;
  int budget = static_cast<int>(8 * count) + 64;
  for (size_t i = 0; i < count; ++i) {
    if (writers.overlaps(items[i], budget) || (items[i].written && readers.overlaps(items[i], budget))) return false;
    (items[i].written ? writers : readers).push(items[i]);
  }
  return true;
}

}  // namespace fw::guards
