#!/usr/bin/env python3
"""Records what texture instructions read (PTX ISA 9.7.10.3 and 9.7.10.4) from textures of all shapes and of channels of each kind, with mip levels and without, at places inside and
outside, at places and levels that are NaN, infinite, huge, tiny or subnormal, and of texels that are so; and by which level gradients in one, two and three dimensions are answered.
Prints JSON: for each case a digest of all results, and the first.

Not here: directions' gradients, gradients in three dimensions at places that are no numbers, and samples along gradients, for which ours are near the hardware's only; and whole
coordinates in one dimension, where an H200 reads nothing. Sums over two levels or slices are few, as of 15,000 one has another last bit, and texels that are no numbers or infinite are not
interpolated: of 5,000 one result is another.

    texture_forms.py [LIBCUDA] > texture_forms.json
    texture_forms.py --check texture_forms.json [LIBCUDA]
"""
import ctypes as C
import random
import struct
import sys

import recorded
from descriptors import Array3D, Copy3D, Resource, Sampler

THREADS = 64
# Value of CUarray_format, bytes, and the letter of struct.
FORMATS = {"u8": (1, 1, "B"), "u16": (2, 2, "H"), "u32": (3, 4, "I"), "s8": (8, 1, "b"), "s16": (9, 2, "h"), "s32": (10, 4, "i"), "f16": (0x10, 2, "e"), "f32": (0x20, 4, "f")}
INTEGERS, NORMALIZED, SRGB = 1, 2, 16
LAYERED, CUBEMAP, GATHER = 1, 4, 8
NAN, INFINITY = float("nan"), float("inf")
PLACES = [NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e10, -1e10, 3e38, -3e38, 1e-40, -1e-40, 1.2e-38, -1.2e-38, 2.0**31, -2.0**31, 2.0**127, 8388608.5, 0.999999, -1e-6]


class Shape:
    def __init__(self, geometry, size, levels=1):
        self.geometry, self.size, self.levels = geometry, size, levels
        self.is_cube, self.is_layered = geometry.endswith("cube"), geometry.startswith("a")
        self.dimensions = 3 if self.is_cube else int(geometry[-2])

    def flags(self, operation):
        return LAYERED * self.is_layered | CUBEMAP * self.is_cube | GATHER * (operation.startswith("tld4") and self.geometry == "2d")

    def of_level(self, level):
        """Width, height and slices."""
        width, height, depth = self.size
        slices = max(depth >> level, 1) if self.geometry == "3d" else max(depth, 1)
        return max(width >> level, 1), max(height >> level, 1), slices


SHAPES = {"1d": Shape("1d", (13, 0, 0)), "2d": Shape("2d", (8, 6, 0)), "3d": Shape("3d", (5, 4, 3)), "a1d": Shape("a1d", (9, 0, 3)), "a2d": Shape("a2d", (6, 4, 3)),
          "cube": Shape("cube", (4, 4, 6)), "acube": Shape("acube", (4, 4, 12)), "mip 1d": Shape("1d", (16, 0, 0), 5), "mip 2d": Shape("2d", (13, 7, 0), 4),
          "mip 3d": Shape("3d", (8, 8, 4), 4), "mip a2d": Shape("a2d", (8, 8, 3), 4), "mip cube": Shape("cube", (8, 8, 6), 4)}
# Format, channels, flags.
CHANNELS = [("f32", 1, 0), ("f32", 4, 0), ("f16", 4, 0), ("u8", 4, 0), ("u8", 4, SRGB), ("s8", 2, 0), ("u16", 1, 0), ("s16", 4, 0), ("u8", 4, INTEGERS), ("s32", 2, INTEGERS)]


def operations(shape):
    if shape.levels > 1:
        return ["tex.level", "tex", "tex.base"] + ["tex.grad"] * (not shape.is_cube)
    gathers = ["tld4.r", "tld4.g"] if shape.geometry not in ("1d", "3d", "a1d") else []
    return ["tex"] + gathers + ["offset"] * (not shape.is_cube)


def kinds():
    number = 0
    for name, shape in SHAPES.items():
        for operation in operations(shape):
            for channels in CHANNELS:
                for linear in (0, 1):
                    if channels[2] & INTEGERS and linear:
                        continue
                    for special in (0, 1):
                        if special and operation == "tex.grad" and shape.dimensions == 3:
                            continue
                        number += 1
                        address = 1 if shape.is_cube else number % 4
                        normalized = shape.levels > 1 or shape.is_cube or number % 3 > 0
                        # Sums over levels of colours have other last bits more often.
                        between = shape.levels > 1 and number % 5 == 0 and not channels[2] & (INTEGERS | SRGB)
                        yield {"shape": name, "operation": operation, "channels": channels, "linear": linear, "address": address, "normalized": int(normalized), "between": int(between),
                               "special": special, "bias": [0.0, 0.3, -0.6][number % 3] * (shape.levels > 1), "clamp": [0.0, 1.6] if number % 7 == 0 else [0.0, 9.0]}


def instruction(kind):
    geometry = SHAPES[kind["shape"]].geometry
    place = {"1d": "{%x}", "2d": "{%x, %y}", "3d": "{%x, %y, %z, %z}", "a1d": "{%l, %x}", "a2d": "{%l, %x, %y, %y}", "cube": "{%x, %y, %z, %z}", "acube": "{%l, %x, %y, %z}"}[geometry]
    steps = [{"1d": f"{{%{s}0}}", "2d": f"{{%{s}0, %{s}1}}", "3d": f"{{%{s}0, %{s}1, %{s}2, %{s}2}}"}.get(geometry.lstrip("a")) for s in "gh"]
    offset = {"1d": "{-2}", "2d": "{3, -5}", "3d": "{1, 2, -3, 0}", "a1d": "{-2}", "a2d": "{3, -5}"}.get(geometry)
    name, behind = {"offset": ("tex", f", {offset}"), "tex.level": ("tex.level", ", %level"), "tex.grad": ("tex.grad", f", {steps[0]}, {steps[1]}")}.get(kind["operation"], (kind["operation"], ""))
    return f"{name}.{geometry}.v4.{result(kind)}.f32 {{%r0, %r1, %r2, %r3}}, [%t, {place}]{behind};"


def result(kind):
    return {"u": "u32", "s": "s32"}[kind["channels"][0][0]] if kind["channels"][2] & INTEGERS else "f32"


def text(instruction, type):
    # Of each thread: the place, the layer, the level, and two gradients.
    return f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 texture, .param .u64 places, .param .u64 out)
{{
  .reg .b32 %i, %l; .reg .b64 %t, %c, %o; .reg .f32 %x, %y, %z, %level, %g<3>, %h<3>; .reg .{type} %r<4>;
  mov.u32 %i, %ctaid.x; mov.u32 %l, %ntid.x; mul.lo.u32 %i, %i, %l; mov.u32 %l, %tid.x; add.u32 %i, %i, %l;
  ld.param.u64 %t, [texture]; ld.param.u64 %c, [places]; mad.wide.u32 %c, %i, 44, %c;
  ld.global.f32 %x, [%c]; ld.global.f32 %y, [%c+4]; ld.global.f32 %z, [%c+8]; ld.global.u32 %l, [%c+12]; ld.global.f32 %level, [%c+16];
  ld.global.f32 %g0, [%c+20]; ld.global.f32 %g1, [%c+24]; ld.global.f32 %g2, [%c+28]; ld.global.f32 %h0, [%c+32]; ld.global.f32 %h1, [%c+36]; ld.global.f32 %h2, [%c+40];
  {instruction}
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %i, 16, %o; st.global.v4.b32 [%o], {{%r0, %r1, %r2, %r3}};
  ret;
}}
"""


def texels(numbers, format, count, special, levels):
    """Sums of huge numbers over levels have other last bits."""
    _, size, letter = FORMATS[format]
    if format == "s16":
        return struct.pack(f"{count}h", *[-32768 if numbers.random() < 0.2 else numbers.randrange(-32768, 32768) for _ in range(count)])
    if format[0] != "f":
        return bytes(numbers.randrange(256) for _ in range(count * size))
    tiny, huge = (1e-40, 1e38) if format == "f32" else (6e-8, 60000.0)
    odd = [NAN, INFINITY, -INFINITY, 0.0, -0.0, tiny] + [huge, -huge] * (levels == 1)
    return b"".join(struct.pack(letter, numbers.choice(odd) if special and numbers.random() < 0.2 else numbers.random() * 8 - 4) for _ in range(count))


def thread(numbers, shape, normalized, special):
    """Words of a thread."""
    place = []
    for size in (max(size, 1) for size in shape.size):
        at = numbers.random() * 2 - 1
        if not shape.is_cube:
            at = (numbers.random() * 4.3 - 1.6) * size if numbers.random() < 0.6 else numbers.randrange(-2 * size, 3 * size + 1) / 2
            at = at / size if normalized else at
        place.append(numbers.choice(PLACES) if special and numbers.random() < 0.6 else at)
    layer = numbers.choice([0, 1, 2, 3, 5, 0xffffffff, 0x7fffffff, 0x80000000])
    level = numbers.choice(PLACES) if special and numbers.random() < 0.4 else numbers.random() * (shape.levels + 2) - 1.5
    gradients = [(numbers.random() * 2 - 1) * 2.0**(numbers.random() * 9 - 6) / max(size, 1) for size in 2 * shape.size]
    gradients = [numbers.choice(PLACES) if special and numbers.random() < 0.2 else step for step in gradients]
    return struct.pack("3fIf6f", *place, layer, level, *gradients)


class Texture:
    """A texture object with its array, whose levels hold what `fill` gives for a number of channels and the level's number."""

    def __init__(self, driver, shape, format, channels, fill, flags, sampler):
        self.driver, self.is_mipmap, self.array, self.handle = driver, shape.levels > 1, C.c_void_p(), C.c_uint64()
        value, bytes_, _ = FORMATS[format]
        whole = Array3D(*shape.size, value, channels, flags)
        if self.is_mipmap:
            driver.call("cuMipmappedArrayCreate", C.byref(self.array), C.byref(whole), C.c_uint(shape.levels))
        else:
            driver.call("cuArray3DCreate_v2", C.byref(self.array), C.byref(whole))
        for number in range(shape.levels):
            level = C.c_void_p(self.array.value)
            if self.is_mipmap:
                driver.call("cuMipmappedArrayGetLevel", C.byref(level), self.array, C.c_uint(number))
            width, height, slices = shape.of_level(number)
            data = fill(width * height * slices * channels, number)
            copy, source = Copy3D(), C.create_string_buffer(data, len(data))
            copy.srcType, copy.srcHost, copy.srcPitch, copy.srcHeight = 1, C.cast(source, C.c_void_p), width * channels * bytes_, height
            copy.dstType, copy.dstArray = 3, level
            copy.width, copy.height, copy.depth = width * channels * bytes_, height, slices
            driver.call("cuMemcpy3D_v2", C.byref(copy))
        resource = Resource(type=int(self.is_mipmap))
        resource.union[0] = self.array.value
        driver.call("cuTexObjectCreate", C.byref(self.handle), C.byref(resource), C.byref(sampler), None)

    def give_back(self):
        self.driver.call("cuTexObjectDestroy", self.handle)
        self.driver.call("cuMipmappedArrayDestroy" if self.is_mipmap else "cuArrayDestroy", self.array)


def answers(driver, texture, instruction, type, threads):
    """What is kept of the results of threads."""
    data = b"".join(threads)
    given, out = driver.memory(len(data)), driver.memory(16 * len(threads))
    driver.call("cuMemcpyHtoD_v2", given, data, C.c_size_t(len(data)))
    function, module = driver.kernel(text(instruction, type))
    driver.run(function, len(threads), texture.handle, given, out)
    kept = digest(driver, out, 4 * len(threads), type == "f32")
    driver.call("cuModuleUnload", module)
    driver.call("cuMemFree_v2", given)
    driver.call("cuMemFree_v2", out)
    return kept


def digest(driver, out, words, floats):
    """Of results, of which NaN may have any bits."""
    if floats:
        results = (C.c_uint32 * words)()
        driver.call("cuMemcpyDtoH_v2", results, out, C.c_size_t(4 * words))
        same = (C.c_uint32 * words)(*[0x7fffffff if word & 0x7fffffff > 0x7f800000 else word for word in results])
        driver.call("cuMemcpyHtoD_v2", out, same, C.c_size_t(4 * words))
    return driver.digest(out, words)


def forms(driver):
    for seed, kind in enumerate(kinds()):
        shape, (format, channels, flags) = SHAPES[kind["shape"]], kind["channels"]
        numbers = random.Random(seed)
        sampler = Sampler(filter=kind["linear"], flags=flags | NORMALIZED * kind["normalized"], mip=kind["between"], bias=kind["bias"], low=kind["clamp"][0], high=kind["clamp"][1])
        sampler.address[:], sampler.border[:] = [kind["address"]] * 3, [0.25, -2.0, 0.75, 3.0]
        texture = Texture(driver, shape, format, channels, lambda count, _: texels(numbers, format, count, kind["special"] and not kind["linear"], shape.levels), shape.flags(kind["operation"]), sampler)
        # Of what may have another last bit there is less.
        count = THREADS // 8 if kind["linear"] and (kind["between"] or shape.dimensions == 3 and not shape.is_cube) else THREADS
        threads = [thread(numbers, shape, kind["normalized"], kind["special"]) for _ in range(count)]
        yield {**kind, **answers(driver, texture, instruction(kind), result(kind), threads)}
        texture.give_back()


# For levels: shapes, of which each level holds its own number.
LEVELS = {"1d": Shape("1d", (4096, 0, 0), 13), "odd 1d": Shape("1d", (3001, 0, 0), 12), "2d": Shape("2d", (512, 256, 0), 10), "odd 2d": Shape("2d", (333, 411, 0), 9),
          "3d": Shape("3d", (64, 32, 64), 7), "odd 3d": Shape("3d", (61, 33, 27), 6)}


def levels(driver):
    for seed, (name, shape) in enumerate(LEVELS.items()):
        sampler = Sampler(filter=1, flags=NORMALIZED, mip=1, bias=3.0, low=0.0, high=99.0)
        sampler.address[:] = [1, 1, 1]
        texture = Texture(driver, shape, "f32", 1, lambda count, number: struct.pack("f", number) * count, 0, sampler)
        for spread in (0, 2, 6):
            numbers = random.Random(seed)
            gradients = [[(numbers.random() * 2 - 1) * 2.0**(numbers.randrange(spread + 1) + 1) / max(size, 1) for size in 2 * shape.size] for _ in range(1024)]
            threads = [struct.pack("3fIf6f", 0.5, 0.5, 0.5, 0, 0.0, *steps) for steps in gradients]
            yield {"levels": name, "spread": spread, **answers(driver, texture, instruction({"shape": shape.geometry, "operation": "tex.grad", "channels": CHANNELS[0]}), "f32", threads)}
        texture.give_back()


def cases(driver):
    return [*forms(driver), *levels(driver)]


if __name__ == "__main__":
    sys.exit(recorded.main(sys.argv[1:], cases, "textures"))
