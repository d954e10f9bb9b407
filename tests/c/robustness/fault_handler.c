/* A program with its own handler for faults, on its own stack: kernels fault without it, and its own faults still reach it. */
#include "behaviour/expect.h"

#include <setjmp.h>
#include <signal.h>

static const char STORES[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry stores(.param .u64 to) {\n    .reg .b64 %d;\n    ld.param.u64 %d, [to];\n    st.global.u64 [%d], %d;\n    ret;\n}\n";

static sigjmp_buf back;
static volatile sig_atomic_t handled;

static void handle(int signal, siginfo_t *info, void *machine) {
    (void)signal, (void)machine;
    handled += info->si_addr == (void *)64;
    siglongjmp(back, 1);
}

static void fault(void) {
    int before = handled;
    if (sigsetjmp(back, 1) == 0) *(volatile int *)64 = 1;
    HOLDS(handled == before + 1);
}

int main(void) {
    static char stack[64 << 10];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    struct sigaction mine = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, found;
    CUcontext created;
    CUmodule module;
    CUfunction stores;
    CUdeviceptr to = 64;
    void *parameters[] = {&to};
    mine.sa_sigaction = handle;
    HOLDS(sigaltstack(&other, NULL) == 0 && sigaction(SIGSEGV, &mine, NULL) == 0);
    fault();
    OK(cuInit(0));
    OK(cuCtxCreate(&created, NULL, 0, 0));
    OK(cuModuleLoadData(&module, STORES));
    OK(cuModuleGetFunction(&stores, module, "stores"));
    fault();
    OK(cuLaunchKernel(stores, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    IS(ILLEGAL_ADDRESS, cuCtxSynchronize());
    HOLDS(handled == 2);
    fault();
    HOLDS(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_sigaction == handle);
    HOLDS(sigaltstack(NULL, &now) == 0 && now.ss_sp == stack);
    puts("done");
    return 0;
}
