// One level of a breadth-first search, a vertex per thread; all that write to a level write the same number.
extern "C" __global__ void bfs(const int* __restrict__ ptr, const int* __restrict__ adj, int* level, int n,
                               int current) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n && level[v] == current) {
    for (int e = ptr[v]; e < ptr[v + 1]; ++e) {
      int u = adj[e];
      if (level[u] == -1) level[u] = current + 1;
    }
  }
}
