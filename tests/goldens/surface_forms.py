#!/usr/bin/env python3
"""Records what surface instructions read and leave (PTX ISA 9.7.11): `suld.b`, `sust.b`, `sust.p`, `sured.b` and `sured.p` of every width and operation, on surfaces of all shapes and of
texels of every size and kind, with `.clamp` and `.zero`, at places inside and far outside, of values that are large, tiny, infinite and NaN. Prints JSON: for each surface a digest of what
each instruction did; `refused` is one that does not load.

Not here: bytes of rows that are no multiple of the access, and places outside with `.trap`, which end the context.

    surface_forms.py [LIBCUDA] > surface_forms.json
    surface_forms.py --check surface_forms.json [LIBCUDA]
"""
import ctypes as C
import hashlib
import random
import struct
import sys

import recorded
from descriptors import Array3D, Copy3D, Resource

LOADS, STORES = 32, 8
SIZES = {"1d": (13, 0, 0), "2d": (7, 5, 0), "3d": (5, 4, 3), "a1d": (9, 0, 3), "a2d": (6, 4, 3)}
PLACES = {"1d": "{%x}", "2d": "{%x, %y}", "3d": "{%x, %y, %z, %z}", "a1d": "{%l, %x}", "a2d": "{%l, %x, %y, %y}"}
# Value of CUarray_format, channels, and bytes of a texel; of fractions each number of channels has a value.
TEXELS = {"u8": (1, 1, 1), "u8x2": (1, 2, 2), "u8x4": (1, 4, 4), "s8x4": (8, 4, 4), "u16": (2, 1, 2), "u16x4": (2, 4, 8), "s16x2": (9, 2, 4), "u32": (3, 1, 4), "u32x2": (3, 2, 8), "u32x4": (3, 4, 16),
          "s32": (10, 1, 4), "s32x4": (10, 4, 16), "f16": (0x10, 1, 2), "f16x4": (0x10, 4, 8), "f32": (0x20, 1, 4), "f32x2": (0x20, 2, 8), "f32x4": (0x20, 4, 16), "unorm8": (0xc0, 1, 1),
          "unorm8x4": (0xc2, 4, 4), "snorm8x2": (0xc7, 2, 2), "unorm16x4": (0xc5, 4, 8), "snorm16x4": (0xcb, 4, 8), "unorm10x3, unorm2": (0x50, 4, 4)}
LAYERED, LOAD_STORE = 1, 2
VALUES = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0xffffff80, 0xffffff7f, 0xffff8000, 0xffff7fff, 0x3f800000, 0xbf800000, 0x3f000000,
          0x3effffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x477fe000, 0x477fefff, 0x477ff000, 0xc77ff000, 0x33000000, 0x33000001, 0x387fc000, 0x387fe000, 0x80000001,
          0x007fffff, 0x3b008081, 0x3f7f0000, 0x3f7fffff, 0x3f800001, 0x40000000, 0xbf7f0000, 0xbf000000, 0x3b800000, 0x3b000000]
OUTSIDE = [-2**31, -2**30, -2**28, -65536, -17, -16, -9, -8, -7, -4, -3, -2, -1, 65536, 2**28, 2**30, 2**31 - 1]
LAYERS = [0, 1, 2, 3, 5, 0xffff, 0x10001, 0xffffffff, 0x7fffffff, 0x80000000]


class Form:
    """An instruction, with how many of which elements it has, and in bytes what its first coordinate is a multiple of."""

    def __init__(self, name, bits, elements=1, type=None):
        self.name, self.bits, self.elements, self.type = name, bits, elements, type or f"b{bits}"
        self.step = 1 if ".p" in name else bits // 8 * elements

    def text(self, shape, clamp):
        registers = [f"%{ {8: 'h', 16: 'h', 32: 'r', 64: 'd'}[self.bits]}{element}" for element in range(self.elements)]
        value = registers[0] if self.elements == 1 else "{" + ", ".join(registers) + "}"
        vector = f".v{self.elements}" if self.elements > 1 else ""
        place = f"[%s, {PLACES[shape]}]"
        mnemonic = f"{self.name}.{shape}{vector}.{self.type}.{clamp}"
        if self.name != "suld.b":
            return f"{mnemonic} {place}, {value};"
        # What was loaded goes to the words that are kept.
        kept = {8: "cvt.u32.u16 %r{0}, %h{0};", 16: "cvt.u32.u16 %r{0}, %h{0};", 32: "", 64: "mov.b64 {{%r{1}, %r{2}}}, %d{0};"}[self.bits]
        return f"{mnemonic} {value}, {place}; " + " ".join(kept.format(element, 2 * element, 2 * element + 1) for element in range(self.elements))


WIDTHS = [(bits, elements) for bits in (8, 16, 32, 64) for elements in (1, 2, 4) if bits * elements <= 128]
FORMS = [Form("suld.b", *width) for width in WIDTHS] + [Form("sust.b", *width) for width in WIDTHS] + [Form("sust.p", 32, elements) for elements in (1, 2, 4)]
FORMS += [Form(f"sured.b.{operation}", int(type[1:]), type=type) for operation, types in (("add", ("u32", "s32", "u64")), ("min", ("u32", "s32", "u64", "s64")), ("max", ("u32", "s32", "u64", "s64")),
                                                                                     ("and", ("b32", "b64")), ("or", ("b32", "b64"))) for type in types]
FORMS += [Form(f"sured.p.{operation}", bits) for operation, widths in (("add", (32,)), ("min", (32, 64)), ("max", (32, 64)), ("and", (32,)), ("or", (32,))) for bits in widths]


def text(instruction):
    # Of each thread: a surface, a place, a layer, and four words.
    return f"""
.version 8.6
.target sm_80
.address_size 64
.visible .entry k(.param .u64 surfaces, .param .u64 places, .param .u64 out)
{{
  .reg .b32 %i, %x, %y, %z, %l, %r<4>; .reg .b64 %s, %c, %o, %d<2>; .reg .b16 %h<4>;
  mov.u32 %i, %tid.x;
  ld.param.u64 %s, [surfaces]; mad.wide.u32 %s, %i, 8, %s; ld.global.u64 %s, [%s];
  ld.param.u64 %c, [places]; mad.wide.u32 %c, %i, 32, %c;
  ld.global.v4.b32 {{%x, %y, %z, %l}}, [%c]; ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%c+16];
  mov.b64 %d0, {{%r0, %r1}}; mov.b64 %d1, {{%r2, %r3}};
  cvt.u16.u32 %h0, %r0; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.u16.u32 %h3, %r3;
  {instruction}
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, 16, %o; st.global.v4.b32 [%o], {{%r0, %r1, %r2, %r3}};
  ret;
}}
"""


class Surface:
    """A surface object with its array."""

    def __init__(self, driver, shape, texel):
        self.driver, self.array, self.handle = driver, C.c_void_p(), C.c_uint64()
        format, channels, bytes_ = TEXELS[texel]
        size = SIZES[shape]
        self.row, self.height, self.depth = size[0] * bytes_, max(size[1], 1), max(size[2], 1)
        whole = Array3D(*size, format, channels, LOAD_STORE | LAYERED * shape.startswith("a"))
        driver.call("cuArray3DCreate_v2", C.byref(self.array), C.byref(whole))
        resource = Resource()
        resource.union[0] = self.array.value
        driver.call("cuSurfObjectCreate", C.byref(self.handle), C.byref(resource))
        self.host = C.create_string_buffer(self.row * self.height * self.depth)
        self.copies = [Copy3D(width=self.row, height=self.height, depth=self.depth) for _ in range(2)]
        for side, copy in zip(("src", "dst"), self.copies):
            for name, value in (("Type", 1), ("Host", C.cast(self.host, C.c_void_p)), ("Pitch", self.row), ("Height", self.height)):
                setattr(copy, side + name, value)
        self.copies[0].dstType, self.copies[0].dstArray = 3, self.array
        self.copies[1].srcType, self.copies[1].srcArray = 3, self.array

    def put(self, data):
        self.host.raw = data
        self.driver.call("cuMemcpy3D_v2", C.byref(self.copies[0]))

    def get(self):
        self.driver.call("cuMemcpy3D_v2", C.byref(self.copies[1]))
        return self.host.raw

    def give_back(self):
        self.driver.call("cuSurfObjectDestroy", self.handle)
        self.driver.call("cuArrayDestroy", self.array)


def thread(numbers, surface, form, shape):
    """Words of a thread."""
    row = surface.row // form.step
    near = [row + by for by in (-17, -16, -9, -8, -5, -4, -3, -2, -1, 0, 1, 3, 4, 8, 16)]
    x = numbers.choice(OUTSIDE + near) if numbers.random() < 0.5 else numbers.randrange(max(row, 1))
    x = x * form.step if abs(x) < 2**16 else x // form.step * form.step
    _, height, depth = SIZES[shape]
    y, z = [numbers.choice([-2**31, -2, -1, size - 1, size, 65536, 2**31 - 1]) if numbers.random() < 0.3 else numbers.randrange(max(size, 1)) for size in (height, depth)]
    layer = numbers.choice(LAYERS) if numbers.random() < 0.4 else numbers.randrange(max(depth, 1))
    values = [numbers.choice(VALUES) if numbers.random() < 0.7 else numbers.randrange(2**32) for _ in range(4)]
    return struct.pack("3i5I", x, y, z, layer, *values)


def cases(driver):
    functions, surfaces, places, out = {}, driver.memory(8 * LOADS), driver.memory(32 * LOADS), driver.memory(16 * LOADS)

    def function(instruction):
        """The kernel of an instruction; None where there is none."""
        if instruction not in functions:
            module, kernel = C.c_void_p(), C.c_void_p()
            loads = driver.library.cuModuleLoadData(C.byref(module), text(instruction).encode()) == 0
            if loads:
                driver.call("cuModuleGetFunction", C.byref(kernel), module, b"k")
            functions[instruction] = kernel if loads else None
        return functions[instruction]

    def answer(numbers, form, shape, clamp, own):
        """What is kept of what an instruction does: loads to what they read, and others to surfaces, of which each thread has one."""
        kernel = function(form.text(shape, clamp))
        if kernel is None:
            return "refused"
        count = LOADS if form.name == "suld.b" else STORES
        threads = b"".join(thread(numbers, own[0], form, shape) for _ in range(count))
        driver.call("cuMemcpyHtoD_v2", places, threads, C.c_size_t(len(threads)))
        handles = struct.pack(f"{count}Q", *[own[at % STORES].handle.value for at in range(count)])
        driver.call("cuMemcpyHtoD_v2", surfaces, handles, C.c_size_t(len(handles)))
        data = [numbers.randbytes(len(surface.host)) for surface in own]
        for surface, bytes_ in zip(own, data):
            surface.put(bytes_)
        driver.run(kernel, count, surfaces, places, out)
        results = C.create_string_buffer(16 * count)
        driver.call("cuMemcpyDtoH_v2", results, out, C.c_size_t(16 * count))
        left = b"".join(surface.get() for surface in own)
        return hashlib.sha256(results.raw + left).hexdigest()[:8]

    def answers(shape, texel, clamp):
        numbers, own = random.Random(f"{shape} {texel} {clamp}"), [Surface(driver, shape, texel) for _ in range(STORES)]
        found = {f"{form.name} v{form.elements} {form.type}": answer(numbers, form, shape, clamp, own) for form in FORMS}
        for surface in own:
            surface.give_back()
        return found

    return [{"surface": f"{shape} of {texel}", "outside": clamp, **answers(shape, texel, clamp)} for shape in SIZES for texel in TEXELS for clamp in ("clamp", "zero")]


if __name__ == "__main__":
    sys.exit(recorded.main(sys.argv[1:], cases, "surfaces"))
