// Layered and mipmapped arrays.
#include "show.h"

enum { WIDTH = 4, HEIGHT = 4, LAYERS = 3 };

__global__ void layer(cudaTextureObject_t texture, float *seen) {
    seen[threadIdx.x] = tex2DLayered<float>(texture, 1.5f, 2.5f, threadIdx.x);
}
__global__ void level(cudaTextureObject_t texture, float *seen) {
    seen[threadIdx.x] = tex2DLod<float>(texture, 0.4f, 0.6f, threadIdx.x * 0.5f);
}

int main() {
    float host[LAYERS][HEIGHT][WIDTH];
    for (int index = 0; index < WIDTH * HEIGHT * LAYERS; index++) (&host[0][0][0])[index] = index;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CALL(cudaMalloc3DArray(&array, &format, make_cudaExtent(WIDTH, HEIGHT, LAYERS), cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, WIDTH * sizeof(float), WIDTH, HEIGHT);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(WIDTH, HEIGHT, LAYERS);
    copy.kind = cudaMemcpyHostToDevice;
    CALL(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    float *seen = zeros<float>(8);
    layer<<<1, 4>>>(texture, seen);
    for (int index = 0; index < 4; index++) SHOW_REAL(at(seen, index));
    cudaMipmappedArray_t pyramid;
    CALL(cudaMallocMipmappedArray(&pyramid, &format, make_cudaExtent(WIDTH, HEIGHT, 0), 3));
    for (int step = 0; step < 3; step++) {
        cudaArray_t plane;
        cudaExtent extent;
        CALL(cudaGetMipmappedArrayLevel(&plane, pyramid, step));
        CALL(cudaArrayGetInfo(nullptr, &extent, nullptr, plane));
        SHOW(extent.width);
        size_t bytes = extent.width * sizeof(float);
        CALL(cudaMemcpy2DToArray(plane, 0, 0, host[step], WIDTH * sizeof(float), bytes, extent.height, cudaMemcpyHostToDevice));
    }
    cudaArray_t none;
    CALL(cudaGetMipmappedArrayLevel(&none, pyramid, 3));
    LAST();
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = pyramid;
    how.normalizedCoords = 1;
    how.maxMipmapLevelClamp = 2;
    how.mipmapFilterMode = cudaFilterModeLinear;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    level<<<1, 6>>>(texture, seen);
    for (int index = 0; index < 6; index++) SHOW_REAL(at(seen, index));
    CALL(cudaDestroyTextureObject(texture));
    CALL(cudaFreeMipmappedArray(pyramid));
    CALL(cudaFreeArray(array));
    LAST();
    return 0;
}
