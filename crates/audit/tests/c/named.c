/* A library or program that takes cudaFree from a shared runtime library, or a stand-in for somebody else's library. */
#include <stdio.h>

#ifdef FOREIGN
int cudaFree(void) { printf("foreign %s\n", FOREIGN); return 0; }
int cuInit(unsigned flags) { printf("foreign %s\n", FOREIGN); return (int)flags; }
#else
int cudaFree(void);
int ENTRY(void) { return cudaFree(); }
#endif
