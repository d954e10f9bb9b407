// What the device's runtime library answers to kernels: configurations that are not possible, errors of each thread, too many launches, and queries.
// nvcc: -rdc=true -lcudadevrt
#include "show.h"

__global__ void nothing() {}

__global__ void bounded(int *place) __launch_bounds__(64);

__global__ void bounded(int *place) { *place = 1; }

__global__ void with_shared(int *place) {
    __shared__ int room[1000];
    room[threadIdx.x] = *place;
    __syncthreads();
    *place = room[0];
}

__global__ void count(int *place) { atomicAdd(place, 1); }

// The errors of launches: what is left behind, and what is left behind that.
__global__ void configurations(int *answers) {
    int place = 0;
    auto note = [&] {
        answers[place++] = cudaPeekAtLastError();
        answers[place++] = cudaGetLastError();
        answers[place++] = cudaGetLastError();
    };
    nothing<<<1, 1>>>();
    note();
    nothing<<<1, 1025>>>();
    note();
    nothing<<<0, 1>>>();
    note();
    nothing<<<1, 0>>>();
    note();
    nothing<<<dim3(1, 65536, 1), 1>>>();
    note();
    nothing<<<1, dim3(1, 1, 65)>>>();
    note();
    bounded<<<1, 65>>>(answers);
    note();
    nothing<<<1, 1, 49153>>>();
    note();
    nothing<<<1, 1, 1 << 20>>>();
    note();
    with_shared<<<1, 1, 46000>>>(answers + 100);
    note();
    nothing<<<1, 1, 0, (cudaStream_t)0x12345>>>();
    note();
    nothing<<<1, 1, 0, cudaStreamPerThread>>>();
    note();
    nothing<<<1, 1, 0, cudaStreamLegacy>>>();
    note();
}

// Each thread has its own last error.
__global__ void of_threads(int *answers) {
    if (threadIdx.x == 1) nothing<<<1, 4096>>>();
    __syncthreads();
    answers[threadIdx.x] = cudaGetLastError();
    answers[4 + threadIdx.x] = cudaGetLastError();
}

// Launches that wait for the end of their parent count against the limit.
__global__ void too_many(int *answers, int *counter, int launches) {
    answers[0] = -1;
    for (int index = 0; index < launches; index++) {
        count<<<1, 1, 0, cudaStreamTailLaunch>>>(counter);
        int error = cudaGetLastError();
        if (error != 0 && answers[0] < 0) answers[0] = index, answers[1] = error;
        if (error != 0) answers[2]++;
    }
}

__global__ void queries(int *answers) {
    int place = 0, value = -1;
    answers[place++] = cudaGetDeviceCount(&value);
    answers[place++] = value;
    answers[place++] = cudaGetDevice(&value);
    answers[place++] = value;
    answers[place++] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
    answers[place++] = value;
    answers[place++] = cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0);
    answers[place++] = value;
    answers[place++] = cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, 0);
    answers[place++] = value;
    value = -7;
    answers[place++] = cudaDeviceGetAttribute(&value, (cudaDeviceAttr)99999, 0);
    answers[place++] = value;
    answers[place++] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 5);
    answers[place++] = value;
    size_t size = 12345;
    answers[place++] = cudaDeviceGetLimit(&size, cudaLimitDevRuntimePendingLaunchCount);
    answers[place++] = (int)size;
    answers[place++] = cudaDeviceGetLimit(&size, cudaLimitStackSize);
    answers[place++] = (int)size;
    answers[place++] = cudaDeviceGetLimit(&size, cudaLimitMallocHeapSize);
    answers[place++] = (int)size;
    answers[place++] = cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize);
    answers[place++] = (int)size;
    answers[place++] = cudaDeviceGetLimit(&size, (cudaLimit)77);
    answers[place++] = (int)size;
    cudaFuncCache cache = (cudaFuncCache)77;
    answers[place++] = cudaDeviceGetCacheConfig(&cache);
    answers[place++] = cache;
    answers[place++] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, nothing, 256, 0);
    answers[place++] = value;
    answers[place++] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, with_shared, 32, 20000);
    answers[place++] = value;
    answers[place++] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, bounded, 65, 0);
    answers[place++] = value;
    answers[place++] = cudaGetLastError();
    cudaFuncAttributes attributes;
    memset(&attributes, 0xff, sizeof attributes);
    answers[place++] = cudaFuncGetAttributes(&attributes, bounded);
    answers[place++] = attributes.maxThreadsPerBlock;
    answers[place++] = (int)attributes.sharedSizeBytes;
    answers[place++] = (int)attributes.constSizeBytes;
    answers[place++] = (int)attributes.localSizeBytes;
    answers[place++] = attributes.maxDynamicSharedSizeBytes;
    answers[place++] = cudaFuncGetAttributes(&attributes, with_shared);
    answers[place++] = (int)attributes.sharedSizeBytes;
    answers[place++] = attributes.maxDynamicSharedSizeBytes;
    answers[place++] = cudaFuncGetAttributes(&attributes, (void *)queries);
    answers[place++] = 424242;
    const int codes[] = {0, 1, 2, 9, 65, 69, 98, 700, 719, 999, 12345};
    for (int code : codes) {
        printf("%s: %s\n", cudaGetErrorName((cudaError_t)code), cudaGetErrorString((cudaError_t)code));
    }
}

int main() {
    int *answers = zeros<int>(256);
    configurations<<<1, 1>>>(answers);
    CALL(cudaDeviceSynchronize());
    for (int index = 0; index < 39; index += 3) printf("%d %d %d\n", at(answers, index), at(answers, index + 1), at(answers, index + 2));
    LAST();
    of_threads<<<1, 4>>>(answers);
    CALL(cudaDeviceSynchronize());
    for (int index = 0; index < 8; index++) SHOW(at(answers, index));
    size_t limit;
    CALL(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
    SHOW(limit);
    int *counter = zeros<int>(1);
    for (int launches : {100, 2048, 2049, 5000}) {
        OK(cudaMemset(answers, 0, 16));
        OK(cudaMemset(counter, 0, 4));
        too_many<<<1, 1>>>(answers, counter, launches);
        CALL(cudaDeviceSynchronize());
        printf("%d: %d %d %d, %d ran\n", launches, at(answers), at(answers, 1), at(answers, 2), at(counter));
    }
    CALL(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096));
    OK(cudaMemset(answers, 0, 16));
    OK(cudaMemset(counter, 0, 4));
    too_many<<<1, 1>>>(answers, counter, 6000);
    CALL(cudaDeviceSynchronize());
    printf("%d %d %d, %d ran\n", at(answers), at(answers, 1), at(answers, 2), at(counter));
    OK(cudaMemset(answers, 0, 1024));
    queries<<<1, 1>>>(answers);
    CALL(cudaDeviceSynchronize());
    for (int index = 0; at(answers, index) != 424242; index++) printf("%d: %d\n", index, at(answers, index));
    return 0;
}
