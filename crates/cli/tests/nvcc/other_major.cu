// A library that a program loads whose runtime is of another major version: its kernel has the name of one of the program's.
__global__ void add(int *numbers) { numbers[threadIdx.x] += 10; }

extern "C" int add_here(int *numbers) {
  int version = 0;
  add<<<1, 4>>>(numbers);
  if (cudaDeviceSynchronize() != cudaSuccess || cudaRuntimeGetVersion(&version) != cudaSuccess) return -1;
  return version / 1000;
}
