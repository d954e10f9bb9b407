/* A host program in C over the runtime API: a kernel of PTX, loaded as a library, adds two vectors. */
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000

static const char PTX[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {\n"
    " .reg .pred p; .reg .b32 i, t, m; .reg .b64 x, y, z, o; .reg .f32 f, g;\n"
    " ld.param.u32 m, [n]; mov.u32 i, %ctaid.x; mov.u32 t, %ntid.x; mul.lo.u32 i, i, t; mov.u32 t, %tid.x; add.u32 i, i, t;\n"
    " setp.ge.u32 p, i, m; @p ret;\n"
    " ld.param.u64 x, [a]; ld.param.u64 y, [b]; ld.param.u64 z, [c]; mul.wide.u32 o, i, 4;\n"
    " add.u64 x, x, o; add.u64 y, y, o; add.u64 z, z, o;\n"
    " ld.global.f32 f, [x]; ld.global.f32 g, [y]; add.f32 f, f, g; st.global.f32 [z], f; ret;\n"
    "}\n";

static void check(cudaError_t answer, int line) {
    if (answer != cudaSuccess) {
        fprintf(stderr, "line %d: %s: %s\n", line, cudaGetErrorName(answer), cudaGetErrorString(answer));
        exit(1);
    }
}
#define CHECK(call) check(call, __LINE__)

int main(void) {
    struct cudaDeviceProp properties;
    struct cudaPointerAttributes attributes;
    float *host = malloc(COUNT * sizeof *host), *vectors[3];
    cudaLibrary_t library;
    cudaKernel_t kernel;
    cudaStream_t stream;
    cudaEvent_t done;
    enum cudaDataType_t type = CUDA_R_32F;
    int version, i;
    unsigned int count = COUNT;
    void *arguments[4];
    dim3 grid, block;

    CHECK(cudaRuntimeGetVersion(&version));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaProfilerStart());
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));
    CHECK(cudaLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "add"));
    for (i = 0; i < COUNT; i++) host[i] = (float)i;
    for (i = 0; i < 3; i++) {
        CHECK(cudaMalloc((void **)&vectors[i], COUNT * sizeof(float)));
        CHECK(cudaMemcpyAsync(vectors[i], host, COUNT * sizeof(float), cudaMemcpyHostToDevice, stream));
        arguments[i] = &vectors[i];
    }
    arguments[3] = &count;
    grid.x = (COUNT + 127) / 128, grid.y = grid.z = 1;
    block.x = 128, block.y = block.z = 1;
    CHECK(cudaLaunchKernel((const void *)kernel, grid, block, arguments, 0, stream));
    CHECK(cudaEventRecord(done, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, vectors[2], COUNT * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaPointerGetAttributes(&attributes, vectors[2]));
    for (i = 0; i < COUNT; i++) {
        if (host[i] != 2 * (float)i) return printf("element %d is %g\n", i, host[i]), 1;
    }
    for (i = 0; i < 3; i++) CHECK(cudaFree(vectors[i]));
    CHECK(cudaLibraryUnload(library));
    CHECK(cudaProfilerStop());
    free(host);
    printf("runtime %d of headers %d: %d elements, type %d, warps of %d, memory of kind %d\n", version / 1000, CUDART_VERSION / 1000,
           COUNT, type, properties.warpSize, attributes.type);
    return 0;
}
