// What fetches at places that are none answer: infinities, NaN and coordinates far outside, for recording as in answers.c. nowhere.golden is what NVIDIA's driver
// printed (CUDA 13.0, H200).
//
//   cc -w -I<dir with cuda.h of CUDA 12.0 or later> nowhere.c -o nowhere -lcuda; ./nowhere
//
// Texels along x hold the powers of 2 from 1 on. A line has the width, the address mode, whether coordinates are normalised and whether the fetch is linear, and
// what each of the coordinates gives. In the second section, lanes of a warp have two textures in turns.
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT 12

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry k(.param .u64 t, .param .u64 u, .param .u64 p, .param .u64 q) {\n"
    ".reg .b64 %d<5>; .reg .f32 %f<16>; .reg .b32 %r<4>; .reg .pred %p<2>; ld.param.u64 %d1,[t]; ld.param.u64 %d2,[p]; ld.param.u64 %d4,[q];\n"
    "mov.u32 %r0,%tid.x; and.b32 %r1,%r0,1; setp.ne.u32 %p1,%r1,0; @%p1 ld.param.u64 %d1,[u]; mul.wide.u32 %d3,%r0,4; add.u64 %d2,%d2,%d3; add.u64 %d4,%d4,%d3; ld.global.f32 %f4,[%d4]; mov.f32 %f5,0f3F000000;\n"
    "tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3},[%d1,{%f4,%f5}]; st.global.f32 [%d2],%f0; ret; }\n";

int main(void) {
  const float AT[COUNT] = {INFINITY, -INFINITY, NAN, -NAN, 1e9f, -1e9f, 1e20f, -1e20f, 3e38f, -3e38f, 8388609.5f, -4194304.25f};
  static const int WIDTHS[] = {1, 2, 4, 5};
  float got[COUNT], texels[8];
  CUdevice dev;
  CUcontext context;
  CUmodule module;
  CUfunction f;
  CUdeviceptr out, at;
  cuInit(0);
  cuDeviceGet(&dev, 0);
  cuDevicePrimaryCtxRetain(&context, dev);
  cuCtxSetCurrent(context);
  cuModuleLoadData(&module, PTX);
  cuModuleGetFunction(&f, module, "k");
  cuMemAlloc(&out, sizeof got);
  cuMemAlloc(&at, sizeof AT);
  cuMemcpyHtoD(at, AT, sizeof AT);
  for (int i = 0; i < 8; i++) texels[i] = 1 << i;
  for (int textures = 1; textures <= 2; textures++) {
    puts(textures == 1 ? "== one_texture" : "== two_textures");
    for (int w = 0; w < 4; w++) {
      CUDA_ARRAY3D_DESCRIPTOR d = {.Width = WIDTHS[w], .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
      CUarray array;
      cuArray3DCreate(&array, &d);
      CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = 32, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .WidthInBytes = WIDTHS[w] * 4, .Height = 1};
      cuMemcpy2D(&c);
      // Wrap and mirror (0 and 2) want normalised coordinates.
      for (int mode = 0; mode < 4; mode++)
        for (int normalized = mode == 0 || mode == 2; normalized < 2; normalized++)
          for (int linear = 0; linear < 2; linear++) {
            CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
            CUDA_TEXTURE_DESC how = {.addressMode = {mode, 1, 1}, .filterMode = linear, .flags = normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0};
            CUtexObject texture[2];
            for (int i = 0; i < 2; i++) cuTexObjectCreate(&texture[i], &what, &how, 0);
            void *args[] = {&texture[0], &texture[textures - 1], &out, &at};
            cuLaunchKernel(f, 1, 1, 1, COUNT, 1, 1, 0, 0, args, 0);
            cuMemcpyDtoH(got, out, sizeof got);
            printf("%d wide, mode %d, normalized %d, linear %d:", WIDTHS[w], mode, normalized, linear);
            for (int i = 0; i < COUNT; i++) printf(" %.9g", got[i]);
            puts("");
            for (int i = 0; i < 2; i++) cuTexObjectDestroy(texture[i]);
          }
      cuArrayDestroy(array);
    }
  }
  return 0;
}
