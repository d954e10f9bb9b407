// Functions of the driver by name, version and flag.
#include "show.h"

static void ask(const char *name, unsigned version, unsigned long long flags) {
    void *function = (void *)1;
    cudaDriverEntryPointQueryResult found = (cudaDriverEntryPointQueryResult)9;
    cudaError_t result = cudaGetDriverEntryPointByVersion(name, &function, version, flags, &found);
    printf("\"%s\" %u %llu = %s, %d, %s, last error %s\n", name, version, flags, name_of(result), (int)found,
           function == (void *)1 ? "untouched" : function == nullptr ? "NULL" : "a function", name_of(cudaGetLastError()));
}

int main() {
    ask("cuMemAlloc", 12000, cudaEnableDefault);
    ask("cuMemAlloc", 3010, cudaEnableDefault);
    ask("cuLaunchKernel", 12000, cudaEnableLegacyStream);
    ask("cuLaunchKernel", 12000, cudaEnablePerThreadDefaultStream);
    ask("cuLaunchKernel", 4000, cudaEnablePerThreadDefaultStream);
    ask("cuGraphAddNode", 12020, cudaEnableDefault);
    ask("cuGraphAddNode", 12000, cudaEnableDefault);
    ask("cuNoSuchFunction", 12000, cudaEnableDefault);
    ask("cuMemAlloc_v2", 12000, cudaEnableDefault);
    ask("", 12000, cudaEnableDefault);
    ask("cuInit", 99000, cudaEnableDefault);
    ask("cuInit", 12000, 7);
    ask("cuGetProcAddress", 12000, cudaEnableDefault);
    // The functions that come back are the driver's.
    CUresult (*get_version)(int *) = nullptr;
    int seen = 0, version = 0;
    CALL(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", (void **)&get_version, 12000, cudaEnableDefault, nullptr));
    SHOW(get_version(&seen));
    CALL(cudaDriverGetVersion(&version));
    SHOW(seen == version);
    SHOW((void *)get_version == (void *)cuDriverGetVersion);
#if CUDART_VERSION < 13000
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    CALL(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &found));
    SHOW(found);
    CALL(cudaGetDriverEntryPoint("cuNoSuchFunction", &function, cudaEnableDefault, &found));
    SHOW(found);
    LAST();
#endif
    CUcontext context = nullptr;
    OK(cuInit(0));
    CALL(cuCtxGetCurrent(&context));
    SHOW(context == nullptr);
    return 0;
}
