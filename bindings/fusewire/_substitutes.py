"""Functions of NumPy that call a function of the user for each element, or each row, as capture follows them.

What stands here does what NumPy's own code does, in the same order, in a form of which capture makes a loop of the graph. It
is never run by Python: where it calls ``_left_to_numpy()``, or raises, the call that it stands for is NumPy's as a whole.
"""

from __future__ import annotations

import heapq

import numpy as np

from fusewire import _fusewire
from fusewire._declare import _compare_signatures

_ELEMENTS = "?bBhHiIlLqQefdFD"  # type characters of elements that Python has a number for
_RESULTS = "?lqdD"  # the same for results: what Python's own numbers become


class _LeftToPythonError(Exception):
    """Python makes the call: no code handles it."""


def _left_to_numpy(what: str) -> None:
    """Nothing, if Python runs it."""


_fusewire.declare(_left_to_numpy, "left_to_numpy", None)


def _stands_for(original, how: str = "stands_for_numpy"):
    """Decorator. Another signature than is known here is another NumPy, which says itself what it does."""

    def declare(substitute):
        try:
            _compare_signatures(original, substitute)
        except TypeError:
            return substitute
        _fusewire.declare(original, how, substitute)
        return substitute

    return declare


@_stands_for(np.vectorize.__call__)
def vectorize(self, *args, **kwargs):
    if self.pyfunc is np._NoValue or kwargs or not args or self.signature is not None or self.cache:
        return self._call_as_normal(*args, **kwargs)
    arrays = [np.asarray(argument) for argument in args]
    shape, size = (), 1
    for i, array in enumerate(arrays):
        if i in self.excluded or array.dtype.char not in _ELEMENTS:
            return self._call_as_normal(*args)
        if array.ndim:
            # Calls go by the order of memory, which is that of indices for one axis and for what is packed.
            if (array.ndim > 1 and np.ascontiguousarray(array) is not array) or (shape and array.shape != shape):
                return self._call_as_normal(*args)
            shape, size = array.shape, array.size
        if array.dtype.kind in "fc" and np.isnan(array).any():
            # Python's comparisons set the flag that NumPy looks for when the function has been called for all elements.
            raise _LeftToPythonError("not a number")
    function = self.pyfunc
    rows = [array.ravel() for array in arrays]
    if self.otypes is not None:
        if len(self.otypes) != 1:
            _left_to_numpy("np.vectorize with several results")
        result = np.dtype(self.otypes[0])
    elif size:
        # NumPy asks what the function makes of the first elements, which are NumPy's scalars then and no numbers of Python.
        result = np.asarray(function(*[row[0] for row in rows])).dtype
    else:
        return self._call_as_normal(*args)
    if result.char not in _RESULTS:
        _left_to_numpy("np.vectorize with results that are no numbers, or short ones")
    out = np.empty(shape, result)
    results = out.reshape(-1)
    for i in range(size):
        results[i] = function(*[(row[i] if array.ndim else row[0]).item() for row, array in zip(rows, arrays)])
    return out


@_stands_for(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = np.asanyarray(arr)
    if arr.ndim != 2 or axis not in (0, 1, -1, -2) or not arr.size:
        _left_to_numpy("np.apply_along_axis of an array without elements, or with other than two axes")
    last = axis in (1, -1)
    rows = arr if last else arr.T
    first = np.asanyarray(func1d(rows[0], *args, **kwargs))
    out = np.zeros(rows.shape[:1] + first.shape, first.dtype)
    out[0] = first
    for i in range(1, len(rows)):
        out[i] = np.asanyarray(func1d(rows[i], *args, **kwargs))
    return out[:] if last or out.ndim == 1 else np.moveaxis(out, 0, -1)


# ---- what min(), max() and next() of a generator expression answer (consumed_generators.cpp)


def _or_default(found, default):
    return default if found is None else found


def _if_any(found):
    if found is None:
        raise _LeftToPythonError("nothing in it")
    return found


# ---- int


def _int_bit_count(number):
    # Sums of the bits of two, four and eight neighbours; an int has 62 of them here.
    bits = abs(number)
    bits -= (bits >> 1) & 0x1555555555555555
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits += bits >> 8
    bits += bits >> 16
    return (bits + (bits >> 32)) & 127


def _int_bit_length(number):
    bits = abs(number)
    bits |= bits >> 1
    bits |= bits >> 2
    bits |= bits >> 4
    bits |= bits >> 8
    bits |= bits >> 16
    return _int_bit_count(bits | bits >> 32)


# ---- min() and max() by a key


def _enumerate(walk, index):
    for item in walk:
        yield index, item
        index += 1


# As that of a comprehension: nobody else has what it walks.
_enumerate.__code__ = _enumerate.__code__.replace(co_varnames=(".0", *_enumerate.__code__.co_varnames[1:]))


def _extreme_by(iterator, key, greatest):
    best = next(iterator)
    extreme = key(best)
    for item in iterator:
        own = key(item)
        if own > extreme if greatest else own < extreme:
            best, extreme = item, own
    return best


def _extreme_of(items, key, greatest):
    best = items[0]
    extreme = key(best)
    for i in range(1, len(items)):
        own = key(items[i])
        if own > extreme if greatest else own < extreme:
            best, extreme = items[i], own
    return best


# ---- heapq and bisect, step by step as the C code takes them


def _heappush(heap, item):
    heap.append(item)
    _sift_towards_root(heap, 0, len(heap) - 1)


def _heappop(heap):
    first = heap[0]
    last = heap.pop()
    if heap:
        heap[0] = last
        _sift_from_root(heap, 0)
    return first


def _heapify(heap):
    for i in reversed(range(len(heap) // 2)):
        _sift_from_root(heap, i)


def _heappushpop(heap, item):
    if heap and heap[0] < item:
        first = heap[0]
        heap[0] = item
        _sift_from_root(heap, 0)
        return first
    return item


def _heapreplace(heap, item):
    first = heap[0]
    heap[0] = item
    _sift_from_root(heap, 0)
    return first


def _sift_towards_root(heap, root, at):
    item = heap[at]
    while at > root:
        above = (at - 1) >> 1
        parent = heap[above]
        if not item < parent:
            break
        heap[at] = parent
        at = above
    heap[at] = item


def _sift_from_root(heap, root):
    at, end, item = root, len(heap), heap[root]
    child = 2 * at + 1
    while child < end:
        other = child + 1
        if other < end and not heap[child] < heap[other]:
            child = other
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    _sift_towards_root(heap, root, at)


def _bisect_left(a, x, lo=0, hi=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        if a[middle] < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def _bisect_right(a, x, lo=0, hi=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        if x < a[middle]:
            hi = middle
        else:
            lo = middle + 1
    return lo


def _insort_left(a, x, lo=0, hi=None):
    a.insert(_bisect_left(a, x, lo, hi), x)


def _insort_right(a, x, lo=0, hi=None):
    a.insert(_bisect_right(a, x, lo, hi), x)


# ---- methods of lists that are worked off, and sorted() of those, which is stable as any that keeps the order of equals


def _list_insert(items, at, item):
    size = len(items)
    if at < 0:
        at = max(at + size, 0)
    at = min(at, size)
    items.append(item)
    for place in range(at, size + 1):  # forwards, which is a loop of vectors
        items[place], item = item, items[place]


def _list_pop(items, at):
    last = len(items) - 1
    if at < 0:
        at += last + 1
    if at < 0 or at > last:
        raise IndexError("pop index out of range")
    item = items[at]
    for place in range(at, last):
        items[place] = items[place + 1]
    items.pop()
    return item


def _refuse_nan(item):
    if isinstance(item, tuple):
        for part in item:
            _refuse_nan(part)
    elif not item == item:
        raise _LeftToPythonError("of which object it is, nobody knows here")


def _list_index(items, item):
    _refuse_nan(item)
    for i in range(len(items)):
        if items[i] == item:
            return i
    raise ValueError("not in the list")


def _list_remove(items, item):
    _list_pop(items, _list_index(items, item))


def _list_count(items, item):
    _refuse_nan(item)
    count = 0
    for other in items:
        if other == item:
            count += 1
    return count


def _list_reverse(items):
    last = len(items) - 1
    for i in range(len(items) // 2):
        items[i], items[last - i] = items[last - i], items[i]


def _may_precede(first, second, by_key, reverse):
    if by_key:
        first, second = first[0], second[0]
    if reverse:
        return not first < second
    return not second < first


def _merge_sort(items, other, by_key, reverse):
    size = len(items)
    width = 1
    while width < size:
        low = 0
        while low < size:
            middle, high = min(low + width, size), min(low + 2 * width, size)
            left, right, at = low, middle, low
            while at < high:
                if left < middle and (right >= high or _may_precede(items[left], items[right], by_key, reverse)):
                    other[at] = items[left]
                    left += 1
                else:
                    other[at] = items[right]
                    right += 1
                at += 1
            low = high
        for at in range(size):
            items[at] = other[at]
        width *= 2


def _sorted(items, result, other, reverse):
    for item in items:
        _refuse_nan(item)
        result.append(item)
        other.append(item)
    _merge_sort(result, other, False, reverse)
    return result


def _list_sort(items, result, other, reverse):
    _sorted(items, result, other, reverse)
    for i in range(len(items)):
        items[i] = result[i]


def _sorted_by(items, key, reverse):
    pairs, other = [], []
    for item in items:
        by = key(item)
        _refuse_nan(by)
        pairs.append((by, item))
        other.append((by, item))
    _merge_sort(pairs, other, True, reverse)
    return [item for _, item in pairs]


def _list_sort_by(items, key, reverse):
    for i, item in enumerate(_sorted_by(items, key, reverse)):
        items[i] = item


def _first_sorted(n, iterable, key, reverse):
    if n <= 0:
        return []
    items = list(iterable)
    if key is None:
        for item in items:
            _refuse_nan(item)
        return sorted(items, reverse=reverse)[:n]
    by = [key(item) for item in items]
    for item in by:
        _refuse_nan(item)
    return [items[i] for i in sorted(range(len(items)), key=lambda i: by[i], reverse=reverse)[:n]]


@_stands_for(heapq.nlargest)
def nlargest(n, iterable, key=None):
    return _first_sorted(n, iterable, key, True)


@_stands_for(heapq.nsmallest)
def nsmallest(n, iterable, key=None):
    return _first_sorted(n, iterable, key, False)


# ---- dicts and sets whose keys array data decides (work_table.h)


def _find_entry(index, places, keys, size, key, place, step, last):
    mask = 2 * last + 1
    entry = index[place] & last
    while (entry < size) & (places[entry] == place) & (keys[entry] != key):
        place = (place + step) & mask
        entry = index[place] & last
    return entry, place, (entry < size) & (places[entry] == place)


def _fill_dict(container, pairs):
    for key, item in pairs:
        container[key] = item


def _listed(items):
    return [item for item in items]


def _count_elements(counts, items):
    for item in items:
        counts[item] = counts.get(item, 0) + 1


def _most_common(counts, n):
    pairs = [(key, count) for key, count in counts.items()]
    pairs.sort(key=_count_of, reverse=True)
    return pairs if n is None else pairs[: max(n, 0)]


def _count_of(pair):
    return pair[1]


def _fill_set(container, items):
    for item in items:
        container.add(item)


def _or_made(condition, value, factory):
    return value if condition else factory()


def _either(condition, first, second):
    return first if condition else second


# ---- lists in lists (pooled_list.h)


def _block_for_one_more(length, start, room, end, pools):
    if length == room:
        block = int(end[0]) & 0x7FFFFFFF  # which is known not to be negative, then
        room += max(room, 4)
        for pool in pools:
            for i in range(length):
                pool[block + i] = pool[start + i]
        start = block
        end[0] = block + room
    return start, room


def _each(items):
    for item in items:
        yield item


# ---- iterators that go through several loops (nested_iteration.h)


def _product_1(a):
    for i in a:
        yield (i,)


def _product_2(a, b):
    for i in a:
        for j in b:
            yield i, j


def _product_3(a, b, c):
    for i in a:
        for j in b:
            for k in c:
                yield i, j, k


def _product_4(a, b, c, d):
    for i in a:
        for j in b:
            for k in c:
                for m in d:
                    yield i, j, k, m


def _combinations_2(pool, range, first, last):
    for i in range(first, last):
        for j in range(i + 1, last):
            yield (i, j) if pool is None else (pool[i], pool[j])


def _combinations_3(pool, range, first, last):
    for i in range(first, last):
        for j in range(i + 1, last):
            for k in range(j + 1, last):
                yield (i, j, k) if pool is None else (pool[i], pool[j], pool[k])


def _repeated_2(pool, range, first, last):
    for i in range(first, last):
        for j in range(i, last):
            yield (i, j) if pool is None else (pool[i], pool[j])


def _repeated_3(pool, range, first, last):
    for i in range(first, last):
        for j in range(i, last):
            for k in range(j, last):
                yield (i, j, k) if pool is None else (pool[i], pool[j], pool[k])


def _permutations_2(pool, range, first, last):
    for i in range(first, last):
        for j in range(first, last):
            if i != j:
                yield (i, j) if pool is None else (pool[i], pool[j])


def _permutations_3(pool, range, first, last):
    for i in range(first, last):
        for j in range(first, last):
            if i != j:
                for k in range(first, last):
                    if i != k and j != k:
                        yield (i, j, k) if pool is None else (pool[i], pool[j], pool[k])


def _flat_1(a, range, n):
    for i in range(n):
        yield a[i]


def _flat_2(a, range, n, m):
    for i in range(n):
        for j in range(m):
            yield a[i, j]


def _flat_3(a, range, n, m, p):
    for i in range(n):
        for j in range(m):
            for k in range(p):
                yield a[i, j, k]


def _flat_4(a, range, n, m, p, q):
    for i in range(n):
        for j in range(m):
            for k in range(p):
                for r in range(q):
                    yield a[i, j, k, r]


def _numbered_1(a, range, n):
    for i in range(n):
        yield (i,), a[i]


def _numbered_2(a, range, n, m):
    for i in range(n):
        for j in range(m):
            yield (i, j), a[i, j]


def _numbered_3(a, range, n, m, p):
    for i in range(n):
        for j in range(m):
            for k in range(p):
                yield (i, j, k), a[i, j, k]


def _numbered_4(a, range, n, m, p, q):
    for i in range(n):
        for j in range(m):
            for k in range(p):
                for r in range(q):
                    yield (i, j, k, r), a[i, j, k, r]


def _list_holds(items, item):
    _refuse_nan(item)
    for other in items:
        if other == item:
            return True
    return False


def _list_extend(items, more):
    for item in more:
        items.append(item)
