// Arrays of formats that have a kind of their own: normalised numbers, packed ones and planes; and arrays whose memory is mapped.
// toolkit: 13
#include "sweep.h"

static void show(const char *what, cudaArray_t array) {
    cudaChannelFormatDesc format = {};
    cudaExtent extent = {};
    unsigned flags = 99;
    cudaError_t result = cudaArrayGetInfo(&format, &extent, &flags, array);
    printf("  %s: %s, %d %d %d %d, kind %d, %zu x %zu x %zu, flags %u\n", what, name_of(result), format.x, format.y, format.z, format.w, (int)format.f, extent.width, extent.height, extent.depth, flags);
}

static __global__ void sample(cudaTextureObject_t texture, const float4 *places, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex2D<float4>(texture, places[thread].x, places[thread].y));
}

template <cudaChannelFormatKind KIND> static void made(const char *name) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<KIND>();
    printf("%s: %d %d %d %d, kind %d\n", name, format.x, format.y, format.z, format.w, (int)format.f);
    for (unsigned flags : {0u, (unsigned)cudaArraySurfaceLoadStore, (unsigned)cudaArrayLayered}) {
        cudaArray_t array = nullptr;
        cudaError_t result = cudaMalloc3DArray(&array, &format, make_cudaExtent(16, 8, flags == cudaArrayLayered ? 3 : 0), flags);
        printf("  flags %u: %s\n", flags, name_of(result));
        if (result != cudaSuccess) continue;
        show("array", array);
        for (unsigned plane = 0; plane < 4; plane++) {
            cudaArray_t part = nullptr;
            result = cudaArrayGetPlane(&part, array, plane);
            printf("  plane %u: %s\n", plane, name_of(result));
            if (result == cudaSuccess) show("it", part);
        }
        for (int filter = 0; filter < 2; filter++)
            for (int mode = 0; mode < 2; mode++) {
                cudaTextureDesc how = sampled(cudaAddressModeClamp, filter ? cudaFilterModeLinear : cudaFilterModePoint, false);
                how.readMode = mode ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
                cudaResourceDesc resource = {};
                resource.resType = cudaResourceTypeArray;
                resource.res.array.array = array;
                cudaTextureObject_t texture = 0;
                printf("  texture, filter %d, mode %d: %s\n", filter, mode, name_of(cudaCreateTextureObject(&texture, &resource, &how, nullptr)));
            }
        printf("  freed: %s\n", name_of(cudaFreeArray(array)));
    }
    cudaMipmappedArray_t levels = nullptr;
    printf("  mipmapped: %s\n", name_of(cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(16, 8, 0), 3)));
    cudaGetLastError();
}
#define MADE(kind) made<cudaChannelFormatKind##kind>(#kind)

int main() {
    MADE(UnsignedNormalized8X1);
    MADE(UnsignedNormalized8X2);
    MADE(UnsignedNormalized8X4);
    MADE(UnsignedNormalized16X1);
    MADE(UnsignedNormalized16X2);
    MADE(UnsignedNormalized16X4);
    MADE(SignedNormalized8X1);
    MADE(SignedNormalized8X2);
    MADE(SignedNormalized8X4);
    MADE(SignedNormalized16X1);
    MADE(SignedNormalized16X2);
    MADE(SignedNormalized16X4);
    MADE(UnsignedNormalized1010102);
    MADE(NV12);
    cudaChannelFormatDesc twelve = cudaCreateChannelDesc<cudaChannelFormatKindNV12>();
    cudaArray_t image = nullptr;
    CALL(cudaMalloc3DArray(&image, &twelve, make_cudaExtent(16, 8, 0), 0x100));
    LAST();
    if (image != nullptr) {
        show("image", image);
        for (unsigned plane = 0; plane < 3; plane++) {
            cudaArray_t part = nullptr;
            printf("  plane %u: %s\n", plane, name_of(cudaArrayGetPlane(&part, image, plane)));
            if (part != nullptr) show("it", part);
        }
        CALL(cudaFreeArray(image));
    }
    // Descriptors that say other bits than their kind has.
    for (int bits : {8, 16}) {
        cudaChannelFormatDesc odd = {bits, bits, 0, 0, cudaChannelFormatKindUnsignedNormalized8X4};
        cudaArray_t array = nullptr;
        CALL(cudaMallocArray(&array, &odd, 16, 8));
    }
    cudaChannelFormatDesc format = cudaCreateChannelDesc<cudaChannelFormatKindUnsignedNormalized8X4>();
    cudaTextureDesc how = sampled(cudaAddressModeClamp, cudaFilterModeLinear, false);
    how.readMode = cudaReadModeNormalizedFloat;
    static unsigned host[8][16];
    for (int index = 0; index < 128; index++) (&host[0][0])[index] = next_random() << 8 ^ next_random();
    static float4 places[200];
    for (float4 &place : places) place = make_float4(between(-1, 17), between(-1, 9), 0, 0);
    const float4 *at_places = on_device(places, 200);
    cudaArray_t array = filled(format, make_cudaExtent(16, 8, 0), 0, host);
    sweep("normalised", sample, texture_of(array, how), at_places, 200);
    how.readMode = cudaReadModeElementType;
    array = filled(cudaCreateChannelDesc<cudaChannelFormatKindUnsignedNormalized1010102>(), make_cudaExtent(16, 8, 0), 0, host);
    sweep("packed", sample, texture_of(array, how), at_places, 200);
    // Plain memory of such a kind.
    how.readMode = cudaReadModeNormalizedFloat;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = zeros<unsigned>(1024);
    resource.res.pitch2D.desc = format;
    resource.res.pitch2D.width = 16;
    resource.res.pitch2D.height = 8;
    resource.res.pitch2D.pitchInBytes = 64;
    cudaTextureObject_t texture = 0;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = zeros<unsigned>(1024);
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = 1024;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    cudaGetLastError();

    // Memory that is mapped later.
    cudaArraySparseProperties sparse = {};
    cudaArrayMemoryRequirements needed = {};
    cudaChannelFormatDesc word = cudaCreateChannelDesc<float>();
    CALL(cudaMallocArray(&array, &word, 1024, 1024, cudaArrayDeferredMapping));
    show("deferred", array);
    CALL(cudaArrayGetMemoryRequirements(&needed, array, 0));
    SHOW(needed.size);
    SHOW(needed.alignment);
    CALL(cudaArrayGetSparseProperties(&sparse, array));
    LAST();
    CALL(cudaFreeArray(array));
    CALL(cudaMallocArray(&array, &word, 1024, 1024, cudaArraySparse));
    show("sparse", array);
    CALL(cudaArrayGetSparseProperties(&sparse, array));
    SHOW(sparse.tileExtent.width * 1000000 + sparse.tileExtent.height * 1000 + sparse.tileExtent.depth);
    CALL(cudaArrayGetMemoryRequirements(&needed, array, 0));
    LAST();
    cudaMipmappedArray_t levels = nullptr;
    CALL(cudaMallocMipmappedArray(&levels, &word, make_cudaExtent(1024, 1024, 0), 8, cudaArraySparse));
    CALL(cudaMipmappedArrayGetSparseProperties(&sparse, levels));
    SHOW(sparse.miptailFirstLevel);
    SHOW(sparse.miptailSize);
    SHOW(sparse.flags);
    CALL(cudaMipmappedArrayGetMemoryRequirements(&needed, levels, 0));
    CALL(cudaMallocMipmappedArray(&levels, &word, make_cudaExtent(1024, 1024, 0), 8, cudaArrayDeferredMapping));
    CALL(cudaMipmappedArrayGetMemoryRequirements(&needed, levels, 0));
    SHOW(needed.size);
    LAST();
    return 0;
}
