// What threads of a warp and of a block do together.
#include "show.h"

__global__ void votes(unsigned *out) {
    unsigned lane = threadIdx.x;
    unsigned odd = __ballot_sync(~0u, lane & 1), same = __match_any_sync(~0u, lane / 8);
    int turned = __shfl_xor_sync(~0u, lane * 3, 5), up = __shfl_up_sync(~0u, lane, 2);
    if (lane == 9) {
        out[0] = odd;
        out[1] = same;
        out[2] = turned;
        out[3] = up;
        out[4] = __popc(odd) + __clz(lane) + __ffs(lane) + __brev(lane);
        out[5] = __byte_perm(0x01234567, 0x89abcdef, 0x7531);
    }
    out[6] = __syncthreads_count(lane > 20);
    out[7] = __any_sync(~0u, lane == 40) + 2 * __all_sync(~0u, lane < 40);
}

__global__ void histogram(const unsigned char *bytes, int count, int *bins) {
    __shared__ int mine[16];
    if (threadIdx.x < 16) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < count; index += gridDim.x * blockDim.x) {
        atomicAdd(&mine[bytes[index] & 15], 1);
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

int main() {
    unsigned *out = zeros<unsigned>(8);
    votes<<<1, 32>>>(out);
    for (int index = 0; index < 8; index++) SHOW(at(out, index));
    unsigned char host[5000];
    for (int index = 0; index < 5000; index++) host[index] = index * index / 7;
    unsigned char *bytes = zeros<unsigned char>(5000);
    int *bins = zeros<int>(16);
    OK(cudaMemcpy(bytes, host, sizeof host, cudaMemcpyHostToDevice));
    histogram<<<7, 96>>>(bytes, 5000, bins);
    for (int index = 0; index < 16; index++) SHOW(at(bins, index));
    LAST();
    return 0;
}
