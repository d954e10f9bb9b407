// Streams, events, copies and memory that kernels make.
// nvcc: -rdc=true -lcudadevrt
#include "show.h"

__global__ void digit(int *place, int value) { *place = *place * 10 + value; }

__global__ void wait_and_put(int *place, int value) {
    for (int turn = 0; turn < 100; turn++) __nanosleep(1000);
    *place = value;
}

__global__ void named(int *answers, int *places) {
    int place = 0;
    cudaStream_t one, two;
    answers[place++] = cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    answers[place++] = cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    answers[place++] = one != two && one != 0;
    cudaStream_t other = 0;
    answers[place++] = cudaStreamCreateWithFlags(&other, cudaStreamDefault);
    answers[place++] = cudaGetLastError();
    for (int value = 1; value <= 4; value++) {
        digit<<<1, 1, 0, one>>>(places, value);
        digit<<<1, 1, 0, two>>>(places + 1, 5 - value);
    }
    cudaEvent_t event, odd;
    answers[place++] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    answers[place++] = cudaEventCreateWithFlags(&odd, cudaEventDefault);
    answers[place++] = cudaGetLastError();
    // What comes behind the event in another stream comes behind what is before it in its own.
    wait_and_put<<<1, 1, 0, one>>>(places + 2, 7);
    answers[place++] = cudaEventRecord(event, one);
    answers[place++] = cudaStreamWaitEvent(two, event, 0);
    digit<<<1, 1, 0, two>>>(places + 2, 8);
    answers[place++] = cudaEventDestroy(event);
    answers[place++] = cudaStreamDestroy(one);
    answers[place++] = cudaStreamDestroy(two);
    answers[place++] = cudaGetLastError();
}

// Streams that one thread of a block made, the others use.
__global__ void shared_stream(int *places) {
    __shared__ cudaStream_t stream;
    if (threadIdx.x == 0) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int turn = 0; turn < 4; turn++) {
        __syncthreads();
        if (threadIdx.x == turn) digit<<<1, 1, 0, stream>>>(places, turn + 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) cudaStreamDestroy(stream);
}

// Launches of the threads of a block into the default stream run in order.
__global__ void default_stream(int *places) {
    for (int turn = 0; turn < 4; turn++) {
        __syncthreads();
        if (threadIdx.x == turn) digit<<<1, 1>>>(places, turn + 1);
    }
}

__global__ void copies(int *answers, int *data, char *bytes) {
    int place = 0;
    digit<<<1, 1>>>(data, 5);
    answers[place++] = cudaMemcpyAsync(data + 1, data, 4, cudaMemcpyDeviceToDevice, 0);
    // What sets memory left it as it was on the recording machine, whatever the value.
    answers[place++] = cudaMemsetAsync(data + 2, 0, 6, 0);
    answers[place++] = cudaMemcpyAsync(data + 4, data + 1, 8, cudaMemcpyDefault, 0);
    answers[place++] = cudaMemcpy2DAsync(bytes, 16, bytes + 1024, 32, 8, 4, cudaMemcpyDeviceToDevice, 0);
    answers[place++] = cudaMemset2DAsync(bytes + 128, 16, 0, 4, 3, 0);
    cudaMemcpy3DParms parameters = {};
    parameters.srcPtr = {bytes + 1024, 32, 32, 4};
    parameters.dstPtr = {bytes + 256, 16, 16, 4};
    parameters.extent = {8, 2, 3};
    parameters.kind = cudaMemcpyDeviceToDevice;
    answers[place++] = cudaMemcpy3DAsync(&parameters, 0);
    answers[place++] = cudaMemset3DAsync(cudaPitchedPtr{bytes + 512, 16, 16, 4}, 0, cudaExtent{5, 2, 2}, 0);
    answers[place++] = cudaMemcpyAsync(data + 8, data, 0, cudaMemcpyDeviceToDevice, 0);
    answers[place++] = cudaGetLastError();
    answers[place++] = cudaMemcpyAsync(data + 8, data, 4, cudaMemcpyHostToDevice, 0);
    answers[place++] = cudaGetLastError();
    answers[place++] = cudaMemcpyAsync(data + 8, data, 4, (cudaMemcpyKind)9, 0);
    answers[place++] = cudaGetLastError();
}

__global__ void memory(int *answers) {
    int place = 0;
    int *one = 0, *two = 0;
    answers[place++] = cudaMalloc((void **)&one, 400);
    answers[place++] = one != 0;
    one[99] = 5;
    answers[place++] = one[99];
    answers[place++] = cudaFree(one);
    answers[place++] = cudaFree(0);
    answers[place++] = cudaMalloc((void **)&two, 1ll << 40);
    answers[place++] = two == 0;
    answers[place++] = cudaPeekAtLastError();
    answers[place++] = cudaGetLastError();
    answers[place++] = cudaMalloc((void **)&two, 0);
    answers[place++] = two == 0;
    answers[place++] = cudaGetLastError();
    answers[place++] = cudaEventDestroy(0);
    answers[place++] = cudaStreamDestroy(0);
    answers[place++] = cudaGetLastError();
    answers[place++] = 424242;
}

static void print(const int *answers, int count) {
    for (int index = 0; index < count && at(answers, index) != 424242; index++) printf(" %d", at(answers, index));
    printf("\n");
}

int main() {
    int *answers = zeros<int>(64), *places = zeros<int>(64);
    named<<<1, 1>>>(answers, places);
    CALL(cudaDeviceSynchronize());
    print(answers, 14);
    print(places, 3);
    shared_stream<<<1, 64>>>(places + 4);
    default_stream<<<1, 64>>>(places + 5);
    CALL(cudaDeviceSynchronize());
    print(places + 4, 2);
    char *bytes = zeros<char>(2048), host[1024];
    for (int index = 0; index < 1024; index++) host[index] = index % 101;
    OK(cudaMemcpy(bytes + 1024, host, 1024, cudaMemcpyHostToDevice));
    OK(cudaMemset(answers, 0, 256));
    copies<<<1, 1>>>(answers, places + 16, bytes);
    CALL(cudaDeviceSynchronize());
    print(answers, 13);
    print(places + 16, 9);
    unsigned sum = 0;
    OK(cudaMemcpy(host, bytes, 1024, cudaMemcpyDeviceToHost));
    for (int index = 0; index < 1024; index++) sum = sum * 31 + (unsigned char)host[index];
    SHOW(sum);
    memory<<<1, 1>>>(answers);
    CALL(cudaDeviceSynchronize());
    print(answers, 64);
    return 0;
}
