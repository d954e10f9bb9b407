// Surface instructions in every geometry, with every width and what they do outside; stores that convert, and reductions.
#include "sweep.h"
#include <vector>

enum { SIZE = 8, LAYERS = 3 };

#define OPERANDS "l"(surface), "r"(x), "r"(y), "r"(z), "r"(value)
#define KERNEL(name, text)                                                    \
    __global__ void name(cudaSurfaceObject_t surface, unsigned *seen) {       \
        int x = threadIdx.x - 2, y = (int)blockIdx.x - 2, z = (int)blockIdx.y - (gridDim.y > 1);                      \
        if (gridDim.x == 3 && y != 0) return;      \
        unsigned value = threadIdx.x + 100 * blockIdx.x + 10000 * blockIdx.y, got = 0; \
        asm volatile("{.reg .b16 h; .reg .b64 d; .reg .b32 e; " text "}" : "=r"(got) : OPERANDS); \
        seen[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = got; \
    }
#define BOTH(name, geometry, at)                                                             \
    KERNEL(name##_store_zero, "shl.b32 e, %2, 2; sust.b." geometry ".b32.zero [%1, " at "], %5; mov.u32 %0, 0;")   \
    KERNEL(name##_load_clamp, "shl.b32 e, %2, 2; suld.b." geometry ".b32.clamp %0, [%1, " at "];") \
    KERNEL(name##_load_zero, "shl.b32 e, %2, 2; suld.b." geometry ".b32.zero %0, [%1, " at "];")

BOTH(line, "1d", "{e}")
BOTH(plane, "2d", "{e, %3}")
BOTH(box, "3d", "{e, %3, %4, %4}")
BOTH(layered_line, "a1d", "{%4, e}")
BOTH(layered_plane, "a2d", "{%4, e, %3, %3}")
KERNEL(bytes, "cvt.u16.u32 h, %5; sust.b.2d.b8.zero [%1, {%2, %3}], h; suld.b.2d.b8.zero h, [%1, {%2, %3}]; cvt.u32.u16 %0, h;")
KERNEL(shorts, "shl.b32 e, %2, 1; cvt.u16.u32 h, %5; sust.b.2d.b16.zero [%1, {e, %3}], h; suld.b.2d.b16.zero h, [%1, {e, %3}]; cvt.u32.u16 %0, h;")
KERNEL(doubles, "shl.b32 e, %2, 3; cvt.u64.u32 d, %5; sust.b.2d.b64.zero [%1, {e, %3}], d; suld.b.2d.b64.zero d, [%1, {e, %3}]; cvt.u32.u64 %0, d;")
KERNEL(pairs, "shl.b32 e, %2, 3; sust.b.2d.v2.b32.zero [%1, {e, %3}], {%5, %4}; suld.b.2d.v2.b32.zero {%0, e}, [%1, {e, %3}]; xor.b32 %0, %0, e;")
KERNEL(fours, "shl.b32 e, %2, 4; sust.b.2d.v4.b32.zero [%1, {e, %3}], {%5, %4, %3, %2}; suld.b.2d.v4.b32.zero {%0, e, e, e}, [%1, {e, %3}]; xor.b32 %0, %0, e;")
KERNEL(add, "shl.b32 e, %2, 2; sured.b.add.2d.u32.clamp [%1, {e, %3}], %5; mov.u32 %0, 0;")
KERNEL(add_signed, "shl.b32 e, %2, 2; sured.b.add.2d.s32.zero [%1, {e, %3}], %5; mov.u32 %0, 0;")
KERNEL(add_wide, "shl.b32 e, %2, 3; mul.wide.u32 d, %5, 0x7fffffff; sured.b.add.2d.u64.clamp [%1, {e, %3}], d; mov.u32 %0, 0;")
KERNEL(least, "shl.b32 e, %2, 2; sured.b.min.2d.s32.clamp [%1, {e, %3}], %5; mov.u32 %0, 0;")
KERNEL(most, "shl.b32 e, %2, 2; sured.b.max.2d.u32.zero [%1, {e, %3}], %5; mov.u32 %0, 0;")
KERNEL(both, "shl.b32 e, %2, 2; sured.b.and.2d.b32.clamp [%1, {e, %3}], %5; mov.u32 %0, 0;")
KERNEL(either, "shl.b32 e, %2, 2; sured.b.or.2d.b32.clamp [%1, {e, %3}], %5; mov.u32 %0, 0;")
KERNEL(add_texels, "sured.p.add.2d.b32.clamp [%1, {%2, %3}], %5; mov.u32 %0, 0;")
KERNEL(least_texels, "sured.p.min.2d.b32.zero [%1, {%2, %3}], %5; mov.u32 %0, 0;")
KERNEL(add_in_box, "shl.b32 e, %2, 2; sured.b.add.3d.u32.zero [%1, {e, %3, %4, %4}], %5; mov.u32 %0, 0;")
KERNEL(add_on_line, "shl.b32 e, %2, 2; sured.b.add.1d.u32.zero [%1, {e}], %5; mov.u32 %0, 0;")
KERNEL(formatted, "sust.p.2d.b32.zero [%1, {%2, %3}], %5; mov.u32 %0, 0;")
KERNEL(formatted_pairs, "sust.p.2d.v2.b32.zero [%1, {%2, %3}], {%5, %4}; mov.u32 %0, 0;")
KERNEL(formatted_fours, "sust.p.2d.v4.b32.zero [%1, {%2, %3}], {%5, %4, %3, %2}; mov.u32 %0, 0;")
KERNEL(width, "suq.width.b32 %0, [%1];")
KERNEL(height, "suq.height.b32 %0, [%1];")
KERNEL(depth, "suq.depth.b32 %0, [%1];")

static void show(const char *name, void (*kernel)(cudaSurfaceObject_t, unsigned *), cudaChannelFormatDesc format, cudaExtent extent, unsigned flags) {
    size_t row = extent.width * (format.x + format.y + format.z + format.w) / 8, rows = (extent.height ? extent.height : 1) * (extent.depth ? extent.depth : 1);
    std::vector<uint32_t> host(row * rows / 4);
    for (size_t index = 0; index < host.size(); index++) host[index] = index * 77 + 0x01020304;
    cudaArray_t array = filled(format, extent, flags | cudaArraySurfaceLoadStore, host.data());
    unsigned *seen = zeros<unsigned>(12 * 12 * 6);
    // No two threads write one element: a row of the surface has a block, and a line the block whose row is 0.
    kernel<<<dim3(extent.height ? 12 : 3, extent.depth ? 6 : 1), extent.width + 4>>>(surface_of(array), seen);
    CALL(cudaDeviceSynchronize());
    std::vector<uint32_t> got(12 * 12 * 6);
    OK(cudaMemcpy(got.data(), seen, got.size() * 4, cudaMemcpyDeviceToHost));
    cudaMemcpy3DParms copy = {};
    copy.dstPtr = make_cudaPitchedPtr(host.data(), row, extent.width, extent.height ? extent.height : 1);
    copy.srcArray = array;
    copy.extent = make_cudaExtent(extent.width, extent.height ? extent.height : 1, extent.depth ? extent.depth : 1);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    printf("%s\n", name);
    show_words("  read", got.data(), got.size());
    show_words("  left", host.data(), host.size());
}

int main() {
    cudaExtent on_line = make_cudaExtent(SIZE, 0, 0), on_plane = make_cudaExtent(SIZE, SIZE, 0), in_box = make_cudaExtent(SIZE, SIZE, 4);
    cudaExtent on_lines = make_cudaExtent(SIZE, 0, LAYERS), on_planes = make_cudaExtent(SIZE, SIZE, LAYERS);
    auto word = channels(1, 32, cudaChannelFormatKindUnsigned), wide = channels(2, 32, cudaChannelFormatKindUnsigned);
    auto widest = channels(4, 32, cudaChannelFormatKindUnsigned), byte = channels(1, 8, cudaChannelFormatKindUnsigned);
    auto half = channels(1, 16, cudaChannelFormatKindUnsigned), real = channels(4, 32, cudaChannelFormatKindFloat);
#define SHOW_ALL(name, extent, flags)                      \
    show(#name "_load_clamp", name##_load_clamp, word, extent, flags); \
    show(#name "_load_zero", name##_load_zero, word, extent, flags);   \
    show(#name "_store_zero", name##_store_zero, word, extent, flags)
    SHOW_ALL(line, on_line, 0);
    SHOW_ALL(plane, on_plane, 0);
    SHOW_ALL(box, in_box, 0);
    SHOW_ALL(layered_line, on_lines, cudaArrayLayered);
    SHOW_ALL(layered_plane, on_planes, cudaArrayLayered);
#define SHOW_ONE(name, format, extent) show(#name, name, format, extent, 0)
    SHOW_ONE(bytes, byte, on_plane);
    SHOW_ONE(shorts, half, on_plane);
    SHOW_ONE(doubles, wide, on_plane);
    SHOW_ONE(pairs, wide, on_plane);
    SHOW_ONE(fours, widest, on_plane);
    SHOW_ONE(add, word, on_plane);
    SHOW_ONE(add_signed, word, on_plane);
    SHOW_ONE(add_wide, wide, on_plane);
    SHOW_ONE(least, word, on_plane);
    SHOW_ONE(most, word, on_plane);
    SHOW_ONE(both, word, on_plane);
    SHOW_ONE(either, word, on_plane);
    SHOW_ONE(add_texels, word, on_plane);
    SHOW_ONE(least_texels, word, on_plane);
    SHOW_ONE(add_in_box, word, in_box);
    SHOW_ONE(add_on_line, word, on_line);
    SHOW_ONE(formatted, word, on_plane);
    SHOW_ONE(formatted, byte, on_plane);
    SHOW_ONE(formatted_pairs, wide, on_plane);
    SHOW_ONE(formatted_fours, channels(4, 8, cudaChannelFormatKindUnsigned), on_plane);
    SHOW_ONE(formatted_fours, channels(4, 16, cudaChannelFormatKindSigned), on_plane);
    SHOW_ONE(formatted_fours, real, on_plane);
    for (auto kernel : {width, height, depth}) {
        show("size on a line", kernel, word, on_line, 0);
        show("size on a plane", kernel, word, on_plane, 0);
        show("size in a box", kernel, word, in_box, 0);
        show("size of layered lines", kernel, word, on_lines, cudaArrayLayered);
        show("size of layered planes", kernel, word, on_planes, cudaArrayLayered);
        show("size of a cube", kernel, word, make_cudaExtent(SIZE, SIZE, 6), cudaArrayCubemap);
    }
    LAST();
    return 0;
}
