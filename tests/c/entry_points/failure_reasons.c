/* Why a function is not there: the version asked for is too old, or the driver is. The argument is the version to ask for. */
#include "check.h"

int main(int argc, char **argv) {
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    int version = argc > 1 ? atoi(argv[1]) : 0;

    CUresult result = cuGetProcAddress("cuDeviceGetExecAffinitySupport", &function, version, 0, &status);
    if (result != CUDA_SUCCESS) {
        const char *name = "?";
        cuGetErrorName(result, &name);
        printf("refused: %s\n", name);
    } else if (status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT) {
        printf("the driver has it, but not for this version\n");
    } else if (status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) {
        printf("the driver does not have it\n");
    } else if (status == CU_GET_PROC_ADDRESS_SUCCESS && function != NULL) {
        printf("found: %s\n", symbol_at(function));
    }
    return 0;
}
