// A thread's own objects work on the device in their destructors, after the thread did and after the libraries' own objects are gone.
//: -lpthread
//= at work 1
//= at the end 43, called 1
//= at the end of another 43, called 1
#include "check.h"
#include <thread>
__global__ void add(int *p, int v) { *p += v; }
static void called(void *count) { ++*(int *)count; }
struct Worker {
    const char *name = "";
    cudaStream_t stream = 0;
    int *p = 0, count = 0;
    ~Worker() {
        int h = 0;
        add<<<1, 1, 0, stream>>>(p, 42);
        OK(cudaGetLastError());
        OK(cudaLaunchHostFunc(stream, called, &count));
        OK(cudaMemcpyAsync(&h, p, sizeof h, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        printf("at the end%s %d, called %d\n", name, h, count);
        OK(cudaFree(p));
        OK(cudaStreamDestroy(stream));
    }
};
thread_local Worker worker;
static void begin(const char *name) {
    worker.name = name;
    OK(cudaStreamCreate(&worker.stream));
    OK(cudaMalloc(&worker.p, sizeof(int)));
    OK(cudaMemset(worker.p, 0, sizeof(int)));
    OK(cudaDeviceSynchronize());
}
int main() {
    std::thread([] {
        begin("");
        int h = 0;
        add<<<1, 1, 0, worker.stream>>>(worker.p, 1);
        OK(cudaMemcpyAsync(&h, worker.p, sizeof h, cudaMemcpyDeviceToHost, worker.stream));
        OK(cudaStreamSynchronize(worker.stream));
        printf("at work %d\n", h);
    }).join();
    // One whose work all came before that of its own objects.
    std::thread([] { begin(" of another"); add<<<1, 1, 0, worker.stream>>>(worker.p, 1); }).join();
}
