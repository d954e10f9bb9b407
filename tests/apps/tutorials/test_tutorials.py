"""Triton's tutorials 01 to 08 as they are, at reduced sizes, without their timing. What they compare with is PyTorch on the host."""
import os
import re
import types
from pathlib import Path

import first_fit  # noqa: F401
import pytest
import torch
import triton
from on_host import OnHost, to_host

TUTORIALS = Path(os.environ["TUTORIALS"])
triton.testing.Mark.run = lambda *args, **options: None


# Memory that is taken anew may hold what is to be computed.
EMPTY = (r"torch.empty_like\(x\)", "torch.zeros_like(x)")


def run(name, *smaller):
    """What the tutorial has defined when it has run, with these expressions of it replaced, each of which must be there."""
    path = TUTORIALS / f"{name}.py"
    text = path.read_text()
    for pattern, replacement in smaller:
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{name} has no {pattern}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    # Triton reads the source of its kernels where Python says that it is.
    written = Path(os.environ["HOME"]) / path.name
    written.write_text(text)
    # Printing leaves such modes out.
    with OnHost(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "__repr__", lambda tensor: repr(to_host(tensor).numpy(force=True).tolist()))
        exec(compile(text, written, "exec"), module.__dict__)
    return module


def test_01_vector_add():
    found = run("01-vector-add")
    assert torch.equal(found.output_triton.cpu(), found.x.cpu() + found.y.cpu())


def test_02_fused_softmax():
    found = run("02-fused-softmax", (r"randn\(1823, 781", "randn(123, 781"))
    torch.testing.assert_close(found.y_triton.cpu(), torch.softmax(found.x.cpu(), 1))


def test_03_matrix_multiplication(capsys):
    run("03-matrix-multiplication", (r"\(512, 512\)", "(256, 256)"))
    printed = capsys.readouterr().out
    # In halves and in bytes.
    assert printed.count("Triton and Torch match") == 2, printed


def test_04_low_memory_dropout():
    # Which prints a table of the numbers.
    found = run("04-low-memory-dropout", (r"import tabulate", "from types import SimpleNamespace\ntabulate = SimpleNamespace(tabulate=str)"))
    assert torch.equal(found.output.cpu(), found.output2.cpu())
    x = torch.rand(10000) + 1
    dropped = {seed: found.seeded_dropout(x.cuda(), p=0.5, seed=seed).cpu() for seed in (123, 512)}
    for output in dropped.values():
        assert torch.equal(output, torch.where(output > 0, x / 0.5, 0))
        assert 0.47 < (output > 0).float().mean() < 0.53
    assert not torch.equal(dropped[123], dropped[512])
    keep = torch.randint(0, 2, (10000,), dtype=torch.int32)
    assert torch.equal(found.dropout(x.cuda(), keep.cuda(), p=0.5).cpu(), x / 0.5 * keep)


def test_05_layer_norm():
    # It compares by itself.
    run("05-layer-norm", (r"test_layer_norm\(1151, 8192, torch.float16\)", "test_layer_norm(61, 512, torch.float16)"))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mode, provider", [("bwd", "triton-fp16"), ("fwd", "triton-fp8")])
def test_06_fused_attention(causal, mode, provider):
    found = run("06-fused-attention")
    with OnHost():
        found.test_op(1, 2, 128, 64, causal, False, mode, provider)


def test_07_extern_functions():
    # Where the tutorial looks for the library is right in Triton's repository only.
    where = f"Path({str(Path(triton.__file__).parent / 'backends/nvidia/lib')!r})"
    found = run("07-extern-functions", (r"current_dir.parent.parent / 'third_party/nvidia/backend/lib'", where), ("98432", "5432"), EMPTY)
    torch.testing.assert_close(found.output_triton.cpu(), torch.asin(found.x.cpu()))


def test_08_grouped_gemm():
    found = run("08-grouped-gemm", (r"\[1024, 512, 256, 128\]", "[256, 128, 128, 128]"))
    assert len(found.tri_out) == 4
