// Copies of rectangles.
#include "show.h"

int main() {
    unsigned char host[8][16], back[8][20];
    for (int index = 0; index < 128; index++) (&host[0][0])[index] = index;
    unsigned char *memory, *other = zeros<unsigned char>(32 * 8);
    size_t pitch;
    OK(cudaMallocPitch(&memory, &pitch, 16, 8));
    OK(cudaMemset2D(memory, pitch, 0xee, 16, 8));
    CALL(cudaMemcpy2D(memory, pitch, host, 16, 12, 7, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(other, 32, memory, pitch, 16, 8, cudaMemcpyDeviceToDevice));
    memset(back, 0x77, sizeof back);
    CALL(cudaMemcpy2D(back, 20, other, 32, 16, 8, cudaMemcpyDeviceToHost));
    SHOW(back[0][11]);
    SHOW(back[0][12]);
    SHOW(back[0][16]);
    SHOW(back[6][3]);
    SHOW(back[7][3]);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    CALL(cudaMemset2DAsync(memory, pitch, 9, 4, 2, stream));
    CALL(cudaMemcpy2DAsync(back, 20, memory, pitch, 8, 3, cudaMemcpyDefault, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(back[1][3]);
    SHOW(back[1][4]);
    SHOW(back[2][3]);
    CALL(cudaMemcpy2D(back, 20, memory, pitch, 24, 3, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy2D(back, 8, memory, pitch, 16, 3, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy2D(back, 20, memory, 8, 16, 3, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy2D(back, 20, memory, pitch, 0, 3, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy2D(back, 20, memory, pitch, 4, 0, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy2D(nullptr, 20, memory, pitch, 4, 1, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy2D(back, 20, memory, pitch, 4, 1, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(back, 20, memory, pitch, 4, 1, (cudaMemcpyKind)7));
    LAST();
    return 0;
}
