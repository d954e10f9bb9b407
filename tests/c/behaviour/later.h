/* Work that goes on after the calls that a program wonders about: a kernel that waits for the flag and then copies words, and a thread
   that sets the flag while a call waits. */
#ifndef LATER_H
#define LATER_H

#include "expect.h"

#include <pthread.h>
#include <unistd.h>

/* Waits until the flag is not 0, then copies a word for each thread. */
static const char LATE[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry late(.param .u64 flag, .param .u64 to, .param .u64 from) {\n"
    "    .reg .b64 %d<4>;\n    .reg .b32 %r<3>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d0, [flag];\n    ld.param.u64 %d1, [to];\n    ld.param.u64 %d2, [from];\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %d3, %r1, 4;\n    add.u64 %d1, %d1, %d3;\n    add.u64 %d2, %d2, %d3;\n"
    "AGAIN:\n    ld.volatile.global.u32 %r0, [%d0];\n    setp.eq.u32 %p, %r0, 0;\n    @%p bra AGAIN;\n"
    "    ld.global.u32 %r2, [%d2];\n    st.global.u32 [%d1], %r2;\n    ret;\n}\n";

/* The kernel in the current context. */
static inline CUfunction late_kernel(void) {
    CUmodule module;
    CUfunction kernel;
    OK(cuModuleLoadData(&module, LATE));
    OK(cuModuleGetFunction(&kernel, module, "late"));
    return kernel;
}

/* Copies 32 words when the flag is set. */
static inline void copy_late(CUfunction kernel, CUdeviceptr to, CUdeviceptr from, CUstream stream) {
    CUdeviceptr address = (CUdeviceptr)flag;
    void *parameters[] = {&address, &to, &from};
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static inline void *set_the_flag(void *nothing) {
    usleep(30000);
    release();
    return nothing;
}

/* Sets the flag while the next call waits; `released` comes behind that call. */
static pthread_t releaser;

static inline void release_soon(void) {
    if (pthread_create(&releaser, NULL, set_the_flag, NULL) != 0) exit(1);
}

static inline void released(void) { pthread_join(releaser, NULL); }

#endif
