// A process that uses the device and one that it makes: the child may not go on with what the parent began.
#include "show.h"
#include <sys/wait.h>
#include <unistd.h>

static void wait_for(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    SHOW(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main() {
    pid_t early = fork();
    if (early == 0) {
        int *memory = nullptr;
        CALL(cudaMalloc(&memory, 16));
        CALL(cudaFree(memory));
        _exit(0);
    }
    wait_for(early);
    int *memory = zeros<int>(4);
    pid_t late = fork();
    if (late == 0) {
        int *more = nullptr;
        CALL(cudaMalloc(&more, 16));
        CALL(cudaDeviceSynchronize());
        LAST();
        _exit(0);
    }
    wait_for(late);
    CALL(cudaMemset(memory, 1, 4));
    SHOW(at(memory));
    return 0;
}
