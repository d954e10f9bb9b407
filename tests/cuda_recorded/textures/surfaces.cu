// Surfaces: reading and writing arrays from kernels, and what happens at their edges.
#include "show.h"

enum { WIDTH = 8, HEIGHT = 4 };

__global__ void write(cudaSurfaceObject_t surface) {
    surf2Dwrite((int)(threadIdx.x + 10 * threadIdx.y), surface, threadIdx.x * sizeof(int), threadIdx.y);
}
__global__ void mirror(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int value = surf2Dread<int>(from, threadIdx.x * sizeof(int), threadIdx.y);
    surf2Dwrite(value, to, (WIDTH - 1 - threadIdx.x) * sizeof(int), threadIdx.y);
}
__global__ void edges(cudaSurfaceObject_t surface, int *seen) {
    seen[0] = surf2Dread<int>(surface, -4, 1, cudaBoundaryModeZero);
    seen[1] = surf2Dread<int>(surface, -4, 1, cudaBoundaryModeClamp);
    seen[2] = surf2Dread<int>(surface, WIDTH * 4, 2, cudaBoundaryModeClamp);
    seen[3] = surf2Dread<int>(surface, 4, 99, cudaBoundaryModeZero);
    surf2Dwrite(777, surface, 400, 0, cudaBoundaryModeZero);
    surf2Dwrite(888, surface, 400, 3, cudaBoundaryModeClamp);
    seen[4] = surf2Dread<int>(surface, 28, 3);
}

int main() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t one, two, plain;
    OK(cudaMallocArray(&one, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&two, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&plain, &format, WIDTH, HEIGHT));
    cudaResourceDesc resource = {}, back = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = one;
    cudaSurfaceObject_t from, to, wrong;
    CALL(cudaCreateSurfaceObject(&from, &resource));
    CALL(cudaGetSurfaceObjectResourceDesc(&back, from));
    SHOW(back.resType);
    SHOW(back.res.array.array == one);
    resource.res.array.array = two;
    CALL(cudaCreateSurfaceObject(&to, &resource));
    write<<<1, dim3(WIDTH, HEIGHT)>>>(from);
    mirror<<<1, dim3(WIDTH, HEIGHT)>>>(from, to);
    int host[HEIGHT][WIDTH];
    CALL(cudaMemcpy2DFromArray(host, sizeof host[0], two, 0, 0, sizeof host[0], HEIGHT, cudaMemcpyDeviceToHost));
    SHOW(host[0][0]);
    SHOW(host[3][7]);
    SHOW(host[2][1]);
    int *seen = zeros<int>(5);
    edges<<<1, 1>>>(from, seen);
    for (int index = 0; index < 5; index++) SHOW(at(seen, index));
    CALL(cudaMemcpy2DFromArray(host, sizeof host[0], one, 0, 0, sizeof host[0], HEIGHT, cudaMemcpyDeviceToHost));
    SHOW(host[0][7]);
    SHOW(host[3][7]);
    resource.res.array.array = plain;
    CALL(cudaCreateSurfaceObject(&wrong, &resource));
    resource.resType = cudaResourceTypeLinear;
    CALL(cudaCreateSurfaceObject(&wrong, &resource));
    LAST();
    CALL(cudaDestroySurfaceObject(from));
    CALL(cudaDestroySurfaceObject(to));
    LAST();
    return 0;
}
