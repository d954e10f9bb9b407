// Device memory: sizes, alignment, pitch, and what may be freed.
#include "show.h"

int main() {
    void *one = (void *)1, *two = nullptr;
    size_t pitch = 0, free_bytes = 0, total = 0;
    CALL(cudaMalloc(&one, 0));
    SHOW(one == nullptr);
    CALL(cudaFree(one));
    CALL(cudaMalloc(&one, 1));
    CALL(cudaMalloc(&two, 1));
    SHOW(one != two);
    SHOW((size_t)one % 256 + (size_t)two % 256);
    CALL(cudaFree((char *)one + 1));
    LAST();
    CALL(cudaFree(one));
    CALL(cudaFree(one));
    LAST();
    CALL(cudaFree(two));
    CALL(cudaMalloc(&one, (size_t)1 << 56));
    LAST();
    CALL(cudaMallocPitch(&one, &pitch, 100, 10));
    SHOW(pitch >= 100 && pitch % 32 == 0);
    CALL(cudaFree(one));
    CALL(cudaMallocPitch(&one, &pitch, 100, 0));
    SHOW(one == nullptr);
    cudaPitchedPtr pitched = {};
    CALL(cudaMalloc3D(&pitched, make_cudaExtent(60, 5, 4)));
    SHOW(pitched.pitch >= 60);
    SHOW(pitched.xsize);
    SHOW(pitched.ysize);
    CALL(cudaMemset3D(pitched, 3, make_cudaExtent(60, 5, 4)));
    CALL(cudaFree(pitched.ptr));
    CALL(cudaMemGetInfo(&free_bytes, &total));
    SHOW(free_bytes > 0 && free_bytes <= total);
    LAST();
    return 0;
}
