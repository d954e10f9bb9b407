// The last error of a thread: who sets it, who takes it away, and that a thread sees its own only.
#include "show.h"
#include <thread>

__global__ void empty() {}

int main() {
    void *memory = nullptr;
    CALL(cudaGetLastError());
    CALL(cudaMalloc(nullptr, 16));
    CALL(cudaMalloc(&memory, 16));
    LAST();
    CALL(cudaFree((void *)64));
    CALL(cudaSetDevice(500));
    LAST();
    CALL(cudaStreamQuery(nullptr));
    LAST();
    empty<<<0, 1>>>();
    LAST();
    empty<<<1, 2000>>>();
    LAST();
    empty<<<1, 1, 1 << 30>>>();
    CALL(cudaDeviceSynchronize());
    LAST();
    empty<<<1, 1>>>();
    LAST();
    CALL(cudaMalloc(&memory, (size_t)1 << 60));
    CALL(cudaPeekAtLastError());
    std::thread([] {
        LAST();
        CALL(cudaFree((void *)64));
        CALL(cudaPeekAtLastError());
    }).join();
    LAST();
    // Answers that are no errors leave no trace: an event that has not happened yet.
    cudaEvent_t event;
    CALL(cudaEventCreate(&event));
    CALL(cudaEventQuery(event));
    CALL(cudaEventQuery(nullptr));
    LAST();
    return 0;
}
