// Mip levels: chosen by number, by the sampler's clamp and bias, and interpolated, for every shape that has them.
#include "sweep.h"

enum { COUNT = 2048, SIZE = 16, LEVELS = 5, LAYERS = 3 };

__global__ void line(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex1DLod<float4>(texture, at[thread].x, at[thread].w));
}
__global__ void plane(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex2DLod<float4>(texture, at[thread].x, at[thread].y, at[thread].w));
}
__global__ void box(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex3DLod<float4>(texture, at[thread].x, at[thread].y, at[thread].z, at[thread].w));
}
__global__ void layered_line(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex1DLayeredLod<float4>(texture, at[thread].x, thread % 5, at[thread].w));
}
__global__ void layered_plane(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex2DLayeredLod<float4>(texture, at[thread].x, at[thread].y, thread % 5, at[thread].w));
}
__global__ void cube(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(texCubemapLod<float4>(texture, at[thread].x - 0.5f, at[thread].y - 0.5f, at[thread].z - 0.5f, at[thread].w));
}
__global__ void cubes(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(texCubemapLayeredLod<float4>(texture, at[thread].x - 0.5f, at[thread].y - 0.5f, at[thread].z - 0.5f, thread % 4, at[thread].w));
}
__global__ void base(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex2D<float4>(texture, at[thread].x, at[thread].y));
}

int main() {
    float4 places[COUNT];
    for (float4 &place : places) place = make_float4(between(-0.25f, 1.25f), between(-0.25f, 1.25f), between(-0.25f, 1.25f), between(-1, 6));
    float4 *at = on_device(places, COUNT);
    static float raw[2 * SIZE * SIZE * SIZE * 4];
    for (float &value : raw) value = (int)(next_random() % 4001 - 2000) / 8.0f;
    cudaChannelFormatDesc format = channels(4, 32, cudaChannelFormatKindFloat);
    struct {
        const char *name;
        void (*kernel)(cudaTextureObject_t, const float4 *, uint4 *, int);
        cudaExtent extent;
        unsigned flags;
    } shapes[] = {
        {"1D", line, make_cudaExtent(SIZE, 0, 0), 0},
        {"2D", plane, make_cudaExtent(SIZE, SIZE, 0), 0},
        {"3D", box, make_cudaExtent(SIZE, SIZE, SIZE), 0},
        {"1D layered", layered_line, make_cudaExtent(SIZE, 0, LAYERS), cudaArrayLayered},
        {"2D layered", layered_plane, make_cudaExtent(SIZE, SIZE, LAYERS), cudaArrayLayered},
        {"cube", cube, make_cudaExtent(SIZE, SIZE, 6), cudaArrayCubemap},
        {"cubes", cubes, make_cudaExtent(SIZE, SIZE, 12), cudaArrayCubemap | cudaArrayLayered},
        {"base of 2D", base, make_cudaExtent(SIZE, SIZE, 0), 0},
    };
    struct {
        float low, high, bias;
    } ranges[] = {{0, 99, 0}, {1.2f, 3.3f, 0}, {3, 2, 0}, {0, 99, 0.3f}, {0, 99, -1.7f}, {0.126f, 2.503f, 0.3f}, {0, 0, 0}};
    char name[96];
    for (auto &shape : shapes) {
        cudaMipmappedArray_t whole = pyramid(format, shape.extent, LEVELS, shape.flags, raw);
        for (auto &range : ranges) {
            for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
                for (auto between_levels : {cudaFilterModePoint, cudaFilterModeLinear}) {
                    cudaTextureDesc how = sampled(cudaAddressModeMirror, filter, true);
                    how.mipmapFilterMode = between_levels;
                    how.minMipmapLevelClamp = range.low;
                    how.maxMipmapLevelClamp = range.high;
                    how.mipmapLevelBias = range.bias;
                    how.seamlessCubemap = (shape.flags & cudaArrayCubemap) != 0;
                    snprintf(name, sizeof name, "%s, levels %g to %g, bias %g, filters %d and %d", shape.name, range.low, range.high, range.bias, filter, between_levels);
                    sweep(name, shape.kernel, texture_of(whole, how), at, COUNT);
                }
            }
        }
        OK(cudaFreeMipmappedArray(whole));
    }
    // A view of some levels.
    cudaMipmappedArray_t whole = pyramid(format, make_cudaExtent(SIZE, SIZE, 0), LEVELS, 0, raw);
    for (auto levels : {make_uint2(0, 4), make_uint2(1, 2), make_uint2(3, 9), make_uint2(2, 1)}) {
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeMipmappedArray;
        resource.res.mipmap.mipmap = whole;
        cudaResourceViewDesc view = {};
        view.format = cudaResViewFormatFloat4;
        view.width = view.height = SIZE;
        view.firstMipmapLevel = levels.x;
        view.lastMipmapLevel = levels.y;
        cudaTextureDesc how = sampled(cudaAddressModeClamp, cudaFilterModeLinear, true);
        how.mipmapFilterMode = cudaFilterModeLinear;
        how.maxMipmapLevelClamp = 99;
        cudaTextureObject_t texture;
        cudaError_t made = cudaCreateTextureObject(&texture, &resource, &how, &view);
        printf("view of levels %u to %u: %s\n", levels.x, levels.y, cudaGetErrorName(made));
        if (made == cudaSuccess) sweep("its texels", plane, texture, at, COUNT);
        cudaGetLastError();
    }
    LAST();
    return 0;
}
