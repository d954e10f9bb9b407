// Code that the program loads itself: libraries, their kernels and variables.
#include "show.h"

static const char TEXT[] = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .global .align 4 .u32 number = 3;
.visible .entry store(.param .u64 place, .param .u32 value) {
    .reg .b64 %d<2>;
    .reg .b32 %r<4>;
    ld.param.u64 %d1, [place];
    ld.param.u32 %r1, [value];
    ld.global.u32 %r2, [number];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%d1], %r3;
    ret;
}
.visible .entry nothing() { ret; }
)";

int main() {
    cudaLibrary_t library = nullptr, wrong = nullptr;
    cudaKernel_t kernel = nullptr;
    int *place = zeros<int>(1), value = 40;
    CALL(cudaLibraryLoadData(&library, TEXT, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CALL(cudaLibraryGetKernel(&kernel, library, "store"));
    void *arguments[] = {&place, &value};
    CALL(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    SHOW(at(place));
    void *address = nullptr;
    size_t bytes = 0;
    CALL(cudaLibraryGetGlobal(&address, &bytes, library, "number"));
    SHOW(bytes);
    int more = 100;
    CALL(cudaMemcpy(address, &more, sizeof more, cudaMemcpyHostToDevice));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    CALL(cudaLaunchKernelExC(&config, (const void *)kernel, arguments));
    SHOW(at(place));
    unsigned count = 0;
    CALL(cudaLibraryGetKernelCount(&count, library));
    SHOW(count);
    cudaKernel_t kernels[2] = {};
    CALL(cudaLibraryEnumerateKernels(kernels, 2, library));
    SHOW(kernels[0] != nullptr && kernels[1] != nullptr && kernels[0] != kernels[1]);
    SHOW(kernels[0] == kernel || kernels[1] == kernel);
    cudaFuncAttributes attributes;
    CALL(cudaFuncGetAttributes(&attributes, (const void *)kernel));
    SHOW(attributes.maxThreadsPerBlock);
    int blocks = 0;
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)kernel, 128, 0));
    SHOW(blocks > 0);
    CALL(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000, 0));
    CALL(cudaFuncGetAttributes(&attributes, (const void *)kernel));
    SHOW(attributes.maxDynamicSharedSizeBytes);
    LAST();
    CALL(cudaLibraryGetKernel(&kernel, library, "no such kernel"));
    CALL(cudaLibraryGetGlobal(&address, &bytes, library, "no such variable"));
    CALL(cudaLibraryGetManaged(&address, &bytes, library, "number"));
    CALL(cudaLibraryGetUnifiedFunction(&address, library, "store"));
    LAST();
    CALL(cudaLibraryLoadData(&wrong, "this is no code", nullptr, nullptr, 0, nullptr, nullptr, 0));
    CALL(cudaLibraryLoadData(&wrong, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CALL(cudaLibraryLoadData(nullptr, TEXT, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CALL(cudaLibraryLoadFromFile(&wrong, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0));
    CALL(cudaLibraryUnload(nullptr));
    LAST();
    CALL(cudaLibraryUnload(library));
    LAST();
    return 0;
}
