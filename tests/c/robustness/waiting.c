/* A kernel that waits for the host, or for another stream, holds nobody up but those who wait for it. */
#include "behaviour/expect.h"

#include <pthread.h>
#include <unistd.h>

static void *release_later(void *unused) {
    (void)unused;
    usleep(20000);
    release();
    return NULL;
}

int main(void) {
    CUstream blocked, other, writer;
    CUdeviceptr memory, address;
    pthread_t thread;
    unsigned number = 5, result = 0;
    start();
    address = (CUdeviceptr)flag;
    OK(cuStreamCreate(&blocked, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&memory, 1 << 20));
    /* Another thread sets the flag after the launch, while this one waits. */
    hold(blocked);
    HOLDS(pthread_create(&thread, NULL, release_later, NULL) == 0);
    OK(cuStreamSynchronize(blocked));
    HOLDS(pthread_join(thread, NULL) == 0);
    /* More waiting kernels than any machine has workers, and a stream that still gets through, copies and all. */
    for (int i = 0; i < 64; i++) {
        CUstream one;
        OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
        hold(one);
        OK(cuStreamDestroy(one));
    }
    hold(blocked);
    OK(cuMemsetD32Async(memory, number, 1 << 18, other));
    OK(cuMemcpyDtoHAsync(&result, memory + 4096, 4, other));
    OK(cuStreamSynchronize(other));
    HOLDS(result == number);
    IS(NOT_READY, cuStreamQuery(blocked));
    /* A stream that waits for a value, and the stream that writes it, which sets the kernels free. */
    OK(cuStreamWaitValue32(other, address + 4, 9, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue32(other, address, 1, 0));
    IS(NOT_READY, cuStreamQuery(other));
    OK(cuStreamWriteValue32(writer, address + 4, 9, 0));
    OK(cuCtxSynchronize());
    OK(cuStreamQuery(blocked));
    puts("done");
    return 0;
}
