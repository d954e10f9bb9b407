// Cube maps: faces, edges with and without the neighbouring face, layers, gathering, and faces as layers of surfaces.
#include "sweep.h"

enum { COUNT = 4096, SIZE = 4 };

__global__ void cube(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(texCubemap<float4>(texture, at[thread].x, at[thread].y, at[thread].z));
}
__global__ void cubes(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(texCubemapLayered<float4>(texture, at[thread].x, at[thread].y, at[thread].z, thread % 5));
}
__global__ void gather(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    uint4 got;
    asm("tld4.g.cube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
        : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
        : "l"(texture), "f"(at[thread].x), "f"(at[thread].y), "f"(at[thread].z));
    seen[thread] = got;
}
__global__ void raise_faces(cudaSurfaceObject_t surface) {
    for (int face = 0; face < 6; face++) {
        float4 texel;
        surfCubemapread(&texel, surface, threadIdx.x * sizeof texel, threadIdx.y, face);
        texel.x += 1000 * face;
        surfCubemapwrite(texel, surface, threadIdx.x * sizeof texel, threadIdx.y, face);
    }
}

int main() {
    float4 places[COUNT];
    for (float4 &place : places) place = make_float4(between(-1, 1), between(-1, 1), between(-1, 1), 0);
    // Directions between faces, of no length, and very long and short ones.
    for (int index = 0; index < 343; index++) places[index] = make_float4(index % 7 - 3, index / 7 % 7 - 3, index / 49 - 3, 0);
    for (int index = 400; index < 440; index++) places[index].x *= 1e30f, places[index].y *= 1e30f, places[index].z *= 1e30f;
    for (int index = 440; index < 480; index++) places[index].x *= 1e-30f, places[index].y *= 1e-30f, places[index].z *= 1e-30f;
    float4 *at = on_device(places, COUNT);
    static float raw[18 * SIZE * SIZE * 4];
    for (float &value : raw) value = (int)(next_random() % 4001 - 2000) / 8.0f;
    cudaChannelFormatDesc format = channels(4, 32, cudaChannelFormatKindFloat);
    cudaArray_t one = filled(format, make_cudaExtent(SIZE, SIZE, 6), cudaArrayCubemap | cudaArraySurfaceLoadStore, raw);
    cudaArray_t three = filled(format, make_cudaExtent(SIZE, SIZE, 18), cudaArrayCubemap | cudaArrayLayered, raw);
    char name[64];
    for (auto address : {cudaAddressModeClamp, cudaAddressModeWrap, cudaAddressModeMirror, cudaAddressModeBorder}) {
        for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
            for (int seamless : {0, 1}) {
                cudaTextureDesc how = sampled(address, filter, true);
                how.seamlessCubemap = seamless;
                how.borderColor[0] = how.borderColor[1] = 77;
                snprintf(name, sizeof name, "address mode %d, filter %d, seamless %d", address, filter, seamless);
                sweep(name, cube, texture_of(one, how), at, COUNT);
                sweep("  layered", cubes, texture_of(three, how), at, COUNT);
                sweep("  gathered", gather, texture_of(one, how), at, COUNT);
            }
        }
    }
    raise_faces<<<1, dim3(SIZE, SIZE)>>>(surface_of(one));
    sweep("raised", cube, texture_of(one, sampled(cudaAddressModeClamp, cudaFilterModePoint, true)), at, COUNT);
    LAST();
    return 0;
}
