/* A second ABI version that came with a minor version: the header of that time does not map the plain name to it. */
#include "check.h"

#include <cudaTypedefs.h>
#include <string.h>

int main(void) {
    CUuuid uuid, expected;
    CUdevice device;
    int version = 0;
    CUdriverProcAddressQueryResult status;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDriverGetVersion(&version));
    if (version < 11040) {
        printf("the driver is older than 11.4\n");
        return 0;
    }
    PFN_cuDeviceGetUuid_v11040 get = NULL;
    CHECK(cuGetProcAddress("cuDeviceGetUuid", (void **)&get, 11040, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    memset(&uuid, 0, sizeof uuid);
    CHECK(get(&uuid, device));
    CHECK(cuDeviceGetUuid(&expected, device));
    printf("%s: %s\n", symbol_at((void *)get), memcmp(&uuid, &expected, sizeof uuid) == 0 ? "same" : "different");
    return 0;
}
