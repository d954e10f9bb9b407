// What becomes of the flags of a primary context when it ends.
#include "show.h"

static void state() {
    unsigned flags = 99;
    int active = 99;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    printf("    flags %u, active %d\n", flags, active);
}

int main() {
    CUcontext primary;
    OK(cuInit(0));
    CALL(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_SPIN));
    state();
    CALL(cuDevicePrimaryCtxRetain(&primary, 0));
    state();
    CALL(cuDevicePrimaryCtxRelease(0));
    state();
    CALL(cuDevicePrimaryCtxRetain(&primary, 0));
    state();
    CALL(cuDevicePrimaryCtxReset(0));
    state();
    CALL(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
    CALL(cuDevicePrimaryCtxReset(0));
    return 0;
}
