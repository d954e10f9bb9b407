// Stream ordered memory: the device's pool, pools of one's own, attributes.
//= 3 3
//= default 1
//= threshold 1048576
//= own 7
#include "check.h"
__global__ void fill(int *p, int v) { p[threadIdx.x] = v; }
int main() {
    cudaStream_t s; int *p, h[32]; OK(cudaStreamCreate(&s)); OK(cudaMallocAsync(&p, 128, s)); fill<<<1, 32, 0, s>>>(p, 3); OK(cudaMemcpyAsync(h, p, 128, cudaMemcpyDeviceToHost, s)); OK(cudaFreeAsync(p, s)); OK(cudaStreamSynchronize(s)); printf("%d %d\n", h[0], h[31]);
    cudaMemPool_t a, b; OK(cudaDeviceGetDefaultMemPool(&a, 0)); OK(cudaDeviceGetMemPool(&b, 0)); printf("default %d\n", a == b);
    unsigned long long keep = 1 << 20, got = 0; OK(cudaMemPoolSetAttribute(a, cudaMemPoolAttrReleaseThreshold, &keep)); OK(cudaMemPoolGetAttribute(a, cudaMemPoolAttrReleaseThreshold, &got)); printf("threshold %llu\n", got);
    cudaMemPoolProps props = {}; props.allocType = cudaMemAllocationTypePinned; props.location.type = cudaMemLocationTypeDevice; OK(cudaMemPoolCreate(&b, &props)); OK(cudaMallocFromPoolAsync(&p, 128, b, s)); fill<<<1, 32, 0, s>>>(p, 7); OK(cudaMemcpyAsync(h, p, 128, cudaMemcpyDeviceToHost, s)); OK(cudaFreeAsync(p, s)); OK(cudaStreamSynchronize(s)); printf("own %d\n", h[31]); OK(cudaMemPoolDestroy(b));
}
