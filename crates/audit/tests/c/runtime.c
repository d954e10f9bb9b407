/* A stand-in for our runtime library of one major version: says which function was reached. */
#include <stdio.h>

#define OURS(name) int name(void) { printf("ours %d %s\n", MAJOR, #name); return 0; }

OURS(cudaFree)
OURS(cudaGetDeviceCount)
OURS(cudaGetDeviceProperties_v2)
OURS(__cudaGetProcAddress)

int cudaRuntimeGetVersion(int *version) {
  *version = MAJOR * 1000;
  return 0;
}

/* Every register that may hold an argument, and some on the stack. */
double cudaArguments(long a, long b, long c, long d, long e, long f, long g, double p, double q, double r, double s, double t, double u,
                     double v, double w, double x) {
  printf("ours %d %ld %ld %ld %ld %ld %ld %ld %g %g %g %g %g %g %g %g %g\n", MAJOR, a, b, c, d, e, f, g, p, q, r, s, t, u, v, w, x);
  return x;
}

void **__cudaRegisterFatBinary(void *binary) {
  printf("ours %d __cudaRegisterFatBinary\n", MAJOR);
  return binary;
}
OURS(__cudaUnregisterFatBinary)
