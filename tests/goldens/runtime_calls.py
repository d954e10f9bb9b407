#!/usr/bin/env python3
"""Records what a runtime library answers to calls with arguments that are right, wrong in one way, or wrong in several: copies and fills of all kinds of memory, arrays of all forms, texture and surface objects, flags of devices,
streams, events and host memory. Prints JSON: for each case the answers in the order of its arguments; behind each call, whether the thread's last error is its answer.

Not here: what makes NVIDIA's runtime fault, such as copies of host memory that is not there.

    runtime_calls.py [LIBCUDART] > runtime/calls_13.json
    runtime_calls.py --check runtime/calls_13.json [LIBCUDART]
"""
import ctypes as C
import itertools
import sys

import recorded

SIZE, PAGE = 65536, 4096
WORD, FLOAT = (32, 0, 0, 0, 1), (32, 0, 0, 0, 2)


class Format(C.Structure):           # cudaChannelFormatDesc
    _fields_ = [(name, C.c_int) for name in ("x", "y", "z", "w", "kind")]


class Extent(C.Structure):           # cudaExtent, cudaPos
    _fields_ = [(name, C.c_size_t) for name in ("width", "height", "depth")]


class Pitched(C.Structure):          # cudaPitchedPtr
    _fields_ = [("ptr", C.c_void_p)] + [(name, C.c_size_t) for name in ("pitch", "xsize", "ysize")]


class Copy3D(C.Structure):           # cudaMemcpy3DParms
    _fields_ = [(side + name, type) for side in ("src", "dst") for name, type in (("Array", C.c_void_p), ("Pos", Extent), ("Ptr", Pitched))] + [("extent", Extent), ("kind", C.c_int)]


class Resource(C.Structure):         # cudaResourceDesc
    _fields_ = [("type", C.c_int), ("at", C.c_uint64), ("format", Format), ("words", C.c_size_t * 3), ("reserved", C.c_uint64 * 16)]


class Sampler(C.Structure):          # cudaTextureDesc
    _fields_ = [("address", C.c_int * 3), ("filter", C.c_int), ("mode", C.c_int), ("srgb", C.c_int), ("border", C.c_float * 4), ("normalized", C.c_int), ("anisotropy", C.c_uint), ("levels", C.c_int),
                ("bias", C.c_float), ("low", C.c_float), ("high", C.c_float), ("plain", C.c_int), ("seamless", C.c_int), ("more", C.c_int * 16)]


class Runtime:
    """A runtime library, and memory of all kinds."""

    def __init__(self, library):
        self.library = C.CDLL(library)
        version = C.c_int()
        self.call("cudaRuntimeGetVersion", C.byref(version))
        self.name = f"runtime {version.value}"
        self.host = C.create_string_buffer(SIZE)
        memory, self.places = C.c_void_p(), {"nothing": None, "host": C.addressof(self.host)}
        for name, function, *flags in (("device", "cudaMalloc"), ("other", "cudaMalloc"), ("pinned", "cudaHostAlloc", 0), ("managed", "cudaMallocManaged", 1)):
            self.call(function, C.byref(memory), C.c_size_t(SIZE), *flags)
            self.places[name] = memory.value
        self.stream, self.event = self.made("cudaStreamCreate"), self.made("cudaEventCreate")

    def call(self, name, *args):
        status = getattr(self.library, name)(*args)
        assert status == 0, f"{name}: {status}"

    def code(self, name, *args):
        """The answer, if the thread's last error is the same, and then no more."""
        answer = getattr(self.library, name)(*args)
        last = self.library.cudaGetLastError()
        return answer if last == answer else [answer, last]

    def made(self, name, *args):
        handle = C.c_void_p()
        self.call(name, C.byref(handle), *args)
        return handle

    def array(self, format=FLOAT, width=64, height=64, flags=0):
        return self.made("cudaMallocArray", C.byref(Format(*format)), C.c_size_t(width), C.c_size_t(height), flags)


def sizes(*numbers):
    return map(C.c_size_t, numbers)


def case(call, answers):
    return {"call": call, "answers": list(answers)}


def copies(runtime):
    places, kinds = runtime.places, (0, 1, 2, 3, 4, 5, -1)
    for (to, target), (of, source) in itertools.product(places.items(), repeat=2):
        pair = C.c_void_p(target), C.c_void_p(source)
        yield case(f"to {to} of {of}", [runtime.code("cudaMemcpy", *pair, C.c_size_t(count), kind) for count in (0, 8) for kind in kinds]
                   + [runtime.code("cudaMemcpyAsync", *pair, C.c_size_t(8), kind, stream) for kind in kinds[:5] for stream in (None, runtime.stream)])
        rows = ((64, 64, 64, 4), (63, 64, 64, 4), (64, 63, 64, 4), (0, 0, 8, 1), (8, 8, 0, 4), (8, 8, 8, 0), (7, 7, 8, 1))
        yield case(f"rows to {to} of {of}", (runtime.code("cudaMemcpy2D", pair[0], C.c_size_t(pitch), pair[1], *sizes(source_pitch, width, height), kind) for pitch, source_pitch, width, height in rows for kind in kinds))
    sides = {"array": lambda: (runtime.array(), None), **{name: (lambda name=name: (None, places[name])) for name in ("device", "host", "pinned", "managed")}, "both": lambda: (runtime.array(), places["device"]), "none": lambda: (None, None)}

    def box(source, target, extent, kind):
        parameters, made = Copy3D(extent=Extent(*extent), kind=kind), []
        for side, (array, pointer) in (("src", sides[source]()), ("dst", sides[target]())):
            setattr(parameters, side + "Array", array)
            if pointer is not None:
                setattr(parameters, side + "Ptr", Pitched(pointer, 256, 256, 16))
            made += [array] if array else []
        answer = runtime.code("cudaMemcpy3D", C.byref(parameters))
        runtime.call("cudaDeviceSynchronize")
        for array in made:
            runtime.call("cudaFreeArray", array)
        return answer

    for source, target in itertools.product(sides, repeat=2):
        extents = ((0, 0, 0), (4, 1, 1), (64, 4, 1), (65, 1, 1), (4, 65, 1), (4, 1, 2), (4, 0, 1), (4, 1, 0))
        yield case(f"boxes of {source} to {target}", [box(source, target, (4, 1, 1), kind) for kind in kinds] + [box(source, target, extent, kind) for extent in extents for kind in (3, 4)])
    array, device = runtime.array(), C.c_void_p(places["device"])
    for x in (0, 4, 5, 252, 256, 260):
        yield case(f"from {x} on in an array", (answer for y, count in itertools.product((0, 1, 63, 64, 65), (0, 4, 8, 6, 1 << 20)) for answer in (
            runtime.code("cudaMemcpyToArray", array, *sizes(x, y), device, C.c_size_t(count), 3), runtime.code("cudaMemcpyFromArray", device, array, *sizes(x, y, count), 3),
            runtime.code("cudaMemcpy2DToArray", array, *sizes(x, y), device, *sizes(count, count, 2), 3), runtime.code("cudaMemcpy2DFromArray", device, C.c_size_t(count), array, *sizes(x, y, count, 2), 3))))


def fills(runtime):
    for name, place in runtime.places.items():
        if name == "host":
            continue
        address = C.c_void_p(place)
        shapes = [(pitch, width, height) for pitch in (0, 8, 63, 64) for width in (0, 8, 64) for height in (0, 1, 2)]
        yield case(f"fills of {name}", [runtime.code("cudaMemset", address, 3, C.c_size_t(count)) for count in (0, 8)] + [runtime.code("cudaMemset2D", address, C.c_size_t(pitch), 1, *sizes(width, height)) for pitch, width, height in shapes]
                   + [runtime.code("cudaMemset3D", Pitched(place, pitch, width, height), 1, Extent(width, height, depth)) for pitch, width, height in shapes for depth in (0, 1, 2)])


def arrays(runtime):
    def formed(bits, kind):
        array, told = C.c_void_p(), Format()
        code = runtime.code("cudaMallocArray", C.byref(array), C.byref(Format(*bits, kind)), *sizes(16, 16), 0)
        if code != 0:
            return code
        code = runtime.code("cudaGetChannelDesc", C.byref(told), array)
        runtime.call("cudaFreeArray", array)
        return [code, told.x, told.y, told.z, told.w, told.kind]

    for bits in itertools.product((0, 8, 16, 32), (0, 8, 16, 32), (0, 8, 32), (0, 8, 32)):
        yield case(f"arrays of {bits}", (formed(bits, kind) for kind in range(4)))
    for bits in ((1, 0, 0, 0), (64, 0, 0, 0), (10, 10, 10, 2), (5, 6, 5, 0), (-8, 0, 0, 0), (8, 8, 8, 8), (8, 8, 8, 0)):
        yield case(f"arrays of {bits} of all kinds", (formed(bits, kind) for kind in range(31)))

    def shaped(function, shape, flags):
        array, extent, told = C.c_void_p(), Extent(), C.c_uint()
        code = runtime.code(function, C.byref(array), C.byref(Format(*FLOAT)), *shape, flags)
        if code != 0:
            return code
        runtime.call("cudaArrayGetInfo", None, C.byref(extent), C.byref(told), array)
        runtime.call("cudaFreeArray", array)
        return extent.width, extent.height, extent.depth, told.value

    for shape in ((0, 0), (0, 4), (4, 0), (1, 1), (131072, 1), (131073, 1), (131073, 2), (2, 65537), (1 << 20, 0), (1 << 40, 0), (131072, 0), (32769, 2)):
        yield case(f"planes of {shape}", (shaped("cudaMallocArray", sizes(*shape), flags) for flags in (0, 1, 2, 4, 8, 16, 32, 3, 6, 10, 9, 12)))

    def levels(extent, count, flags):
        array, level, told = C.c_void_p(), C.c_void_p(), Extent()
        code = runtime.code("cudaMallocMipmappedArray", C.byref(array), C.byref(Format(*FLOAT)), extent, count, flags)
        if code != 0:
            return code
        answers = []
        for number in range(4):
            answers.append(runtime.code("cudaGetMipmappedArrayLevel", C.byref(level), array, number))
            if answers[-1] == 0:
                runtime.call("cudaArrayGetInfo", None, C.byref(told), None, level)
                answers[-1] = told.width, told.height, told.depth
        runtime.call("cudaFreeMipmappedArray", array)
        return answers

    for shape in ((0, 0, 0), (4, 0, 0), (4, 4, 0), (4, 4, 4), (4, 0, 4), (0, 4, 4), (4, 4, 6), (4, 4, 12), (4, 4, 7), (8, 4, 6), (16385, 4, 4), (4, 16385, 4), (4, 4, 16385), (4, 0, 2049), (4, 4, 2049)):
        extent = Extent(*shape)
        yield case(f"boxes of {shape}", [shaped("cudaMalloc3DArray", [extent], flags) for flags in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 32)] + [levels(extent, count, flags) for flags in (0, 1, 2, 4, 5) for count in (0, 1, 2, 3, 20)])


def textures(runtime):
    device = runtime.places["device"]

    def texture(resource, sampler):
        handle, told = C.c_uint64(), Sampler()
        code = runtime.code("cudaCreateTextureObject", C.byref(handle), C.byref(resource), C.byref(sampler), None)
        if code != 0:
            return code
        runtime.call("cudaGetTextureObjectTextureDesc", C.byref(told), handle)
        runtime.call("cudaDestroyTextureObject", handle)
        return list(told.address), told.filter, told.mode, told.normalized, told.levels

    formats = {"floats": FLOAT, "words": WORD, "signed words": (32, 0, 0, 0, 0), "bytes": (8, 0, 0, 0, 1), "colours": (8, 8, 8, 8, 1), "halves": (16, 0, 0, 0, 2), "shorts": (16, 16, 0, 0, 0), "four words": (32, 32, 32, 32, 0), "pairs": (32, 32, 0, 0, 2)}
    for name, format in formats.items():
        mipmapped = runtime.made("cudaMallocMipmappedArray", C.byref(Format(*format)), Extent(16, 16, 0), 3, 0)
        resources = {"an array": Resource(0, runtime.array(format, 16, 16).value), "levels": Resource(1, mipmapped.value), "a line": Resource(2, device, Format(*format), (C.c_size_t * 3)(4096)),
                     "rows": Resource(3, device, Format(*format), (C.c_size_t * 3)(4, 4, 1024)), "nothing": Resource(4)}
        for what, resource in resources.items():
            samplers = (Sampler((C.c_int * 3)(*[address] * 3), filter, mode, normalized=normalized, levels=levels) for address in (0, 1, 3, 4) for filter in (0, 1, 2) for mode in (0, 1) for normalized in (0, 1) for levels in (0, 1))
            yield case(f"textures of {what} of {name}", (texture(resource, sampler) for sampler in samplers))
    plain = Sampler()
    for pitch in (0, 31, 32, 64, 1024):
        yield case(f"rows of {pitch} bytes", (texture(Resource(3, device + by, Format(*FLOAT), (C.c_size_t * 3)(width, height, pitch)), plain) for width in (0, 1, 16, 131072, 131073) for height in (0, 1, 4, 65001) for by in (0, 16, 512)))
    yield case("lines", (texture(Resource(2, device + by, Format(*FLOAT), (C.c_size_t * 3)(size)), plain) for size in (0, 1, 4, 4096, 1 << 29, 1 << 32, (1 << 32) + 16) for by in (0, 4, 512)))

    def surface(flags):
        handle, array = C.c_uint64(), runtime.array(flags=flags)
        code = runtime.code("cudaCreateSurfaceObject", C.byref(handle), C.byref(Resource(0, array.value)))
        if code == 0:
            runtime.call("cudaDestroySurfaceObject", handle)
        runtime.call("cudaFreeArray", array)
        return code

    yield case("surfaces", map(surface, (0, 2)))


def flags(runtime):
    def of_device(given):
        told = C.c_uint()
        answer = runtime.code("cudaSetDeviceFlags", given), runtime.code("cudaGetDeviceFlags", C.byref(told)), told.value
        runtime.call("cudaSetDeviceFlags", 0)
        return answer

    yield case("of devices", map(of_device, [*range(64), 64, 65, 68, 128, 256, 1 << 31]))

    def made(name, gone, given):
        handle = C.c_void_p()
        code = runtime.code(name, C.byref(handle), given)
        if code == 0:
            runtime.call(gone, handle)
        return code

    yield case("of streams and events", ((made("cudaStreamCreateWithFlags", "cudaStreamDestroy", given), made("cudaEventCreateWithFlags", "cudaEventDestroy", given), runtime.code("cudaStreamWaitEvent", runtime.stream, runtime.event, given),
                                          runtime.code("cudaEventRecordWithFlags", runtime.event, runtime.stream, given)) for given in range(18)))

    def allocated(given):
        memory, told, device = C.c_void_p(), C.c_uint(), C.c_void_p()
        code = runtime.code("cudaHostAlloc", C.byref(memory), C.c_size_t(PAGE), given)
        if code != 0:
            return code
        return runtime.code("cudaHostGetFlags", C.byref(told), memory), told.value & ~1, runtime.code("cudaHostGetDevicePointer", C.byref(device), memory, 0), runtime.code("cudaHostGetDevicePointer", C.byref(device), memory, 1), runtime.code("cudaFreeHost", memory), runtime.code("cudaFreeHost", memory)

    def registered(given):
        memory, told, device = C.create_string_buffer(3 * PAGE), C.c_uint(), C.c_void_p()
        page = (C.addressof(memory) + PAGE - 1) & -PAGE
        register = lambda at, size: runtime.code("cudaHostRegister", C.c_void_p(at), C.c_size_t(size), given)
        return (register(page, PAGE), register(page, PAGE), register(page + 100, 10), runtime.code("cudaHostGetFlags", C.byref(told), C.c_void_p(page)), told.value, runtime.code("cudaHostGetDevicePointer", C.byref(device), C.c_void_p(page), 0),
                runtime.code("cudaHostUnregister", C.c_void_p(page + 1)), runtime.code("cudaHostUnregister", C.c_void_p(page)), runtime.code("cudaHostUnregister", C.c_void_p(page)))

    def managed(given):
        memory = C.c_void_p()
        code = runtime.code("cudaMallocManaged", C.byref(memory), C.c_size_t(100), given)
        return runtime.code("cudaFree", memory) if code == 0 else [code]

    yield case("of allocated memory", map(allocated, range(17)))
    yield case("of registered memory", map(registered, (*range(8), 16, 17, 32)))
    yield case("of managed memory", map(managed, range(8)))

    def priority(given):
        stream, told = C.c_void_p(), C.c_int()
        code = runtime.code("cudaStreamCreateWithPriority", C.byref(stream), 1, given)
        if code != 0:
            return code
        answer = runtime.code("cudaStreamGetPriority", stream, C.byref(told)), told.value
        runtime.call("cudaStreamDestroy", stream)
        return answer

    yield case("priorities", map(priority, range(-8, 6)))

    def bus_id(size):
        text = C.create_string_buffer(b"." * 31)
        return runtime.code("cudaDeviceGetPCIBusId", text, size, 0), len(text.value)

    yield case("bus ids", map(bus_id, range(1, 16)))


def cases(runtime):
    return [answer for group in (copies, fills, arrays, textures, flags) for answer in group(runtime)]


if __name__ == "__main__":
    sys.exit(recorded.main(sys.argv[1:], cases, "calls of the runtime", opened=Runtime, library="libcudart.so.13"))
