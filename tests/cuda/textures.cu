// Arrays, textures and surfaces: point and linear filtering, addresses outside, linear memory, writes, what they tell of themselves.
//= point 6 linear 2.5
//= border 0 clamp 16
//= linear memory 9
//= surface 3
//= info 4 4 32
//= copied 16 11
//= told 0 1
#include "check.h"
__global__ void sample(cudaTextureObject_t t, float *out, float x, float y) { *out = tex2D<float>(t, x, y); }
__global__ void fetch(cudaTextureObject_t t, float *out, int i) { *out = tex1Dfetch<float>(t, i); }
__global__ void write(cudaSurfaceObject_t s) { surf2Dwrite((float)threadIdx.x, s, threadIdx.x * 4, 1); }
static float *out; static float at(cudaTextureObject_t t, float x, float y) { float v = -1; sample<<<1, 1>>>(t, out, x, y); OK(cudaMemcpy(&v, out, 4, cudaMemcpyDefault)); return v; }
int main() {
    float h[16], r[16] = {}; for (int i = 0; i < 16; i++) h[i] = i + 1; OK(cudaMalloc(&out, 64));
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(); cudaArray_t a; OK(cudaMallocArray(&a, &f, 4, 4, cudaArraySurfaceLoadStore)); OK(cudaMemcpy2DToArray(a, 0, 0, h, 16, 16, 4, cudaMemcpyHostToDevice));
    cudaResourceDesc res = {}; res.resType = cudaResourceTypeArray; res.res.array.array = a; cudaTextureDesc d = {}; d.addressMode[0] = d.addressMode[1] = cudaAddressModeBorder; cudaTextureObject_t t, u; OK(cudaCreateTextureObject(&t, &res, &d, 0));
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp; d.filterMode = cudaFilterModeLinear; OK(cudaCreateTextureObject(&u, &res, &d, 0));
    printf("point %g linear %g\n", at(t, 1.5f, 1.5f), at(u, 2.0f, 0.5f)); printf("border %g clamp %g\n", at(t, -3, 1), at(u, 9, 9));
    cudaResourceDesc lin = {}; lin.resType = cudaResourceTypeLinear; lin.res.linear.devPtr = out; lin.res.linear.desc = f; lin.res.linear.sizeInBytes = 64; cudaTextureDesc plain = {}; cudaTextureObject_t l; OK(cudaMemcpy(out, h, 64, cudaMemcpyHostToDevice)); OK(cudaCreateTextureObject(&l, &lin, &plain, 0)); float *v, hv; OK(cudaMalloc(&v, 4)); fetch<<<1, 1>>>(l, v, 8); OK(cudaMemcpy(&hv, v, 4, cudaMemcpyDefault)); printf("linear memory %g\n", hv);
    cudaSurfaceObject_t s; OK(cudaCreateSurfaceObject(&s, &res)); write<<<1, 4>>>(s); OK(cudaDeviceSynchronize()); printf("surface %g\n", at(t, 3.5f, 1.5f));
    cudaExtent e; unsigned fl; cudaChannelFormatDesc g; OK(cudaArrayGetInfo(&g, &e, &fl, a)); printf("info %zu %zu %d\n", e.width, e.height, g.x);
    OK(cudaMemcpy2DFromArray(r, 16, a, 0, 2, 16, 2, cudaMemcpyDeviceToHost)); cudaMemcpy3DParms m = {}; float b = 0; m.srcArray = a; m.srcPos = make_cudaPos(2, 2, 0); m.dstPtr = make_cudaPitchedPtr(&b, 4, 1, 1); m.extent = make_cudaExtent(1, 1, 1); m.kind = cudaMemcpyDeviceToHost; OK(cudaMemcpy3D(&m)); printf("copied %g %g\n", r[7], b);
    cudaResourceDesc told; cudaTextureDesc texture; OK(cudaGetTextureObjectResourceDesc(&told, u)); OK(cudaGetTextureObjectTextureDesc(&texture, u)); printf("told %d %d\n", told.resType, texture.filterMode == cudaFilterModeLinear && told.res.array.array == a);
    OK(cudaDestroyTextureObject(t)); OK(cudaDestroyTextureObject(u)); OK(cudaDestroyTextureObject(l)); OK(cudaDestroySurfaceObject(s)); OK(cudaFreeArray(a));
}
