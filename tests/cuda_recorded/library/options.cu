// Options of the compiler and of a library when code is loaded.
#include "show.h"

static const char GOOD[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry kernel() { ret; }\n";
static const char BAD[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry kernel() { wrong; }\n";

int main() {
    char errors[512] = "", messages[512] = "";
    cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes, cudaJitInfoLogBuffer,
                               cudaJitInfoLogBufferSizeBytes, cudaJitOptimizationLevel};
    void *values[] = {errors, (void *)sizeof errors, messages, (void *)sizeof messages, (void *)3};
    cudaLibraryOption keep[] = {cudaLibraryBinaryIsPreserved};
    void *yes[] = {(void *)1};
    cudaLibrary_t library = nullptr;
    CALL(cudaLibraryLoadData(&library, BAD, options, values, 5, nullptr, nullptr, 0));
    LAST();
    SHOW(strlen(errors) > 0);
    values[1] = (void *)sizeof errors;
    CALL(cudaLibraryLoadData(&library, GOOD, options, values, 5, keep, yes, 1));
    cudaKernel_t kernel;
    CALL(cudaLibraryGetKernel(&kernel, library, "kernel"));
    CALL(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), nullptr, 0, nullptr));
    CALL(cudaDeviceSynchronize());
    CALL(cudaLibraryUnload(library));
    cudaJitOption unknown[] = {(cudaJitOption)777};
    CALL(cudaLibraryLoadData(&library, GOOD, unknown, values, 1, nullptr, nullptr, 0));
    LAST();
    return 0;
}
