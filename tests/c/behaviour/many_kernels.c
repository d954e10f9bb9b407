/* A module of thousands of kernels: all of them are there, and only what is launched is made runnable. */
#include "expect.h"

enum { KERNELS = 5000, LAUNCHED = 1234 };

static char *module_text(void) {
    size_t capacity = KERNELS * 400 + 100, length;
    char *text = malloc(capacity);
    length = (size_t)snprintf(text, capacity, ".version 7.0\n.target sm_52\n.address_size 64\n");
    for (int number = 0; number < KERNELS; number++) {
        length += (size_t)snprintf(text + length, capacity - length,
                                   ".visible .entry kernel_%d(.param .u64 to) {\n    .reg .b64 %%d;\n    .reg .b32 %%r;\n"
                                   "    ld.param.u64 %%d, [to];\n    mov.u32 %%r, %d;\n    st.global.u32 [%%d], %%r;\n    ret;\n}\n",
                                   number, number);
    }
    return text;
}

static unsigned runnable(const CUfunction *functions) {
    unsigned count = 0;
    for (int index = 0; index < KERNELS; index++) {
        CUfunctionLoadingState state;
        OK(cuFuncIsLoaded(&state, functions[index]));
        count += state == CU_FUNCTION_LOADING_STATE_LOADED;
    }
    return count;
}

int main(void) {
    CUmodule module;
    static CUfunction functions[KERNELS];
    unsigned count = 0;
    start();
    char *text = module_text();
    OK(cuModuleLoadData(&module, text));
    free(text);
    OK(cuModuleGetFunctionCount(&count, module));
    printf("%u kernels\n", count);
    OK(cuModuleEnumerateFunctions(functions, KERNELS, module));
    printf("%u runnable\n", runnable(functions));

    CUfunction function;
    char name[32];
    snprintf(name, sizeof name, "kernel_%d", LAUNCHED);
    OK(cuModuleGetFunction(&function, module, name));
    CUdeviceptr result;
    OK(cuMemAlloc(&result, 4));
    void *arguments[] = {&result};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
    int value = 0;
    OK(cuMemcpyDtoH(&value, result, 4));
    printf("%u runnable after a launch that stored %d\n", runnable(functions), value);
    puts("done");
    return 0;
}
