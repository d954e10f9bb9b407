"""Models in ONNX Runtime: its kernels for CUDA and cuDNN's convolutions against its operators for the processor."""
import json
import threading

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

# From the packages that are installed beside it.
onnxruntime.preload_dlls()
onnxruntime.set_default_logger_severity(4)

DEVICE, HOST = "CUDAExecutionProvider", "CPUExecutionProvider"
# What cuDNN finds fastest is machine code at times, or asks cuBLAS; what it takes without a search is not.
SETTINGS = {"cudnn_conv_algo_search": "DEFAULT"}
OURS = "com.microsoft"
RANDOM = numpy.random.default_rng(1)


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=numpy.float32)


def positive(*shape):
    return numpy.abs(floats(*shape)) + numpy.float32(0.1)


def whole(*numbers):
    return numpy.array(numbers, dtype=numpy.int64)


def node(operation, inputs, outputs="y", domain="", **attributes):
    return helper.make_node(operation, inputs.split(","), outputs.split(","), domain=domain, **attributes)


def model(nodes, inputs, outputs, constants):
    """A model that has some inputs, of these shapes, and constants."""
    kind = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in inputs.items()}
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, kind[name], value.shape) for name, value in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs.split(",")],
        [numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid(OURS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def session(bytes_of_model, provider, folder=None, optimised=False):
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if folder is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(folder / "profile")
    providers = [(DEVICE, SETTINGS)] if provider == DEVICE else [provider]
    return onnxruntime.InferenceSession(bytes_of_model, options, providers=providers)


def where_nodes_ran(running):
    with open(running.end_profiling(), encoding="utf-8") as profile:
        events = [event for event in json.load(profile) if event.get("cat") == "Node"]
    return {event["args"]["provider"] for event in events if event["name"].endswith("_kernel_time")}


def same(found, expected, tolerance):
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        numpy.testing.assert_allclose(
            one.astype(numpy.float64), other.astype(numpy.float64), rtol=tolerance, atol=tolerance, equal_nan=True
        )


def agree(folder, nodes, inputs, outputs="y", tolerance=1e-5, **constants):
    """All nodes run on the device, and what comes out is what the processor's operators give."""
    bytes_of_model = model(nodes, inputs, outputs, constants)
    running = session(bytes_of_model, DEVICE, folder)
    found = running.run(None, inputs)
    assert where_nodes_ran(running) == {DEVICE}
    same(found, session(bytes_of_model, HOST).run(None, inputs), tolerance)


UNARY = (
    "Abs Ceil Cos Elu Erf Exp Floor HardSigmoid HardSwish IsNaN LeakyRelu Mish Neg Reciprocal Relu Round Selu "
    "Sigmoid Sign Sin Softplus Softsign Tanh ThresholdedRelu Sqrt Log"
).split()


@pytest.mark.parametrize("operation", UNARY)
def test_of_one(operation, tmp_path):
    values = positive(3, 5, 70) if operation in ("Sqrt", "Log") else floats(3, 5, 70)
    if operation == "IsNaN":
        values[:, 2] = numpy.nan
    agree(tmp_path, [node(operation, "a")], {"a": values})


@pytest.mark.parametrize(
    "operation", "Add Sub Mul Div Max Min Pow PRelu Greater Less GreaterOrEqual LessOrEqual".split()
)
def test_of_two(operation, tmp_path):
    first = floats(4, 5, 70) if operation == "PRelu" else positive(4, 1, 70)
    agree(tmp_path, [node(operation, "a,b")], {"a": first, "b": positive(5, 70)})


def test_whole_numbers(tmp_path):
    inputs = {"a": RANDOM.integers(-50, 50, 400), "b": RANDOM.integers(1, 9, 400)}
    nodes = [node("Mod", "a,b", "m"), node("Mul", "a,m", "p"), node("Sub", "p,b", "q"), node("Abs", "q")]
    agree(tmp_path, nodes, inputs, "m,y", 0.0)


def test_truth(tmp_path):
    inputs = {"a": floats(400) > 0, "b": floats(400) > 0}
    nodes = [node("And", "a,b", "c"), node("Or", "a,b", "d"), node("Xor", "c,d", "e"), node("Not", "e")]
    agree(tmp_path, nodes, inputs, "c,d,y", 0.0)


@pytest.mark.parametrize("axes", ["rows", "all"])
@pytest.mark.parametrize("operation", "Sum Mean Max Min Prod L1 L2 LogSumExp SumSquare".split())
def test_reduction(operation, axes, tmp_path):
    constants = {"x": whole(1)} if axes == "rows" else {}
    reduced = node(f"Reduce{operation}", "a,x" if constants else "a", keepdims=0)
    values = floats(6, 33, 4)
    if operation == "Prod":
        values = 1 + values / 8
    agree(tmp_path, [reduced], {"a": values}, tolerance=1e-4, **constants)


NORMALISATIONS = {
    "softmax": ([node("Softmax", "a", axis=-1)], {"a": (9, 1500)}),
    "log_softmax": ([node("LogSoftmax", "a", axis=1)], {"a": (3, 9, 15)}),
    "layers": ([node("LayerNormalization", "a,s,b")], {"a": (40, 128), "s": (128,), "b": (128,)}),
    "batches": (
        [node("BatchNormalization", "a,s,b,m,v")],
        {"a": (2, 8, 9, 9), "s": (8,), "b": (8,), "m": (8,), "v": (8,)},
    ),
    "instances": ([node("InstanceNormalization", "a,s,b")], {"a": (2, 8, 9, 9), "s": (8,), "b": (8,)}),
    "layers_and_skipped": (
        [node("SkipLayerNormalization", "a,k,s,b", domain=OURS)],
        {"a": (2, 4, 64), "k": (2, 4, 64), "s": (64,), "b": (64,)},
    ),
    "root_mean_square": ([node("SimplifiedLayerNormalization", "a,s")], {"a": (2, 4, 64), "s": (64,)}),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_normalisation(name, tmp_path):
    nodes, shapes = NORMALISATIONS[name]
    inputs = {name: positive(*shape) if name == "v" else floats(*shape) for name, shape in shapes.items()}
    agree(tmp_path, nodes, inputs)


CONVOLUTIONS = {
    "plane": ({"pads": [1, 1, 1, 1]}, (1, 8, 16, 16), (4, 8, 3, 3)),
    "strides": ({"strides": [2, 2]}, (2, 3, 17, 15), (5, 3, 5, 5)),
    "dilated": ({"dilations": [2, 2]}, (1, 3, 14, 14), (5, 3, 3, 3)),
    "line": ({"strides": [2]}, (1, 8, 64), (4, 8, 5)),
    "volume": ({}, (1, 2, 6, 7, 8), (3, 2, 3, 3, 3)),
    "first_of_a_network": ({"strides": [2, 2], "pads": [3, 3, 3, 3]}, (1, 3, 32, 32), (8, 3, 7, 7)),
    "many_channels": ({"pads": [1, 1, 1, 1]}, (1, 64, 14, 14), (64, 64, 3, 3)),
    "channels": ({"group": 8}, (1, 8, 16, 16), (8, 1, 3, 3)),
    "points": ({}, (1, 32, 10, 10), (16, 32, 1, 1)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name, tmp_path):
    attributes, values, weights = CONVOLUTIONS[name]
    inputs = {"a": floats(*values), "w": floats(*weights) / 8, "b": floats(weights[0])}
    agree(tmp_path, [node("Conv", "a,w,b", **attributes)], inputs, tolerance=1e-4)


def test_transposed_convolution(tmp_path):
    inputs = {"a": floats(1, 4, 6, 6), "w": floats(4, 3, 3, 3)}
    agree(tmp_path, [node("ConvTranspose", "a,w", strides=[2, 2])], inputs, tolerance=1e-4)


POOLS = {
    "most": node("MaxPool", "a", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "mean_of_all": node("GlobalAveragePool", "a"),
    "most_of_all": node("GlobalMaxPool", "a"),
}


@pytest.mark.parametrize("name", POOLS)
def test_pool(name, tmp_path):
    agree(tmp_path, [POOLS[name]], {"a": floats(2, 4, 15, 15)})


MOVES = {
    "slice": ([node("Slice", "a,s,e,x,t")], {"s": whole(1, 28), "e": whole(19, 2), "x": whole(0, 1), "t": whole(2, -3)}),
    "transpose": ([node("Transpose", "a", perm=[1, 0])], {}),
    "join": ([node("Concat", "a,a,a", axis=1)], {}),
    "split": ([node("Split", "a,s", "p,q", axis=1), node("Concat", "q,p", axis=1)], {"s": whole(11, 29)}),
    "tile": ([node("Tile", "a,s")], {"s": whole(2, 3)}),
    "expand": ([node("Unsqueeze", "a,x", "u"), node("Expand", "u,s")], {"x": whole(1), "s": whole(20, 3, 40)}),
    "pick": ([node("Gather", "a,i", axis=0)], {"i": RANDOM.integers(0, 20, (3, 5))}),
    "pick_each": ([node("GatherElements", "a,i", axis=1)], {"i": RANDOM.integers(0, 40, (20, 7))}),
    "pick_places": ([node("GatherND", "a,i")], {"i": RANDOM.integers(0, 20, (6, 2))}),
    "put_each": (
        [node("ScatterElements", "a,i,u", axis=1)],
        {"i": numpy.stack([RANDOM.permutation(40)[:7] for _ in range(20)]), "u": floats(20, 7)},
    ),
    "put_rows": ([node("ScatterND", "a,i,u")], {"i": whole(1, 6, 3)[:, None], "u": floats(3, 40)}),
    "triangle": ([node("Trilu", "a", upper=0)], {}),
    "running_sum": ([node("CumSum", "a,x")], {"x": numpy.array(1)}),
    "clip": ([node("Clip", "a,l,u")], {"l": numpy.float32(-0.5), "u": numpy.float32(0.25)}),
    "choose": ([node("Where", "c,a,b")], {"c": floats(20, 40) > 0, "b": floats(40)}),
    "not_zero": ([node("Relu", "a", "r"), node("NonZero", "r")], {}),
    "chosen_rows": ([node("Compress", "a,c", axis=0)], {"c": floats(20) > 0}),
    "largest": ([node("ArgMax", "a", "m", axis=1), node("ArgMin", "a", "n", axis=1), node("Sub", "m,n")], {}),
    "to_whole": ([node("Cast", "a", to=TensorProto.INT32)], {}),
    "quantised": (
        [node("QuantizeLinear", "a,s,z", "q"), node("DequantizeLinear", "q,s,z")],
        {"s": numpy.float32(0.02), "z": numpy.uint8(128)},
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_move(name, tmp_path):
    nodes, constants = MOVES[name]
    agree(tmp_path, nodes, {"a": floats(20, 40)}, **constants)


def test_the_first_of_each_row(tmp_path):
    agree(tmp_path, [node("TopK", "a,k", "y,i", axis=1)], {"a": floats(7, 300)}, "y,i", 0.0, k=whole(9))


def test_blocks_of_channels(tmp_path):
    nodes = [node("DepthToSpace", "a", "d", blocksize=2), node("SpaceToDepth", "d", blocksize=2)]
    agree(tmp_path, nodes, {"a": floats(1, 8, 3, 4)}, "d,y", 0.0)


def test_samples_of_a_grid(tmp_path):
    inputs = {"a": floats(1, 2, 8, 8), "g": floats(1, 5, 6, 2)}
    agree(tmp_path, [node("GridSample", "a,g")], inputs)


def test_boxes_that_overlap(tmp_path):
    inputs = {"b": positive(1, 60, 4).cumsum(-1).astype(numpy.float32), "s": positive(1, 1, 60)}
    constants = {"m": numpy.array(20), "t": numpy.float32(0.5)}
    agree(tmp_path, [node("NonMaxSuppression", "b,s,m,t")], inputs, tolerance=0.0, **constants)


@pytest.mark.parametrize("operation", ["FastGelu", "Gelu", "QuickGelu", "BiasGelu"])
def test_gelu(operation, tmp_path):
    inputs = "a,b" if operation == "BiasGelu" else "a"
    values = {"a": floats(4, 70), "b": floats(70)}
    agree(tmp_path, [node(operation, inputs, domain=OURS)], {name: values[name] for name in inputs.split(",")})


def test_turned_pairs(tmp_path):
    inputs = {"a": floats(1, 4, 32), "p": numpy.arange(4)[None], "c": floats(16, 4), "s": floats(16, 4)}
    agree(tmp_path, [node("RotaryEmbedding", "a,p,c,s", domain=OURS)], inputs)


@pytest.mark.parametrize("rows", [1, 8])
def test_product_with_numbers_of_four_bits(rows, tmp_path):
    packed = RANDOM.integers(0, 256, (32, 4, 16), dtype=numpy.uint8)
    product = node("MatMulNBits", "a,b,s", domain=OURS, K=128, N=32, bits=4, block_size=32)
    agree(tmp_path, [product], {"a": floats(rows, 128)}, tolerance=1e-3, b=packed, s=positive(128))


def test_attention(tmp_path):
    inputs = {name: floats(2, 48, 64) for name in "qkv"}
    agree(tmp_path, [node("MultiHeadAttention", "q,k,v", domain=OURS, num_heads=4)], inputs)


def test_halves(tmp_path):
    """The processor computes in floats where it has no operator for halves: what comes out differs by less than a place."""
    nodes = [
        node("Cast", "a", "h", to=TensorProto.FLOAT16),
        node("Tanh", "h", "t"),
        node("Add", "h,t", "s"),
        node("Softmax", "s", "m"),
        node("Cast", "m", to=TensorProto.FLOAT),
    ]
    agree(tmp_path, nodes, {"a": floats(40, 70)}, tolerance=2e-3)


def picture_classes():
    """A small network that tells pictures apart, its last layer as a convolution of points."""
    nodes = [
        node("Conv", "a,w1,b1", "c1", pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c1,s,o,m,v", "n"),
        node("Relu", "n", "r1"),
        node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p1,w2,b2", "c2", pads=[1, 1, 1, 1]),
        node("Relu", "c2", "r2"),
        node("GlobalAveragePool", "r2", "g"),
        node("Conv", "g,w3,b3", "c3"),
        node("Flatten", "c3", "f"),
        node("Softmax", "f"),
    ]
    constants = {"w1": floats(8, 3, 3, 3), "b1": floats(8), "s": floats(8), "o": floats(8), "m": floats(8)}
    constants |= {"v": positive(8), "w2": floats(16, 8, 3, 3), "b2": floats(16), "w3": floats(5, 16, 1, 1), "b3": floats(5)}
    inputs = {"a": floats(2, 3, 20, 24)}
    return model(nodes, inputs, "y", constants), inputs


def test_a_network(tmp_path):
    bytes_of_model, inputs = picture_classes()
    running = session(bytes_of_model, DEVICE, tmp_path, optimised=True)
    found = running.run(None, inputs)
    assert where_nodes_ran(running) == {DEVICE}
    same(found, session(bytes_of_model, HOST).run(None, inputs), 1e-4)


def test_results_stay_on_the_device():
    bytes_of_model, inputs = picture_classes()
    running = session(bytes_of_model, DEVICE, optimised=True)
    binding = running.io_binding()
    on_device = onnxruntime.OrtValue.ortvalue_from_numpy(inputs["a"], "cuda", 0)
    assert on_device.device_name() == "cuda"
    binding.bind_ortvalue_input("a", on_device)
    binding.bind_output("y", "cuda")
    running.run_with_iobinding(binding)
    [found] = binding.get_outputs()
    assert found.device_name() == "cuda"
    same([found.numpy()], session(bytes_of_model, HOST).run(None, inputs), 1e-4)


def test_a_graph_that_is_launched_again():
    """The session captures what it launches, and launches that from its third run on."""
    nodes = [node("Exp", "a", "e"), node("ReduceSum", "e,x", "r"), node("Div", "e,r")]
    values = floats(16, 200)
    bytes_of_model = model(nodes, {"a": values}, "y", {"x": whole(1)})
    running = onnxruntime.InferenceSession(bytes_of_model, providers=[(DEVICE, SETTINGS | {"enable_cuda_graph": "1"})])
    binding = running.io_binding()
    there = onnxruntime.OrtValue.ortvalue_from_numpy(values, "cuda", 0)
    result = onnxruntime.OrtValue.ortvalue_from_shape_and_type(values.shape, numpy.float32, "cuda", 0)
    binding.bind_ortvalue_input("a", there)
    binding.bind_ortvalue_output("y", result)
    host = session(bytes_of_model, HOST)
    for _ in range(4):
        values = floats(16, 200)
        there.update_inplace(values)
        running.run_with_iobinding(binding)
        same([result.numpy()], host.run(None, {"a": values}), 1e-5)


def test_many_threads_use_a_session():
    bytes_of_model, inputs = picture_classes()
    running = session(bytes_of_model, DEVICE, optimised=True)
    expected = session(bytes_of_model, HOST).run(None, inputs)
    found = [[] for _ in range(4)]

    def repeat(results):
        results.extend(running.run(None, inputs) for _ in range(5))

    threads = [threading.Thread(target=repeat, args=[results]) for results in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in found:
        assert len(results) == 5
        for result in results:
            same(result, expected, 1e-4)
