"""What programs in numba do: a kernel of each kind."""
import math

import numpy
from numba import cuda, float32, float64, int32, vectorize

SIDE = 16


def test_grid():
    @cuda.jit
    def add(a, b, c):
        at = cuda.grid(1)
        if at < c.size:
            c[at] = a[at] + b[at]

    a, b = numpy.arange(1000, dtype="float32"), numpy.full(1000, 0.5, "float32")
    c = numpy.zeros_like(a)
    add[8, 128](a, b, c)
    numpy.testing.assert_array_equal(c, a + b)


def test_shared_memory():
    @cuda.jit
    def multiply(a, b, c):
        left, right = cuda.shared.array((SIDE, SIDE), float64), cuda.shared.array((SIDE, SIDE), float64)
        row, column = cuda.grid(2)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        total = 0.0
        for tile in range(a.shape[1] // SIDE):
            left[x, y] = a[row, tile * SIDE + y]
            right[x, y] = b[tile * SIDE + x, column]
            cuda.syncthreads()
            for at in range(SIDE):
                total += left[x, at] * right[at, y]
            cuda.syncthreads()
        c[row, column] = total

    random = numpy.random.default_rng(1)
    a, b = random.random((64, 64)), random.random((64, 64))
    c = cuda.device_array((64, 64))
    multiply[(4, 4), (SIDE, SIDE)](cuda.to_device(a), cuda.to_device(b), c)
    numpy.testing.assert_allclose(c.copy_to_host(), a @ b, rtol=1e-12)


def test_atomics():
    @cuda.jit
    def histogram(values, counts, largest):
        at = cuda.grid(1)
        if at < values.size:
            cuda.atomic.add(counts, values[at], 1)
            cuda.atomic.max(largest, 0, values[at])

    values = numpy.random.default_rng(2).integers(0, 50, 10_000, dtype="int32")
    counts, largest = numpy.zeros(50, "int32"), numpy.zeros(1, "int32")
    histogram[40, 256](values, counts, largest)
    numpy.testing.assert_array_equal(counts, numpy.bincount(values, minlength=50))
    assert largest[0] == values.max()


def test_reduce():
    largest = cuda.reduce(lambda a, b: a if a > b else b)
    values = numpy.random.default_rng(3).random(5000)
    assert largest(values, init=0.0) == values.max()
    whole = numpy.arange(5000, dtype="int64")
    assert cuda.reduce(lambda a, b: a + b)(whole) == whole.sum()


def test_vectorize():
    @vectorize([float32(float32, float32), float64(float64, float64)], target="cuda")
    def hypotenuse(a, b):
        return math.sqrt(a * a + b * b)

    a = numpy.random.default_rng(4).random(3000)
    numpy.testing.assert_allclose(hypotenuse(a, a * 2), numpy.hypot(a, a * 2), rtol=1e-14)


def test_warps():
    @cuda.jit
    def summed(values, sums):
        at = cuda.grid(1)
        value = values[at]
        step = 16
        while step:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
            step //= 2
        if cuda.laneid == 0:
            sums[at // 32] = value

    values = numpy.arange(256, dtype="int32")
    sums = numpy.zeros(8, "int32")
    summed[1, 256](values, sums)
    numpy.testing.assert_array_equal(sums, values.reshape(8, 32).sum(axis=1))


def test_device_functions_and_local_memory():
    @cuda.jit(device=True)
    def insert(items, count, value):
        at = count
        while at > 0 and items[at - 1] > value:
            items[at] = items[at - 1]
            at -= 1
        items[at] = value

    @cuda.jit
    def sort_rows(rows):
        items = cuda.local.array(20, int32)
        row = cuda.grid(1)
        for at in range(20):
            insert(items, at, rows[row, at])
        for at in range(20):
            rows[row, at] = items[at]

    rows = numpy.random.default_rng(5).integers(0, 1000, (64, 20), dtype="int32")
    expected = numpy.sort(rows, axis=1)
    sort_rows[2, 32](rows)
    numpy.testing.assert_array_equal(rows, expected)


def test_cooperative_groups():
    @cuda.jit
    def turns(values):
        at, grid = cuda.grid(1), cuda.cg.this_grid()
        for turn in range(4):
            before = values[turn, (at + 1) % values.shape[1]]
            values[turn + 1, at] = before + at
            grid.sync()

    values = numpy.zeros((5, 128), "int32")
    turns[4, 32](values)
    expected = numpy.zeros_like(values)
    for turn in range(4):
        expected[turn + 1] = numpy.roll(expected[turn], -1) + numpy.arange(128)
    numpy.testing.assert_array_equal(values, expected)


def test_streams_and_events():
    @cuda.jit
    def double(values):
        at = cuda.grid(1)
        if at < values.size:
            values[at] *= 2

    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    with cuda.pinned(host := numpy.arange(1000.0)):
        start.record(stream)
        there = cuda.to_device(host, stream=stream)
        double[8, 128, stream](there)
        there.copy_to_host(host, stream=stream)
        end.record(stream)
        stream.synchronize()
    assert start.elapsed_time(end) >= 0
    numpy.testing.assert_array_equal(host, numpy.arange(1000.0) * 2)


def test_complex_numbers_and_math():
    @cuda.jit
    def waves(angles, real, size):
        at = cuda.grid(1)
        if at < angles.size:
            number = complex(math.cos(angles[at]), math.sin(angles[at]))
            real[at] = (number * number).real
            size[at] = abs(number)

    angles = numpy.linspace(0, 6, 500)
    real, size = numpy.zeros(500), numpy.zeros(500)
    waves[4, 128](angles, real, size)
    numpy.testing.assert_allclose(real, numpy.cos(2 * angles), atol=1e-12)
    numpy.testing.assert_allclose(size, 1, rtol=1e-12)
