// Memory and events of another process. Each process prints while the other waits.
#include "show.h"
#include <sys/wait.h>
#include <unistd.h>

__global__ void add(int *numbers, int value) { numbers[threadIdx.x] += value; }

struct Message {
    cudaIpcMemHandle_t memory, inner;
    cudaIpcEventHandle_t event;
};

template <typename T> static void send(int pipe, const T &what) {
    if (write(pipe, &what, sizeof what) != sizeof what) _exit(3);
}

template <typename T> static T receive(int pipe) {
    T what;
    if (read(pipe, &what, sizeof what) != sizeof what) _exit(4);
    return what;
}

static void other(int in, int out) {
    Message message = receive<Message>(in);
    int *numbers = nullptr, *again = nullptr, *inner = nullptr;
    printf("other process\n");
    CALL(cudaIpcOpenMemHandle((void **)&numbers, message.memory, cudaIpcMemLazyEnablePeerAccess));
    CALL(cudaIpcOpenMemHandle((void **)&again, message.memory, cudaIpcMemLazyEnablePeerAccess));
    SHOW(again == numbers);
    CALL(cudaIpcOpenMemHandle((void **)&inner, message.inner, cudaIpcMemLazyEnablePeerAccess));
    SHOW(inner - numbers);
    CALL(cudaIpcOpenMemHandle((void **)&again, message.memory, 0));
    LAST();
    SHOW(at(numbers, 5));
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, numbers));
    SHOW(attributes.type);
    cudaEvent_t event;
    CALL(cudaIpcOpenEventHandle(&event, message.event));
    CALL(cudaEventQuery(event));
    CALL(cudaStreamWaitEvent(nullptr, event, 0));
    add<<<1, 64>>>(numbers, 100);
    CALL(cudaEventRecord(event, nullptr));
    CALL(cudaEventSynchronize(event));
    CALL(cudaFree(numbers));
    LAST();
    cudaIpcMemHandle_t handle;
    CALL(cudaIpcGetMemHandle(&handle, numbers));
    CALL(cudaEventDestroy(event));
    CALL(cudaIpcCloseMemHandle(numbers));
    CALL(cudaIpcCloseMemHandle(numbers));
    CALL(cudaIpcCloseMemHandle(numbers));
    CALL(cudaIpcCloseMemHandle(numbers));
    LAST();
    memset(&message.memory, 0x5a, sizeof message.memory);
    CALL(cudaIpcOpenMemHandle((void **)&numbers, message.memory, cudaIpcMemLazyEnablePeerAccess));
    LAST();
    send(out, 1);
}

int main() {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) return 2;
    pid_t child = fork();
    close(child == 0 ? there[1] : there[0]);
    close(child == 0 ? back[0] : back[1]);
    if (child == 0) {
        other(there[0], back[1]);
        fflush(stdout);
        _exit(0);
    }
    Message message;
    int *numbers = zeros<int>(1 << 20), *managed;
    add<<<1, 64>>>(numbers, 7);
    cudaEvent_t event, plain;
    CALL(cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    CALL(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaEventCreate(&plain));
    CALL(cudaIpcGetEventHandle(&message.event, plain));
    CALL(cudaIpcGetEventHandle(&message.event, event));
    CALL(cudaIpcGetMemHandle(&message.memory, numbers));
    CALL(cudaIpcGetMemHandle(&message.inner, numbers + 1000));
    SHOW(memcmp(&message.memory, &message.inner, sizeof message.memory) == 0);
    OK(cudaMallocManaged(&managed, 64));
    cudaIpcMemHandle_t unused;
    CALL(cudaIpcGetMemHandle(&unused, managed));
    CALL(cudaIpcGetMemHandle(&unused, &unused));
    int *mine = nullptr;
    CALL(cudaIpcOpenMemHandle((void **)&mine, message.memory, cudaIpcMemLazyEnablePeerAccess));
    LAST();
    CALL(cudaEventRecord(event, nullptr));
    CALL(cudaDeviceSynchronize());
    send(there[1], message);
    receive<int>(back[0]);
    int status = 0;
    waitpid(child, &status, 0);
    printf("first process\n");
    SHOW(status);
    CALL(cudaEventQuery(event));
    SHOW(at(numbers, 63));
    SHOW(at(numbers, 64));
    CALL(cudaFree(numbers));
    LAST();
    return 0;
}
