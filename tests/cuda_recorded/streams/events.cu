// Events: flags, their states, and times between them that can be so.
#include "show.h"
#include <unistd.h>

__global__ void wait_for(volatile int *flag) {
    while (*flag == 0) __nanosleep(1000);
}

int main() {
    cudaEvent_t first, last, timeless, wrong;
    cudaStream_t stream;
    float time = -1;
    int *flag;
    OK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
    *flag = 0;
    OK(cudaStreamCreate(&stream));
    CALL(cudaEventCreate(&first));
    CALL(cudaEventCreateWithFlags(&last, cudaEventBlockingSync));
    CALL(cudaEventCreateWithFlags(&timeless, cudaEventDisableTiming));
    CALL(cudaEventCreateWithFlags(&wrong, cudaEventInterprocess));
    CALL(cudaEventCreateWithFlags(&wrong, 0x80));
    LAST();
    CALL(cudaEventQuery(first));
    CALL(cudaEventSynchronize(first));
    CALL(cudaEventElapsedTime(&time, first, last));
    LAST();
    CALL(cudaEventRecord(first, stream));
    wait_for<<<1, 1, 0, stream>>>(flag);
    CALL(cudaEventRecord(last, stream));
    CALL(cudaEventQuery(last));
    CALL(cudaEventElapsedTime(&time, first, last));
    LAST();
    usleep(5000);
    *(volatile int *)flag = 1;
    CALL(cudaEventSynchronize(last));
    CALL(cudaEventQuery(last));
    CALL(cudaEventElapsedTime(&time, first, last));
    SHOW(time > 1 && time < 10000);
    float back = 0;
    CALL(cudaEventElapsedTime(&back, last, first));
    SHOW(back == -time);
    CALL(cudaEventElapsedTime(&time, first, first));
    SHOW(time == 0);
    CALL(cudaEventRecord(timeless, stream));
    CALL(cudaEventSynchronize(timeless));
    CALL(cudaEventElapsedTime(&time, first, timeless));
    LAST();
    CALL(cudaEventRecordWithFlags(first, nullptr, cudaEventRecordDefault));
    CALL(cudaEventRecord(first));
    CALL(cudaEventSynchronize(first));
    CALL(cudaEventDestroy(first));
    CALL(cudaEventDestroy(last));
    CALL(cudaEventDestroy(timeless));
    LAST();
    return 0;
}
