"""bitsandbytes, whose kernels come as PTX of their own: numbers of eight and four bits as its code for the processor makes them, and optimizers' steps as PyTorch's there."""
import pytest
import torch
import bitsandbytes
import bitsandbytes.functional as functional

# The table of a type's values is made with PyTorch's own kernels, which are machine code.
table = functional.get_4bit_type
functional.get_4bit_type = lambda kind, device=None, blocksize=64: table(kind, device="cpu", blocksize=blocksize).to(device)

ROWS, COLUMNS = 256, 128
TYPES = [torch.float32, torch.float16, torch.bfloat16]


def numbers(*shape, kind=torch.float32, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(kind)


def test_the_device():
    assert "warploom" in torch.cuda.get_device_name()


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("size", [64, 256, 1024, 4096])
def test_blocks_of_eight_bits(size, kind):
    values = numbers(ROWS, COLUMNS, kind=kind)
    found, state = functional.quantize_blockwise(values.cuda(), blocksize=size)
    expected, own = functional.quantize_blockwise(values, blocksize=size)
    # Values in the middle between two of the table may become either.
    assert (found.cpu() != expected).float().mean() < 0.01
    assert torch.equal(state.absmax.cpu(), own.absmax.float())
    back = functional.dequantize_blockwise(found, state).cpu()
    assert (back - values).abs().float().mean() < 0.012


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("code", ["nf4", "fp4"])
def test_blocks_of_four_bits(code, kind):
    values = numbers(ROWS, COLUMNS, kind=kind)
    packed, state = functional.quantize_4bit(values.cuda(), blocksize=64, quant_type=code)
    own_packed, own = functional.quantize_4bit(values, blocksize=64, quant_type=code)
    found, expected = functional.dequantize_4bit(packed, state).cpu(), functional.dequantize_4bit(own_packed, own)
    assert ((found - expected).abs() > 0.01).float().mean() < 1e-3
    assert (found - values).abs().float().mean() < 0.11


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_vector_by_a_matrix_of_four_bits(kind):
    packed, state = functional.quantize_4bit(numbers(ROWS, COLUMNS, kind=kind).cuda(), quant_type="nf4")
    vector = numbers(1, COLUMNS, kind=kind, seed=2)
    found = functional.gemv_4bit(vector.cuda(), packed.t(), state=state).cpu().float()
    expected = vector.float() @ functional.dequantize_4bit(packed, state).cpu().float().t()
    assert (found - expected).abs().max() < (1e-4 if kind == torch.float32 else 0.03 if kind == torch.float16 else 0.3)


def test_rows_of_eight_bits():
    values = numbers(32, 64, kind=torch.float16)
    codes, scales, _ = functional.int8_vectorwise_quant(values.cuda())
    expected = torch.round(values.float() * 127 / values.float().abs().amax(dim=1, keepdim=True))
    assert (codes.cpu() - expected).abs().max() <= 1 and (codes.cpu() != expected).float().mean() < 0.01
    assert (scales.cpu() - values.abs().amax(dim=1)).abs().max() == 0


def steps(maker, on, settings):
    start = numbers(4096)
    weights = torch.nn.Parameter(start.to(on))
    optimizer = maker([weights], lr=0.01, **settings)
    for seed in range(2, 8):
        weights.grad = numbers(4096, seed=seed).to(on)
        optimizer.step()
    return weights.detach().cpu()


OPTIMIZERS = {
    "Adam": (torch.optim.Adam, {}),
    "AdamW": (torch.optim.AdamW, {"weight_decay": 0.1}),
    "RMSprop": (torch.optim.RMSprop, {"alpha": 0.9}),
    "Adagrad": (torch.optim.Adagrad, {}),
    "SGD": (torch.optim.SGD, {"momentum": 0.9}),
}


@pytest.mark.parametrize("bits", ["32bit", "8bit"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, bits):
    reference, settings = OPTIMIZERS[name]
    expected = steps(reference, "cpu", settings)
    found = steps(getattr(bitsandbytes.optim, name + bits), "cuda", settings)
    moved = (expected - numbers(4096)).abs().mean()
    assert (found - expected).abs().mean() < (1e-3 if bits == "32bit" else 0.1) * moved


@pytest.mark.parametrize("bits", ["32bit", "8bit"])
def test_lion(bits):
    found = steps(getattr(bitsandbytes.optim, "Lion" + bits), "cuda", {"betas": (0.9, 0.99)})
    weights, mean = numbers(4096), torch.zeros(4096)
    for seed in range(2, 8):
        slope = numbers(4096, seed=seed)
        weights = weights - 0.01 * torch.sign(0.9 * mean + 0.1 * slope)
        mean = 0.99 * mean + 0.01 * slope
    assert ((found - weights).abs() > 1e-3).float().mean() < (0.001 if bits == "32bit" else 0.1)
