/* A library with a context of its own, which leaves the stack of its callers' contexts as it found it; and one that works in
   whatever context its caller has, counted while it does. */
#include "check.h"

static CUcontext own;

static void library_init(void) {
    CHECK(cuCtxCreate(&own, 0, 0));
    CHECK(cuCtxPopCurrent(NULL));
}

static CUdeviceptr library_call(void) {
    CUdeviceptr pointer;
    CUcontext popped;
    CHECK(cuCtxPushCurrent(own));
    CHECK(cuMemAlloc(&pointer, 16));
    CHECK(cuCtxPopCurrent(&popped));
    printf("the library's own: %d\n", popped == own);
    return pointer;
}

int main(void) {
    CUcontext application, current, counted;
    CUdeviceptr pointer;
    CHECK(cuInit(0));
    printf("without a context: %d\n", cuMemAlloc(&pointer, 16) == CUDA_ERROR_INVALID_CONTEXT);
    library_init();
    CHECK(cuCtxGetCurrent(&current));
    printf("after the library's start: %s\n", current == NULL ? "none" : "some");

    CHECK(cuCtxCreate(&application, 0, 0));
    CHECK(cuMemFree(library_call()));
    CHECK(cuCtxGetCurrent(&current));
    printf("the application's again: %d\n", current == application);

    /* A floating context may be pushed by any thread; here again by this one. */
    CHECK(cuCtxPopCurrent(&current));
    CHECK(cuCtxGetCurrent(&current));
    printf("popped: %s\n", current == NULL ? "none" : "some");
    CHECK(cuCtxPushCurrent(application));

    /* Attaching counts, detaching counts back; the last one destroys. */
    CHECK(cuCtxAttach(&counted, 0));
    printf("attached: %d\n", counted == application);
    CHECK(cuCtxDetach(counted));
    CHECK(cuCtxGetCurrent(&current));
    printf("still there: %d\n", current == application);
    CHECK(cuCtxDetach(application));
    CHECK(cuCtxGetCurrent(&current));
    printf("destroyed: %s\n", current == NULL ? "none" : "some");
    CHECK(cuCtxDestroy(own));
    return 0;
}
