#!/usr/bin/env python3
"""What NVIDIA's libnvidia-ml.so.1 exports and answers: before it is initialised, to NULL, to handles that are none, and to a few questions whose answers are
the same on every machine. Prints JSON; asks only what changes nothing.

    python3 tests/goldens/nvml.py > tests/goldens/nvml.json

Each call is made in a process of its own, as some of them crash: those are recorded as the name of the signal.
"""

import ctypes
import json
import os
import re
import signal
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

NAME = sys.argv[1] if len(sys.argv) > 1 else "libnvidia-ml.so.1"
# Functions that only look. All others are called before initialisation alone, which refuses them.
LOOKS = re.compile(r"Get|Query|nvmlErrorString")
WRITES = re.compile(r"Set|Reset|Clear|Modify|Send|Remove|Create|Destroy|Freeze|Register|GpmSample|Alloc")
ROOM = 1 << 16


def exports(path):
    """The functions in the dynamic symbol table of an ELF file."""
    data = open(path, "rb").read()
    table, entry, count = (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 58))
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + entry * at) for at in range(count)]
    symbols = next(section for section in sections if section[1] == 11)
    strings = sections[symbols[6]]
    names = set()
    for at in range(symbols[4], symbols[4] + symbols[5], symbols[9]):
        name, info, _, section = struct.unpack_from("<IBBH", data, at)
        if section and info & 15 == 2:
            start = strings[4] + name
            names.add(data[start : data.index(b"\0", start)].decode())
    return sorted(name for name in names if name.startswith("nvml"))


def apart(ask):
    """What `ask` returns in a child, or the signal that ends it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(60)
        os.write(writing, json.dumps(ask()).encode())
        os._exit(0)
    os.close(writing)
    text = b"".join(iter(lambda: os.read(reading, 1 << 16), b""))
    os.close(reading)
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else signal.Signals(os.WTERMSIG(status)).name


def opened():
    return ctypes.CDLL(NAME)


def device(library):
    handle = ctypes.c_void_p()
    assert library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0
    return handle


def call(name, arguments, init=True):
    def ask():
        library = opened()
        if init:
            assert library.nvmlInit_v2() == 0
        return getattr(library, name)(*(argument(library) if callable(argument) else argument for argument in arguments))

    return apart(ask)


def zeros(_):
    """Room for any answer, all zero."""
    room = ctypes.create_string_buffer(ROOM)
    kept.append(room)
    return ctypes.c_void_p(ctypes.addressof(room))


def number(value):
    return lambda _: ctypes.c_void_p(value)


kept = []
NULL = number(0)


def questions():
    """Calls by themselves: how often, and what they leave in their first result."""
    library = opened()
    said = {}
    said["shutdown before init"] = library.nvmlShutdown()
    said["init twice"] = [library.nvmlInit_v2(), library.nvmlInit_v2()]
    said["shutdown three times"] = [library.nvmlShutdown() for _ in range(3)]
    said["count after shutdown"] = library.nvmlDeviceGetCount_v2(ctypes.byref(ctypes.c_uint()))
    said["init with flags"] = {flags: library.nvmlInitWithFlags(flags) for flags in (0, 1, 2, 4, 0x80000000)}
    handle = device(library)
    other = ctypes.c_void_p()
    place = ctypes.byref(other)
    library.nvmlErrorString.restype = ctypes.c_char_p
    count = ctypes.c_uint()
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    said["index"] = {at: library.nvmlDeviceGetHandleByIndex_v2(at, place) for at in (0, count.value, 0xFFFFFFFF)}
    uuid = ctypes.create_string_buffer(96)
    library.nvmlDeviceGetUUID(handle, uuid, 96)
    text = uuid.value
    forms = {"its own": text, "empty": b"", "other": b"GPU-00000000-0000-0000-0000-000000000000", "half": text[:13], "no prefix": text[4:],
             "capitals": text.upper(), "longer": text + b"0", "word": b"word"}
    said["uuid"] = {form: library.nvmlDeviceGetHandleByUUID(value, place) for form, value in forms.items()}
    pci = ctypes.create_string_buffer(256)
    library.nvmlDeviceGetPciInfo_v3(handle, pci)
    legacy, domain, bus, slot, _, _, full = struct.unpack_from("<16sIIIII32s", pci.raw)
    legacy, full = legacy.rstrip(b"\0").decode(), full.rstrip(b"\0").decode()
    said["pci forms"] = [legacy == f"{domain:04X}:{bus:02X}:{slot:02X}.0", full == f"{domain:08X}:{bus:02X}:{slot:02X}.0"]
    forms = {"its own": full, "legacy": legacy, "small": full.lower(), "no function": full[:-2], "no domain": full[9:], "other": "0000:ff:1f.0",
             "empty": "", "word": "word", "function 1": full[:-1] + "1"}
    said["pci"] = {form: library.nvmlDeviceGetHandleByPciBusId_v2(value.encode(), place) for form, value in forms.items()}
    said["serial"] = {form: library.nvmlDeviceGetHandleBySerial(value, place) for form, value in {"empty": b"", "0": b"0", "word": b"word"}.items()}
    room = ctypes.create_string_buffer(256)
    for name in ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetSerial", "nvmlDeviceGetVbiosVersion"):
        said[name + " in 0, 1, 256"] = [getattr(library, name)(handle, room, size) for size in (0, 1, 256)]
    for name in ("nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion"):
        said[name + " in 0, 1, 256"] = [getattr(library, name)(room, size) for size in (0, 1, 256)]
    for pid in (0, os.getpid(), 0x7FFFFFFF):
        said.setdefault("process name of 0, itself, nobody", []).append(library.nvmlSystemGetProcessName(pid, room, 256))
    said["process name in 0, 4"] = [library.nvmlSystemGetProcessName(os.getpid(), room, size) for size in (0, 4)]
    level = ctypes.c_int(-1)
    said["ancestor of itself"] = [library.nvmlDeviceGetTopologyCommonAncestor(handle, handle, ctypes.byref(level)), level.value]
    said["on same board as itself"] = [library.nvmlDeviceOnSameBoard(handle, handle, ctypes.byref(level)), level.value]
    for index in range(5):
        said.setdefault("p2p with itself", []).append([library.nvmlDeviceGetP2PStatus(handle, handle, index, ctypes.byref(level)), level.value])
    for which in (0, 10, 20, 30, 40, 50, 60):
        near = ctypes.c_uint(0)
        said.setdefault("nearest", []).append([library.nvmlDeviceGetTopologyNearestGpus(handle, which, ctypes.byref(near), None), near.value])
    for size in (0, 1, 64):
        words = (ctypes.c_ulong * 64)()
        said.setdefault("affinity in 0, 1, 64", []).append(library.nvmlDeviceGetCpuAffinity(handle, size, words))
    for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"):
        said[name + " in 0"] = [library[name](handle, ctypes.byref(near), None), near.value]
    versions = {"nvmlDeviceGetMemoryInfo_v2": 40, "nvmlDeviceGetPciInfoExt": 64}
    for name, size in versions.items():
        for version in (0, 1, 2, 3):
            struct.pack_into("<I", room, 0, size | version << 24)
            said.setdefault(name + " of version 0 to 3", []).append(library[name](handle, room))
    brand = ctypes.c_int()
    said["graphics, sm, memory, video clocks and one more"] = [library.nvmlDeviceGetClockInfo(handle, kind, ctypes.byref(brand)) for kind in range(5)]
    said["temperature sensors"] = [library.nvmlDeviceGetTemperature(handle, kind, ctypes.byref(brand)) for kind in range(3)]
    said["texts"] = {code: (library.nvmlErrorString(code) or b"").decode() for code in [*range(0, 40), 999, 1000, -1]}
    fields = (ctypes.c_byte * (40 * 2))()
    struct.pack_into("<II", fields, 0, 1, 0)
    struct.pack_into("<II", fields, 40, 100000, 0)
    said["field values"] = [library.nvmlDeviceGetFieldValues(handle, 2, fields), library.nvmlDeviceGetFieldValues(handle, 0, fields),
                            struct.unpack_from("<IIqqIi", fields, 0)[4:], struct.unpack_from("<IIqqIi", fields, 40)[4:]]
    return said


def main():
    opened()
    path = next(line.split()[-1] for line in open("/proc/self/maps") if "libnvidia-ml" in line)
    names = exports(os.path.realpath(path))
    looks = [name for name in names if LOOKS.search(name) and not WRITES.search(name.replace("EventSet", ""))]
    getters = [name for name in looks if name.startswith("nvmlDeviceGet")]
    many = [zeros] * 5

    def each(chosen, arguments, init=True):
        with ThreadPoolExecutor(16) as threads:
            return dict(zip(chosen, threads.map(lambda name: call(name, arguments, init), chosen)))

    result = {
        "library": os.path.basename(os.path.realpath(path)),
        "exports": names,
        "before initialisation": each([name for name in names if "Init" not in name], [NULL] * 6, init=False),
        "all NULL": each(looks, [NULL] * 6),
        "device, then NULL": each(getters, [device] + [NULL] * 5),
        "device, then zeros": each(getters, [device] + many),
        "device, 0, then zeros": each(getters, [device, NULL] + many),
        "no device, then zeros": each(getters, [number(0x1234560)] + many),
        "questions": apart(questions),
    }
    json.dump(result, sys.stdout, indent=1)
    print()


main()
