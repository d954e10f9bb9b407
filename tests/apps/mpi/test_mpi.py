"""MPI calls with pointers to device memory, four ranks, each with a device of its own."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RANKS = 4
# From what goes with a message to what is sent in pieces or read by its receiver.
COUNTS = [7, 1000, 100_000]
HERE = Path(__file__).parent
DEBIAN = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"


def ranks(mpirun, *options, **variables):
    """What ranks printed, as the results of each and as text."""
    # Continuous integration is root in many places.
    root = {f"{name}_ALLOW_RUN_AS_ROOT{ending}": "1" for name in ["OMPI", "PRTE"] for ending in ["", "_CONFIRM"]}
    command = [mpirun, "--oversubscribe", "-n", str(RANKS), *options, sys.executable, HERE / "ranks.py", *map(str, COUNTS)]
    done = subprocess.run(command, env=os.environ | root | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280)
    print(done.stdout)
    assert done.returncode == 0
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [result["rank"] for result in results] == list(range(RANKS))
    assert len({result["device"] for result in results}) == RANKS
    for result in results:
        for count in COUNTS:
            assert result[f"ring of {count}"] == [True] * RANKS
            assert result[f"sums of {count}"]
    return results, done.stdout


def test_open_mpi():
    """PyPI's Open MPI knows nothing of CUDA: memory of our devices is memory of the host."""
    results, _ = ranks(Path(sys.prefix) / "bin/mpirun")
    assert "Open MPI v5" in results[0]["library"]


def test_open_mpi_of_debian():
    library, mpirun = DEBIAN / "libmpi.so.40", Path("/usr/bin/mpirun")
    if not library.exists() or not mpirun.exists():
        pytest.skip("Debian's Open MPI is not installed: apt-get install openmpi-bin libopenmpi-dev")
    results, _ = ranks(mpirun, MPI4PY_LIBMPI=str(library))
    assert "Open MPI v4" in results[0]["library"]


def test_ucx_for_cuda():
    """UCX as it is built for CUDA: it sees what is memory of a device, and opens that of other processes with handles of CUDA's."""
    import libucx

    folder = Path(libucx.__file__).parent / "lib"
    # What it chose is printed in tables.
    settings = {"UCX_TLS": "cuda_copy,cuda_ipc,sm,self", "UCX_PROTO_INFO": "y", "LD_LIBRARY_PATH": f"{folder}:{os.environ['LD_LIBRARY_PATH']}"}
    _, printed = ranks(Path(sys.prefix) / "bin/mpirun", "--mca", "pml", "ucx", **settings)
    assert re.search(r"from cuda/GPU\d to cuda", printed)
    assert re.search(r"zero-copy.*cuda_ipc/cuda", printed)
    assert re.search(r"cuda_copy", printed)
