"""Tensor copies (PTX ISA 5.5, 9.7.9.25.5) and what changes tensor maps (9.7.9.26, 9.7.9.27)."""
import itertools
import operator
import random
import struct
import zlib

from bulk import bf16, pack, tiny
from cases import Case, WORDS
from ptx import *

TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"]      # CUtensorMapDataType
BYTES = {"u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f64": 8, "bf16": 2, "f32_ftz": 4, "tf32": 4, "tf32_ftz": 4}
BYTEMAP = bytes((index * 7 + index // 256 * 13) & 0xff for index in range(65536))


def tiled(ty, dims, box, strides=None, steps=None, interleave=0, swizzle=0, promotion=0, fill=0, offset=0):
    """Arguments of cuTensorMapEncodeTiled; without `strides` the tensor is dense."""
    if strides is None:
        strides, size = [], dims[0] * BYTES[ty]
        for dim in dims[1:]:
            size = (size + 15) // 16 * 16
            strides.append(size)
            size *= dim
    return dict(rank=len(dims), dtype=TYPES.index(ty), dims=list(dims), strides=strides, box=list(box), steps=list(steps or [1] * len(dims)), interleave=interleave, swizzle=swizzle, promotion=promotion, fill=fill, offset=offset)


def im2col(ty, dims, lower, upper, channels, pixels, **rest):
    spec = tiled(ty, dims, [1], **rest)
    del spec["box"]
    return dict(spec, lower=list(lower), upper=list(upper), channels=channels, pixels=pixels)


def coordinates(values):
    names = [f"%r{index}" for index in range(len(values))]
    return [f"mov.u32 {name}, {value};" for name, value in zip(names, values)], "{" + ", ".join(names) + "}"


def offsets(values):
    return [f"mov.b16 %h{index}, {value};" for index, value in enumerate(values)], "{" + ", ".join(f"%h{index}" for index in range(len(values))) + "}"


def loading(spec, at, size, im=None, target=0, bytes_=None, text=""):
    moves, vector = coordinates(at)
    mode, more = ".tile", ""
    if im is not None:
        extra, list_ = offsets(im)
        moves, mode, more = moves + extra, ".im2col", f", {list_}"
    op = f"cp.async.bulk.tensor.{spec['rank']}d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes [%buf+{target}], [%map, {vector}], [%bar]{more};"
    return kernel(fill(size) + INIT + one(*moves, f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {bytes_};", op) + wait() + text + dump(size), size=size)


def box_bytes(spec):
    count = 1
    if "box" in spec:
        for index, (box, step) in enumerate(zip(spec["box"], spec["steps"])):
            count *= -(-box // step) if index or spec["interleave"] else box
    else:
        count = spec["channels"] * spec["pixels"]
    return count * (16 * spec["interleave"] if spec["interleave"] else BYTES[TYPES[spec["dtype"]]])


def load_case(name, spec, at, im=None, target=0, source=WORDS, size=None):
    count = box_bytes(spec)
    size = size or max(256, (count + target + 1023) // 1024 * 1024)
    return Case(f"tensor load, {name}", loading(spec, at, size, im, target, count), out=size, input=source, maps=(("in", spec),))


def tiles():
    yield load_case("1d u8", tiled("u8", [200], [64]), [0], source=BYTEMAP)
    yield load_case("1d u8 at no multiple of 16 bytes", tiled("u8", [200], [64]), [24], source=BYTEMAP)
    yield load_case("1d u8 over the end", tiled("u8", [200], [64]), [160], source=BYTEMAP)
    yield load_case("1d u8 before the start", tiled("u8", [200], [64]), [-16], source=BYTEMAP)
    yield load_case("1d u8 all outside", tiled("u8", [200], [64]), [320], source=BYTEMAP)
    yield load_case("1d f64 of 256", tiled("f64", [1000], [256]), [4])
    for ty in TYPES:
        yield load_case(f"2d {ty}", tiled(ty, [48, 20], [16, 8]), [16, 3], source=BYTEMAP)
    dims, box = [20, 9, 7, 5, 3], [8, 4, 3, 2, 2]
    for rank in range(1, 6):
        inside, over, before = [4, 3, 2, 1, 1][:rank], [16, 7, 6, 4, 2][:rank], [-4, -2, -1, -1, -1][:rank]
        for place, at in (("inside", inside), ("over the end", over), ("before the start", before)):
            if (rank, place) == (5, "over the end"):
                continue      # the end is beyond that of the input
            yield load_case(f"{rank}d u32 {place}", tiled("u32", dims[:rank], box[:rank]), at)
    yield load_case("2d u32 with a pitch", tiled("u32", [20, 30], [12, 5], strides=[112]), [12, 4])
    yield load_case("2d u32 overlapping rows", tiled("u32", [20, 30], [12, 5], strides=[16]), [0, 4])
    yield load_case("2d u32 at an offset", tiled("u32", [20, 30], [12, 5], offset=4096), [12, 27])


def strides():
    for steps in ([1, 2], [1, 3], [2, 1], [1, 8]):
        yield load_case(f"2d u32, element strides {steps}", tiled("u32", [40, 40], [16, 16], steps=steps), [4, 3])
        yield load_case(f"2d u32, element strides {steps}, over the end", tiled("u32", [40, 40], [16, 16], steps=steps), [32, 30])
        yield load_case(f"2d u32, element strides {steps}, before the start", tiled("u32", [40, 40], [16, 16], steps=steps), [-8, -5])
    yield load_case("3d u16, element strides", tiled("u16", [24, 20, 20], [8, 9, 10], steps=[1, 2, 3]), [8, 3, 5])


def swizzles():
    for swizzle, span in ((1, 32), (2, 64), (3, 128)):
        for ty in ("u8", "u16", "u32", "u64"):
            inner = span // BYTES[ty]
            yield load_case(f"2d {ty}, swizzle {span}", tiled(ty, [inner * 2, 40], [inner, 24], swizzle=swizzle), [16 // BYTES[ty], 5], source=BYTEMAP)
        inner = span // 4
        yield load_case(f"2d u32, swizzle {span}, half the span", tiled("u32", [inner * 2, 40], [inner // 2, 24], swizzle=swizzle), [4, 5], size=8192)
        yield load_case(f"3d u32, swizzle {span}", tiled("u32", [inner * 2, 10, 12], [inner, 3, 5], swizzle=swizzle), [4, 5, 2])
        for target in (128, 256, 512):
            yield load_case(f"2d u32, swizzle {span}, target at {target}", tiled("u32", [inner * 2, 40], [inner, 24], swizzle=swizzle), [4, 5], target=target)
        yield load_case(f"2d u32, swizzle {span}, over the end", tiled("u32", [inner * 2, 40], [inner, 24], swizzle=swizzle), [inner + 4, 30])


def counting(spec, at, candidates, size=16384, im=None):
    """A load for each number of bytes that an mbarrier may come to count; which of them it is stands behind the last part."""
    moves, vector = coordinates(at)
    extra, list_ = offsets(im or [])
    moves, mode, more = moves + extra, ".tile" if im is None else ".im2col", "" if im is None else f", {list_}"
    op = f"cp.async.bulk.tensor.{spec['rank']}d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes [%buf], [%map, {vector}], [%bar+BAR]{more};"
    bars = [f"mbarrier.init.shared::cta.b64 [%bar+{8 * index}], 1;" for index in range(len(candidates))]
    copies = [line for index, bytes_ in enumerate(candidates) for line in (f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar+{8 * index}], {bytes_};", op.replace("BAR", str(8 * index)))]
    tests = [line for index in range(len(candidates)) for line in (f"mbarrier.test_wait.parity.shared::cta.b64 %p, [%bar+{8 * index}], 0;", f"selp.u32 %r20, {1 << index}, 0, %p;", "or.b32 %r21, %r21, %r20;")]
    return kernel(fill(size) + one(*bars, "fence.mbarrier_init.release.cluster;", "fence.proxy.async;") + "  bar.sync 0;\n" + one(*moves, "mov.u32 %r21, 0;", *copies, "nanosleep.u32 200000;", *tests, f"st.shared.u32 [%buf+{size - 4}], %r21;")
                  + "  bar.sync 0;\n" + dump(size), size=size)


def counted(name, spec, at, candidates, im=None):
    # As bytes come in pieces, other numbers than the right one may be met on the way: which ones differs from run to run.
    return Case(f"tensor load, {name}", counting(spec, at, candidates, im=im), out=16384, maps=(("in", spec),), compared=16380)


def interleaved():
    # NC/8HWC8
    for interleave, swizzle in ((1, 0), (2, 1)):
        unit = 16 * interleave
        dense = lambda dims: dict(strides=[unit * dims[0], unit * dims[0] * dims[1], unit * dims[0] * dims[1] * dims[2]][:len(dims) - 1])
        for ty, inner in (("u16", 8), ("u16", 16), ("u32", 4), ("u8", 16)):
            dims, box = [20, 6, 5], [inner, 2, 2]
            slices, elements = inner * 2 * 2, inner * 2 * 2 * BYTES[ty]
            spec = tiled(ty, dims, box, interleave=interleave, swizzle=swizzle, **dense(dims))
            yield counted(f"3d {ty} of {inner}, interleave {unit}", spec, [2, 3, 1], [elements, slices * unit, elements * 2, 4 * unit])
            yield counted(f"3d {ty} of {inner}, interleave {unit}, over the end", spec, [16, 5, 4], [elements, slices * unit, elements * 2, 4 * unit])


def slices():
    """Boxes of several slices of channels: one is copied."""
    for (interleave, swizzle), ty, channels, rank, step in itertools.product(((1, 0), (2, 1)), ("u8", "u16", "u32", "u64"), (3, 9, 16, 33), (3, 4), (1, 2)):
        unit, dims, box = 16 * interleave, [16, 64, 2] if rank == 3 else [16, 3, 20, 2], [max(16 // BYTES[ty], 1), channels, 2] if rank == 3 else [max(16 // BYTES[ty], 1), 2, channels, 1]
        steps = [1] * (rank - 2) + [step, 1]
        spec = tiled(ty, dims, box, interleave=interleave, swizzle=swizzle, strides=whole(unit, dims), steps=steps)
        yield counted(f"{rank}d {ty}, interleave {unit}, {channels} channels, element stride {step}", spec, [0] * rank, [unit * box[0] * 2, unit * box[0] * 4])


FLOATING = pack("f", [0.0, -0.0, 1.0, 1.0000001, 1.00048828125, 1.0009765625, 1.0014648, 3.14159265, -3.14159265, 65504.0, 1e30, -1e30, float("inf"), float("-inf")]) \
    + b"".join(struct.pack("<I", bits) for bits in (1, 0x80000001, 0x007fffff, 0x00400000, 0x7fc00000, 0x7f800001, 0xffc12345, 0x3f801000, 0x3f801001, 0x3f803000, 0x3f800fff, 0x7f7fffff, 0x00800000, 0x00001000, 0x80001fff, 0x3f7fffff, 0xbf801000, 0x00000fff)) * 64


def fills():
    for ty in ("f16", "bf16", "f32", "f64", "f32_ftz", "tf32", "tf32_ftz"):
        spec = tiled(ty, [16, 20], [16, 8], fill=1)
        yield load_case(f"2d {ty}, NaN outside", spec, [-8, 16], source=FLOATING)
        yield load_case(f"2d {ty} of all kinds", tiled(ty, [32, 4], [32, 1]), [0, 0], source=FLOATING)


def images():
    u = lambda *args, **rest: im2col("u16", *args, **rest)
    three = u([16, 10, 3], [-1], [-1], 8, 12)
    yield load_case("im2col 3d", three, [0, -1, 0], [0])
    yield load_case("im2col 3d, offset", three, [8, -1, 0], [2])
    yield load_case("im2col 3d, in the middle", three, [0, 5, 1], [1])
    four = u([16, 9, 8, 3], [-1, -1], [-1, -1], 16, 24)
    for at in ([0, -1, -1, 0], [0, 3, 4, 1], [8, 6, 5, 2], [0, 0, 0, 2]):
        for im in ([0, 0], [1, 2], [2, 2]):
            yield load_case(f"im2col 4d at {at} offset {im}", four, at, im)
    yield load_case("im2col 4d, corners inside", u([16, 9, 8, 3], [0, 0], [-2, -3], 16, 32), [0, 0, 0, 0], [2, 1])
    yield load_case("im2col 4d, larger corners", u([16, 9, 8, 3], [-3, -2], [2, 1], 16, 32), [0, -3, -2, 0], [3, 2])
    yield load_case("im2col 4d, element strides", u([16, 9, 8, 3], [-1, -1], [-1, -1], 16, 16, steps=[1, 2, 2, 1]), [0, -1, -1, 0], [1, 1])
    yield load_case("im2col 4d, element strides, further", u([16, 9, 8, 3], [-1, -1], [-1, -1], 16, 16, steps=[1, 2, 2, 1]), [0, 3, 1, 1], [0, 2])
    for step in (2, 3):
        yield load_case(f"im2col 3d, every {step} images", u([16, 10, 9], [-1], [-1], 8, 40, steps=[1, 1, step]), [0, 5, 1], [1])
    yield load_case("im2col 3d, element strides of channels", u([16, 10, 3], [-1], [-1], 8, 12, steps=[2, 1, 1]), [0, 5, 1], [1])
    yield load_case("im2col 4d, swizzle 64", im2col("u16", [64, 9, 8, 3], [-1, -1], [-1, -1], 32, 24, swizzle=2), [16, 1, 1, 0], [1, 1])
    yield load_case("im2col 4d, NaN outside", im2col("f16", [16, 9, 8, 3], [-1, -1], [-1, -1], 16, 24, fill=1), [8, -1, -1, 0], [0, 0])
    five = u([8, 6, 5, 4, 2], [-1, -1, -1], [-1, -1, -1], 8, 40)
    for at, im in (([0, -1, -1, -1, 0], [0, 0, 0]), ([0, 2, 1, 0, 0], [2, 1, 0]), ([0, 3, 2, 1, 1], [1, 1, 2])):
        yield load_case(f"im2col 5d at {at}", five, at, im)


def whole(unit, dims):
    """Strides of a tensor without gaps."""
    return list(itertools.accumulate(dims[:-1], operator.mul, initial=unit))[1:]


def interleaved_images():
    """Images in slices of channels: the first dimensions are spatial, and the slices follow."""
    shapes = {3: [20, 5, 3], 4: [12, 9, 4, 3], 5: [8, 7, 6, 3, 2]}
    for interleave, swizzle in ((1, 0), (2, 1)):
        unit = 16 * interleave
        for rank, dims in shapes.items():
            corners = [-1] * (rank - 2)
            for pixels, more in ((12, {}), (30, {}), (16, dict(steps=[1, 2, 1, 1, 1][:rank])), (16, dict(steps=[2, 2, 2, 1, 1][:rank]))):
                spec = im2col("u16", dims, corners, corners, 8 * interleave, pixels, interleave=interleave, swizzle=swizzle, strides=whole(unit, dims), **more)
                for at in ([-1] * (rank - 2) + [0, 0], [2] * (rank - 2) + [1, 1], [dims[0] - 3] + [1] * (rank - 3) + [2, 0]):
                    for im in ([0] * (rank - 2), [2, 0, 1][:rank - 2]):
                        steps = "".join(f" {step}" for step in more.get("steps", []))
                        yield counted(f"im2col {rank}d, interleave {unit}, {pixels} pixels{steps} at {at} offset {im}", spec, at, [pixels * unit, pixels * unit * 2, pixels * unit // 2], im)
        for ty, channels, rank in itertools.product(("u8", "u16", "u32", "u64"), (2, 4, 8, 16, 24, 32, 64), (3, 4)):
            if channels * BYTES[ty] % 16 == 0:
                spec = im2col(ty, shapes[rank], [0] * (rank - 2), [0] * (rank - 2), channels, 6, interleave=interleave, swizzle=swizzle, strides=whole(unit, shapes[rank]))
                slices = -(-channels * BYTES[ty] // unit)
                yield counted(f"im2col {rank}d {ty}, interleave {unit}, {channels} channels", spec, [3, 1, 1, 1][:rank - 2] + [1, 1], [6 * unit, 6 * unit * slices, 6 * channels * BYTES[ty], 3 * unit], [1] * (rank - 2))


DONE = ("cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;")


def stores():
    def case(name, spec, at, mode="", op="", before=b"\x11" * 32768, values=WORDS, size=4096, target=0, group=".bulk_group"):
        moves, vector = coordinates(at)
        head = f"cp.reduce.async.bulk.tensor.{spec['rank']}d.global.shared::cta.{op}" if op else f"cp.async.bulk.tensor.{spec['rank']}d.global.shared::cta"
        text = kernel(load(size) + TO_ASYNC + one(*moves, f"{head}{mode}{group} [%map, {vector}], [%buf+{target}];", *DONE), size=size)
        return Case(name, text, out=before, input=values, maps=(("out", spec),))
    dims, box = [20, 9, 7, 5, 3], [8, 4, 3, 2, 2]
    yield case("tensor store, 2d u32 before the start of a row", tiled("u32", dims[:2], box[:2]), [-4, 2])
    yield case("tensor store, 2d u32 before the first row", tiled("u32", dims[:2], box[:2]), [4, -2])
    yield case("tensor store, 2d u32 all outside", tiled("u32", dims[:2], box[:2]), [24, 12])
    for rank in range(1, 5):
        yield case(f"tensor store, {rank}d u32 inside", tiled("u32", dims[:rank], box[:rank]), [4, 3, 2, 1, 1][:rank])
        yield case(f"tensor store, {rank}d u32 over the end", tiled("u32", dims[:rank], box[:rank]), [16, 7, 6, 4, 2][:rank], mode=".tile")
    for swizzle, span in ((1, 32), (2, 64), (3, 128)):
        yield case(f"tensor store, swizzle {span}", tiled("u16", [span, 40], [span // 2, 24], swizzle=swizzle), [8, 5])
        yield case(f"tensor store, swizzle {span}, half the span", tiled("u16", [span, 40], [span // 4, 24], swizzle=swizzle), [8, 5])
    yield case("tensor store, element strides", tiled("u32", [40, 40], [16, 16], steps=[1, 3]), [4, 3])
    yield case("tensor store, interleave 16", tiled("u16", [20, 6, 5], [8, 2, 2], interleave=1, strides=[320, 1920]), [2, 3, 1])
    yield case("tensor store, im2col 4d", im2col("u16", [16, 9, 8, 3], [-1, -1], [-1, -1], 16, 24), [0, 3, 4, 1], mode=".im2col_no_offs")
    yield case("tensor store, im2col 4d, at the start", im2col("u16", [16, 9, 8, 3], [0, 0], [0, 0], 16, 24), [0, 0, 0, 0], mode=".im2col_no_offs")
    yield case("tensor store, im2col 4d, over the end", im2col("u16", [16, 9, 8, 3], [0, 0], [0, 0], 16, 24), [8, 7, 7, 2], mode=".im2col_no_offs")
    yield case("tensor store, im2col 3d", im2col("u16", [16, 10, 3], [-1], [-1], 8, 12), [8, 2, 1], mode=".im2col_no_offs")
    # Rows that end within 16 bytes.
    for ty, (elements, box, first) in itertools.product(("u8", "u16", "u32", "u64", "f16", "f64"), ((3, 16, 0), (5, 16, 0), (12, 32, 8), (20, 16, 16), (33, 16, 32))):
        per = max(16 // BYTES[ty], 1)
        first, box = first // per * per, max(box, per)
        for op in ("", "add") if ty != "u8" and ty != "u16" else ("",):
            values = WORDS if ty[0] == "u" else pack({"f16": "e", "f64": "d"}[ty], [index * 7 % 61 - 20 for index in range(512)]).ljust(4096, b"\0")
            yield case(f"tensor store{op and ', ' + op}, {ty} in rows of {elements} from {first}", tiled(ty, [elements, 5], [box, 2]), [first, 1], op=op, values=values, before=b"\0" * 32768)
            yield case(f"tensor store{op and ', ' + op}, {ty} in one row of {elements} from {first}", tiled(ty, [elements], [box]), [first], op=op, values=values, before=b"\0" * 32768)
    yield case("tensor store, im2col, channels that end within 16 bytes", im2col("u16", [11, 9, 8, 3], [0, 0], [0, 0], 16, 24), [0, 3, 4, 1], mode=".im2col_no_offs")
    yield case("tensor store, tf32", tiled("tf32", [32, 20], [32, 8]), [0, 0], values=FLOATING)
    yield case("tensor store, f32_ftz", tiled("f32_ftz", [32, 20], [32, 8]), [0, 0], values=FLOATING)
    small = [(index * 7) % 61 - 20 for index in range(2048)]
    content = {"f16": pack("e", small), "bf16": b"".join(map(bf16, small)), "f32": pack("f", small), "f32_ftz": pack("f", small), "tf32": pack("f", small), "tf32_ftz": pack("f", small), "f64": pack("d", small[:1024])}
    other = {ty: b"".join(data[i:i + BYTES[ty]] for i in range(len(data) - BYTES[ty], -1, -BYTES[ty])) for ty, data in content.items()}
    for ty in TYPES:
        for op in ("add", "min", "max", "inc", "dec", "and", "or", "xor"):
            values, before = (content[ty], other[ty]) if ty in content else (WORDS[:8192], WORDS[:8192][::-1])
            yield case(f"tensor reduction, {op} of {ty}", tiled(ty, [48, 20], [16, 8]), [16, 3], op=op, before=before, values=values.ljust(8192, b"\0"), size=1024)
    for ty, kind in (("f32", "f32"), ("f32_ftz", "f32"), ("tf32", "f32"), ("tf32_ftz", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16")):
        before, values = tiny(kind)
        yield case(f"tensor reduction of subnormal numbers, add of {ty}", tiled(ty, [144], [144]), [0], op="add", before=before, values=values.ljust(2048, b"\0"), size=2048)
    yield case("tensor reduction, add of u32 over the end", tiled("u32", [20, 9], [8, 4]), [16, 7], op="add", mode=".tile")
    yield case("tensor reduction, im2col", im2col("u16", [16, 9, 8, 3], [-1, -1], [-1, -1], 16, 24), [0, 3, 4, 1], op="add", mode=".im2col_no_offs")


def columns():
    """Columns of images of all kinds, drawn at random: some begin outside of the frame, which is refused."""
    draw, number = random.Random(9), 0
    floating = ("f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz")
    while number < 160:
        ty, rank = draw.choice(TYPES), draw.randint(3, 5)
        size = BYTES[ty]
        per = max(16 // size, 1)
        dims = [draw.choice([per, 2 * per, 3 * per, 4 * per, per + 1, 2 * per + 3])] + [draw.randint(2, 9) for _ in range(rank - 2)] + [draw.randint(1, 4)]
        most = (1 << (16 // (rank - 2) - 1)) - 1
        lower, upper = ([draw.randint(-3, 2) for _ in range(rank - 2)] for _ in range(2))
        if draw.random() < .1:
            lower[draw.randrange(rank - 2)] = draw.choice([-most - 1, most, -8, 7])
        if any(dims[1 + axis] + upper[axis] - lower[axis] <= 0 for axis in range(rank - 2)):
            continue
        channels, pixels, steps = per * draw.randint(1, 3), draw.choice([1, 3, 8, 16, 17, 30, 64]), [1] * rank
        if draw.random() < .4:
            steps = [draw.choice([1, 1, 2, 3]) for _ in range(rank)]
        swizzle = 0
        if draw.random() < .4:
            possible = [kind for kind, span in ((1, 32), (2, 64), (3, 128)) if channels * size <= span]
            swizzle = draw.choice(possible) if possible else 0
        fill = 1 if ty in floating and draw.random() < .4 else 0
        whole, strides = dims[0] * size, []
        for dim in dims[1:]:
            whole = (whole + 15) // 16 * 16 + 16 * draw.choice([0, 0, 1])
            strides.append(whole)
            whole *= dim
        if whole > 64000 or channels * size * pixels > 12000:
            continue
        at = [draw.choice([0, 0, per, 2 * per, -per])] + [draw.randint(lower[axis] - (draw.random() < .2), dims[1 + axis] + upper[axis]) for axis in range(rank - 2)] + [draw.randint(0, dims[-1]) if draw.random() < .9 else -1]
        im = [draw.choice([0, 1, 2, 3, 5, 254, 255]) if draw.random() < .3 else draw.randint(0, 3) for _ in range(rank - 2)]
        number += 1
        rest = dict(strides=strides, steps=steps, swizzle=swizzle)
        if draw.random() < .25:
            spec, at = im2col(ty, dims, [0] * (rank - 2), [0] * (rank - 2), channels, pixels, **rest), [max(at[0], 0)] + [draw.randint(0, dim - 1) for dim in dims[1:]]
            op, (moves, vector) = draw.choice(["", "", ".add"]), coordinates(at)
            copy = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.add" if op and ty in ("u32", "s32", "u64") else f"cp.async.bulk.tensor.{rank}d.global.shared::cta"
            text = kernel(load(16384) + TO_ASYNC + one(*moves, f"{copy}.im2col_no_offs.bulk_group [%map, {vector}], [%buf];", *DONE), size=16384)
            yield Case(f"tensor store, columns {number}", text, out=b"\x11" * 65536, maps=(("out", spec),))
        else:
            spec, bytes_ = im2col(ty, dims, lower, upper, channels, pixels, fill=fill, **rest), channels * pixels * size
            yield counted(f"columns {number}", spec, at, sorted({bytes_, 2 * bytes_, bytes_ // 2 or 1}), im)


def others():
    spec = tiled("u32", [20, 9], [8, 4])
    yield Case("tensor prefetch", kernel(one("mov.u32 %r0, 4;", "mov.u32 %r1, 2;", "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%map, {%r0, %r1}];", "prefetch.tensormap [%map];", "prefetch.param.tensormap [map];")), out=16, maps=(("in", spec),))
    body = fill(1024) + INIT + one("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;") + "  bar.sync 0;\n" + SYNC + leader("mov.u32 %r0, 4;", "mov.u32 %r1, 2;", "mov.b16 %h0, 5;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%buf+128], [%map, {%r0, %r1}], [%bar], %h0;") + "  and.b32 %r7, %rank, 1;\n  setp.ne.u32 %q, %r7, 0;\n  @%q bra none;\n" + wait(scope=".acquire.cluster") + "none:\n" + dump(1024) + SYNC
    yield Case("tensor load, multicast", kernel(body), out=4096, grid=4, cluster=4, maps=(("in", spec),))
    # Tensor maps that a kernel makes: a copy in shared memory is changed and goes to global memory behind the output.
    wide, narrow = ("b64", "%d4"), ("b32", "%r4")
    changes = {
        "global_address": [("global_address", "b64", "add.u64 %d4, %in, 4096;", "%d4", "")],
        "dims": [("global_dim", "b32", "mov.u32 %r4, 6;", "%r4", "0"), ("global_dim", "b32", "mov.u32 %r4, 3;", "%r4", "1")],
        "strides": [("global_stride", "b64", "mov.u64 %d4, 32;", "%d4", "0")],
        "box": [("box_dim", "b32", "mov.u32 %r4, 4;", "%r4", "0"), ("box_dim", "b32", "mov.u32 %r4, 8;", "%r4", "1")],
        "element strides": [("element_stride", "b32", "mov.u32 %r4, 2;", "%r4", "1"), ("box_dim", "b32", "mov.u32 %r4, 8;", "%r4", "1")],
        "element type": [("elemtype", "b32", "", "2", "")],
        "same type": [("elemtype", "b32", "", "0x3", "")],
        "rank": [("rank", "b32", "mov.u32 %r4, 1;", "%r4", "")],
        "swizzle": [("swizzle_mode", "b32", "", "1", "")],
        "fill": [("fill_mode", "b32", "", "1", ""), ("elemtype", "b32", "", "0x8", "")],
        "interleave": [("interleave_layout", "b32", "", "0", "")],
    }
    for number, (ty, size) in enumerate((("f16", 2), ("f32", 4), ("f32_ftz", 4), ("f64", 8), ("bf16", 2), ("tf32", 4), ("tf32_ftz", 4)), 6):
        changes[f"element type {number}"] = [("elemtype", "b32", "", hex(number), ""), ("fill_mode", "b32", "", "1", "")]
    for where in ("shared::cta", "global"):
        for name, list_ in changes.items():
            lines = []
            for field, ty, setup, value, ordinal in list_:
                lines += [setup] if setup else []
                lines.append(f"tensormap.replace.tile.{field}.{where}.b1024.{ty} [{'%buf' if where != 'global' else '%d6'}], {ordinal + ', ' if ordinal else ''}{value};")
            copy = []
            for index in range(16):
                copy += [f"ld.global.b64 %d4, [%d5+{8 * index}];", f"st.shared.b64 [%buf+{8 * index}], %d4;" if where != "global" else f"st.global.b64 [%d6+{8 * index}], %d4;"]
            into = "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d6], [%buf], 128;\n" if where != "global" else "  fence.proxy.tensormap::generic.release.gpu;\n"
            rank = "1d" if name == "rank" else "2d"
            at = "{%r0}" if name == "rank" else "{%r0, %r1}"
            bytes_ = {"rank": 32, "element type 6": 64, "element type 10": 64, "element type 9": 256}.get(name, 128)
            x, y = (16, 7) if name.startswith("element type ") or name == "fill" else (4, 1)
            label = f"warp{where[0]}{zlib.crc32(name.encode())}"
            body = INIT + "  add.u64 %d6, %out, 2048;\n  mov.u64 %d5, %map;\n" + one(*[line.replace("ld.global.b64 %d4, [%d5", "ld.b64 %d4, [%d5") for line in copy], *lines) + f"  bar.sync 0;\n  setp.ge.u32 %q, %thread, 32;\n  @%q bra {label};\n" + into + f"{label}:\n  bar.sync 0;\n" + fill(1024) + "  fence.proxy.async;\n  bar.sync 0;\n" \
                   + one("fence.proxy.tensormap::generic.acquire.gpu [%d6], 128;", f"mov.u32 %r0, {x};", f"mov.u32 %r1, {y};", f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {bytes_};", f"cp.async.bulk.tensor.{rank}.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%d6, {at}], [%bar];") + wait() + dump(1024) \
                   + "  setp.ge.u32 %q, %thread, 32;\n  @%q ret;\n  mul.wide.u32 %d7, %thread, 4;\n  add.u64 %d7, %d7, %d6;\n  mov.u32 %r0, 0;\n  st.global.u32 [%d7], %r0;\n"
            yield Case(f"tensormap.replace in {where}, {name}", kernel(body), out=4096, maps=(("in", spec),))


def faults():
    spec = tiled("u32", [20, 9], [8, 4])
    def broken(name, setup, rank=2, spec=spec):
        moves, vector = coordinates([0] * rank)
        op = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%map, {vector}], [%bar];"
        return Case(f"fault: {name}", kernel(INIT + one(*moves, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;", *setup, op, "nanosleep.u32 200000;")), out=16, maps=(("in", spec),))
    yield broken("target of a tensor copy at no multiple of 128", ["add.u32 %buf, %buf, 64;"])
    yield broken("tensor copy with a rank that is not the map's", [], rank=3)
    yield broken("tensor copy with a map of zeros", ["mov.u64 %map, %other;"])
    yield broken("tensor copy with a misaligned map", ["add.u64 %map, %map, 16;"])
    yield broken("tensor copy with a map that is no memory", ["mov.u64 %map, 0x1000;"])
    yield broken("tensor copy to no shared memory", ["add.u32 %buf, %buf, 0x38000;"])
    yield broken("tile copy with a map for im2col", [], rank=4, spec=im2col("u16", [16, 9, 8, 3], [-1, -1], [-1, -1], 16, 24))
    nowhere = Case("fault: tensor copy from memory that is not there", kernel(INIT + one("mov.u32 %r0, 400000;", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;", "mov.u32 %r1, 100000;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%map, {%r0, %r1}], [%bar];") + wait()), out=16, maps=(("in", tiled("u32", [1 << 20, 1 << 20], [8, 4])),))
    yield nowhere


def all_cases():
    for group in (tiles, strides, swizzles, interleaved, fills, images, interleaved_images, columns, slices, stores, others, faults):
        yield from group()
