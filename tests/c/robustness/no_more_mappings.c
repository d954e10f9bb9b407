/* A process that has as many mappings as the host allows (vm.max_map_count): what cannot be mapped is not, nothing else is lost, and it can be mapped later. */
#include "behaviour/expect.h"

#include <sys/mman.h>

enum { PIECES = 3, MANY = 1 << 20 };
static const size_t PIECE = 2 << 20;
static void *filler[MANY];

/* Mappings until there can be no more; how many. */
static size_t fill(void) {
    size_t count = 0;
    /* Neighbours differ, so that the host does not join them. */
    while (count < MANY) {
        void *made = mmap(NULL, 4096, count % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED) return count;
        filler[count++] = made;
    }
    return 0;
}

int main(void) {
    const CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    const CUmemAccessDesc access = {.location = kind.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr base, other[8];
    unsigned found = 0;
    size_t count;
    start();
    OK(cuMemAddressReserve(&base, PIECES * PIECE, 0, 0, 0));
    OK(cuMemCreate(&handle, PIECE, &kind, 0));
    OK(cuMemMap(base, PIECE, 0, handle, 0));
    OK(cuMemSetAccess(base, PIECE, &access, 1));
    OK(cuMemsetD32(base, 1, PIECE / 4));
    count = fill();
    HOLDS(count != 0);
    /* What is at two addresses is a mapping of the host's at each. */
    IS(OUT_OF_MEMORY, cuMemMap(base + PIECE, PIECE, 0, handle, 0));
    IS(INVALID_VALUE, cuMemSetAccess(base + PIECE, PIECE, &access, 1));
    IS(INVALID_VALUE, cuMemAddressFree(base, PIECES * PIECE));
    HOLDS(munmap(filler[--count], 4096) == 0 && munmap(filler[--count], 4096) == 0 && munmap(filler[--count], 4096) == 0);
    for (unsigned k = 0; k < 8; k++) {
        OK(cuMemAlloc(&other[k], PIECE));
        HOLDS(other[k] + PIECE <= base || other[k] >= base + PIECES * PIECE);
        OK(cuMemsetD32(other[k], 77, PIECE / 4));
    }
    OK(cuMemcpyDtoH(&found, base + 4, 4));
    HOLDS(found == 1);
    while (count > 0) HOLDS(munmap(filler[--count], 4096) == 0);
    for (int k = 1; k < PIECES; k++) OK(cuMemMap(base + k * PIECE, PIECE, 0, handle, 0));
    OK(cuMemSetAccess(base, PIECES * PIECE, &access, 1));
    OK(cuMemsetD32(base + PIECE, 2, PIECE / 4));
    for (int k = 0; k < PIECES; k++) {
        OK(cuMemcpyDtoH(&found, base + k * PIECE + 4, 4));
        HOLDS(found == 2);
    }
    OK(cuMemUnmap(base, PIECES * PIECE));
    OK(cuMemAddressFree(base, PIECES * PIECE));
    OK(cuMemRelease(handle));
    puts("done");
    return 0;
}
