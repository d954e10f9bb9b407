"""Functions of JAX on the device, against its CPU."""
import functools

import jax
import jax.numpy as jnp
import numpy
import pytest
from jax import lax
from jax.experimental import pallas
from jax.experimental.pallas import triton
from jax.sharding import Mesh, NamedSharding, PartitionSpec

HOST, DEVICES = jax.devices("cpu")[0], jax.devices("cuda")
GENERATOR = numpy.random.default_rng(7)
TABLE = GENERATOR.standard_normal((512, 256), dtype=numpy.float32)
LINE = GENERATOR.standard_normal(100_000, dtype=numpy.float32)


def check(function, *inputs, rtol=1e-5, atol=1e-5):
    """The function gives the same on both."""

    def outputs(device):
        with jax.default_device(device):
            placed = [jax.device_put(each, device) for each in inputs]
            made = jax.tree.leaves(jax.jit(function)(*placed))
        assert all(each.devices() == {device} for each in made)
        return [numpy.asarray(each) for each in made]

    for device, host in zip(outputs(DEVICES[0]), outputs(HOST), strict=True):
        kind = numpy.complex128 if numpy.iscomplexobj(host) else numpy.float64
        numpy.testing.assert_allclose(device.astype(kind), host.astype(kind), rtol=rtol, atol=atol)


def test_elementwise():
    check(lambda x: jnp.tanh(x) * jnp.exp(-x * x) + jnp.sqrt(jnp.abs(x)) + lax.erf(x) - jnp.log1p(jnp.abs(x)), TABLE)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64", "int8", "uint32", "complex64"])
def test_types(kind):
    with jax.enable_x64(kind == "float64"):
        check(lambda x: (x.astype(kind) * x.astype(kind) + jnp.ones((), kind)).sum(1), TABLE, rtol=2e-2, atol=1)


def test_reductions():
    check(lambda x: (x.sum(0), x.max(1), x.mean(), jnp.argmax(x, 1), jnp.std(x), jnp.any(x > 3, 0)), TABLE, atol=1e-4)


def test_softmax():
    check(lambda x: (jax.nn.softmax(x, -1), jax.nn.logsumexp(x, 0)), TABLE)


def test_sorts():
    check(lambda x: (jnp.sort(x), jnp.argsort(x), lax.top_k(x, 10), jnp.median(x)), LINE)


def test_scans():
    check(lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x[:, :20], 1), lax.cummax(x)), TABLE, rtol=1e-4, atol=1e-4)


def test_gathers_and_scatters():
    rows = GENERATOR.integers(0, 512, 1000)
    check(lambda x, at: (x[at], jnp.zeros_like(x).at[at].add(x[at]), jax.ops.segment_max(x[at], at, 512)), TABLE, rows, atol=1e-4)


def test_loops():
    def steps(x):
        grown = lax.while_loop(lambda state: state[0] < 20, lambda state: (state[0] + 1, jnp.sin(state[1]) * 1.5), (0, x))
        carried = lax.scan(lambda carry, row: (carry * 0.9 + row, carry.sum()), jnp.zeros(256), x)
        chosen = lax.cond(x[0, 0] > 0, lambda: x * 2, lambda: x - 1)
        return grown, carried, chosen, lax.fori_loop(0, 7, lambda i, y: y + i * y[::-1], x)

    check(steps, TABLE, rtol=1e-3, atol=1e-3)


def test_random_numbers():
    def drawn(seed):
        keys = jax.random.split(jax.random.key(seed), 4)
        return (
            jax.random.uniform(keys[0], (1000,)),
            jax.random.normal(keys[1], (1000,)),
            jax.random.permutation(keys[2], 100),
            jax.random.categorical(keys[3], jnp.zeros((50, 8))),
        )

    check(drawn, 3)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_products(kind):
    """By kernels that XLA makes: see the recipe."""
    rtol = 1e-3 if kind == "float32" else 3e-2

    def products(x):
        x = x.astype(kind)
        return x @ x.T, jnp.einsum("bij,bkj->bik", x.reshape(8, 64, 256), x.reshape(8, 64, 256)), x @ x[0]

    check(products, TABLE, rtol=rtol, atol=300 * rtol)


def test_convolutions():
    """Those of cuDNN's that XLA finds, or its own."""
    filters = GENERATOR.standard_normal((8, 3, 3, 3), dtype=numpy.float32)
    convolve = functools.partial(lax.conv_general_dilated, window_strides=(1, 1), padding="SAME")
    check(convolve, LINE[: 6 * 32 * 32].reshape(2, 3, 32, 32), filters, atol=1e-3)


def test_decompositions():
    """By cuSOLVER, which lets this one do without cuBLAS."""
    matrix = TABLE[:40, :40] @ TABLE[:40, :40].T + 10 * numpy.eye(40, dtype=numpy.float32)
    check(jnp.linalg.cholesky, matrix, rtol=1e-4, atol=1e-4)


def test_gradients():
    def loss(x):
        return (jnp.tanh(x) ** 2).mean() + jax.nn.logsumexp(x)

    check(jax.value_and_grad(loss), TABLE)
    check(jax.vmap(jax.hessian(lambda row: (row**3).sum() * row[0])), TABLE[:8, :16], rtol=1e-4)


def test_training():
    wide, narrow = TABLE[:64, :128] * 0.1, TABLE[:128, :16] * 0.1
    inputs, wanted = TABLE[:256, :64], TABLE[:256, 64:80]

    def loss(weights):
        return ((jnp.tanh(inputs @ weights[0]) @ weights[1] - wanted) ** 2).mean()

    def train(*weights):
        def step(weights, _):
            value, gradients = jax.value_and_grad(loss)(weights)
            return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], value

        return lax.scan(step, list(weights), None, length=20)[1]

    check(train, wide, narrow, rtol=1e-3)


def test_calls_back():
    """Into the host, while the function runs."""
    seen = []

    def calling(x):
        jax.debug.callback(lambda value: seen.append(float(value)), x.sum())
        return jax.pure_callback(lambda y: numpy.asarray(y)[::-1], jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with jax.default_device(DEVICES[0]):
        turned = jax.jit(calling)(LINE[:100])
        jax.effects_barrier()
    numpy.testing.assert_array_equal(turned, LINE[:100][::-1])
    numpy.testing.assert_allclose(seen, [LINE[:100].sum()], rtol=1e-4)


def test_memory_of_the_device():
    before = DEVICES[0].memory_stats()["bytes_in_use"]
    held = jax.device_put(numpy.zeros(1 << 20, numpy.float32), DEVICES[0])
    assert DEVICES[0].memory_stats()["bytes_in_use"] >= before + held.nbytes
    numpy.testing.assert_array_equal(jax.device_put(held, HOST), numpy.zeros(1 << 20))


def launched(kernel, out, *inputs, **places):
    """What a kernel of one's own makes that Triton compiles."""
    call = pallas.pallas_call(kernel, out_shape=out, compiler_params=triton.CompilerParams(), **places)
    with jax.default_device(DEVICES[0]):
        return jax.jit(call)(*inputs)


def test_pallas():
    def scaled(left, right, out):
        out[...] = left[...] + right[...] * 2

    block = pallas.BlockSpec((128,), lambda number: (number,))
    places = {"grid": (8,), "in_specs": [block, block], "out_specs": block}
    made = launched(scaled, jax.ShapeDtypeStruct((1024,), jnp.float32), LINE[:1024], LINE[:1024], **places)
    numpy.testing.assert_allclose(made, LINE[:1024] * 3, rtol=1e-6)


def test_pallas_products():
    def product(left, right, out):
        out[...] = triton.dot(left[...], right[...])

    left, right = (TABLE[first : first + 64, :64].astype(numpy.float16) for first in (0, 64))
    places = {
        "grid": (2, 2),
        "in_specs": [pallas.BlockSpec((32, 64), lambda i, j: (i, 0)), pallas.BlockSpec((64, 32), lambda i, j: (0, j))],
        "out_specs": pallas.BlockSpec((32, 32), lambda i, j: (i, j)),
    }
    made = launched(product, jax.ShapeDtypeStruct((64, 64), jnp.float32), left, right, **places)
    numpy.testing.assert_allclose(made, left.astype(numpy.float32) @ right.astype(numpy.float32), rtol=1e-2, atol=1e-2)


def test_several_devices():
    """Parts of an array on each, and sums over them, by NCCL."""
    mesh = Mesh(numpy.array(DEVICES), ("part",))
    placed = jax.device_put(TABLE, NamedSharding(mesh, PartitionSpec("part")))
    assert placed.devices() == set(DEVICES) and len(DEVICES) == 2

    def of_part(part):
        total = lax.psum(part.sum(0), "part")
        return total, lax.all_gather(part.max(1), "part"), lax.ppermute(part, "part", [(0, 1), (1, 0)])

    split, whole = PartitionSpec("part"), PartitionSpec()
    over = jax.shard_map(of_part, mesh=mesh, in_specs=split, out_specs=(whole, whole, split), check_vma=False)
    total, maxima, turned = jax.jit(over)(placed)
    numpy.testing.assert_allclose(total, TABLE.sum(0), rtol=1e-4, atol=1e-4)
    numpy.testing.assert_array_equal(numpy.asarray(maxima).reshape(-1), TABLE.max(1))
    numpy.testing.assert_array_equal(turned, numpy.concatenate([TABLE[256:], TABLE[:256]]))
