"""cuSPARSE: products of sparse matrices with vectors, with matrices and with each other, against SciPy's."""
import ctypes
from ctypes import byref, c_float, c_int64, c_size_t, c_void_p

import numpy
import pytest
import scipy.sparse

from libraries import Array, bytes_on_device, load

load("libnvJitLink")
cusparse = load("libcusparse")
INDEX_32I, BASE_ZERO, R_32F, COLUMNS = 2, 0, 0, 1
ONE, ZERO = c_float(1), c_float(0)


def ok(code):
    assert code == 0, code


@pytest.fixture(scope="module")
def handle():
    handle = c_void_p()
    ok(cusparse.cusparseCreate(byref(handle)))
    return handle


class Matrix:
    """A matrix of compressed rows and its descriptor."""

    def __init__(self, matrix):
        arrays = [matrix.indptr.astype(numpy.int32), matrix.indices.astype(numpy.int32), matrix.data.astype(numpy.float32)]
        self.arrays = [Array(values) for values in arrays]
        self.descriptor = c_void_p()
        rows, columns = matrix.shape
        pointers = [array.pointer for array in self.arrays]
        numbers = [c_int64(number) for number in (rows, columns, matrix.nnz)]
        ok(cusparse.cusparseCreateCsr(byref(self.descriptor), *numbers, *pointers, INDEX_32I, INDEX_32I, BASE_ZERO, R_32F))


def random(rows, columns, density, seed):
    return scipy.sparse.random(rows, columns, density, format="csr", random_state=seed, dtype=numpy.float32)


# CUSPARSE_SPMV_ALG_DEFAULT, _CSR_ALG1, _CSR_ALG2.
@pytest.mark.parametrize("algorithm", [0, 2, 3])
def test_matrix_and_vector(handle, algorithm):
    matrix, vector = random(1000, 700, 0.02, 1), numpy.random.default_rng(2).standard_normal(700).astype(numpy.float32)
    sparse, x, y = Matrix(matrix), Array(vector), Array(numpy.zeros(1000, numpy.float32))
    dx, dy, size = c_void_p(), c_void_p(), c_size_t()
    ok(cusparse.cusparseCreateDnVec(byref(dx), c_int64(700), x.pointer, R_32F))
    ok(cusparse.cusparseCreateDnVec(byref(dy), c_int64(1000), y.pointer, R_32F))
    common = [handle, 0, byref(ONE), sparse.descriptor, dx, byref(ZERO), dy, R_32F, algorithm]
    ok(cusparse.cusparseSpMV_bufferSize(*common, byref(size)))
    buffer = bytes_on_device(size.value)
    ok(cusparse.cusparseSpMV(*common, buffer.pointer))
    numpy.testing.assert_allclose(y.get(), matrix @ vector, rtol=1e-5, atol=1e-5)


# CUSPARSE_SPMM_ALG_DEFAULT, _CSR_ALG1, _CSR_ALG2.
@pytest.mark.parametrize("algorithm", [0, 4, 6])
def test_matrix_and_dense_matrix(handle, algorithm):
    matrix, dense = random(500, 300, 0.03, 3), numpy.random.default_rng(4).standard_normal((300, 16)).astype(numpy.float32)
    # Columns, one after another.
    sparse, b, c = Matrix(matrix), Array(dense.T), Array(numpy.zeros((16, 500), numpy.float32))
    db, dc, size = c_void_p(), c_void_p(), c_size_t()
    ok(cusparse.cusparseCreateDnMat(byref(db), c_int64(300), c_int64(16), c_int64(300), b.pointer, R_32F, COLUMNS))
    ok(cusparse.cusparseCreateDnMat(byref(dc), c_int64(500), c_int64(16), c_int64(500), c.pointer, R_32F, COLUMNS))
    common = [handle, 0, 0, byref(ONE), sparse.descriptor, db, byref(ZERO), dc, R_32F, algorithm]
    ok(cusparse.cusparseSpMM_bufferSize(*common, byref(size)))
    buffer = bytes_on_device(size.value)
    ok(cusparse.cusparseSpMM(*common, buffer.pointer))
    numpy.testing.assert_allclose(c.get().T, matrix @ dense, rtol=1e-5, atol=1e-5)


def test_sparse_matrices(handle):
    matrix = random(300, 300, 0.03, 5)
    sparse, rows, product, plan = Matrix(matrix), Array(numpy.zeros(301, numpy.int32)), c_void_p(), c_void_p()
    none = [c_int64(300), c_int64(300), c_int64(0), rows.pointer, None, None]
    ok(cusparse.cusparseCreateCsr(byref(product), *none, INDEX_32I, INDEX_32I, BASE_ZERO, R_32F))
    ok(cusparse.cusparseSpGEMM_createDescr(byref(plan)))
    common = [handle, 0, 0, byref(ONE), sparse.descriptor, sparse.descriptor, byref(ZERO), product, R_32F, 0, plan]
    buffers = []
    for step in (cusparse.cusparseSpGEMM_workEstimation, cusparse.cusparseSpGEMM_compute):
        size = c_size_t()
        ok(step(*common, byref(size), None))
        buffers.append(bytes_on_device(size.value))
        ok(step(*common, byref(size), buffers[-1].pointer))
    shape = [c_int64() for _ in range(3)]
    ok(cusparse.cusparseSpMatGetSize(product, *[byref(number) for number in shape]))
    expected = (matrix @ matrix).tocsr()
    count = shape[2].value
    assert count == expected.nnz
    columns, values = Array(numpy.zeros(count, numpy.int32)), Array(numpy.zeros(count, numpy.float32))
    ok(cusparse.cusparseCsrSetPointers(product, rows.pointer, columns.pointer, values.pointer))
    ok(cusparse.cusparseSpGEMM_copy(*common))
    found = scipy.sparse.csr_matrix((values.get(), columns.get(), rows.get()), shape=(300, 300))
    assert abs(found - expected).max() < 1e-5
