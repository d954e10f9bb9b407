/* Texture references: what may be set, as recorded on an H100, and what launches see that were made before. */
#include "expect.h"

static const char READS[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .texref texture;\n"
    ".visible .entry reads(.param .u64 out) {\n"
    "    .reg .b64 %d;\n    .reg .f32 %f<4>;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %d, [out];\n    mov.u32 %r, 1;\n"
    "    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [texture, {%r}];\n    st.global.f32 [%d], %f0;\n    ret;\n}\n"
    ".visible .global .u64 pointers[2] = {0, texture};\n"
    ".visible .entry reads_by_pointer(.param .u64 out) {\n"
    "    .reg .b64 %d, %t, %u;\n    .reg .f32 %f<4>;\n    .reg .b32 %r;\n    .reg .pred %p, %q;\n"
    "    ld.param.u64 %d, [out];\n    mov.u32 %r, 1;\n    mov.u64 %t, texture;\n    ld.global.u64 %u, [pointers + 8];\n"
    "    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%r}];\n    st.global.f32 [%d], %f0;\n"
    "    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%u, {%r}];\n    st.global.f32 [%d + 4], %f0;\n"
    "    txq.width.b32 %r, [%t];\n    st.global.u32 [%d + 8], %r;\n"
    "    istypep.texref %p, %t;\n    istypep.surfref %q, %t;\n    selp.b32 %r, 1, 0, %p;\n    @%q add.u32 %r, %r, 2;\n"
    "    st.global.u32 [%d + 12], %r;\n    ret;\n}\n";

static CUtexref texture;

static void has_format(int format, int channels) {
    CUarray_format known = (CUarray_format)-1;
    int count = -7;
    OK(cuTexRefGetFormat(&known, &count, texture));
    HOLDS((int)known == format && count == channels);
}

int main(void) {
    const float first[] = {1, 2, 3, 4}, second[] = {10, 20, 30, 40};
    float seen[2] = {0, 0};
    CUmodule module;
    CUfunction reads, by_pointer;
    CUdeviceptr one, other, out, address;
    CUstream stream;
    CUtexref created, again;
    size_t offset = 99;
    start();
    OK(cuModuleLoadData(&module, READS));
    OK(cuModuleGetFunction(&reads, module, "reads"));
    OK(cuModuleGetFunction(&by_pointer, module, "reads_by_pointer"));
    OK(cuModuleGetTexRef(&texture, module, "texture"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&one, 1 << 16));
    OK(cuMemAlloc(&other, 1 << 16));
    OK(cuMemAlloc(&out, 64));
    OK(cuMemcpyHtoD(one, first, sizeof first));
    OK(cuMemcpyHtoD(other, second, sizeof second));

    /* A new reference reads single floats. */
    has_format(CU_AD_FORMAT_FLOAT, 1);
    OK(cuTexRefSetAddress(&offset, texture, one, sizeof first));
    OK(cuTexRefGetAddress(&address, texture));
    HOLDS(offset == 0 && address == one);

    /* A launch sees what was bound when it was made. */
    CUdeviceptr place[] = {out, out + 4};
    void *to_first[] = {&place[0]}, *to_second[] = {&place[1]};
    hold(stream);
    OK(cuLaunchKernel(reads, 1, 1, 1, 1, 1, 1, 0, stream, to_first, NULL));
    OK(cuTexRefSetAddress(NULL, texture, other, sizeof second));
    OK(cuLaunchKernel(reads, 1, 1, 1, 1, 1, 1, 0, stream, to_second, NULL));
    OK(cuTexRefSetAddress(NULL, texture, 0, 0));
    release();
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(seen, out, sizeof seen));
    HOLDS(seen[0] == 2 && seen[1] == 20);

    /* Registers may have the address of the reference (PTX ISA 5.3). */
    struct { float by_mov, by_load; unsigned width, is_texture; } pointed;
    OK(cuTexRefSetAddress(NULL, texture, other, sizeof second));
    OK(cuLaunchKernel(by_pointer, 1, 1, 1, 1, 1, 1, 0, stream, to_first, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&pointed, out, sizeof pointed));
    HOLDS(pointed.by_mov == 20 && pointed.by_load == 20 && pointed.width == 4 && pointed.is_texture == 1);

    /* Formats that do not exist are kept. */
    OK(cuTexRefSetFormat(texture, (CUarray_format)0, 0));
    has_format(0, 0);
    OK(cuTexRefSetAddress(NULL, texture, one, 16));
    OK(cuTexRefSetFormat(texture, (CUarray_format)0x77, 1));
    has_format(0x77, 1);
    OK(cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, -1));
    has_format(CU_AD_FORMAT_FLOAT, -1);
    IS(INVALID_VALUE, cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, 3));
    IS(INVALID_VALUE, cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, 5));
    has_format(CU_AD_FORMAT_FLOAT, -1);
    OK(cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, 1));
    OK(cuTexRefSetAddress(NULL, texture, one, 0));
    IS(INVALID_VALUE, cuTexRefSetAddress(NULL, texture, one + 4, 16));
    OK(cuTexRefSetAddress(&offset, texture, one + 4, 16));
    HOLDS(offset == 4);
    IS(INVALID_VALUE, cuTexRefSetAddress(&offset, texture, one, (size_t)1 << 40));

    /* Rows: the pitch is a multiple of 32 and holds a row, if there is one. */
    CUDA_ARRAY_DESCRIPTOR shape = {0};
    OK(cuTexRefSetAddress2D(texture, &shape, one, 0));
    has_format(0, 0);
    shape.Width = 16;
    OK(cuTexRefSetAddress2D(texture, &shape, one, 16));
    shape.Height = 4;
    IS(INVALID_VALUE, cuTexRefSetAddress2D(texture, &shape, one, 16));
    shape.Format = CU_AD_FORMAT_FLOAT;
    OK(cuTexRefSetAddress2D(texture, &shape, one, 64));
    has_format(CU_AD_FORMAT_FLOAT, 0);
    shape.NumChannels = 3;
    OK(cuTexRefSetAddress2D(texture, &shape, one, 256));
    has_format(CU_AD_FORMAT_FLOAT, 3);
    shape.NumChannels = 1;
    OK(cuTexRefSetAddress2D(texture, &shape, one, 64));
    IS(INVALID_VALUE, cuTexRefSetAddress2D(texture, &shape, one, 32));
    IS(INVALID_VALUE, cuTexRefSetAddress2D(texture, &shape, one + 4, 64));
    shape.Width = 17;
    IS(INVALID_VALUE, cuTexRefSetAddress2D(texture, &shape, one, 64));
    shape.Format = (CUarray_format)0x77;
    OK(cuTexRefSetAddress2D(texture, &shape, one, 64));

    /* References end with their module, or before. */
    OK(cuTexRefCreate(&created));
    OK(cuTexRefSetAddress(NULL, created, one, 16));
    OK(cuTexRefDestroy(created));
    OK(cuTexRefDestroy(texture));
    IS(NOT_FOUND, cuModuleGetTexRef(&again, module, "texture"));
    OK(cuModuleUnload(module));
    puts("done");
    return 0;
}
