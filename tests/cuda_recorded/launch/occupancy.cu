// Occupancy: what must be so on every device.
#include "show.h"

__global__ void kernel(int *p) { p[threadIdx.x] = threadIdx.x; }
__global__ void __launch_bounds__(64) small(int *p) { p[threadIdx.x] = threadIdx.x; }

int main() {
    int blocks = 0, grid = 0, block = 0, per_multiprocessor = 0;
    OK(cudaDeviceGetAttribute(&per_multiprocessor, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 0));
    SHOW(blocks == per_multiprocessor / 1024);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 0));
    SHOW(blocks == per_multiprocessor / 128);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 1 << 24));
    SHOW(blocks);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1025, 0));
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 65, 0));
    SHOW(blocks == per_multiprocessor / 96);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0));
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 64, 0, cudaOccupancyDisableCachingOverride));
    SHOW(blocks > 0);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 64, 0, 0x100));
    LAST();
    CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel));
    SHOW(block <= 1024 && block >= 128 && grid > 0);
    CALL(cudaOccupancyMaxPotentialBlockSize(&grid, &block, small));
    SHOW(block);
    CALL(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, kernel, [](int size) { return size * 8; }, 256));
    SHOW(block <= 256);
    size_t room = 0;
    CALL(cudaOccupancyAvailableDynamicSMemPerBlock(&room, kernel, 1, 128));
    SHOW(room > 0);
    return 0;
}
