// What textures of floats answer to instructions that give a depth to compare with beside the place: nothing is compared.
#include "sweep.h"

enum { COUNT = 2048, SIZE = 8 };

#define KERNEL(name, instruction, ...)                                                                         \
    __global__ void name(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {              \
        THREAD(count);                                                                                         \
        float4 place = at[thread];                                                                             \
        int layer = (int)floorf(place.z);                                                                      \
        uint4 got = make_uint4(0, 0, 0, 0);                                                                    \
        asm(instruction : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)                                   \
            : "l"(texture), "f"(place.x), "f"(place.y), "f"(place.z), "f"(place.w), "r"(layer));                    \
        seen[thread] = got;                                                                                    \
    }

KERNEL(plane, "tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %8;")
KERNEL(line, "tex.1d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5}], %8;")
KERNEL(shifted, "tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {1, -2}, %8;")
KERNEL(level, "tex.level.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7, %8;")
KERNEL(gather, "tld4.r.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %8;")
KERNEL(layers, "tex.a2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%9, %5, %6, %6}], %8;")
KERNEL(cube, "tex.cube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;")
KERNEL(words, "tex.2d.v4.u32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %8;")

int main() {
    float4 places[COUNT];
    for (float4 &place : places) place = make_float4(between(-2, SIZE + 2), between(-2, SIZE + 2), between(-2, 5), between(-3, 3));
    float4 *at = on_device(places, COUNT);
    static float raw[6 * SIZE * SIZE * 4];
    for (float &value : raw) value = (int)(next_random() % 4001 - 2000) / 800.0f;
    for (int count : {1, 4}) {
        cudaChannelFormatDesc format = channels(count, 32, cudaChannelFormatKindFloat);
        cudaArray_t row = filled(format, make_cudaExtent(SIZE, 0, 0), 0, raw);
        cudaArray_t flat = filled(format, make_cudaExtent(SIZE, SIZE, 0), cudaArrayTextureGather, raw);
        cudaArray_t stack = filled(format, make_cudaExtent(SIZE, SIZE, 3), cudaArrayLayered, raw), faces = filled(format, make_cudaExtent(SIZE, SIZE, 6), cudaArrayCubemap, raw);
        cudaMipmappedArray_t levels = pyramid(format, make_cudaExtent(SIZE, SIZE, 0), 3, 0, raw);
        for (auto address : {cudaAddressModeClamp, cudaAddressModeBorder}) {
            for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
                printf("channels %d, address mode %d, filter %d\n", count, address, filter);
                cudaTextureDesc how = sampled(address, filter, false);
                for (int channel = 0; channel < 4; channel++) how.borderColor[channel] = channel + 1;
                cudaTextureObject_t on_line = texture_of(row, how), on_flat = texture_of(flat, how), on_stack = texture_of(stack, how);
                how.normalizedCoords = true;
                how.maxMipmapLevelClamp = 2;
                cudaTextureObject_t on_faces = texture_of(faces, how), on_levels = texture_of(levels, how);
#define SWEEP(name, object) sweep(#name, name, object, at, COUNT)
                SWEEP(plane, on_flat);
                SWEEP(line, on_line);
                SWEEP(shifted, on_flat);
                SWEEP(level, on_levels);
                SWEEP(gather, on_flat);
                SWEEP(layers, on_stack);
                SWEEP(cube, on_faces);
                SWEEP(words, on_flat);
            }
        }
    }
    LAST();
    return 0;
}
