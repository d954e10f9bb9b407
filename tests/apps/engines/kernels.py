"""What a worker of an engine does with its device."""
import os

import numpy
from numba import cuda


@cuda.jit
def scale_and_add(values, factor):
    at = cuda.grid(1)
    if at < values.size:
        values[at] = values[at] * factor + at


def compute(count, factor):
    """Computes on the first device that this process sees, which `right` says of, and tells which device that is, and how many there are to see."""
    start = numpy.arange(count, dtype=numpy.int64)
    values = cuda.to_device(start)
    scale_and_add[(count + 127) // 128, 128](values, factor)
    right = bool((values.copy_to_host() == start * (factor + 1)).all())
    return {"right": right, "device": cuda.get_current_device().uuid, "seen": len(cuda.gpus), "process": os.getpid()}
