// One step of a bitonic sort in global memory: a thread for each element, the lower of two exchanges them.
extern "C" __global__ void bitonic_global(int* data, int j, int k) {
  unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
  unsigned other = i ^ j;
  if (other > i) {
    bool up = (i & k) == 0;
    int a = data[i];
    int b = data[other];
    if (up) {
      if (a > b) {
        data[i] = b;
        data[other] = a;
      }
    } else {
      if (a < b) {
        data[i] = b;
        data[other] = a;
      }
    }
  }
}
