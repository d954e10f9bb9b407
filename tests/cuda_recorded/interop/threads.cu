// Threads: each has a device and a last error of its own, and all share the context.
#include "show.h"
#include <thread>
#include <vector>

__global__ void add(int *number, int value) { atomicAdd(number, value); }

int main() {
    int *number = zeros<int>(1);
    CUcontext mine = nullptr, theirs = nullptr;
    OK(cuCtxGetCurrent(&mine));
    std::thread([&] {
        CALL(cuCtxGetCurrent(&theirs));
        SHOW(theirs == nullptr);
        CALL(cudaFree(nullptr));
        CALL(cuCtxGetCurrent(&theirs));
        SHOW(theirs == mine);
        CALL(cudaSetDevice(1000));
        LAST();
    }).join();
    LAST();
    std::vector<std::thread> threads;
    for (int index = 0; index < 8; index++) {
        threads.emplace_back([=] {
            cudaStream_t stream;
            OK(cudaStreamCreate(&stream));
            int *scratch = nullptr;
            for (int turn = 0; turn < 20; turn++) {
                OK(cudaMallocAsync(&scratch, 64, stream));
                add<<<2, 32, 0, stream>>>(number, index + 1);
                OK(cudaGetLastError());
                OK(cudaFreeAsync(scratch, stream));
            }
            OK(cudaStreamSynchronize(stream));
            OK(cudaStreamDestroy(stream));
        });
    }
    for (std::thread &thread : threads) thread.join();
    SHOW(at(number));
    return 0;
}
