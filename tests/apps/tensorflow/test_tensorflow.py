"""Operations of TensorFlow on the device, against its CPU."""
import numpy
import pytest
import tensorflow as tf

GENERATOR = numpy.random.default_rng(7)
TABLE = GENERATOR.standard_normal((512, 256), dtype=numpy.float32)
LINE = GENERATOR.standard_normal(100_000, dtype=numpy.float32)
DEVICE, HOST = "/GPU:0", "/CPU:0"


def check(function, *inputs, rtol=1e-5, atol=1e-5):
    """The function gives the same on both, and what it gives lies there."""

    def outputs(where):
        with tf.device(where):
            made = tf.nest.flatten(function(*[tf.constant(each) for each in inputs]))
        assert all(each.device.endswith("GPU:0") == (where == DEVICE) for each in made)
        return [each.numpy() for each in made]

    for device, host in zip(outputs(DEVICE), outputs(HOST), strict=True):
        kind = numpy.complex128 if numpy.iscomplexobj(host) else numpy.float64
        numpy.testing.assert_allclose(device.astype(kind), host.astype(kind), rtol=rtol, atol=atol)


@pytest.fixture(autouse=True)
def where_it_is_said(request):
    """What the device cannot do is an error, and is not done by the host, but for the data sets in Keras."""
    tf.config.set_soft_device_placement("keras" in request.node.name)


def test_there_is_a_device():
    assert [device.name for device in tf.config.list_physical_devices("GPU")] == ["/physical_device:GPU:0"]


def test_elementwise():
    check(lambda x: tf.tanh(x) * tf.exp(-x * x) + tf.sqrt(tf.abs(x)) + tf.math.erf(x) - tf.math.log1p(tf.abs(x)), TABLE)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64", "int32", "complex64"])
def test_types(kind):
    check(lambda x: tf.cast(x, kind) * tf.cast(x, kind) + tf.cast(1, kind), TABLE, rtol=1e-2, atol=1e-2)


def test_reductions():
    check(lambda x: (tf.reduce_sum(x, 0), tf.reduce_max(x, 1), tf.reduce_mean(x), tf.argmax(x, 1), tf.math.reduce_std(x)), TABLE, atol=1e-4)


def test_softmax():
    check(lambda x: (tf.nn.softmax(x), tf.nn.log_softmax(x), tf.reduce_logsumexp(x, 1)), TABLE)


def test_shapes():
    check(lambda x: (tf.transpose(x), tf.concat([x, x + 1], 1), tf.pad(x, [[1, 2], [3, 4]]), tf.tile(x, [2, 1]), tf.reverse(x, [0])), TABLE)


def test_sorts():
    check(lambda x: (tf.math.top_k(x, 10), tf.sort(x[:1000])), LINE)


def test_scans():
    check(lambda x: (tf.cumsum(x, 1), tf.math.cumprod(x[:, :20], 1)), TABLE, rtol=1e-4, atol=1e-4)


def test_gathers_and_scatters():
    rows = GENERATOR.integers(0, 512, 1000).astype(numpy.int32)

    def moved(x, at):
        taken = tf.gather(x, at)
        return taken, tf.math.unsorted_segment_sum(taken, at, 512), tf.tensor_scatter_nd_add(x, at[:, None], taken)

    check(moved, TABLE, rows, atol=1e-4)


def test_choices():
    check(lambda x: (tf.where(x > 0, x, -2 * x), tf.boolean_mask(x, x > 1), tf.one_hot(tf.cast(x > 0, tf.int32), 3)), TABLE)


def test_random_numbers():
    """Of a generator without state both give the same."""

    def drawn(_):
        uniform = tf.random.stateless_uniform([1000], [1, 2], alg="philox")
        return uniform, tf.random.stateless_normal([1000], [3, 4], alg="philox")

    check(drawn, LINE)
    with tf.device(DEVICE):
        numbers = tf.random.normal([100_000]).numpy()
    assert abs(numbers.mean()) < 0.02 and abs(numbers.std() - 1) < 0.02


def test_images():
    image = LINE[: 2 * 40 * 60 * 3].reshape(2, 40, 60, 3)

    def seen(x):
        return tf.image.resize(x, [50, 70]), tf.image.adjust_contrast(x, 2.0), tf.image.rgb_to_hsv(tf.abs(x))

    check(seen, image, rtol=1e-4, atol=1e-3)


def test_gradients():
    def derived(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = tf.reduce_mean(tf.tanh(x) ** 2) + tf.reduce_logsumexp(x)
        return value, tape.gradient(value, x)

    check(derived, TABLE)


def test_functions():
    """As a graph, with control flow."""

    @tf.function
    def steps(x):
        for number in tf.range(10):
            x = tf.sin(x) * 1.5 if number % 2 == 0 else x + 0.1
        return x

    check(steps, TABLE, rtol=1e-4, atol=1e-4)


def test_compiled():
    """By XLA, whose assembler is ours."""

    @tf.function(jit_compile=True)
    def compiled(x):
        y = tf.nn.softmax(tf.tanh(x) * 2 + 1)
        return tf.reduce_sum(y * x, 0), tf.sort(x, 1), tf.cumsum(y, 1)

    check(compiled, TABLE, rtol=1e-4, atol=1e-4)


def test_training():
    """Layers whose products are sums, as those of matrices are cuBLAS's, with Adam."""
    inputs, wanted = TABLE[:64, :32], TABLE[:64, 32:40]

    def train(inputs, wanted):
        weights = [tf.Variable(TABLE[:32, 64:80] * 0.1), tf.Variable(TABLE[:16, 80:88] * 0.1)]
        optimizer, losses = tf.keras.optimizers.Adam(0.01), []
        for _ in range(10):
            with tf.GradientTape() as tape:
                hidden = tf.nn.gelu(tf.reduce_sum(inputs[:, :, None] * weights[0], 1))
                loss = tf.reduce_mean((tf.reduce_sum(hidden[:, :, None] * weights[1], 1) - wanted) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
            losses.append(tf.identity(loss))
        return losses

    check(train, inputs, wanted, rtol=1e-4)


def test_convolutions_and_pools():
    """Those of cuDNN's that there is PTX of."""
    image, filters = LINE[: 2 * 32 * 32 * 3].reshape(2, 32, 32, 3), LINE[: 3 * 3 * 3 * 8].reshape(3, 3, 3, 8)

    def seen(x, weights):
        with tf.GradientTape() as tape:
            tape.watch([x, weights])
            made = tf.nn.conv2d(x, weights, 1, "SAME")
            value = tf.reduce_sum(tf.nn.max_pool2d(made, 2, 2, "SAME") ** 2) + tf.reduce_sum(tf.nn.avg_pool2d(made, 2, 2, "VALID"))
        return made, tape.gradient(value, [x, weights])

    check(seen, image, filters, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("kind", ["dense", "convolutional"])
def test_keras(kind):
    """A model that XLA compiles, products of matrices with it: see the recipe."""
    layers = tf.keras.layers
    inputs, wanted = LINE[: 128 * 64].reshape(128, 64), TABLE[:128, :4]
    stack = [layers.Dense(32, "relu"), layers.LayerNormalization(), layers.Dense(4)]
    if kind == "convolutional":
        stack = [layers.Reshape((8, 8, 1)), layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(4)]

    def losses(where):
        tf.keras.utils.set_random_seed(1)
        with tf.device(where):
            model = tf.keras.Sequential([layers.Input((64,)), *(type(each).from_config(each.get_config()) for each in stack)])
            model.compile("adam", "mse", jit_compile=True)
            return model.fit(inputs, wanted, epochs=3, batch_size=64, shuffle=False, verbose=0).history["loss"]

    numpy.testing.assert_allclose(losses(DEVICE), losses(HOST), rtol=1e-4)


def test_variables_and_memory():
    with tf.device(DEVICE):
        tf.config.experimental.reset_memory_stats("GPU:0")
        held = tf.Variable(tf.zeros([1 << 20]))
        assert tf.config.experimental.get_memory_info("GPU:0")["peak"] >= 4 << 20
        held.assign_add(tf.ones([1 << 20]))
        numpy.testing.assert_array_equal(held.numpy(), numpy.ones(1 << 20))


def test_data():
    """Batches of a pipeline of the host's."""
    batches = tf.data.Dataset.from_tensor_slices(TABLE).batch(100).prefetch(2)
    with tf.device(DEVICE):
        total = sum(tf.reduce_sum(batch * 2, 0) for batch in batches)
    numpy.testing.assert_allclose(total.numpy(), 2 * TABLE.sum(0), rtol=1e-4, atol=1e-3)
