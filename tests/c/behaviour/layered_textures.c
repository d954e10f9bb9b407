/* Layered arrays and cube maps as textures. Layers as an H100 sampled them; cubes as the CUDA programming guide says where a direction
   meets a face. */
#include "expect.h"

enum { SIZE = 4, CUBE = 6 };

static const char READS[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry layer(.param .u64 texture, .param .u64 out) {\n"
    "    .reg .b64 %t, %d;\n    .reg .f32 %f<4>;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %t, [texture];\n    ld.param.u64 %d, [out];\n    mov.u32 %r, %tid.x;\n    mad.wide.u32 %d, %r, 4, %d;\n"
    "    tex.a2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%r, 0f3FC00000, 0f40200000, 0f00000000}];\n"
    "    st.global.f32 [%d], %f0;\n    ret;\n}\n"
    ".visible .entry face(.param .u64 texture, .param .u64 out) {\n"
    "    .reg .b64 %t, %d;\n    .reg .f32 %f<4>, %x, %y;\n    .reg .b32 %r;\n    .reg .pred %p;\n"
    "    ld.param.u64 %t, [texture];\n    ld.param.u64 %d, [out];\n    mov.u32 %r, %tid.x;\n    mad.wide.u32 %d, %r, 4, %d;\n"
    "    setp.eq.u32 %p, %r, 0;\n    selp.f32 %x, 0f3F800000, 0f00000000, %p;\n"
    "    setp.eq.u32 %p, %r, 1;\n    selp.f32 %y, 0fBF800000, 0f00000000, %p;\n"
    "    tex.cube.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, {%x, %y, 0f3F000000, 0f00000000}];\n"
    "    st.global.f32 [%d], %f0;\n    ret;\n}\n";

static CUarray filled(unsigned layers, unsigned flags) {
    static float texels[CUBE][SIZE][SIZE];
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = SIZE, .Height = SIZE, .Depth = layers, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flags};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = texels, .srcPitch = sizeof texels[0][0], .srcHeight = SIZE,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY, .WidthInBytes = sizeof texels[0][0], .Height = SIZE, .Depth = layers};
    for (int index = 0; index < CUBE * SIZE * SIZE; index++) (&texels[0][0][0])[index] = (float)index;
    OK(cuArray3DCreate(&copy.dstArray, &shape));
    OK(cuMemcpy3D(&copy));
    return copy.dstArray;
}

static void read(CUmodule module, const char *kernel, CUtexObject texture, float *seen, unsigned count) {
    CUfunction reads;
    CUdeviceptr out;
    void *parameters[] = {&texture, &out};
    OK(cuModuleGetFunction(&reads, module, kernel));
    OK(cuMemAlloc(&out, count * sizeof *seen));
    OK(cuLaunchKernel(reads, 1, 1, 1, count, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(seen, out, count * sizeof *seen));
    OK(cuMemFree(out));
}

int main(void) {
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC how = {0};
    CUtexObject texture;
    CUmodule module;
    float seen[4];
    start();
    OK(cuModuleLoadData(&module, READS));

    resource.res.array.hArray = filled(3, CUDA_ARRAY3D_LAYERED);
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    read(module, "layer", texture, seen, 4);
    HOLDS(seen[0] == 9 && seen[1] == 25 && seen[2] == 41 && seen[3] == 41);
    OK(cuTexObjectDestroy(texture));

    resource.res.array.hArray = filled(CUBE, CUDA_ARRAY3D_CUBEMAP);
    how.flags = CU_TRSF_NORMALIZED_COORDINATES;
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    read(module, "face", texture, seen, 3);
    /* To +x at (1/4, 1/2) of face 0, to -y at (1/2, 1/4) of face 3, to +z at the middle of face 4. */
    HOLDS(seen[0] == 0 * 16 + 2 * 4 + 1 && seen[1] == 3 * 16 + 1 * 4 + 2 && seen[2] == 4 * 16 + 2 * 4 + 2);
    OK(cuTexObjectDestroy(texture));
    how.filterMode = CU_TR_FILTER_MODE_LINEAR;
    how.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    read(module, "face", texture, seen, 3);
    /* As above, between four texels of one face. */
    HOLDS(seen[0] == 6.5f && seen[1] == 3 * 16 + 3.5f && seen[2] == 4 * 16 + 7.5f);
    OK(cuTexObjectDestroy(texture));
    puts("done");
    return 0;
}
