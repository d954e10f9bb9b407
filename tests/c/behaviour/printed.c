/* What a kernel prints is on standard output when the call has come back that the argument names, without another one behind it, and keeps
   its place in what the program prints. Also of a kernel that then faults. */
#include "expect.h"

#include <unistd.h>

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".extern .func (.param .b32 count) vprintf (.param .b64 format, .param .b64 values);\n"
    ".global .align 1 .b8 text[7] = {107, 101, 114, 110, 101, 108, 10};\n.global .align 1 .b8 end = 0;\n"
    ".visible .entry prints(.param .u32 faults) {\n"
    "    .reg .b64 %d;\n    .reg .b32 %r;\n    .reg .pred %p;\n"
    "    mov.u64 %d, text;\n    cvta.global.u64 %d, %d;\n"
    "    { .param .b64 format; .param .b64 values; .param .b32 count;\n"
    "    st.param.b64 [format], %d;\n    mov.u64 %d, 0;\n    st.param.b64 [values], %d;\n"
    "    call (count), vprintf, (format, values); }\n"
    "    ld.param.u32 %r, [faults];\n    setp.ne.u32 %p, %r, 0;\n    @%p trap;\n    ret;\n}\n";

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "";
    CUmodule module, other;
    CUfunction prints;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    char bytes[4];
    unsigned faults = strncmp(mode, "fault", 5) == 0;
    void *parameters[] = {&faults};
    start();
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleLoadData(&other, WAITS));
    OK(cuModuleGetFunction(&prints, module, "prints"));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc(&memory, 4));
    printf("before\n");
    OK(cuLaunchKernel(prints, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    /* Where the kernel has faulted by now, this says so already. */
    if (cuEventRecord(event, stream) != CUDA_SUCCESS) HOLDS(faults);
    if (strcmp(mode, "context") == 0) OK(cuCtxSynchronize());
    if (strcmp(mode, "stream") == 0) OK(cuStreamSynchronize(stream));
    if (strcmp(mode, "event") == 0) OK(cuEventSynchronize(event));
    if (strcmp(mode, "copy") == 0) OK(cuMemcpyDtoH(bytes, memory, 4));
    if (strcmp(mode, "unload") == 0) OK(cuModuleUnload(other));
    if (strcmp(mode, "launch") == 0) {
        /* The kernel is over: what it has printed comes with the next launch. */
        while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {}
        *flag = 1;
        CUdeviceptr address = (CUdeviceptr)flag;
        void *of_waits[] = {&address};
        OK(cuLaunchKernel(waits, 1, 1, 1, 1, 1, 1, 0, stream, of_waits, NULL));
    }
    if (strcmp(mode, "load") == 0) {
        while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) {}
        OK(cuModuleLoadData(&other, WAITS));
    }
    if (strcmp(mode, "fault_context") == 0) IS(LAUNCH_FAILED, cuCtxSynchronize());
    if (strcmp(mode, "fault_stream") == 0) IS(LAUNCH_FAILED, cuStreamSynchronize(stream));
    if (strcmp(mode, "fault_event") == 0) IS(LAUNCH_FAILED, cuEventSynchronize(event));
    if (strcmp(mode, "fault_copy") == 0) IS(LAUNCH_FAILED, cuMemcpyDtoH(bytes, memory, 4));
    printf("behind\n");
    fflush(stdout);
    /* Nothing is done at the end of the process that could print it. */
    _exit(0);
}
