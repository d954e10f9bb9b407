"""Calls every function of pynvml that asks about the machine or its devices, and holds the answers against each other. The devices are two."""

import ctypes
import inspect
import os

import pynvml as nvml

# What a call may end with: the documented refusals.
REFUSALS = (
    nvml.NVML_ERROR_NOT_SUPPORTED,
    nvml.NVML_ERROR_INVALID_ARGUMENT,
    nvml.NVML_ERROR_NOT_FOUND,
    nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    nvml.NVML_ERROR_INSUFFICIENT_SIZE,
    nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
)
# Those that use another machine's handles or take long by themselves.
LEFT_OUT = {"nvmlInit", "nvmlInitWithFlags", "nvmlShutdown"}


def argument(name, handle):
    if name in ("handle", "device", "device1", "device2", "handle1", "handle2"):
        return handle
    if name in ("fieldIds", "values"):
        return [nvml.NVML_FI_DEV_ECC_CURRENT]
    return 0


def walk(handle):
    """How many functions answered, and how many refused."""
    counts = {"answered": 0, "refused": 0, "wants other arguments": 0}
    for name, function in sorted(vars(nvml).items()):
        if not (name.startswith("nvml") and inspect.isfunction(function)) or name in LEFT_OUT:
            continue
        parameters = inspect.signature(function).parameters.values()
        arguments = [argument(each.name, handle) for each in parameters if each.default is inspect.Parameter.empty]
        try:
            function(*arguments)
            counts["answered"] += 1
        except nvml.NVMLError as error:
            assert error.value in REFUSALS, f"{name}: {error}"
            counts["refused"] += 1
        except (TypeError, AttributeError, ValueError, AssertionError, IndexError, NameError, KeyError):
            # What is raised before the library is asked.
            counts["wants other arguments"] += 1
    return counts


try:
    nvml.nvmlDeviceGetCount()
    raise SystemExit("it is not initialised")
except nvml.NVMLError_Uninitialized:
    pass
nvml.nvmlInit()
assert nvml.nvmlDeviceGetCount() == 2
assert nvml.nvmlSystemGetDriverVersion() == "550.00", nvml.nvmlSystemGetDriverVersion()
assert nvml.nvmlSystemGetNVMLVersion() == "12.550.00"
assert nvml.nvmlSystemGetCudaDriverVersion() == 12040
assert nvml.nvmlSystemGetProcessName(os.getpid()).split("/")[-1].startswith("python")
handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(2)]
for index, handle in enumerate(handles):
    assert nvml.nvmlDeviceGetIndex(handle) == index
    assert nvml.nvmlDeviceGetName(handle).startswith("warploom (")
    uuid = nvml.nvmlDeviceGetUUID(handle)
    pci = nvml.nvmlDeviceGetPciInfo(handle)
    assert pci.bus == index and pci.domain == 0xCAFE
    for found in (nvml.nvmlDeviceGetHandleByUUID(uuid), nvml.nvmlDeviceGetHandleByPciBusId(pci.busId)):
        assert nvml.nvmlDeviceGetIndex(found) == index
    memory, newer = nvml.nvmlDeviceGetMemoryInfo(handle), nvml.nvmlDeviceGetMemoryInfo(handle, nvml.nvmlMemory_v2)
    assert memory.total == newer.total == 1 << 29 and memory.free + memory.used == memory.total
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    assert 0 <= rates.gpu <= 100 and rates.memory == 0
    # This one has no context; others may run beside it.
    assert os.getpid() not in [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    assert nvml.nvmlDeviceGetCudaComputeCapability(handle) == [9, 0] or nvml.nvmlDeviceGetCudaComputeCapability(handle) == (9, 0)
    assert nvml.nvmlDeviceGetArchitecture(handle) == nvml.NVML_DEVICE_ARCH_HOPPER
    words = nvml.nvmlDeviceGetCpuAffinity(handle, (os.cpu_count() + 63) // 64)
    mine = {64 * at + bit for at, word in enumerate(words) for bit in range(64) if word >> bit & 1}
    assert mine and mine <= set(os.sched_getaffinity(0)), mine
    values = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_ECC_CURRENT, nvml.NVML_FI_DEV_NVLINK_LINK_COUNT])
    assert [value.nvmlReturn for value in values] == [nvml.NVML_ERROR_NOT_SUPPORTED] * 2
    # Reading; the package has a tuple where it means this number.
    assert nvml.nvmlDeviceGetP2PStatus(handle, handles[1 - index], ctypes.c_uint(0)) == nvml.NVML_P2P_STATUS_OK
    assert nvml.nvmlDeviceGetTopologyCommonAncestor(handle, handle) == nvml.NVML_TOPOLOGY_INTERNAL
    kind, samples = nvml.nvmlDeviceGetSamples(handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, 0)
    assert len(samples) > 0 and all(sample.sampleValue.uiVal <= 100 for sample in samples)
    counts = walk(handle)
    print(index, counts)
    assert counts["answered"] >= 40 and counts["refused"] >= 150, counts
nvml.nvmlShutdown()
