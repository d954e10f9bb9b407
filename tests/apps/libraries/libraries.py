"""What tests of NVIDIA's libraries share: the libraries of the packages that are installed, of CUDA 12 or 13, and arrays on the device."""
import ctypes
import pathlib

import numpy
import nvidia


def load(name):
    """The library of this name among the packages, `libcusparse` or so; what it needs of the others is loaded before."""
    found = [file for folder in nvidia.__path__ for file in pathlib.Path(folder).rglob(f"{name}.so.*")]
    assert len(found) == 1, (name, found)
    return ctypes.CDLL(str(found[0]), ctypes.RTLD_GLOBAL)


cudart = load("libcudart")
MAJOR = 13 if any("cu13" in str(path) for folder in nvidia.__path__ for path in pathlib.Path(folder).glob("*")) else 12
TO_DEVICE, TO_HOST = 1, 2


class Array:
    """An array of the device's."""

    def __init__(self, values):
        values = numpy.ascontiguousarray(values)
        self.shape, self.dtype, self.nbytes = values.shape, values.dtype, values.nbytes
        self.pointer = ctypes.c_void_p()
        assert cudart.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(max(self.nbytes, 1))) == 0
        self.put(values)

    def put(self, values):
        source = values.ctypes.data_as(ctypes.c_void_p)
        assert cudart.cudaMemcpy(self.pointer, source, ctypes.c_size_t(self.nbytes), TO_DEVICE) == 0

    def at(self, elements):
        """The address of an element, counted without dimensions."""
        return ctypes.c_void_p(self.pointer.value + elements * self.dtype.itemsize)

    def get(self):
        values = numpy.empty(self.shape, self.dtype)
        place = values.ctypes.data_as(ctypes.c_void_p)
        assert cudart.cudaMemcpy(place, self.pointer, ctypes.c_size_t(self.nbytes), TO_HOST) == 0
        return values


def bytes_on_device(count):
    return Array(numpy.zeros(count, numpy.uint8))
