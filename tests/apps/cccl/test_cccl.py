"""Examples of Thrust print the same on the device as on Thrust's system of the host; those of CUB compare with the host themselves."""
import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CCCL, TOOLKIT, OUT = (Path(os.environ[name]) for name in ["CCCL", "TOOLKIT", "OUT"])
HEADERS = [f"-I{folder}" for folder in [HERE, *(CCCL / name for name in ["thrust", "cub", "libcudacxx/include", "c2h/include"])]]
THRUST = """
    bounding_box constant_iterator counting_iterator device_ptr expand fill_copy_sequence histogram max_abs_diff minmax mode norm
    permutation_iterator raw_reference_cast repeated_range run_length_encoding scan_by_key set_operations sparse_vector stream_compaction
    strided_range sum tiled_range transform_iterator
""".split()
CUB = """
    block/example_block_radix_sort block/example_block_reduce block/example_block_reduce_dyn_smem block/example_block_scan
    device/example_device_reduce device/example_device_scan device/example_device_select_if
""".split()


def build(program, command):
    """Builds a program that is not there yet; what it is made of is pinned."""
    if not program.exists():
        OUT.mkdir(exist_ok=True)
        subprocess.run([*map(str, command), "-o", f"{program}.new"], check=True)
        Path(f"{program}.new").rename(program)
    return program


def on_the_device(source):
    nvcc = [TOOLKIT / "bin/nvcc", "-std=c++17", "-O1", "-gencode", "arch=compute_90,code=compute_90", f"-L{TOOLKIT}/lib"]
    return printed(build(OUT / source.stem, [*nvcc, *HEADERS, source]))


def on_the_host(source):
    system = [f"-DTHRUST_{side}_SYSTEM=THRUST_{side}_SYSTEM_CPP" for side in ["HOST", "DEVICE"]]
    compiler = ["g++", "-std=c++17", "-O1", "-w", *system, f"-I{TOOLKIT}/include", *HEADERS, "-x", "c++"]
    return printed(build(OUT / f"{source.stem}.host", [*compiler, source]))


def printed(program):
    return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True, timeout=600).stdout


@pytest.mark.parametrize("name", THRUST)
def test_thrust(name):
    source = CCCL / "thrust/examples" / f"{name}.cu"
    expected = on_the_host(source)
    assert on_the_device(source) == expected != ""


@pytest.mark.parametrize("name", CUB)
def test_cub(name):
    said = on_the_device(CCCL / "cub/examples" / f"{name}.cu")
    assert "PASS" in said and "FAIL" not in said
