/* A function of CUDA 12.5 through the header of 12.3, whose typedefs do not have it. */
#include "check.h"

#if CUDA_VERSION != 12030
#error "this program is for the header of CUDA 12.3"
#endif

int main(void) {
    typedef CUresult (CUDAAPI *PFN_cuCtxCreate_by_hand)(CUcontext *context, void *params, unsigned int flags, CUdevice device);
    PFN_cuCtxCreate_by_hand create = NULL;
    CUdriverProcAddressQueryResult status;
    int version = 0;

    CHECK(cuInit(0));
    CHECK(cuDriverGetVersion(&version));
    if (version < 12050) {
        printf("the driver is older than 12.5\n");
        return 0;
    }
    CUresult result = cuGetProcAddress("cuCtxCreate", (void **)&create, 12050, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    if (result != CUDA_SUCCESS || create == NULL) {
        printf("not found: %d, %d\n", (int)result, (int)status);
        return 1;
    }
    CUcontext context = NULL;
    CHECK(create(&context, NULL, 0, 0));
    printf("%s: %s\n", symbol_at((void *)create), context != NULL ? "a context" : "no context");
    CHECK(cuCtxDestroy(context));
    return 0;
}
