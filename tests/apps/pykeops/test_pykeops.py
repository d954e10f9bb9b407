"""KeOps: reductions over symbolic matrices, whose kernels it writes and compiles with NVRTC, against NumPy."""
import numpy
import pytest
from pykeops.numpy import Genred, LazyTensor

MANY, MORE = 700, 900
RANDOM = numpy.random.default_rng(5)
HERE, THERE, WEIGHTS = RANDOM.random((MANY, 3)), RANDOM.random((MORE, 3)), RANDOM.random((MORE, 2))
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def arrays(kind):
    return [of.astype(kind) for of in [HERE, THERE, WEIGHTS]]


def symbols(kind):
    here, there, weights = arrays(kind)
    return LazyTensor(here[:, None, :]), LazyTensor(there[None, :, :]), LazyTensor(weights[None, :, :])


def squares():
    return ((HERE[:, None, :] - THERE[None, :, :]) ** 2).sum(-1)


def same(found, expected, kind):
    assert found.dtype == kind
    numpy.testing.assert_allclose(found, expected, rtol=TOLERANCE[kind], atol=TOLERANCE[kind] * numpy.abs(expected).max())


KERNELS = {
    "gauss": (lambda d: (-4 * d).exp(), lambda d: numpy.exp(-4 * d)),
    "laplace": (lambda d: (-d.sqrt()).exp(), lambda d: numpy.exp(-numpy.sqrt(d))),
    "inverse": (lambda d: 1 / (1 + d), lambda d: 1 / (1 + d)),
    "waves": (lambda d: d.sin() * d.cos() + d.log(), lambda d: numpy.sin(d) * numpy.cos(d) + numpy.log(d)),
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", KERNELS)
def test_sums(name, kind):
    symbolic, dense = KERNELS[name]
    here, there, weights = symbols(kind)
    found = (symbolic(((here - there) ** 2).sum(-1)) * weights).sum(axis=1, backend="GPU")
    same(found, dense(squares()) @ WEIGHTS, kind)


@pytest.mark.parametrize("backend", ["GPU_1D", "GPU_2D"])
@pytest.mark.parametrize("axis", [0, 1])
def test_both_directions(axis, backend):
    here, there, _ = symbols("float32")
    found = (-((here - there) ** 2).sum(-1)).exp().sum(axis=axis, backend=backend)
    same(found, numpy.exp(-squares()).sum(axis=axis)[:, None], "float32")


def test_nearest():
    here, there, _ = symbols("float64")
    distances = ((here - there) ** 2).sum(-1)
    numpy.testing.assert_array_equal(distances.argmin(axis=1, backend="GPU")[:, 0], squares().argmin(axis=1))
    same(distances.min(axis=1, backend="GPU")[:, 0], squares().min(axis=1), "float64")
    numpy.testing.assert_array_equal(distances.argKmin(5, dim=1, backend="GPU"), numpy.argsort(squares(), axis=1)[:, :5])


def test_logarithms_of_sums():
    here, there, _ = symbols("float64")
    found = (-9 * ((here - there) ** 2).sum(-1)).logsumexp(axis=1, backend="GPU")
    same(found[:, 0], numpy.log(numpy.exp(-9 * squares()).sum(axis=1)), "float64")


def test_a_formula_and_its_gradient():
    here, there, weights = arrays("float64")
    inputs = ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)"]
    kernel = "Exp(-SqDist(x,y)) * b"
    same(Genred(kernel, inputs, reduction_op="Sum", axis=1)(here, there, weights, backend="GPU"), numpy.exp(-squares()) @ WEIGHTS, "float64")
    ways = RANDOM.random((MANY, 2))
    slope = Genred(f"Grad({kernel}, x, e)", [*inputs, "e = Vi(2)"], reduction_op="Sum", axis=1)(here, there, weights, ways, backend="GPU")
    dense = numpy.exp(-squares()) * (ways @ WEIGHTS.T)
    expected = -2 * (dense[:, :, None] * (HERE[:, None, :] - THERE[None, :, :])).sum(axis=1)
    same(slope, expected, "float64")


def test_batches():
    here, there = RANDOM.random((4, 50, 3)), RANDOM.random((4, 60, 3))
    distances = ((LazyTensor(here[:, :, None, :]) - LazyTensor(there[:, None, :, :])) ** 2).sum(-1)
    expected = numpy.exp(-((here[:, :, None, :] - there[:, None, :, :]) ** 2).sum(-1)).sum(axis=2)
    same((-distances).exp().sum(axis=2, backend="GPU")[..., 0], expected, "float64")


def test_a_system_is_solved():
    points = HERE[:200]
    one, other = LazyTensor(points[:, None, :]), LazyTensor(points[None, :, :])
    kernel = (-20 * ((one - other) ** 2).sum(-1)).exp()
    right = RANDOM.random((200, 1))
    found = kernel.solve(right, alpha=0.5, backend="GPU")
    dense = numpy.exp(-20 * ((points[:, None, :] - points[None, :, :]) ** 2).sum(-1)) + 0.5 * numpy.eye(200)
    numpy.testing.assert_allclose(found, numpy.linalg.solve(dense, right), atol=1e-4)
