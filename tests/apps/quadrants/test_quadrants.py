"""Programs in Quadrants on the device, against its own CPU or NumPy."""
import numpy
import pytest
import quadrants as qd

BOTH = (qd.cpu, qd.cuda)
ARRAY = qd.types.ndarray


def start(arch, **options):
    """Quadrants alone falls back to the CPU where the device does not do."""
    qd.init(arch=arch, enable_fallback=False, offline_cache=False, random_seed=7, log_level=qd.WARN, **options)


def on_both(compute):
    """What is computed on the device and on the CPU."""
    results = []
    for arch in BOTH:
        start(arch)
        results.append(compute())
        qd.reset()
    expected, got = results
    return got, expected


@pytest.fixture
def device():
    start(qd.cuda)
    yield
    qd.reset()


def numbers(count):
    return numpy.random.default_rng(count).random(count).astype(numpy.float32)


def whole(count, limit=1000):
    return numpy.random.default_rng(count).integers(0, limit, count).astype(numpy.int32)


def on_device(values, kind):
    array = qd.ndarray(kind, shape=values.shape)
    array.from_numpy(values)
    return array


def test_functions():
    def compute():
        @qd.kernel
        def curve(a: ARRAY(), b: ARRAY()):
            for i in a:
                x = a[i]
                b[i] = qd.sin(x) + qd.exp(-x) * qd.sqrt(x) + qd.pow(x, 3.0) - qd.atan2(x, 2.0) + qd.tanh(x) + qd.log(x + 1.0)
                b[i] += qd.acos(x) * qd.asin(x) + qd.tan(x) * qd.rsqrt(x + 0.5) + qd.floor(x * 9.0) + qd.round(x * 7.0)

        a = numbers(10_000)
        b = numpy.zeros_like(a)
        curve(a, b)
        return b

    numpy.testing.assert_allclose(*on_both(compute), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("kind, within", [(qd.f16, 1e-2), (qd.f32, 1e-5), (qd.f64, 1e-12)])
def test_fields(kind, within):
    def compute():
        values, out = qd.field(kind, shape=4096), qd.field(kind, shape=4096)
        values.from_numpy(numbers(4096))

        @qd.kernel
        def run():
            for i in values:
                out[i] = values[i] * values[4095 - i] + qd.cast(0.5, kind)

        run()
        return out.to_numpy()

    numpy.testing.assert_allclose(*on_both(compute), rtol=within)


@pytest.mark.parametrize("kind", [qd.i8, qd.u16, qd.i32, qd.u64])
def test_whole_numbers(kind):
    def compute():
        a, b, out = (qd.field(kind, shape=1000) for _ in range(3))
        a.from_numpy(whole(1000, 120))
        b.from_numpy(whole(1000, 120)[::-1] + 1)

        @qd.kernel
        def run():
            for i in a:
                out[i] = (a[i] // b[i]) * 3 + (a[i] % b[i]) + ((a[i] ^ b[i]) << 1) - (a[i] >> 2) + (a[i] & ~b[i])

        run()
        return out.to_numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


def test_fractal():
    def compute():
        pixels = qd.field(qd.i32, shape=(320, 200))

        @qd.kernel
        def paint():
            for i, j in pixels:
                c = qd.Vector([-0.8, 0.156])
                z = qd.Vector([i / 160 - 1, j / 100 - 1]) * 1.5
                steps = 0
                while z.norm_sqr() < 16 and steps < 60:
                    z = qd.Vector([z[0] * z[0] - z[1] * z[1], 2 * z[0] * z[1]]) + c
                    steps += 1
                pixels[i, j] = steps

        paint()
        return pixels.to_numpy()

    got, expected = on_both(compute)
    # Rounding decides a few pixels on the border.
    assert (got != expected).mean() < 0.01 and got.std() > 5


def test_sums_and_extremes():
    def compute():
        @qd.kernel
        def run(a: ARRAY(), out: ARRAY()):
            for i in a:
                qd.atomic_add(out[0], a[i])
                qd.atomic_min(out[1], a[i])
                qd.atomic_max(out[2], a[i])
                qd.atomic_xor(out[3], a[i])
                qd.atomic_or(out[4], a[i])

        a = whole(200_003, 20_000) - 10_000
        out = numpy.zeros(5, numpy.int32)
        run(a, out)
        bits = [numpy.bitwise_xor.reduce(a), numpy.bitwise_or.reduce(a)]
        assert out.tolist() == [a.sum(), a.min(), a.max(), *bits]
        return out

    numpy.testing.assert_array_equal(*on_both(compute))


@pytest.mark.parametrize("kind", [qd.f16, qd.f32, qd.f64])
def test_atomics_of_fractions(kind):
    def compute():
        sums, least, most = (qd.field(kind, shape=8) for _ in range(3))
        least.fill(100)

        @qd.kernel
        def run(values: ARRAY()):
            for i in values:
                bin = i % 8
                sums[bin] += qd.cast(0.25, kind)
                qd.atomic_min(least[bin], qd.cast(values[i], kind))
                qd.atomic_max(most[bin], qd.cast(values[i], kind))

        run(numbers(4000))
        return numpy.stack([sums.to_numpy(), least.to_numpy(), most.to_numpy()])

    got, expected = on_both(compute)
    numpy.testing.assert_array_equal(got, expected)
    assert got[0].tolist() == [125] * 8


def test_histogram():
    def compute():
        bins = qd.field(qd.i32, shape=16)

        @qd.kernel
        def count(values: ARRAY()):
            for i in values:
                bins[int(values[i] * 16.0)] += 1

        count(numbers(100_000))
        return bins.to_numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


def test_scan(device):
    values = qd.field(qd.i32, shape=50_000)
    values.from_numpy(whole(50_000, 13))
    qd.algorithms.PrefixSumExecutor(50_000).run(values)
    numpy.testing.assert_array_equal(values.to_numpy(), numpy.cumsum(whole(50_000, 13)))


def test_bitonic_sort(device):
    keys, places = qd.field(qd.i32, shape=8192), qd.field(qd.i32, shape=8192)
    shuffled = numpy.random.default_rng(5).permutation(8192).astype(numpy.int32)
    keys.from_numpy(shuffled)
    places.from_numpy(numpy.arange(8192, dtype=numpy.int32))
    qd.algorithms.parallel_sort(keys, places)
    numpy.testing.assert_array_equal(keys.to_numpy(), numpy.arange(8192))
    numpy.testing.assert_array_equal(shuffled[places.to_numpy()], numpy.arange(8192))


@pytest.mark.parametrize(
    "kind, numpy_kind, graph", [(qd.i32, numpy.int32, False), (qd.f32, numpy.float32, True), (qd.u64, numpy.uint64, False)]
)
def test_radix_sort(device, kind, numpy_kind, graph):
    count = 5000
    start_keys = (numpy.random.default_rng(6).integers(0, 9000, count) - (0 if kind == qd.u64 else 4500)).astype(numpy_kind)
    keys, spare = on_device(start_keys, kind), qd.ndarray(kind, shape=count)
    places, other = on_device(numpy.arange(count, dtype=numpy.int32), qd.i32), qd.ndarray(qd.i32, shape=count)
    scratch = qd.ndarray(qd.u32, shape=qd.algorithms.sort_scratch_slots(count, 2))
    length = qd.ndarray(qd.i32, shape=())
    length.fill(count)
    bits = 64 if kind == qd.u64 else 32

    @qd.kernel(graph=graph)
    def run(
        keys: ARRAY(kind, ndim=1), spare: ARRAY(kind, ndim=1), places: ARRAY(qd.i32, ndim=1), other: ARRAY(qd.i32, ndim=1),
        scratch: ARRAY(qd.u32, ndim=1), length: ARRAY(qd.i32, ndim=0),
    ):
        qd.algorithms.sort(keys, spare, places, other, scratch, length, kind, True, bits, 2)

    run(keys, spare, places, other, scratch, length)
    order = numpy.argsort(start_keys, kind="stable")
    numpy.testing.assert_array_equal(keys.to_numpy(), start_keys[order])
    numpy.testing.assert_array_equal(places.to_numpy(), order)


@pytest.mark.parametrize("name, reduce", [("add", numpy.sum), ("min", numpy.min), ("max", numpy.max)])
@pytest.mark.parametrize("kind, numpy_kind", [(qd.i32, numpy.int32), (qd.f64, numpy.float64)])
def test_reductions(device, name, reduce, kind, numpy_kind):
    count = 70_001
    values = (whole(count) - 300).astype(numpy_kind)
    function = getattr(qd.algorithms, f"reduce_{name}")
    scratch_kind = qd.u64 if kind == qd.f64 else qd.u32
    array, out = on_device(values, kind), qd.ndarray(kind, shape=1)
    scratch = qd.ndarray(scratch_kind, shape=qd.algorithms.reduce_scratch_slots(count, 3))

    @qd.kernel
    def run(array: ARRAY(kind, ndim=1), out: ARRAY(kind, ndim=1), scratch: ARRAY(scratch_kind, ndim=1), n: qd.i32):
        function(array, out, scratch, n, kind, 3)

    run(array, out, scratch, count)
    assert out.to_numpy()[0] == reduce(values)


def test_scans_by_parts(device):
    count = 70_001
    values = whole(count, 9)
    array, out = on_device(values, qd.i32), qd.ndarray(qd.i32, shape=count)
    scratch = qd.ndarray(qd.u32, shape=qd.algorithms.exclusive_scan_scratch_slots(count, 3))

    @qd.kernel
    def run(array: ARRAY(qd.i32, ndim=1), out: ARRAY(qd.i32, ndim=1), scratch: ARRAY(qd.u32, ndim=1), n: qd.i32):
        qd.algorithms.exclusive_scan_add(array, out, scratch, n, qd.i32, 3)

    run(array, out, scratch, count)
    numpy.testing.assert_array_equal(out.to_numpy(), numpy.cumsum(values) - values)


def test_selection(device):
    count = 20_000
    values, flags = whole(count), whole(count, 3) // 2
    array, mask, out = on_device(values, qd.i32), on_device(flags, qd.i32), qd.ndarray(qd.i32, shape=count)
    number = qd.ndarray(qd.i32, shape=1)
    scratch = qd.ndarray(qd.u32, shape=qd.algorithms.select_scratch_slots(count))

    @qd.kernel
    def run(
        array: ARRAY(qd.i32, ndim=1), mask: ARRAY(qd.i32, ndim=1), out: ARRAY(qd.i32, ndim=1), number: ARRAY(qd.i32, ndim=1),
        scratch: ARRAY(qd.u32, ndim=1), n: qd.i32,
    ):
        qd.algorithms.select(array, mask, out, number, scratch, n, 2)

    run(array, mask, out, number, scratch, count)
    expected = values[flags == 1]
    assert number.to_numpy()[0] == len(expected) > 1000
    numpy.testing.assert_array_equal(out.to_numpy()[: len(expected)], expected)


def test_sums_by_key(device):
    count = 20_000
    keys, values = numpy.sort(whole(count, 700)), whole(count, 50)[::-1].copy()
    arrays = [on_device(keys, qd.i32), on_device(values, qd.i32)]
    out_keys, out_values, runs = (qd.ndarray(qd.i32, shape=size) for size in (count, count, 1))
    scratch = qd.ndarray(qd.u32, shape=qd.algorithms.reduce_by_key_scratch_slots(count))

    @qd.kernel
    def run(
        keys: ARRAY(qd.i32, ndim=1), values: ARRAY(qd.i32, ndim=1), out_keys: ARRAY(qd.i32, ndim=1),
        out_values: ARRAY(qd.i32, ndim=1), runs: ARRAY(qd.i32, ndim=1), scratch: ARRAY(qd.u32, ndim=1), n: qd.i32,
    ):
        qd.algorithms.reduce_by_key_add(keys, values, out_keys, out_values, runs, scratch, n, qd.i32, 2)

    run(*arrays, out_keys, out_values, runs, scratch, count)
    unique, where = numpy.unique(keys, return_inverse=True)
    assert runs.to_numpy()[0] == len(unique)
    numpy.testing.assert_array_equal(out_keys.to_numpy()[: len(unique)], unique)
    numpy.testing.assert_array_equal(out_values.to_numpy()[: len(unique)], numpy.bincount(where, values))


def test_sparse_fields():
    def compute():
        grid = qd.field(qd.i32)
        blocks = qd.root.pointer(qd.ij, (16, 16))
        cells = blocks.bitmasked(qd.ij, (8, 8))
        cells.place(grid)
        seen = qd.field(qd.i32, shape=3)

        @qd.kernel
        def fill():
            for i in range(40):
                grid[i * 3, (i * 7) % 128] = i

        @qd.kernel
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
        items = qd.field(qd.i32)
        rows = qd.root.dense(qd.i, 64)
        lists = rows.dynamic(qd.j, 1024, chunk_size=16)
        lists.place(items)
        out = qd.field(qd.i32, shape=(64, 2))

        @qd.kernel
        def grow():
            for i, j in qd.ndrange(64, 500):
                if (i * j) % 3 == 0:
                    items[i].append(j)

        @qd.kernel
        def add_up():
            for i in range(64):
                out[i, 0] = items[i].length()
                for k in range(items[i].length()):
                    out[i, 1] += items[i, k]

        grow()
        add_up()
        return out.to_numpy()

    numpy.testing.assert_array_equal(*on_both(compute))


def test_shared_memory(device):
    out = qd.field(qd.f32, shape=1024)

    @qd.kernel
    def run(values: ARRAY()):
        qd.loop_config(block_dim=128)
        for i in range(1024):
            thread = i % 128
            tile = qd.simt.block.SharedArray((128,), qd.f32)
            tile[thread] = values[i]
            qd.simt.block.sync()
            out[i] = tile[127 - thread]

    values = numbers(1024)
    run(values)
    numpy.testing.assert_array_equal(out.to_numpy(), values.reshape(8, 128)[:, ::-1].ravel())


def test_blocks(device):
    totals, scans, votes = (qd.field(qd.i32, shape=size) for size in (1024, 1024, (1024, 3)))

    @qd.kernel
    def run(values: ARRAY()):
        qd.loop_config(block_dim=256)
        for i in range(1024):
            totals[i] = qd.simt.block.reduce_all_add(values[i], 256, qd.i32)
            scans[i] = qd.simt.block.inclusive_add(values[i], 256, qd.i32)
            votes[i, 0] = qd.simt.block.sync_count_nonzero(qd.i32(values[i] % 3 != 0))
            votes[i, 1] = qd.simt.block.sync_any_nonzero(qd.i32(values[i] > 990))
            votes[i, 2] = qd.simt.block.sync_all_nonzero(qd.i32(values[i] < 997))

    values = whole(1024)
    run(values)
    blocks = values.reshape(4, 256)
    numpy.testing.assert_array_equal(totals.to_numpy(), numpy.repeat(blocks.sum(1), 256))
    numpy.testing.assert_array_equal(scans.to_numpy(), numpy.cumsum(blocks, 1).ravel())
    got = votes.to_numpy()
    numpy.testing.assert_array_equal(got[:, 0], numpy.repeat((blocks % 3 != 0).sum(1), 256))
    numpy.testing.assert_array_equal(got[:, 1] != 0, numpy.repeat((blocks > 990).any(1), 256))
    numpy.testing.assert_array_equal(got[:, 2] != 0, numpy.repeat((blocks < 997).all(1), 256))


def test_warps(device):
    out = qd.field(qd.i32, shape=(12, 256))

    @qd.kernel
    def run(values: ARRAY()):
        qd.loop_config(block_dim=64)
        for i in range(256):
            x = values[i]
            lane = qd.i32(qd.simt.subgroup.invocation_id())
            out[0, i] = qd.simt.subgroup.reduce_all_add(x)
            out[1, i] = qd.simt.subgroup.reduce_all_min(x)
            out[2, i] = qd.simt.subgroup.inclusive_add(x)
            out[3, i] = qd.simt.subgroup.exclusive_max(x)
            out[4, i] = qd.simt.subgroup.shuffle_xor(x, qd.u32(5))
            out[5, i] = qd.simt.subgroup.shuffle(x, qd.u32(31 - lane))
            out[6, i] = qd.simt.subgroup.broadcast(x, qd.u32(9))
            out[7, i] = qd.simt.subgroup.any_true(x > 990)
            out[8, i] = qd.simt.subgroup.all_true(x > 10)
            out[9, i] = qd.simt.subgroup.reduce_all_add_tiled(x, 3)
            out[10, i] = qd.simt.subgroup.inclusive_xor(x)
            out[11, i] = lane

    values = whole(256)
    run(values)
    rows = values.reshape(8, 32)
    got = out.to_numpy().reshape(12, 8, 32)
    least = numpy.iinfo(numpy.int32).min
    before = numpy.concatenate([numpy.full((8, 1), least), numpy.maximum.accumulate(rows, 1)[:, :-1]], 1)
    lanes = numpy.arange(32)
    spread = [rows.sum(1), rows.min(1), rows[:, 9], (rows > 990).any(1), (rows > 10).all(1)]
    for row, expected in zip((0, 1, 6, 7, 8), spread):
        numpy.testing.assert_array_equal(got[row], numpy.repeat(expected, 32).reshape(8, 32))
    for row, expected in (
        (2, numpy.cumsum(rows, 1)), (3, before), (4, rows[:, lanes ^ 5]), (5, rows[:, ::-1]),
        (9, numpy.repeat(rows.reshape(8, 4, 8).sum(2), 8, axis=1)), (10, numpy.bitwise_xor.accumulate(rows, 1)),
        (11, numpy.tile(lanes, (8, 1))),
    ):
        numpy.testing.assert_array_equal(got[row], expected)


def test_sort_in_warps(device):
    keys, places = qd.field(qd.i32, shape=128), qd.field(qd.i32, shape=128)

    @qd.kernel
    def run(values: ARRAY()):
        qd.loop_config(block_dim=32)
        for i in range(128):
            key, place = qd.simt.subgroup.bitonic_sort_kv(values[i], i)
            keys[i] = key
            places[i] = place

    values = numpy.random.default_rng(8).permutation(128).astype(numpy.int32)
    run(values)
    numpy.testing.assert_array_equal(keys.to_numpy(), numpy.sort(values.reshape(4, 32), 1).ravel())
    numpy.testing.assert_array_equal(values[places.to_numpy()], keys.to_numpy())


@pytest.mark.parametrize(
    "size, kind, numpy_kind, within", [(32, qd.f32, numpy.float32, 1e-4), (16, qd.f64, numpy.float64, 1e-12)]
)
def test_tiles(device, size, kind, numpy_kind, within):
    """A Cholesky factor whose rows are in the registers of a warp."""
    Tile = getattr(qd.simt, f"Tile{size}x{size}")
    roots = numpy.random.default_rng(size).random((size, size))
    matrix = (roots @ roots.T + size * numpy.eye(size)).astype(numpy_kind)
    array, out = on_device(matrix, kind), qd.ndarray(kind, shape=(size, size))

    @qd.kernel
    def run(array: ARRAY(kind, ndim=2), out: ARRAY(kind, ndim=2)):
        qd.loop_config(block_dim=size)
        for _ in range(size):
            tile = Tile.zeros(dtype=kind)
            tile[:] = array[0:size, 0:size]
            tile.cholesky_(1e-10)
            out[0:size, 0:size] = tile

    run(array, out)
    numpy.testing.assert_allclose(numpy.tril(out.to_numpy()), numpy.linalg.cholesky(matrix), rtol=within, atol=within)


def test_gradients(device):
    x, y = qd.field(qd.f32, shape=1000, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
    values = numbers(1000)
    x.from_numpy(values)

    @qd.kernel
    def loss():
        for i in x:
            y[None] += qd.sin(x[i]) * x[i]

    with qd.ad.Tape(loss=y):
        loss()
    numpy.testing.assert_allclose(x.grad.to_numpy(), numpy.cos(values) * values + numpy.sin(values), rtol=1e-5)


def test_gradients_forward(device):
    x, y = qd.field(qd.f32, shape=100), qd.field(qd.f32, shape=100)
    qd.root.lazy_dual()
    values = numbers(100)
    x.from_numpy(values)

    @qd.kernel
    def curve():
        for i in x:
            y[i] = qd.exp(x[i]) * qd.cos(x[i])

    with qd.ad.FwdMode(loss=y, param=x, seed=[1.0] * 100):
        curve()
    numpy.testing.assert_allclose(y.dual.to_numpy(), numpy.exp(values) * (numpy.cos(values) - numpy.sin(values)), rtol=1e-4, atol=1e-5)


def test_small_matrices():
    def compute():
        out = qd.Matrix.field(3, 3, qd.f32, shape=500)

        @qd.kernel
        def run(values: ARRAY()):
            for n in range(500):
                a = qd.Matrix.zero(qd.f32, 3, 3)
                for i, j in qd.static(qd.ndrange(3, 3)):
                    a[i, j] = values[n * 9 + i * 3 + j]
                out[n] = a.transpose() @ a * a.determinant() + (a + qd.Matrix.identity(qd.f32, 3) * 4).inverse()

        run(numbers(4500))
        return out.to_numpy()

    numpy.testing.assert_allclose(*on_both(compute), rtol=1e-4, atol=1e-5)


def test_eigenvalues(device):
    pairs = numbers(1800).reshape(200, 3, 3)
    matrices = pairs + pairs.transpose(0, 2, 1)
    out = qd.Vector.field(3, qd.f32, shape=200)

    @qd.kernel
    def run(values: ARRAY()):
        for n in range(200):
            a = qd.Matrix.zero(qd.f32, 3, 3)
            for i, j in qd.static(qd.ndrange(3, 3)):
                a[i, j] = values[n, i, j]
            found, _ = qd.sym_eig(a)
            out[n] = found

    run(matrices)
    numpy.testing.assert_allclose(numpy.sort(out.to_numpy(), 1), numpy.linalg.eigvalsh(matrices), atol=1e-4)


def test_structures():
    def compute():
        Ball = qd.types.struct(place=qd.math.vec3, speed=qd.math.vec3, mass=qd.f32, hits=qd.i32)
        balls = Ball.field(shape=300)

        @qd.func
        def bounce(ball):
            if ball.place.y < 0:
                ball.place.y = -ball.place.y
                ball.speed.y = -ball.speed.y * 0.5
                ball.hits += 1
            return ball

        @qd.kernel
        def advance(step: qd.f32):
            for i in balls:
                ball = balls[i]
                ball.speed += qd.math.vec3(0.0, -9.8, 0.1 * i) * step
                ball.place += ball.speed * step
                balls[i] = bounce(ball)

        balls.place.from_numpy(numbers(900).reshape(300, 3))
        for _ in range(100):
            advance(0.01)
        return numpy.concatenate([balls.place.to_numpy(), balls.hits.to_numpy()[:, None]], 1)

    got, expected = on_both(compute)
    numpy.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    assert got[:, 3].min() >= 1


def test_particles():
    """A hundred steps of the material point method, whose particles add to their cells."""

    def compute():
        count, size, step = 2000, 64, 2e-4
        x, v = qd.Vector.field(2, qd.f32, count), qd.Vector.field(2, qd.f32, count)
        affine, volume = qd.Matrix.field(2, 2, qd.f32, count), qd.field(qd.f32, count)
        grid_v, grid_m = qd.Vector.field(2, qd.f32, (size, size)), qd.field(qd.f32, (size, size))
        width = 1 / size
        mass = (width * 0.5) ** 2

        @qd.func
        def weights(fx):
            return [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]

        @qd.kernel
        def advance():
            for i, j in grid_m:
                grid_v[i, j] = qd.Vector([0.0, 0.0])
                grid_m[i, j] = 0.0
            for p in x:
                at = x[p] / width
                base = int(at - 0.5)
                fx = at - base
                w = qd.static(weights)(fx)
                stress = -step * 400 * mass * (volume[p] - 1) * 4 / width**2
                push = qd.Matrix([[stress, 0], [0, stress]]) + mass * affine[p]
                for i, j in qd.static(qd.ndrange(3, 3)):
                    offset = qd.Vector([i, j])
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
                w = qd.static(weights)(fx)
                new_v, new_affine = qd.Vector.zero(qd.f32, 2), qd.Matrix.zero(qd.f32, 2, 2)
                for i, j in qd.static(qd.ndrange(3, 3)):
                    offset = qd.Vector([i, j])
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


@pytest.mark.parametrize("length", [1, 40])
def test_graph_that_repeats(device, length):

    @qd.kernel(graph=True)
    def run(values: ARRAY(qd.i32, ndim=1), left: ARRAY(qd.i32, ndim=0)):
        for i in range(values.shape[0]):
            values[i] = i
        while qd.graph.do_while(left):
            for i in range(values.shape[0]):
                values[i] = values[i] * 3 + 1
            for _ in range(1):
                left[()] = left[()] - 1
        for i in range(values.shape[0]):
            values[i] = values[i] + 5

    values, left = qd.ndarray(qd.i32, shape=500), qd.ndarray(qd.i32, shape=())
    expected = numpy.arange(500, dtype=numpy.int32)
    for _ in range(length):
        expected = expected * numpy.int32(3) + numpy.int32(1)
    # The second time what was built at first is launched.
    for _ in range(2):
        left.fill(length)
        run(values, left)
        numpy.testing.assert_array_equal(values.to_numpy(), expected + 5)
        assert left.to_numpy() == 0


def test_graph_in_a_graph(device):
    @qd.kernel(graph=True)
    def run(values: ARRAY(qd.i32, ndim=1), outer: ARRAY(qd.i32, ndim=0), inner: ARRAY(qd.i32, ndim=0)):
        while qd.graph.do_while(outer):
            for _ in range(1):
                inner[()] = outer[()]
            while qd.graph.do_while(inner):
                for i in range(values.shape[0]):
                    values[i] += 1
                for _ in range(1):
                    inner[()] = inner[()] - 1
            for _ in range(1):
                outer[()] = outer[()] - 1

    values, outer, inner = qd.ndarray(qd.i32, shape=100), qd.ndarray(qd.i32, shape=()), qd.ndarray(qd.i32, shape=())
    values.fill(0)
    outer.fill(6)
    run(values, outer, inner)
    numpy.testing.assert_array_equal(values.to_numpy(), numpy.full(100, 21))


def test_graph_with_branches(device):
    @qd.kernel(graph=True)
    def run(a: ARRAY(qd.i32, ndim=1), b: ARRAY(qd.i32, ndim=1), out: ARRAY(qd.i32, ndim=1)):
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                for i in range(a.shape[0]):
                    a[i] = i * i
                for i in range(a.shape[0]):
                    a[i] += 1
            with qd.graph.parallel():
                for i in range(b.shape[0]):
                    b[i] = 3 * i
        for i in range(out.shape[0]):
            out[i] = a[i] - b[i]

    arrays = [qd.ndarray(qd.i32, shape=1000) for _ in range(3)]
    run(*arrays)
    i = numpy.arange(1000)
    numpy.testing.assert_array_equal(arrays[2].to_numpy(), i * i + 1 - 3 * i)


def test_streams(device):
    @qd.kernel
    def fill(values: ARRAY(qd.f32, ndim=1), x: qd.f32):
        for i in range(values.shape[0]):
            values[i] = values[i] * 0.5 + x * i

    first, second = (qd.ndarray(qd.f32, shape=3000) for _ in range(2))
    first.fill(8)
    second.fill(4)
    with qd.create_stream() as one, qd.create_stream() as other, qd.create_event() as done:
        fill(first, 1.0, qd_stream=one)
        fill(second, 2.0, qd_stream=other)
        done.record(one)
        done.wait(other)
        fill(first, 3.0, qd_stream=other)
        other.synchronize()
    i = numpy.arange(3000, dtype=numpy.float32)
    numpy.testing.assert_array_equal(first.to_numpy(), (4 + i) * 0.5 + 3 * i)
    numpy.testing.assert_array_equal(second.to_numpy(), 2 + 2 * i)


def test_streams_in_a_kernel(device):
    first, second = qd.field(qd.i32, shape=2000), qd.field(qd.i32, shape=2000)

    @qd.kernel
    def run():
        with qd.stream_parallel():
            for i in range(2000):
                first[i] = i * 7
        with qd.stream_parallel():
            for i in range(2000):
                second[i] = i * 9

    run()
    numpy.testing.assert_array_equal(first.to_numpy(), numpy.arange(2000) * 7)
    numpy.testing.assert_array_equal(second.to_numpy(), numpy.arange(2000) * 9)


def test_conjugate_gradients(device):
    """A Poisson problem, solved with a matrix that only a kernel knows."""
    size = 32
    x, b = qd.field(qd.f64, shape=(size, size)), qd.field(qd.f64, shape=(size, size))
    right = numpy.random.default_rng(9).random((size, size))
    b.from_numpy(right)

    @qd.kernel
    def product(v: qd.template(), out: qd.template()):
        for i, j in v:
            left = v[i - 1, j] if i > 0 else 0.0
            after = v[i + 1, j] if i < size - 1 else 0.0
            below = v[i, j - 1] if j > 0 else 0.0
            above = v[i, j + 1] if j < size - 1 else 0.0
            out[i, j] = 4 * v[i, j] - left - after - below - above

    qd.linalg.MatrixFreeCG(qd.linalg.LinearOperator(product), b, x, maxiter=500, tol=1e-12, quiet=True)
    found = numpy.pad(x.to_numpy(), 1)
    residual = 4 * found[1:-1, 1:-1] - found[:-2, 1:-1] - found[2:, 1:-1] - found[1:-1, :-2] - found[1:-1, 2:] - right
    assert numpy.abs(residual).max() < 1e-6 and numpy.abs(found).max() > 1


def test_random(device):
    @qd.kernel
    def count() -> qd.i32:
        below = 0
        for _ in range(1_000_000):
            if qd.random() < 0.25:
                below += 1
        return below

    assert abs(count() - 250_000) < 2500


def test_assertion():
    start(qd.cuda, debug=True)

    @qd.kernel
    def fails():
        for i in range(100):
            assert i != 77, "seventy-seven"

    with pytest.raises(qd.QuadrantsAssertionError, match="seventy-seven"):
        fails()
    qd.reset()


def test_print(capfd):
    start(qd.cuda)

    @qd.kernel
    def speak():
        for i in range(3):
            print("thread", i, "has", i * 0.5)

    speak()
    qd.sync()
    qd.reset()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(line for line in lines if line.startswith("thread")) == [f"thread {i} has {i * 0.5:.6f}" for i in range(3)]
