"""What cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col and cuTensorMapReplaceAddress take and refuse."""
import itertools

from tensors import TYPES, im2col, tiled

BASE = tiled("u16", [64, 32, 16], [32, 8, 4])
WIDE = tiled("u16", [64, 32, 16, 8, 4], [16, 4, 4, 2, 2])
IMAGE = im2col("u16", [16, 9, 8, 3], [-1, -1], [-1, -1], 16, 24)
FIVE = im2col("u16", [16, 6, 5, 4, 2], [-1, -1, -1], [-1, -1, -1], 8, 40)
THREE = im2col("u16", [16, 10, 3], [-1], [-1], 8, 12)


def at(spec, key, index, value):
    values = list(spec[key])
    values[index] = value
    return dict(spec, **{key: values})


def all_calls():
    """Name and arguments."""
    for key, values in {"dtype": range(0, 17), "rank": (0, 1, 2, 3, 6), "interleave": range(4), "swizzle": range(9), "promotion": range(5), "fill": range(3), "misaligned": (0, 8, 16, 32), "offset": (0, 1, 4, 8, 16, 32)}.items():
        for value in values:
            yield f"tiled, {key} {value}", dict(BASE, **{key: value})
            yield f"im2col, {key} {value}", dict(IMAGE, **{key: value})
    for index, value in itertools.product((0, 1, 2), (0, 1, 2, 3, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40)):
        yield f"tiled, dim {index} {value:#x}", at(BASE, "dims", index, value)
    for index, value in itertools.product((0, 1), (0, 8, 16, 17, 24, 32, 64, 128, 1 << 20, (1 << 40) - 16, 1 << 40, (1 << 40) + 16)):
        yield f"tiled, stride {index} {value:#x}", at(BASE, "strides", index, value)
    for index, value in itertools.product((0, 1, 2), (0, 1, 2, 3, 4, 6, 7, 8, 16, 24, 64, 128, 200, 255, 256, 257)):
        yield f"tiled, box {index} {value}", at(BASE, "box", index, value)
    for index, value in itertools.product((0, 1, 2), (0, 1, 2, 7, 8, 9)):
        yield f"tiled, step {index} {value}", at(BASE, "steps", index, value)
        yield f"im2col, step {index} {value}", at(IMAGE, "steps", index, value)
    for swizzle, ty, box in itertools.product((1, 2, 3), ("u8", "u16", "u32", "u64"), (2, 4, 8, 16, 32, 64, 128, 256)):
        yield f"tiled, swizzle {swizzle} {ty} box {box}", tiled(ty, [1024, 16], [box, 4], swizzle=swizzle)
    for interleave, swizzle, box, rank in itertools.product((1, 2), (0, 1, 2, 3), (4, 8, 16, 32), (2, 3, 4, 5)):
        yield f"tiled, interleave {interleave} swizzle {swizzle} box {box} rank {rank}", tiled("u16", [32, 16, 16, 8, 4][:rank], [box, 4, 4, 2, 2][:rank], interleave=interleave, swizzle=swizzle)
    for stride in (16, 32, 48, 64):
        yield f"tiled, interleave 2 stride {stride}", dict(tiled("u16", [16, 16, 8], [16, 4, 2], interleave=2), strides=[stride, 1024])
    for offset in (16, 32):
        yield f"tiled, interleave 2 offset {offset}", dict(tiled("u16", [16, 16, 8], [16, 4, 2], interleave=2), offset=offset)
    for fill, ty in itertools.product((0, 1), TYPES):
        yield f"tiled, fill {fill} of {ty}", tiled(ty, [64, 32], [4, 8], fill=fill)
    for ty, box in itertools.product(("u8", "u16", "u32", "u64", "f64"), (1, 2, 3, 4, 5, 8, 12, 15, 16, 256)):
        yield f"tiled, {ty} box {box}", tiled(ty, [512, 32], [box, 8])
        yield f"tiled, {ty} 1d box {box}", tiled(ty, [512], [box])
    for rows in (200, 224, 225, 226, 227, 228, 229, 230, 231, 232, 240):
        yield f"tiled, box of 256 by {rows} u32", tiled("u32", [512, 512], [256, rows])
        yield f"tiled, box of 256 by {rows} u32 with steps", tiled("u32", [512, 512], [256, rows], steps=[1, 2])
    for total in ([256, 256, 2], [256, 256, 1], [128, 256, 4]):
        yield f"tiled, box of {total}", tiled("u32", [512, 512, 512], total)
    for lower, upper in (([-128, 0], [0, 0]), ([127, 0], [127, 0]), ([-129, 0], [0, 0]), ([128, 0], [0, 0]), ([0, -128], [0, 127]), ([0, 0], [0, 128]), ([0, 0], [-129, 0]), ([0, 0], [-20, 0]), ([0, 0], [-8, 0]), ([0, 0], [-9, 0]), ([-1, 0], [-9, 0]), ([4, 0], [-8, 0])):
        yield f"im2col 4d, corners {lower} {upper}", dict(IMAGE, lower=lower, upper=upper)
    for lower, upper in (([-16] * 3, [15] * 3), ([-17, 0, 0], [0, 0, 0]), ([16, 0, 0], [0, 0, 0]), ([0, 0, 15], [0, 0, 16]), ([0, 0, 0], [0, 0, -17])):
        yield f"im2col 5d, corners {lower} {upper}", dict(FIVE, lower=lower, upper=upper)
    for lower, upper in (([-32768], [32767]), ([-32769], [0]), ([0], [32768])):
        yield f"im2col 3d, corners {lower} {upper}", dict(THREE, lower=lower, upper=upper)
    for channels in (0, 1, 4, 8, 12, 16, 256, 257):
        yield f"im2col, channels {channels}", dict(IMAGE, channels=channels)
    for pixels in (0, 1, 256, 1024, 1025):
        yield f"im2col, pixels {pixels}", dict(IMAGE, pixels=pixels)
    for swizzle, channels in itertools.product((1, 2, 3), (8, 16, 32, 64, 128)):
        yield f"im2col, swizzle {swizzle} channels {channels}", im2col("u16", [256, 9, 8, 3], [-1, -1], [-1, -1], channels, 24, swizzle=swizzle)
    for interleave, swizzle, channels in itertools.product((1, 2), (0, 1, 2), (8, 16)):
        yield f"im2col, interleave {interleave} swizzle {swizzle} channels {channels}", im2col("u16", [16, 9, 8, 3], [-1, -1], [-1, -1], channels, 24, interleave=interleave, swizzle=swizzle)
    for channels, pixels in ((56, 1024), (60, 1024), (228, 256), (228, 257), (232, 256), (256, 228)):
        yield f"im2col, {channels} channels of {pixels} pixels", im2col("u32", [256, 64, 8, 3], [-1, -1], [-1, -1], channels, pixels)
    for interleave, lower, upper in itertools.product((0, 1), ([0, 0], [-1, 1], [16, 0]), ([0, 0], [0, -8], [-9, 0], [0, -9], [-16, 0], [-16, -9])):
        yield f"im2col, interleave {interleave} corners {lower} {upper}", im2col("u16", [16, 9, 8, 3], lower, upper, 16, 24, interleave=interleave)
    for dim, lower, upper in itertools.product(((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32), (-2, 0, 1), (-1, 0, 2)):
        yield f"im2col, {dim} columns, corners {lower} {upper}", im2col("u16", [16, dim, 8], [lower], [upper], 16, 24, strides=[32, 1024])
    for box, step in itertools.product((8, 13, 14, 15, 16), (2, 7, 8)):
        yield f"tiled, box of {box} of 32,768 bytes, every {step}", tiled("u32", [512, 64, 64], [256, 32, box], steps=[1, 1, step])
    for box, step in ((4, 8), (7, 8), (13, 7), (14, 7)):
        yield f"tiled, box of {box} in the first of two, every {step}", tiled("u32", [512, 512, 512], [box * 4, 256, 64], steps=[step, 1, 1])
    for rank in (1, 2, 6):
        yield f"im2col, rank {rank}", dict(FIVE, rank=rank)
    for key in ("strides", "steps", "dims", "box"):
        yield f"tiled, no {key}", dict(BASE, **{key: None})
    yield "tiled 1d, no strides", dict(tiled("u32", [512], [8]), strides=None)
    yield "tiled 5d", WIDE


def all_replacements():
    """Name, map and the new address's offset."""
    wide = tiled("u16", [16, 16, 8], [16, 4, 2], interleave=2)
    for name, spec in (("tiled", BASE), ("im2col", IMAGE), ("interleave 2", wide)):
        for offset in (0, 1, 8, 16, 32):
            yield f"replace address of {name} by offset {offset}", spec, offset
