"""A kernel of each kind that Triton's tutorials 01 to 08 have, at small sizes, against PyTorch on the CPU."""
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


def random(*shape, dtype=torch.float32):
    torch.manual_seed(sum(shape))
    return torch.randn(*shape).to(dtype)


def empty(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="cuda")


def same(actual, expected, tolerance=1e-5):
    torch.testing.assert_close(actual.cpu(), expected, rtol=tolerance, atol=tolerance)


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


def test_01_vector_add():
    x, y, out = random(5000), random(5000), empty(5000)
    add[(triton.cdiv(5000, 1024),)](x.cuda(), y.cuda(), out, 5000, BLOCK=1024)
    same(out, x + y, 0)


@triton.jit
def softmax(x, out, rows, columns, stride, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        values = tl.load(x + row * stride + at, at < columns, -float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), at < columns)


def test_02_fused_softmax():
    x, out = random(37, 200), empty(37, 200)
    softmax[(8,)](x.cuda(), out, 37, 200, 200, BLOCK=256, STAGES=2)
    same(out, torch.softmax(x, 1))


@triton.autotune(configs=[triton.Config({"M": 32, "N": 32, "K": 32}, num_warps=2), triton.Config({"M": 64, "N": 32, "K": 32}, num_warps=4)], key=["rows"])
@triton.jit
def multiply(a, b, c, rows, columns, inner, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LEAKY: tl.constexpr):
    row = (tl.program_id(0) * M + tl.arange(0, M))[:, None]
    column = (tl.program_id(1) * N + tl.arange(0, N))[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, inner, K):
        at = start + tl.arange(0, K)
        left = tl.load(a + row * inner + at[None, :], (row < rows) & (at[None, :] < inner), 0.0)
        right = tl.load(b + at[:, None] * columns + column, (at[:, None] < inner) & (column < columns), 0.0)
        total = tl.dot(left, right, total)
    if LEAKY:
        total = tl.where(total >= 0, total, 0.01 * total)
    tl.store(c + row * columns + column, total.to(tl.float16), (row < rows) & (column < columns))


@pytest.mark.parametrize("leaky", [False, True])
def test_03_matrix_multiplication(leaky):
    rows, columns, inner = 100, 72, 136
    a, b = random(rows, inner, dtype=torch.float16), random(inner, columns, dtype=torch.float16)
    c = empty(rows, columns, dtype=torch.float16)
    blocks = lambda chosen: (triton.cdiv(rows, chosen["M"]), triton.cdiv(columns, chosen["N"]))
    multiply[blocks](a.cuda(), b.cuda(), c, rows, columns, inner, LEAKY=leaky)
    expected = a.float() @ b.float()
    if leaky:
        expected = torch.nn.functional.leaky_relu(expected, 0.01)
    same(c, expected.half(), 2e-2)


@triton.jit
def dropout(x, out, count, share, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    kept = tl.rand(seed, at) > share
    tl.store(out + at, tl.where(kept, tl.load(x + at, mask) / (1 - share), 0.0), mask)


def test_04_dropout():
    x = random(8000)
    outs = [empty(8000) for _ in range(3)]
    for out, seed in zip(outs, [123, 123, 512]):
        dropout[(8,)](x.cuda(), out, 8000, 0.5, seed, BLOCK=1024)
    first, again, other = [out.cpu() for out in outs]
    kept = first != 0
    assert 0.45 < kept.float().mean() < 0.55
    torch.testing.assert_close(first[kept], x[kept] * 2)
    assert torch.equal(first, again) and not torch.equal(first, other)


@triton.jit
def norm(x, weight, bias, out, means, scales, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask, 0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(mask, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    tl.store(out + row * columns + at, centred * scale * tl.load(weight + at, mask) + tl.load(bias + at, mask), mask)


@triton.jit
def norm_backward(grad, x, weight, means, scales, out, weight_grad, bias_grad, lock, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    g = tl.load(grad + row * columns + at, mask, 0.0)
    scale = tl.load(scales + row)
    hat = tl.where(mask, (tl.load(x + row * columns + at, mask, 0.0) - tl.load(means + row)) * scale, 0.0)
    weighted = g * tl.load(weight + at, mask, 0.0)
    first, second = tl.sum(hat * weighted, axis=0) / columns, tl.sum(weighted, axis=0) / columns
    tl.store(out + row * columns + at, (weighted - hat * first - second) * scale, mask)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(weight_grad + at, tl.load(weight_grad + at, mask) + g * hat, mask)
    tl.store(bias_grad + at, tl.load(bias_grad + at, mask) + g, mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_05_layer_norm():
    rows, columns = 24, 150
    x, weight, bias = random(rows, columns).requires_grad_(), random(columns).requires_grad_(), random(columns + 0).requires_grad_()
    expected = torch.nn.functional.layer_norm(x, (columns,), weight, bias, 1e-5)
    grad = random(rows, columns)
    expected.backward(grad)
    there = [tensor.detach().cuda() for tensor in (x, weight, bias)]
    out, means, scales, x_grad = empty(rows, columns), empty(rows), empty(rows), empty(rows, columns)
    norm[(rows,)](*there, out, means, scales, columns, 1e-5, BLOCK=256)
    same(out, expected.detach())
    weight_grad, bias_grad = torch.zeros(columns).cuda(), torch.zeros(columns).cuda()
    lock = torch.zeros(1, dtype=torch.int32).cuda()
    norm_backward[(rows,)](grad.cuda(), there[0], there[1], means, scales, x_grad, weight_grad, bias_grad, lock, columns, BLOCK=256)
    for actual, wanted in zip((x_grad, weight_grad, bias_grad), (x.grad, weight.grad, bias.grad)):
        same(actual, wanted, 1e-4)


@triton.jit
def attention(q, k, v, out, length, scale, WIDTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    head = tl.program_id(1) * length * WIDTH
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.arange(0, WIDTH)
    queries = tl.load(q + head + row[:, None] * WIDTH + column[None, :])
    largest = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, WIDTH), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * M, N):
        at = start + tl.arange(0, N)
        keys = tl.load(k + head + at[None, :] * WIDTH + column[:, None])
        scores = tl.where(row[:, None] >= at[None, :], tl.dot(queries, keys) * scale, -1e30)
        now = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp2(scores - now[:, None])
        fade = tl.exp2(largest - now)
        weight = weight * fade + tl.sum(powers, 1)
        values = tl.load(v + head + at[:, None] * WIDTH + column[None, :])
        total = tl.dot(powers.to(tl.float16), values, total * fade[:, None])
        largest = now
    tl.store(out + head + row[:, None] * WIDTH + column[None, :], (total / weight[:, None]).to(tl.float16))


def test_06_fused_attention():
    heads, length, width = 3, 128, 32
    q, k, v = (random(heads, length, width + more)[..., :width].contiguous().half() for more in range(3))
    out = empty(heads, length, width, dtype=torch.float16)
    scale = width**-0.5
    attention[(length // 32, heads)](q.cuda(), k.cuda(), v.cuda(), out, length, scale * 1.44269504, WIDTH=width, M=32, N=32)
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True, scale=scale)
    same(out, expected.half(), 1e-2)


@triton.jit
def arcsine(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, libdevice.asin(tl.load(x + at, at < count)), at < count)


def test_07_functions_of_a_library():
    x, out = torch.linspace(-1, 1, 3000), empty(3000)
    arcsine[(3,)](x.cuda(), out, 3000, BLOCK=1024)
    same(out, torch.asin(x), 1e-6)


@triton.jit
def grouped(lefts, rights, outs, sizes, groups, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    tile, done = tl.program_id(0), 0
    for group in range(groups):
        rows, columns, inner = tl.load(sizes + group * 3), tl.load(sizes + group * 3 + 1), tl.load(sizes + group * 3 + 2)
        across = tl.cdiv(columns, N)
        tiles = tl.cdiv(rows, M) * across
        while tile >= done and tile < done + tiles:
            a = tl.load(lefts + group).to(tl.pointer_type(tl.float16))
            b = tl.load(rights + group).to(tl.pointer_type(tl.float16))
            c = tl.load(outs + group).to(tl.pointer_type(tl.float16))
            row = ((tile - done) // across * M + tl.arange(0, M))[:, None]
            column = ((tile - done) % across * N + tl.arange(0, N))[None, :]
            total = tl.zeros((M, N), tl.float32)
            for start in range(0, inner, K):
                at = start + tl.arange(0, K)
                total += tl.dot(tl.load(a + row * inner + at[None, :]), tl.load(b + at[:, None] * columns + column))
            tl.store(c + row * columns + column, total.to(tl.float16))
            tile += tl.num_programs(0)
        done += tiles


def test_08_grouped_multiplication():
    sizes = [(64, 32, 32), (32, 96, 64), (96, 64, 32)]
    a = [random(rows, inner, dtype=torch.float16) for rows, _, inner in sizes]
    b = [random(inner, columns, dtype=torch.float16) for _, columns, inner in sizes]
    there = [[tensor.cuda() for tensor in group] for group in (a, b)]
    there.append([empty(rows, columns, dtype=torch.float16) for rows, columns, _ in sizes])
    pointers = [torch.tensor([tensor.data_ptr() for tensor in group]).cuda() for group in there]
    grouped[(4,)](*pointers, torch.tensor(sizes, dtype=torch.int32).cuda(), len(sizes), M=32, N=32, K=32)
    for left, right, out in zip(a, b, there[2]):
        same(out, (left.float() @ right.float()).half(), 2e-2)
