// What `maxAnisotropy` does to fetches with gradients, for recording as in answers.c. anisotropy.golden is what NVIDIA's driver printed (CUDA 13.0, H200).
//
//   cc -w -I<dir with cuda.h of CUDA 12.0 or later> anisotropy.c -o anisotropy -lcuda; ./anisotropy
//
// Texels of the base tell their column (x), its square (y) and whether it is the middle one (w); those of each level tell their level (z): means over a footprint
// say where its middle is, how wide it is, and of which level; the middle column's share at texels around it says what weight each place has. A line has how the
// gradients are turned (0 and 1: the longer one is x or y of the screen, and of the texture x; 2 and 3: they lie askew) and how many times one is as long as the other.
#include <cuda.h>
#include <stdio.h>

#define SIDE 256
#define LEVELS 9
#define COUNT 768

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry k(.param .u64 t, .param .u64 p, .param .f32 u, .param .f32 du, .param .f32 v, .param .f32 ax, .param .f32 ay, .param .f32 bx, .param .f32 by) {\n"
    ".reg .b64 %d<4>; .reg .f32 %f<16>; .reg .b32 %r<4>; ld.param.u64 %d1,[t]; ld.param.u64 %d2,[p]; ld.param.f32 %f4,[u]; ld.param.f32 %f5,[du]; ld.param.f32 %f6,[v];\n"
    "ld.param.f32 %f7,[ax]; ld.param.f32 %f8,[ay]; ld.param.f32 %f9,[bx]; ld.param.f32 %f10,[by]; mov.u32 %r0,%tid.x; cvt.rn.f32.u32 %f11,%r0; fma.rn.f32 %f4,%f11,%f5,%f4;\n"
    "tex.grad.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d1,{%f4,%f6}],{%f7,%f8},{%f9,%f10}; mul.wide.u32 %d3,%r0,16; add.u64 %d2,%d2,%d3; st.global.v4.f32 [%d2],{%f0,%f1,%f2,%f3}; ret; }\n";

int main(void) {
  static float texels[SIDE * SIDE * 4], got[COUNT * 4];
  CUdevice dev;
  CUcontext context;
  CUmodule module;
  CUfunction f;
  CUdeviceptr out;
  CUmipmappedArray mip;
  cuInit(0);
  cuDeviceGet(&dev, 0);
  cuDevicePrimaryCtxRetain(&context, dev);
  cuCtxSetCurrent(context);
  cuModuleLoadData(&module, PTX);
  cuModuleGetFunction(&f, module, "k");
  cuMemAlloc(&out, sizeof got);
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = SIDE, .Height = SIDE, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
  cuMipmappedArrayCreate(&mip, &d, LEVELS);
  for (int level = 0; level < LEVELS; level++) {
    int side = SIDE >> level;
    for (int y = 0; y < side; y++)
      for (int x = 0; x < side; x++) {
        float at = (x + 0.5f) * (1 << level), *texel = &texels[4 * (y * side + x)];
        texel[0] = at, texel[1] = at * at, texel[2] = level, texel[3] = level == 0 && x == SIDE / 2 ? 1 : 0;
      }
    CUarray one;
    cuMipmappedArrayGetLevel(&one, mip, level);
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = side * 16, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = one, .WidthInBytes = side * 16, .Height = side};
    cuMemcpy2D(&c);
  }
  static const float RATIO[] = {1, 1.25f, 1.5f, 2, 2.25f, 3, 5, 6, 8, 12, 16, 20, 32};
  static const int MOST[] = {1, 2, 4, 6, 16};
  // Of 0, 0, 45 and 22.9 degrees.
  static const float COS[] = {1, 1, 0.70710678f, 0.92106099f}, SIN[] = {0, 0, 0.70710678f, 0.38941834f};
  for (int most = 0; most < 5; most++) {
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = mip};
    CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .filterMode = CU_TR_FILTER_MODE_LINEAR, .flags = CU_TRSF_NORMALIZED_COORDINATES, .maxAnisotropy = MOST[most],
                             .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR, .maxMipmapLevelClamp = LEVELS};
    CUtexObject texture = 0;
    printf("most %d, linear levels: %d\n", MOST[most], cuTexObjectCreate(&texture, &what, &how, 0));
    for (int turned = 0; turned < 4; turned++)
      for (int ratio = 0; ratio < 13; ratio++) {
        float a = RATIO[ratio] / SIDE, b = 1.0f / SIDE;
        float ax = a * COS[turned], ay = a * SIN[turned], bx = -b * SIN[turned], by = b * COS[turned];
        if (turned == 1) ax = 0, ay = b, bx = a, by = 0;
        float u = (SIDE / 2 + 0.5f - 24) / SIDE, du = 1.0f / 16 / SIDE, v = 0.5f + 0.5f / SIDE;
        void *arguments[] = {&texture, &out, &u, &du, &v, &ax, &ay, &bx, &by};
        cuLaunchKernel(f, 1, 1, 1, COUNT, 1, 1, 0, 0, arguments, 0);
        int done = cuCtxSynchronize();
        cuMemcpyDtoH(got, out, sizeof got);
        if (done) printf("launch %d\n", done);
        // In the middle: how far the mean is off, the mean square around it, and the level; then the weights of whole texels around.
        float *middle = &got[4 * 24 * 16], x = middle[0] - (SIDE / 2 + 0.5f);
        printf("%d %g: %.9g %.9g %.9g;", turned, RATIO[ratio], x, middle[1] - middle[0] * middle[0], middle[2]);
        for (int i = -6; i <= 6; i++) printf(" %.9g", got[4 * (24 + i) * 16 + 3]);
        printf("\n");
      }
    cuTexObjectDestroy(texture);
  }
  return 0;
}
