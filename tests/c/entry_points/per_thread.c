/* Three ways to say which default stream is meant: the macro at compile time, and two flags. */
#include "check.h"

#include <cudaTypedefs.h>

static void look_up(const char *what, cuuint64_t flags) {
    void *launch = NULL;
    CHECK(cuGetProcAddress("cuLaunchKernel", &launch, 7000, flags, NULL));
    printf("%s: %s\n", what, symbol_at(launch));
}

int main(void) {
    look_up("default", CU_GET_PROC_ADDRESS_DEFAULT);
    look_up("legacy", CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    look_up("per thread", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    return 0;
}
