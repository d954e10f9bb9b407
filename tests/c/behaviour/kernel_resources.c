/* What kernels need of a device: counted from the source, capped by directives and by CU_JIT_MAX_REGISTERS, told in the verbose log, and
   refused where it is more than there is. Needs a device with 1 GiB and 2 multiprocessors. */
#include "expect.h"

static char source[200000];

/* A kernel that keeps `count` values alive over a barrier. */
static const char *keeps(const char *directives, int count) {
    int end = sprintf(source,
                      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) %s {\n"
                      "    .reg .b64 %%d<3>;\n    .reg .f32 %%f<%d>;\n    ld.param.u64 %%d1, [p];\n",
                      directives, count);
    for (int index = 0; index < count; index++)
        end += sprintf(source + end, "    ld.global.f32 %%f%d, [%%d1+%d];\n", index, 4 * index);
    end += sprintf(source + end, "    bar.sync 0;\n");
    for (int index = 0; index < count; index++)
        end += sprintf(source + end, "    st.global.f32 [%%d1+%d], %%f%d;\n", 4096 + 4 * index, count - 1 - index);
    sprintf(source + end, "    ret;\n}\n");
    return source;
}

static int attribute(CUfunction function, CUfunction_attribute which) {
    int value = -1;
    OK(cuFuncGetAttribute(&value, which, function));
    return value;
}

static CUfunction load(const char *text, CUjit_option *options, void **values, unsigned count) {
    CUmodule module;
    CUfunction function;
    OK(cuModuleLoadDataEx(&module, text, count, options, values));
    OK(cuModuleGetFunction(&function, module, "k"));
    return function;
}

static int registers(const char *text, size_t most) {
    CUjit_option options[] = {CU_JIT_MAX_REGISTERS};
    void *values[] = {(void *)most};
    return attribute(load(text, options, values, most != 0), CU_FUNC_ATTRIBUTE_NUM_REGS);
}

static void registers_are_counted_and_capped(void) {
    int free = registers(keeps("", 150), 0);
    HOLDS(free >= 152 && free <= 168);
    HOLDS(registers(keeps("", 10), 0) <= 24);
    HOLDS(registers(keeps("", 400), 0) == 255);
    HOLDS(registers(keeps("", 150), 38) == 38);
    HOLDS(registers(keeps("", 10), 100) <= 24);
    HOLDS(registers(keeps(".maxnreg 64", 150), 0) == 64);
    HOLDS(registers(keeps(".maxnreg 64", 150), 38) == 38);
    HOLDS(registers(keeps(".maxntid 1024, 1, 1", 150), 0) == 64);
    HOLDS(registers(keeps(".maxntid 256, 1, 1 .minnctapersm 4", 150), 0) == 64);
    HOLDS(registers(keeps(".reqntid 16, 16, 1 .minnctapersm 8", 150), 0) == 32);
}

/* A link keeps the bound, and its image brings it along. */
static void linked(void) {
    CUlinkState link;
    CUfunction function;
    CUmodule module;
    void *image;
    size_t size;
    static char log[4096];
    CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_LOG_VERBOSE, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {(void *)40, (void *)1, log, (void *)sizeof log};
    OK(cuLinkCreate(4, options, values, &link));
    keeps("", 150);
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, source, strlen(source) + 1, "x", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &size));
    HOLDS(strstr(log, "Compiling entry function 'k'") != NULL && strstr(log, "Used 40 registers, used 1 barriers") != NULL);
    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&function, module, "k"));
    HOLDS(attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS) == 40);
    OK(cuLinkDestroy(link));
}

static void told(void) {
    CUlinkState link;
    void *image;
    size_t size;
    static char log[4096];
    CUjit_option options[] = {CU_JIT_LOG_VERBOSE, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {(void *)1, log, (void *)sizeof log};
    static const char TEXT[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g[3];\n.const .u32 c[2];\n"
        ".visible .entry k() {\n    .local .align 8 .b8 l[24];\n    .shared .b32 s[16];\n    .reg .b32 %r;\n"
        "    ld.const.u32 %r, [c];\n    st.local.u32 [l], %r;\n    st.shared.u32 [s], %r;\n    st.global.u32 [g], %r;\n    ret;\n}\n";
    CUfunction function = load(TEXT, options, values, 3);
    /* Loading says nothing. */
    HOLDS(values[2] == NULL && log[0] == 0);
    values[2] = (void *)sizeof log;
    OK(cuLinkCreate(3, options, values, &link));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)TEXT, sizeof TEXT, "x", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &size));
    HOLDS(strstr(log, "ptxas info    : 12 bytes gmem, 8 bytes cmem[3]") != NULL);
    HOLDS(strstr(log, "24 bytes stack frame, 0 bytes spill stores") != NULL);
    HOLDS(strstr(log, "used 0 barriers, 64 bytes smem") != NULL);
    HOLDS(attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) == 24);
    HOLDS(attribute(function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES) == 8);
    HOLDS(attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 64);
    OK(cuLinkDestroy(link));
    values[0] = NULL, values[2] = (void *)sizeof log;
    log[0] = 0;
    OK(cuLinkCreate(3, options, values, &link));
    OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)TEXT, sizeof TEXT, "x", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &size));
    HOLDS(log[0] == 0);
    OK(cuLinkDestroy(link));
}

/* Variables of the deepest chain of calls count, whatever else the kernel may call; a recursion counts once. */
static void local_memory_of_calls(void) {
    static const char TEXT[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".func one() {\n    .local .align 8 .b8 l[400];\n    .reg .b32 %r;\n    mov.u32 %r, 1;\n    st.local.u32 [l], %r;\n    ret;\n}\n"
        ".func two() {\n    .local .align 8 .b8 l[160];\n    .reg .b32 %r;\n    mov.u32 %r, 1;\n    st.local.u32 [l], %r;\n    call one;\n    ret;\n}\n"
        ".func again() {\n    .local .align 8 .b8 l[80];\n    .reg .b32 %r;\n    mov.u32 %r, 1;\n    st.local.u32 [l], %r;\n    call again;\n    call two;\n    ret;\n}\n"
        ".func aside() {\n    .local .align 8 .b8 l[320];\n    .reg .b32 %r;\n    mov.u32 %r, 1;\n    st.local.u32 [l], %r;\n    ret;\n}\n"
        ".visible .entry k() {\n    .local .align 8 .b8 l[24];\n    .reg .b32 %r;\n    mov.u32 %r, 1;\n    st.local.u32 [l], %r;\n    call aside;\n    call again;\n    ret;\n}\n";
    HOLDS(attribute(load(TEXT, NULL, NULL, 0), CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) == 24 + 80 + 160 + 400);
}

/* 2 multiprocessors hold 2 x 2048 threads at once. */
static void local_memory(void) {
    static const struct {
        unsigned bytes;
        CUresult answer;
    } known[] = {{200000, CUDA_SUCCESS},
                 {500000, CUDA_ERROR_OUT_OF_MEMORY},
                 {600000, CUDA_ERROR_INVALID_VALUE},
                 {1000000000, CUDA_ERROR_INVALID_VALUE}};
    for (int index = 0; index < 4; index++) {
        CUfunction function;
        sprintf(source,
                ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n    .local .align 8 .b8 l[%u];\n"
                "    .reg .b32 %%r;\n    mov.u32 %%r, 1;\n    st.local.u32 [l], %%r;\n    ret;\n}\n",
                known[index].bytes);
        function = load(source, NULL, NULL, 0);
        HOLDS(attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) == (int)known[index].bytes);
        expect(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), known[index].answer, "cuLaunchKernel", __LINE__);
        OK(cuCtxSynchronize());
    }
}

int main(void) {
    size_t bytes = 0;
    start();
    registers_are_counted_and_capped();
    linked();
    told();
    local_memory_of_calls();
    local_memory();
    /* No more than a launch may ask for, whatever of it is free. */
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, waits, 4, 32));
    HOLDS(bytes == 49152);
    puts("done");
    return 0;
}
