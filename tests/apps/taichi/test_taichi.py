"""Programs in Taichi on the device, against its own CPU or NumPy."""
import numpy
import pytest
import taichi as ti

BOTH = (ti.cpu, ti.cuda)


def start(arch, **options):
    """Taichi alone falls back to the CPU where the device does not do."""
    ti.init(arch=arch, enable_fallback=False, random_seed=7, device_memory_GB=0.3, log_level=ti.WARN, **options)


def on_both(compute):
    """What is computed on the device and on the CPU."""
    results = []
    for arch in BOTH:
        start(arch)
        results.append(compute())
        ti.reset()
    expected, got = results
    return got, expected


@pytest.fixture
def device():
    start(ti.cuda)
    yield
    ti.reset()


def numbers(count):
    return numpy.random.default_rng(count).random(count).astype(numpy.float32)


def test_functions():
    def compute():
        @ti.kernel
        def curve(a: ti.types.ndarray(), b: ti.types.ndarray()):
            for i in a:
                x = a[i]
                b[i] = ti.sin(x) + ti.exp(-x) * ti.sqrt(x) + ti.pow(x, 3.0) - ti.atan2(x, 2.0) + ti.tanh(x) + ti.log(x + 1.0)

        a = numbers(10_000)
        b = numpy.zeros_like(a)
        curve(a, b)
        return b

    numpy.testing.assert_allclose(*on_both(compute), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kind, within", [(ti.f16, 1e-2), (ti.f64, 1e-12)])
def test_other_floats(kind, within):
    def compute():
        values, out = ti.field(kind, shape=4096), ti.field(kind, shape=4096)
        values.from_numpy(numbers(4096))

        @ti.kernel
        def run():
            for i in values:
                out[i] = values[i] * values[4095 - i] + ti.cast(0.5, kind)

        run()
        return out.to_numpy()

    numpy.testing.assert_allclose(*on_both(compute), rtol=within)


def test_fractal():
    def compute():
        pixels = ti.field(ti.i32, shape=(320, 200))

        @ti.kernel
        def paint():
            for i, j in pixels:
                c = ti.Vector([-0.8, 0.156])
                z = ti.Vector([i / 160 - 1, j / 100 - 1]) * 1.5
                steps = 0
                while z.norm_sqr() < 16 and steps < 60:
                    z = ti.Vector([z[0] * z[0] - z[1] * z[1], 2 * z[0] * z[1]]) + c
                    steps += 1
                pixels[i, j] = steps

        paint()
        return pixels.to_numpy()

    got, expected = on_both(compute)
    # Rounding decides a few pixels on the border.
    assert (got != expected).mean() < 0.01 and got.std() > 5


def test_sums_and_extremes():
    def compute():
        @ti.kernel
        def run(a: ti.types.ndarray(), out: ti.types.ndarray()):
            total, least, most = 0, 1 << 30, -(1 << 30)
            for i in a:
                total += a[i]
                ti.atomic_min(least, a[i])
                ti.atomic_max(most, a[i])
            out[0], out[1], out[2] = total, least, most

        a = numpy.random.default_rng(3).integers(-10_000, 10_000, 200_003).astype(numpy.int32)
        out = numpy.zeros(3, numpy.int32)
        run(a, out)
        assert out.tolist() == [a.sum(), a.min(), a.max()]
        return out

    numpy.testing.assert_array_equal(*on_both(compute))


def test_atomics():
    def compute():
        bins = ti.field(ti.i32, shape=16)

        @ti.kernel
        def count(values: ti.types.ndarray()):
            for i in values:
                bins[int(values[i] * 16.0)] += 1

        count(numbers(100_000))
        return bins.to_numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


def test_scan(device):
    values = ti.field(ti.i32, shape=50_000)
    start_values = numpy.arange(50_000, dtype=numpy.int32) % 13
    values.from_numpy(start_values)
    ti.algorithms.PrefixSumExecutor(50_000).run(values)
    numpy.testing.assert_array_equal(values.to_numpy(), numpy.cumsum(start_values))


def test_sort(device):
    keys, places = ti.field(ti.i32, shape=8192), ti.field(ti.i32, shape=8192)
    shuffled = numpy.random.default_rng(5).permutation(8192).astype(numpy.int32)
    keys.from_numpy(shuffled)
    places.from_numpy(numpy.arange(8192, dtype=numpy.int32))
    ti.algorithms.parallel_sort(keys, places)
    numpy.testing.assert_array_equal(keys.to_numpy(), numpy.arange(8192))
    numpy.testing.assert_array_equal(shuffled[places.to_numpy()], numpy.arange(8192))


def test_sparse_fields():
    def compute():
        grid = ti.field(ti.i32)
        blocks = ti.root.pointer(ti.ij, (16, 16))
        cells = blocks.bitmasked(ti.ij, (8, 8))
        cells.place(grid)
        seen = ti.field(ti.i32, shape=3)

        @ti.kernel
        def fill():
            for i in range(40):
                grid[i * 3, (i * 7) % 128] = i

        @ti.kernel
        def look():
            for i, j in grid:
                seen[0] += 1
                seen[1] += grid[i, j] * i
            for i, j in blocks:
                seen[2] += 1

        fill()
        look()
        first = seen.to_numpy()
        blocks.deactivate_all()
        seen.fill(0)
        look()
        return numpy.concatenate([first, seen.to_numpy()])

    got, expected = on_both(compute)
    assert got.tolist() == expected.tolist() and got[0] == 40 and got[3:].tolist() == [0, 0, 0]


def test_growing_lists():
    def compute():
        items = ti.field(ti.i32)
        rows = ti.root.dense(ti.i, 64)
        lists = rows.dynamic(ti.j, 1024, chunk_size=16)
        lists.place(items)
        out = ti.field(ti.i32, shape=(64, 2))

        @ti.kernel
        def grow():
            for i, j in ti.ndrange(64, 500):
                if (i * j) % 3 == 0:
                    items[i].append(j)

        @ti.kernel
        def add_up():
            for i in range(64):
                out[i, 0] = items[i].length()
                for k in range(items[i].length()):
                    out[i, 1] += items[i, k]

        grow()
        add_up()
        return out.to_numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


def test_shared_memory_and_warps(device):
    out = ti.field(ti.f32, shape=1024)
    sums = ti.field(ti.i32, shape=1024)

    @ti.kernel
    def run(values: ti.types.ndarray()):
        ti.loop_config(block_dim=128)
        for i in range(1024):
            thread = i % 128
            tile = ti.simt.block.SharedArray((128,), ti.f32)
            tile[thread] = values[i]
            ti.simt.block.sync()
            out[i] = tile[127 - thread]
            part = i
            for step in ti.static((16, 8, 4, 2, 1)):
                part += ti.simt.warp.shfl_down_i32(ti.u32(0xFFFFFFFF), part, step)
            sums[i] = part

    values = numbers(1024)
    run(values)
    numpy.testing.assert_array_equal(out.to_numpy(), values.reshape(8, 128)[:, ::-1].ravel())
    numpy.testing.assert_array_equal(sums.to_numpy()[::32], numpy.arange(1024).reshape(32, 32).sum(axis=1))


def test_gradients(device):
    x, y = ti.field(ti.f32, shape=1000, needs_grad=True), ti.field(ti.f32, shape=(), needs_grad=True)
    values = numbers(1000)
    x.from_numpy(values)

    @ti.kernel
    def loss():
        for i in x:
            y[None] += ti.sin(x[i]) * x[i]

    with ti.ad.Tape(loss=y):
        loss()
    numpy.testing.assert_allclose(x.grad.to_numpy(), numpy.cos(values) * values + numpy.sin(values), rtol=1e-5)


def test_small_matrices():
    def compute():
        out = ti.Matrix.field(3, 3, ti.f32, shape=500)

        @ti.kernel
        def run(values: ti.types.ndarray()):
            for n in range(500):
                a = ti.Matrix.zero(ti.f32, 3, 3)
                for i, j in ti.static(ti.ndrange(3, 3)):
                    a[i, j] = values[n * 9 + i * 3 + j]
                u, sigma, v = ti.svd(a)
                out[n] = u @ sigma @ v.transpose() + (a + ti.Matrix.identity(ti.f32, 3) * 4).inverse()

        run(numbers(4500))
        return out.to_numpy()

    numpy.testing.assert_allclose(*on_both(compute), rtol=1e-4, atol=1e-5)


def test_particles():
    """A hundred steps of the material point method, whose particles add to their cells."""

    def compute():
        count, size, step = 2000, 64, 2e-4
        x, v = ti.Vector.field(2, ti.f32, count), ti.Vector.field(2, ti.f32, count)
        affine, volume = ti.Matrix.field(2, 2, ti.f32, count), ti.field(ti.f32, count)
        grid_v, grid_m = ti.Vector.field(2, ti.f32, (size, size)), ti.field(ti.f32, (size, size))
        width = 1 / size
        mass = (width * 0.5) ** 2

        @ti.kernel
        def advance():
            for i, j in grid_m:
                grid_v[i, j] = ti.Vector([0.0, 0.0])
                grid_m[i, j] = 0.0
            for p in x:
                at = x[p] / width
                base = int(at - 0.5)
                fx = at - base
                w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
                stress = -step * 400 * mass * (volume[p] - 1) * 4 / width**2
                push = ti.Matrix([[stress, 0], [0, stress]]) + mass * affine[p]
                for i, j in ti.static(ti.ndrange(3, 3)):
                    offset = ti.Vector([i, j])
                    weight = w[i].x * w[j].y
                    grid_v[base + offset] += weight * (mass * v[p] + push @ ((offset - fx) * width))
                    grid_m[base + offset] += weight * mass
            for i, j in grid_m:
                if grid_m[i, j] > 0:
                    grid_v[i, j] /= grid_m[i, j]
                grid_v[i, j].y -= step * 9.8
                if i < 3 or i > size - 3:
                    grid_v[i, j].x = 0
                if j < 3 or j > size - 3:
                    grid_v[i, j].y = 0
            for p in x:
                at = x[p] / width
                base = int(at - 0.5)
                fx = at - base
                w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
                new_v, new_affine = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
                for i, j in ti.static(ti.ndrange(3, 3)):
                    offset = ti.Vector([i, j])
                    weight, g = w[i].x * w[j].y, grid_v[base + offset]
                    new_v += weight * g
                    new_affine += 4 * weight * g.outer_product((offset - fx) * width) / width**2
                v[p] = new_v
                x[p] += step * new_v
                volume[p] *= 1 + step * new_affine.trace()
                affine[p] = new_affine

        x.from_numpy(numbers(2 * count).reshape(count, 2) * 0.4 + 0.2)
        volume.fill(1)
        for _ in range(100):
            advance()
        return x.to_numpy()

    numpy.testing.assert_allclose(*on_both(compute), atol=1e-3)


def test_graph(device):
    n = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "values", ti.f32, ndim=1)
    scale = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "scale", ti.f32)

    @ti.kernel
    def times(values: ti.types.ndarray(ti.f32, ndim=1), scale: ti.f32):
        for i in values:
            values[i] *= scale

    builder = ti.graph.GraphBuilder()
    again = builder.create_sequential()
    again.dispatch(times, n, scale)
    for _ in range(3):
        builder.append(again)
    values = ti.ndarray(ti.f32, shape=100)
    values.fill(1)
    builder.compile().run({"values": values, "scale": 2.0})
    numpy.testing.assert_array_equal(values.to_numpy(), numpy.full(100, 8, numpy.float32))


def test_random(device):
    @ti.kernel
    def count() -> ti.i32:
        below = 0
        for _ in range(1_000_000):
            if ti.random() < 0.25:
                below += 1
        return below

    assert abs(count() - 250_000) < 2500


def test_assertion():
    start(ti.cuda, debug=True)

    @ti.kernel
    def fails():
        for i in range(100):
            assert i != 77, "seventy-seven"

    with pytest.raises(ti.TaichiAssertionError, match="seventy-seven"):
        fails()
    ti.reset()


def test_print(capfd):
    start(ti.cuda)

    @ti.kernel
    def speak():
        for i in range(3):
            print("thread", i, "has", i * 0.5)

    speak()
    ti.sync()
    ti.reset()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(line for line in lines if line.startswith("thread")) == [f"thread {i} has {i * 0.5:.6f}" for i in range(3)]
