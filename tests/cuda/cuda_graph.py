"""Graphs as text, compiled for CUDA and run on arrays of the device, through the library of tests/cuda."""

import ctypes
import json
import os

INPUT, OUTPUT, TEMP, HANDLE = range(4)
ITEM = {"bool": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8,
        "f64": 8, "c64": 8, "c128": 16}
NUMPY = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
         "i64": "int64", "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64",
         "c128": "complex128"}


class Library:
    """The library, opened on a device, or on a driver that does nothing."""

    def __init__(self, path, nvrtc="", fake=False):
        self.c = ctypes.CDLL(path)
        for name in ("fwc_open", "fwc_build"):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.c.fwc_describe.restype = ctypes.c_char_p
        self.c.fwc_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                                   ctypes.c_void_p]
        self.handle = ctypes.c_void_p(self.checked(self.c.fwc_open, nvrtc.encode(), int(fake)))

    @staticmethod
    def checked(function, *arguments):
        error = ctypes.create_string_buffer(1 << 16)
        answer = function(*arguments, error, len(error))
        if not answer:
            raise RuntimeError(error.value.decode())
        return answer

    def build(self, text):
        return Graph(self, text)

    def compiled(self):
        """Kernels compiled so far and milliseconds that it took."""
        count, ms = ctypes.c_int(), ctypes.c_double()
        self.c.fwc_compiled(self.handle, ctypes.byref(count), ctypes.byref(ms))
        return count.value, ms.value


class Graph:
    def __init__(self, library, text):
        self.library = library
        self.handle = ctypes.c_void_p(library.checked(library.c.fwc_build, library.handle, text.encode()))

    def bind(self, xp, arrays, symbols):
        """A call on these arrays; `xp` is CuPy, or NumPy for a driver that does nothing."""
        return Call(self, xp, arrays, symbols)

    def __call__(self, xp, arrays, symbols):
        call = self.bind(xp, arrays, symbols)
        call()
        return call.results


def pointer(array):
    return array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data


class Call:
    """Memory and arguments of a call, ready to be made again and again."""

    def __init__(self, graph, xp, arrays, symbols):
        self.graph, self.arrays = graph, arrays
        self.symbols = (ctypes.c_int64 * max(len(symbols), 1))(*symbols)
        self.count = len(symbols)
        about = json.loads(graph.library.c.fwc_describe(graph.handle, self.symbols))
        self.memory, addresses = [], []
        for buffer in about["buffers"]:
            size = ITEM[buffer["dtype"]]
            for n in buffer["shape"]:
                size *= n
            if buffer["kind"] == INPUT:
                block = arrays[buffer["index"]]
                addresses.append(pointer(block))
            elif buffer["kind"] == OUTPUT:
                block = xp.empty(max(size, 1), "uint8")
                addresses.append(pointer(block))
            else:
                block = None
                addresses.append(0)
            self.memory.append(block)
        self.workspace = xp.empty(max(about["workspace"], 1), "uint8")
        self.addresses = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        self.results = []
        for output in about["outputs"]:
            buffer = about["buffers"][output["buffer"]]
            dtype = xp.dtype(NUMPY[buffer["dtype"]])
            memory = self.memory[output["buffer"]]
            if buffer["kind"] == OUTPUT:
                elements = 1
                for n in buffer["shape"]:
                    elements *= n
                flat = memory[:elements * dtype.itemsize].view(dtype)
                first = output["offset"] // dtype.itemsize
                result = xp.lib.stride_tricks.as_strided(flat[first:] if elements else flat, output["shape"], output["strides"])
            else:
                result = memory
            self.results.append(result)
        self.stream = 0
        self.run = graph.library.c.fwc_run
        self.arguments = (graph.handle, ctypes.addressof(self.symbols), self.count, ctypes.addressof(self.addresses),
                          pointer(self.workspace), self.stream)

    def __call__(self):
        status = self.run(*self.arguments)
        if status:
            raise RuntimeError(f"status {status}")
