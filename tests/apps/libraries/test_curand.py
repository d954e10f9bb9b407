"""cuRAND: what a generator makes on the device is what it makes on the host."""
import ctypes
from ctypes import byref, c_float, c_size_t, c_ulonglong, c_void_p

import numpy
import pytest

from libraries import Array, load

curand = load("libcurand")
COUNT = 1 << 16
PSEUDO = {"xorwow": 100, "mrg32k3a": 121, "mtgp32": 141, "mt19937": 142, "philox4_32_10": 161}
QUASI = {"sobol32": 201, "scrambled sobol32": 202}


def ok(code):
    assert code == 0, code


def generators(kind):
    """One on the device, one on the host."""
    device, host = c_void_p(), c_void_p()
    ok(curand.curandCreateGenerator(byref(device), kind))
    ok(curand.curandCreateGeneratorHost(byref(host), kind))
    if kind < 200:
        for generator in (device, host):
            ok(curand.curandSetPseudoRandomGeneratorSeed(generator, c_ulonglong(1234)))
    return device, host


@pytest.mark.parametrize("kind", [*PSEUDO.values(), *QUASI.values()], ids=[*PSEUDO, *QUASI])
def test_numbers(kind):
    device, host = generators(kind)
    made, expected = Array(numpy.zeros(COUNT, numpy.float32)), numpy.zeros(COUNT, numpy.float32)
    place = expected.ctypes.data_as(c_void_p)
    ok(curand.curandGenerateUniform(device, made.pointer, c_size_t(COUNT)))
    ok(curand.curandGenerateUniform(host, place, c_size_t(COUNT)))
    numpy.testing.assert_array_equal(made.get(), expected)
    assert 0.49 < expected.mean() < 0.51
    ok(curand.curandGenerateNormal(device, made.pointer, c_size_t(COUNT), c_float(0), c_float(1)))
    ok(curand.curandGenerateNormal(host, place, c_size_t(COUNT), c_float(0), c_float(1)))
    # Logarithms and roots of the device and the host differ by rounding.
    numpy.testing.assert_allclose(made.get(), expected, rtol=1e-5, atol=1e-5)
