// Functions under older names, of bytes that go on from row to row, and advice about managed memory.
//= rows 1 4 7
//= from 2 3 4
//= between 5 1
//= advice 1 1
//= banks cudaSuccess
//@ 13
#include "check.h"
int main() {
    unsigned char h[16], r[16] = {}; for (int i = 0; i < 16; i++) h[i] = i + 1; cudaChannelFormatDesc f = cudaCreateChannelDesc<unsigned char>(); cudaArray_t a, b; OK(cudaMallocArray(&a, &f, 4, 4)); OK(cudaMallocArray(&b, &f, 4, 4));
    OK(cudaMemcpyToArray(a, 0, 0, h, 16, cudaMemcpyHostToDevice)); OK(cudaMemcpyToArray(a, 1, 1, h, 8, cudaMemcpyHostToDevice)); OK(cudaMemcpy2DFromArray(r, 4, a, 0, 0, 4, 4, cudaMemcpyDeviceToHost)); printf("rows %d %d %d\n", r[5], r[8], r[11]);
    OK(cudaMemcpyFromArray(r, a, 2, 1, 3, cudaMemcpyDeviceToHost)); printf("from %d %d %d\n", r[0], r[1], r[2]);
    OK(cudaMemcpyArrayToArray(b, 3, 0, a, 0, 1, 2, cudaMemcpyDeviceToDevice)); OK(cudaMemcpyFromArray(r, b, 3, 0, 2, cudaMemcpyDeviceToHost)); printf("between %d %d\n", r[0], r[1]);
    int *m; OK(cudaMallocManaged(&m, 4096)); cudaMemLocation here = {}; here.type = cudaMemLocationTypeDevice; OK(cudaMemAdvise(m, 4096, cudaMemAdviseSetReadMostly, here)); int mostly = 0; OK(cudaMemRangeGetAttribute(&mostly, 4, cudaMemRangeAttributeReadMostly, m, 4096)); printf("advice %d %d\n", mostly, cudaMemPrefetchAsync(m, 4096, here, 0, 0) == cudaSuccess);
    cudaSharedMemConfig banks; printf("banks "); TELL(cudaDeviceGetSharedMemConfig(&banks));
}
