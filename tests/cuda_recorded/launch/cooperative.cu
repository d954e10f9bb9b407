// Grids whose blocks wait for each other.
#include "show.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void rounds(int *numbers, int *result) {
    cg::grid_group grid = cg::this_grid();
    int place = grid.thread_rank(), count = grid.size();
    for (int turn = 0; turn < 5; turn++) {
        int next = numbers[(place + 1) % count];
        grid.sync();
        numbers[place] += next;
        grid.sync();
    }
    if (place == 0) {
        for (int index = 0; index < count; index++) *result += numbers[index];
    }
}

__global__ void groups(int *result) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int sum = tile.thread_rank();
    for (int step = 4; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
    if (tile.thread_rank() == 0) result[tile.meta_group_rank()] = sum;
    cg::coalesced_group active = cg::coalesced_threads();
    if (block.thread_rank() == 0) result[8] = active.size();
}

int main() {
    int *numbers = zeros<int>(128), *result = zeros<int>(16), host[128];
    for (int index = 0; index < 128; index++) host[index] = index % 7;
    OK(cudaMemcpy(numbers, host, sizeof host, cudaMemcpyHostToDevice));
    void *arguments[] = {&numbers, &result};
    CALL(cudaLaunchCooperativeKernel(rounds, dim3(4), dim3(32), arguments));
    CALL(cudaDeviceSynchronize());
    SHOW(at(result));
    CALL(cudaLaunchCooperativeKernel(rounds, dim3(1 << 20), dim3(32), arguments));
    LAST();
    CALL(cudaLaunchCooperativeKernel(rounds, dim3(0), dim3(32), arguments));
    LAST();
    groups<<<1, 64>>>(result);
    CALL(cudaDeviceSynchronize());
    for (int index = 0; index < 9; index++) SHOW(at(result, index));
    return 0;
}
