/* Two ABI versions of one entry point, each through the typedef that bears its version. */
#include "check.h"

#include <cudaTypedefs.h>

int main(void) {
    PFN_cuMemAlloc_v3020 second = NULL;
    PFN_cuMemAlloc_v2000 first = NULL;
    CUdriverProcAddressQueryResult status;

    CHECK(cuInit(0));
    CHECK(cuGetProcAddress("cuMemAlloc", (void **)&second, 3020, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    printf("3020: %s, %d\n", symbol_at((void *)second), (int)status);
    CHECK(cuGetProcAddress("cuMemAlloc", (void **)&first, 2000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    printf("2000: %s, %d\n", symbol_at((void *)first), (int)status);

    /* The types differ in the width of sizes and device pointers. */
    CUcontext context;
    CUdeviceptr pointer = 0;
    CHECK(cuCtxCreate(&context, NULL, 0, 0));
    CHECK(second(&pointer, 4096));
    printf("allocated: %s\n", pointer != 0 ? "yes" : "no");
    CHECK(cuMemFree(pointer));
    CHECK(cuCtxDestroy(context));
    return 0;
}
