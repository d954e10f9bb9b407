"""cuda.compute, CCCL's algorithms for Python: CUB's, built by NVRTC and linked by nvJitLink with functions of the program, against NumPy."""
import cuda.compute
import numpy
import pytest
from cuda.bindings import driver
from cuda.compute import OpKind, SortOrder

MANY = 10_007
RANDOM = numpy.random.default_rng(8)


def checked(result):
    error, *values = result
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if values else None


@pytest.fixture(scope="session", autouse=True)
def context():
    checked(driver.cuInit(0))
    made = checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(0))))
    checked(driver.cuCtxSetCurrent(made))


class Array:
    """Memory of the device with what an array has, as any library hands it over."""

    def __init__(self, host):
        self.host = numpy.ascontiguousarray(host)
        self.address = int(checked(driver.cuMemAlloc(max(1, self.host.nbytes))))
        checked(driver.cuMemcpyHtoD(self.address, self.host.ctypes.data, self.host.nbytes))
        self.__cuda_array_interface__ = {"shape": self.host.shape, "typestr": self.host.dtype.str, "data": (self.address, False), "strides": None, "version": 3}
        self.dtype, self.shape, self.size = self.host.dtype, self.host.shape, self.host.size

    def get(self):
        checked(driver.cuCtxSynchronize())
        checked(driver.cuMemcpyDtoH(self.host.ctypes.data, self.address, self.host.nbytes))
        return self.host.copy()

    def __del__(self):
        driver.cuMemFree(self.address)


def numbers(kind="int32", most=1000):
    values = RANDOM.integers(0, most, MANY)
    return values.astype(kind)


def empty(count, kind="int32"):
    return Array(numpy.zeros(count, kind))


@pytest.mark.parametrize("kind", ["int32", "int64", "float32", "float64"])
def test_sums(kind):
    values, out = numbers(kind), empty(1, kind)
    cuda.compute.reduce_into(d_in=Array(values), d_out=out, op=OpKind.PLUS, num_items=MANY, h_init=numpy.zeros(1, kind))
    assert out.get()[0] == values.sum()


def test_a_function_of_the_program():
    def largest(one, other):
        return one if one > other else other

    values, out = numbers(), empty(1)
    cuda.compute.reduce_into(d_in=Array(values), d_out=out, op=largest, num_items=MANY, h_init=numpy.zeros(1, "int32"))
    assert out.get()[0] == values.max()


@pytest.mark.parametrize("kind", ["int32", "float64"])
def test_running_sums(kind):
    values, out = numbers(kind), empty(MANY, kind)
    cuda.compute.inclusive_scan(d_in=Array(values), d_out=out, op=OpKind.PLUS, init_value=numpy.zeros(1, kind), num_items=MANY)
    numpy.testing.assert_array_equal(out.get(), values.cumsum())
    cuda.compute.exclusive_scan(d_in=Array(values), d_out=out, op=OpKind.PLUS, init_value=numpy.zeros(1, kind), num_items=MANY)
    numpy.testing.assert_array_equal(out.get(), values.cumsum() - values)


@pytest.mark.parametrize("order", [SortOrder.ASCENDING, SortOrder.DESCENDING], ids=["up", "down"])
def test_sorts(order):
    keys, sorted_keys, places = numbers(), empty(MANY), empty(MANY)
    cuda.compute.radix_sort(d_in_keys=Array(keys), d_out_keys=sorted_keys, d_in_values=Array(numpy.arange(MANY, dtype="int32")), d_out_values=places, num_items=MANY, order=order)
    up = order == SortOrder.ASCENDING
    expected = numpy.argsort(keys if up else -keys, kind="stable")
    numpy.testing.assert_array_equal(sorted_keys.get(), keys[expected])
    numpy.testing.assert_array_equal(places.get(), expected)


def test_a_sort_by_a_function():
    keys, out = numbers(), empty(MANY)
    cuda.compute.merge_sort(d_in_keys=Array(keys), d_out_keys=out, d_in_values=None, d_out_values=None, op=lambda a, b: a % 10 < b % 10, num_items=MANY)
    numpy.testing.assert_array_equal(out.get(), keys[numpy.argsort(keys % 10, kind="stable")])


def test_transforms():
    values, out = numbers(), empty(MANY)
    cuda.compute.unary_transform(d_in=Array(values), d_out=out, op=lambda a: a * 3 + 1, num_items=MANY)
    numpy.testing.assert_array_equal(out.get(), values * 3 + 1)
    cuda.compute.binary_transform(d_in1=Array(values), d_in2=Array(values[::-1]), d_out=out, op=OpKind.MULTIPLIES, num_items=MANY)
    numpy.testing.assert_array_equal(out.get(), values * values[::-1])


def test_segments():
    values = numbers()
    starts = numpy.array([0, 7, 7, 4000, 9000], "int64")
    ends = numpy.array([7, 7, 4000, 9000, MANY], "int64")
    out = empty(5)
    cuda.compute.segmented_reduce(d_in=Array(values), d_out=out, num_segments=5, start_offsets_in=Array(starts), end_offsets_in=Array(ends), op=OpKind.PLUS, h_init=numpy.zeros(1, "int32"))
    numpy.testing.assert_array_equal(out.get(), [values[a:b].sum() for a, b in zip(starts, ends, strict=True)])


def test_what_comes_once():
    keys = numpy.sort(numbers(most=50))
    out, places, count = empty(MANY), empty(MANY), empty(1, "int64")
    cuda.compute.unique_by_key(d_in_keys=Array(keys), d_in_items=Array(numpy.arange(MANY, dtype="int32")), d_out_keys=out, d_out_items=places, d_out_num_selected=count, op=OpKind.EQUAL_TO, num_items=MANY)
    expected, first = numpy.unique(keys, return_index=True)
    found = count.get()[0]
    assert found == len(expected)
    numpy.testing.assert_array_equal(out.get()[:found], expected)
    numpy.testing.assert_array_equal(places.get()[:found], first)
