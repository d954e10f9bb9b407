"""What programs with cuda-core do: compile, link and launch."""
import itertools

import numpy
import pytest
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

KERNEL = """extern __device__ int function(int);
extern "C" __global__ void kernel(int *to) { to[threadIdx.x] = function(threadIdx.x); }"""
FUNCTION = "__device__ int function(int a) { return a * 3 + 1; }"
WHOLE = "template <typename T> __global__ void kernel(T *to) { to[threadIdx.x] = T(threadIdx.x) * 3 + 1; }"


@pytest.fixture(scope="module")
def device():
    device = Device()
    device.set_current()
    return device


def check(device, code, name):
    stream = device.create_stream()
    to = device.allocate(128, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=32), code.get_kernel(name), to)
    stream.sync()
    numbers = numpy.zeros(32, numpy.int32)
    assert driver.cuMemcpyDtoH(numbers.ctypes.data, int(to.handle), 128)[0] == 0
    numpy.testing.assert_array_equal(numbers, numpy.arange(32) * 3 + 1)


def compiled(device, source, kind, **options):
    options = ProgramOptions(arch=f"sm_{device.arch}", **options)
    return Program(source, "c++", options).compile(kind)


def test_program(device):
    options = ProgramOptions(arch=f"sm_{device.arch}", std="c++17", lineinfo=True)
    code = Program(WHOLE, "c++", options).compile("cubin", name_expressions=("kernel<int>",))
    check(device, code, "kernel<int>")


def test_program_of_ptx(device):
    text = compiled(device, 'extern "C" ' + WHOLE.split("> ", 1)[1].replace("T", "int"), "ptx").code.decode()
    code = Program(text, "ptx", ProgramOptions(arch=f"sm_{device.arch}")).compile("cubin")
    check(device, code, "kernel")


@pytest.mark.parametrize(
    "kinds", [*itertools.product(["ptx", "cubin"], repeat=2), ("ltoir", "ltoir"), ("ltoir", "ptx"), ("ltoir", "cubin")]
)
def test_linker(device, kinds):
    def part(source, kind):
        optimizes = {"link_time_optimization": True} if kind == "ltoir" else {}
        return compiled(device, source, kind, relocatable_device_code=True, **optimizes)

    parts = [part(source, kind) for source, kind in zip((KERNEL, FUNCTION), kinds)]
    optimizes = {"link_time_optimization": True} if "ltoir" in kinds else {}
    linker = Linker(*parts, options=LinkerOptions(arch=f"sm_{device.arch}", **optimizes))
    check(device, linker.link("cubin"), "kernel")
    assert linker.get_error_log() == ""


def test_what_is_missing_is_named(device):
    part = compiled(device, KERNEL, "ptx", relocatable_device_code=True)
    linker = Linker(part, options=LinkerOptions(arch=f"sm_{device.arch}"))
    with pytest.raises(Exception, match="Undefined reference to '_Z8functioni'"):
        linker.link("cubin")
