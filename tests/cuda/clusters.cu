// Clusters: dimensions from an attribute of the launch, and what their CTAs read of each other's shared memory.
//: -gencode arch=compute_90,code=compute_90
//= ranks 0 1 2 3 0 1 2 3
//= sizes 4 4
//= neighbours 11 12 13 10 15 16 17 14
//= by two 1 0 3 2 5 4 7 6
//= of one 0 1 2
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

struct Found { unsigned rank[8], size[8]; int neighbour[8]; };

__global__ void look(Found *found) {
#if __CUDA_ARCH__ >= 900
    __shared__ int own;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
    if (threadIdx.x == 0) own = 10 + blockIdx.x;
    cluster.sync();
    int *other = cluster.map_shared_rank(&own, (rank + 1) % size);
    if (threadIdx.x == 0) { found->rank[blockIdx.x] = rank; found->size[blockIdx.x] = size; found->neighbour[blockIdx.x] = *other; }
    cluster.sync();
#endif
}

static cudaError_t launch(unsigned blocks, unsigned size, Found *found) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size; attribute.val.clusterDim.y = 1; attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks); config.blockDim = dim3(64);
    config.attrs = &attribute; config.numAttrs = 1;
    void *arguments[] = {&found};
    return cudaLaunchKernelExC(&config, (const void *)look, arguments);
}

int main() {
    Found *found, h;
    OK(cudaMalloc(&found, sizeof h));
    OK(launch(8, 4, found));
    OK(cudaMemcpy(&h, found, sizeof h, cudaMemcpyDefault));
    printf("ranks"); for (int i = 0; i < 8; i++) printf(" %u", h.rank[i]);
    printf("\nsizes %u %u\n", h.size[0], h.size[7]);
    printf("neighbours"); for (int i = 0; i < 8; i++) printf(" %d", h.neighbour[i]);
    OK(launch(8, 2, found));
    OK(cudaMemcpy(&h, found, sizeof h, cudaMemcpyDefault));
    printf("\nby two"); for (int i = 0; i < 8; i++) printf(" %d", h.neighbour[i] - 10);
    OK(launch(3, 1, found));
    OK(cudaMemcpy(&h, found, sizeof h, cudaMemcpyDefault));
    printf("\nof one"); for (int i = 0; i < 3; i++) printf(" %d", h.neighbour[i] - 10);
    printf("\n");
    return 0;
}
