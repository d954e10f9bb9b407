// What calls answer in the states of a process in which few of them work: without a device, in a host function, in a forked child.
// The state is the argument. Every line was recorded with runtime 13.5 on a driver of CUDA 13.0.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" cudaError_t cudaProfilerStart();

#define C(name, ...)                                                                      \
    do {                                                                                  \
        int result_ = name(__VA_ARGS__);                                                  \
        printf("  %s = %d last %d\n", #name, result_, (int)cudaGetLastError());           \
        fflush(stdout);                                                                   \
    } while (0)

static void calls() {
    int n = -7; unsigned u = 99; void *p = 0, *found = (void *)1; size_t a, b; cudaStream_t s; cudaEvent_t e;
    cudaDriverEntryPointQueryResult q = (cudaDriverEntryPointQueryResult)77;
    C(cudaRuntimeGetVersion, &n); C(cudaDriverGetVersion, &n); printf("    %d\n", n);
    C(cudaGetDriverEntryPoint, "cuInit", &found, 0, &q); printf("    q %d %s\n", (int)q, found == (void *)1 ? "untouched" : found ? "found" : "null");
    C(cudaGetDriverEntryPointByVersion, "cuInit", &found, 12000, 0, &q);
    n = -7; C(cudaGetDeviceCount, &n); printf("    %d\n", n); n = -7; C(cudaGetDevice, &n); printf("    %d\n", n);
    C(cudaSetDevice, 0); C(cudaSetDevice, 5); C(cudaGetDeviceFlags, &u); C(cudaSetDeviceFlags, 0); C(cudaFree, (void *)0); C(cudaMalloc, &p, 16); C(cudaDeviceSynchronize); C(cudaMemGetInfo, &a, &b); C(cudaStreamSynchronize, 0); C(cudaPeekAtLastError); C(cudaGetLastError); C(cudaProfilerStart); C(cudaDeviceReset); C(cudaFreeHost, (void *)0); C(cudaMemcpy, (void *)0, (void *)0, 0, cudaMemcpyDefault); C(cudaDeviceGetAttribute, &n, cudaDevAttrWarpSize, 0); C(cudaInitDevice, 0, 0, 0); C(cudaStreamCreate, &s); C(cudaEventCreate, &e);
}
/* So that the lines of two threads come in one order. */
static std::atomic<bool> told;

static void host(void *) { while (!told) { } printf("in host function\n"); calls(); }

int main(int count, char **arguments) {
    const char *state = count > 1 ? arguments[1] : "";
    if (!strcmp(state, "nodevice")) calls();
    if (!strcmp(state, "host")) { printf("launch %d\n", (int)cudaLaunchHostFunc(0, host, 0)); fflush(stdout); told = true; printf("sync %d\n", (int)cudaDeviceSynchronize()); }
    if (!strcmp(state, "forked")) { cudaFree(0); if (!fork()) { calls(); _exit(0); } wait(0); }
    if (!strcmp(state, "driver")) { int n; C(cudaGetDeviceCount, &n); C(cudaDriverGetVersion, &n); printf("    %d\n", n); C(cudaRuntimeGetVersion, &n); C(cudaFree, (void *)0); }
    return 0;
}
