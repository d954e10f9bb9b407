// The vector addition of the CUDA programming guide, in the C++ that clang's NVPTX target compiles without a toolkit.
#define __global__ __attribute__((global))

extern "C" __global__ void VecAdd(const float* A, const float* B, float* C, int N) {
  int i = __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ctaid_x() + __nvvm_read_ptx_sreg_tid_x();
  if (i < N) C[i] = A[i] + B[i];
}
