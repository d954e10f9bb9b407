// Filling memory: bytes in a row, rectangles and boxes, at addresses that are not round.
#include "show.h"

static unsigned char back[4096];

static void show(const unsigned char *memory, size_t count) {
    OK(cudaMemcpy(back, memory, count, cudaMemcpyDeviceToHost));
    unsigned sum = 0;
    for (size_t index = 0; index < count; index++) sum = sum * 31 + back[index];
    SHOW(sum);
}

int main() {
    unsigned char *memory = zeros<unsigned char>(4096);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    CALL(cudaMemset(memory + 1, 0x1ff, 1001));
    show(memory, 4096);
    CALL(cudaMemsetAsync(memory + 7, 3, 2000, stream));
    CALL(cudaStreamSynchronize(stream));
    show(memory, 4096);
    CALL(cudaMemset2D(memory + 3, 100, 5, 33, 20));
    show(memory, 4096);
    CALL(cudaMemset2DAsync(memory, 64, 6, 64, 4, stream));
    CALL(cudaStreamSynchronize(stream));
    show(memory, 4096);
    cudaPitchedPtr box = make_cudaPitchedPtr(memory, 32, 32, 8);
    CALL(cudaMemset3D(box, 9, make_cudaExtent(5, 3, 4)));
    show(memory, 4096);
    CALL(cudaMemset3DAsync(box, 10, make_cudaExtent(32, 8, 2), stream));
    CALL(cudaStreamSynchronize(stream));
    show(memory, 4096);
    CALL(cudaMemset3D(box, 9, make_cudaExtent(33, 3, 4)));
    CALL(cudaMemset3D(box, 9, make_cudaExtent(0, 3, 4)));
    CALL(cudaMemset(memory, 0, (size_t)1 << 45));
    CALL(cudaMemset(nullptr, 0, 1));
    CALL(cudaMemset(nullptr, 0, 0));
    LAST();
    return 0;
}
