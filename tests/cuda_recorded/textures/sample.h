// Kernels that read a texture of four floats in one to three dimensions, and show what they read.
#ifndef SAMPLE_H
#define SAMPLE_H

#include "sweep.h"

__global__ void line(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex1D<float4>(texture, at[thread].x));
}
__global__ void plane(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex2D<float4>(texture, at[thread].x, at[thread].y));
}
__global__ void box(cudaTextureObject_t texture, const float4 *at, uint4 *seen, int count) {
    THREAD(count);
    seen[thread] = words_of(tex3D<float4>(texture, at[thread].x, at[thread].y, at[thread].z));
}

#endif
