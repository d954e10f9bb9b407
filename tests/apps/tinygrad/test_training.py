"""Training with tinygrad on CUDA gives PyTorch's losses on the CPU, on one device and spread over six."""
import numpy
import pytest
import torch
from tinygrad import Context, Tensor, TinyJit, nn

STEPS, RATE = 5, 0.01


def numbers(seed, shape):
    count = numpy.prod(shape, dtype=int)
    return numpy.sin(numpy.arange(count) * (0.7 + 0.01 * seed)).reshape(shape).astype(numpy.float32)


SHAPES = [(4, 1, 3, 3), (4,), (6, 4, 3, 3), (6,), (16, 96), (16,), (3, 16), (3,)]
PARAMETERS = [numbers(seed, shape) * 0.3 for seed, shape in enumerate(SHAPES)]
X, Y = numbers(50, (12, 1, 12, 12)), numpy.arange(12) % 3


def loss_of_tinygrad(parameters, norm, x, y):
    first, second, hidden, last = zip(parameters[::2], parameters[1::2])
    x = norm(x.conv2d(*first)).relu()
    x = x.conv2d(*second).relu().max_pool2d().flatten(1)
    x = (x @ hidden[0].T + hidden[1]).tanh() @ last[0].T + last[1]
    return x.sparse_categorical_crossentropy(y)


def loss_of_torch(parameters, norm, x, y):
    first, second, hidden, last = zip(parameters[::2], parameters[1::2])
    of = torch.nn.functional
    x = norm(of.conv2d(x, *first)).relu()
    x = of.max_pool2d(of.conv2d(x, *second).relu(), 2).flatten(1)
    return of.cross_entropy(of.linear(of.linear(x, *hidden).tanh(), *last), y)


@pytest.fixture(scope="module")
def expected():
    """The losses of all steps, and a parameter at the end."""
    parameters = [torch.tensor(values, requires_grad=True) for values in PARAMETERS]
    norm = torch.nn.BatchNorm2d(4)
    optimizer = torch.optim.Adam([*parameters, *norm.parameters()], lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of_torch(parameters, norm, torch.tensor(X), torch.tensor(Y))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, parameters[6].detach().numpy()


@pytest.mark.parametrize("devices", [("CUDA",), tuple(f"CUDA:{number}" for number in range(6))], ids=["one", "six"])
def test_training(devices, expected):
    with Context(DEV="CUDA"), Tensor.train():
        norm = nn.BatchNorm(4)
        parameters = [Tensor(values) for values in PARAMETERS]
        x, y = Tensor(X), Tensor(Y)
        if len(devices) > 1:
            for tensor in [*parameters, *nn.state.get_parameters(norm)]:
                tensor.shard_(devices)
            x, y = x.shard(devices, axis=0), y.shard(devices, axis=0)
        optimizer = nn.optim.Adam([*parameters, norm.weight, norm.bias], lr=RATE)

        @TinyJit
        def step():
            optimizer.zero_grad()
            loss = loss_of_tinygrad(parameters, norm, x, y).backward()
            return loss.realize(*optimizer.schedule_step())

        losses = [step().item() for _ in range(STEPS)]
        weight = parameters[6].numpy()
    assert losses == pytest.approx(expected[0], rel=1e-4)
    assert weight == pytest.approx(expected[1], rel=1e-3, abs=1e-5)
