"""What PyTorch does where its own kernels, which are machine code, are not needed: memory, streams, graphs of copies, and all that torch.compile makes."""
import pytest
import torch


def test_memory_and_copies():
    x = torch.arange(10_000.0)
    there = x.cuda()
    assert torch.equal(there.cpu(), x)
    assert torch.equal(there.clone().cpu(), x)
    assert torch.equal(there.view(100, 100)[7:9].cpu(), x.view(100, 100)[7:9])
    assert torch.cuda.memory_allocated() >= 40_000
    del there
    pinned = x.pin_memory()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        there = pinned.to("cuda", non_blocking=True)
        event = stream.record_event()
    event.synchronize()
    assert torch.equal(there.cpu(), x)


def test_graph_of_copies():
    x = torch.arange(1000.0)
    there, copy = x.cuda(), torch.empty(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copy.copy_(there)
    there.copy_(x * 3)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(copy.cpu(), x * 3)


def test_own_kernels_are_refused():
    there = torch.arange(10.0).cuda()
    with pytest.raises(RuntimeError, match="no kernel image is available"):
        there + 1
    assert torch.equal(there.cpu(), torch.arange(10.0))


def test_compiled_elementwise_work_and_reductions():
    def work(x, y):
        z = torch.nn.functional.gelu(x) * torch.sigmoid(y) + x.pow(2).mean(dim=1, keepdim=True)
        return z.softmax(dim=1), z.argmax(dim=1), z.cumsum(dim=1)

    torch.manual_seed(1)
    x, y = torch.randn(60, 90), torch.randn(60, 90)
    for actual, expected in zip(torch.compile(work)(x.cuda(), y.cuda()), work(x, y)):
        torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)


def linear(x, weight, bias):
    return (x[:, None, :] * weight).sum(2) + bias


def loss(parameters, x, y):
    first, second = parameters[:2], parameters[2:]
    return (linear(torch.tanh(linear(x, *first)), *second) - y).pow(2).mean()


def adam(parameters, means, squares, step, x, y):
    grads, value = torch.func.grad_and_value(loss)(parameters, x, y)
    means = [0.9 * mean + 0.1 * grad for mean, grad in zip(means, grads)]
    squares = [0.999 * square + 0.001 * grad * grad for square, grad in zip(squares, grads)]
    rate = 0.02 * torch.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    parameters = tuple(p - rate * mean / (square.sqrt() + 1e-8) for p, mean, square in zip(parameters, means, squares))
    return parameters, means, squares, step + 1, value


def losses(device, step):
    torch.manual_seed(5)
    x, y = torch.randn(64, 8), torch.randn(64, 1)
    parameters = (torch.randn(16, 8) / 3, torch.zeros(16), torch.randn(1, 16) / 4, torch.zeros(1))
    parameters = tuple(parameter.to(device) for parameter in parameters)
    zeros = [torch.zeros(parameter.shape).to(device) for parameter in parameters]
    state = (parameters, zeros, zeros, torch.tensor(1.0).to(device))
    x, y, seen = x.to(device), y.to(device), []
    for _ in range(30):
        *state, value = step(*state, x, y)
        seen.append(value.item())
    return seen


def test_training_with_adam_gives_the_losses_of_the_cpu():
    expected = losses("cpu", adam)
    # Folding constants runs operations of the graph when it is compiled, one by one, by PyTorch's own kernels.
    actual = losses("cuda", torch.compile(adam, options={"joint_graph_constant_folding": False}))
    assert actual[-1] < actual[0] / 2
    torch.testing.assert_close(torch.tensor(actual), torch.tensor(expected), rtol=1e-3, atol=1e-5)
