// What is in order: one stream, two with an event between them, and the default stream with all blocking ones.
#include "show.h"

__global__ void append(unsigned long long *number, unsigned digit) {
    for (int turn = 0; turn < 2000; turn++) __nanosleep(100);
    *number = *number * 10 + digit;
}

int main() {
    unsigned long long *number = zeros<unsigned long long>(1);
    cudaStream_t one, two, apart;
    cudaEvent_t done, joined;
    OK(cudaStreamCreate(&one));
    OK(cudaStreamCreate(&two));
    OK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&joined, cudaEventBlockingSync));
    append<<<1, 1, 0, one>>>(number, 1);
    append<<<1, 1, 0, one>>>(number, 2);
    CALL(cudaEventRecord(done, one));
    CALL(cudaStreamWaitEvent(two, done, 0));
    append<<<1, 1, 0, two>>>(number, 3);
    append<<<1, 1>>>(number, 4);
    append<<<1, 1, 0, one>>>(number, 5);
    CALL(cudaEventRecord(joined, one));
    CALL(cudaStreamWaitEvent(apart, joined, cudaEventWaitDefault));
    append<<<1, 1, 0, apart>>>(number, 6);
    CALL(cudaStreamSynchronize(apart));
    SHOW(at(number));
    CALL(cudaEventQuery(done));
    CALL(cudaEventSynchronize(joined));
    LAST();
    // An event that nobody recorded holds nobody up.
    cudaEvent_t never;
    OK(cudaEventCreate(&never));
    CALL(cudaStreamWaitEvent(one, never, 0));
    append<<<1, 1, 0, one>>>(number, 7);
    CALL(cudaStreamDestroy(one));
    CALL(cudaDeviceSynchronize());
    SHOW(at(number));
    return 0;
}
