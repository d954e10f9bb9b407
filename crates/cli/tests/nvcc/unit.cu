// One translation unit of units.cu: UNIT is its function, FACTOR and SUMMAND what it does.
static __constant__ int factor = 0;

static __global__ void scale(int *value, int summand) { *value = *value * factor + summand; }

int UNIT(int value) {
  int *place, constant = FACTOR, result = -1;
  cudaMemcpyToSymbol(factor, &constant, sizeof constant);
  cudaMalloc(&place, sizeof *place);
  cudaMemcpy(place, &value, sizeof value, cudaMemcpyHostToDevice);
  scale<<<1, 1>>>(place, SUMMAND);
  cudaMemcpy(&result, place, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(place);
  return result;
}
