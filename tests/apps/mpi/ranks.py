"""What a rank does: a ring and sums of all, on memory of its device. Prints, as one line of JSON, what was right."""
import json
import sys

import numpy
from mpi4py import MPI
from numba import cuda


@cuda.jit
def fill(to, rank):
    at = cuda.grid(1)
    if at < to.size:
        to[at] = rank * 1_000_003 + at


def filled(count, rank):
    values = cuda.device_array(count, numpy.int64)
    fill[(count + 127) // 128, 128](values, rank)
    cuda.synchronize()
    return values


def expected(count, rank):
    return rank * 1_000_003 + numpy.arange(count)


def main(*counts):
    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    cuda.select_device(rank)
    left, right = (rank - 1) % ranks, (rank + 1) % ranks
    results = {"rank": rank, "device": cuda.get_current_device().uuid, "library": MPI.Get_library_version()}
    for count in map(int, counts):
        # A kernel's work goes round: each passes on what came last, and what a rank began with comes back to it.
        mine, came = filled(count, rank), cuda.device_array(count, numpy.int64)
        ring = []
        for step in range(1, ranks + 1):
            comm.Sendrecv(mine, right, step, came, left, step)
            ring.append(bool((came.copy_to_host() == expected(count, (rank - step) % ranks)).all()))
            mine, came = came, mine
        sums = cuda.device_array(count, numpy.int64)
        comm.Allreduce(filled(count, rank), sums)
        results[f"ring of {count}"] = ring
        results[f"sums of {count}"] = bool((sums.copy_to_host() == sum(expected(count, other) for other in range(ranks))).all())
    for line in comm.gather(json.dumps(results)) or []:
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
