/* Links PTX at run time, as ptxjit does: from a string in the program, or from a file that is looked for; the link's time and
   log are printed, its image loaded with cuModuleLoadData, and the kernel's name is that of a C++ function. */
#include "sample.h"

static const char in_program[] =
    "// Hand-written: each thread stores its number in the grid.\n"
    ".version 7.0\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".visible .entry _Z8myKernelPi(.param .u64 data)\n"
    "{\n"
    "  .reg .b32 %r<5>;\n"
    "  .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [data];\n"
    "  cvta.to.global.u64 %rd2, %rd1;\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mov.u32 %r2, %ntid.x;\n"
    "  mov.u32 %r3, %ctaid.x;\n"
    "  mad.lo.s32 %r4, %r2, %r3, %r1;\n"
    "  mul.wide.s32 %rd3, %r4, 4;\n"
    "  add.s64 %rd3, %rd2, %rd3;\n"
    "  st.global.u32 [%rd3], %r4;\n"
    "  ret;\n"
    "}\n";

static CUmodule link_and_load(const char *text, CUfunction *kernel) {
    CUlinkState link;
    CUmodule module;
    void *image;
    size_t size;
    float time = 0;
    char errors[8192] = "", log[8192] = "";
    CUjit_option options[] = {
        CU_JIT_WALL_TIME,
        CU_JIT_INFO_LOG_BUFFER,
        CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        CU_JIT_ERROR_LOG_BUFFER,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CU_JIT_LOG_VERBOSE,
    };
    void *values[] = {&time, log, (void *)sizeof log, errors, (void *)sizeof errors, (void *)1};
    CHECK(cuLinkCreate(6, options, values, &link));
    CUresult result = cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, 0, 0, 0, 0);
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "PTX linker error:\n%s\n", errors);
        check(result, "cuLinkAddData");
    }
    CHECK(cuLinkComplete(link, &image, &size));
    memcpy(&time, &values[0], sizeof time);
    fprintf(stderr, "CUDA link completed in %f ms. Linker output:\n%s\n", time, log);
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(kernel, module, "_Z8myKernelPi"));
    CHECK(cuLinkDestroy(link));
    return module;
}

int main(int argc, char **argv) {
    enum { THREADS = 256, CTAS = 64 };
    int version, from_file = number_argument(argc, argv, "file", 0);
    CUdevice device = choose_device(argc, argv);
    CUcontext context;
    CUfunction kernel;
    CUdeviceptr data;
    CHECK(cuDriverGetVersion(&version));
    if (version < 5050) {
        fprintf(stderr, "linking needs a driver of CUDA 5.5\n");
        return 1;
    }
    CHECK(cuCtxCreate(&context, 0, device));
    char *file = from_file ? read_file(find_file(argv[0], "ptx_jit.ptx"), NULL) : NULL;
    CUmodule module = link_and_load(from_file ? file : in_program, &kernel);
    free(file);

    int numbers[THREADS * CTAS] = {0}, wrong = 0;
    CHECK(cuMemAlloc(&data, sizeof numbers));
    void *arguments[] = {&data};
    CHECK(cuLaunchKernel(kernel, CTAS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
    CHECK(cuMemcpyDtoH(numbers, data, sizeof numbers));
    for (int index = 0; index < THREADS * CTAS; index++) wrong += numbers[index] != index;
    CHECK(cuMemFree(data));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(context));
    printf("%s\n", wrong == 0 ? "Test PASSED" : "Test FAILED");
    return wrong != 0;
}
