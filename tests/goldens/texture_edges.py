#!/usr/bin/env python3
"""Records what a driver samples from small textures at coordinates around and beyond their edges: every address mode and filter, coordinates
normalised or not, in one and two dimensions. Prints JSON: for each case the coordinates and results as the hexadecimal bits of .f32.

    texture_edges.py [LIBCUDA] > texture_edges.json
"""
import ctypes as C
import json
import struct
import sys

from descriptors import Array3D, Copy3D, Resource, Sampler

P, U, I, Z, H = C.c_void_p, C.c_uint, C.c_int, C.c_size_t, C.c_uint64
lib = C.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libcuda.so.1")
ADDRESS = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}


def check(name, *args):
    result = getattr(lib, name)(*args)
    if result:
        raise SystemExit(f"{name} answers {result}")


def kernel(dimensions):
    coordinates = {1: "{%x}", 2: "{%x, %y}"}[dimensions]
    return f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry sample(.param .u64 texture, .param .u64 coordinates, .param .u64 out, .param .u32 count)
{{
  .reg .pred %none; .reg .b32 %i, %n, %count; .reg .b64 %t, %c, %o; .reg .f32 %x, %y, %z, %r<4>;
  mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, 128, %n;
  ld.param.u32 %count, [count]; setp.ge.u32 %none, %i, %count; @%none exit;
  ld.param.u64 %t, [texture]; ld.param.u64 %c, [coordinates]; mad.wide.u32 %c, %i, 12, %c;
  ld.global.f32 %x, [%c]; ld.global.f32 %y, [%c+4]; ld.global.f32 %z, [%c+8];
  tex.{dimensions}d.v4.f32.f32 {{%r0, %r1, %r2, %r3}}, [%t, {coordinates}];
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, 8, %o; st.global.v2.f32 [%o], {{%r0, %r3}};
  ret;
}}
"""


def axis(size, unnormalised):
    """Coordinates in texels: sixteenths around the edges, coarser elsewhere, and steps of less than a weight's 1/256 beside an edge and a centre."""
    steps = [k / 16 for k in range(-24, 25)] + [size + k / 16 for k in range(-24, 25)] + [k / 2 for k in range(3, 2 * size - 2)] + [-3.25, -size, 2 * size + 0.25, -100.5, 100.5]
    for centre in (0.0, 0.5, -0.5, size - 0.5, size, size + 0.5, 1.5):
        steps += [centre + k / 1024 for k in range(-6, 7)]
    return [x if unnormalised else x / size for x in steps]


check("cuInit", 0)
device, context = I(), P()
check("cuDeviceGet", C.byref(device), 0)
check("cuDevicePrimaryCtxRetain", C.byref(context), device)
check("cuCtxSetCurrent", context)
name = C.create_string_buffer(256)
check("cuDeviceGetName", name, 256, device)
functions = {}
for dimensions in (1, 2):
    module, function = P(), P()
    check("cuModuleLoadData", C.byref(module), C.c_char_p(kernel(dimensions).encode()))
    check("cuModuleGetFunction", C.byref(function), module, b"sample")
    functions[dimensions] = function
cases = []
SIZES = {1: (8, 0, 0), 2: (4, 3, 0)}
for dimensions, address, linear, normalised in [(d, a, f, n) for d in SIZES for a in ADDRESS for f in (0, 1) for n in (0, 1)]:
    size = SIZES[dimensions]
    count = size[0] * max(size[1], 1)
    flat = struct.pack(f"{count}f", *[float(k * 37 % 64 * 4) for k in range(count)])
    array = P()
    texture_size = Array3D(*size, 0x20, 1, 0)
    check("cuArray3DCreate_v2", C.byref(array), C.byref(texture_size))
    copy = Copy3D()
    copy.srcType, copy.srcHost, copy.srcPitch, copy.srcHeight = 1, C.cast(C.c_char_p(flat), P), size[0] * 4, max(size[1], 1)
    copy.dstType, copy.dstArray = 3, array
    copy.width, copy.height, copy.depth = size[0] * 4, max(size[1], 1), 1
    check("cuMemcpy3D_v2", C.byref(copy))
    resource, texture = Resource(), Sampler()
    resource.union[0] = array.value
    texture.address[:] = [ADDRESS[address]] * 3
    texture.filter, texture.flags, texture.border[:] = linear, 2 * normalised, [1000.0, 2000.0, 3000.0, 4000.0]
    handle = H()
    check("cuTexObjectCreate", C.byref(handle), C.byref(resource), C.byref(texture), None)
    along = axis(size[0], not normalised)
    points = []
    for k, x in enumerate(along):
        scale = lambda d: 1.0 if not normalised else 1.0 / size[d]
        y = ((k * 7 % 29) / 4 - 1.5) * scale(1) if dimensions > 1 else 0.0
        points.append((x, y, 0.0))
    raw = struct.pack(f"{3 * len(points)}f", *[v for p in points for v in p])
    given, out = H(), H()
    check("cuMemAlloc_v2", C.byref(given), Z(len(raw)))
    check("cuMemAlloc_v2", C.byref(out), Z(8 * len(points)))
    check("cuMemcpyHtoD_v2", given, C.c_char_p(raw), Z(len(raw)))
    n = U(len(points))
    arguments = (P * 4)(*[C.addressof(a) for a in (handle, given, out, n)])
    check("cuLaunchKernel", functions[dimensions], (len(points) + 127) // 128, 1, 1, 128, 1, 1, 0, None, arguments, None)
    check("cuCtxSynchronize")
    got = C.create_string_buffer(8 * len(points))
    check("cuMemcpyDtoH_v2", got, out, Z(8 * len(points)))
    bits = lambda data: [f"{w:08x}" for w in struct.unpack(f"{len(data) // 4}I", data)]
    words = bits(raw)
    cases.append({"size": list(size[:dimensions]), "address": address, "linear": bool(linear), "normalized": bool(normalised), "texels": bits(flat),
                  "coordinates": ["".join(words[3 * k:3 * k + dimensions]) for k in range(len(points))], "results": bits(got.raw)[::2]})
print('{"device":' + json.dumps(name.value.decode()) + ',"border":1000.0,"cases":[')
print(",\n".join(json.dumps(case, separators=(",", ":")) for case in cases))
print("]}")
