"""Kernels of TileLang, compiled by nvcc with our assembler, against PyTorch's code for the processor."""
import pytest
import tilelang
import tilelang.language as T
import torch

torch.manual_seed(0)


def product(m, n, k, element, sums, stages, transposed, tile=(128, 128, 64)):
    of_m, of_n, of_k = tile

    @T.prim_func
    def main(
        a: T.Tensor((m, k), element),
        b: T.Tensor((n, k) if transposed else (k, n), element),
        c: T.Tensor((m, n), sums),
    ):
        with T.Kernel(T.ceildiv(n, of_n), T.ceildiv(m, of_m), threads=128) as (bx, by):
            a_tile = T.alloc_shared((of_m, of_k), element)
            b_tile = T.alloc_shared((of_n, of_k) if transposed else (of_k, of_n), element)
            c_tile = T.alloc_fragment((of_m, of_n), sums)
            T.use_swizzle(panel_size=10)
            T.clear(c_tile)
            for step in T.Pipelined(T.ceildiv(k, of_k), num_stages=stages):
                T.copy(a[by * of_m, step * of_k], a_tile)
                if transposed:
                    T.copy(b[bx * of_n, step * of_k], b_tile)
                else:
                    T.copy(b[step * of_k, bx * of_n], b_tile)
                T.gemm(a_tile, b_tile, c_tile, transpose_B=transposed)
            T.copy(c_tile, c[by * of_m, bx * of_n])

    return main


@pytest.mark.parametrize(
    "element, sums, stages, transposed, tolerance",
    [
        ("float16", "float32", 2, False, 1e-5),
        ("float16", "float32", 3, True, 1e-5),
        ("float16", "float16", 2, True, 3e-3),
        ("bfloat16", "float32", 2, False, 1e-5),
        ("float32", "float32", 2, True, 2e-3),
        ("int8", "int32", 2, True, 0),
        ("float8_e4m3fn", "float32", 2, True, 1e-3),
    ],
)
def test_products(element, sums, stages, transposed, tolerance):
    m, n, k = 256, 384, 128
    tile = (128, 128, 32) if element == "float32" else (128, 128, 64)
    shape = (n, k) if transposed else (k, n)
    if element == "int8":
        a, b = (torch.randint(-100, 100, size, dtype=torch.int8) for size in [(m, k), shape])
    else:
        a, b = (torch.randn(size).to(getattr(torch, element)) for size in [(m, k), shape])
    kernel = tilelang.compile(product(m, n, k, element, sums, stages, transposed, tile))
    c = torch.empty(m, n, dtype=getattr(torch, sums), device="cuda")
    kernel(a.cuda(), b.cuda(), c)
    expected = a.double() @ (b.double().T if transposed else b.double())
    assert (c.cpu().double() - expected).abs().max() <= tolerance * expected.abs().max()


def softmax(rows, columns, at_once):
    @T.prim_func
    def main(a: T.Tensor((rows, columns), "float32"), b: T.Tensor((rows, columns), "float32")):
        with T.Kernel(T.ceildiv(rows, at_once), threads=128) as bx:
            part = T.alloc_fragment((at_once, columns), "float32")
            most = T.alloc_fragment((at_once,), "float32")
            total = T.alloc_fragment((at_once,), "float32")
            T.copy(a[bx * at_once, 0], part)
            T.reduce_max(part, most, dim=1)
            for i, j in T.Parallel(at_once, columns):
                part[i, j] = T.exp(part[i, j] - most[i])
            T.reduce_sum(part, total, dim=1)
            for i, j in T.Parallel(at_once, columns):
                part[i, j] = part[i, j] / total[i]
            T.copy(part, b[bx * at_once, 0])

    return main


def test_softmax():
    a, b = torch.randn(256, 512), torch.empty(256, 512, device="cuda")
    tilelang.compile(softmax(256, 512, 4))(a.cuda(), b)
    assert (b.cpu() - a.softmax(1)).abs().max() < 1e-6


def attention(batches, heads, length, width, of_m, of_n, causal):
    scale = (1.0 / width) ** 0.5 * 1.44269504
    shape = (batches, heads, length, width)

    @T.prim_func
    def main(
        q: T.Tensor(shape, "float16"), k: T.Tensor(shape, "float16"), v: T.Tensor(shape, "float16"), out: T.Tensor(shape, "float16")
    ):
        with T.Kernel(T.ceildiv(length, of_m), heads, batches, threads=128) as (bx, by, bz):
            q_tile = T.alloc_shared((of_m, width), "float16")
            k_tile = T.alloc_shared((of_n, width), "float16")
            v_tile = T.alloc_shared((of_n, width), "float16")
            scores = T.alloc_fragment((of_m, of_n), "float32")
            weights = T.alloc_fragment((of_m, of_n), "float16")
            sums = T.alloc_fragment((of_m, width), "float32")
            most = T.alloc_fragment((of_m,), "float32")
            before = T.alloc_fragment((of_m,), "float32")
            shrink = T.alloc_fragment((of_m,), "float32")
            of_step = T.alloc_fragment((of_m,), "float32")
            total = T.alloc_fragment((of_m,), "float32")
            T.copy(q[bz, by, bx * of_m : (bx + 1) * of_m, :], q_tile)
            T.fill(sums, 0)
            T.fill(total, 0)
            T.fill(most, -T.infinity("float32"))
            steps = T.ceildiv((bx + 1) * of_m, of_n) if causal else T.ceildiv(length, of_n)
            for step in T.Pipelined(steps, num_stages=2):
                T.copy(k[bz, by, step * of_n : (step + 1) * of_n, :], k_tile)
                if causal:
                    for i, j in T.Parallel(of_m, of_n):
                        scores[i, j] = T.if_then_else(bx * of_m + i >= step * of_n + j, 0, -T.infinity("float32"))
                else:
                    T.clear(scores)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(most, before)
                T.fill(most, -T.infinity("float32"))
                T.reduce_max(scores, most, dim=1, clear=False)
                for i in T.Parallel(of_m):
                    most[i] = T.max(most[i], before[i])
                for i in T.Parallel(of_m):
                    shrink[i] = T.exp2(before[i] * scale - most[i] * scale)
                for i, j in T.Parallel(of_m, of_n):
                    scores[i, j] = T.exp2(scores[i, j] * scale - most[i] * scale)
                T.reduce_sum(scores, of_step, dim=1)
                for i in T.Parallel(of_m):
                    total[i] = total[i] * shrink[i] + of_step[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(of_m, width):
                    sums[i, j] *= shrink[i]
                T.copy(v[bz, by, step * of_n : (step + 1) * of_n, :], v_tile)
                T.gemm(weights, v_tile, sums, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(of_m, width):
                sums[i, j] /= total[i]
            T.copy(sums, out[bz, by, bx * of_m : (bx + 1) * of_m, :])

    return main


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k, v = (torch.randn(1, 2, 256, 64).half() for _ in range(3))
    out = torch.empty_like(q, device="cuda")
    tilelang.compile(attention(1, 2, 256, 64, 64, 64, causal))(q.cuda(), k.cuda(), v.cuda(), out)
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    assert (out.cpu().float() - expected).abs().max() < 2e-3


def histogram(count, bins):
    @T.prim_func
    def main(a: T.Tensor((count,), "int32"), h: T.Tensor((bins,), "int32")):
        with T.Kernel(T.ceildiv(count, 1024), threads=256) as bx:
            for i in T.Parallel(1024):
                T.atomic_add(h[a[bx * 1024 + i]], 1)

    return main


def test_atomics():
    a, h = torch.randint(0, 64, (8192,), dtype=torch.int32), torch.zeros(64, dtype=torch.int32).cuda()
    tilelang.compile(histogram(8192, 64))(a.cuda(), h)
    assert (h.cpu() == torch.bincount(a, minlength=64)).all()


def scan(rows, columns):
    @T.prim_func
    def main(a: T.Tensor((rows, columns), "float32"), b: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as bx:
            part = T.alloc_shared((1, columns), "float32")
            T.copy(a[bx, 0], part)
            T.cumsum(part, dim=1)
            T.copy(part, b[bx, 0])

    return main


def test_running_sums():
    a, b = torch.randn(64, 512), torch.empty(64, 512, device="cuda")
    tilelang.compile(scan(64, 512))(a.cuda(), b)
    assert (b.cpu() - a.cumsum(1)).abs().max() < 1e-4
