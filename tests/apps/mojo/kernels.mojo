"""Kernels of Mojo on the device. The argument says which; "held" is printed where all that it computes is right."""
from std.atomic import Atomic
from std.math import exp, sin, sqrt
from std.memory import stack_allocation
from std.sys import argv
from std.testing import assert_almost_equal, assert_equal, assert_true

from max.gpu import WARP_SIZE, barrier, block_dim, block_idx, global_idx, grid_dim, lane_id, thread_idx
from max.gpu.compute.mma import mma
from max.gpu.host import DeviceContext
from max.gpu.memory import AddressSpace
from max.gpu.primitives import block, warp

comptime Numbers = MutPointer[Float32, MutAnyOrigin]
comptime Counts = MutPointer[Int32, MutAnyOrigin]
comptime SIDE = 16
comptime BINS = 64


def scale(numbers: Numbers, count: Int32, factor: Float32):
    var i = global_idx.x
    if Int32(i) < count:
        numbers[unsafe_offset=i] = numbers[unsafe_offset=i] * factor + 1


def test_scale(context: DeviceContext) raises:
    var count = 10_000
    var numbers = context.enqueue_create_buffer[DType.float32](count)
    with numbers.map_to_host() as host:
        for i in range(count):
            host[i] = Float32(i)
    context.enqueue_function[scale](numbers, Int32(count), Float32(3), grid_dim=(count + 255) // 256, block_dim=256)
    with numbers.map_to_host() as host:
        for i in range(count):
            assert_equal(host[i], Float32(i) * 3 + 1)


def curve(numbers: Numbers):
    var i = global_idx.x
    var x = numbers[unsafe_offset=i]
    numbers[unsafe_offset=i] = exp(-x) * sin(3 * x) + sqrt(x)


def test_functions(context: DeviceContext) raises:
    var numbers = context.enqueue_create_buffer[DType.float32](1024)
    with numbers.map_to_host() as host:
        for i in range(1024):
            host[i] = Float32(i) / 256
    context.enqueue_function[curve](numbers, grid_dim=4, block_dim=256)
    with numbers.map_to_host() as host:
        for i in range(1024):
            var x = Float32(i) / 256
            assert_almost_equal(host[i], exp(-x) * sin(3 * x) + sqrt(x), atol=1e-5)


def product(left: Numbers, right: Numbers, result: Numbers, size: Int32):
    var tile_left = stack_allocation[SIDE * SIDE, Float32, address_space=AddressSpace.SHARED]()
    var tile_right = stack_allocation[SIDE * SIDE, Float32, address_space=AddressSpace.SHARED]()
    var n = Int(size)
    var x = Int(thread_idx.x)
    var y = Int(thread_idx.y)
    var row = Int(block_idx.y) * SIDE + y
    var column = Int(block_idx.x) * SIDE + x
    var sum = Float32(0)
    for tile in range(0, n, SIDE):
        tile_left[unsafe_offset=y * SIDE + x] = left[unsafe_offset=row * n + tile + x]
        tile_right[unsafe_offset=y * SIDE + x] = right[unsafe_offset=(tile + y) * n + column]
        barrier()
        comptime for k in range(SIDE):
            sum += tile_left[unsafe_offset=y * SIDE + k] * tile_right[unsafe_offset=k * SIDE + x]
        barrier()
    result[unsafe_offset=row * n + column] = sum


def test_product(context: DeviceContext) raises:
    comptime n = 64
    var left = context.enqueue_create_buffer[DType.float32](n * n)
    var right = context.enqueue_create_buffer[DType.float32](n * n)
    var result = context.enqueue_create_buffer[DType.float32](n * n)
    with left.map_to_host() as host:
        for i in range(n * n):
            host[i] = Float32(i % 7)
    with right.map_to_host() as host:
        for i in range(n * n):
            host[i] = Float32(i % 5)
    context.enqueue_function[product](left, right, result, Int32(n), grid_dim=(n // SIDE, n // SIDE), block_dim=(SIDE, SIDE))
    with result.map_to_host() as host:
        for row in range(n):
            for column in range(n):
                var sum = Float32(0)
                for k in range(n):
                    sum += Float32((row * n + k) % 7) * Float32((k * n + column) % 5)
                assert_equal(host[row * n + column], sum)


def lanes(numbers: Numbers, sums: Numbers):
    var lane = Int(lane_id())
    var value = numbers[unsafe_offset=lane]
    sums[unsafe_offset=lane] = warp.sum(value)
    sums[unsafe_offset=WARP_SIZE + lane] = warp.max(value)
    sums[unsafe_offset=2 * WARP_SIZE + lane] = warp.prefix_sum(value)
    sums[unsafe_offset=3 * WARP_SIZE + lane] = warp.shuffle_xor(value, 5)
    sums[unsafe_offset=4 * WARP_SIZE + lane] = warp.broadcast(value)


def test_warps(context: DeviceContext) raises:
    var numbers = context.enqueue_create_buffer[DType.float32](WARP_SIZE)
    var sums = context.enqueue_create_buffer[DType.float32](5 * WARP_SIZE)
    with numbers.map_to_host() as host:
        for i in range(WARP_SIZE):
            host[i] = Float32((i * 7) % 32)
    context.enqueue_function[lanes](numbers, sums, grid_dim=1, block_dim=WARP_SIZE)
    with sums.map_to_host() as host:
        var running = Float32(0)
        for i in range(WARP_SIZE):
            running += Float32((i * 7) % 32)
            assert_equal(host[i], 496)
            assert_equal(host[WARP_SIZE + i], 31)
            assert_equal(host[2 * WARP_SIZE + i], running)
            assert_equal(host[3 * WARP_SIZE + i], Float32(((i ^ 5) * 7) % 32))
            assert_equal(host[4 * WARP_SIZE + i], 0)


def blocks(numbers: Numbers, sums: Numbers):
    var value = numbers[unsafe_offset=global_idx.x]
    var sum = block.sum[block_size=256](value)
    if thread_idx.x == 0:
        sums[unsafe_offset=block_idx.x] = sum


def test_blocks(context: DeviceContext) raises:
    var numbers = context.enqueue_create_buffer[DType.float32](1024)
    var sums = context.enqueue_create_buffer[DType.float32](4)
    with numbers.map_to_host() as host:
        for i in range(1024):
            host[i] = Float32(i)
    context.enqueue_function[blocks](numbers, sums, grid_dim=4, block_dim=256)
    with sums.map_to_host() as host:
        for i in range(4):
            assert_equal(host[i], Float32(256 * 256 * i + 255 * 128))


def histogram(numbers: Counts, bins: Counts, count: Int32):
    var near = stack_allocation[BINS, Int32, address_space=AddressSpace.SHARED]()
    if thread_idx.x < BINS:
        near[unsafe_offset=thread_idx.x] = 0
    barrier()
    var i = Int(global_idx.x)
    while i < Int(count):
        _ = Atomic.fetch_add(near.unsafe_offset(Int(numbers[unsafe_offset=i])), 1)
        i += Int(grid_dim.x * block_dim.x)
    barrier()
    if thread_idx.x < BINS:
        _ = Atomic.fetch_add(bins.unsafe_offset(Int(thread_idx.x)), near[unsafe_offset=thread_idx.x])


def test_histogram(context: DeviceContext) raises:
    var count = 5000
    var numbers = context.enqueue_create_buffer[DType.int32](count)
    var bins = context.enqueue_create_buffer[DType.int32](BINS)
    bins.enqueue_fill(0)
    with numbers.map_to_host() as host:
        for i in range(count):
            host[i] = Int32(i * i % BINS)
    context.enqueue_function[histogram](numbers, bins, Int32(count), grid_dim=3, block_dim=128)
    with bins.map_to_host() as host:
        for bin in range(BINS):
            var expected = 0
            for i in range(count):
                if i * i % BINS == bin:
                    expected += 1
            assert_equal(host[bin], Int32(expected))


def matrix(result: Numbers):
    var lane = Int(lane_id())
    var left = SIMD[DType.float16, 8](0)
    var right = SIMD[DType.float16, 4](0)
    # Row r of the left matrix has r, column c of the right one c, in all sixteen places.
    comptime for i in range(8):
        left[i] = Float16(lane // 4 + (8 if i % 4 >= 2 else 0))
    comptime for i in range(4):
        right[i] = Float16(lane // 4)
    var sum = SIMD[DType.float32, 4](0)
    mma(sum, left, right, sum)
    comptime for i in range(4):
        result[unsafe_offset=(lane // 4 + i // 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i]


def test_matrix(context: DeviceContext) raises:
    var result = context.enqueue_create_buffer[DType.float32](16 * 8)
    context.enqueue_function[matrix](result, grid_dim=1, block_dim=WARP_SIZE)
    with result.map_to_host() as host:
        for row in range(16):
            for column in range(8):
                assert_equal(host[row * 8 + column], Float32(16 * row * column))


def says(number: Int32):
    if thread_idx.x == 3:
        print("thread", thread_idx.x, "says", number)


def test_print(context: DeviceContext) raises:
    context.enqueue_function[says](Int32(42), grid_dim=1, block_dim=32)
    context.synchronize()


def test_copies(context: DeviceContext) raises:
    var first = context.enqueue_create_buffer[DType.float32](1000)
    var second = context.enqueue_create_buffer[DType.float32](1000)
    var host = context.enqueue_create_host_buffer[DType.float32](1000)
    context.synchronize()
    for i in range(1000):
        host[i] = Float32(i)
    context.enqueue_copy(first, host)
    context.enqueue_copy(second, first)
    for i in range(1000):
        host[i] = 0
    context.enqueue_copy(host, second)
    context.synchronize()
    for i in range(1000):
        assert_equal(host[i], Float32(i))


def main() raises:
    var context = DeviceContext()
    assert_true("warploom" in context.name())
    var name = String(argv()[1])
    if name == "scale":
        test_scale(context)
    elif name == "functions":
        test_functions(context)
    elif name == "product":
        test_product(context)
    elif name == "warps":
        test_warps(context)
    elif name == "blocks":
        test_blocks(context)
    elif name == "histogram":
        test_histogram(context)
    elif name == "matrix":
        test_matrix(context)
    elif name == "print":
        test_print(context)
    elif name == "copies":
        test_copies(context)
    else:
        raise Error("no kernel " + name)
    print("held")
