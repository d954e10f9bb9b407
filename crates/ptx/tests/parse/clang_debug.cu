__attribute__((device)) __attribute__((noinline)) int helper(int x, int *out) { if (x > 3) { *out = x; return x * 2; } return x; }
__attribute__((device)) int table[4] = {1, 2, 3, 4};
__attribute__((global)) void kernel(int *out, int n) {
  __attribute__((shared)) static int tile[32];
  int i = __nvvm_read_ptx_sreg_tid_x();
  tile[i] = helper(n, out);
  __syncthreads();
  switch (n) { case 0: out[i] = tile[31 - i]; break; case 1: out[i] = table[i & 3]; break; case 2: out[i] = n; break; case 3: out[i] = -n; break; default: out[i] = 9; }
}
