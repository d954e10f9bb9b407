/* A shared object as nvcc makes them, with the fat binaries of the file BLOB, which TABLE describes: { offset, kernels } for each. All are
 * registered when it is loaded. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_OF(macro) #macro
#define TEXT(macro) TEXT_OF(macro)

__asm__(".section .nv_fatbin,\"a\"\n.balign 4096\n.globl fat_binaries\nfat_binaries: .incbin \"" TEXT(BLOB) "\"\n"
        ".globl fat_binaries_end\nfat_binaries_end:\n.text\n");
extern const char fat_binaries[], fat_binaries_end[];

static const struct {
    size_t offset;
    int kernels;
} TABLE[] = {
#include TEXT(LIST)
};
#define BINARIES ((int)(sizeof TABLE / sizeof TABLE[0]))

struct wrapper {
    int magic, version;
    const char *binary;
    void *file;
};

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);

/* Stand-ins for kernels: only their addresses count. */
static char *stand_ins[BINARIES];

__attribute__((constructor)) static void load(void) {
    static struct wrapper wrappers[BINARIES];
    for (int binary = 0; binary < BINARIES; binary++) {
        wrappers[binary] = (struct wrapper){0x466243b1, 1, fat_binaries + TABLE[binary].offset, NULL};
        void **handle = __cudaRegisterFatBinary(&wrappers[binary]);
        stand_ins[binary] = malloc(TABLE[binary].kernels);
        for (int kernel = 0; kernel < TABLE[binary].kernels; kernel++) {
            char *name = malloc(32);
            snprintf(name, 32, "kernel_%d_%d", binary, kernel);
            __cudaRegisterFunction(handle, stand_ins[binary] + kernel, name, name, -1, NULL, NULL, NULL, NULL, NULL);
        }
        __cudaRegisterFatBinaryEnd(handle);
    }
}

/* What stands for a kernel; NULL if there is no such binary. */
const void *stand_in(int binary, int kernel) { return binary < BINARIES ? stand_ins[binary] + kernel : NULL; }

/* Bytes of the fat binaries that are in this process's memory. */
size_t resident(void) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    size_t total = 0, first, last, size;
    int within = 0;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%zx-%zx ", &first, &last) == 2) {
            within = first < (size_t)fat_binaries_end && last > (size_t)fat_binaries;
        } else if (within && sscanf(line, "Rss: %zu kB", &size) == 1) {
            total += size << 10;
        }
    }
    fclose(maps);
    return total;
}
