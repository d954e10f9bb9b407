/* Threads with stacks of a given size that load, launch, link and fail: small_stacks KIB. */
#include "behaviour/expect.h"

#include <pthread.h>

static const char TEXT[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry stores(.param .u64 to) {\n    .reg .b64 %d;\n    ld.param.u64 %d, [to];\n    st.global.u32 [%d], 7;\n    ret;\n}\n";
static const char BROKEN[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry stores() {\n    add.u32 %r1, 1;\n}\n";

static CUcontext primary;

/* Text that nests as deep as `levels`, in scopes and in an expression. */
static CUresult nested(int levels) {
    static const char head[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry deep() {\n";
    char *text = malloc(sizeof head + 5 * (size_t)levels + 100), *end = text + sprintf(text, "%s", head);
    CUmodule module;
    CUresult result;
    HOLDS(text != NULL);
    for (int i = 0; i < levels; i++) *end++ = '{';
    end += sprintf(end, ".reg .b32 %%r;\nmov.u32 %%r, ");
    for (int i = 0; i < levels; i++) *end++ = '(';
    *end++ = '1';
    for (int i = 0; i < levels; i++) *end++ = ')';
    end += sprintf(end, ";\nret;\n");
    for (int i = 0; i < levels; i++) *end++ = '}';
    sprintf(end, "}\n");
    result = cuModuleLoadData(&module, text);
    if (result == CUDA_SUCCESS) OK(cuModuleUnload(module));
    free(text);
    return result;
}

static void *work(void *argument) {
    static __thread char log[512];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUmodule module;
    CUfunction stores;
    CUlinkState state;
    CUdeviceptr to;
    CUstream stream;
    void *image, *parameters[] = {&to};
    size_t size;
    unsigned result = 0;
    (void)argument;
    OK(cuCtxSetCurrent(primary));
    OK(cuLinkCreate(0, NULL, NULL, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)TEXT, sizeof TEXT, "text", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    OK(cuModuleLoadData(&module, image));
    OK(cuLinkDestroy(state));
    OK(cuModuleGetFunction(&stores, module, "stores"));
    OK(cuMemAlloc(&to, 4));
    OK(cuStreamCreate(&stream, 0));
    OK(cuLaunchKernel(stores, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
    OK(cuMemcpyDtoHAsync(&result, to, 4, stream));
    OK(cuStreamSynchronize(stream));
    HOLDS(result == 7);
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
    IS(INVALID_PTX, cuModuleLoadDataEx(&module, BROKEN, 2, options, values));
    HOLDS(strstr(log, "line 5") != NULL);
    OK(nested(10));
    nested(30), nested(60), nested(100);
    IS(INVALID_PTX, nested(100000));
    return NULL;
}

int main(int argc, char **argv) {
    pthread_attr_t attributes;
    pthread_t thread;
    size_t size = (argc > 1 ? (size_t)atoi(argv[1]) : 64) << 10;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    HOLDS(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, size) == 0);
    for (int i = 0; i < 3; i++) {
        HOLDS(pthread_create(&thread, &attributes, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    puts("done");
    return 0;
}
