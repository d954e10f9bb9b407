// Textures over plain device memory, in a row and in rows with a pitch.
#include "show.h"

__global__ void row(cudaTextureObject_t texture, int *seen) { seen[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x * 3 - 4); }
__global__ void rows(cudaTextureObject_t texture, float *seen) {
    seen[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.25f, threadIdx.x / 2 + 0.75f);
}

int main() {
    int numbers[32];
    float host[4][10];
    for (int index = 0; index < 32; index++) numbers[index] = 1000 + index;
    for (int index = 0; index < 40; index++) (&host[0][0])[index] = index;
    int *memory = zeros<int>(32), *seen = zeros<int>(16);
    OK(cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof numbers;
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    row<<<1, 16>>>(texture, seen);
    for (int index = 0; index < 16; index++) SHOW(at(seen, index));
    CALL(cudaDestroyTextureObject(texture));
    float *plane, *found = zeros<float>(16);
    size_t pitch;
    OK(cudaMallocPitch(&plane, &pitch, sizeof host[0], 4));
    OK(cudaMemcpy2D(plane, pitch, host, sizeof host[0], sizeof host[0], 4, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = plane;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = 10;
    resource.res.pitch2D.height = 4;
    resource.res.pitch2D.pitchInBytes = pitch;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    rows<<<1, 12>>>(texture, found);
    for (int index = 0; index < 12; index++) SHOW_REAL(at(found, index));
    CALL(cudaDestroyTextureObject(texture));
    resource.res.pitch2D.pitchInBytes = 41;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    LAST();
    return 0;
}
