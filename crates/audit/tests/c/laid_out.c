/* A program with kernels that calls functions of a runtime library, which an assembly file beside it lays out as NVIDIA's is. Theirs answer 35. */
#include <dlfcn.h>
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int cudaGetDeviceCount(void);
HIDDEN int cudaFree(void);

__attribute__((section(".nvFatBinSegment"))) struct {
  int magic, version;
  void *data, *unused;
} fat_binary = {0x466243b1, 1, 0, 0};

int main(void) {
  int count = cudaGetDeviceCount(), freed = cudaFree();
  printf("%d %d %s\n", count, freed, dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) ? "driver" : "no driver");
  return 0;
}
