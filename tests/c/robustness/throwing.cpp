/* Callbacks that do not return: throwing MODE. */
#include "behaviour/expect.h"

#include <pthread.h>
#include <stdexcept>

static void CUDA_CB throws(void *) { throw std::runtime_error("from a callback"); }
static void CUDA_CB catches(void *) {
    try {
        throw std::runtime_error("from a callback");
    } catch (const std::exception &) {
    }
}
static void CUDA_CB ends_its_thread(void *) { pthread_exit(nullptr); }
static void CUDA_CB throws_of_stream(CUstream, CUresult, void *) { throw 5; }
static size_t CUDA_CB throws_of_size(int) { throw std::runtime_error("no size"); }

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    int grid = 0, cta = 0;
    start();
    OK(cuLaunchHostFunc(nullptr, catches, nullptr));
    OK(cuCtxSynchronize());
    fflush(stdout);
    if (strcmp(mode, "host") == 0) OK(cuLaunchHostFunc(nullptr, throws, nullptr));
    if (strcmp(mode, "thread") == 0) OK(cuLaunchHostFunc(nullptr, ends_its_thread, nullptr));
    if (strcmp(mode, "stream") == 0) OK(cuStreamAddCallback(nullptr, throws_of_stream, nullptr, 0));
    if (strcmp(mode, "size") == 0) cuOccupancyMaxPotentialBlockSize(&grid, &cta, waits, throws_of_size, 0, 0);
    cuCtxSynchronize();
    puts("still there");
    return 0;
}
