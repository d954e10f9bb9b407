"""Kernels of numba that are linked with other code."""
import numpy
import pytest
from numba import cuda
from numba.cuda.cudadrv import driver


def test_nvjitlink_is_used():
    assert driver._have_nvjitlink()


@pytest.mark.parametrize("lto", [False, True])
def test_code_in_c(lto):
    source = cuda.CUSource('extern "C" __device__ int scaled(int *result, int value) { *result = 7 * value; return 0; }')
    scaled = cuda.declare_device("scaled", "int32(int32)", link=source)

    @cuda.jit(lto=lto)
    def fill(to):
        at = cuda.grid(1)
        if at < to.size:
            to[at] = scaled(at)

    to = cuda.device_array(100, numpy.int32)
    fill[4, 32](to)
    numpy.testing.assert_array_equal(to.copy_to_host(), numpy.arange(100) * 7)


def test_grids_synchronize():
    @cuda.jit
    def rotate(values):
        grid = cuda.cg.this_grid()
        at = cuda.grid(1)
        for _ in range(10):
            value = values[(at + 1) % values.size]
            grid.sync()
            values[at] = value
            grid.sync()

    values = numpy.arange(256)
    on_device = cuda.to_device(values)
    rotate[4, 64](on_device)
    numpy.testing.assert_array_equal(on_device.copy_to_host(), numpy.roll(values, -10))
