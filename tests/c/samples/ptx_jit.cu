// The kernel of ptx_jit.c, from a file.
#define __global__ __attribute__((global))

__global__ void myKernel(int* data) {
  int i = __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ctaid_x() + __nvvm_read_ptx_sreg_tid_x();
  data[i] = i;
}
