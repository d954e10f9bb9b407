"""Collectives of NCCL over two devices of one process."""
import ctypes
import pathlib

import numpy
import nvidia.nccl
import pytest

DEVICES = 2
COUNT = 5000
FLOAT, SUM, MAX = 7, 0, 2
TO_DEVICE, TO_HOST = 1, 2

nccl = ctypes.CDLL(str(pathlib.Path(list(nvidia.nccl.__path__)[0]) / "lib" / "libnccl.so.2"))
nccl.ncclGetErrorString.restype = ctypes.c_char_p
cudart = ctypes.CDLL("libcudart.so.13")


def ok(code):
    assert code == 0, nccl.ncclGetErrorString(code).decode()


class Rank:
    """One device: its communicator, a stream, and memory that is sent and received."""

    def __init__(self, number, communicator):
        self.number, self.communicator = number, communicator
        self.stream, self.sent, self.received = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.current()
        assert cudart.cudaStreamCreate(ctypes.byref(self.stream)) == 0
        for memory in (self.sent, self.received):
            assert cudart.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4 * DEVICES * COUNT)) == 0

    def current(self):
        assert cudart.cudaSetDevice(self.number) == 0

    def put(self, values):
        self.current()
        assert cudart.cudaMemcpy(self.sent, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes), TO_DEVICE) == 0
        assert cudart.cudaMemset(self.received, 0, ctypes.c_size_t(4 * DEVICES * COUNT)) == 0

    def get(self, count):
        self.current()
        assert cudart.cudaStreamSynchronize(self.stream) == 0
        values = numpy.zeros(count, numpy.float32)
        assert cudart.cudaMemcpy(values.ctypes.data_as(ctypes.c_void_p), self.received, ctypes.c_size_t(values.nbytes), TO_HOST) == 0
        return values


@pytest.fixture(scope="module")
def ranks():
    communicators = (ctypes.c_void_p * DEVICES)()
    ok(nccl.ncclCommInitAll(communicators, DEVICES, (ctypes.c_int * DEVICES)(*range(DEVICES))))
    return [Rank(number, ctypes.c_void_p(communicator)) for number, communicator in enumerate(communicators)]


def numbers(rank, count):
    return numpy.random.default_rng(rank).integers(0, 1000, count).astype(numpy.float32)


def run(ranks, count, result, call):
    """What ranks have received when `call` was made for each."""
    for rank in ranks:
        rank.put(numbers(rank.number, count))
    ok(nccl.ncclGroupStart())
    for rank in ranks:
        call(rank)
    ok(nccl.ncclGroupEnd())
    return [rank.get(result) for rank in ranks]


@pytest.mark.parametrize("operation, reduced", [(SUM, numpy.add), (MAX, numpy.maximum)])
def test_all_reduce(ranks, operation, reduced):
    def call(rank):
        ok(nccl.ncclAllReduce(rank.sent, rank.received, ctypes.c_size_t(COUNT), FLOAT, operation, rank.communicator, rank.stream))

    expected = reduced(numbers(0, COUNT), numbers(1, COUNT))
    for got in run(ranks, COUNT, COUNT, call):
        numpy.testing.assert_array_equal(got, expected)


def test_all_gather(ranks):
    def call(rank):
        ok(nccl.ncclAllGather(rank.sent, rank.received, ctypes.c_size_t(COUNT), FLOAT, rank.communicator, rank.stream))

    expected = numpy.concatenate([numbers(0, COUNT), numbers(1, COUNT)])
    for got in run(ranks, COUNT, 2 * COUNT, call):
        numpy.testing.assert_array_equal(got, expected)


def test_broadcast(ranks):
    def call(rank):
        ok(nccl.ncclBroadcast(rank.sent, rank.received, ctypes.c_size_t(COUNT), FLOAT, 1, rank.communicator, rank.stream))

    for got in run(ranks, COUNT, COUNT, call):
        numpy.testing.assert_array_equal(got, numbers(1, COUNT))


def test_exchange(ranks):
    def call(rank):
        ok(nccl.ncclSend(rank.sent, ctypes.c_size_t(COUNT), FLOAT, 1 - rank.number, rank.communicator, rank.stream))
        ok(nccl.ncclRecv(rank.received, ctypes.c_size_t(COUNT), FLOAT, 1 - rank.number, rank.communicator, rank.stream))

    for number, got in enumerate(run(ranks, COUNT, COUNT, call)):
        numpy.testing.assert_array_equal(got, numbers(1 - number, COUNT))
