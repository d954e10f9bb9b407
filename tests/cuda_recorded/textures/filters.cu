// Interpolation in every format that can be interpolated, in one to three dimensions.
#include "sample.h"
#include <cuda_fp16.h>

enum { COUNT = 4096, SIZE = 16 };

int main() {
    float4 places[COUNT], scaled[COUNT];
    for (int index = 0; index < COUNT; index++) {
        places[index] = make_float4(between(-1, SIZE + 1), between(-1, SIZE + 1), between(-1, SIZE + 1), 0);
        scaled[index] = make_float4(places[index].x / SIZE, places[index].y / SIZE, places[index].z / SIZE, 0);
    }
    float4 *at = on_device(places, COUNT), *normalised = on_device(scaled, COUNT);
    static uint32_t raw[SIZE * SIZE * SIZE * 4];
    struct {
        const char *name;
        int bits;
        cudaChannelFormatKind kind;
    } formats[] = {{"u8", 8, cudaChannelFormatKindUnsigned}, {"s8", 8, cudaChannelFormatKindSigned},   {"u16", 16, cudaChannelFormatKindUnsigned},
                   {"s16", 16, cudaChannelFormatKindSigned}, {"f16", 16, cudaChannelFormatKindFloat}, {"f32", 32, cudaChannelFormatKindFloat}};
    char name[64];
    for (auto &format : formats) {
        for (int index = 0; index < SIZE * SIZE * SIZE * 4; index++) {
            uint32_t value = next_random();
            // Floats are whole eighths: sums of them over two slices are exact.
            float number = (int)(value % 4001 - 2000) / 8.0f;
            if (format.kind != cudaChannelFormatKindFloat) {
                if (format.bits == 8) ((uint8_t *)raw)[index] = value;
                else ((uint16_t *)raw)[index] = value;
            } else if (format.bits == 16) {
                ((__half *)raw)[index] = __float2half(number);
            } else {
                ((float *)raw)[index] = number;
            }
        }
        for (int count : {1, 4}) {
            cudaChannelFormatDesc channel = channels(count, format.bits, format.kind);
            cudaArray_t arrays[3] = {filled(channel, make_cudaExtent(SIZE, 0, 0), 0, raw), filled(channel, make_cudaExtent(SIZE, SIZE, 0), 0, raw),
                                     filled(channel, make_cudaExtent(SIZE, SIZE, SIZE), 0, raw)};
            void (*kernels[3])(cudaTextureObject_t, const float4 *, uint4 *, int) = {line, plane, box};
            for (int dimensions = 1; dimensions <= 3; dimensions++) {
                for (bool scale : {false, true}) {
                    for (auto address : {cudaAddressModeClamp, cudaAddressModeWrap, cudaAddressModeBorder}) {
                        cudaTextureDesc how = sampled(address, cudaFilterModeLinear, scale);
                        if (format.kind != cudaChannelFormatKindFloat) how.readMode = cudaReadModeNormalizedFloat;
                        for (int channel = 0; channel < 4; channel++) how.borderColor[channel] = 0.25f * (channel + 1);
                        snprintf(name, sizeof name, "%sx%d, %d dimensions, normalised %d, address mode %d", format.name, count, dimensions, scale, address);
                        sweep(name, kernels[dimensions - 1], texture_of(arrays[dimensions - 1], how), scale ? normalised : at, COUNT);
                    }
                }
            }
        }
    }
    // Many random floats in one and two dimensions.
    static float floats[SIZE * SIZE * 4];
    for (float &value : floats) value = between(-1, 1) * between(0, 4) * between(0, 4);
    cudaTextureDesc how = sampled(cudaAddressModeClamp, cudaFilterModeLinear, false);
    sweep("random floats, one dimension", line, texture_of(filled(channels(4, 32, cudaChannelFormatKindFloat), make_cudaExtent(SIZE, 0, 0), 0, floats), how), at, COUNT);
    sweep("random floats, two dimensions", plane, texture_of(filled(channels(4, 32, cudaChannelFormatKindFloat), make_cudaExtent(SIZE, SIZE, 0), 0, floats), how), at, COUNT);
    // Every byte as sRGB.
    uint8_t colours[256 * 4];
    float4 middles[256];
    for (int index = 0; index < 256; index++) {
        memset(colours + 4 * index, index, 4);
        middles[index] = make_float4(index + 0.5f, 0, 0, 0);
    }
    how = sampled(cudaAddressModeClamp, cudaFilterModePoint, false);
    how.readMode = cudaReadModeNormalizedFloat;
    how.sRGB = 1;
    cudaArray_t bytes = filled(channels(4, 8, cudaChannelFormatKindUnsigned), make_cudaExtent(256, 0, 0), 0, colours);
    sweep("sRGB", line, texture_of(bytes, how), on_device(middles, 256), 256);
    LAST();
    return 0;
}
