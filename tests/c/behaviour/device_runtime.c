/* The device's runtime library as an input of a link: what cooperative groups call, and launches of kernels by kernels. */
#include "check.h"

#include <stdint.h>

/* An archive whose second member is named as the one of libcudadevrt.a. */
static const char ARCHIVE[] =
    "!<arch>\n"
    "/               0           0     0     0       4         `\n\0\0\0\0"
    "cuda_device_runtime.o/ 0    0     644   0       `\n";

/* What it has as PTX for the newest devices: all its functions, on those of a driver. */
static const char LIBRARY[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.extern .func (.param .b32 r) cnpSetLastError(.param .b32 e);\n"
    ".visible .global .align 4 .u32 __CNPRT_VERSION_NUMBER__ = 6000;\n"
    ".visible .func (.param .b32 r) cudaGetLastError()\n{\n .reg .b32 e;\n"
    " { .param .b32 a; .param .b32 b; st.param.b32 [a], 0; call (b), cnpSetLastError, (a); ld.param.b32 e, [b]; }\n st.param.b32 [r], e; ret;\n}\n";

static const char WANTS_SIZE[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
    ".extern .func (.param .b32 r) cudaCGGetSize(.param .b64 a, .param .b64 b, .param .b64 c);\n"
    ".visible .entry size(.param .u64 out) {\n .reg .b64 p, g, q; .reg .b32 r;\n ld.param.u64 p, [out]; add.u64 q, p, 4;\n"
    " { .param .b32 s; .param .b64 h; st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 g, [h]; }\n"
    " { .param .b64 a; .param .b64 b; .param .b64 c; .param .b32 e;\n"
    "   st.param.b64 [a], p; st.param.b64 [b], q; st.param.b64 [c], g;\n"
    "   call (e), cudaCGGetSize, (a, b, c); ld.param.b32 r, [e]; }\n st.global.u32 [p+8], r; ret;\n}\n";

/* A parent whose threads add to a sum, which each has two children do, in both versions' functions; one child comes behind all. */
static const char LAUNCHES[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 p, .param .b64 t);\n"
    ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 n);\n"
    ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n"
    ".extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 p, .param .b32 v, .param .b64 n, .param .b64 t);\n"
    ".visible .entry child(.param .u64 sum, .param .u32 value) {\n .reg .b64 p; .reg .b32 v;\n ld.param.u64 p, [sum]; ld.param.u32 v, [value]; red.add.u32 [p], v; ret;\n}\n"
    ".visible .entry times(.param .u64 sum, .param .u32 value) {\n .reg .b64 p; .reg .b32 v, w;\n"
    " ld.param.u64 p, [sum]; ld.param.u32 v, [value]; ld.u32 w, [p]; mul.lo.u32 w, w, v; st.u32 [p], w; ret;\n}\n"
    ".visible .entry launches(.param .u64 sum) {\n .reg .b64 p, b, f; .reg .b32 e, t; .reg .pred q;\n ld.param.u64 p, [sum];\n"
    " mov.u64 f, child;\n"
    " { .param .b64 x; .param .align 4 .b8 g[12]; .param .align 4 .b8 c[12]; .param .b32 s; .param .b64 r;\n"
    "   st.param.b64 [x], f; st.param.b32 [g], 2; st.param.b32 [g+4], 3; st.param.b32 [g+8], 1;\n"
    "   st.param.b32 [c], 4; st.param.b32 [c+4], 1; st.param.b32 [c+8], 1; st.param.b32 [s], 0;\n"
    "   call (r), cudaGetParameterBufferV2, (x, g, c, s); ld.param.b64 b, [r]; }\n"
    " st.u64 [b], p; st.u32 [b+8], 10;\n"
    " { .param .b64 x; .param .b64 y; .param .b32 r; st.param.b64 [x], b; st.param.b64 [y], 0; call (r), cudaLaunchDeviceV2, (x, y); ld.param.b32 e, [r]; }\n"
    " red.add.u32 [p+4], e;\n"
    " { .param .b64 x; .param .b64 y; .param .b64 r; st.param.b64 [x], 8; st.param.b64 [y], 12; call (r), cudaGetParameterBuffer, (x, y); ld.param.b64 b, [r]; }\n"
    " st.u64 [b], p; st.u32 [b+8], 1;\n"
    " { .param .b64 x; .param .b64 y; .param .align 4 .b8 g[12]; .param .align 4 .b8 c[12]; .param .b32 s; .param .b64 t; .param .b32 r;\n"
    "   st.param.b64 [x], f; st.param.b64 [y], b; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "   st.param.b32 [c], 5; st.param.b32 [c+4], 1; st.param.b32 [c+8], 1; st.param.b32 [s], 0; st.param.b64 [t], 4;\n"
    "   call (r), cudaLaunchDevice, (x, y, g, c, s, t); ld.param.b32 e, [r]; }\n"
    " red.add.u32 [p+4], e;\n"
    " add.u64 b, p, 8;\n"
    " { .param .b64 x; .param .b32 v; .param .b64 n; .param .b64 t; .param .b32 r; st.param.b64 [x], b; st.param.b32 [v], 5; st.param.b64 [n], 3; st.param.b64 [t], 0;\n"
    "   call (r), __cudaCDP2MemsetAsync, (x, v, n, t); ld.param.b32 e, [r]; }\n red.add.u32 [p+4], e;\n"
    " mov.u32 t, %tid.x; setp.ne.u32 q, t, 0; @q bra END;\n mov.u64 f, times;\n"
    " { .param .b64 x; .param .align 4 .b8 g[12]; .param .align 4 .b8 c[12]; .param .b32 s; .param .b64 r;\n"
    "   st.param.b64 [x], f; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "   st.param.b32 [c], 1; st.param.b32 [c+4], 1; st.param.b32 [c+8], 1; st.param.b32 [s], 0;\n"
    "   call (r), cudaGetParameterBufferV2, (x, g, c, s); ld.param.b64 b, [r]; }\n"
    " st.u64 [b], p; st.u32 [b+8], 1000;\n"
    " { .param .b64 x; .param .b64 y; .param .b32 r; st.param.b64 [x], b; st.param.b64 [y], 3; call (r), cudaLaunchDeviceV2, (x, y); ld.param.b32 e, [r]; }\n"
    "END:\n ret;\n}\n";

/* A thread that launches so many children behind its grid, until it is told that there are too many: how many it got, and what it was told. */
static const char MANY[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
    ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 p, .param .b64 t);\n"
    ".visible .entry child(.param .u64 sum) {\n .reg .b64 p; ld.param.u64 p, [sum]; red.add.u32 [p], 1; ret;\n}\n"
    ".visible .entry many(.param .u64 out, .param .u32 most) {\n .reg .b64 p, b, f; .reg .b32 e, n, m; .reg .pred q;\n"
    " ld.param.u64 p, [out]; ld.param.u32 m, [most]; mov.u64 f, child; mov.u32 n, 0;\n"
    "NEXT:\n"
    " { .param .b64 x; .param .align 4 .b8 g[12]; .param .align 4 .b8 c[12]; .param .b32 s; .param .b64 r;\n"
    "   st.param.b64 [x], f; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
    "   st.param.b32 [c], 1; st.param.b32 [c+4], 1; st.param.b32 [c+8], 1; st.param.b32 [s], 0;\n"
    "   call (r), cudaGetParameterBufferV2, (x, g, c, s); ld.param.b64 b, [r]; }\n"
    " st.u64 [b], p;\n"
    " { .param .b64 x; .param .b64 y; .param .b32 r; st.param.b64 [x], b; st.param.b64 [y], 3; call (r), cudaLaunchDeviceV2, (x, y); ld.param.b32 e, [r]; }\n"
    " setp.ne.u32 q, e, 0; @q bra END; add.u32 n, n, 1; setp.lt.u32 q, n, m; @q bra NEXT;\n"
    "END:\n st.u32 [p+4], n; st.u32 [p+8], e; ret;\n}\n";

/* What kernels of newer devices do not have. */
static const char WAITS[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
    ".visible .entry waits() {\n { .param .b32 r; call (r), cudaDeviceSynchronize, (); }\n ret;\n}\n";

/* Links a text with the library; what the log says about errors goes to `log`. */
static CUresult linked(const char *text, CUlinkState *link, void **image, char *log, size_t size) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)size};
    size_t length;
    CHECK(cuLinkCreate(2, options, values, link));
    CHECK(cuLinkAddData(*link, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, "text", 0, NULL, NULL));
    CHECK(cuLinkAddData(*link, CU_JIT_INPUT_LIBRARY, (void *)ARCHIVE, sizeof ARCHIVE - 1, "libcudadevrt.a", 0, NULL, NULL));
    CHECK(cuLinkAddData(*link, CU_JIT_INPUT_PTX, (void *)LIBRARY, sizeof LIBRARY, "libcudadevrt.a's PTX", 0, NULL, NULL));
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
    CHECK(linked(LAUNCHES, &link, &image, log, sizeof log));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuLinkDestroy(link));
    CHECK(cuModuleGetFunction(&kernel, module, "launches"));
    CHECK(cuMemsetD32(place, 0, 3));
    void *parameters[] = {&place};
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    /* Comes behind the children. */
    CHECK(cuMemcpyDtoH(told, place, sizeof told));
    if (told[0] != 32 * (24 * 10 + 5) * 1000 || told[1] != 0 || told[2] != 0x050505)
        return printf("children: %u %u %#x\n", told[0], told[1], told[2]), 1;
    /* All that were launched run, and each launch that has ended makes room for another one. */
    CUmodule children;
    CHECK(linked(MANY, &link, &image, log, sizeof log));
    CHECK(cuModuleLoadData(&children, image));
    CHECK(cuLinkDestroy(link));
    CHECK(cuModuleGetFunction(&kernel, children, "many"));
    const struct { size_t limit; unsigned int most, launched, answer; } rows[] = {
        {0, 3000, 2048, 69 /* cudaErrorLaunchPendingCountExceeded */}, {0, 2048, 2048, 0}, {3000, 3000, 3000, 0}, {100, 3000, 100, 69}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        unsigned int most = rows[row].most;
        void *arguments[] = {&place, &most};
        if (rows[row].limit != 0) CHECK(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, rows[row].limit));
        CHECK(cuMemsetD32(place, 0, 3));
        CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
        CHECK(cuMemcpyDtoH(told, place, sizeof told));
        if (told[0] != rows[row].launched || told[1] != rows[row].launched || told[2] != rows[row].answer)
            return printf("pending, row %zu: %u %u %u\n", row, told[0], told[1], told[2]), 1;
    }
    /* As recorded, the library is there only where it is linked. */
    const CUresult alone = cuModuleLoadData(&module, LAUNCHES);
    if (alone != CUDA_ERROR_INVALID_PTX) return printf("alone: %d\n", (int)alone), 1;
    const CUresult refused = linked(WAITS, &link, &image, log, sizeof log);
    if (refused == CUDA_SUCCESS) return printf("linked\n"), 1;
    if (strstr(log, "'cudaDeviceSynchronize' in kernels is not there on devices of compute capability 9.0 and later") == NULL)
        return printf("%s\n", log), 1;
    CHECK(cuLinkDestroy(link));
    printf("done\n");
    return 0;
}
