"""Takes Triton's tuner its time: of the forms of a kernel that it would time to keep the fastest, the first that the device has room for is taken, and those after it are not compiled.

Importing this does it, for this process. It stands on Triton's own names, 3.5 to 3.9.
"""
from triton.runtime.autotuner import Autotuner

MEASURED = Autotuner._bench


def first_that_fits(tuner, *args, config, **options):
    if getattr(tuner, "fitted", None) is tuner.nargs:
        return [float("inf")] * 3
    times = MEASURED(tuner, *args, config=config, **options)
    if times[0] == 0:
        tuner.fitted = tuner.nargs
    return times


Autotuner._bench = first_that_fits
Autotuner.do_bench = staticmethod(lambda launch, quantiles: (launch(), [0.0] * 3)[1])
