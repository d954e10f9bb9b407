// What the sweeps over textures share: many values in, and one line for each case: a checksum, so that recordings stay small, and the first
// values, so that a person sees what it is about.
#ifndef SWEEP_H
#define SWEEP_H

#include "show.h"

// The same numbers on every machine.
static inline uint32_t next_random() {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static inline float between(float low, float high) { return low + (high - low) * (next_random() & 0xffff) / 65536.0f; }

// Prints the checksum of words, and four of them.
static inline void show_words(const char *what, const uint32_t *words, size_t count) {
    uint32_t sum = 2166136261u;
    for (size_t index = 0; index < count; index++) sum = (sum ^ words[index]) * 16777619u;
    printf("%s: %08x", what, sum);
    for (size_t index = 0; index < 4; index++) printf(" %08x", words[index * (count - 1) / 3]);
    printf("\n");
    fflush(stdout);
}

template <typename T> static inline T *on_device(const T *host, size_t count) {
    T *memory;
    OK(cudaMalloc((void **)&memory, count * sizeof(T)));
    OK(cudaMemcpy(memory, host, count * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

static inline cudaChannelFormatDesc channels(int count, int bits, cudaChannelFormatKind kind) {
    return cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 2 ? bits : 0, kind);
}

// An array with all its elements.
static inline cudaArray_t filled(cudaChannelFormatDesc format, cudaExtent extent, unsigned flags, const void *host) {
    cudaArray_t array;
    OK(cudaMalloc3DArray(&array, &format, extent, flags));
    size_t row = extent.width * (format.x + format.y + format.z + format.w) / 8;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)host, row, extent.width, extent.height ? extent.height : 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(extent.width, extent.height ? extent.height : 1, extent.depth ? extent.depth : 1);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    return array;
}

// A mipmapped array whose levels take their elements one after another from `host`.
static inline cudaMipmappedArray_t pyramid(cudaChannelFormatDesc format, cudaExtent extent, unsigned levels, unsigned flags, const void *host) {
    cudaMipmappedArray_t whole;
    OK(cudaMallocMipmappedArray(&whole, &format, extent, levels, flags));
    const char *from = (const char *)host;
    for (unsigned level = 0; level < levels; level++) {
        cudaArray_t plane;
        cudaExtent size;
        OK(cudaGetMipmappedArrayLevel(&plane, whole, level));
        OK(cudaArrayGetInfo(nullptr, &size, nullptr, plane));
        size_t row = size.width * (format.x + format.y + format.z + format.w) / 8;
        size.height = size.height ? size.height : 1;
        size.depth = size.depth ? size.depth : 1;
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr((void *)from, row, size.width, size.height);
        copy.dstArray = plane;
        copy.extent = size;
        copy.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&copy));
        from += row * size.height * size.depth;
    }
    return whole;
}

static inline cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureDesc how) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

static inline cudaTextureObject_t texture_of(cudaMipmappedArray_t array, cudaTextureDesc how) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = array;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

static inline cudaSurfaceObject_t surface_of(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

static inline cudaTextureDesc sampled(cudaTextureAddressMode address, cudaTextureFilterMode filter, bool normalised) {
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = address;
    how.filterMode = filter;
    how.normalizedCoords = normalised;
    how.readMode = cudaReadModeElementType;
    return how;
}

// Runs `kernel` for `count` threads with a texture or surface and four floats for each, and shows the four words that each writes.
template <typename Object>
static inline void sweep(const char *what, void (*kernel)(Object, const float4 *, uint4 *, int), Object object, const float4 *places, int count) {
    uint4 *seen = zeros<uint4>(count);
    kernel<<<(count + 127) / 128, 128>>>(object, places, seen, count);
    uint4 *host = (uint4 *)malloc(count * sizeof(uint4));
    OK(cudaMemcpy(host, seen, count * sizeof(uint4), cudaMemcpyDeviceToHost));
    show_words(what, &host->x, 4 * (size_t)count);
    free(host);
    OK(cudaFree(seen));
}

#define THREAD(count)                                      \
    int thread = blockIdx.x * blockDim.x + threadIdx.x;    \
    if (thread >= count) return

static __device__ inline uint4 words_of(float4 value) {
    return make_uint4(__float_as_uint(value.x), __float_as_uint(value.y), __float_as_uint(value.z), __float_as_uint(value.w));
}

#endif
