/* The version that is asked for decides the ABI version; one below the first is not sufficient. */
#include "check.h"

#include <cudaTypedefs.h>

int main(void) {
    PFN_cuStreamBeginCapture_v10000 first = NULL;
    PFN_cuStreamBeginCapture_v10010 second = NULL;
    void *none = NULL;
    CUdriverProcAddressQueryResult status;

    CHECK(cuGetProcAddress("cuStreamBeginCapture", (void **)&first, 10000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    printf("10000: %s, %d\n", symbol_at((void *)first), (int)status);
    CHECK(cuGetProcAddress("cuStreamBeginCapture", (void **)&second, 10010, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    printf("10010: %s, %d\n", symbol_at((void *)second), (int)status);
    CHECK(cuGetProcAddress("cuStreamBeginCapture", &none, 9020, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    printf("9020: %s, %d\n", symbol_at(none), (int)status);
    return 0;
}
