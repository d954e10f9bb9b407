// Versions, as numbers and as the header says.
#include "show.h"

int main() {
    int runtime = 0, driver = 0, seen = 0;
    CALL(cudaRuntimeGetVersion(&runtime));
    SHOW(runtime >= CUDART_VERSION && runtime / 1000 == CUDART_VERSION / 1000);
    CALL(cudaDriverGetVersion(&driver));
    SHOW(driver >= runtime);
    CALL(cuDriverGetVersion(&seen));
    SHOW(seen == driver);
    CALL(cudaRuntimeGetVersion(nullptr));
    CALL(cudaDriverGetVersion(nullptr));
    LAST();
    CUcontext context;
    OK(cuInit(0));
    CALL(cuCtxGetCurrent(&context));
    SHOW(context == nullptr);
    return 0;
}
