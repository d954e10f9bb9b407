"""Programs of HeCBench that compare what their kernels compute with the host's, with fewer repetitions than their authors ask for."""
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HECBENCH, TOOLKIT, OUT = (Path(os.environ[name]) for name in ["HECBENCH", "TOOLKIT", "OUT"])
# Each with its arguments. Others pass where nothing is executed: they do not compare, or print PASS anyway.
PROGRAMS = """
    accuracy 8192 10000 10 2
    adam 10000 200 100
    aidw 10 1 2
    all-pairs-distance 2
    atomicAggregate 2
    atomicCAS 2
    atomicPerf 2
    attentionMergeState 1024 32 128 2
    attentionMultiHead 2
    axpby 2
    background-subtract 4096 2048 1 2
    bezier-surface -n 2
    bgmv --op bgmv_shrink --tokens 1 --hidden 4096 --rank 16 --loras 4 --repeat 2
    bincount 10000000 2
    blockAccess 8192 8192 2
    blockexchange 8192 8192 2
    bwt 2
    ccsd-trpdrv 200 2
    cmembench 2
    complex 10000000 2
    damage 50000000 2
    dct8x8 8192 8192 2
    eigenvalue 2048 2
    fluidSim 2
    fpc 256 2
    fwt 2
    gaussian -q -t -s 2
    gelu 8 4096 512 2
    groupnorm 32 32 16 16 32 2
    haccmk 2
    heat2d 1024 1024 2
    hwt1d 8388608 2
    is 256 256 2
    iso2dfd 2048 2048 2
    laplace3d 128 128 128 100 1
    layout 2
    lebesgue 501 2
    lombscargle 2
    marchingCubes 2
    matrix-rotate 5000 2
    moe 32768 384 1 2
    moe-align 2
    moe-sum 256 4096 2
    morphology 32 32 8192 8192 2
    mrc 10000000 2
    mtf 1024 2
    nlll 2048 1000 2
    overlap
    overlay 640 2
    p4 2
    particle-diffusion 10 2
    perplexity 10000 50 2
    prefetch 2
    present 100000 2
    projectile 2
    qem 2
    qrg 2
    quant3MatMul 2
    quantBnB 16777216 2
    radixsort 2
    rainflow 100000 2
    relu 10000000 2
    reverse 2
    rfs 100 2
    romberg 128 64 20
    rotary 2
    scan3 1000 2
    scatterThrust 10000000 2
    secp256k1 2
    softmax 100000 784 0 2
    softmax-fused 4 12 256 256 2
    split 33554432 2
    ssm 1
    stencil1d 134217728 2
    tensorAccessor 8192 8192 2
    threadfence 100 2
    tsa 1024 1024 2
    unfold 10000000 2
    vanGenuchten 256 256 256 2
    warpexchange 8192 8192 2
    winograd
    zeropoint 10000000 2
    zoom 1 3 2160 4096 2
""".strip().splitlines()
# They read behind their allocations, which hardware forgives.
FORGIVEN = """
    threadcpy 2
""".strip().splitlines()


def build(line):
    """The folder of a program, with the program that its Makefile makes there; what it is made of is pinned."""
    name = line.split()[0]
    folder = OUT / name
    if not (folder / "main").exists():
        shutil.copytree(HECBENCH / "src" / f"{name}-cuda", folder, dirs_exist_ok=True)
        path = f"{TOOLKIT}/bin:{os.environ['PATH']}"
        command = ["make", "--silent", "ARCH=compute_90", "EXTRA_CFLAGS=-w", f"LDFLAGS=-L{TOOLKIT}/lib", "main"]
        subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path}, check=True)
    return folder


@pytest.fixture(scope="session")
def folders():
    """How to come by the folder of each, all of which are made at once."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {line: pool.submit(build, line) for line in PROGRAMS + FORGIVEN}


def check(folder, line, **variables):
    command = ["./main", *line.split()[1:]]
    done = subprocess.run(command, cwd=folder, env=os.environ | variables, stdout=subprocess.PIPE, text=True, errors="replace", timeout=600)
    assert done.returncode == 0 and "PASS" in done.stdout and "FAIL" not in done.stdout, done.stdout


@pytest.mark.parametrize("line", PROGRAMS, ids=lambda line: line.split()[0])
def test_program(folders, line):
    check(folders[line].result(), line)


@pytest.mark.parametrize("line", FORGIVEN, ids=lambda line: line.split()[0])
def test_program_with_the_bounds_of_hardware(folders, line):
    check(folders[line].result(), line, WARPLOOM_BOUNDS="pages")
