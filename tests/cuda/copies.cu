// Copies and fills of rows and boxes, pinned and managed memory, what is known of pointers.
//= rows 0 16 48
//= box 21
//= filled 5 5 0
//= slices 9 9 0
//= pinned 3 managed 4
//= types 1 2 3 0
//= registered 1
#include "check.h"
#include <cstring>
int main() {
    int h[256], r[256] = {}; for (int i = 0; i < 256; i++) h[i] = i;
    int *d; size_t pitch; OK(cudaMallocPitch(&d, &pitch, 64, 16));
    OK(cudaMemcpy2D(d, pitch, h, 64, 64, 16, cudaMemcpyHostToDevice)); OK(cudaMemcpy2D(r, 4, d, pitch, 4, 4, cudaMemcpyDeviceToHost)); printf("rows %d %d %d\n", r[0], r[1], r[3]);
    cudaPitchedPtr box; OK(cudaMalloc3D(&box, make_cudaExtent(16, 4, 4))); cudaMemcpy3DParms m = {};
    m.srcPtr = make_cudaPitchedPtr(h, 16, 4, 4); m.dstPtr = box; m.extent = make_cudaExtent(16, 4, 4); m.kind = cudaMemcpyHostToDevice; OK(cudaMemcpy3D(&m));
    cudaMemcpy3DParms b = {}; b.srcPtr = box; b.srcPos = make_cudaPos(4, 1, 1); b.dstPtr = make_cudaPitchedPtr(r, 4, 1, 1); b.extent = make_cudaExtent(4, 1, 1); b.kind = cudaMemcpyDeviceToHost; OK(cudaMemcpy3D(&b)); printf("box %d\n", r[0]);
    unsigned char c[64] = {}; OK(cudaMemset(d, 0, 64)); OK(cudaMemset2D(d, pitch, 5, 8, 2)); OK(cudaMemcpy2D(c, 16, d, pitch, 16, 2, cudaMemcpyDefault)); printf("filled %d %d %d\n", c[0], c[23], c[8]);
    OK(cudaMemset3D(box, 0, make_cudaExtent(16, 4, 4))); OK(cudaMemset3D(box, 9, make_cudaExtent(4, 2, 2))); b.srcPos = make_cudaPos(0, 1, 1); b.extent = make_cudaExtent(8, 1, 1); b.dstPtr = make_cudaPitchedPtr(c, 8, 8, 1); OK(cudaMemcpy3D(&b)); printf("slices %d %d %d\n", c[0], c[3], c[4]);
    int *pinned, *managed; OK(cudaMallocHost(&pinned, 64)); OK(cudaMallocManaged(&managed, 64)); *pinned = 3; *managed = 4; OK(cudaMemcpy(d, pinned, 4, cudaMemcpyDefault)); OK(cudaMemcpy(d + 1, managed, 4, cudaMemcpyDefault)); OK(cudaMemcpy(r, d, 8, cudaMemcpyDefault)); printf("pinned %d managed %d\n", r[0], r[1]);
    cudaPointerAttributes a[4]; OK(cudaPointerGetAttributes(&a[0], pinned)); OK(cudaPointerGetAttributes(&a[1], d)); OK(cudaPointerGetAttributes(&a[2], managed)); OK(cudaPointerGetAttributes(&a[3], h)); printf("types %d %d %d %d\n", a[0].type, a[1].type, a[2].type, a[3].type);
    static char page[8192] __attribute__((aligned(4096))); void *mapped; OK(cudaHostRegister(page, 4096, cudaHostRegisterMapped)); OK(cudaHostGetDevicePointer(&mapped, page, 0)); printf("registered %d\n", mapped != 0); OK(cudaHostUnregister(page));
    OK(cudaFreeHost(pinned)); OK(cudaFree(managed)); OK(cudaFree(d)); OK(cudaFree(box.ptr));
}
