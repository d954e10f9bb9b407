// A host program in C++ over the runtime API: typed pointers, arguments left out, vector types, descriptors by type, occupancy.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

static const char PTX[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 n) {\n"
    " .reg .pred p; .reg .b32 i, t, m; .reg .b64 x, o; .reg .f32 f, g;\n"
    " ld.param.u32 m, [n]; mov.u32 i, %ctaid.x; mov.u32 t, %ntid.x; mul.lo.u32 i, i, t; mov.u32 t, %tid.x; add.u32 i, i, t;\n"
    " setp.ge.u32 p, i, m; @p ret;\n"
    " ld.param.u64 x, [data]; mul.wide.u32 o, i, 4; add.u64 x, x, o; ld.param.f32 g, [factor];\n"
    " ld.global.f32 f, [x]; mul.f32 f, f, g; st.global.f32 [x], f; ret;\n"
    "}\n";

static void check(cudaError_t answer, int line) {
    if (answer != cudaSuccess) {
        std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorName(answer));
        std::exit(1);
    }
}
#define CHECK(call) check(call, __LINE__)

// What code for both sides says of its functions means nothing here.
static __host__ __device__ __forceinline__ float doubled(float value) { return 2 * value; }

static_assert(std::is_same<cudaStream_t, CUstream_st *>::value, "handles are the driver API's");
static_assert(std::is_same<cudaArray_const_t, const cudaArray *>::value, "arrays are the runtime's own");
static_assert(alignof(float4) == 16 && sizeof(float3) == 12, "vectors lie as they do on the device");

int main() {
    const int count = 256;
    float *data, *host, *managed, *pooled, *mapped;
    size_t pitch, dynamic;
    int grid, block, blocks;
    cudaEvent_t event;
    cudaLibrary_t library;
    cudaKernel_t kernel;

    CHECK(cudaLibraryLoadData(&library, PTX, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "scale"));
    CHECK(cudaMalloc(&data, count * sizeof(float)));
    CHECK(cudaMallocHost(&host, count * sizeof(float)));
    CHECK(cudaMallocManaged(&managed, count * sizeof(float)));
    CHECK(cudaMallocAsync(&pooled, count * sizeof(float), 0));
    CHECK(cudaFreeAsync(pooled, 0));
    CHECK(cudaMallocPitch(&pooled, &pitch, 100, 4));
    CHECK(cudaHostGetDevicePointer(&mapped, host, 0));
    CHECK(cudaEventCreate(&event, cudaEventDisableTiming));
    for (int i = 0; i < count; i++) host[i] = float(i);
    CHECK(cudaMemcpyAsync(data, host, count * sizeof(float), cudaMemcpyHostToDevice));

    // A kernel's handle is no pointer to a function; the typed launch takes what stands for a kernel.
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, (const void *)kernel));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)kernel, block, 0));
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, (const char *)kernel, 1, block));
    cudaLaunchConfig_t config = {};
    config.gridDim = (count + 63) / 64;
    config.blockDim = dim3(64);
    CHECK(cudaLaunchKernelEx(&config, kernel, data, 3.0f, 256u));
    float factor = 0.5f;
    unsigned int n = count;
    void *arguments[] = {&data, &factor, &n};
    CHECK(cudaLaunchKernel((const char *)kernel, dim3(4), dim3(64), arguments));
    CHECK(cudaEventRecord(event));
    CHECK(cudaMemcpy(managed, data, count * sizeof(float), cudaMemcpyDefault));
    for (int i = 0; i < count; i++) {
        if (doubled(managed[i]) != 3 * float(i)) return std::printf("element %d is %g\n", i, managed[i]), 1;
    }

    const float4 four = make_float4(1, 2, 3, 4);
    const uint3 size = dim3(2, 3);
    const cudaExtent extent = make_cudaExtent(1, 2, 3);
    const cudaChannelFormatDesc descriptor = cudaCreateChannelDesc<short2>();
    const cudaChannelFormatDesc compressed = cudaCreateChannelDesc<cudaChannelFormatKindUnsignedBlockCompressed4>();
    std::printf("%g %u %zu; %d %d %d %d; %d %d; block %d, %s\n", four.w, size.y * size.z, extent.depth, descriptor.x, descriptor.y,
                descriptor.z, descriptor.f, compressed.x, compressed.y, block, grid > 0 && blocks > 0 && dynamic > 0 ? "resident" : "not");
    return 0;
}
