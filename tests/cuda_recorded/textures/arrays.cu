// CUDA arrays: their shapes, and copies in and out.
#include "show.h"

enum { WIDTH = 20, HEIGHT = 6 };

int main() {
    int host[HEIGHT][WIDTH], back[HEIGHT][WIDTH];
    for (int index = 0; index < WIDTH * HEIGHT; index++) (&host[0][0])[index] = index * 3;
    memset(back, 0, sizeof back);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), found;
    cudaArray_t array = nullptr, line = nullptr, wrong = nullptr;
    cudaExtent extent;
    unsigned flags = 9;
    CALL(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    CALL(cudaArrayGetInfo(&found, &extent, &flags, array));
    SHOW(found.x * 1000 + found.y * 100 + found.z * 10 + found.w);
    SHOW(found.f);
    SHOW(extent.width * 10000 + extent.height * 100 + extent.depth);
    SHOW(flags);
    CALL(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], HEIGHT, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 0, sizeof back[0], HEIGHT, cudaMemcpyDeviceToHost));
    SHOW(memcmp(host, back, sizeof host));
    CALL(cudaMemcpy2DToArray(array, 8, 1, host, sizeof host[0], 12, 2, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2DFromArray(back, sizeof back[0], array, 4, 1, 20, 1, cudaMemcpyDeviceToHost));
    for (int index = 0; index < 5; index++) SHOW(back[0][index]);
    CALL(cudaMallocArray(&line, &format, WIDTH));
    CALL(cudaArrayGetInfo(&found, &extent, &flags, line));
    SHOW(extent.width * 10000 + extent.height * 100 + extent.depth);
    CALL(cudaMemcpy2DArrayToArray(line, 0, 0, array, 8, 1, 12, 1, cudaMemcpyDeviceToDevice));
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    CALL(cudaMemcpy2DFromArrayAsync(back, sizeof back[0], line, 0, 0, 12, 1, cudaMemcpyDeviceToHost, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(back[0][2]);
    CALL(cudaMemcpy2DToArrayAsync(array, 0, 0, host, 80, 84, 1, cudaMemcpyHostToDevice, stream));
    CALL(cudaMemcpy2DToArray(array, 0, 0, host, 80, 80, HEIGHT + 1, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2DToArray(array, 0, 0, host, 80, 80, 1, cudaMemcpyDeviceToHost));
    LAST();
    cudaChannelFormatDesc three = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
    cudaChannelFormatDesc odd = cudaCreateChannelDesc(24, 0, 0, 0, cudaChannelFormatKindSigned);
    cudaChannelFormatDesc mixed = cudaCreateChannelDesc(32, 16, 0, 0, cudaChannelFormatKindSigned);
    CALL(cudaMallocArray(&wrong, &three, WIDTH, HEIGHT));
    CALL(cudaMallocArray(&wrong, &odd, WIDTH, HEIGHT));
    CALL(cudaMallocArray(&wrong, &mixed, WIDTH, HEIGHT));
    CALL(cudaMallocArray(&wrong, &format, 0, HEIGHT));
    CALL(cudaMallocArray(&wrong, &format, 1 << 30, HEIGHT));
    LAST();
    CALL(cudaGetChannelDesc(&found, array));
    SHOW(found.x);
    CALL(cudaFreeArray(array));
    CALL(cudaFreeArray(line));
    cudaArray_t box = nullptr;
    CALL(cudaMalloc3DArray(&box, &format, make_cudaExtent(8, 4, 3), cudaArraySurfaceLoadStore));
    CALL(cudaArrayGetInfo(&found, &extent, &flags, box));
    SHOW(extent.width * 10000 + extent.height * 100 + extent.depth);
    SHOW(flags);
    CALL(cudaFreeArray(box));
    LAST();
    return 0;
}
