"""Kernels of Warp and of its library on the device, against Warp's own CPU."""
import numpy
import pytest
import warp as wp

wp.init()
BOTH = ("cpu", "cuda:0")


def on_both(compute):
    """What is computed on the CPU and on the device."""
    expected, got = (compute(device) for device in BOTH)
    return got, expected


def numbers(count, kind=numpy.float32):
    return numpy.random.default_rng(count).random(count).astype(kind)


@wp.kernel
def curve(a: wp.array(dtype=float), b: wp.array(dtype=float), scale: float):
    i = wp.tid()
    b[i] = wp.sin(a[i]) * scale + wp.sqrt(a[i]) - wp.pow(a[i], 3.0)


def test_elementwise():
    def compute(device):
        a = wp.array(numbers(10_000), device=device)
        b = wp.zeros_like(a)
        wp.launch(curve, dim=a.size, inputs=[a, b, 2.5], device=device)
        return b.numpy()

    numpy.testing.assert_allclose(*on_both(compute), rtol=1e-5, atol=1e-6)


@wp.kernel
def count_in(values: wp.array(dtype=float), bins: wp.array(dtype=int)):
    wp.atomic_add(bins, int(values[wp.tid()] * 16.0), 1)


def test_atomics():
    def compute(device):
        bins = wp.zeros(16, dtype=int, device=device)
        wp.launch(count_in, dim=50_000, inputs=[wp.array(numbers(50_000), device=device), bins], device=device)
        return bins.numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


@pytest.mark.parametrize("inclusive", [True, False])
def test_scan(inclusive):
    def compute(device):
        values = wp.array(numpy.arange(100_003, dtype=numpy.int32) % 17, device=device)
        out = wp.zeros_like(values)
        wp.utils.array_scan(values, out, inclusive=inclusive)
        return out.numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


def test_sort():
    def compute(device):
        keys = numpy.random.default_rng(1).integers(-1000, 1000, 20_000).astype(numpy.int32)
        # Half of the memory is for the sort itself.
        keys, places = (wp.array(numpy.concatenate([a, a]), device=device) for a in (keys, numpy.arange(20_000, dtype=numpy.int32)))
        wp.utils.radix_sort_pairs(keys, places, 20_000)
        return numpy.stack([keys.numpy()[:20_000], places.numpy()[:20_000]])

    numpy.testing.assert_array_equal(*on_both(compute))


def test_runs():
    def compute(device):
        values = wp.array(numpy.repeat(numpy.arange(500, dtype=numpy.int32), numpy.arange(500) % 7 + 1), device=device)
        runs, lengths = wp.zeros_like(values), wp.zeros_like(values)
        count = wp.utils.runlength_encode(values, runs, lengths)
        return numpy.stack([runs.numpy()[:count], lengths.numpy()[:count]])

    numpy.testing.assert_array_equal(*on_both(compute))


@wp.kernel
def count_near(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, near: wp.array(dtype=int)):
    i = wp.tid()
    count = int(0)
    for j in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[i] - points[j]) < radius:
            count += 1
    near[i] = count


def test_neighbours():
    def compute(device):
        points = wp.array(numpy.random.default_rng(2).random((2000, 3)).astype(numpy.float32), dtype=wp.vec3, device=device)
        grid = wp.HashGrid(32, 32, 32, device=device)
        grid.build(points, 0.1)
        near = wp.zeros(2000, dtype=int, device=device)
        wp.launch(count_near, dim=2000, inputs=[grid.id, points, 0.1, near], device=device)
        return near.numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


@wp.kernel
def shoot(mesh: wp.uint64, starts: wp.array(dtype=wp.vec3), hits: wp.array(dtype=float)):
    i = wp.tid()
    ray = wp.mesh_query_ray(mesh, starts[i], wp.vec3(0.0, 0.0, -1.0), 100.0)
    if ray.result:
        hits[i] = ray.t


def test_rays():
    def compute(device):
        side = numpy.linspace(-1, 1, 33, dtype=numpy.float32)
        x, y = numpy.meshgrid(side, side)
        points = numpy.stack([x, y, numpy.sin(3 * x) * numpy.cos(2 * y)], axis=-1).reshape(-1, 3).astype(numpy.float32)
        corner = (numpy.arange(32)[:, None] * 33 + numpy.arange(32)).reshape(-1)
        triangles = numpy.concatenate([numpy.stack([corner, corner + 1, corner + 33], 1), numpy.stack([corner + 1, corner + 34, corner + 33], 1)])
        mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, device=device), wp.array(triangles.reshape(-1).astype(numpy.int32), device=device))
        starts = numpy.random.default_rng(3).uniform(-1.2, 1.2, (1000, 3)).astype(numpy.float32)
        starts[:, 2] = 5
        hits = wp.zeros(1000, dtype=float, device=device)
        wp.launch(shoot, dim=1000, inputs=[mesh.id, wp.array(starts, dtype=wp.vec3, device=device), hits], device=device)
        return hits.numpy()

    numpy.testing.assert_allclose(*on_both(compute), rtol=1e-5)


@wp.kernel
def loss_of(a: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.sin(a[i]) * a[i])


def test_gradients():
    def compute(device):
        a = wp.array(numbers(512), device=device, requires_grad=True)
        loss = wp.zeros(1, dtype=float, device=device, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(loss_of, dim=512, inputs=[a, loss], device=device)
        tape.backward(loss)
        return a.grad.numpy()

    numpy.testing.assert_allclose(*on_both(compute), rtol=1e-5, atol=1e-6)


@wp.kernel
def grow(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * 1.5 + 1.0


def test_graph():
    a = wp.zeros(1000, dtype=float, device="cuda:0")
    wp.load_module(device="cuda:0")
    with wp.ScopedCapture(device="cuda:0") as capture:
        for _ in range(3):
            wp.launch(grow, dim=1000, inputs=[a], device="cuda:0")
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    expected = 0.0
    for _ in range(6):
        expected = expected * 1.5 + 1.0
    numpy.testing.assert_array_equal(a.numpy(), numpy.full(1000, expected, numpy.float32))


@wp.kernel
def sums_of(a: wp.array2d(dtype=float), sums: wp.array(dtype=float)):
    row = wp.tid()
    tile = wp.tile_load(a[row], shape=64)
    wp.tile_store(sums, wp.tile_sum(tile), offset=row)


def test_tiles():
    a = numpy.random.default_rng(4).integers(0, 100, (50, 64)).astype(numpy.float32)
    sums = wp.zeros(50, dtype=float, device="cuda:0")
    wp.launch_tiled(sums_of, dim=[50], inputs=[wp.array(a, device="cuda:0"), sums], block_dim=64, device="cuda:0")
    numpy.testing.assert_array_equal(sums.numpy(), a.sum(1))
