// The driver's functions for mipmapped arrays: shapes, levels, properties, what is refused, and references to textures.
#include "show.h"

static void create(size_t width, size_t height, size_t depth, unsigned channels, unsigned flags, unsigned levels) {
    CUDA_ARRAY3D_DESCRIPTOR shape = {width, height, depth, CU_AD_FORMAT_FLOAT, channels, flags};
    CUmipmappedArray whole = nullptr;
    printf("%zu x %zu x %zu, %u channels, flags %#x, %u levels\n", width, height, depth, channels, flags, levels);
    CUresult made = cuMipmappedArrayCreate(&whole, &shape, levels);
    printf("  %s\n", name_of(made));
    if (made != CUDA_SUCCESS) return;
    for (unsigned level = 0; level < 7; level++) {
        CUarray plane = nullptr, again = nullptr;
        CUresult got = cuMipmappedArrayGetLevel(&plane, whole, level);
        printf("  level %u: %s", level, name_of(got));
        if (got == CUDA_SUCCESS) {
            CUDA_ARRAY3D_DESCRIPTOR known = {};
            OK(cuArray3DGetDescriptor(&known, plane));
            OK(cuMipmappedArrayGetLevel(&again, whole, level));
            printf(" %zu x %zu x %zu, %u channels, flags %#x, the same again: %d", known.Width, known.Height, known.Depth, known.NumChannels, known.Flags, plane == again);
        }
        printf("\n");
    }
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    CUDA_ARRAY_MEMORY_REQUIREMENTS memory;
    CALL(cuMipmappedArrayGetSparseProperties(&sparse, whole));
    CALL(cuMipmappedArrayGetMemoryRequirements(&memory, whole, 0));
    CUarray base;
    OK(cuMipmappedArrayGetLevel(&base, whole, 0));
    CALL(cuArrayDestroy(base));
    CALL(cuMipmappedArrayGetLevel(&base, whole, 0));
    CALL(cuMipmappedArrayDestroy(whole));
}

int main() {
    OK(cudaFree(nullptr));
    create(8, 8, 0, 1, 0, 0);
    create(8, 8, 0, 1, 0, 4);
    create(8, 8, 0, 4, 0, 100);
    create(7, 3, 0, 1, 0, 9);
    create(16, 0, 0, 2, 0, 9);
    create(8, 8, 8, 1, 0, 9);
    create(8, 2, 64, 1, 0, 9);
    create(8, 8, 3, 1, CUDA_ARRAY3D_LAYERED, 9);
    create(8, 0, 3, 1, CUDA_ARRAY3D_LAYERED, 9);
    create(8, 8, 6, 1, CUDA_ARRAY3D_CUBEMAP, 9);
    create(8, 8, 12, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 9);
    create(8, 8, 0, 1, CUDA_ARRAY3D_SURFACE_LDST, 4);
    create(8, 8, 0, 1, CUDA_ARRAY3D_TEXTURE_GATHER, 4);
    create(0, 8, 0, 1, 0, 2);
    create(8, 8, 0, 3, 0, 2);
    create(8, 4, 6, 1, CUDA_ARRAY3D_CUBEMAP, 3);
    create(8, 8, 0, 1, CUDA_ARRAY3D_DEPTH_TEXTURE, 4);
    create(40000, 40000, 0, 1, 0, 3);
    CUmipmappedArray whole;
    CUarray plane;
    CUDA_ARRAY3D_DESCRIPTOR shape = {8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    CALL(cuMipmappedArrayGetLevel(&plane, nullptr, 0));
    CALL(cuMipmappedArrayDestroy(nullptr));
    CALL(cuMipmappedArrayCreate(&whole, nullptr, 1));
    CALL(cuMipmappedArrayCreate(nullptr, &shape, 1));
    CALL(cuMipmappedArrayCreate(&whole, &shape, 2));
    CALL(cuMipmappedArrayGetLevel(&plane, whole, 1));
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = whole;
    CUDA_TEXTURE_DESC how = {};
    CUtexObject texture;
    CUsurfObject surface;
    CALL(cuSurfObjectCreate(&surface, &resource));
    how.mipmapFilterMode = (CUfilter_mode)2;
    CALL(cuTexObjectCreate(&texture, &resource, &how, nullptr));
    how.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
    for (unsigned flags : {0u, 0x20u, 0x40u, 0x80u}) {
        how.flags = flags;
        SHOW(flags);
        CALL(cuTexObjectCreate(&texture, &resource, &how, nullptr));
    }
    how.flags = CU_TRSF_NORMALIZED_COORDINATES;
    how.maxAnisotropy = 17;
    how.minMipmapLevelClamp = 2;
    how.maxMipmapLevelClamp = 1;
    CALL(cuTexObjectCreate(&texture, &resource, &how, nullptr));
    CUDA_RESOURCE_DESC back = {};
    CALL(cuTexObjectGetResourceDesc(&back, texture));
    SHOW(back.resType);
    SHOW(back.res.mipmap.hMipmappedArray == whole);
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = plane;
    CALL(cuTexObjectCreate(&texture, &resource, &how, nullptr));
    CUtexref reference;
    CUmipmappedArray bound;
    CUarray bound_plane;
    CUarray_format format;
    int count;
    CALL(cuTexRefCreate(&reference));
    CALL(cuTexRefGetMipmappedArray(&bound, reference));
    for (unsigned flags : {0u, 1u, 2u}) CALL(cuTexRefSetMipmappedArray(reference, whole, flags));
    CALL(cuTexRefGetMipmappedArray(&bound, reference));
    SHOW(bound == whole);
    CALL(cuTexRefGetArray(&bound_plane, reference));
    CALL(cuTexRefGetFormat(&format, &count, reference));
    SHOW(format);
    SHOW(count);
    CALL(cuTexRefSetArray(reference, plane, 1));
    CALL(cuTexRefGetMipmappedArray(&bound, reference));
    CALL(cuTexRefDestroy(reference));
    CALL(cuTexObjectDestroy(texture));
    CALL(cuMipmappedArrayDestroy(whole));
    return 0;
}
