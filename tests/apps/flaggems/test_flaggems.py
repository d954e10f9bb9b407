"""PyTorch's eager operations on the device, as FlagGems' Triton kernels. Each is held against PyTorch on the CPU."""
import first_fit  # noqa: F401
import flag_gems
import pytest
import torch
from torch import nn
from torch.nn import functional

# The two in-place operations of Adam that FlagGems has out of place only.
IN_PLACE = torch.library.Library("aten", "IMPL")
for operation in [torch.addcmul, torch.addcdiv]:
    IN_PLACE.impl(
        f"{operation.__name__}_",
        lambda self, first, second, value=1, operation=operation: self.copy_(operation(self, first, second, value=value)),
        "CUDA",
    )


@pytest.fixture(autouse=True)
def gems():
    torch.manual_seed(7)
    with flag_gems.use_gems():
        yield


def check(function, *inputs, **limits):
    """The function's results on the device are the CPU's, and so are the gradients of inputs that want them."""
    there = [input.detach().cuda().requires_grad_(input.requires_grad) for input in inputs]
    expected, found = function(*inputs), function(*there)
    assert found.is_cuda
    torch.testing.assert_close(found.cpu(), expected, **limits)
    if not expected.requires_grad:
        return
    weight = torch.randn(expected.shape)
    (expected * weight).sum().backward()
    (found * weight.cuda()).sum().backward()
    for here, away in zip(inputs, there):
        if here.requires_grad:
            torch.testing.assert_close(away.grad.cpu(), here.grad, **limits)


def numbers(*shape):
    return torch.randn(*shape, requires_grad=True)


LOOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x * 2 + y / 3 - 1,
        lambda x, y: torch.where(x > y, torch.exp(x), torch.sin(y)),
        lambda x, y: torch.sigmoid(x) * torch.tanh(y) + functional.relu(x),
        lambda x, y: functional.gelu(x) + functional.silu(y),
        lambda x, y: x.abs().pow(1.5) + torch.rsqrt(y * y + 1),
        lambda x, y: torch.maximum(x, y).clamp(-1, 1),
    ],
)
def test_elementwise(function):
    check(function, torch.randn(37, 65), torch.randn(65))


@pytest.mark.parametrize(
    "function",
    [torch.sum, torch.mean, torch.amax, lambda x: x.sum(0), lambda x: x.mean(1), lambda x: x.max(1).values, lambda x: x.var(1), lambda x: x.argmax(1)],
)
def test_reductions(function):
    check(function, torch.randn(33, 130), **LOOSE)


def test_products_of_matrices():
    check(torch.mm, numbers(33, 47), numbers(47, 65), **LOOSE)
    check(torch.bmm, numbers(3, 17, 20), numbers(3, 20, 33), **LOOSE)
    check(functional.linear, numbers(18, 24), numbers(40, 24), numbers(40), **LOOSE)


def test_normalisation():
    check(lambda x: torch.softmax(x, 1), numbers(9, 70), **LOOSE)
    check(lambda x: torch.log_softmax(x, 1), numbers(9, 70), **LOOSE)
    check(lambda x, weight, bias: functional.layer_norm(x, (32,), weight, bias), numbers(12, 32), numbers(32), numbers(32), **LOOSE)


def test_indexing_and_order():
    x, index = torch.randn(20, 30), torch.randint(0, 20, (11,))
    check(lambda x, index: x.index_select(0, index), x, index)
    check(lambda x, index: x[index, 1:5], x, index)
    check(lambda x: torch.cat([x, x.flip(1)], 1), x)
    check(lambda x: x.sort(1).values, x)
    check(lambda x: x.topk(4, 1).indices, x)
    check(lambda x: x.cumsum(1), x, **LOOSE)
    check(lambda x: x.masked_fill(x > 0, 3.0).tril(), x)
    check(functional.embedding, index, numbers(20, 8))


def test_convolution_and_pooling():
    check(lambda x, kernel, bias: functional.conv2d(x, kernel, bias, padding=1), numbers(2, 3, 9, 8), numbers(5, 3, 3, 3), numbers(5), **LOOSE)
    check(lambda x: functional.max_pool2d(x, 2), torch.randn(2, 3, 8, 8))


def test_attention():
    query, key, value = (torch.randn(1, 2, 64, 64).half() for _ in range(3))
    check(functional.scaled_dot_product_attention, query, key, value, rtol=1e-2, atol=1e-2)


def test_random_numbers():
    torch.manual_seed(3)
    numbers = torch.randn(20000, device="cuda")
    torch.manual_seed(3)
    assert torch.equal(torch.randn(20000, device="cuda").cpu(), numbers.cpu())
    assert abs(float(numbers.mean())) < 0.03 and abs(float(numbers.var()) - 1) < 0.05
    kept = functional.dropout(torch.ones(20000, device="cuda"), 0.25).cpu()
    assert torch.equal(kept.unique(), torch.tensor([0, 1 / 0.75]))
    assert abs(float((kept > 0).float().mean()) - 0.75) < 0.02


def train(device):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4)).to(device)
    inputs, classes = torch.randn(64, 16).to(device), torch.randint(0, 4, (64,)).to(device)
    # Adam's kernels for many tensors at once are PyTorch's own.
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01, foreach=False)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        loss = functional.cross_entropy(net(inputs), classes)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach().cpu()))
    return losses


def test_training_with_adam():
    expected = train("cpu")
    assert expected[-1] < 0.8 * expected[0]
    assert train("cuda") == pytest.approx(expected, rel=1e-4)
