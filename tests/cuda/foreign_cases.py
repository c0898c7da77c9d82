"""Arrays of other libraries on the device, by the protocols with which they say where they are."""

import cupy as cp


class ByInterface:
    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        a = self.array
        return {"shape": a.shape, "typestr": a.dtype.str, "data": (a.data.ptr, False), "strides": a.strides, "version": 2}


class ByCapsule:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def converted(x, t):
    y = cp.asarray(t) * 2 + x
    return y, y.sum()


def converted_on_the_way(x, t):
    y = x * 3
    z = cp.asarray(t)
    return y + z, z


def imported(x, t):
    return cp.from_dlpack(t) * 2 + x


def passed_through(x, t):
    y = x * 2
    return y, t is not None and y + 1


def of_a_function(x, t):
    return cp.add(t, 1) + x


def operand(x, t):
    return x * 2 + t


def left_operand(x, t):
    return cp.asarray(t + x * 2)


def index(x, t):
    return x[t] * 2


def stored(x, t):
    x[:] = t
    return x * 2


def chosen(x, t):
    return cp.where(x > 0, x, t)


ALL = [converted, converted_on_the_way, imported, passed_through, of_a_function, operand, left_operand, index, stored, chosen]


# --- CuPy's own arrays, which these functions hand on -----------------------------------------------------------------------


def own(x):
    y = x + 1
    return cp.asarray(x) * 2, cp.asarray(y) is y, cp.asarray(y, y.dtype), cp.asanyarray(y[1:], order="K"), cp.ascontiguousarray(y)


def to_other_types(x):
    return cp.asarray(x, "f4"), cp.asarray(x * 2, dtype="c16"), cp.ascontiguousarray(x, "f4"), cp.asarray(x, copy=True)


def by_module(x):
    xp = cp.get_array_module(1, x)
    return xp.sin(x) if xp is cp else None
