"""NPP: sums of signals, arithmetic, filters, another size and histograms of images, against NumPy's and SciPy's."""
import ctypes

import numpy
import pytest
import scipy.ndimage

from libraries import MAJOR, Array, bytes_on_device, cudart, load

nppc, npps, nppial, nppif, nppig, nppist = [load(f"libnpp{name}") for name in ("c", "s", "ial", "if", "ig", "ist")]
# Lengths of signals and sizes of buffers.
Length = ctypes.c_size_t if MAJOR == 13 else ctypes.c_int
WIDTH, HEIGHT = 157, 100
NEAREST, LINEAR = 1, 2


class Stream(ctypes.Structure):
    """NppStreamContext."""

    _fields_ = [
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("multiprocessors", ctypes.c_int),
        ("threads_of_multiprocessor", ctypes.c_int),
        ("threads_of_block", ctypes.c_int),
        ("shared", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_int),
    ]


class Pair(ctypes.Structure):
    """NppiSize, NppiPoint."""

    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


class Rectangle(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int), ("width", ctypes.c_int), ("height", ctypes.c_int)]


def ok(code):
    assert code == 0, code


@pytest.fixture(scope="module")
def stream():
    def attribute(number):
        value = ctypes.c_int()
        assert cudart.cudaDeviceGetAttribute(ctypes.byref(value), number, 0) == 0
        return value.value

    return Stream(None, 0, attribute(16), attribute(39), attribute(1), attribute(8), attribute(75), attribute(76), 0, 0)


@pytest.fixture(scope="module")
def image():
    return numpy.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH), dtype=numpy.uint8)


def test_signals(stream):
    first, second = numpy.random.default_rng(2).integers(-1000, 1000, (2, 10007)).astype(numpy.float32)
    a, b, total, size = Array(first), Array(second), Array(numpy.zeros(1, numpy.float32)), Length()
    ok(npps.nppsSumGetBufferSize_32f_Ctx(Length(first.size), ctypes.byref(size), stream))
    buffer = bytes_on_device(size.value)
    ok(npps.nppsAdd_32f_Ctx(a.pointer, b.pointer, b.pointer, Length(first.size), stream))
    ok(npps.nppsSum_32f_Ctx(b.pointer, Length(first.size), total.pointer, buffer.pointer, stream))
    numpy.testing.assert_array_equal(b.get(), first + second)
    assert total.get()[0] == (first + second).sum()


def test_arithmetic(stream, image):
    source, result = Array(image), Array(numpy.zeros_like(image))
    whole = Pair(WIDTH, HEIGHT)
    ok(nppial.nppiAddC_8u_C1RSfs_Ctx(source.pointer, WIDTH, ctypes.c_ubyte(13), result.pointer, WIDTH, whole, 0, stream))
    numpy.testing.assert_array_equal(result.get(), numpy.minimum(image.astype(int) + 13, 255))


def test_filter(stream, image):
    source, result = Array(image), Array(numpy.zeros_like(image))
    first, inner = 2 * WIDTH + 2, Pair(WIDTH - 4, HEIGHT - 4)
    ok(nppif.nppiFilterBox_8u_C1R_Ctx(source.at(first), WIDTH, result.at(first), WIDTH, inner, Pair(5, 5), Pair(2, 2), stream))
    sums = scipy.ndimage.convolve(image.astype(int), numpy.ones((5, 5), int))
    inside = slice(2, -2)
    numpy.testing.assert_array_equal(result.get()[inside, inside], (sums // 25)[inside, inside])


def test_another_size(stream, image):
    source, result = Array(image), Array(numpy.zeros((2 * HEIGHT, 2 * WIDTH), numpy.uint8))
    from_all = [source.pointer, WIDTH, Pair(WIDTH, HEIGHT), Rectangle(0, 0, WIDTH, HEIGHT)]
    to_all = [result.pointer, 2 * WIDTH, Pair(2 * WIDTH, 2 * HEIGHT), Rectangle(0, 0, 2 * WIDTH, 2 * HEIGHT)]
    ok(nppig.nppiResize_8u_C1R_Ctx(*from_all, *to_all, NEAREST, stream))
    numpy.testing.assert_array_equal(result.get(), image.repeat(2, axis=0).repeat(2, axis=1))
    ok(nppig.nppiResize_8u_C1R_Ctx(*from_all, *to_all, LINEAR, stream))
    # Between four texels lie none but values of theirs.
    low, high = scipy.ndimage.minimum_filter(image, 3), scipy.ndimage.maximum_filter(image, 3)
    low, high = [bound.repeat(2, axis=0).repeat(2, axis=1) for bound in (low, high)]
    assert ((low <= result.get()) & (result.get() <= high)).all()
    assert (result.get() != image.repeat(2, axis=0).repeat(2, axis=1)).any()


def test_histogram(stream, image):
    source, counts, size = Array(image), Array(numpy.zeros(256, numpy.int32)), Length()
    whole = Pair(WIDTH, HEIGHT)
    ok(nppist.nppiHistogramEvenGetBufferSize_8u_C1R_Ctx(whole, 257, ctypes.byref(size), stream))
    buffer, levels = bytes_on_device(size.value), numpy.zeros(257, numpy.int32)
    common = [counts.pointer, 257, 0, 256, buffer.pointer, stream]
    ok(nppist.nppiHistogramEven_8u_C1R_Ctx(source.pointer, WIDTH, whole, *common))
    numpy.testing.assert_array_equal(counts.get(), numpy.bincount(image.ravel(), minlength=256))
