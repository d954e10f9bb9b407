// Kernels that launch kernels: what children see and leave, in which order they run, and when the parent has ended.
// nvcc: -rdc=true -lcudadevrt
#include "show.h"

struct Numbers {
    char first;
    long long second;
    int third[3];
};

__global__ void put(int *place, int value) { *place = value; }

__global__ void digit(int *place, int value) { *place = *place * 10 + value; }

__global__ void add_all(int *sum, int value) { atomicAdd(sum, value * (threadIdx.x + 1)); }

__global__ void digits_in_order(int *place) {
    for (int value = 1; value <= 5; value++) digit<<<1, 1>>>(place, value);
}

// What a parent wrote before a launch, its child reads; what a child wrote, the next child reads.

__global__ void sums(const int *data, int *sum) { atomicAdd(sum, data[threadIdx.x]); }

__global__ void hands_over(int *data, int *sum) {
    data[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x == 0) sums<<<1, 64>>>(data, sum);
}

__global__ void takes(Numbers numbers, short small, double *result) {
    extern __shared__ double shared[];
    shared[threadIdx.x] = numbers.second + numbers.third[threadIdx.x % 3] + numbers.first;
    __syncthreads();
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    result[block * blockDim.x + threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x] * small;
}

__global__ void gives(double *result) {
    Numbers numbers = {7, 1ll << 40, {10, 20, 30}};
    takes<<<dim3(2, 2, 2), 32, 32 * sizeof(double)>>>(numbers, -3, result);
}

__global__ void many(int *sum) {
    if (threadIdx.x % 4 == 0) add_all<<<2, 8>>>(sum, blockIdx.x + 1);
}

__global__ void tree(int *count, int depth) {
    atomicAdd(count, 1);
    if (depth > 0 && threadIdx.x == 0) {
        tree<<<1, 2>>>(count, depth - 1);
        tree<<<2, 1>>>(count, depth - 1);
    }
}

__global__ void deeper(int *depths, int depth, int most) {
    depths[0] = depth;
    if (depth == most) return;
    deeper<<<1, 1>>>(depths, depth + 1, most);
    int error = cudaGetLastError();
    if (error != 0) depths[1] = error, depths[2] = depth;
}

__device__ void deeper_in_tail(int *depths, int depth, int most);

__global__ void tail(int *depths, int depth, int most) { deeper_in_tail(depths, depth, most); }

__device__ void deeper_in_tail(int *depths, int depth, int most) {
    depths[0] = depth;
    if (depth == most) return;
    tail<<<1, 1, 0, cudaStreamTailLaunch>>>(depths, depth + 1, most);
    int error = cudaGetLastError();
    if (error != 0) depths[1] = error, depths[2] = depth;
}

// All that a grid launches otherwise has ended before the first of what it launches behind itself begins, and that runs in order.
__global__ void behind(int *place) {
    digit<<<1, 1, 0, cudaStreamTailLaunch>>>(place, 7);
    put<<<1, 1, 0, cudaStreamFireAndForget>>>(place, 4);
    digit<<<1, 1, 0, cudaStreamTailLaunch>>>(place, 8);
    digit<<<1, 1, 0, cudaStreamTailLaunch>>>(place, 9);
}

__global__ void inner_behind(int *place) {
    digit<<<1, 1, 0, cudaStreamTailLaunch>>>(place, 2);
    digit<<<1, 1, 0, cudaStreamTailLaunch>>>(place, 3);
    *place = 1;
}

__global__ void outer_behind(int *place) {
    digit<<<1, 1, 0, cudaStreamTailLaunch>>>(place, 5);
    inner_behind<<<1, 1>>>(place);
    digit<<<1, 1>>>(place, 4);
}

__global__ void nested_behind(int *place) {
    inner_behind<<<1, 1, 0, cudaStreamTailLaunch>>>(place);
    digit<<<1, 1, 0, cudaStreamTailLaunch>>>(place, 6);
}

__global__ void forgets(int *sum) {
    add_all<<<4, 32, 0, cudaStreamFireAndForget>>>(sum, 1);
    add_all<<<4, 32, 0, cudaStreamFireAndForget>>>(sum, 2);
}



__device__ void (*chosen)(int *, int) = put;

__global__ void with_variable(int *place) { chosen<<<1, 1>>>(place, 32); }

template <typename T> __global__ void fill(T *memory, T value) { memory[threadIdx.x] = value; }

template <typename T> __global__ void fills(T *memory, T value) { fill<T><<<1, 16>>>(memory, value); }

int main() {
    int *numbers = zeros<int>(128);
    digits_in_order<<<1, 1>>>(numbers);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers));
    int *data = zeros<int>(64);
    hands_over<<<1, 64>>>(data, numbers + 1);
    CALL(cudaStreamSynchronize(0));
    SHOW(at(numbers, 1));
    double *result = zeros<double>(256);
    gives<<<1, 1>>>(result);
    CALL(cudaDeviceSynchronize());
    SHOW_REAL(at(result));
    SHOW_REAL(at(result, 1));
    SHOW_REAL(at(result, 255));
    many<<<8, 16>>>(numbers + 2);
    // Comes behind the children too.
    add_all<<<1, 1>>>(numbers + 2, 1);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 2));
    tree<<<1, 1>>>(numbers + 3, 5);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 3));
    deeper<<<1, 1>>>(numbers + 4, 1, 40);
    CALL(cudaDeviceSynchronize());
    for (int index = 4; index < 7; index++) SHOW(at(numbers, index));
    tail<<<1, 1>>>(numbers + 8, 1, 300);
    CALL(cudaDeviceSynchronize());
    for (int index = 8; index < 11; index++) SHOW(at(numbers, index));
    behind<<<1, 1>>>(numbers + 12);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 12));
    outer_behind<<<1, 1>>>(numbers + 13);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 13));
    nested_behind<<<1, 1>>>(numbers + 14);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 14));
    forgets<<<1, 1>>>(numbers + 15);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 15));
    with_variable<<<1, 1>>>(numbers + 16);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 16));
    fills<<<1, 1>>>(numbers + 20, 5);
    fills<<<1, 1>>>((double *)(numbers + 40), 2.5);
    CALL(cudaDeviceSynchronize());
    SHOW(at(numbers, 35));
    SHOW_REAL(at((double *)(numbers + 40), 3));
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMemset(numbers, 0, 4));
    tree<<<1, 1, 0, stream>>>(numbers, 8);
    OK(cudaEventRecord(event, stream));
    CALL(cudaEventSynchronize(event));
    SHOW(at(numbers));
    return 0;
}
