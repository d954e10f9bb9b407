// What cudaHostGetFlags tells of the flags that memory was made with.
#include "show.h"

static void allocated(unsigned wanted) {
    void *memory = nullptr;
    unsigned flags = 99;
    CALL(cudaHostAlloc(&memory, 4096, wanted));
    SHOW(wanted);
    CALL(cudaHostGetFlags(&flags, memory));
    SHOW(flags);
    CALL(cudaHostGetFlags(&flags, (char *)memory + 100));
    OK(cudaFreeHost(memory));
}

static void registered(unsigned wanted) {
    void *memory = aligned_alloc(4096, 8192);
    unsigned flags = 99;
    CALL(cudaHostRegister(memory, 8192, wanted));
    SHOW(wanted);
    CALL(cudaHostGetFlags(&flags, memory));
    SHOW(flags);
    OK(cudaHostUnregister(memory));
    free(memory);
}

int main() {
    allocated(cudaHostAllocDefault);
    allocated(cudaHostAllocPortable);
    allocated(cudaHostAllocMapped);
    allocated(cudaHostAllocWriteCombined);
    allocated(cudaHostAllocPortable | cudaHostAllocWriteCombined);
    registered(cudaHostRegisterDefault);
    registered(cudaHostRegisterPortable);
    registered(cudaHostRegisterPortable | cudaHostRegisterMapped);
    unsigned flags = 99;
    int *device = zeros<int>(4);
    CALL(cudaHostGetFlags(&flags, device));
    CALL(cudaHostGetFlags(nullptr, device));
    LAST();
    return 0;
}
