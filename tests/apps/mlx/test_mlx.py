"""MLX's kernels for CUDA, those that it brings and those that it compiles at run time, against its own CPU or NumPy.

Products of matrices are cuBLAS's, and left out: what multiplies here are vectors, weights of few bits, and sums of products.
"""
import subprocess
import sys

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers
import mlx.utils
import numpy
import pytest

RANDOM = numpy.random.default_rng(1)


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=numpy.float32)


def positive(*shape):
    return numpy.abs(floats(*shape)) + numpy.float32(0.1)


def whole(low, high, *shape, kind=numpy.int32):
    return RANDOM.integers(low, high, shape).astype(kind)


def computed(device, function, *arrays):
    with mx.stream(device):
        results = function(*map(mx.array, arrays))
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        # NumPy has no bfloat16.
        return [numpy.array(a.astype(mx.float32) if a.dtype == mx.bfloat16 else a) for a in results]


def same(found, expected, tolerance):
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        numpy.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def agree(function, *arrays, tolerance=1e-5):
    """What the device computes is what the CPU does."""
    same(computed(mx.gpu, function, *arrays), computed(mx.cpu, function, *arrays), tolerance)


def test_it_runs_on_the_device_unless_told_otherwise():
    assert mx.default_device() == mx.gpu
    assert mx.device_info()["architecture"] == "sm_120"
    assert (mx.arange(1000) * 2).sum().item() == 999_000


@pytest.mark.parametrize(
    "name",
    (
        "abs arctan arcsinh ceil cos cosh degrees erf exp expm1 floor isfinite log log10 log1p log2 logical_not negative "
        "reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh"
    ).split(),
)
def test_of_one(name):
    agree(getattr(mx, name), positive(37, 1025))


@pytest.mark.parametrize("name", ["arccos", "arcsin", "arctanh", "erfinv"])
def test_of_one_between_minus_one_and_one(name):
    agree(getattr(mx, name), numpy.tanh(floats(37, 205)) * numpy.float32(0.99))


@pytest.mark.parametrize(
    "name",
    (
        "add arctan2 divide equal floor_divide greater greater_equal less logaddexp maximum minimum multiply not_equal power "
        "remainder subtract"
    ).split(),
)
def test_of_two(name):
    operation = getattr(mx, name)
    first = positive(37, 1025)
    agree(operation, first, positive(37, 1025))
    agree(operation, first, positive(37, 1))
    agree(operation, first[:, :1], positive(1025))
    agree(lambda a, b: operation(a, b.T), first, positive(1025, 37))


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_whole_numbers(kind):
    def compute(a, b):
        return a * b + a // b - a % b, (a << (b & 3)) ^ (a >> (b & 3)) & ~b, mx.maximum(a, b), a.sum(0), a / b

    kind = getattr(numpy, kind)
    agree(compute, whole(0, 100, 33, 129, kind=kind), whole(1, 9, 33, 129, kind=kind))


@pytest.mark.parametrize("kind, tolerance", [(mx.float16, 2e-3), (mx.bfloat16, 2e-2)])
def test_halves(kind, tolerance):
    def compute(a, b):
        a, b = a.astype(kind), b.astype(kind)
        return mx.exp(-a) * b, mx.tanh(a) + mx.sin(b), a.max(1), mx.sort(a), mx.softmax(b, axis=-1, precise=True)

    agree(compute, positive(30, 500), floats(30, 500), tolerance=tolerance)


def test_complex_numbers():
    def compute(a, b):
        return mx.exp(a) * b, a / b, mx.tanh(a), mx.log(b), mx.abs(a), mx.conjugate(a), a.sum(1), mx.sin(a)

    values = [(floats(20, 30) + 1j * floats(20, 30)).astype(numpy.complex64) for _ in range(2)]
    agree(compute, *values, tolerance=1e-4)


def test_changes_of_type():
    kinds = [mx.float16, mx.bfloat16, mx.int8, mx.int64, mx.complex64, mx.bool_]
    agree(lambda a: [a.astype(kind) for kind in kinds] + [a.view(mx.int32)], floats(30, 50) * 20)
    agree(lambda a: mx.from_fp8(mx.to_fp8(a), dtype=mx.float32), floats(30, 64))


@pytest.mark.parametrize("name", "all any argmax argmin logsumexp max mean median min prod std sum var".split())
def test_reduction(name):
    operation = getattr(mx, name)
    values = 1 + floats(6, 37, 21) / 20
    axes = [None, 0, 1, 2] + ([] if name.startswith("arg") else [(0, 2), (1, 2)])
    agree(lambda a: [operation(a, axis=axis) for axis in axes], values, tolerance=1e-4)


def test_reduction_of_many():
    values = floats(1000, 1000)
    found = computed(mx.gpu, lambda a: [a.sum(), a.min(), mx.var(a), a.max(0), a.sum(1)], values)
    exact = values.astype(numpy.float64)
    expected = [exact.sum(), exact.min(), exact.var(), exact.max(0), exact.sum(1)]
    for one, other in zip(found, expected):
        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", "cummax cummin cumprod cumsum logcumsumexp".split())
def test_scan(name):
    operation = getattr(mx, name)

    def compute(a):
        forward = [operation(a, axis=axis) for axis in range(3)]
        return forward + [operation(a, axis=axis, reverse=True, inclusive=False) for axis in range(3)]

    agree(compute, 1 + floats(6, 300, 40) / 20, tolerance=1e-4)


def test_long_scan():
    agree(mx.cumsum, whole(0, 9, 100_003))


@pytest.mark.parametrize("shape", [(7,), (5, 300), (2, 10_000), (100_000,)], ids=str)
@pytest.mark.parametrize("kind", ["float32", "int32", "uint8", "int64"])
def test_sort(kind, shape):
    values = (positive(*shape) * 100).astype(kind)
    agree(mx.sort, values)
    places = computed(mx.gpu, mx.argsort, values)[0]
    numpy.testing.assert_array_equal(numpy.take_along_axis(values, places, -1), numpy.sort(values, -1))


def test_sorts_of_other_axes_and_of_the_largest():
    agree(lambda a: [mx.sort(a, axis=0), mx.sort(a, axis=1), mx.sort(mx.topk(a, 9)), mx.partition(a, 5)[..., 5]], floats(40, 50, 60))


@pytest.mark.parametrize("length", [33, 1025, 20_000])
def test_softmax(length):
    agree(lambda a: [mx.softmax(a, axis=-1), mx.softmax(a, axis=0), mx.logsumexp(a, axis=-1)], floats(9, length))


def test_moves():
    def compute(a):
        return [
            a[3:30:3, ::-1, 1:-1],
            mx.contiguous(a.transpose(2, 0, 1)),
            mx.concatenate([a, a + 1], axis=1),
            mx.stack([a, -a], axis=2),
            mx.pad(a, ((1, 2), (3, 4), (0, 1)), constant_values=7),
            mx.pad(a, 2, mode="edge"),
            mx.roll(a, (3, -5), axis=(0, 1)),
            mx.flip(a, axis=1),
            mx.tile(a, (2, 1, 3)),
            mx.repeat(a, 3, axis=0),
            mx.tril(a[..., 0], 2),
            mx.as_strided(a, (30, 5), (3, 2)) + 0,
            mx.where(a > 0, a, a * 2),
            mx.clip(a, -0.5, 0.25),
            mx.nan_to_num(mx.log(a)),
        ]

    agree(compute, floats(40, 50, 6))


def test_what_needs_no_input():
    agree(lambda: [mx.arange(0, 100, 0.25), mx.linspace(0, 1, 77), mx.eye(20, 30, k=2), mx.full((7, 9), 3.5), mx.hanning(50)])


def test_rows_are_taken_by_number():
    agree(lambda a, rows: [mx.take(a, rows, axis=0), mx.take_along_axis(a, rows[:, None], axis=0)], floats(40, 50), whole(-40, 40, 7))


def test_rows_are_put_by_number():
    def compute(a, rows, new):
        a = mx.array(a)
        a[rows] = new
        return a

    agree(compute, floats(40, 50), RANDOM.permutation(40)[:7].astype(numpy.int32), floats(7, 50))


@pytest.mark.parametrize("name, kind", [("add", mx.float32), ("add", mx.int32), ("add", mx.bfloat16), ("maximum", mx.float32)], ids=str)
def test_many_are_added_to_one_place(name, kind):
    def compute(a, rows, new):
        return getattr(a.astype(kind).at[rows], name)(new.astype(kind))

    # Whole numbers, so that the order makes no difference.
    rows, new = whole(0, 100, 1000), whole(-2, 3, 1000, 7).astype(numpy.float32)
    agree(compute, whole(-9, 9, 100, 7).astype(numpy.float32), rows, new, tolerance=0)


def test_masks_choose_what_is_written():
    def compute(a):
        a = mx.array(a)
        a[a > 0] = 0.5
        a[3:7, ::2] = a[4:8, 1::2]
        return a

    agree(compute, floats(40, 50))


DRAWS = {
    "uniform": lambda key: mx.random.uniform(shape=(1000, 33), key=key),
    "normal": lambda key: mx.random.normal((1000, 33), key=key),
    "truncated": lambda key: mx.random.truncated_normal(-1, 1, (1000,), key=key),
    "laplace": lambda key: mx.random.laplace((1000,), key=key),
    "gumbel": lambda key: mx.random.gumbel((1000,), key=key),
    "whole": lambda key: mx.random.randint(0, 100, (1000,), key=key),
    "truth": lambda key: mx.random.bernoulli(0.3, (1000,), key=key),
    "permutation": lambda key: mx.random.permutation(1000, key=key),
    "categories": lambda key: mx.random.categorical(mx.zeros((100, 50)), key=key),
    "keys": lambda key: mx.random.split(key, 5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_the_cpu(name):
    agree(lambda: DRAWS[name](mx.random.key(7)), tolerance=1e-4)


@pytest.mark.parametrize("length", [128, 1025, 12_288])
def test_rows_by_their_root_mean_square(length):
    agree(lambda a, w: mx.fast.rms_norm(a, w, 1e-5), floats(9, length), floats(length))


def normalised(a, weight, bias):
    return mx.fast.layer_norm(a, weight, bias, 1e-5)


@pytest.mark.parametrize("length", [33, 128])
def test_short_rows_by_mean_and_variance(length):
    agree(normalised, floats(9, length), floats(length), floats(length))


@pytest.mark.parametrize("length", [512, 1025])
def test_long_rows_by_mean_and_variance(length):
    agree(normalised, floats(9, length), floats(length), floats(length))


@pytest.mark.parametrize("traditional", [True, False])
@pytest.mark.parametrize("length", [1, 17])
def test_turned_pairs(length, traditional):
    def compute(a):
        return mx.fast.rope(a, 64, traditional=traditional, base=10000.0, scale=1.0, offset=3)

    agree(compute, floats(2, 4, length, 64), tolerance=1e-4)


@pytest.mark.parametrize("width", [64, 96, 128])
@pytest.mark.parametrize("kind, tolerance", [(mx.float32, 1e-4), (mx.float16, 1e-2), (mx.bfloat16, 2e-2)])
def test_attention_of_one_word_to_all_before(kind, tolerance, width):
    def compute(*arrays):
        return mx.fast.scaled_dot_product_attention(*(a.astype(kind) for a in arrays), scale=width**-0.5)

    agree(compute, floats(2, 8, 1, width), floats(2, 2, 777, width), floats(2, 2, 777, width), tolerance=tolerance)


def test_cross_entropy():
    logits, targets = floats(30, 1000), whole(0, 1000, 30)
    agree(lambda a, t: [mx.fast.cross_entropy(a, t), nn.losses.cross_entropy(a, t, reduction="mean")], logits, targets, tolerance=1e-4)


def test_matrices_by_vectors():
    agree(lambda a, v, b, w: [a @ v, v @ a.T, b @ w], floats(300, 400), floats(400), floats(5, 30, 40), floats(5, 40, 1), tolerance=1e-3)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_weights_of_few_bits(group, bits):
    """What is packed is what the CPU packs, and means the same; products are those of what it means."""
    values = floats(64, 512)
    found, expected = (computed(where, lambda w: mx.quantize(w, group, bits), values) for where in (mx.gpu, mx.cpu))
    # What lies in the middle of two steps goes to either.
    assert numpy.mean(found[0] != expected[0]) < 0.002
    same(found[1:], expected[1:], 1e-5)
    with mx.stream(mx.cpu):
        packed = mx.quantize(mx.array(floats(64, 512)), group, bits)
        weights = numpy.array(mx.dequantize(*packed, group_size=group, bits=bits))
    same(computed(mx.gpu, lambda: mx.dequantize(*packed, group_size=group, bits=bits)), [weights], 1e-6)
    for rows in (1, 6):
        values = floats(rows, 512)
        found = computed(mx.gpu, lambda a: mx.quantized_matmul(a, *packed, group_size=group, bits=bits), values)
        same(found, [values @ weights.T], 1e-3)


@pytest.mark.parametrize("kind", [mx.float16, mx.bfloat16], ids=str)
@pytest.mark.parametrize("mode", ["mxfp4", "mxfp8", "nvfp4"])
def test_weights_of_small_floats(mode, kind):
    # Not bit for bit: a small negative number is -0 on the device, and 0 on the CPU.
    agree(lambda w: mx.dequantize(*mx.quantize(w, mode=mode), mode=mode), floats(64, 512))
    with mx.stream(mx.cpu):
        packed = mx.quantize(mx.array(floats(64, 512)), mode=mode)
        weights = numpy.array(mx.dequantize(*packed, mode=mode).astype(mx.float32))
    values = numpy.round(floats(3, 512) * 8) / 8
    found = computed(mx.gpu, lambda a: mx.quantized_matmul(a.astype(kind), *packed, mode=mode).astype(mx.float32), values)
    same(found, [values @ weights.T], 0.02 if kind == mx.float16 else 0.15)


CONVOLUTIONS = {
    "line": (mx.conv1d, {"padding": 1}, (2, 64, 8), (16, 5, 8)),
    "plane": (mx.conv2d, {"padding": 1}, (2, 16, 16, 8), (16, 3, 3, 8)),
    "strides": (mx.conv2d, {"stride": 2, "padding": 1}, (2, 17, 15, 3), (5, 3, 3, 3)),
    "channels": (mx.conv2d, {"padding": 1, "groups": 8}, (2, 16, 16, 8), (8, 3, 3, 1)),
    "transposed": (mx.conv_transpose2d, {"stride": 2}, (2, 8, 8, 8), (16, 3, 3, 8)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name):
    operation, options, values, weights = CONVOLUTIONS[name]
    agree(lambda a, w: operation(a, w, **options), floats(*values), floats(*weights) / 8, tolerance=1e-4)


def test_pools():
    agree(lambda a: [nn.MaxPool2d(2, 2)(a), nn.AvgPool2d(3, 2)(a), nn.MaxPool2d(3, 2, 1)(a)], floats(2, 16, 16, 8))


def test_hadamard():
    agree(mx.hadamard_transform, floats(5, 256), tolerance=1e-4)


COMPILED = {
    "chain": lambda a, b: mx.sin(a) * b + mx.exp(-mx.abs(b)) / (1 + mx.square(a)),
    "spread": lambda a, b: mx.tanh(a + b[:1]) * mx.where(a > b[:1], a, b) - 3,
    "turned": lambda a, b: mx.softmax(a.T * b.T + 1, axis=1).sum(0),
}


@pytest.mark.parametrize("name", COMPILED)
def test_functions_that_are_compiled(name):
    agree(mx.compile(COMPILED[name]), floats(60, 70), floats(60, 70), tolerance=1e-4)


def test_shapes_of_a_compiled_function_may_change():
    function = mx.compile(lambda a, b: mx.maximum(a * 2, b) - a * b, shapeless=True)
    for rows in (3, 40, 400):
        agree(function, floats(rows, 70), floats(rows, 70))


GRADIENTS = {
    "elements": (lambda a: (mx.sin(a) * a).sum(), [(37, 205)]),
    "softmax": (lambda a: (mx.softmax(a, axis=1) * mx.arange(205)).sum(), [(37, 205)]),
    "most": (lambda a: a.max(1).sum(), [(37, 205)]),
    "scan": (lambda a: (mx.cumsum(a, axis=1) ** 2).sum(), [(5, 50)]),
    "rows": (lambda a: (a[mx.array([3, 3, 5])] ** 2).sum(), [(9, 40)]),
    "root_mean_square": (lambda a, w: (mx.fast.rms_norm(a, w, 1e-5) ** 2).sum(), [(20, 256), (256,)]),
    "short_layers": (lambda a, w, b: (mx.fast.layer_norm(a, w, b, 1e-5) ** 3).sum(), [(20, 96), (96,), (96,)]),
    "turned_pairs": (
        lambda a: (mx.fast.rope(a, 64, traditional=False, base=10000.0, scale=1.0, offset=0) ** 3).sum(),
        [(2, 4, 17, 64)],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient(name):
    function, shapes = GRADIENTS[name]
    agree(mx.grad(function, list(range(len(shapes)))), *(floats(*shape) for shape in shapes), tolerance=1e-3)


def test_functions_over_functions():
    agree(mx.vmap(lambda a, b: mx.sin(a) * b + a.sum()), floats(37, 205), floats(37, 205), tolerance=1e-4)
    agree(lambda a, b: mx.jvp(lambda x: mx.exp(mx.sin(x)), [a], [b])[1], floats(37, 205), floats(37, 205), tolerance=1e-4)


HISTOGRAM = """
    __shared__ int counts[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) counts[bin] = 0;
    __syncthreads();
    auto place = cooperative_groups::this_grid().thread_rank();
    if (place < values_shape[0]) atomicAdd(&counts[static_cast<int>(values[place] * T(BINS))], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(&bins[bin], counts[bin]);
"""


def test_a_kernel_in_cuda():
    kernel = mx.fast.cuda_kernel(name="histogram", input_names=["values"], output_names=["bins"], source=HISTOGRAM)
    values = RANDOM.random(10_000, dtype=numpy.float32)
    [bins] = kernel(
        inputs=[mx.array(values)],
        template=[("T", mx.float32), ("BINS", 16)],
        grid=(10_240, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[(16,)],
        output_dtypes=[mx.int32],
        init_value=0,
    )
    numpy.testing.assert_array_equal(numpy.array(bins), numpy.bincount((values * 16).astype(int), minlength=16))


SCALED = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry scaled(.param .u64 from, .param .u64 to, .param .f32 by)
{
    .reg .u32 %r;
    .reg .u64 %a, %b, %at;
    .reg .f32 %x, %y;
    mov.u32 %r, %tid.x;
    mul.wide.u32 %at, %r, 4;
    ld.param.u64 %a, [from];
    ld.param.u64 %b, [to];
    ld.param.f32 %y, [by];
    add.u64 %a, %a, %at;
    add.u64 %b, %b, %at;
    ld.global.f32 %x, [%a];
    mul.f32 %x, %x, %y;
    st.global.f32 [%b], %x;
    ret;
}
"""


def test_a_kernel_in_ptx():
    values = floats(128)
    [found] = mx.fast.precompiled_cuda_kernel(
        name="scaled",
        compiled_source=SCALED,
        inputs=[mx.array(values)],
        output_shapes=[(128,)],
        output_dtypes=[mx.float32],
        scalars=[2.5],
        grid=(128, 1, 1),
        threadgroup=(128, 1, 1),
    )
    numpy.testing.assert_array_equal(numpy.array(found), values * numpy.float32(2.5))


def test_long_chains_in_graphs_of_many_shapes():
    """MLX puts kernels into graphs, and updates those that it has for others of the same form."""

    def compute(a):
        for step in range(300):
            a = mx.sin(a) * 1.5 + mx.cos(a + step) - a.mean(axis=-1, keepdims=True)
        return a

    for columns in (5, 64, 300):
        agree(compute, floats(8, columns), tolerance=1e-3)


def test_streams_wait_for_each_other():
    first, second = mx.new_stream(mx.gpu), mx.new_stream(mx.gpu)
    values = floats(1000)
    total = mx.array(values)
    for _ in range(10):
        total = mx.add(mx.multiply(total, 0.5, stream=first), 1, stream=second)
        total = mx.subtract(total, 0.25, stream=mx.cpu)
    mx.async_eval(total)
    expected = values
    for _ in range(10):
        expected = expected * numpy.float32(0.5) + 1 - numpy.float32(0.25)
    numpy.testing.assert_allclose(numpy.array(total), expected, rtol=1e-6)


def test_memory_is_counted_and_given_back():
    before = mx.get_active_memory()
    there = mx.ones((1000, 1000)) * 2
    mx.eval(there)
    assert mx.get_active_memory() - before >= 4_000_000
    assert there.sum().item() == 2_000_000
    del there
    mx.synchronize()
    mx.clear_cache()
    assert mx.get_active_memory() - before < 4_000_000
    assert mx.get_cache_memory() == 0


class Perceptron(nn.Module):
    """Two layers whose products are sums of products."""

    def __init__(self):
        super().__init__()
        self.first, self.second = mx.array(floats(24, 8)) / 3, mx.array(floats(1, 24)) / 5
        self.norm = nn.RMSNorm(24)

    def __call__(self, x):
        hidden = nn.gelu(self.norm((x[:, None] * self.first).sum(-1)))
        return (hidden[:, None] * self.second).sum(-1)


def losses(device, start, optimiser, x, y):
    with mx.stream(device):
        model = Perceptron()
        model.update(start)
        step = nn.value_and_grad(model, lambda model: ((model(x) - y) ** 2).mean())
        optimiser = getattr(mlx.optimizers, optimiser)(learning_rate=0.01)
        seen = []
        for _ in range(25):
            loss, gradients = step(model)
            optimiser.update(model, gradients)
            mx.eval(model.parameters(), optimiser.state)
            seen.append(loss.item())
    return seen


@pytest.mark.parametrize("optimiser", ["Adam", "Lion", "Adafactor", "RMSprop"])
def test_training_gives_the_losses_of_the_cpu(optimiser):
    x = floats(64, 8)
    x, y = mx.array(x), mx.array(numpy.sin(x[:, :1]) + x[:, 1:2])
    start = mlx.utils.tree_map(mx.array, Perceptron().parameters())
    found, expected = (losses(device, start, optimiser, x, y) for device in (mx.gpu, mx.cpu))
    assert found[-1] < found[0] * 0.8
    numpy.testing.assert_allclose(found, expected, rtol=1e-3)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, 256), nn.Linear(width, 256), nn.Linear(256, width)
        self.before, self.between = nn.RMSNorm(width), nn.RMSNorm(width)

    def __call__(self, x, cache):
        normal = self.before(x)
        split = lambda a: a.reshape(1, 1, self.heads, -1).transpose(0, 2, 1, 3)
        query, key, value = split(self.query(normal)), split(self.key(normal)), split(self.value(normal))
        place = cache[0].shape[2] if cache else 0
        turn = lambda a: mx.fast.rope(a, a.shape[-1], traditional=False, base=10000.0, scale=1.0, offset=place)
        query, key = turn(query), turn(key)
        if cache:
            key, value = mx.concatenate([cache[0], key], axis=2), mx.concatenate([cache[1], value], axis=2)
        seen = mx.fast.scaled_dot_product_attention(query, key, value, scale=query.shape[-1] ** -0.5)
        x = x + self.out(seen.transpose(0, 2, 1, 3).reshape(1, 1, -1))
        normal = self.between(x)
        return x + self.down(nn.silu(self.gate(normal)) * self.up(normal)), (key, value)


class Transformer(nn.Module):
    def __init__(self, words=200, width=128, heads=2, blocks=2):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = [Block(width, heads) for _ in range(blocks)]
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)

    def __call__(self, word, caches):
        x = self.words(word)
        for number, block in enumerate(self.blocks):
            x, caches[number] = block(x, caches[number])
        return self.head(self.norm(x))[0, 0]


def said(device, model, first, count):
    """The words that follow the first, each the likeliest, and how likely all were at each step."""
    words, weights, caches = [first], [], [None] * len(model.blocks)
    with mx.stream(device):
        for _ in range(count):
            likely = model(mx.array([[words[-1]]]), caches)
            weights.append(numpy.array(likely))
            words.append(mx.argmax(likely).item())
    return words, numpy.stack(weights)


@pytest.mark.parametrize("bits", [4, 8])
def test_a_transformer_of_few_bits_decodes(bits):
    mx.random.seed(5)
    with mx.stream(mx.cpu):
        model = Transformer()
        nn.quantize(model, group_size=64, bits=bits)
        mx.eval(model.parameters())
    (words, likely), (expected_words, expected) = (said(device, model, 17, 12) for device in (mx.gpu, mx.cpu))
    assert words == expected_words and len(set(words)) > 3
    numpy.testing.assert_allclose(likely, expected, rtol=1e-3, atol=1e-3)


THREADS = """
import threading
import mlx.core as mx, numpy
found = {}

def compute(number):
    with mx.stream(mx.new_stream(mx.gpu)):
        values = mx.arange(1000) + number
        for _ in range(20):
            values = values * 3 % 1009
        found[number] = numpy.array(values)

threads = [threading.Thread(target=compute, args=[number]) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for number in range(4):
    numpy.testing.assert_array_equal(found[number], (numpy.arange(1000) + number) * 3**20 % 1009)
assert (mx.arange(1000) * 2).sum().item() == 999_000
"""


def test_threads_have_streams_of_their_own():
    """In a process of its own: a thread that ends waits for its streams, in a destructor that can tell nobody what went wrong."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
