// Compiled for the per-thread default stream: threads have streams of their own, and driver functions are looked up for them.
//: --default-stream per-thread -lpthread
//= threads 1 2
//= found 1
//= differs 1
#include "check.h"
#include <thread>
__global__ void set(int *p, int v) { *p = v; }
static int run(int v) { int *p, h = 0; OK(cudaMalloc(&p, 4)); set<<<1, 1>>>(p, v); OK(cudaMemcpyAsync(&h, p, 4, cudaMemcpyDeviceToHost, 0)); OK(cudaStreamSynchronize(0)); OK(cudaFree(p)); return h; }
int main() {
    int a, b; std::thread one([&] { a = run(1); }), two([&] { b = run(2); }); one.join(); two.join(); printf("threads %d %d\n", a, b);
    void *legacy = 0, *own = 0; cudaDriverEntryPointQueryResult q;
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &own, 12000, cudaEnableDefault, &q)); printf("found %d\n", q == cudaDriverEntryPointSuccess && own != 0);
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &legacy, 12000, cudaEnableLegacyStream, &q)); printf("differs %d\n", legacy != own);
}
