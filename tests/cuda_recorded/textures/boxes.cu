// Textures of three dimensions and of one.
#include "show.h"

enum { WIDTH = 4, HEIGHT = 3, DEPTH = 2 };

__global__ void inside(cudaTextureObject_t texture, float *seen) {
    float step = threadIdx.x;
    seen[threadIdx.x] = tex3D<float>(texture, 0.5f + step * 0.4f, 0.5f + step * 0.25f, 0.5f + step * 0.125f);
}
__global__ void along(cudaTextureObject_t texture, float *seen) { seen[threadIdx.x] = tex1D<float>(texture, threadIdx.x * 0.75f); }

int main() {
    float host[DEPTH][HEIGHT][WIDTH];
    for (int index = 0; index < WIDTH * HEIGHT * DEPTH; index++) (&host[0][0][0])[index] = index * index;
    cudaArray_t box, line;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaMalloc3DArray(&box, &format, make_cudaExtent(WIDTH, HEIGHT, DEPTH)));
    OK(cudaMallocArray(&line, &format, WIDTH));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, WIDTH * sizeof(float), WIDTH, HEIGHT);
    copy.dstArray = box;
    copy.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    copy.kind = cudaMemcpyHostToDevice;
    CALL(cudaMemcpy3D(&copy));
    CALL(cudaMemcpy2DToArray(line, 0, 0, host, sizeof host[0][0], sizeof host[0][0], 1, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
    float *seen = zeros<float>(8);
    for (cudaTextureFilterMode filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        how.filterMode = filter;
        cudaTextureObject_t texture;
        resource.res.array.array = box;
        CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
        inside<<<1, 8>>>(texture, seen);
        for (int index = 0; index < 8; index++) SHOW_REAL(at(seen, index));
        CALL(cudaDestroyTextureObject(texture));
        resource.res.array.array = line;
        CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
        along<<<1, 8>>>(texture, seen);
        for (int index = 0; index < 8; index++) SHOW_REAL(at(seen, index));
        CALL(cudaDestroyTextureObject(texture));
    }
    LAST();
    return 0;
}
