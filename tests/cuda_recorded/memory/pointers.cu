// What an address is.
#include "show.h"

static int own[4];
__device__ int variable;

static void ask(const char *what, const void *pointer) {
    cudaPointerAttributes attributes;
    memset(&attributes, 0x55, sizeof attributes);
    cudaError_t result = cudaPointerGetAttributes(&attributes, pointer);
    printf("%s: %s, type %d, device %d, on the device %d, on the host %d\n", what, name_of(result), (int)attributes.type,
           attributes.device, attributes.devicePointer == pointer, attributes.hostPointer == pointer);
}

int main() {
    int *memory = zeros<int>(64), *pinned, *managed, *pooled;
    void *symbol;
    OK(cudaMallocHost(&pinned, 64));
    OK(cudaMallocManaged(&managed, 64));
    OK(cudaMallocAsync(&pooled, 64, nullptr));
    OK(cudaGetSymbolAddress(&symbol, variable));
    ask("device memory", memory);
    ask("inside of it", memory + 3);
    ask("pinned memory", pinned);
    ask("inside of it", pinned + 3);
    ask("managed memory", managed);
    ask("memory of a pool", pooled);
    ask("a variable of the device", symbol);
    ask("a variable of the host", own);
    ask("NULL", nullptr);
    ask("nothing", (void *)0x30);
    OK(cudaFree(memory));
    ask("what was device memory", memory);
    LAST();
    CALL(cudaPointerGetAttributes(nullptr, own));
    LAST();
    return 0;
}
