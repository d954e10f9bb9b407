/* A child forked from a process with much device memory: it has no copy of it. */
#include "behaviour/expect.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, SIZE = 256 * MIB };

static long resident_mib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    HOLDS(file != NULL && fscanf(file, "%*s %ld", &pages) == 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

int main(void) {
    CUdeviceptr device, managed;
    unsigned char *pinned;
    int status;
    start();
    OK(cuMemAlloc(&device, SIZE));
    OK(cuMemsetD8(device, 1, SIZE));
    OK(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL));
    memset((void *)managed, 2, SIZE);
    OK(cuMemHostAlloc((void **)&pinned, MIB, 0));
    memset(pinned, 3, MIB);
    HOLDS(resident_mib() >= 2 * SIZE / MIB);
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        int lean = resident_mib() < 100, same = pinned[5] == 3;
        /* On the host nothing is there any more, as with a GPU. */
        int gone = msync((void *)device, 4096, MS_ASYNC) != 0 && msync((void *)managed, 4096, MS_ASYNC) != 0;
        _exit(lean && same && gone ? 0 : 1);
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cuMemsetD8(device, 4, SIZE));
    OK(cuMemFree(device));
    puts("done");
    return 0;
}
