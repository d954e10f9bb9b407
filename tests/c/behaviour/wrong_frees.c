/* What the log says of addresses that cannot be freed. */
#include "expect.h"

static void says(CUdeviceptr address, const char *part) {
    CUlogIterator start;
    char lines[8192];
    size_t size = sizeof lines;
    OK(cuLogsCurrent(&start, 0));
    IS(INVALID_VALUE, cuMemFree(address));
    OK(cuLogsDumpToMemory(&start, lines, &size, 0));
    if (strstr(lines, part) != NULL) return;
    fprintf(stderr, "no \"%s\" in: %s", part, lines);
    exit(1);
}

int main(void) {
    CUdeviceptr small, large, held;
    start();
    OK(cuMemAlloc(&held, 3000));
    OK(cuMemAlloc(&small, 3000));
    OK(cuMemAlloc(&large, 5 << 20));
    OK(cuMemFree(small));
    OK(cuMemFree(large));
    says(small, "has already been freed: it was the 3000-byte device allocation");
    says(small + 8, "at offset 8 of the 3000-byte device allocation");
    says(large, "has already been freed: it was the 5242880-byte device allocation");
    says(large + 64, "at offset 64 of the 5242880-byte device allocation");
    says(held + 3000, "0 bytes after the end of the 3000-byte device allocation");
    says(held + 8, "not the start of an allocation but at offset 8 of");
    /* Far from everything nothing is near. */
    says(held + ((CUdeviceptr)1 << 35), "none is near");
    says((CUdeviceptr)&small, "host memory that was not allocated by the driver");
    puts("done");
    return 0;
}
