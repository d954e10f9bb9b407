// A grid waits for itself in relocatable device code, and what the device's runtime library says of groups.
// nvcc: -rdc=true -cudart shared
#include <cooperative_groups.h>

#include "show.h"

namespace groups = cooperative_groups;

__device__ unsigned int arrived;
__device__ unsigned int early;

// Each round, all threads count, all wait, and nobody may see fewer than all.
__global__ void rounds(unsigned int count) {
    const groups::grid_group grid = groups::this_grid();
    for (unsigned int round = 1; round <= count; round++) {
        atomicAdd(&arrived, 1);
        grid.sync();
        if (*(volatile unsigned int *)&arrived < round * gridDim.x * blockDim.x) atomicAdd(&early, 1);
        grid.sync();
    }
}

// The same through the functions of the library.
__global__ void rounds_by_handle(unsigned int count) {
    const unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    for (unsigned int round = 1; round <= count; round++) {
        atomicAdd(&arrived, 1);
        cudaCGSynchronizeGrid(grid, 0);
        if (*(volatile unsigned int *)&arrived < round * gridDim.x * blockDim.x * blockDim.y) atomicAdd(&early, 1);
        cudaCGSynchronize(grid, 0);
    }
}

__global__ void tell(unsigned int *told) {
    const unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    unsigned int threads = 7, grids = 7, rank = 7, index = 7;
    const unsigned int size_answer = cudaCGGetSize(&threads, &grids, grid);
    const unsigned int rank_answer = cudaCGGetRank(&rank, &index, grid);
    const unsigned int thread = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    if (thread == 77) {
        told[0] = grid != 0;
        told[1] = size_answer, told[2] = threads, told[3] = grids;
        told[4] = rank_answer, told[5] = rank, told[6] = index;
        told[7] = cudaCGGetSize(nullptr, nullptr, grid);
        told[8] = cudaCGGetRank(nullptr, nullptr, grid);
        told[9] = cudaCGGetIntrinsicHandle(cudaCGScopeInvalid) != 0;
    }
}

static unsigned int read(const void *symbol) {
    unsigned int value = 0, zero = 0;
    OK(cudaMemcpyFromSymbol(&value, symbol, sizeof value));
    OK(cudaMemcpyToSymbol(symbol, &zero, sizeof zero));
    return value;
}

int main() {
    unsigned int count = 20, *told, host[10];
    void *arguments[] = {&count};
    OK(cudaLaunchCooperativeKernel((const void *)rounds, dim3(12), dim3(96), arguments, 0, 0));
    OK(cudaDeviceSynchronize());
    std::printf("counted %u, early %u\n", read((const void *)&arrived), read((const void *)&early));
    OK(cudaLaunchCooperativeKernel((const void *)rounds_by_handle, dim3(12), dim3(32, 3), arguments, 0, 0));
    OK(cudaDeviceSynchronize());
    std::printf("counted %u, early %u\n", read((const void *)&arrived), read((const void *)&early));
    OK(cudaMalloc(&told, sizeof host));
    for (int cooperative = 1; cooperative >= 0; cooperative--) {
        void *place[] = {&told};
        OK(cudaMemset(told, 0, sizeof host));
        if (cooperative) {
            OK(cudaLaunchCooperativeKernel((const void *)tell, dim3(3, 2), dim3(16, 4), place, 0, 0));
        } else {
            OK(cudaLaunchKernel((const void *)tell, dim3(3, 2), dim3(16, 4), place, 0, 0));
        }
        OK(cudaMemcpy(host, told, sizeof host, cudaMemcpyDeviceToHost));
        std::printf("%s:", cooperative ? "cooperative" : "plain");
        for (const unsigned int value : host) std::printf(" %u", value);
        std::printf("\n");
    }
}
