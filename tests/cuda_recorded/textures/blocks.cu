// Arrays and views of compressed blocks: their descriptors, copies, and what is read.
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

static float4 places[200];
static float4 *at_places;
static unsigned char host[1 << 14];

// Which widths and heights each copy takes, for an array of 4 x 3 blocks.
static void copies(cudaArray_t array, int bytes) {
    static unsigned char read[1 << 14];
    printf("  rows:");
    for (int row = bytes / 2; row <= 6 * bytes; row += bytes / 2)
        for (int rows = 1; rows <= 13; rows++)
            if (cudaMemcpy2DToArray(array, 0, 0, host, row, row, rows, cudaMemcpyHostToDevice) == cudaSuccess) printf(" %dx%d", row, rows);
    printf("\n  back:");
    for (int row = bytes; row <= 6 * bytes; row += bytes)
        for (int rows = 1; rows <= 13; rows++)
            if (cudaMemcpy2DFromArray(read, row, array, 0, 0, row, rows, cudaMemcpyDeviceToHost) == cudaSuccess) printf(" %dx%d", row, rows);
    printf("\n  extents:");
    for (int wide = 1; wide <= 20; wide++)
        for (int high = 1; high <= 13; high++) {
            cudaMemcpy3DParms copy = {};
            copy.srcPtr = make_cudaPitchedPtr(host, 6 * bytes, 20, 13);
            copy.dstArray = array;
            copy.extent = make_cudaExtent(wide, high, 1);
            copy.kind = cudaMemcpyHostToDevice;
            if (cudaMemcpy3D(&copy) == cudaSuccess) printf(" %dx%d", wide, high);
        }
    printf("\n  places:");
    for (int x = 0; x <= 4 * bytes; x += bytes / 2)
        for (int y = 0; y <= 12; y++)
            if (cudaMemcpy2DToArray(array, x, y, host, bytes, bytes, 1, cudaMemcpyHostToDevice) == cudaSuccess) printf(" %d,%d", x, y);
    printf("\n");
    cudaGetLastError();
}

static unsigned char back[1 << 10];

// The first bytes of an array's 4 x 3 blocks.
static void show_blocks(const char *what, cudaError_t result, cudaArray_t array, int bytes) {
    memset(back, 0xee, sizeof back);
    cudaError_t read = cudaMemcpy2DFromArray(back, 4 * bytes, array, 0, 0, 4 * bytes, 3, cudaMemcpyDeviceToHost);
    printf("  %s: %s, %s", what, name_of(result), name_of(read));
    for (int block = 0; block < 12; block++) printf(" %02x", back[block * bytes]);
    printf("\n");
    cudaGetLastError();
}

// What copies of extents in texels copy.
static void extents(cudaArray_t array, cudaArray_t other, int bytes) {
    static const int EXTENTS[][6] = {{1, 1, 0, 0, 0, 0}, {4, 4, 0, 0, 0, 0}, {5, 4, 0, 0, 0, 0}, {4, 5, 0, 0, 0, 0}, {7, 9, 0, 0, 0, 0}, {16, 12, 0, 0, 0, 0}, {4, 4, 4, 4, 0, 0}, {4, 4, 4, 0, 0, 0}, {4, 4, 0, 4, 0, 0}, {4, 4, 1, 0, 0, 0},
                                     {4, 4, 0, 1, 0, 0}, {8, 8, 8, 4, 0, 0}, {8, 8, 12, 4, 0, 0}, {3, 3, 12, 8, 0, 0}, {8, 4, 0, 0, 4, 0}, {8, 4, 0, 0, 0, 4}, {8, 4, 0, 0, 2, 0}, {8, 4, 0, 0, 1, 1}, {5, 5, 11, 7, 0, 0}, {5, 5, 3, 3, 0, 0}};
    static unsigned char zeros[1 << 10], counted[1 << 12];
    for (unsigned index = 0; index < sizeof counted; index++) counted[index] = index / 8 + 1;
    for (const int *extent : EXTENTS) {
        char title[80];
        sprintf(title, "%d x %d at %d %d from %d %d", extent[0], extent[1], extent[2], extent[3], extent[4], extent[5]);
        OK(cudaMemcpy2DToArray(array, 0, 0, zeros, 4 * bytes, 4 * bytes, 3, cudaMemcpyHostToDevice));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(counted, 8 * bytes, 32, 16);
        copy.srcPos = make_cudaPos(extent[4], extent[5], 0);
        copy.dstArray = array;
        copy.dstPos = make_cudaPos(extent[2], extent[3], 0);
        copy.extent = make_cudaExtent(extent[0], extent[1], 1);
        copy.kind = cudaMemcpyHostToDevice;
        cudaError_t result = cudaMemcpy3D(&copy);
        show_blocks(title, result, array, bytes);
        // Between arrays.
        OK(cudaMemcpy2DToArray(other, 0, 0, counted, 4 * bytes, 4 * bytes, 3, cudaMemcpyHostToDevice));
        OK(cudaMemcpy2DToArray(array, 0, 0, zeros, 4 * bytes, 4 * bytes, 3, cudaMemcpyHostToDevice));
        copy.srcPtr = make_cudaPitchedPtr(nullptr, 0, 0, 0);
        copy.srcArray = other;
        copy.kind = cudaMemcpyDeviceToDevice;
        result = cudaMemcpy3D(&copy);
        show_blocks("between arrays", result, array, bytes);
        // And back to memory.
        static unsigned char target[1 << 12];
        memset(target, 0, sizeof target);
        copy.srcArray = other;
        copy.srcPos = make_cudaPos(extent[2], extent[3], 0);
        copy.dstArray = nullptr;
        copy.dstPtr = make_cudaPitchedPtr(target, 8 * bytes, 32, 16);
        copy.dstPos = make_cudaPos(extent[4], extent[5], 0);
        copy.kind = cudaMemcpyDeviceToHost;
        result = cudaMemcpy3D(&copy);
        printf("  to memory: %s", name_of(result));
        for (int row = 0; row < 12; row++)
            for (int at = 0; at < 8 * bytes; at++)
                if (target[row * 8 * bytes + at] != 0 && (at == 0 || target[row * 8 * bytes + at - 1] == 0)) {
                    int count = 1;
                    while (at + count < 8 * bytes && target[row * 8 * bytes + at + count] != 0) count++;
                    printf(" %d bytes at %d of %d from %02x on", count, at, row, target[row * 8 * bytes + at]);
                }
        printf("\n");
        cudaGetLastError();
    }
    // By elements of arrays, and by bytes.
    for (int x = 0; x <= 2 * bytes; x += bytes / 2) {
        OK(cudaMemcpy2DToArray(array, 0, 0, zeros, 4 * bytes, 4 * bytes, 3, cudaMemcpyHostToDevice));
        cudaError_t result = cudaMemcpy2DArrayToArray(array, x, 1, other, 0, 0, 2 * bytes, 2, cudaMemcpyDeviceToDevice);
        show_blocks("array to array", result, array, bytes);
    }
}

template <cudaChannelFormatKind KIND> static void made(const char *name, int bytes) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<KIND>();
    printf("%s: %d %d %d %d, kind %d\n", name, format.x, format.y, format.z, format.w, (int)format.f);
    for (unsigned flags : {0u, (unsigned)cudaArraySurfaceLoadStore, (unsigned)cudaArrayLayered}) {
        cudaArray_t array = nullptr;
        cudaError_t result = cudaMalloc3DArray(&array, &format, make_cudaExtent(16, 12, flags == cudaArrayLayered ? 3 : 0), flags);
        printf("  flags %u: %s\n", flags, name_of(result));
        if (result != cudaSuccess) continue;
        show("array", array);
        if (flags == 0) {
            if (KIND == cudaChannelFormatKindUnsignedBlockCompressed1 || KIND == cudaChannelFormatKindSignedBlockCompressed6H) {
                cudaArray_t other = nullptr;
                OK(cudaMallocArray(&other, &format, 16, 12));
                copies(array, bytes);
                extents(array, other, bytes);
                OK(cudaFreeArray(other));
            }
            for (unsigned index = 0; index < sizeof host; index++) host[index] = next_random() >> 3;
            printf("  filled: %s\n", name_of(cudaMemcpy2DToArray(array, 0, 0, host, 4 * bytes, 4 * bytes, 3, cudaMemcpyHostToDevice)));
        }
        for (int filter = 0; filter < 2; filter++)
            for (int mode = 0; mode < 2; mode++)
                for (int colours = 0; colours < 2; colours++) {
                    cudaTextureDesc how = sampled(cudaAddressModeClamp, filter ? cudaFilterModeLinear : cudaFilterModePoint, false);
                    how.readMode = mode ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
                    how.sRGB = colours;
                    cudaResourceDesc resource = {};
                    resource.resType = cudaResourceTypeArray;
                    resource.res.array.array = array;
                    cudaTextureObject_t texture = 0;
                    result = cudaCreateTextureObject(&texture, &resource, &how, nullptr);
                    printf("  texture, filter %d, mode %d, sRGB %d: %s\n", filter, mode, colours, name_of(result));
                    // What lies between halves of any size is for tests/c/answers/blocks.c.
                    bool between_halves = filter && format.x == 16;
                    if (result == cudaSuccess && flags == 0 && !between_halves) sweep("  read", sample, texture, at_places, 200);
                }
        printf("  freed: %s\n", name_of(cudaFreeArray(array)));
    }
    cudaMipmappedArray_t levels = nullptr;
    cudaError_t result = cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(20, 12, 0), 3);
    printf("  mipmapped: %s\n", name_of(result));
    for (int level = 0; level < 3 && result == cudaSuccess; level++) {
        cudaArray_t one = nullptr;
        if (cudaGetMipmappedArrayLevel(&one, levels, level) == cudaSuccess) show("level", one);
    }
    cudaGetLastError();
}
#define MADE(kind, bytes) made<cudaChannelFormatKind##kind>(#kind, bytes)

// Words seen as blocks.
static void viewed(int view, int bytes) {
    cudaChannelFormatDesc format = bytes == 8 ? cudaCreateChannelDesc<uint2>() : cudaCreateChannelDesc<uint4>();
    cudaArray_t array = nullptr;
    OK(cudaMallocArray(&array, &format, 4, 3));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, 4 * bytes, 4 * bytes, 3, cudaMemcpyHostToDevice));
    printf("view %d\n", view);
    for (int filter = 0; filter < 2; filter++)
        for (int mode = 0; mode < 2; mode++)
            for (int size = 0; size < 2; size++) {
                cudaTextureDesc how = sampled(cudaAddressModeClamp, filter ? cudaFilterModeLinear : cudaFilterModePoint, false);
                how.readMode = mode ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
                cudaResourceDesc resource = {};
                resource.resType = cudaResourceTypeArray;
                resource.res.array.array = array;
                cudaResourceViewDesc seen = {};
                seen.format = (cudaResourceViewFormat)view;
                seen.width = size ? 16 : 4;
                seen.height = size ? 12 : 3;
                cudaTextureObject_t texture = 0;
                cudaError_t result = cudaCreateTextureObject(&texture, &resource, &how, &seen);
                printf("  filter %d, mode %d, width %zu: %s\n", filter, mode, seen.width, name_of(result));
                if (result == cudaSuccess) sweep("  read", sample, texture, at_places, 200);
            }
    cudaGetLastError();
}

int main() {
    for (float4 &place : places) place = make_float4(between(-1, 17), between(-1, 13), 0, 0);
    at_places = on_device(places, 200);
    MADE(UnsignedBlockCompressed1, 8);
    MADE(UnsignedBlockCompressed1SRGB, 8);
    MADE(UnsignedBlockCompressed2, 16);
    MADE(UnsignedBlockCompressed2SRGB, 16);
    MADE(UnsignedBlockCompressed3, 16);
    MADE(UnsignedBlockCompressed3SRGB, 16);
    MADE(UnsignedBlockCompressed4, 8);
    MADE(SignedBlockCompressed4, 8);
    MADE(UnsignedBlockCompressed5, 16);
    MADE(SignedBlockCompressed5, 16);
    MADE(UnsignedBlockCompressed6H, 16);
    MADE(SignedBlockCompressed6H, 16);
    MADE(UnsignedBlockCompressed7, 16);
    MADE(UnsignedBlockCompressed7SRGB, 16);
    for (int view = cudaResViewFormatUnsignedBlockCompressed1; view <= cudaResViewFormatUnsignedBlockCompressed7; view++)
        viewed(view, view == cudaResViewFormatUnsignedBlockCompressed1 || view == cudaResViewFormatUnsignedBlockCompressed4 || view == cudaResViewFormatSignedBlockCompressed4 ? 8 : 16);
    return 0;
}
