// A fault of a kernel stays: every later call of the process answers it. Each fault has a process of its own.
#include "show.h"
#include <cassert>
#include <sys/wait.h>
#include <unistd.h>

enum Fault { ADDRESS, NULL_POINTER, MISALIGNED, TRAP, ASSERTION };

__global__ void fault(Fault which, char *memory) {
    switch (which) {
    case ADDRESS: *(int *)0x7000000000000 = 1; break;
    case NULL_POINTER: *(volatile int *)nullptr = 1; break;
    case MISALIGNED: *(volatile int *)(memory + 1) = 1; break;
    case TRAP: __trap(); break;
    case ASSERTION: assert(memory == nullptr); break;
    }
}

static void after(Fault which) {
    char *memory = zeros<char>(256);
    void *more = nullptr;
    int count = 0, device = -1;
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    fault<<<1, 1>>>(which, memory);
    LAST();
    CALL(cudaDeviceSynchronize());
    LAST();
    CALL(cudaPeekAtLastError());
    CALL(cudaMalloc(&more, 16));
    CALL(cudaFree(memory));
    CALL(cudaMemset(memory, 0, 4));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaStreamQuery(stream));
    CALL(cudaEventRecord(event, stream));
    CALL(cudaEventQuery(event));
    CALL(cudaStreamCreate(&stream));
    fault<<<1, 1>>>(which, memory);
    LAST();
    CALL(cudaGetDeviceCount(&count));
    CALL(cudaGetDevice(&device));
    CALL(cudaSetDevice(0));
    CALL(cudaDriverGetVersion(&count));
    LAST();
}

int main() {
    const char *names[] = {"address", "null pointer", "misaligned", "trap", "assertion"};
    for (int which = ADDRESS; which <= ASSERTION; which++) {
        printf("%s\n", names[which]);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            fclose(stderr);
            after((Fault)which);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        SHOW(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}
