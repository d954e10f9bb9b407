/* The device's runtime library as an input of a link: what cooperative groups call is built in, the rest is missed and said to be. */
#include "check.h"

#include <stdint.h>

/* An archive whose second member is named as the one of libcudadevrt.a. */
static const char ARCHIVE[] =
    "!<arch>\n"
    "/               0           0     0     0       4         `\n\0\0\0\0"
    "cuda_device_runtime.o/ 0    0     644   0       `\n";

static const char WANTS_SIZE[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
    ".extern .func (.param .b32 r) cudaCGGetSize(.param .b64 a, .param .b64 b, .param .b64 c);\n"
    ".visible .entry size(.param .u64 out) {\n .reg .b64 p, g, q; .reg .b32 r;\n ld.param.u64 p, [out]; add.u64 q, p, 4;\n"
    " { .param .b32 s; .param .b64 h; st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 g, [h]; }\n"
    " { .param .b64 a; .param .b64 b; .param .b64 c; .param .b32 e;\n"
    "   st.param.b64 [a], p; st.param.b64 [b], q; st.param.b64 [c], g;\n"
    "   call (e), cudaCGGetSize, (a, b, c); ld.param.b32 r, [e]; }\n st.global.u32 [p+8], r; ret;\n}\n";

static const char LAUNCHES[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 f);\n"
    ".visible .entry launches() {\n { .param .b64 f; .param .b64 b; st.param.b64 [f], 0; call (b), cudaGetParameterBufferV2, (f); }\n ret;\n}\n";

/* Links a text with the library; what the log says about errors goes to `log`. */
static CUresult linked(const char *text, CUlinkState *link, void **image, char *log, size_t size) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)size};
    size_t length;
    CHECK(cuLinkCreate(2, options, values, link));
    CHECK(cuLinkAddData(*link, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, "text", 0, NULL, NULL));
    CHECK(cuLinkAddData(*link, CU_JIT_INPUT_LIBRARY, (void *)ARCHIVE, sizeof ARCHIVE - 1, "libcudadevrt.a", 0, NULL, NULL));
    return cuLinkComplete(*link, image, &length);
}

int main(void) {
    CUcontext context;
    CUlinkState link;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr place;
    void *image;
    unsigned int told[3];
    char log[1024] = "";
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, NULL, 0, 0));
    CHECK(cuMemAlloc(&place, sizeof told));
    CHECK(linked(WANTS_SIZE, &link, &image, log, sizeof log));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuLinkDestroy(link));
    CHECK(cuModuleGetFunction(&kernel, module, "size"));
    for (int cooperative = 0; cooperative < 2; cooperative++) {
        void *parameters[] = {&place};
        CHECK(cuMemsetD32(place, 77, 3));
        if (cooperative) CHECK(cuLaunchCooperativeKernel(kernel, 2, 1, 1, 64, 1, 1, 0, NULL, parameters));
        else CHECK(cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
        CHECK(cuMemcpyDtoH(told, place, sizeof told));
        const unsigned int threads = cooperative ? 128 : 0, grids = cooperative ? 1 : 0, answer = cooperative ? 0 : 999;
        if (told[0] != threads || told[1] != grids || told[2] != answer) return printf("%u %u %u\n", told[0], told[1], told[2]), 1;
    }
    const CUresult refused = linked(LAUNCHES, &link, &image, log, sizeof log);
    if (refused == CUDA_SUCCESS) return printf("linked\n"), 1;
    if (strstr(log, "'cudaGetParameterBufferV2' is a function of the device's runtime library") == NULL) return printf("%s\n", log), 1;
    CHECK(cuLinkDestroy(link));
    printf("done\n");
    return 0;
}
