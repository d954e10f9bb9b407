"""CuPy's sparse matrices, decompositions and random states, which are cuSPARSE's, cuSOLVER's and cuRAND's."""
import cupy
import cupyx.scipy.sparse as device_sparse
import cupyx.scipy.sparse.linalg as device_solvers
import numpy
import pytest
import scipy.sparse

close = numpy.testing.assert_allclose


@pytest.fixture(scope="module")
def matrix():
    sparse = scipy.sparse.random(400, 300, 0.03, format="csr", random_state=1)
    # Definite, and well conditioned.
    return (sparse.T @ sparse + 10 * scipy.sparse.eye(300)).tocsr()


@pytest.fixture(scope="module")
def vector():
    return numpy.random.default_rng(2).standard_normal(300)


@pytest.fixture(scope="module")
def dense():
    return numpy.random.default_rng(3).standard_normal((60, 60))


@pytest.fixture(scope="module")
def definite(dense):
    return dense @ dense.T + 60 * numpy.eye(60)


def test_sparse_products(matrix, vector):
    found = device_sparse.csr_matrix(matrix)
    close((found @ cupy.asarray(vector)).get(), matrix @ vector)
    close((found @ cupy.asarray(matrix.toarray())).get(), matrix @ matrix.toarray(), atol=1e-12)
    close((found @ found).get().toarray(), (matrix @ matrix).toarray(), atol=1e-12)


def test_sparse_formats(matrix):
    found = device_sparse.csr_matrix(matrix)
    for other in (found.tocsc(), found.tocoo(), found.T.tocsr(), found + found - found):
        close(other.get().toarray(), matrix.toarray(), atol=1e-12)
    close(found.sum(axis=0).get(), matrix.sum(axis=0))
    close(found.todense().get(), matrix.todense())


def test_sparse_solvers(matrix, vector):
    found, right = device_sparse.csr_matrix(matrix), cupy.asarray(vector)
    close(matrix @ device_solvers.spsolve(found, right).get(), vector)
    close(matrix @ device_solvers.splu(found.tocsc()).solve(right).get(), vector)
    lower = scipy.sparse.tril(matrix).tocsr()
    close(lower @ device_solvers.spsolve_triangular(device_sparse.csr_matrix(lower), right, lower=True).get(), vector)


def test_decompositions(dense, definite):
    close(cupy.linalg.cholesky(cupy.asarray(definite)).get(), numpy.linalg.cholesky(definite), atol=1e-12)
    close(cupy.linalg.eigvalsh(cupy.asarray(definite)).get(), numpy.linalg.eigvalsh(definite))
    close(cupy.linalg.inv(cupy.asarray(dense)).get(), numpy.linalg.inv(dense), atol=1e-10)
    close(cupy.linalg.det(cupy.asarray(dense)).get(), numpy.linalg.det(dense))


def test_random_states():
    state = cupy.random.RandomState(7)
    assert abs(state.rand(100_000).mean().get() - 0.5) < 0.01
    assert abs(state.randn(100_000).std().get() - 1) < 0.01
    assert sorted(state.permutation(100).tolist()) == list(range(100))
    assert abs(state.poisson(4.0, 20_000).mean().get() - 4) < 0.1
    numpy.testing.assert_array_equal(cupy.random.RandomState(8).rand(1000).get(), cupy.random.RandomState(8).rand(1000).get())
