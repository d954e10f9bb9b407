#!/usr/bin/env python3
"""Records what a driver answers to calls with arguments that are right, wrong in one way, or wrong in several, so that it shows what is looked at first: pools, contexts, streams and events,
functions, libraries, options of translations and launches, graphs, limits, memory and pages, copies, arrays, textures and views, and all kinds of calls while a stream is captured. Prints JSON: for each case the answers in the order of its arguments, results among them.

Not here: handles of a fabric, which are there on some machines; heaps of more than a machine may have; what a driver makes of addresses.

    call_answers.py [LIBCUDA] > call_answers.json
    call_answers.py --check call_answers.json [LIBCUDA]
"""
import ctypes as C
import itertools
import struct
import sys

import recorded
from descriptors import Array3D, Copy3D, Resource, Sampler, View

TEXT = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry plain(.param .u64 p, .param .u32 n) { ret; }
.visible .entry none() { ret; }
.visible .entry shared() .reqntid 64, 1, 1 {
  .shared .align 4 .b8 bytes[1024]; .reg .b32 %r1; mov.u32 %r1, bytes; st.shared.u32 [bytes], %r1; bar.sync 0; ret;
}
"""
# What each thread of a grid sees of its size, for kernels that require theirs.
SIZED = b"""
.version %s
.target sm_90
.address_size 64
.visible .entry sized(.param .u64 p) %s {
  .reg .b64 %%rd<3>; .reg .b32 %%r<8>; ld.param.u64 %%rd0, [p]; mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%tid.y; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%ntid.y; mov.u32 %%r4, %%ctaid.x; mov.u32 %%r5, %%nctaid.x;
  mad.lo.u32 %%r6, %%r1, %%r2, %%r0; mul.lo.u32 %%r7, %%r2, %%r3; mad.lo.u32 %%r6, %%r4, %%r7, %%r6; mul.wide.u32 %%rd1, %%r6, 4; add.u64 %%rd1, %%rd1, %%rd0;
  mad.lo.u32 %%r7, %%r2, 1000, %%r3; mad.lo.u32 %%r7, %%r5, 100000, %%r7; st.global.u32 [%%rd1], %%r7; ret;
}
"""
# What a thread reads of a texture: by whole numbers in one dimension, or in two.
FETCH = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry line(.param .u64 t, .param .u64 p, .param .s32 x, .param .s32 y) {
  .reg .b64 %%rd<3>; .reg .s32 %%r<3>; .reg .f32 %%f<5>; ld.param.u64 %%rd0, [t]; ld.param.u64 %%rd1, [p]; ld.param.s32 %%r0, [x];
  tex.1d.v4.f32.s32 {%%f0, %%f1, %%f2, %%f3}, [%%rd0, {%%r0}]; st.global.f32 [%%rd1], %%f0; ret;
}
.visible .entry rows(.param .u64 t, .param .u64 p, .param .s32 x, .param .s32 y) {
  .reg .b64 %%rd<3>; .reg .s32 %%r<3>; .reg .f32 %%f<7>; ld.param.u64 %%rd0, [t]; ld.param.u64 %%rd1, [p]; ld.param.s32 %%r0, [x]; ld.param.s32 %%r1, [y];
  cvt.rn.f32.s32 %%f4, %%r0; cvt.rn.f32.s32 %%f5, %%r1; tex.2d.v4.f32.f32 {%%f0, %%f1, %%f2, %%f3}, [%%rd0, {%%f4, %%f5}]; st.global.f32 [%%rd1], %%f0; ret;
}
""".replace(b"%%", b"%")
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

    def memory(self, size=4096):
        address = C.c_uint64()
        self.call("cuMemAlloc_v2", C.byref(address), C.c_size_t(size))
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


class Copy2D(C.Structure):           # CUDA_MEMCPY2D
    _fields_ = [(side + name, type) for side in ("src", "dst") for name, type in
                (("XInBytes", C.c_size_t), ("Y", C.c_size_t), ("Type", C.c_int), ("Host", C.c_void_p), ("Device", C.c_uint64), ("Array", C.c_void_p), ("Pitch", C.c_size_t))] + [("width", C.c_size_t), ("height", C.c_size_t)]


def array(calls, *shape):
    return calls.made("cuArray3DCreate_v2", C.byref(Array3D(*shape)))


def copies(calls):
    stream, memory, less = calls.made("cuStreamCreate", 1), calls.memory(16 * PAGE).value, calls.memory().value
    pinned = calls.made("cuMemHostAlloc", C.c_size_t(16 * PAGE), 0).value
    plane, line, colours = [array(calls, *shape).value for shape in ((16, 8, 0, 0x20, 1, 0), (64, 0, 0, 0x20, 1, 0), (16, 8, 0, 1, 4, 0))]
    box, layers = [array(calls, *shape).value for shape in ((16, 8, 4, 0x20, 1, 0), (16, 8, 3, 0x20, 1, 1))]
    places = {"memory": {"Type": 2, "Device": memory}, "less memory": {"Type": 2, "Device": less}, "pinned": {"Type": 1, "Host": pinned}, "unified": {"Type": 4, "Device": memory},
              "plane": {"Type": 3, "Array": plane}, "line": {"Type": 3, "Array": line}, "colours": {"Type": 3, "Array": colours}, "NULL": {"Type": 2, "Device": 0}, "no array": {"Type": 3, "Array": 0},
              "nowhere": {"Type": 5, "Device": memory}}
    boxes = {name: place for name, place in places.items() if name != "pinned"} | {"box": {"Type": 3, "Array": box}, "layers": {"Type": 3, "Array": layers}}

    def filled(copy, source, target):
        for side, place in (("src", source), ("dst", target)):
            for name, value in place.items():
                setattr(copy, side + name, value)
        return C.byref(copy)

    def flat(source, target, size, pitch):
        copy = filled(Copy2D(srcPitch=pitch, dstPitch=pitch, width=size[0], height=size[1]), source, target)
        return calls.code("cuMemcpy2D_v2", copy), calls.code("cuMemcpy2DUnaligned_v2", copy), calls.code("cuMemcpy2DAsync_v2", copy, stream)

    def cuboid(source, target, size, pitch, level):
        copy = Copy3D(srcPitch=pitch[0], dstPitch=pitch[0], srcHeight=pitch[1], dstHeight=pitch[1], srcLOD=level, dstLOD=level, width=size[0], height=size[1], depth=size[2])
        return calls.code("cuMemcpy3D_v2", filled(copy, source, target)), calls.code("cuMemcpy3DAsync_v2", C.byref(copy), stream)

    for (source, target) in itertools.product(places, repeat=2):
        grid = itertools.product(((0, 0), (4, 0), (0, 4), (4, 1), (4, 4), (64, 8), (65, 8), (64, 9), (3, 2)), (0, 2, 64, 100))
        yield case(f"rows from {source} to {target}", (flat(places[source], places[target], *given) for given in grid))
    for (source, target) in itertools.product(boxes, repeat=2):
        grid = itertools.product(((0, 1, 1), (4, 0, 1), (4, 1, 0), (4, 1, 1), (4, 2, 2), (64, 8, 3), (64, 8, 4), (64, 8, 5), (64, 9, 1), (68, 1, 1)), ((0, 0), (64, 0), (64, 8), (2, 8), (64, 1)), (0, 1))
        yield case(f"boxes from {source} to {target}", (cuboid(boxes[source], boxes[target], *given) for given in grid))
    calls.call("cuCtxSynchronize")


def arrays(calls):
    sizes = [(0, 0, 0), (1, 0, 0), (16, 0, 0), (0, 4, 0), (16, 4, 0), (4, 4, 4), (4, 0, 4), (4, 4, 6), (4, 3, 6), (4, 4, 12), (4, 4, 7), (131072, 0, 0), (131073, 0, 0), (131073, 1, 0), (16, 65537, 0),
             (16384, 1, 1), (16385, 1, 1), (1, 1, 16385), (32768, 0, 2), (32769, 0, 2), (4, 4, 2048), (4, 4, 2049), (4, 0, 2049)]

    def create(size, format, channels, flags):
        handle, found = C.c_void_p(), Array3D()
        code = calls.code("cuArray3DCreate_v2", C.byref(handle), C.byref(Array3D(*size, format, channels, flags)))
        if code:
            return code
        calls.call("cuArray3DGetDescriptor_v2", C.byref(found), handle)
        calls.call("cuArrayDestroy", handle)
        return [found.width, found.height, found.depth, found.format, found.channels, found.flags]

    def levels(size, flags, count):
        handle = C.c_void_p()
        code = calls.code("cuMipmappedArrayCreate", C.byref(handle), C.byref(Array3D(*size, 0x20, 1, flags)), count)
        if code:
            return code
        level = C.c_void_p()
        codes = [calls.code("cuMipmappedArrayGetLevel", C.byref(level), handle, number) for number in range(7)]
        calls.call("cuMipmappedArrayDestroy", handle)
        return codes

    for size in sizes:
        for flags in (0, 1, 2, 3, 4, 5, 6, 8, 9, 0xc, 0x10, 0x20, 0x22, 0x40, 0x80, 0x200):
            formats = ((0x20, 1), (0x20, 3), (1, 4), (0x10, 2), (0x20, 0), (0x20, 5), (4, 1)) if flags in (0, 2, 8) else ((0x20, 1),)
            yield case(f"array of {size}, {flags:#x}", [create(size, *format, flags) for format in formats] + [levels(size, flags, count) for count in (0, 1, 2, 3, 5, 9)])


def textures(calls):
    memory = calls.memory(16 * PAGE).value
    shapes = {"plane": (16, 8, 0, 0x20, 1, 0), "colours": (16, 8, 0, 1, 4, 0), "words": (16, 8, 0, 3, 1, 0), "layers": (16, 8, 3, 0x20, 1, 1), "surface": (16, 8, 0, 3, 1, 2), "line": (16, 0, 0, 0x20, 1, 0), "box": (8, 8, 4, 0x20, 1, 0)}
    resources = {name: (0, [array(calls, *shape).value]) for name, shape in shapes.items()}
    resources |= {"levels": (1, [calls.made("cuMipmappedArrayCreate", C.byref(Array3D(16, 8, 0, 0x20, 1, 0)), 3).value]), "no array": (0, [0]), "no levels": (1, [0]), "nothing": (4, [0])}
    # Format and channels are one word.
    resources |= {f"bytes, {what}": (2, [memory + by, channels << 32 | format, 256]) for what, by, format, channels in (("words", 0, 0x20, 1), ("askew", 4, 0x20, 1), ("triples", 0, 0x20, 3), ("colours", 0, 1, 4), ("no format", 0, 7, 1))}
    resources |= {f"rows, {what}": (3, [memory + by, channels << 32 | format, 16, 8, pitch]) for what, by, format, channels, pitch in (("words", 0, 0x20, 1, 64), ("askew", 4, 0x20, 1, 64), ("pitch", 0, 0x20, 1, 68), ("colours", 0, 1, 4, 64))}

    def texture(resource, mode, filter, flags, anisotropy=0, view=None):
        sampler, handle = Sampler(filter=filter, flags=flags, anisotropy=anisotropy), C.c_uint64()
        sampler.address[:] = [mode] * 3
        code = calls.code("cuTexObjectCreate", C.byref(handle), C.byref(resource), C.byref(sampler), view and C.byref(view))
        if code == 0:
            calls.call("cuTexObjectDestroy", handle)
        return code

    for name, (kind, words) in resources.items():
        resource, surface = Resource(type=kind), C.c_uint64()
        resource.union[:len(words)] = words
        yield case(f"textures of {name}", [texture(resource, *given) for given in itertools.product((0, 1, 2, 3, 4, -1), (0, 1, 2), (0, 1, 2, 3, 4, 0x10, 0x12, 0x20, 0x40, 0x80))]
                   + [texture(resource, 1, 0, flags, anisotropy) for flags in (0, 2) for anisotropy in (16, 17)] + [calls.code("cuSurfObjectCreate", C.byref(surface), C.byref(resource))])
        sizes, parts = ((16, 8, 0), (16, 8, 1), (8, 8, 0), (16, 8, 3), (64, 32, 0), (16, 0, 0)), ((0, 0, 0, 0), (0, 2, 0, 0), (1, 2, 0, 0), (2, 1, 0, 0), (0, 3, 0, 0), (0, 0, 0, 2), (0, 0, 1, 2), (0, 0, 0, 3))
        for format in (0, 1, 2, 3, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1f, 0x22, 0x40):
            yield case(f"views of {name} as {format:#x}", (texture(resource, 1, 0, 0, 0, View(format, 0, *size, *part)) for size in sizes for part in parts))


def plain_textures(calls):
    """Of memory, which need not be there."""
    memory, handle = calls.memory(16 * PAGE).value, C.c_uint64()

    def texture(kind, *words):
        resource, sampler = Resource(type=kind), Sampler()
        resource.union[:len(words)] = words
        code = calls.code("cuTexObjectCreate", C.byref(handle), C.byref(resource), C.byref(sampler), None)
        if code == 0:
            calls.call("cuTexObjectDestroy", handle)
        return code

    word = 1 << 32 | 0x20
    module, out = calls.made("cuModuleLoadData", FETCH), calls.memory(4)
    numbers = (C.c_float * (4 * PAGE))(*range(1, 4 * PAGE + 1))
    calls.call("cuMemcpyHtoD_v2", C.c_uint64(memory), numbers, C.c_size_t(C.sizeof(numbers)))

    def read(name, kind, places, *words):
        """What lies at places of a texture that is clamped."""
        function, resource, sampler, handle, value = calls.made("cuModuleGetFunction", module, name), Resource(type=kind), Sampler(address=(C.c_int * 3)(1, 1, 1)), C.c_uint64(), C.c_float()
        resource.union[:len(words)] = words
        calls.call("cuTexObjectCreate", C.byref(handle), C.byref(resource), C.byref(sampler), None)
        for place in places:
            arguments = (handle, out, *map(C.c_int, place))
            pointers = (C.c_void_p * 4)(*[C.cast(C.byref(argument), C.c_void_p) for argument in arguments])
            calls.call("cuMemsetD32_v2", out, 0xbf800000, C.c_size_t(1))
            calls.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, pointers, None)
            calls.call("cuMemcpyDtoH_v2", C.byref(value), out, C.c_size_t(4))
            yield value.value
        calls.call("cuTexObjectDestroy", handle)

    along = [(x, 0) for x in (-1, 0, 1, 2, 3, 4, 1000)]
    for size in (0, 1, 4, 7, 8, 16):
        yield case(f"what is in lines of {size} bytes", read(b"line", 2, along, memory, word, size))
    across = [(x, y) for y in (-1, 0, 1, 2, 5) for x in (-1, 0, 1, 3, 8, 15, 100)]
    for width, height, pitch in ((4, 2, 32), (4, 2, 0), (16, 2, 32), (0, 0, 32), (0, 2, 32), (4, 0, 32), (1, 1, 0)):
        yield case(f"what is in rows of {width} by {height}, {pitch} bytes apart", read(b"rows", 3, across, memory, word, width, height, pitch))
    for kind, format in (("words", word), ("bytes", 1 << 32 | 1), ("colours", 4 << 32 | 1), ("fours", 4 << 32 | 0x20)):
        sizes = (0, 1, 3, 4, 16, PAGE, 16 * PAGE, 16 * PAGE + 16, 1 << 20, 1 << 27, 1 << 29, 1 << 30, (1 << 30) + 16, 1 << 31, (1 << 32) - 16, 1 << 32, (1 << 32) + 1, (1 << 32) + 16, 1 << 40)
        yield case(f"lines of {kind}", (texture(2, memory + by, format, size) for by in (0, 512, 16) for size in sizes))
    for width in (0, 1, 16, 131072, 131073, 1 << 20):
        heights, pitches = (0, 1, 8, 65000, 65001, 1 << 20), (0, 31, 32, 64, (1 << 21) - 32, 1 << 21, 1 << 22)
        yield case(f"rows of {width}", (texture(3, memory + by, word, width, height, pitch) for by in (0, 16) for height in heights for pitch in pitches))
    yield case("elsewhere", (texture(*given) for at in (0, 512, 8 * 512, 1 << 20, 1 << 44) for given in ((2, at, word, PAGE), (3, at, word, 16, 16, 64))))


def settings(calls):
    """Limits, one after the other as they hold; flags of host memory; bus ids."""
    def limits(number, *values):
        before, now = C.c_size_t(), C.c_size_t()
        calls.call("cuCtxGetLimit", C.byref(before), number)
        for value in values:
            yield calls.code("cuCtxSetLimit", number, C.c_size_t(value)), calls.code("cuCtxGetLimit", C.byref(now), number), now.value
        calls.code("cuCtxSetLimit", number, before)

    kib, mib = 1 << 10, 1 << 20
    yield case("stacks", limits(0, 0, 1, 15, 16, 17, 100, 1000, 1024, 1040, 64 * kib, 100_000, mib, 262_128, 262_144, 524_288))
    yield case("buffers of printf", limits(1, 0, 524_287, 524_288, 524_289, 600_000, mib, mib + 1, 100 * mib, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 1 << 33, (1 << 64) - 1))
    yield case("heaps", limits(2, 0, 1, 4 * mib - 1, 4 * mib, 4 * mib + 1, 5 * mib, 8 * mib + 1, 10 * mib + 5, 33 * mib, 1 << 30, (1 << 30) + 1, (1 << 64) - 1))
    yield case("pending launches", limits(4, 0, 1, 31, 32, 33, 100, 2048, 2049, 65_536, 100_001, 599_185, 599_186, 599_187, 1 << 31, (1 << 64) - 1))
    yield case("fetches", limits(5, 0, 1, 31, 32, 33, 64, 65, 127, 128, 129, 1000))
    step = 3_932_160
    yield case("persisting bytes", limits(6, 0, 1, step - 1, step, step + 1, 8_000_000, 3 * step, 3 * step + 1, 20_000_000, 10 * step, 10 * step + 1, 1 << 30))
    yield case("other limits", [answer for number in (3, 7, 8, 9, -1) for answer in ([calls.code("cuCtxSetLimit", number, C.c_size_t(value)) for value in (0, 1, 24)])])

    def allocated(flags):
        memory, told = C.c_void_p(), C.c_uint()
        code = calls.code("cuMemHostAlloc", C.byref(memory), C.c_size_t(PAGE), flags)
        return (code, calls.code("cuMemHostGetFlags", C.byref(told), memory), told.value & ~1, calls.code("cuMemFreeHost", memory)) if code == 0 else code

    def registered(flags):
        memory, told = C.create_string_buffer(3 * PAGE), C.c_uint()
        page = C.c_void_p((C.addressof(memory) + PAGE - 1) & -PAGE)
        return calls.code("cuMemHostRegister_v2", page, C.c_size_t(PAGE), flags), calls.code("cuMemHostGetFlags", C.byref(told), page), told.value, calls.code("cuMemHostUnregister", page)

    yield case("flags of allocated memory", map(allocated, range(16)))
    yield case("flags of registered memory", map(registered, (0, 1, 2, 3, 16, 17, 32)))

    def bus_id(size):
        text = C.create_string_buffer(b"." * 31)
        code = calls.code("cuDeviceGetPCIBusId", text, size, 0)
        return code, len(text.value)

    yield case("bus ids", map(bus_id, range(16)))


def pages(calls):
    unit = 2 << 20

    def properties_of(kind, handles, place, number):
        """CUmemAllocationProp."""
        return struct.pack("iiii", kind, handles, place, number) + bytes(32)

    def create(*given):
        handle = C.c_uint64()
        code = calls.code("cuMemCreate", C.byref(handle), C.c_size_t(given[-1]), properties_of(*given[:-1]), C.c_uint64(0))
        if code == 0:
            calls.call("cuMemRelease", handle)
        return code

    def reserve(size, alignment, hint, flags):
        address = C.c_uint64()
        code = calls.code("cuMemAddressReserve", C.byref(address), C.c_size_t(size), C.c_size_t(alignment), C.c_uint64(hint), C.c_uint64(flags))
        if code == 0:
            calls.call("cuMemAddressFree", address, C.c_size_t(size))
        return code

    for kind, handles in itertools.product(range(4), (0, 1, 2, 3, 4)):
        yield case(f"memory of {kind}, {handles}", itertools.starmap(create, itertools.product((kind,), (handles,), range(6), (-1, 0, 1), (0, PAGE, unit, unit + 1))))
    yield case("reservations", itertools.starmap(reserve, itertools.product((0, PAGE, unit, 3 * unit, unit + PAGE), (0, 1, PAGE, unit, 3 * unit, 2 * unit, unit + 1), (0, PAGE, 0x7f0000000000), (0, 1))))
    base, handle = C.c_uint64(), C.c_uint64()
    calls.call("cuMemAddressReserve", C.byref(base), C.c_size_t(4 * unit), C.c_size_t(0), C.c_uint64(0), C.c_uint64(0))
    calls.call("cuMemCreate", C.byref(handle), C.c_size_t(2 * unit), properties_of(1, 0, 1, 0), C.c_uint64(0))

    def mapped(by, size, offset, flags):
        address = C.c_uint64(base.value + by)
        code = calls.code("cuMemMap", address, C.c_size_t(size), C.c_size_t(offset), handle, C.c_uint64(flags))
        return code if code else ["unmapped", calls.code("cuMemUnmap", address, C.c_size_t(size))]

    # Behind the end of a reservation there may be another.
    yield case("mappings", itertools.starmap(mapped, itertools.product((0, 1, unit, 2 * unit, 4 * unit), (0, unit, 2 * unit, 4 * unit, PAGE), (0, unit, PAGE), (0, 1))))
    calls.call("cuMemMap", base, C.c_size_t(2 * unit), C.c_size_t(0), handle, C.c_uint64(0))
    for by, size in itertools.product((0, unit, 2 * unit), (0, unit, 2 * unit, 4 * unit, PAGE)):
        address, flags = C.c_uint64(base.value + by), C.c_uint64()
        yield case(f"access to {size} bytes at {by}", [calls.code("cuMemSetAccess", address, C.c_size_t(size), (C.c_int * 3)(*given), C.c_size_t(1)) for given in itertools.product(range(4), (0, 1), range(4))]
                   + [(calls.code("cuMemGetAccess", C.byref(flags), (C.c_int * 2)(*given), address), flags.value) for given in itertools.product(range(4), (0, 1))])
    calls.call("cuMemUnmap", base, C.c_size_t(2 * unit))
    calls.call("cuMemAddressFree", base, C.c_size_t(4 * unit))
    room = C.create_string_buffer(20 * PAGE)
    start = -(-C.addressof(room) // PAGE) * PAGE

    def registered(by, size, flags):
        address, found, device = C.c_void_p(start + by), C.c_uint(), C.c_uint64()
        code = calls.code("cuMemHostRegister_v2", address, C.c_size_t(size), flags)
        if code:
            return code
        calls.call("cuMemHostGetFlags", C.byref(found), address)
        again = calls.code("cuMemHostRegister_v2", address, C.c_size_t(size), flags)
        return [found.value, calls.code("cuMemHostGetDevicePointer_v2", C.byref(device), address, 0), again, *(calls.code("cuMemHostUnregister", address) for _ in range(2))]

    yield case("registered pages", itertools.starmap(registered, itertools.product((0, 1, PAGE, 100), (0, 1, 100, PAGE, 2 * PAGE), (0, 1, 2, 3, 4, 7, 8, 0xf, 0x10))))
    own = calls.made("cuMemHostAlloc", C.c_size_t(PAGE), 0)
    yield case("registered memory of the driver", (calls.code("cuMemHostRegister_v2", own, C.c_size_t(PAGE), 0), calls.code("cuMemHostUnregister", own), calls.code("cuMemHostUnregister", NULL)))


def kernel_node(function, grid=(1, 1, 1), cta=(1, 1, 1), shared=0, arguments=0):
    """CUDA_KERNEL_NODE_PARAMS_v2."""
    return struct.pack("Q7IIQQQQ", function.value or 0, *grid, *cta, shared, 0, arguments, 0, 0, 0) + bytes(32)


def memset_node(address, element=4, width=4, height=1, pitch=0):
    """CUDA_MEMSET_NODE_PARAMS_v2."""
    return struct.pack("QQIIQQ", address, pitch, 7, element, width, height) + bytes(16)


def launches(calls):
    stream, function = calls.made("cuStreamCreate", 1), calls.function("none")
    values = [0, 1, 2, 3, 5, 0xffffffff], [(1, 1, 1), (2, 1, 1), (2, 2, 2), (16, 1, 1), (0, 1, 1)]
    values = [struct.pack("I", value) for value in values[0]] + [struct.pack("3I", *value) for value in values[1]]

    def launch(grid, attributes):
        list_ = C.create_string_buffer(b"".join(struct.pack("II", number, 0) + value.ljust(64, b"\0") for number, value in attributes) or b"\0")
        config = struct.pack("7IIQQI", *grid, 32, 1, 1, 0, 0, stream.value, C.addressof(list_), len(attributes)) + bytes(12)
        return calls.code("cuLaunchKernelEx", config, function, None, None)

    # Not those that name events or memory, and what CUDA 13.0 does not have.
    for number in (0, 2, 3, 4, 5, 8, 9, 10, 11, 13, 14, 15, 16, 19, 20):
        yield case(f"launch attribute {number}", (launch(grid, [(number, value)]) for value in values for grid in ((2, 2, 2), (1, 1, 1))))
    calls.call("cuCtxSynchronize")


def required(calls):
    """Launches of kernels that require a number of threads, or clusters of CTAs."""
    stream, memory, seen = calls.made("cuStreamCreate", 1), calls.memory(), (C.c_uint32 * 1024)()
    arguments = (C.c_void_p * 1)(C.addressof(memory))

    def ran(code):
        """What a launch answers, in how many threads it ran, and what they saw."""
        calls.call("cuCtxSynchronize")
        calls.call("cuMemcpyDtoH_v2", seen, memory, C.c_size_t(4096))
        calls.call("cuMemsetD8_v2", memory, 0, C.c_size_t(4096))
        return code, sum(word != 0 for word in seen), max(seen)

    def launched(function, *sizes):
        config = struct.pack("7IIQQI", *sizes, 0, 0, 0, 0, 0) + bytes(12)
        yield ran(calls.code("cuLaunchKernel", function, *sizes, 0, None, arguments, None))
        yield ran(calls.code("cuLaunchCooperativeKernel", function, *sizes, 0, None, arguments))
        yield ran(calls.code("cuLaunchKernelEx", config, function, arguments, None))
        graph, node, runs = calls.made("cuGraphCreate", 0), C.c_void_p(), C.c_void_p()
        code = calls.code("cuGraphAddKernelNode_v2", C.byref(node), graph, None, C.c_size_t(0), kernel_node(function, sizes[:3], sizes[3:], arguments=C.addressof(arguments)))
        if code == 0:
            given = C.create_string_buffer(256)
            calls.call("cuGraphKernelNodeGetParams_v2", node, given)
            calls.call("cuGraphInstantiateWithFlags", C.byref(runs), graph, C.c_uint64(0))
            code = calls.code("cuGraphLaunch", runs, None), *struct.unpack("6I", given.raw[8:32])
        yield ran(code)
        calls.call("cuStreamBeginCapture_v2", stream, 2)
        code = calls.code("cuLaunchKernel", function, *sizes, 0, stream, arguments, None)
        yield code, calls.code("cuStreamEndCapture", stream, C.byref(graph))

    calls.call("cuMemsetD8_v2", memory, 0, C.c_size_t(4096))
    for version, directives in (("8.0", ".reqntid 64, 2, 1"), ("8.0", ".reqntid 1"), ("8.0", ".maxntid 64, 2, 1"), ("8.0", ".reqntid 32 .reqnctapercluster 2"), ("9.0", ".reqntid 32 .reqnctapercluster 2 .blocksareclusters")):
        function = calls.made("cuModuleGetFunction", calls.made("cuModuleLoadData", SIZED % (version.encode(), directives.encode())), b"sized")
        for ctas, threads in itertools.product((1, 2, 3, 4), ((1, 1, 1), (64, 2, 1), (32, 1, 1), (32, 2, 1), (2, 64, 1), (64, 1, 1), (2, 1, 1), (0, 1, 1))):
            yield case(f"{directives}: {ctas} of {threads}", launched(function, ctas, 1, 1, *threads))
    module = C.c_void_p()
    for version, directives in itertools.product(("6.3", "6.4", "7.7", "7.8", "8.0", "8.9", "9.0"), (".reqntid 32 .reqnctapercluster 2 .blocksareclusters", ".reqnctapercluster 2", ".explicitcluster", ".maxclusterrank 2")):
        yield case(f"{directives} in PTX {version}", [calls.code("cuModuleLoadData", C.byref(module), SIZED % (version.encode(), directives.encode()))])


def places(calls):
    """Advice, prefetches and pools of places, with a context and without."""
    stream, memory, pool, context = calls.made("cuStreamCreate", 1), calls.memory(1 << 20), C.c_void_p(), C.c_void_p()
    managed = C.c_uint64()
    calls.call("cuMemAllocManaged", C.byref(managed), C.c_size_t(1 << 20), 1)
    calls.call("cuDeviceGetDefaultMemPool", C.byref(pool), 0)
    calls.call("cuCtxGetCurrent", C.byref(context))
    ranges = [(C.c_uint64(address), C.c_size_t(size)) for address in (managed.value, memory.value, 0, 12345678) for size in (0, 65536, 1 << 21)]

    class Place(C.Structure):
        _fields_ = [("kind", C.c_uint), ("number", C.c_int)]

    for name, current in {"with": context, "without": None}.items():
        calls.call("cuCtxSetCurrent", current)
        for advice in range(9):
            yield case(f"advice {advice} {name} a context", (calls.code("cuMemAdvise", *range_, advice, device) for device in (-2, -1, 0, 1, 99) for range_ in ranges))
        for place in itertools.starmap(Place, itertools.product(range(6), (-1, 0, 99))):
            yield case(f"advice of place {place.kind} {place.number} {name} a context", (calls.code("cuMemAdvise_v2", *range_, advice, place) for advice in range(9) for range_ in ranges))
            prefetches = itertools.product((None, stream, C.c_void_p(1), C.c_void_p(2)), (0, 3), ranges)
            yield case(f"prefetch to place {place.kind} {place.number} {name} a context", (calls.code("cuMemPrefetchAsync_v2", *range_, place, flags, to) for to, flags, range_ in prefetches))
            yield case(f"pools of place {place.kind} {place.number} {name} a context", (
                (calls.code("cuMemGetDefaultMemPool", C.byref(C.c_void_p()), C.byref(place), type_), calls.code("cuMemGetMemPool", C.byref(C.c_void_p()), C.byref(place), type_),
                 calls.code("cuMemSetMemPool", C.byref(place), type_, pool), calls.code("cuMemSetMemPool", C.byref(place), type_, None)) for type_ in range(4)))
    calls.call("cuCtxSetCurrent", context)
    calls.call("cuCtxSynchronize")


def libraries(calls):
    """What is asked of libraries and their kernels, with a context and without."""
    text, context, number, size = SIZED.replace(b".address_size 64\n", b".address_size 64\n.visible .global .align 4 .u32 word[10]; .visible .global .attribute(.managed) .align 4 .u32 shared_words[2];\n") % (b"8.0", b""), C.c_void_p(), C.c_int(), C.c_size_t()
    calls.call("cuCtxGetCurrent", C.byref(context))
    library, module, address = C.c_void_p(), calls.made("cuModuleLoadData", text), C.c_uint64()

    def loaded():
        calls.call("cuLibraryLoadData", C.byref(library), text, None, None, 0, None, None, 0)
        return library

    def kernel():
        return calls.made("cuLibraryGetKernel", loaded(), b"sized")

    for name in (b"sized", b"word", b"shared_words", b"", b"other", b"SIZED"):
        yield case(f"names {name.decode()}", [calls.code("cuLibraryGetKernel", C.byref(C.c_void_p()), loaded(), name), calls.code("cuModuleGetFunction", C.byref(C.c_void_p()), module, name),
                                              calls.code("cuLibraryGetUnifiedFunction", C.byref(C.c_void_p()), loaded(), name)])
        for call in ("cuLibraryGetGlobal", "cuLibraryGetManaged"):
            yield case(f"{call} {name.decode()}", (calls.code(call, address_, size_, loaded(), name) for address_ in (C.byref(address), None) for size_ in (C.byref(size), None)))
    yield case("cuKernelGetFunction", [calls.code("cuKernelGetFunction", None, kernel()), calls.code("cuKernelGetFunction", C.byref(C.c_void_p()), None), calls.code("cuKernelGetFunction", C.byref(C.c_void_p()), kernel())])
    yield case("cuModuleUnload of a library's", [calls.code("cuModuleUnload", calls.made("cuLibraryGetModule", loaded()))])
    for name, current in {"with": context, "without": None}.items():
        calls.call("cuCtxSetCurrent", current)
        # Without the numbers that compilers find: registers, and what code takes of memory.
        yield case(f"attributes of a kernel {name} a context", (
            [calls.code("cuKernelGetAttribute", C.byref(number), attribute, kernel(), device), number.value] for attribute in (-1, 0, 1, 2, 8, 9, *range(10, 20)) for device in (-1, 0, 1)))
        changes = itertools.product((-1, 0, 1, 8, 9, 10, 11, 15), (-2, -1, 0, 1, 50, 101, 1000, 232449), (0, 1))
        yield case(f"changed attributes of a kernel {name} a context", (calls.code("cuKernelSetAttribute", attribute, value, kernel(), device) for attribute, value, device in changes))
        yield case(f"a library {name} a context", [
            calls.code("cuKernelGetFunction", C.byref(C.c_void_p()), kernel()), calls.code("cuLibraryGetModule", C.byref(C.c_void_p()), loaded()), calls.code("cuLibraryGetGlobal", C.byref(address), C.byref(size), loaded(), b"word"),
            calls.code("cuLibraryGetManaged", C.byref(address), C.byref(size), loaded(), b"shared_words"), calls.code("cuKernelSetCacheConfig", kernel(), 1, 0), calls.code("cuLibraryUnload", loaded())])
    calls.call("cuCtxSetCurrent", context)


def options(calls):
    """Options of translations, of links and of inputs of these, each alone with a value."""
    values, address, size = (1, 2, 4, 16, 33, 90, 255, 1024), C.c_void_p(), C.c_size_t()

    def lists(number, value):
        return (C.c_int * 1)(number), (C.c_void_p * 1)(value)

    def module(number, value):
        names, given = lists(number, value)
        return calls.code("cuModuleLoadDataEx", C.byref(C.c_void_p()), TEXT, 1, names, given), given[0] or 0

    def link(number, value, of_input):
        state, given = C.c_void_p(), lists(number, value)
        answers = [calls.code("cuLinkCreate_v2", 0 if of_input else 1, *given, C.byref(state))]
        if answers == [0]:
            answers.append(calls.code("cuLinkAddData_v2", state, 1, TEXT, C.c_size_t(len(TEXT) + 1), b"text", 1 if of_input else 0, *given))
            answers.append(calls.code("cuLinkComplete", state, C.byref(address), C.byref(size)))
            calls.call("cuLinkDestroy", state)
        return answers

    # Not those whose values are pointers or count what these point to, which NVIDIA's driver follows; nor those that newer drivers have.
    for number in (0, 1, 4, 6, 7, 8, 11, 12, 13, 14, 16, 20, 21, 22, 29, 30, 31, 33, 34, 36, 40):
        yield case(f"option {number} of a module", (module(number, value) for value in values))
        yield case(f"option {number} of a link", (link(number, value, False) for value in values))
        yield case(f"option {number} of an input", (link(number, value, True) for value in values))
    for number in (10, 17, 18, 19, 26, 28):
        yield case(f"option {number} of an input", (link(number, value, True) for value in values))


def graphs(calls):
    plain, other = calls.function("plain"), calls.function("none")
    address, given = calls.memory(16 * PAGE).value, (C.c_void_p * 4)(*[C.addressof(C.create_string_buffer(64))] * 4)
    arguments, function_on_host, context = C.addressof(given), C.cast(ON_HOST, C.c_void_p).value, C.c_void_p()
    calls.call("cuCtxGetCurrent", C.byref(context))
    graph, inner, events = calls.made("cuGraphCreate", 0), calls.made("cuGraphCreate", 0), [calls.made("cuEventCreate", flags) for flags in (0, 2)]
    kernels = {"same": kernel_node(plain, arguments=arguments), "no function": kernel_node(NULL, arguments=arguments), "no grid": kernel_node(plain, (0, 1, 1), arguments=arguments),
               "large": kernel_node(plain, cta=(1025, 1, 1), arguments=arguments), "no arguments": kernel_node(plain), "shared": kernel_node(plain, shared=50000, arguments=arguments), "other": kernel_node(other)}
    sets = {"same": memset_node(address), "element": memset_node(address, element=3), "byte": memset_node(address, element=1), "no width": memset_node(address, width=0), "no height": memset_node(address, height=0),
            "NULL": memset_node(0), "askew": memset_node(address + 1), "far": memset_node(address, width=1 << 20), "rows": memset_node(address, height=2, pitch=16), "narrow": memset_node(address, height=2, pitch=2)}
    on_host = {"same": struct.pack("QQ", function_on_host, 0), "NULL": bytes(16)}

    def added(to, name, *rest, after=()):
        before = (C.c_void_p * max(len(after), 1))(*[node.value for node in after])
        return calls.made(f"cuGraphAdd{name}", to, before if after else None, C.c_size_t(len(after)), *rest)

    nodes = {"kernel": added(graph, "KernelNode_v2", kernels["same"]), "set": added(graph, "MemsetNode", sets["same"], context), "host": added(graph, "HostNode", on_host["same"]), "empty": added(graph, "EmptyNode"),
             "record": added(graph, "EventRecordNode", events[0]), "wait": added(graph, "EventWaitNode", events[0]), "graph": added(graph, "ChildGraphNode", inner), "NULL": NULL}
    out = C.create_string_buffer(512)
    reads = ("KernelNodeGetParams_v2", "MemsetNodeGetParams", "MemcpyNodeGetParams", "HostNodeGetParams", "EventRecordNodeGetEvent", "EventWaitNodeGetEvent", "ChildGraphNodeGetGraph", "MemAllocNodeGetParams",
             "MemFreeNodeGetParams", "ExternalSemaphoresSignalNodeGetParams", "BatchMemOpNodeGetParams")

    def attribute(node, number):
        value = C.create_string_buffer(64)
        code = calls.code("cuGraphKernelNodeGetAttribute", node, number, value)
        return value.raw[:12].hex() if code == 0 else f"error {code}"

    for name, node in nodes.items():
        yield case(f"{name} node", [calls.code("cuGraphNodeGetType", node, out)] + [calls.code(f"cuGraph{read}", node, out) for read in reads]
                   + [calls.code("cuGraphKernelNodeSetParams_v2", node, given_) for given_ in kernels.values()] + [calls.code("cuGraphMemsetNodeSetParams", node, given_) for given_ in sets.values()]
                   + [calls.code("cuGraphHostNodeSetParams", node, given_) for given_ in on_host.values()]
                   + [calls.code(f"cuGraphEvent{what}NodeSetEvent", node, event) for what in ("Record", "Wait") for event in (*events, NULL)])
        # Not the window of accesses, events, and those that become or were of other nodes later.
        yield case(f"attributes of {name} node", [attribute(node, number) for number in (0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 14, 15)]
                   + [calls.code("cuGraphKernelNodeSetAttribute", node, number, struct.pack("I", value) + bytes(60)) for number in (0, 3, 5, 7, 8, 9, 10, 11, 14, 15, 16) for value in (0, 1, 2, 5)])
    for name, node in nodes.items():
        links = [(graph, C.byref(node), C.byref(other_), None, C.c_size_t(1)) for other_ in nodes.values()]
        yield case(f"edges of {name} node", ([calls.code(f"cuGraph{what}Dependencies_v2", *link) for what in ("Add", "Add", "Remove", "Remove")] for link in links))
    instance = calls.made("cuGraphInstantiateWithFlags", graph, C.c_uint64(0))
    for name, node in nodes.items():
        enabled = C.c_uint()
        yield case(f"{name} node of an instance", [calls.code("cuGraphExecKernelNodeSetParams_v2", instance, node, given_) for given_ in kernels.values()]
                   + [calls.code("cuGraphExecMemsetNodeSetParams", instance, node, given_, context) for given_ in sets.values()]
                   + [calls.code("cuGraphExecHostNodeSetParams", instance, node, given_) for given_ in on_host.values()]
                   + [calls.code("cuGraphExecEventRecordNodeSetEvent", instance, node, events[1]), calls.code("cuGraphExecEventWaitNodeSetEvent", instance, node, NULL),
                      calls.code("cuGraphExecChildGraphNodeSetParams", instance, node, inner), calls.code("cuGraphExecChildGraphNodeSetParams", instance, node, NULL),
                      calls.code("cuGraphNodeSetEnabled", instance, node, 0), calls.code("cuGraphNodeGetEnabled", instance, node, C.byref(enabled)), enabled.value,
                      calls.code("cuGraphNodeSetEnabled", instance, node, 1), calls.code("cuGraphNodeSetEnabled", NULL, node, 1)])

    def small(kind):
        made = calls.made("cuGraphCreate", 0)
        parts = {"kernel": [("KernelNode_v2", kernels["same"])], "other kernel": [("KernelNode_v2", kernels["other"])], "larger": [("KernelNode_v2", kernel_node(plain, (2, 1, 1), (32, 1, 1), arguments=arguments))],
                 "set": [("MemsetNode", sets["same"], context)], "bytes": [("MemsetNode", sets["byte"], context)], "rows": [("MemsetNode", sets["rows"], context)], "host": [("HostNode", on_host["same"])],
                 "empty": [("EmptyNode",)], "record": [("EventRecordNode", events[0])], "other record": [("EventRecordNode", events[1])], "graph": [("ChildGraphNode", inner)], "two": [("KernelNode_v2", kernels["same"])] * 2}
        for part in parts.get(kind, ()):
            added(made, *part)
        if kind.startswith("graph of"):
            added(made, "ChildGraphNode", small(kind[9:]))
        if kind == "chain":
            added(made, "KernelNode_v2", kernels["same"], after=[added(made, "KernelNode_v2", kernels["same"])])
        return made

    def update(old, new):
        info = C.create_string_buffer(64)
        code = calls.code("cuGraphExecUpdate_v2", calls.made("cuGraphInstantiateWithFlags", small(old), C.c_uint64(0)), small(new), info)
        result, _, node, source = struct.unpack("iiQQ", info.raw[:24])
        return code, result, bool(node), bool(source)

    kinds = ("", "kernel", "chain", "other kernel", "larger", "set", "bytes", "rows", "host", "empty", "record", "other record", "graph", "graph of kernel", "graph of set")
    for old in kinds:
        yield case(f"updates of {old or 'nothing'}", (update(old, new) for new in kinds))
    user, graph_of_device = C.c_void_p(), C.c_uint64()
    yield case("user objects", (calls.code("cuUserObjectCreate", C.byref(user), C.c_void_p(1), ON_HOST, count, flags) for count in (0, 1, 2) for flags in (0, 1, 2)))
    yield case("conditions", (calls.code("cuGraphConditionalHandleCreate", C.byref(graph_of_device), of, context, 0, flags) for of in (inner, NULL) for flags in (0, 1, 2)))
    yield case("memory of graphs", [calls.code("cuDeviceGraphMemTrim", device) for device in (-1, 0, 1)]
               + [(calls.code("cuDeviceGetGraphMemAttribute", device, number, out), calls.code("cuDeviceSetGraphMemAttribute", device, number, bytes(8))) for number in range(6) for device in (0, 1)])


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
    return [answer for group in (pools, contexts, streams, functions, libraries, options, launches, required, graphs, memory, places, copies, arrays, textures, plain_textures, settings, pages, captures) for answer in group(calls)]


if __name__ == "__main__":
    sys.exit(recorded.main(sys.argv[1:], cases, "calls"))
