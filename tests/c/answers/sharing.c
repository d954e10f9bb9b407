// What a CUDA driver answers to handles for other processes, and to memory and semaphores that come from elsewhere: one line a call. Each scenario
// runs in its own process; a scenario with another process starts this program again, and the two take turns. sharing.golden is what NVIDIA's
// driver printed (CUDA 13.0, H100).
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> sharing.c -o sharing -lcuda; ./sharing [SCENARIO]
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../turns.h"

#undef cuCtxCreate
extern CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
#undef cuIpcOpenMemHandle
extern CUresult cuIpcOpenMemHandle(CUdeviceptr *, CUipcMemHandle, unsigned);
extern CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *, CUipcMemHandle, unsigned);

static const char *name_of(CUresult result) {
    const char *name = NULL;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS && name != NULL ? name : "?";
}
#define T(call)                                            \
    do {                                                   \
        CUresult result_ = (call);                         \
        printf("%-70s = %s\n", #call, name_of(result_));   \
        fflush(stdout);                                    \
    } while (0)
#define V(value)                                           \
    do {                                                   \
        printf("    %s: %lld\n", #value, (long long)(value)); \
        fflush(stdout);                                    \
    } while (0)

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 4 .u32 counter = 7;\n"
    ".visible .entry waits(.param .u64 p) { .reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %q; ld.param.u64 %d1,[p];\n"
    "L: ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %q,%r1,0; @%q bra L; ret; }\n";

enum { LAZY = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, BETWEEN = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING };

static CUcontext context;
static CUmodule module;
static volatile unsigned *flag;

static void up(void) {
    CUdevice device;
    cuInit(0);
    cuDeviceGet(&device, 0);
    if (cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS) printf("no context\n");
}

// Keeps a stream busy until `flag` is set.
static void hold(CUstream stream) {
    CUfunction function;
    if (flag == NULL) {
        cuModuleLoadData(&module, PTX);
        cuMemHostAlloc((void **)&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP);
    }
    *flag = 0;
    cuModuleGetFunction(&function, module, "waits");
    CUdeviceptr address = (CUdeviceptr)flag;
    void *parameters[] = {&address};
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

struct Message {
    CUipcMemHandle memory[4];
    CUipcEventHandle event[3];
};

static struct Message message;

static void tell_all(void) { tell(&message, sizeof message); }
static void hear_all(void) { hear(&message, sizeof message); }

static void end_other(pid_t other) {
    int status = end_of_other(other);
    V(status);
}

static unsigned first(CUdeviceptr address) {
    unsigned value = 99;
    CUresult result = cuMemcpyDtoH(&value, address, 4);
    return result == CUDA_SUCCESS ? value : 1000 + (unsigned)result;
}

#include "sharing/memory.h"

#include "sharing/events.h"

#include "sharing/external.h"

struct Part {
    const char *name;
    void (*run)(void);
};
#define P(part) {#part, part}
static const struct Part parts[] = {
    P(memory_handles),  P(mapped_memory_handles), P(opened_memory),       P(stale_memory),         P(event_handles),
    P(opened_events),   P(external_memory),       P(external_exports),    P(external_semaphores),  P(address_range_handles),
};
static const struct Part elsewhere[] = {
    {"opened_memory", opened_memory_there},
    {"stale_memory", stale_memory_there},
    P(stale_memory_owner),
    {"opened_events", opened_events_there},
};

int main(int argc, char **argv) {
    const char *part = part_of_other(argc, argv);
    if (part != NULL) {
        alarm(60);
        for (unsigned n = 0; n < sizeof elsewhere / sizeof *elsewhere; n++)
            if (strcmp(part, elsewhere[n].name) == 0) elsewhere[n].run();
        return 0;
    }
    for (unsigned n = 0; n < sizeof parts / sizeof *parts; n++) {
        int status;
        if (argc > 1 && strcmp(argv[1], parts[n].name) != 0) continue;
        printf("== %s\n", parts[n].name);
        fflush(stdout);
        pid_t process = fork();
        if (process == 0) {
            alarm(60);
            parts[n].run();
            fflush(stdout);
            _exit(0);
        }
        waitpid(process, &status, 0);
        if (WIFSIGNALED(status)) printf("CRASH signal %d\n", WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
