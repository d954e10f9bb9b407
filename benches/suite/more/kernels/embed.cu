// Copies a row of a table for each token, a CTA for each.
extern "C" __global__ void embed(const int* __restrict__ ids, const float* __restrict__ table, float* __restrict__ out,
                                 int dim) {
  int token = blockIdx.x;
  int id = ids[token];
  for (int c = threadIdx.x; c < dim; c += blockDim.x) out[(size_t)token * dim + c] = table[(size_t)id * dim + c];
}
