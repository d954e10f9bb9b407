// Streams and events: order across streams, callbacks, timing, priorities, waiting.
//= order 6
//= called 3 0
//= not negative 1
//= ready cudaSuccess
//= attribute 2
#include "check.h"
__global__ void step(int *p, int add, int times) { *p = *p * times + add; }
static int called; static cudaError_t seen = cudaErrorUnknown;
static void host(void *by) { called += *(int *)by; }
static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *by) { called += *(int *)by; seen = status; }
int main() {
    int *p, v, one = 1, two = 2; cudaStream_t a, b; cudaEvent_t e, f; float ms = -1;
    OK(cudaMalloc(&p, 4)); OK(cudaStreamCreate(&a)); OK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1));
    OK(cudaEventCreate(&e)); OK(cudaEventCreate(&f)); OK(cudaMemsetAsync(p, 0, 4, a)); OK(cudaEventRecord(e, a));
    step<<<1, 1, 0, a>>>(p, 2, 1); OK(cudaEventRecord(f, a)); OK(cudaStreamWaitEvent(b, f, 0)); step<<<1, 1, 0, b>>>(p, 0, 3);
    OK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, b)); OK(cudaStreamSynchronize(b)); printf("order %d\n", v);
    OK(cudaLaunchHostFunc(a, host, &one)); OK(cudaStreamAddCallback(a, callback, &two, 0)); OK(cudaStreamSynchronize(a)); printf("called %d %d\n", called, seen);
    OK(cudaEventElapsedTime(&ms, e, f)); printf("not negative %d\n", ms >= 0); printf("ready "); TELL(cudaStreamQuery(a));
    cudaStreamAttrValue value = {}; value.syncPolicy = cudaSyncPolicySpin; OK(cudaStreamSetAttribute(a, cudaStreamAttributeSynchronizationPolicy, &value));
    value = {}; OK(cudaStreamGetAttribute(a, cudaStreamAttributeSynchronizationPolicy, &value)); printf("attribute %d\n", value.syncPolicy);
    OK(cudaStreamDestroy(a)); OK(cudaStreamDestroy(b)); OK(cudaEventDestroy(e)); OK(cudaEventDestroy(f));
}
