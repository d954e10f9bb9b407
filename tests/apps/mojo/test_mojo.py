"""Mojo, which makes PTX with its own compiler, and MAX, whose kernels are Mojo's: kernels that check themselves, and graphs against NumPy."""
import math
import subprocess
from pathlib import Path

import numpy
import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    program = tmp_path_factory.mktemp("mojo") / "kernels"
    built = subprocess.run(["mojo", "build", HERE / "kernels.mojo", "-o", program], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return program


@pytest.mark.parametrize("name", ["scale", "functions", "product", "warps", "blocks", "histogram", "matrix", "copies", "print"])
def test_kernels(name, kernels):
    done = subprocess.run([kernels, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "held" in lines, done.stdout
    if name == "print":
        assert "thread 3 says 42" in lines, done.stdout


def computed(name, make, *arrays):
    """What a graph on the device gives for these arrays. `make` says what of its inputs comes out."""
    from max.driver import CPU, Accelerator, Buffer
    from max.dtype import DType
    from max.engine import InferenceSession
    from max.graph import DeviceRef, Graph, TensorType

    device = Accelerator()
    types = [TensorType(DType.from_numpy(array.dtype), array.shape, device=DeviceRef.GPU()) for array in arrays]
    with Graph(name, input_types=types) as graph:
        graph.output(*make(*[value.tensor for value in graph.inputs]))
    model = InferenceSession(devices=[device]).load(graph)
    results = model.execute(*[Buffer.from_numpy(array).to(device) for array in arrays])
    return [result.to(CPU()).to_numpy() for result in results]


RANDOM = numpy.random.default_rng(2)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(numpy.float32)


def test_a_graph_of_many_operations():
    from max.graph import ops

    x, weight, bias, rows = numbers(40, 256), numbers(256), numbers(256), RANDOM.integers(0, 40, 17)

    def make(x, weight, bias, rows):
        normal = ops.layer_norm(x, weight, bias, 1e-5)
        chances = ops.softmax(x)
        return [normal, chances, ops.gelu(x), ops.sum(x, axis=-1), ops.argmax(x, axis=-1), ops.cumsum(x, axis=-1), ops.gather(x, rows, axis=0), ops.transpose(x, 0, 1) * 2 + 1]

    found = computed("many", make, x, weight, bias, rows)
    spread = x - x.mean(axis=1, keepdims=True)
    normal = spread / numpy.sqrt((spread**2).mean(axis=1, keepdims=True) + 1e-5) * weight + bias
    risen = numpy.exp(x - x.max(axis=1, keepdims=True))
    erf = numpy.vectorize(math.erf)
    expected = [
        normal,
        risen / risen.sum(axis=1, keepdims=True),
        x * (1 + erf(x / numpy.sqrt(2))) / 2,
        x.sum(axis=1, keepdims=True),
        x.argmax(axis=1)[:, None],
        x.cumsum(axis=1),
        x[rows],
        x.T * 2 + 1,
    ]
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_a_product_of_half_precision():
    from max.dtype import DType
    from max.graph import ops

    left, right = numbers(128, 256), numbers(512, 256)

    def make(left, right):
        short = [ops.cast(value, DType.bfloat16) for value in [left, right]]
        return [ops.cast(short[0] @ ops.transpose(short[1], 0, 1), DType.float32)]

    (found,) = computed("product", make, left, right)
    expected = left @ right.T
    assert numpy.abs(found - expected).max() < 0.02 * numpy.abs(expected).max()
