// Limits and cache settings of a device.
#include "show.h"

static void limit(cudaLimit which, size_t wanted) {
    size_t value = 0;
    CALL(cudaDeviceSetLimit(which, wanted));
    CALL(cudaDeviceGetLimit(&value, which));
    SHOW(value);
}

int main() {
    size_t value = 0;
    CALL(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    SHOW(value);
    CALL(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    SHOW(value);
    CALL(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    SHOW(value);
    limit(cudaLimitStackSize, 4096);
    limit(cudaLimitPrintfFifoSize, 2 << 20);
    limit(cudaLimitMallocHeapSize, 16 << 20);
    CALL(cudaDeviceGetLimit(&value, (cudaLimit)99));
    CALL(cudaDeviceSetLimit((cudaLimit)99, 1));
    CALL(cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
    LAST();
    cudaFuncCache cache;
    CALL(cudaDeviceGetCacheConfig(&cache));
    SHOW(cache);
    CALL(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    CALL(cudaDeviceGetCacheConfig(&cache));
    SHOW(cache);
    CALL(cudaDeviceSetCacheConfig((cudaFuncCache)9));
    CALL(cudaDeviceGetCacheConfig(nullptr));
    LAST();
    return 0;
}
