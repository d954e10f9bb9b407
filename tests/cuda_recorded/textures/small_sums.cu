// Means of halves and of colours that come out smaller than the smallest normal half.
#include "sample.h"
#include <cuda_fp16.h>

enum { COUNT = 8192, SIZE = 32, DEPTH = 4 };

int main() {
    static float4 places[COUNT];
    for (float4 &place : places) place = make_float4(between(0, SIZE), between(0, SIZE), between(0, DEPTH), 0);
    float4 *at = on_device(places, COUNT);
    void (*kernels[3])(cudaTextureObject_t, const float4 *, uint4 *, int) = {line, plane, box};
    cudaExtent sizes[3] = {make_cudaExtent(SIZE, 0, 0), make_cudaExtent(SIZE, SIZE, 0), make_cudaExtent(SIZE, SIZE, DEPTH)};
    char name[64];
    // Halves with exponents from that of denormals up to `top`, of one sign or of both: without -0, and not between two slices (see `blend` in crates/numerics).
    static uint16_t halves[SIZE * SIZE * DEPTH * 4];
    cudaTextureDesc how = sampled(cudaAddressModeClamp, cudaFilterModeLinear, false);
    for (int top : {0, 1, 4, 9}) {
        for (bool sign : {false, true}) {
            for (uint16_t &half : halves) {
                uint32_t exponent = next_random() % (top + 1), fraction = next_random() & 0x3ff;
                half = exponent << 10 | fraction >> next_random() % 11;
                if (sign && half) half |= (next_random() & 1) << 15;
            }
            for (int dimensions = 1; dimensions <= (sign ? 2 : 3); dimensions++) {
                cudaArray_t array = filled(channels(4, 16, cudaChannelFormatKindFloat), sizes[dimensions - 1], 0, halves);
                snprintf(name, sizeof name, "f16, exponents to %d, signs %d, %d dimensions", top, sign, dimensions);
                sweep(name, kernels[dimensions - 1], texture_of(array, how), at, COUNT);
            }
        }
    }
    // Dark colours of sRGB.
    how.readMode = cudaReadModeNormalizedFloat;
    how.sRGB = 1;
    static uint8_t colours[SIZE * SIZE * DEPTH * 4];
    for (int largest : {1, 3, 12}) {
        for (uint8_t &colour : colours) colour = next_random() % (largest + 1);
        for (int dimensions = 1; dimensions <= 2; dimensions++) {
            cudaArray_t array = filled(channels(4, 8, cudaChannelFormatKindUnsigned), sizes[dimensions - 1], 0, colours);
            snprintf(name, sizeof name, "sRGB, to %d, %d dimensions", largest, dimensions);
            sweep(name, kernels[dimensions - 1], texture_of(array, how), at, COUNT);
        }
    }
    LAST();
    return 0;
}
