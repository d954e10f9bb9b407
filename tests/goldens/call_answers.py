#!/usr/bin/env python3
"""Records what a driver answers to calls with arguments that are right, wrong in one way, or wrong in several, so that it shows what is looked at first: pools, contexts, streams and events,
functions, memory, and all kinds of calls while a stream is captured. Prints JSON: for each case the answers in the order of its arguments, results among them.

Not here: handles of a fabric, which are there on some machines; launches of fewer threads than a kernel requires (.reqntid), which hardware lets pass; what a driver makes of addresses.

    call_answers.py [LIBCUDA] > call_answers.json
    call_answers.py --check call_answers.json [LIBCUDA]
"""
import ctypes as C
import itertools
import struct
import sys

import recorded

TEXT = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry plain(.param .u64 p, .param .u32 n) { ret; }
.visible .entry shared() .reqntid 64, 1, 1 {
  .shared .align 4 .b8 bytes[1024]; .reg .b32 %r1; mov.u32 %r1, bytes; st.shared.u32 [bytes], %r1; bar.sync 0; ret;
}
"""
NULL, PAGE = C.c_void_p(0), 4096
FLAGS = [*range(0x20), 0x20, 0x40, 0x80, 0x100, 0x200]


class Calls:
    """Calls of a driver."""

    def __init__(self, driver):
        self.library, self.call = driver.library, driver.call

    def code(self, name, *args):
        return getattr(self.library, name)(*args)

    def made(self, name, *args):
        """The handle of what a call makes."""
        handle = C.c_void_p()
        self.call(name, C.byref(handle), *args)
        return handle

    def asked(self, name, *args):
        """The number that a call writes to its first argument, or its error."""
        value = C.c_int()
        code = self.code(name, C.byref(value), *args)
        return value.value if code == 0 else f"error {code}"

    def is_capturing(self, stream):
        status = C.c_int()
        self.call("cuStreamIsCapturing", stream, C.byref(status))
        return status.value

    def memory(self):
        address = C.c_uint64()
        self.call("cuMemAlloc_v2", C.byref(address), C.c_size_t(PAGE))
        return address

    def function(self, name):
        return self.made("cuModuleGetFunction", self.made("cuModuleLoadData", TEXT), name.encode())


def case(call, answers):
    return {"call": call, "answers": list(answers)}


def properties(kind, handles, place, number, most=0):
    """CUmemPoolProps."""
    return struct.pack("iiiiQQ", kind, handles, place, number, 0, most) + bytes(64)


def pools(calls):
    def create(*given):
        pool = C.c_void_p()
        code = calls.code("cuMemPoolCreate", C.byref(pool), properties(*given))
        if code == 0:
            calls.call("cuMemPoolDestroy", pool)
        return code

    for kind, handles in itertools.product(range(4), (0, 1, 2, 3, 4, 16)):
        grid = itertools.product(range(6), (-1, 0, 1, 2), (0, 1 << 20))
        yield case(f"create {kind} {handles}", (create(kind, handles, *rest) for rest in grid))
    for name, given in {"device": (1, 0, 1, 0), "device, file": (1, 1, 1, 0), "host": (1, 0, 2, 0), "node": (1, 0, 3, 0)}.items():
        for place in range(6):
            def access(number, flags):
                pool, location = calls.made("cuMemPoolCreate", properties(*given)), (C.c_int * 3)(place, number, flags)
                answers = calls.code("cuMemPoolSetAccess", pool, location, C.c_size_t(1)), calls.asked("cuMemPoolGetAccess", pool, location)
                calls.call("cuMemPoolDestroy", pool)
                return answers
            yield case(f"access of {place} to a pool of {name}", itertools.starmap(access, itertools.product((-1, 0, 1, 2), range(4))))
    pool = C.c_void_p()
    for name in ("cuDeviceGetMemPool", "cuDeviceGetDefaultMemPool"):
        yield case(name, (calls.code(name, C.byref(pool), device) for device in (-1, 0, 1)))
    yield case("cuDeviceSetMemPool", (calls.code("cuDeviceSetMemPool", device, NULL) for device in (-1, 0, 1)))


def contexts(calls):
    def flags():
        return calls.asked("cuCtxGetFlags")

    def state():
        set_, active = C.c_uint(), C.c_int()
        calls.call("cuDevicePrimaryCtxGetState", 0, C.byref(set_), C.byref(active))
        return set_.value

    def create(given):
        context = C.c_void_p()
        code = calls.code("cuCtxCreate_v2", C.byref(context), given, 0)
        if code:
            return code
        answers = [flags()] + [(calls.code("cuCtxSetFlags", other), flags()) for other in (FLAGS if given in (0, 4, 8, 0x20, 0x40) else ())]
        calls.call("cuCtxDestroy_v2", context)
        return answers

    yield case("cuCtxCreate", map(create, FLAGS))
    yield case("cuCtxSetFlags of a primary context", ((calls.code("cuCtxSetFlags", given), flags(), state()) for given in FLAGS))
    calls.call("cuCtxSetFlags", 0)

    def limit(number, value):
        before = C.c_size_t()
        calls.code("cuCtxGetLimit", C.byref(before), number)
        code = calls.code("cuCtxSetLimit", number, C.c_size_t(value))
        calls.code("cuCtxSetLimit", number, before)
        return code

    for number in range(-1, 14):
        yield case(f"limit {number}", (limit(number, value) for value in (0, 1, 100, 1024, 65536, 1 << 20)))


def streams(calls):
    blocking, other = calls.made("cuStreamCreate", 0), calls.made("cuStreamCreate", 1)
    names = {"blocking": blocking, "other": other, "0": NULL, "legacy": C.c_void_p(1), "per thread": C.c_void_p(2)}

    def value(stream, attribute):
        bytes_ = C.create_string_buffer(64)
        code = calls.code("cuStreamGetAttribute", stream, attribute, bytes_)
        return bytes_.raw[:8].hex() if code == 0 else f"error {code}"

    def change(stream, attribute, first):
        return calls.code("cuStreamSetAttribute", stream, attribute, struct.pack("i", first) + bytes(60)), value(stream, attribute)

    def priority_of(stream):
        priority = C.c_int()
        calls.call("cuStreamGetPriority", stream, C.byref(priority))
        return priority.value

    for name, stream in names.items():
        for attribute in (-1, 0, *range(2, 18)):
            yield case(f"attribute {attribute} of {name}", [value(stream, attribute)] + [change(stream, attribute, first) for first in (0, 1, 2, 3, 4, 5, 6, 255)])
    yield case("priorities", ((change(blocking, 8, priority), priority_of(blocking)) for priority in (-9, -5, -2, 0, 3)))
    handle = C.c_void_p()
    yield case("cuStreamCreateWithPriority", (calls.code("cuStreamCreateWithPriority", C.byref(handle), *given) for given in itertools.product(range(5), (-8, -5, 0, 2))))
    yield case("cuEventCreate", (calls.code("cuEventCreate", C.byref(handle), flags) for flags in range(20)))
    for kind in (None, 0, 2, 6):
        event = NULL if kind is None else calls.made("cuEventCreate", kind)
        for name in ("blocking", "0", "per thread"):
            yield case(f"event {kind} in {name}", ((calls.code("cuEventRecordWithFlags", event, names[name], flags), calls.code("cuStreamWaitEvent", names[name], event, flags)) for flags in range(5)))


def functions(calls):
    arguments = (C.c_void_p * 4)(*[C.addressof(C.create_string_buffer(64))] * 4)
    graph = calls.made("cuGraphCreate", 0)
    threads = [(1, 1, 1), (64, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1024, 1, 1), (1025, 1, 1), (1, 1, 64), (1, 1, 65), (1024, 2, 1)]
    blocks = [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1), (65536, 1, 1), (1, 65536, 1), (1, 1, 65536), (2**31, 1, 1)]
    shared = (0, 1024, 48128, 49152, 50000, 232448, 300000)
    # Packed parameters of too many bytes, and none.
    packed, many = C.create_string_buffer(64), C.c_size_t(64)
    wrong = (None, (C.c_void_p * 5)(1, C.addressof(packed), 2, C.addressof(many), 0))

    def change(function, attribute, value):
        before = C.c_int()
        calls.code("cuFuncGetAttribute", C.byref(before), attribute, function)
        code = calls.code("cuFuncSetAttribute", function, attribute, value)
        after = calls.asked("cuFuncGetAttribute", attribute, function) if attribute > 7 else None
        calls.code("cuFuncSetAttribute", function, attribute, before)
        return code, after

    def fit(function, name, *given):
        number = calls.asked(name, function, *given)
        return number if isinstance(number, str) else number > 0

    def node(function, grid, cta, bytes_):
        handle = C.c_void_p()
        given = struct.pack("Q7IIQQQQ", function.value or 0, *grid, *cta, bytes_, 0, C.addressof(arguments), 0, 0, 0) + bytes(32)
        code = calls.code("cuGraphAddKernelNode_v2", C.byref(handle), graph, None, C.c_size_t(0), given)
        if code == 0:
            calls.call("cuGraphDestroyNode", handle)
        return code

    for name in ("plain", "shared", None):
        function = calls.function(name) if name else NULL
        # Hardware launches fewer threads than a kernel requires.
        ctas = [cta for cta in threads if name != "shared" or cta[0] * cta[1] * cta[2] not in range(1, 64)]
        for attribute in range(20):
            yield case(f"attribute {attribute} of {name}", (change(function, attribute, value) for value in (-2, -1, 0, 1, 2, 3, 4, 8, 9, 16, 50, 100, 101, 1024, 49152, 49153, 65536, 101376, 232448, 232449)))
        yield case(f"configurations of {name}", (calls.code(what, function, value) for what in ("cuFuncSetCacheConfig", "cuFuncSetSharedMemConfig") for value in range(-1, 7)))
        for size in (-1, 0, 1, 32, 64, 100, 1024, 1025):
            yield case(f"occupancy of {name} with {size}", [fit(function, "cuOccupancyMaxActiveBlocksPerMultiprocessor", size, C.c_size_t(bytes_)) for bytes_ in shared]
                       + [fit(function, "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", size, C.c_size_t(bytes_), flags) for bytes_ in shared for flags in range(4)]
                       + [fit(function, "cuOccupancyAvailableDynamicSMemPerBlock", count, size) for count in (-1, 0, 1, 2, 16, 32, 33, 64)])
        for cta in ctas:
            grid = list(itertools.product(blocks, (0, 49152, 50000, 300000)))
            yield case(f"launch of {name} with {cta}", [calls.code("cuLaunchKernel", function, *map(C.c_uint, size), *cta, bytes_, NULL, arguments, None) for size, bytes_ in grid]
                       + [node(function, size, cta, bytes_) for size, bytes_ in grid])
            if name:
                yield case(f"launch of {name} with {cta} and what is wrong with parameters", (calls.code("cuLaunchKernel", function, *map(C.c_uint, size), *cta, 0, NULL, None, extra) for size in blocks for extra in wrong))
        calls.call("cuCtxSynchronize")
        for axes in itertools.product((0, 1, 2), repeat=3) if name == "plain" else ():
            codes = [calls.code("cuFuncSetAttribute", function, 11 + axis, size) for axis, size in enumerate(axes)]
            yield case(f"clusters of {axes}", codes + [calls.code("cuLaunchKernel", function, *grid, 1, 1, 1, 0, NULL, given, None) for grid in ((2, 2, 2), (3, 1, 1), (0, 1, 1)) for given in (arguments, None)])
        for axis in range(3):
            calls.code("cuFuncSetAttribute", function, 11 + axis, 0)
        offset, size, module = C.c_size_t(), C.c_size_t(), C.c_void_p()
        yield case(f"parts of {name}", [calls.code("cuFuncGetModule", C.byref(module), function)] + [calls.code("cuFuncGetParamInfo", function, C.c_size_t(at), C.byref(offset), C.byref(size)) for at in range(4)])


def memory(calls):
    stream, graph, context = calls.made("cuStreamCreate", 1), calls.made("cuGraphCreate", 0), C.c_void_p()
    calls.call("cuCtxGetCurrent", C.byref(context))
    managed, host = C.c_uint64(), calls.made("cuMemHostAlloc", C.c_size_t(PAGE), 0)
    calls.call("cuMemAllocManaged", C.byref(managed), C.c_size_t(PAGE), 1)
    widths = {8: C.c_ubyte, 16: C.c_ushort, 32: C.c_uint}
    ranges = [C.c_size_t(size) for size in (0, 1, PAGE, PAGE + 1)]

    def sets(address, bits, count):
        value, count = widths[bits](1), C.c_size_t(count)
        flat = calls.code(f"cuMemsetD{bits}_v2", address, value, count), calls.code(f"cuMemsetD{bits}Async", address, value, count, stream)
        return [*flat, *(calls.code(f"cuMemsetD2D{bits}_v2", address, C.c_size_t(pitch), value, count, C.c_size_t(height)) for height in (0, 1, 2) for pitch in (0, 1, 4, 64))]

    def node(address, element, width, height, pitch, place):
        handle = C.c_void_p()
        given = struct.pack("QQIIQQ", address.value, pitch, 7, element, width, height) + bytes(16)
        code = calls.code("cuGraphAddMemsetNode", C.byref(handle), graph, None, C.c_size_t(0), given, place)
        if code == 0:
            calls.call("cuGraphDestroyNode", handle)
        return code

    def attribute(address, number, bytes_, size):
        words = (C.c_int * 4)(9, 9, 9, 9)
        code = calls.code("cuMemRangeGetAttribute", words, C.c_size_t(bytes_), number, address, size)
        return list(words) if code == 0 else f"error {code}"

    for name, start in {"device": calls.memory(), "managed": managed, "host": C.c_uint64(host.value), "NULL": C.c_uint64(0), "nothing": C.c_uint64(0x1234000)}.items():
        for by in (0, 1, 2, 4):
            address, counts = C.c_uint64(start.value + by), (0, 1) if name not in ("NULL", "nothing") else (0,)
            yield case(f"set of {name} + {by}", (sets(address, *given) for given in itertools.product(widths, counts)))
            yield case(f"node of {name} + {by}", (node(address, *given) for given in itertools.product((0, 1, 2, 3, 4), (0, 1, 4, 2000), (0, 1, 2), (0, 4, 64), (context, NULL))))
        for device in (-2, -1, 0, 1, 2):
            yield case(f"hints of {name} for {device}", [calls.code("cuMemAdvise", start, size, advice, device) for advice in range(10) for size in ranges]
                       + [calls.code("cuMemPrefetchAsync", start, size, device, stream) for size in ranges])
            calls.code("cuMemAdvise", managed, ranges[2], 4, 0)
        for number in range(12):
            yield case(f"range attribute {number} of {name}", (attribute(start, number, *given) for given in itertools.product((0, 3, 4, 8, 16), ranges)))
        yield case(f"settings of {name}", (calls.code("cuPointerSetAttribute", C.byref(C.c_int(value)), number, start) for number in range(22) for value in (0, 1)))

    def freed(name, made, free, *given):
        """Without a context."""
        address = made(*given)
        calls.call("cuCtxSetCurrent", NULL)
        codes = calls.code(free, address), calls.code(free, type(address)(0))
        calls.call("cuCtxSetCurrent", context)
        return case(f"frees of {name} without a context", codes)

    yield freed("memory", calls.memory, "cuMemFree_v2")
    yield freed("the host's", calls.made, "cuMemFreeHost", "cuMemHostAlloc", C.c_size_t(PAGE), 0)

    def instance(flags):
        exec_ = C.c_void_p()
        code = calls.code("cuGraphInstantiateWithFlags", C.byref(exec_), graph, C.c_uint64(flags))
        if code:
            return f"error {code}"
        made = C.c_uint64()
        calls.call("cuGraphExecGetFlags", exec_, C.byref(made))
        return made.value

    yield case("instances of a graph of nothing", map(instance, (0, 1, 2, 3, 4, 5, 8, 9, 10, 12, 15, 16, 32)))


CALLBACK, ON_HOST = C.CFUNCTYPE(None, C.c_void_p, C.c_int, C.c_void_p)(lambda *_: None), C.CFUNCTYPE(None, C.c_void_p)(lambda _: None)


def captures(calls):
    captured, blocking, other = [calls.made("cuStreamCreate", flags) for flags in (0, 0, 1)]
    target, source, host = calls.memory(), calls.memory(), calls.made("cuMemHostAlloc", C.c_size_t(PAGE), 0)
    function, module = calls.function("plain"), calls.made("cuModuleLoadData", TEXT)
    arguments = (C.c_void_p * 4)(*[C.addressof(C.create_string_buffer(64))] * 4)
    new, done, recorded_ = [calls.made("cuEventCreate", 0) for _ in range(3)]
    calls.call("cuEventRecord", done, blocking)
    calls.call("cuCtxSynchronize")
    graph = calls.made("cuGraphCreate", 0)
    exec_ = calls.made("cuGraphInstantiateWithFlags", graph, C.c_uint64(0))
    on_device = properties(1, 0, 1, 0)
    pool = calls.made("cuMemPoolCreate", on_device)
    out, more = C.byref((C.c_char * 256)()), C.byref(C.c_size_t())
    bytes_, none, odd = C.c_size_t(16), C.c_size_t(0), C.c_uint64(target.value + 1)
    one = (1,) * 6
    # Of each stream: the name of a call, and its arguments, among which `S` is the stream.
    S = object()
    of_streams = [
        ("cuStreamQuery", S), ("cuStreamSynchronize", S), ("cuStreamGetFlags", S, out), ("cuStreamGetPriority", S, out), ("cuStreamGetCtx", S, out), ("cuStreamGetId", S, out),
        ("cuStreamGetAttribute", S, 3, out), ("cuStreamGetAttribute", S, 7, out), ("cuStreamSetAttribute", S, 3, b"\1" + bytes(63)), ("cuStreamSetAttribute", S, 7, bytes(64)),
        ("cuStreamCopyAttributes", S, other), ("cuStreamCopyAttributes", other, S), ("cuStreamIsCapturing", S, out), ("cuStreamWaitEvent", S, NULL, 0), ("cuStreamWaitEvent", S, NULL, 2),
        ("cuStreamWaitEvent", S, new, 0), ("cuStreamWaitEvent", S, done, 0), ("cuStreamWaitEvent", S, done, 1), ("cuStreamWaitEvent", S, done, 2), ("cuEventRecord", recorded_, S),
        ("cuEventRecord", NULL, S), ("cuEventRecordWithFlags", recorded_, S, 1), ("cuEventRecordWithFlags", recorded_, S, 2), ("cuStreamBeginCapture_v2", S, 0), ("cuStreamBeginCapture_v2", S, 2),
        ("cuStreamBeginCapture_v2", S, 7), ("cuLaunchKernel", function, *one, 0, S, arguments, None), ("cuLaunchKernel", function, 0, *one[1:], 0, S, arguments, None),
        ("cuLaunchKernel", NULL, *one, 0, S, arguments, None), ("cuMemsetD8Async", target, 0, bytes_, S), ("cuMemsetD8Async", target, 0, none, S), ("cuMemsetD32Async", odd, 0, bytes_, S),
        ("cuMemcpyDtoDAsync_v2", target, source, bytes_, S), ("cuMemcpyDtoDAsync_v2", target, source, none, S), ("cuMemcpyDtoDAsync_v2", target, C.c_uint64(0), bytes_, S),
        ("cuMemcpyHtoDAsync_v2", target, host, bytes_, S), ("cuMemAllocAsync", out, bytes_, S), ("cuMemAllocAsync", out, none, S), ("cuMemFreeAsync", C.c_uint64(0), S),
        ("cuLaunchHostFunc", S, ON_HOST, None), ("cuStreamAddCallback", S, CALLBACK, None, 0), ("cuStreamAttachMemAsync", S, C.c_uint64(0), none, 1), ("cuGraphLaunch", exec_, S),
        ("cuGraphUpload", exec_, S), ("cuMemPrefetchAsync", target, bytes_, 0, S), ("cuStreamWriteValue32_v2", S, target, 0, 0), ("cuStreamWaitValue32_v2", S, target, 0, 0)]
    others = [
        ("cuCtxSynchronize",), ("cuMemAlloc_v2", out, bytes_), ("cuMemAlloc_v2", out, none), ("cuMemFree_v2", C.c_uint64(0)), ("cuMemFree_v2", C.c_uint64(0x1234)), ("cuMemHostAlloc", out, bytes_, 0),
        ("cuMemAllocHost_v2", out, bytes_), ("cuMemFreeHost", NULL), ("cuMemAllocManaged", out, bytes_, 1), ("cuMemAllocPitch_v2", out, more, bytes_, bytes_, 4), ("cuMemsetD8_v2", target, 0, bytes_),
        ("cuMemsetD8_v2", target, 0, none), ("cuMemcpyDtoD_v2", target, source, bytes_), ("cuMemcpyDtoD_v2", target, source, none), ("cuMemcpyHtoD_v2", target, host, bytes_),
        ("cuMemcpyDtoH_v2", host, target, bytes_), ("cuMemcpy", target, source, bytes_), ("cuEventQuery", new), ("cuEventQuery", done), ("cuEventSynchronize", new), ("cuEventSynchronize", done),
        ("cuEventElapsedTime", out, done, done), ("cuEventCreate", out, 0), ("cuStreamCreate", out, 0), ("cuCtxGetLimit", out, 0), ("cuCtxSetLimit", 0, C.c_size_t(2048)), ("cuCtxSetCacheConfig", 1),
        ("cuMemGetInfo_v2", out, more), ("cuModuleLoadData", out, TEXT), ("cuModuleGetFunction", out, module, b"shared"), ("cuFuncSetAttribute", function, 8, 1024), ("cuFuncSetCacheConfig", function, 1),
        ("cuGraphCreate", out, 0), ("cuGraphInstantiateWithFlags", out, graph, C.c_uint64(0)), ("cuMemPoolCreate", out, on_device), ("cuMemPoolTrimTo", pool, none), ("cuMemPoolGetAttribute", pool, 4, out),
        ("cuDevicePrimaryCtxRetain", out, 0), ("cuPointerGetAttribute", out, 2, target), ("cuMemGetAddressRange_v2", out, more, target), ("cuMemHostGetDevicePointer_v2", out, host, 0),
        ("cuArrayCreate_v2", out, struct.pack("QQII", 8, 8, 0x20, 1)), ("cuOccupancyMaxActiveBlocksPerMultiprocessor", out, function, 64, none), ("cuDeviceCanAccessPeer", out, 0, 0),
        ("cuMemAdvise", target, bytes_, 1, 0), ("cuCtxGetFlags", out), ("cuCtxSetFlags", 0), ("cuCtxGetStreamPriorityRange", out, more), ("cuCtxResetPersistingL2Cache",),
        ("cuMemHostRegister_v2", NULL, none, 0), ("cuMemAddressReserve", out, C.c_size_t(2 << 20), none, C.c_uint64(0), C.c_uint64(0))]

    def end(stream):
        handle = C.c_void_p()
        return calls.code("cuStreamEndCapture", stream, C.byref(handle)), int(bool(handle.value))

    def within(stream, mode, has_failed, name, *given):
        """What a call answers, and what becomes of the capture."""
        calls.call("cuStreamBeginCapture_v2", stream, mode)
        if has_failed:
            calls.code("cuStreamSynchronize", stream)
        answer = calls.code(name, *given)
        state = calls.is_capturing(stream)
        ended = end(stream)
        for began in (captured, blocking, other, C.c_void_p(2)):
            if calls.is_capturing(began):
                end(began)
        calls.call("cuCtxSynchronize")
        return answer, state, *ended

    names = {"captured": captured, "blocking": blocking, "other": other, "0": NULL, "legacy": C.c_void_p(1), "per thread": C.c_void_p(2)}
    ways = list(itertools.product((captured, other), (0, 1, 2), (False, True)))
    for number, (name, *given) in enumerate(of_streams):
        for stream, handle in names.items():
            meant = [handle if argument is S else argument for argument in given]
            yield case(f"{name} ({number}) of {stream} in a capture", (within(*way, name, *meant) for way in ways))
    for number, (name, *given) in enumerate(others):
        yield case(f"{name} ({number}) in a capture", (within(*way, name, *given) for way in ways))


def cases(driver):
    calls = Calls(driver)
    return [answer for group in (pools, contexts, streams, functions, memory, captures) for answer in group(calls)]


if __name__ == "__main__":
    sys.exit(recorded.main(sys.argv[1:], cases, "calls"))
