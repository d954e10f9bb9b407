// The kernel of vector_add_drv.c.
#define __global__ __attribute__((global))

extern "C" __global__ void VecAdd_kernel(const float* a, const float* b, float* c, int count) {
  int i = __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ctaid_x() + __nvvm_read_ptx_sreg_tid_x();
  if (i < count) c[i] = a[i] + b[i];
}
