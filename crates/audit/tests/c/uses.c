/* Calls what the runtime that is linked in offers; as the main function of a program, or as one of a library. */
#include <pthread.h>
#include <stdio.h>

int cudaFree(void), cudaGetDeviceCount(void), cudaOnlyHere(void), cudaRuntimeGetVersion(int *), __cudaGetProcAddress(void);
double cudaArguments(long, long, long, long, long, long, long, double, double, double, double, double, double, double, double, double);

static void *count(void *unused) {
  cudaGetDeviceCount();
  return unused;
}

__attribute__((visibility("default"))) int ENTRY(void) {
  int version = 0;
  int (*volatile by_address)(void) = cudaFree;
  pthread_t threads[8];
  setvbuf(stdout, NULL, _IOLBF, 0);
  cudaRuntimeGetVersion(&version);
  printf("version %d\n", version);
  printf("answer %g\n", cudaArguments(1, 2, 3, 4, 5, 6, 7, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5));
  printf("free %d %d\n", cudaFree(), by_address());
  printf("short %d\n", __cudaGetProcAddress());
#ifdef __CET__
  printf("%smarked\n", *(unsigned *)by_address == 0xfa1e0ff3 ? "" : "not ");
#endif
  cudaOnlyHere();
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  return 0;
}
