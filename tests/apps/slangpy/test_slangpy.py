"""Slang on the device, by SlangPy: functions over arrays, kernels, textures and gradients, against NumPy."""
import numpy
import pytest
import slangpy

RANDOM = numpy.random.default_rng(1)


def floats(*shape):
    return RANDOM.random(shape, dtype=numpy.float32)


@pytest.fixture(scope="session")
def device():
    device = slangpy.create_device(slangpy.DeviceType.cuda)
    yield device
    device.close()


FUNCTIONS = """
import slangpy;

float curve(float a, float b) { return sin(a) * b + sqrt(a) - pow(b, 3.0); }

float3 turned(float4x4 turn, float3 at) { return mul(turn, float4(at, 1.0)).xyz; }

struct Pair<T : IArithmetic>
{
    T first;
    T second;
    T product() { return first * second; }
}

int product(Pair<int> pair) { return pair.product(); }

float product(Pair<float> pair) { return pair.product(); }

interface IShape { float area(); }
struct Square : IShape { float side; float area() { return side * side; } }
struct Circle : IShape { float radius; float area() { return 3.0 * radius * radius; } }
float area_of<S : IShape>(S shape) { return shape.area(); }

[Differentiable]
float polynomial(float a, float b, float c) { return a * b * b + exp(c) * b; }

[Differentiable]
float repeated(float x, no_diff int count)
{
    float result = x;
    [MaxIters(8)]
    for (int i = 0; i < count; i++)
        result = sin(result) * x + result / (1.0 + float(i));
    return result;
}

float slope(float x, int count)
{
    return fwd_diff(repeated)(diffPair(x, 1.0), count).d;
}

float slope_backwards(float x, int count)
{
    var pair = diffPair(x);
    bwd_diff(repeated)(pair, count, 1.0);
    return pair.d;
}

void split(float a, out float whole, out float rest) { whole = floor(a); rest = a - whole; }

uint mixed(uint2 at) { return (at.x * 2654435761u) ^ reversebits(at.y) ^ countbits(at.x + at.y); }

double precise(double a, double b) { return sqrt(a) / (b + 1.0) - floor(a * 10.0); }

half low(half a, half b) { return a * b + half(0.5); }

int64_t wide(int64_t a, uint64_t b) { return a * int64_t(b % 1000003) - (a >> 7); }
"""


@pytest.fixture(scope="session")
def functions(device):
    return slangpy.Module(device.load_module_from_source("functions", FUNCTIONS))


def close(found, expected, tolerance=1e-5):
    assert found.shape == expected.shape
    numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_elementwise(functions):
    a, b = floats(10_000), floats(10_000)
    close(functions.curve(a, b, _result="numpy"), numpy.sin(a) * b + numpy.sqrt(a) - b**3)


def test_a_scalar_goes_to_all(functions):
    a = floats(30, 50)
    close(functions.curve(a, 0.5, _result="numpy"), numpy.sin(a) * 0.5 + numpy.sqrt(a) - numpy.float32(0.125))


def test_rows_and_columns(functions):
    a, b = floats(30, 1), floats(1, 50)
    close(functions.curve(a, b, _result="numpy"), numpy.sin(a) * b + numpy.sqrt(a) - b**3)


def test_vectors_and_matrices(functions):
    turn, points = floats(4, 4), floats(1000, 3)
    found = functions.turned(slangpy.float4x4(turn), points, _result="numpy")
    close(found, points @ turn[:3, :3].T + turn[:3, 3])


def test_structs(functions):
    first, second = floats(500), floats(500)
    pairs = {"_type": "Pair<float>", "first": first, "second": second}
    close(functions.product(pairs, _result="numpy"), first * second)


def test_generics_and_interfaces(functions):
    sizes = floats(500)
    close(functions.area_of({"_type": "Square", "side": sizes}, _result="numpy"), sizes**2)
    close(functions.area_of({"_type": "Circle", "radius": sizes}, _result="numpy"), 3 * sizes**2)


def test_results_by_argument(functions, device):
    a = floats(300) * 10
    whole, rest = (slangpy.Tensor.zeros(device, (300,), dtype="float") for _ in range(2))
    functions.split(a, whole, rest)
    numpy.testing.assert_array_equal(whole.to_numpy(), numpy.floor(a))
    close(rest.to_numpy(), a - numpy.floor(a))


def test_bits(functions):
    at = RANDOM.integers(0, 2**31, (400, 2), dtype=numpy.uint32)
    x, y = at.T
    turned = numpy.array([int(f"{value:032b}"[::-1], 2) for value in y], dtype=numpy.uint32)
    ones = numpy.array([f"{value:b}".count("1") for value in x + y], dtype=numpy.uint32)
    numpy.testing.assert_array_equal(functions.mixed(at, _result="numpy"), (x * numpy.uint32(2654435761)) ^ turned ^ ones)


def test_doubles(functions):
    a, b = RANDOM.random((2, 1000))
    close(functions.precise(a, b, _result="numpy"), numpy.sqrt(a) / (b + 1) - numpy.floor(a * 10), 1e-14)


def test_halves(functions):
    a, b = floats(2, 1000).astype(numpy.float16)
    close(functions.low(a, b, _result="numpy"), a * b + numpy.float16(0.5), 1e-3)


def test_long_integers(functions):
    a, b = RANDOM.integers(-(2**40), 2**40, 700), RANDOM.integers(0, 2**63, 700).astype(numpy.uint64)
    expected = a * (b % numpy.uint64(1000003)).astype(numpy.int64) - (a >> 7)
    numpy.testing.assert_array_equal(functions.wide(a, b, _result="numpy"), expected)


def test_gradients(functions, device):
    """Slang writes the backward function, and SlangPy runs it over tensors."""
    values = floats(3, 64)
    a, b, c = (slangpy.Tensor.from_numpy(device, value).with_grads(zero=True) for value in values)
    result = functions.polynomial(a, b, c)
    close(result.to_numpy(), values[0] * values[1] ** 2 + numpy.exp(values[2]) * values[1])
    result = result.with_grads()
    result.grad.storage.copy_from_numpy(numpy.full(64, 2, numpy.float32))
    functions.polynomial.bwds(a, b, c, result)
    close(a.grad.to_numpy(), 2 * values[1] ** 2)
    close(b.grad.to_numpy(), 2 * (2 * values[0] * values[1] + numpy.exp(values[2])))
    close(c.grad.to_numpy(), 2 * numpy.exp(values[2]) * values[1])


@pytest.mark.parametrize("direction", ["slope", "slope_backwards"])
def test_gradients_of_loops(direction, functions):
    x = floats(200)
    count = numpy.arange(200, dtype=numpy.int32) % 8

    def repeated(value):
        value, result = value.astype(numpy.float64), value.astype(numpy.float64)
        for i in range(8):
            result = numpy.where(i < count, numpy.sin(result) * value + result / (1 + i), result)
        return result

    step = 1e-6
    expected = (repeated(x + numpy.float64(step)) - repeated(x - numpy.float64(step))) / (2 * step)
    close(getattr(functions, direction)(x, count, _result="numpy"), expected, 1e-3)


def test_calls_in_a_group(functions, device):
    """Several calls go to the device by one command buffer, in their order."""
    a = slangpy.Tensor.from_numpy(device, floats(256))
    b, c = slangpy.Tensor.empty_like(a), slangpy.Tensor.empty_like(a)
    encoder = device.create_command_encoder()
    functions.curve.append_to(encoder, a, 0.5, _result=b)
    functions.curve.append_to(encoder, a, b, _result=c)
    device.submit_command_buffer(encoder.finish())
    values = a.to_numpy()
    once = numpy.sin(values) * 0.5 + numpy.sqrt(values) - 0.125
    close(c.to_numpy(), numpy.sin(values) * once + numpy.sqrt(values) - once**3, 1e-4)


KERNELS = """
[shader("compute")]
[numthreads(128, 1, 1)]
void histogram(uint3 at : SV_DispatchThreadID, StructuredBuffer<uint> values, RWStructuredBuffer<Atomic<uint>> bins, uint count)
{
    if (at.x < count)
        bins[values[at.x] % 16].add(1);
}

groupshared float shared_sums[128];

[shader("compute")]
[numthreads(128, 1, 1)]
void sum(uint3 at : SV_DispatchThreadID, uint3 group : SV_GroupID, uint thread : SV_GroupIndex, StructuredBuffer<float> values, RWStructuredBuffer<float> sums)
{
    shared_sums[thread] = values[at.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint step = 64; step > 0; step /= 2)
    {
        if (thread < step)
            shared_sums[thread] += shared_sums[thread + step];
        GroupMemoryBarrierWithGroupSync();
    }
    if (thread == 0)
        sums[group.x] = shared_sums[0];
}

[shader("compute")]
[numthreads(64, 1, 1)]
void waves(uint3 at : SV_DispatchThreadID, StructuredBuffer<int> values, RWStructuredBuffer<int> results, uint count)
{
    int value = values[at.x];
    uint lane = WaveGetLaneIndex();
    uint4 odd = WaveActiveBallot((value & 1) != 0);
    results[at.x] = WaveActiveSum(value);
    results[count + at.x] = WaveActiveMax(value);
    results[2 * count + at.x] = WavePrefixSum(value);
    results[3 * count + at.x] = WaveReadLaneAt(value, int(31 - lane));
    results[4 * count + at.x] = int(odd.x);
    results[5 * count + at.x] = WaveActiveAnyTrue(value > 90) ? 1 : 0;
    results[6 * count + at.x] = WaveReadLaneFirst(value);
    // Half of the wave takes part.
    results[7 * count + at.x] = lane < 16 ? WaveActiveSum(value) : 0;
}

struct Particle
{
    float3 at;
    float mass;
    int2 cell;
}

[shader("compute")]
[numthreads(32, 1, 1)]
void move(uint3 at : SV_DispatchThreadID, RWStructuredBuffer<Particle> particles, uniform float3 by, uniform uint count)
{
    if (at.x >= count)
        return;
    Particle particle = particles[at.x];
    particle.at += by * particle.mass;
    particle.cell = int2(floor(particle.at.xy * 4.0));
    particles[at.x] = particle;
}

[shader("compute")]
[numthreads(32, 1, 1)]
void swap_bytes(uint3 at : SV_DispatchThreadID, ByteAddressBuffer from, RWByteAddressBuffer to, uint count)
{
    if (at.x < count)
    {
        uint2 pair = from.Load2(at.x * 8);
        to.Store2(at.x * 8, pair.yx);
    }
}

[shader("compute")]
[numthreads(32, 1, 1)]
void through_pointers(uint3 at : SV_DispatchThreadID, uniform float* from, uniform float* to, uniform uint count)
{
    if (at.x < count)
        to[count - 1 - at.x] = from[at.x] * 2.0;
}

[shader("compute")]
[numthreads(8, 8, 1)]
void read_texture(uint3 at : SV_DispatchThreadID, Texture2D<float4> picture, SamplerState sampler, RWStructuredBuffer<float4> results, uint2 size)
{
    if (any(at.xy >= size))
        return;
    float2 place = (float2(at.xy) + 0.5) / float2(size);
    results[at.y * size.x + at.x] = picture.SampleLevel(sampler, place, 0.0);
}

[shader("compute")]
[numthreads(8, 8, 1)]
void write_texture(uint3 at : SV_DispatchThreadID, RWTexture2D<float4> picture, uint2 size)
{
    if (all(at.xy < size))
        picture[at.xy] = picture[at.xy] * 2.0 + float4(at.x, at.y, 0.0, 1.0);
}

[shader("compute")]
[numthreads(32, 1, 1)]
void read_volume(uint3 at : SV_DispatchThreadID, Texture3D<float> volume, SamplerState sampler, StructuredBuffer<float3> places, RWStructuredBuffer<float> results)
{
    results[at.x] = volume.SampleLevel(sampler, places[at.x], 0.0);
}
"""


@pytest.fixture(scope="session")
def kernel(device):
    module = device.load_module_from_source("kernels", KERNELS)

    def of(name):
        return device.create_compute_kernel(device.link_program([module], [module.entry_point(name)]))

    return of


def buffer_of(device, values):
    usage = slangpy.BufferUsage.shader_resource | slangpy.BufferUsage.unordered_access
    return device.create_buffer(size=values.nbytes, struct_size=values.itemsize, usage=usage, data=values.reshape(-1).view(numpy.uint8))


def test_atomics(kernel, device):
    values = RANDOM.integers(0, 2**31, 20_000, dtype=numpy.uint32)
    bins = buffer_of(device, numpy.zeros(16, numpy.uint32))
    kernel("histogram").dispatch([values.size, 1, 1], values=buffer_of(device, values), bins=bins, count=values.size)
    numpy.testing.assert_array_equal(bins.to_numpy().view(numpy.uint32), numpy.bincount(values % 16, minlength=16))


def test_shared_memory(kernel, device):
    values = RANDOM.integers(0, 100, (50, 128)).astype(numpy.float32)
    sums = buffer_of(device, numpy.zeros(50, numpy.float32))
    kernel("sum").dispatch([values.size, 1, 1], values=buffer_of(device, values), sums=sums)
    numpy.testing.assert_array_equal(sums.to_numpy().view(numpy.float32), values.sum(1))


def test_waves(kernel, device):
    values = RANDOM.integers(-100, 100, (16, 32), dtype=numpy.int32)
    results = buffer_of(device, numpy.zeros(8 * values.size, numpy.int32))
    kernel("waves").dispatch([values.size, 1, 1], values=buffer_of(device, values), results=results, count=values.size)
    found = results.to_numpy().view(numpy.int32).reshape(8, 16, 32)
    odd = ((values & 1).astype(numpy.uint32) << numpy.arange(32, dtype=numpy.uint32)).sum(1, dtype=numpy.uint32)
    of_waves = [values.sum(1), values.max(1), None, None, odd.view(numpy.int32), (values > 90).any(1), values[:, 0]]
    expected = [None if each is None else numpy.repeat(each[:, None], 32, 1) for each in of_waves]
    expected[2] = values.cumsum(1) - values
    expected[3] = values[:, ::-1]
    expected.append(numpy.where(numpy.arange(32) < 16, values[:, :16].sum(1)[:, None], 0))
    numpy.testing.assert_array_equal(found, numpy.stack(expected))


def test_buffers_of_structs(kernel, device):
    kind = numpy.dtype([("at", numpy.float32, 3), ("mass", numpy.float32), ("cell", numpy.int32, 2)])
    particles = numpy.zeros(100, kind)
    particles["at"], particles["mass"] = floats(100, 3), floats(100)
    buffer = buffer_of(device, particles)
    kernel("move").dispatch([100, 1, 1], particles=buffer, by=slangpy.float3(1, 2, 3), count=100)
    found = buffer.to_numpy().view(kind)
    at = particles["at"] + numpy.float32([1, 2, 3]) * particles["mass"][:, None]
    close(found["at"], at)
    numpy.testing.assert_array_equal(found["cell"], numpy.floor(found["at"][:, :2] * 4))
    numpy.testing.assert_array_equal(found["mass"], particles["mass"])


def test_buffers_of_bytes(kernel, device):
    values = RANDOM.integers(0, 2**31, (77, 2), dtype=numpy.uint32)
    to = buffer_of(device, numpy.zeros_like(values))
    kernel("swap_bytes").dispatch([77, 1, 1], **{"from": buffer_of(device, values), "to": to, "count": 77})
    numpy.testing.assert_array_equal(to.to_numpy().view(numpy.uint32).reshape(77, 2), values[:, ::-1])


def test_pointers(kernel, device):
    values = floats(99)
    source, to = buffer_of(device, values), buffer_of(device, numpy.zeros_like(values))
    places = {"from": source.device_address, "to": to.device_address}
    kernel("through_pointers").dispatch([99, 1, 1], count=99, **places)
    numpy.testing.assert_array_equal(to.to_numpy().view(numpy.float32), values[::-1] * 2)


def texture_of(device, values, **more):
    usage = slangpy.TextureUsage.shader_resource | slangpy.TextureUsage.unordered_access
    return device.create_texture(usage=usage, data=values, **more)


def sampler_of(device, filtering, address):
    filters = dict.fromkeys(["min_filter", "mag_filter", "mip_filter"], filtering)
    return device.create_sampler(**filters, **dict.fromkeys(["address_u", "address_v", "address_w"], address))


def between(values, places, wrapped):
    """What is between the points of a regular grid, the last of whose axes holds channels, at places from 0 to 1."""
    size = numpy.array(values.shape[:-1])
    at = places * size - 0.5
    low = numpy.floor(at).astype(int)
    part = at - low
    total = 0
    for corner in numpy.ndindex(*([2] * len(size))):
        place = low + numpy.array(corner)
        place = place % size if wrapped else numpy.clip(place, 0, size - 1)
        weight = numpy.prod(numpy.where(corner, part, 1 - part), axis=-1)
        total = total + values[tuple(numpy.moveaxis(place, -1, 0))] * weight[..., None]
    return total


@pytest.mark.parametrize("address", ["wrap", "clamp_to_edge"])
@pytest.mark.parametrize("filtering", ["point", "linear"])
def test_samplers(filtering, address, kernel, device):
    picture = floats(12, 20, 4)
    # On CUDA a texture has its sampler with it, and the one that a kernel is given is not read.
    sampler = sampler_of(device, slangpy.TextureFilteringMode[filtering], slangpy.TextureAddressingMode[address])
    texture = texture_of(device, picture, sampler=sampler, format=slangpy.Format.rgba32_float, width=20, height=12)
    results = buffer_of(device, numpy.zeros((25, 33, 4), numpy.float32))
    size = slangpy.uint2(33, 25)
    kernel("read_texture").dispatch([33, 25, 1], picture=texture, sampler=sampler, results=results, size=size)
    found = results.to_numpy().view(numpy.float32).reshape(25, 33, 4)
    places = numpy.stack(numpy.meshgrid((numpy.arange(25) + 0.5) / 25, (numpy.arange(33) + 0.5) / 33, indexing="ij"), -1)
    if filtering == "point":
        rows, columns = numpy.moveaxis(numpy.floor(places * [12, 20]).astype(int), -1, 0)
        numpy.testing.assert_array_equal(found, picture[rows, columns])
    else:
        # Weights have eight bits after the point.
        close(found, between(picture, places, address == "wrap"), 1 / 128)


def test_textures_of_three_dimensions(kernel, device):
    volume, places = floats(8, 9, 10), floats(64, 3)
    sampler = sampler_of(device, slangpy.TextureFilteringMode.linear, slangpy.TextureAddressingMode.clamp_to_edge)
    shape = {"type": slangpy.TextureType.texture_3d, "width": 10, "height": 9, "depth": 8}
    texture = texture_of(device, volume, sampler=sampler, format=slangpy.Format.r32_float, **shape)
    results = buffer_of(device, numpy.zeros(64, numpy.float32))
    bound = {"volume": texture, "sampler": sampler, "places": buffer_of(device, places), "results": results}
    kernel("read_volume").dispatch([64, 1, 1], **bound)
    close(results.to_numpy().view(numpy.float32), between(volume[..., None], places[:, ::-1], False)[:, 0], 1 / 64)


def test_writing_to_textures(kernel, device):
    picture = floats(12, 20, 4)
    texture = texture_of(device, picture, format=slangpy.Format.rgba32_float, width=20, height=12)
    kernel("write_texture").dispatch([20, 12, 1], picture=texture, size=slangpy.uint2(20, 12))
    rows, columns = numpy.mgrid[0:12, 0:20]
    close(texture.to_numpy(), picture * 2 + numpy.stack([columns, rows, rows * 0, rows * 0 + 1], -1))
