"""A little of everything that CuPy does without NVIDIA's libraries, against NumPy."""
import cupy
import numpy
import pytest

CODE = r"""
extern "C" __global__ void scaled(const float *from, float *to, float by, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) to[at] = from[at] * by;
}
extern "C" __global__ void reversed(const int *from, int *to, int count) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = tile[count - 1 - threadIdx.x];
}
template <typename T> __global__ void squared(T *values) { values[threadIdx.x] *= values[threadIdx.x]; }
"""


def random(dtype, *shape):
    values = numpy.random.default_rng(1).normal(0, 100, shape)
    return values.astype(dtype)


def same(actual, expected, tolerance=0.0):
    actual = cupy.asnumpy(actual)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    numpy.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
def test_elementwise(dtype):
    a, b = random(dtype, 1000), random(dtype, 1000)
    same(cupy.asarray(a) + cupy.asarray(b) * 3, a + b * 3)


def test_functions():
    a = numpy.abs(random("float64", 333, 7)) + 0.1
    for function in ["sqrt", "exp2", "log", "sin", "tanh", "floor"]:
        same(getattr(cupy, function)(cupy.asarray(a / 50)), getattr(numpy, function)(a / 50), 1e-12)


def test_broadcast_and_where():
    a, b = random("float32", 40, 1), random("float32", 1, 60)
    x, y = cupy.asarray(a), cupy.asarray(b)
    same(cupy.where(x > y, x - y, y), numpy.where(a > b, a - b, b))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "any", "mean"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(name, axis):
    a = random("float64", 57, 130) / 100
    same(getattr(cupy, name)(cupy.asarray(a), axis=axis), numpy.asarray(getattr(numpy, name)(a, axis=axis)), 1e-9)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_sort(dtype):
    a = random(dtype, 5000)
    same(cupy.sort(cupy.asarray(a)), numpy.sort(a))
    same(cupy.asarray(a)[cupy.argsort(cupy.asarray(a))], numpy.sort(a))
    same(cupy.sort(cupy.asarray(a.reshape(50, 100)), axis=0), numpy.sort(a.reshape(50, 100), axis=0))


def test_lexsort_unique_and_searchsorted():
    a = random("int32", 3000) % 50
    values, counts = cupy.unique(cupy.asarray(a), return_counts=True)
    expected = numpy.unique(a, return_counts=True)
    same(values, expected[0])
    same(counts, expected[1])
    same(cupy.searchsorted(values, cupy.asarray(a)), numpy.searchsorted(expected[0], a))
    keys = numpy.stack([a, a[::-1]])
    same(cupy.lexsort(cupy.asarray(keys)), numpy.lexsort(keys))


def test_scans():
    a = random("int64", 10_000)
    same(cupy.cumsum(cupy.asarray(a)), numpy.cumsum(a))
    same(cupy.cumprod(cupy.asarray(a % 3 + 1)), numpy.cumprod(a % 3 + 1))


def test_indexing():
    a = random("float32", 40, 50)
    x, rows = cupy.asarray(a), numpy.array([3, 1, 39, 3])
    same(x[cupy.asarray(rows), 5:9], a[rows, 5:9])
    same(x[x > 0], a[a > 0])
    same(cupy.take(x, cupy.asarray(rows), axis=1), numpy.take(a, rows, axis=1))
    x[x < 0] = 7
    a[a < 0] = 7
    same(x, a)
    counts = cupy.zeros(4, dtype="int32")
    cupy.add.at(counts, cupy.asarray([0, 1, 1, 3, 3, 3]), 1)
    same(counts, numpy.array([1, 2, 0, 3], "int32"))
    same(cupy.stack(cupy.nonzero(x > 100)), numpy.stack(numpy.nonzero(a > 100)))


def test_histograms():
    a = random("int32", 5000) % 20 + 20
    same(cupy.bincount(cupy.asarray(a)), numpy.bincount(a))
    same(cupy.histogram(cupy.asarray(a), bins=10)[0], numpy.histogram(a, bins=10)[0])


def test_fuse():
    @cupy.fuse()
    def fused(x, y):
        return cupy.sqrt(x * x + y * y) + 1

    @cupy.fuse()
    def reduced(x, y):
        return cupy.sum(x * y)

    a, b = random("float64", 1000), random("float64", 1000)
    same(fused(cupy.asarray(a), cupy.asarray(b)), numpy.sqrt(a * a + b * b) + 1, 1e-14)
    same(reduced(cupy.asarray(a), cupy.asarray(b)), numpy.asarray(numpy.sum(a * b)), 1e-9)


def test_user_kernels():
    double = cupy.ElementwiseKernel("T x, T y", "T z", "z = x * 2 + y", "double_and_add")
    norm = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    a, b = random("float32", 777), random("float32", 777)
    same(double(cupy.asarray(a), cupy.asarray(b)), a * 2 + b)
    same(norm(cupy.asarray(a)), numpy.asarray(numpy.linalg.norm(a)), 1e-5)


def test_raw_kernel():
    kernel = cupy.RawKernel(CODE, "scaled")
    a = random("float32", 1000)
    to = cupy.zeros(1000, dtype="float32")
    kernel((8,), (128,), (cupy.asarray(a), to, numpy.float32(2.5), 1000))
    same(to, a * numpy.float32(2.5))


def test_raw_module():
    module = cupy.RawModule(code=CODE, options=("-std=c++17",), name_expressions=["squared<double>"])
    values = cupy.arange(64, dtype="float64")
    module.get_function("squared<double>")((1,), (64,), (values,))
    same(values, numpy.arange(64, dtype="float64") ** 2)
    a = random("int32", 256)
    to = cupy.zeros(256, dtype="int32")
    module.get_function("reversed")((1,), (256,), (cupy.asarray(a), to, 256), shared_mem=1024)
    same(to, a[::-1])


@pytest.mark.parametrize("bits", [cupy.random.XORWOW, cupy.random.MRG32k3a, cupy.random.Philox4x3210])
def test_generators(bits):
    numbers = cupy.random.Generator(bits(seed=7))
    uniform, normal = numbers.random(20_000), numbers.standard_normal(20_000)
    assert 0 <= uniform.min() and uniform.max() < 1 and abs(float(uniform.mean()) - 0.5) < 0.02
    assert abs(float(normal.mean())) < 0.05 and abs(float(normal.std()) - 1) < 0.05
    assert cupy.unique(uniform).size > 19_900
    whole = numbers.integers(0, 10, 5000)
    assert set(cupy.asnumpy(whole)) == set(range(10))
    again = cupy.random.Generator(bits(seed=7))
    same(again.random(20_000), cupy.asnumpy(uniform))


def test_streams_events_and_pools():
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with first:
        a = cupy.arange(100_000) ** 2
        done = first.record()
    second.wait_event(done)
    with second:
        b = a + 1
    second.synchronize()
    same(b, numpy.arange(100_000) ** 2 + 1)
    used = cupy.get_default_memory_pool().used_bytes()
    del a, b
    assert cupy.get_default_memory_pool().used_bytes() < used


def test_graph():
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a = cupy.zeros(1000)
        a += 1
        stream.begin_capture()
        a += 2
        a *= 2
        graph = stream.end_capture()
        graph.launch()
        graph.launch()
    stream.synchronize()
    same(a, numpy.full(1000, 16.0))
