/* A function is asked for only of a driver that is new enough for it. The guide shows this with the lookup of the runtime library,
   which passes the version on to the driver's; NVIDIA's runtime needs export tables of the driver that are private. */
#include "check.h"

#include <cudaTypedefs.h>

int main(void) {
    int version = 0;
    CHECK(cuDriverGetVersion(&version));
    if (version < 11020) {
        printf("the driver is older than 11.2\n");
        return 0;
    }
    PFN_cuMemAllocAsync_v11020 allocate = NULL;
    CUdriverProcAddressQueryResult status;
    CHECK(cuGetProcAddress("cuMemAllocAsync", (void **)&allocate, 11020, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    if (status == CU_GET_PROC_ADDRESS_SUCCESS && allocate != NULL) printf("%s\n", symbol_at((void *)allocate));
    return 0;
}
