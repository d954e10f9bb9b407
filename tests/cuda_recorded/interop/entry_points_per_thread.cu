// Functions of the driver in a program whose default stream is each thread's own.
// nvcc: --default-stream per-thread
#include "show.h"

typedef CUresult (*GetId)(CUstream, unsigned long long *);

static unsigned long long ask(unsigned long long flags) {
    GetId function = nullptr;
    cudaDriverEntryPointQueryResult found = (cudaDriverEntryPointQueryResult)9;
    CALL(cudaGetDriverEntryPointByVersion("cuStreamGetId", (void **)&function, 12000, flags, &found));
    SHOW(found);
    unsigned long long id = 0;
    if (function != nullptr) OK(function(nullptr, &id));
    return id;
}

int main() {
    OK(cudaFree(nullptr));
    unsigned long long own = 0, legacy = 0;
    OK(cudaStreamGetId(cudaStreamPerThread, &own));
    OK(cudaStreamGetId(cudaStreamLegacy, &legacy));
    unsigned long long id = ask(cudaEnableDefault);
    SHOW(id == own);
    id = ask(cudaEnableLegacyStream);
    SHOW(id == legacy);
    id = ask(cudaEnablePerThreadDefaultStream);
    SHOW(id == own);
    LAST();
    return 0;
}
