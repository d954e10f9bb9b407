// Forms of texture instructions that CUDA C++ has no function for: offsets, whole numbers with levels, results as halves, queries of levels, and
// gathering of each component.
#include "sweep.h"

enum { COUNT = 2048, SIZE = 8 };

#define RESULT : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
#define KERNEL(name, instruction, ...)                                                                              \
    __global__ void name(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {                   \
        THREAD(count);                                                                                              \
        float4 place = at[thread];                                                                                  \
        int x = (int)floorf(place.x), y = (int)floorf(place.y), z = (int)floorf(place.z), w = (int)floorf(place.w); \
        uint4 got = make_uint4(0, 0, 0, 0);                                                                         \
        asm(instruction __VA_ARGS__);                                                                               \
        seen[thread] = got;                                                                                         \
        (void)x, (void)y, (void)z, (void)w;                                                                         \
    }
#define FLOATS "l"(texture), "f"(place.x), "f"(place.y), "f"(place.z), "f"(place.w)
#define WHOLES "l"(texture), "r"(x), "r"(y), "r"(z), "r"(w)

KERNEL(offset1, "tex.1d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5}], {3};", RESULT : FLOATS)
KERNEL(offset2, "tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {7, -8};", RESULT : FLOATS)
KERNEL(offset3, "tex.3d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], {1, -1, 2, 0};", RESULT : FLOATS)
KERNEL(offset_layers, "tex.a2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%8, %5, %6, %6}], {-2, 5};", RESULT : "l"(texture), "f"(place.x), "f"(place.y), "f"(place.z), "r"(w))
KERNEL(offset_level, "tex.level.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7, {1, -2};", RESULT : FLOATS)
KERNEL(offset_gather, "tld4.b.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {2, -3};", RESULT : FLOATS)
KERNEL(whole2, "tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];", RESULT : WHOLES)
KERNEL(whole2_offset, "tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}], {1, -2};", RESULT : WHOLES)
KERNEL(whole3, "tex.3d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];", RESULT : WHOLES)
KERNEL(whole_layers, "tex.a2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%8, %5, %6, %6}];", RESULT : WHOLES)
KERNEL(whole_level, "tex.level.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;", RESULT : WHOLES)
KERNEL(gather_r, "tld4.r.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", RESULT : FLOATS)
KERNEL(gather_g, "tld4.g.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", RESULT : FLOATS)
KERNEL(gather_b, "tld4.b.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", RESULT : FLOATS)
KERNEL(gather_a, "tld4.a.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", RESULT : FLOATS)
KERNEL(pairs, "tex.2d.v2.f16x2.f32 {%0, %1}, [%2, {%3, %4}];", : "=r"(got.x), "=r"(got.y) : FLOATS)
KERNEL(base, "tex.base.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", RESULT : FLOATS)
KERNEL(resident, "{.reg .pred there; tex.2d.v4.f32.f32 {%0, %1, %2, %3}|there, [%4, {%5, %6}]; selp.b32 %3, 1, 0, there;}", RESULT : FLOATS)
KERNEL(level_width, "txq.level.width.b32 %0, [%1], %2;", : "=r"(got.x) : "l"(texture), "r"(x))
KERNEL(level_height, "txq.level.height.b32 %0, [%1], %2;", : "=r"(got.x) : "l"(texture), "r"(x))
KERNEL(level_depth, "txq.level.depth.b32 %0, [%1], %2;", : "=r"(got.x) : "l"(texture), "r"(x))
KERNEL(kind, "{.reg .pred is; istypep.texref is, %1; selp.b32 %0, 1, 0, is;}", : "=r"(got.x) : "l"(texture))

int main() {
    float4 places[COUNT];
    for (float4 &place : places) place = make_float4(between(-6, SIZE + 6), between(-6, SIZE + 6), between(-2, 5), between(-1, 5));
    float4 *at = on_device(places, COUNT);
    static float raw[2 * SIZE * SIZE * SIZE * 4];
    for (float &value : raw) value = (int)(next_random() % 4001 - 2000) / 8.0f;
    cudaChannelFormatDesc format = channels(4, 32, cudaChannelFormatKindFloat);
    cudaArray_t line = filled(format, make_cudaExtent(SIZE, 0, 0), 0, raw), plane = filled(format, make_cudaExtent(SIZE, SIZE, 0), cudaArrayTextureGather, raw);
    cudaArray_t box = filled(format, make_cudaExtent(SIZE, SIZE, SIZE), 0, raw), layers = filled(format, make_cudaExtent(SIZE, SIZE, 3), cudaArrayLayered, raw);
    cudaMipmappedArray_t whole = pyramid(format, make_cudaExtent(SIZE, SIZE, 0), 3, 0, raw);
    for (auto address : {cudaAddressModeClamp, cudaAddressModeBorder}) {
        for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
            printf("address mode %d, filter %d\n", address, filter);
            cudaTextureDesc how = sampled(address, filter, false);
            for (int channel = 0; channel < 4; channel++) how.borderColor[channel] = 1000 * (channel + 1);
            cudaTextureObject_t on_line = texture_of(line, how), on_plane = texture_of(plane, how), in_box = texture_of(box, how), on_layers = texture_of(layers, how);
            how.normalizedCoords = true;
            how.maxMipmapLevelClamp = 1;
            cudaTextureObject_t on_levels = texture_of(whole, how);
            how.minMipmapLevelClamp = 1;
            cudaTextureObject_t from_level = texture_of(whole, how);
#define SWEEP(name, object) sweep(#name, name, object, at, COUNT)
            SWEEP(offset1, on_line);
            SWEEP(offset2, on_plane);
            SWEEP(offset3, in_box);
            SWEEP(offset_layers, on_layers);
            SWEEP(offset_level, on_levels);
            SWEEP(offset_gather, on_plane);
            SWEEP(whole2, on_plane);
            SWEEP(whole2_offset, on_plane);
            SWEEP(whole3, in_box);
            SWEEP(whole_layers, on_layers);
            SWEEP(whole_level, on_levels);
            SWEEP(gather_r, on_plane);
            SWEEP(gather_g, on_plane);
            SWEEP(gather_b, on_plane);
            SWEEP(gather_a, on_plane);
            SWEEP(pairs, on_plane);
            SWEEP(base, on_levels);
            SWEEP(base, from_level);
            SWEEP(resident, on_plane);
            SWEEP(level_width, on_levels);
            SWEEP(level_height, on_levels);
            SWEEP(level_depth, in_box);
            SWEEP(kind, on_plane);
        }
    }
    LAST();
    return 0;
}
