"""Pipelines of Halide on the device, against NumPy."""
import halide as hl
import numpy
import pytest

HOST = hl.get_host_target()
DEVICE = HOST.with_feature(hl.TargetFeature.CUDA).with_feature(hl.TargetFeature.CUDACapability80)
x, y, xi, yi = (hl.Var(name) for name in ["x", "y", "xi", "yi"])


def numbers(*shape, kind=numpy.float32):
    """Halide's first dimension is the last of an array."""
    return numpy.random.default_rng(shape[0]).random(shape).astype(kind)


def realized(func, *sizes):
    """What a function has on the device, of these sizes of Halide's dimensions."""
    out = func.realize(list(sizes), DEVICE)
    several = isinstance(out, (list, tuple))
    outs = out if several else [out]
    for each in outs:
        each.copy_to_host()
    arrays = [numpy.array(each, copy=True) for each in outs]
    return arrays if several else arrays[0]


def test_there_is_a_device():
    func = hl.Func("one")
    func[x] = x
    func.gpu_tile(x, xi, 32)
    # Without a device Halide ends the process here.
    numpy.testing.assert_array_equal(realized(func, 1000), numpy.arange(1000))


def test_functions():
    data = numbers(10_000)
    values, func = hl.Buffer(data), hl.Func("curve")
    func[x] = hl.sin(values[x]) * hl.sqrt(values[x]) + hl.exp(-values[x]) - hl.pow(values[x], 2.5) + hl.log(values[x] + 1)
    func.gpu_tile(x, xi, 128)
    expected = numpy.sin(data) * numpy.sqrt(data) + numpy.exp(-data) - data**2.5 + numpy.log(data + 1)
    numpy.testing.assert_allclose(realized(func, 10_000), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("where", ["threads", "registers", "blocks"])
def test_blur(where):
    """What is computed first lies in shared memory, in registers, or in memory of the device."""
    data = numbers(500, 700)
    edge = hl.BoundaryConditions.repeat_edge(hl.Buffer(data))
    rows, blur = hl.Func("rows"), hl.Func("blur")
    rows[x, y] = (edge[x - 1, y] + edge[x, y] + edge[x + 1, y]) / 3
    blur[x, y] = (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) / 3
    blur.gpu_tile(x, y, xi, yi, 32, 8)
    if where == "threads":
        rows.compute_at(blur, x).gpu_threads(x, y)
    elif where == "registers":
        rows.compute_at(blur, xi)
    else:
        rows.compute_root().gpu_tile(x, y, xi, yi, 16, 16)
    wide = numpy.pad(data, 1, mode="edge")
    first = (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) / 3
    expected = (first[:-2] + first[1:-1] + first[2:]) / 3
    numpy.testing.assert_allclose(realized(blur, 700, 500), expected, rtol=1e-5)


@pytest.mark.parametrize("kind, within", [(numpy.float32, 1e-5), (numpy.float64, 1e-13), (numpy.int32, 0)])
def test_product(kind, within):
    size = 192
    scale = 100 if kind is numpy.int32 else 1
    a, b = ((numbers(size, size, kind=numpy.float64) * scale + at).astype(kind) for at in (0, 1))
    left, right, product, out = hl.Buffer(a), hl.Buffer(b), hl.Func("product"), hl.Func("out")
    r = hl.RDom([(0, size)])
    product[x, y] = hl.cast(left.type(), 0)
    product[x, y] += left[r, y] * right[x, r]
    out[x, y] = product[x, y]
    out.gpu_tile(x, y, xi, yi, 16, 16)
    product.compute_at(out, xi)
    product.update().unroll(r.x, 4)
    numpy.testing.assert_allclose(realized(out, size, size), a @ b, rtol=within)


def test_sums_by_warps():
    data = numbers(64, 32)
    values, rows, out = hl.Buffer(data), hl.Func("rows"), hl.Func("out")
    r = hl.RDom([(0, 32)])
    rows[x, y] = values[x, y] * 2
    out[x, y] = rows[x, y] + rows[31 - x, y] + rows[(x + 1) % 32, y]
    out.gpu_blocks(y).gpu_lanes(x)
    rows.compute_at(out, y).gpu_lanes(x)
    out.bound(x, 0, 32)
    twice = data * 2
    numpy.testing.assert_allclose(realized(out, 32, 64), twice + twice[:, ::-1] + numpy.roll(twice, -1, axis=1), rtol=1e-6)


def test_histogram():
    data = numpy.random.default_rng(9).integers(0, 256, (480, 640)).astype(numpy.uint8)
    image, bins = hl.Buffer(data), hl.Func("bins")
    r = hl.RDom([(0, 640), (0, 480)])
    bins[x] = hl.cast(hl.Int(32), 0)
    bins[hl.clamp(hl.i32(image[r.x, r.y]), 0, 255)] += 1
    bins.gpu_tile(x, xi, 32)
    bins.update().atomic().gpu_tile(r.x, r.y, hl.RVar("rx"), hl.RVar("ry"), 16, 16)
    numpy.testing.assert_array_equal(realized(bins, 256), numpy.bincount(data.ravel(), minlength=256))


def test_scan_in_a_thread():
    data = numpy.random.default_rng(2).integers(0, 10, (192, 300)).astype(numpy.int32)
    values, sums = hl.Buffer(data), hl.Func("sums")
    r = hl.RDom([(1, 299)])
    sums[x, y] = values[x, y]
    sums[r, y] = sums[r - 1, y] + sums[r, y]
    sums.gpu_tile(x, y, xi, yi, 16, 16)
    sums.update().gpu_tile(y, yi, 32)
    numpy.testing.assert_array_equal(realized(sums, 300, 192), data.cumsum(axis=1))


def test_halves_and_bytes():
    data = numbers(4096, kind=numpy.float16)
    values, func = hl.Buffer(data), hl.Func("halves")
    func[x] = hl.cast(hl.UInt(8), hl.cast(hl.Float(32), values[x] * values[x]) * 255.0 + 0.5)
    func.gpu_tile(x, xi, 64)
    expected = ((data * data).astype(numpy.float32) * numpy.float32(255) + numpy.float32(0.5)).astype(numpy.uint8)
    numpy.testing.assert_array_equal(realized(func, 4096), expected)


def test_several_values():
    data = numbers(64, 512)
    values, extremes, out = hl.Buffer(data), hl.Func("extremes"), hl.Func("out")
    r = hl.RDom([(0, 512)])
    extremes[y] = (hl.f32(2), hl.f32(-1))
    extremes[y] = (hl.min(extremes[y][0], values[r, y]), hl.max(extremes[y][1], values[r, y]))
    out[y] = (extremes[y][0], extremes[y][1])
    out.gpu_tile(y, yi, 32)
    extremes.compute_at(out, yi)
    least, most = realized(out, 64)
    numpy.testing.assert_array_equal(least, data.min(axis=1))
    numpy.testing.assert_array_equal(most, data.max(axis=1))


def test_host_and_device_by_turns():
    """A stage on the host between two on the device: what is where is Halide's to know."""
    data = numbers(256, 256)
    image, first, second, third = hl.Buffer(data), hl.Func("first"), hl.Func("second"), hl.Func("third")
    first[x, y] = image[x, y] * 3
    second[x, y] = first[x, y] + first[255 - x, y]
    third[x, y] = second[x, 255 - y] * 0.5
    first.compute_root().gpu_tile(x, y, xi, yi, 16, 16)
    second.compute_root().vectorize(x, 8).parallel(y)
    third.gpu_tile(x, y, xi, yi, 32, 4)
    tripled = data * 3
    expected = ((tripled + tripled[:, ::-1]) * numpy.float32(0.5))[::-1]
    numpy.testing.assert_allclose(realized(third, 256, 256), expected, rtol=1e-6)
