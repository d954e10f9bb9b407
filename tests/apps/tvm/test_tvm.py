"""TVM on the device: operations of Relax against its code for the processor, schedules and kernels of users against NumPy, graphs, gradients."""
import numpy
import pytest
import tvm
from tvm import relax, s_tir, te
from tvm.relax import op
from tvm.relax.frontend import nn as layers
from tvm.relax.op import nn
from tvm.script import tirx as T

DEVICE, HOST = tvm.cuda(0), tvm.cpu()
TARGETS = {DEVICE: tvm.target.Target.from_device(DEVICE), HOST: tvm.target.Target("llvm")}
RANDOM = numpy.random.default_rng(1)


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=numpy.float32)


def positive(*shape):
    return numpy.abs(floats(*shape)) + numpy.float32(0.1)


def below_one(*shape):
    return RANDOM.uniform(-0.9, 0.9, shape).astype(numpy.float32)


def whole(*shape, low=-50, high=50, kind=numpy.int32):
    return RANDOM.integers(low, high, shape).astype(kind)


def there(values):
    return tvm.runtime.tensor(values, DEVICE)


def close(found, expected, tolerance=1e-5):
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    numpy.testing.assert_allclose(found.astype(numpy.float64), expected.astype(numpy.float64), rtol=tolerance, atol=tolerance)


def tensors(arrays):
    return [relax.Var(f"x{i}", relax.TensorType(array.shape, str(array.dtype))) for i, array in enumerate(arrays)]


def operations():
    """What each operation is, and its inputs."""
    every = {}
    for name in "abs atan ceil cos cosh erf exp floor negative round sigmoid sign sin sinh tan tanh trunc".split():
        every[name] = (getattr(op, name), floats(5, 77))
    for name in "relu gelu gelu_tanh silu selu softplus leakyrelu".split():
        every[name] = (getattr(nn, name), floats(5, 77))
    every |= {name: (getattr(op, name), positive(5, 77)) for name in "log rsqrt sqrt".split()}
    every |= {name: (getattr(op, name), below_one(5, 77)) for name in "acos asin atanh".split()}
    for name in "add divide multiply power subtract maximum minimum greater less_equal log_add_exp atan2".split():
        every[name] = (getattr(op, name), positive(4, 1, 70), positive(5, 70))
    for name in "floor_divide floor_mod bitwise_and bitwise_or bitwise_xor left_shift right_shift not_equal".split():
        every[name] = (getattr(op, name), whole(4, 1, 70), whole(5, 70, low=1, high=9))
    for name in "max mean min prod std sum variance argmax argmin".split():
        every[name] = (lambda a, name=name: getattr(op, name)(a, 1), 1 + floats(6, 33, 4) / 8)
    every |= {
        "sum_of_all": (op.sum, floats(60, 33)),
        "cumsum": (lambda a: op.cumsum(a, 1), whole(5, 300)),
        "sort": (op.sort, floats(5, 300)),
        "argsort": (op.argsort, floats(5, 300)),
        "topk": (lambda a: op.topk(a, 7, ret_type="values"), floats(5, 300)),
        "matmul": (op.matmul, floats(65, 130), floats(130, 97)),
        "matmul_of_batches": (op.matmul, floats(3, 20, 64), floats(3, 64, 30)),
        "matmul_of_a_vector": (op.matmul, floats(1, 512), floats(512, 300)),
        "conv1d": (lambda a, w: nn.conv1d(a, w, padding=1), floats(2, 3, 50), floats(8, 3, 3)),
        "conv2d": (lambda a, w: nn.conv2d(a, w, padding=1, strides=2), floats(2, 3, 20, 24), floats(8, 3, 3, 3)),
        "conv2d_in_groups": (lambda a, w: nn.conv2d(a, w, groups=4, dilation=2), floats(2, 8, 16, 16), floats(8, 2, 3, 3)),
        "conv2d_transpose": (lambda a, w: nn.conv2d_transpose(a, w, strides=2), floats(2, 3, 9, 9), floats(3, 4, 3, 3)),
        "max_pool2d": (lambda a: nn.max_pool2d(a, (3, 3), (2, 2)), floats(2, 3, 20, 24)),
        "avg_pool2d": (lambda a: nn.avg_pool2d(a, (3, 3), (2, 2)), floats(2, 3, 20, 24)),
        "softmax": (nn.softmax, floats(9, 1500)),
        "log_softmax": (lambda a: nn.log_softmax(a, 1), floats(3, 9, 15)),
        "layer_norm": (lambda a, g, b: nn.layer_norm(a, g, b, axes=[-1]), floats(40, 128), floats(128), floats(128)),
        "rms_norm": (lambda a, g: nn.rms_norm(a, g, axes=[-1]), floats(40, 128), floats(128)),
        "attention": (lambda q, k, v: nn.attention(q, k, v, causal_mask="TopLeft"), *floats(3, 2, 16, 4, 32)),
        "concat": (lambda a, b: op.concat([a, b], 1), floats(3, 4), floats(3, 5)),
        "permute_dims": (op.permute_dims, floats(65, 33)),
        "tile": (lambda a: op.tile(a, (2, 3)), floats(3, 5)),
        "flip": (lambda a: op.flip(a, 1), floats(3, 50)),
        "pad": (lambda a: nn.pad(a, [1, 2, 3, 4], "reflect"), floats(8, 9)),
        "take": (lambda a, i: op.take(a, i, 0), floats(30, 5), whole(17, low=0, high=30)),
        "gather_nd": (op.gather_nd, floats(6, 7, 3), whole(9, 2, low=0, high=6, kind=numpy.int64)),
        "scatter_nd": (
            lambda a, i, u: op.scatter_nd(a, i, u, "add"),
            floats(30),
            whole(50, 1, low=0, high=30, kind=numpy.int64),
            floats(50),
        ),
        "where": (op.where, whole(70, low=0, high=2).astype(bool), floats(70), floats(70)),
        "strided_slice": (lambda a: op.strided_slice(a, [0, 1], [1, 30], [6, 2], [2, -3]), floats(7, 33)),
        "resize2d": (lambda a: op.image.resize2d(a, (17, 31), method="cubic", layout="NCHW"), floats(1, 3, 9, 12)),
        "bfloat16": (lambda a: op.astype(op.astype(a, "bfloat16"), "float32"), floats(300)),
    }
    return every


OPERATIONS = operations()


@pytest.fixture(scope="session")
def machines():
    """All operations in one module for the device and one for the processor: compilers take seconds for each."""
    builder = relax.BlockBuilder()
    for name, (compute, *arrays) in OPERATIONS.items():
        variables = tensors(arrays)
        with builder.function(f"compute_{name}", variables):
            with builder.dataflow():
                result = builder.emit_output(compute(*variables))
            builder.emit_func_output(result)
    module = builder.get()
    return {where: relax.VirtualMachine(tvm.compile(module, target=target), where) for where, target in TARGETS.items()}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name, machines):
    arrays = OPERATIONS[name][1:]
    found, expected = (
        machine[f"compute_{name}"](*[tvm.runtime.tensor(array, where) for array in arrays]).numpy()
        for where, machine in machines.items()
    )
    # Kernels are compiled with fast mathematics.
    close(found, expected, 2e-4)


def product_of(rows, columns, depth, kind, sums):
    """A times B transposed."""
    a, b = (te.placeholder((length, depth), kind, name=name) for name, length in [("A", rows), ("B", columns)])
    k = te.reduce_axis((0, depth), "k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k].astype(sums) * b[j, k].astype(sums), axis=k), name="C")
    return te.create_prim_func([a, b, c])


def tiled():
    """Tiles in shared memory, read four numbers at a time, and sums in registers."""
    schedule = s_tir.Schedule(product_of(128, 96, 64, "float32", "float32"))
    block = schedule.get_sblock("C")
    i, j, k = schedule.get_loops(block)
    rows, threads_y, row = schedule.split(i, [None, 8, 4])
    columns, threads_x, column = schedule.split(j, [None, 8, 4])
    steps, step = schedule.split(k, [None, 8])
    schedule.reorder(rows, columns, threads_y, threads_x, steps, step, row, column)
    for loop, axis in [(rows, "blockIdx.y"), (columns, "blockIdx.x"), (threads_y, "threadIdx.y"), (threads_x, "threadIdx.x")]:
        schedule.bind(loop, axis)
    schedule.reverse_compute_at(schedule.cache_write(block, 0, "local"), threads_x)
    for operand in (0, 1):
        copy = schedule.cache_read(block, operand, "shared")
        schedule.compute_at(copy, steps)
        *_, y, x, vector = schedule.split(schedule.fuse(*schedule.get_loops(copy)[-2:]), [None, 8, 8, 4])
        schedule.bind(y, "threadIdx.y")
        schedule.bind(x, "threadIdx.x")
        schedule.vectorize(vector)
    schedule.decompose_reduction(block, steps)
    schedule.unroll(step)
    return schedule.mod["main"]


def sums_across_threads():
    a, k = te.placeholder((40, 1000), "float32", name="A"), te.reduce_axis((0, 1000), "k")
    schedule = s_tir.Schedule(te.create_prim_func([a, te.compute((40,), lambda i: te.sum(a[i, k], axis=k), name="C")]))
    i, k = schedule.get_loops(schedule.get_sblock("C"))
    _, threads = schedule.split(k, [None, 128])
    schedule.bind(i, "blockIdx.x")
    schedule.bind(threads, "threadIdx.x")
    return schedule.mod["main"]


@T.prim_func(s_tir=True)
def histogram(values: T.Buffer((4096,), "int32"), bins: T.Buffer((16,), "int32")):
    block = T.launch_thread("blockIdx.x", 32)
    thread = T.launch_thread("threadIdx.x", 128)
    T.evaluate(T.cuda.atomic_add(T.address_of(bins[values[block * 128 + thread] % 16]), T.int32(1)))


@T.prim_func(s_tir=True)
def over_warps(values: T.Buffer((32, 32), "float32"), sums: T.Buffer((32, 32), "float32"), tops: T.Buffer((32, 32), "float32")):
    block = T.launch_thread("blockIdx.x", 32)
    thread = T.launch_thread("threadIdx.x", 32)
    sums[block, thread] = T.cuda.warp_sum(values[block, thread])
    tops[block, thread] = T.cuda.warp_max(values[block, thread])


@T.prim_func(s_tir=True)
def transpose(values: T.Buffer((64, 64), "float32"), turned: T.Buffer((64, 64), "float32")):
    block_y = T.launch_thread("blockIdx.y", 2)
    block_x = T.launch_thread("blockIdx.x", 2)
    y = T.launch_thread("threadIdx.y", 32)
    x = T.launch_thread("threadIdx.x", 32)
    tile = T.alloc_buffer((32, 33), "float32", scope="shared")
    tile[y, x] = values[block_y * 32 + y, block_x * 32 + x]
    T.tvm_storage_sync("shared")
    turned[block_x * 32 + y, block_y * 32 + x] = tile[x, y]


@T.prim_func(s_tir=True)
def one_instruction(a: T.Buffer((256,), "float32"), b: T.Buffer((256,), "float32"), result: T.Buffer((256,), "float32")):
    thread = T.launch_thread("threadIdx.x", 256)
    sums = T.alloc_buffer((1,), "float32", scope="local")
    T.ptx.fma.rz.f32(sums[0], a[thread], b[thread], a[thread])
    result[thread] = sums[0]


@pytest.fixture(scope="session")
def kernels():
    functions = {
        "tiled": tiled(),
        "sums_across_threads": sums_across_threads(),
        "histogram": histogram,
        "over_warps": over_warps,
        "transpose": transpose,
        "one_instruction": one_instruction,
    }
    module = tvm.IRModule({name: function.with_attr("global_symbol", name) for name, function in functions.items()})
    return tvm.compile(module, target=TARGETS[DEVICE])


def test_tiles_in_shared_memory(kernels):
    a, b, c = floats(128, 64), floats(96, 64), there(numpy.zeros((128, 96), numpy.float32))
    kernels["tiled"](there(a), there(b), c)
    close(c.numpy(), a @ b.T, 1e-4)


def test_sums_across_threads(kernels):
    values, sums = whole(40, 1000).astype(numpy.float32), there(numpy.zeros(40, numpy.float32))
    kernels["sums_across_threads"](there(values), sums)
    numpy.testing.assert_array_equal(sums.numpy(), values.sum(1))


def test_atomics(kernels):
    values, bins = whole(4096, low=0, high=1000), there(numpy.zeros(16, numpy.int32))
    kernels["histogram"](there(values), bins)
    numpy.testing.assert_array_equal(bins.numpy(), numpy.bincount(values % 16, minlength=16))


def test_warps(kernels):
    values = whole(32, 32).astype(numpy.float32)
    sums, tops = (there(numpy.zeros((32, 32), numpy.float32)) for _ in range(2))
    kernels["over_warps"](there(values), sums, tops)
    numpy.testing.assert_array_equal(sums.numpy(), numpy.repeat(values.sum(1)[:, None], 32, 1))
    numpy.testing.assert_array_equal(tops.numpy(), numpy.repeat(values.max(1)[:, None], 32, 1))


def test_transposing_in_shared_memory(kernels):
    values, turned = floats(64, 64), there(numpy.zeros((64, 64), numpy.float32))
    kernels["transpose"](there(values), turned)
    numpy.testing.assert_array_equal(turned.numpy(), values.T)


def test_an_instruction_of_ptx(kernels):
    """A product and sum that is rounded once, towards zero."""
    (a, b), result = positive(2, 256), there(numpy.zeros(256, numpy.float32))
    kernels["one_instruction"](there(a), there(b), result)
    exact = a.astype(numpy.float64) * b + a
    nearest = exact.astype(numpy.float32)
    numpy.testing.assert_array_equal(result.numpy(), numpy.where(nearest > exact, numpy.nextafter(nearest, numpy.float32(0)), nearest))


class Classes(layers.Module):
    def __init__(self):
        self.first = layers.Linear(64, 128)
        self.second = layers.Linear(128, 10)

    def forward(self, x):
        return layers.op.softmax(self.second(layers.op.relu(self.first(x))), -1)


def test_a_graph_that_is_launched_again():
    """What the network launches is captured once."""
    module, parameters = Classes().export_tvm({"forward": {"x": layers.spec.Tensor((4, 64), "float32")}})
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        built = tvm.compile(module, target=TARGETS[DEVICE])
    assert "cuda_graph.run_or_capture" in built.mod.stats() + built.mod.as_text()
    machine = relax.VirtualMachine(built, DEVICE)
    weights = [floats(*map(int, parameter.shape)) / 8 for _, parameter in parameters]
    first, first_bias, second, second_bias = weights
    weights = list(map(there, weights))
    for _ in range(3):
        x = floats(4, 64)
        scores = numpy.maximum(x @ first.T + first_bias, 0) @ second.T + second_bias
        expected = numpy.exp(scores) / numpy.exp(scores).sum(1, keepdims=True)
        close(machine["forward"](there(x), *weights).numpy(), expected)


def test_gradients():
    """Relax writes the backward function, which returns the loss and the gradients."""
    x, w, y = floats(20, 32), floats(32, 8), floats(20, 8)
    builder = relax.BlockBuilder()
    variables = tensors([x, w, y])
    with builder.function("loss", variables):
        with builder.dataflow():
            error = builder.emit(op.subtract(op.tanh(op.matmul(variables[0], variables[1])), variables[2]))
            loss = builder.emit_output(op.sum(op.multiply(error, error)))
        builder.emit_func_output(loss)
    module = relax.transform.Gradient("loss", require_grads=[variables[1]])(builder.get())
    machine = relax.VirtualMachine(tvm.compile(module, target=TARGETS[DEVICE]), DEVICE)
    found, [gradient] = machine["loss_adjoint"](*map(there, [x, w, y]))
    reached = numpy.tanh(x @ w)
    close(found.numpy(), ((reached - y) ** 2).sum(), 1e-4)
    close(gradient.numpy(), x.T @ (2 * (reached - y) * (1 - reached**2)), 1e-4)
