// A program and a library, each with a runtime of its own, work on the same memory.
#include <cstdio>
#include <dlfcn.h>

__global__ void add(int *numbers) { numbers[threadIdx.x] += 1; }

int main(int, char **arguments) {
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return printf("%s\n", dlerror()), 1;
  auto add_there = (int (*)(int *))dlsym(library, "add_here");
  int *numbers = nullptr, got[4] = {}, version = 0;
  cudaMalloc(&numbers, sizeof got);
  cudaMemset(numbers, 0, sizeof got);
  add<<<1, 4>>>(numbers);
  int other = add_there(numbers);
  add<<<1, 4>>>(numbers);
  cudaMemcpy(got, numbers, sizeof got, cudaMemcpyDeviceToHost);
  cudaRuntimeGetVersion(&version);
  printf("%d %d: %d %d %d\n", version / 1000, other, got[0], got[3], (int)cudaGetLastError());
  return 0;
}
