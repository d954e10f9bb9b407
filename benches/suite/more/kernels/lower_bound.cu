// The lower bound of each key in a sorted table, a search per thread.
extern "C" __global__ void lower_bound(const int* __restrict__ table, int n, const int* __restrict__ keys,
                                       int* __restrict__ out, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int key = keys[i];
  int lo = 0;
  int hi = n;
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (table[mid] < key) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  out[i] = lo;
}
