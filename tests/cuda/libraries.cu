// Libraries that are loaded while the program runs.
//= kernels 1
//= run 77
//= global 3 4
//= cudaErrorSymbolNotFound
#include "check.h"
static const char PTX[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 4 .u32 g = 3;\n.visible .entry k(.param .u64 p) { .reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1,[p]; mov.u32 %r1,77; st.global.u32 [%d1],%r1; ret; }\n";
int main() {
    cudaLibrary_t l; cudaKernel_t k; unsigned n = 0; OK(cudaLibraryLoadData(&l, PTX, 0, 0, 0, 0, 0, 0)); OK(cudaLibraryGetKernelCount(&n, l)); printf("kernels %u\n", n); OK(cudaLibraryGetKernel(&k, l, "k"));
    int *p, h = 0; OK(cudaMalloc(&p, 4)); void *args[] = {&p}; OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(1), args, 0, 0)); OK(cudaMemcpy(&h, p, 4, cudaMemcpyDefault)); printf("run %d\n", h);
    void *g; size_t size = 0; OK(cudaLibraryGetGlobal(&g, &size, l, "g")); OK(cudaMemcpy(&h, g, 4, cudaMemcpyDefault)); printf("global %d %zu\n", h, size); TELL(cudaLibraryGetKernel(&k, l, "none")); OK(cudaLibraryUnload(l));
}
