// Functions of the host in a stream: their order among kernels, and that they may not call the library.
#include "show.h"
#include <string>

// What the host functions saw: printed when the stream has done them, as they run beside the program.
static std::string notes;

#define NOTE(...)                                                          \
    do {                                                                   \
        const char *name_ = name_of(__VA_ARGS__);                          \
        notes += std::string(#__VA_ARGS__) + " = " + name_ + "\n";          \
    } while (0)

static void print_notes() {
    printf("%s", notes.c_str());
    notes.clear();
}

__global__ void add(int *number, int value) { *number += value; }

static int *mapped;
static int seen[4];

static void CUDART_CB look(void *place) { seen[(size_t)place] = *(volatile int *)mapped; }

static void CUDART_CB forbidden(void *) {
    int *memory = nullptr;
    int count = 0;
    NOTE(cudaMalloc(&memory, 16));
    NOTE(cudaFree(nullptr));
    NOTE(cudaStreamSynchronize(nullptr));
    NOTE(cudaDeviceSynchronize());
    NOTE(cudaMemset(mapped, 0, 4));
    NOTE(cudaGetDeviceCount(&count));
    NOTE(cudaStreamQuery(nullptr));
    NOTE(cudaGetLastError());
}

static void CUDART_CB called(cudaStream_t stream, cudaError_t status, void *expected) {
    notes += stream == (cudaStream_t)expected ? "    the stream, " : "    another stream, ";
    notes += std::string(name_of(status)) + "\n";
    int *memory = nullptr;
    NOTE(cudaMalloc(&memory, 16));
    NOTE(cudaStreamSynchronize(stream));
}

int main() {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaHostAlloc(&mapped, sizeof *mapped, cudaHostAllocMapped));
    *mapped = 0;
    for (size_t turn = 0; turn < 4; turn++) {
        add<<<1, 1, 0, stream>>>(mapped, 10);
        CALL(cudaLaunchHostFunc(stream, look, (void *)turn));
    }
    CALL(cudaStreamSynchronize(stream));
    for (int value : seen) SHOW(value);
    CALL(cudaLaunchHostFunc(stream, forbidden, nullptr));
    CALL(cudaStreamSynchronize(stream));
    print_notes();
    CALL(cudaStreamAddCallback(stream, called, stream, 0));
    CALL(cudaStreamSynchronize(stream));
    print_notes();
    CALL(cudaStreamAddCallback(stream, called, stream, 1));
    CALL(cudaLaunchHostFunc(nullptr, look, (void *)0));
    CALL(cudaDeviceSynchronize());
    SHOW(seen[0]);
    LAST();
    return 0;
}
