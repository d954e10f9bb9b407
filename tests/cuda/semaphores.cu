// Semaphores on timelines by both forms of their functions: that of headers before CUDA 11.2, with parameters that end earlier, which CUDA 12 has
// under the plain names, and the one that CUDA 12 calls `_v2` and CUDA 13 has alone. Two semaphores a call tell one length from the other.
//= with all parameters: 3 4, waits until 5 6
//= by plain names: 7 8, waits until 9 10
//= no semaphores: cudaErrorInvalidValue cudaErrorInvalidValue
#include "check.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <string>

struct FirstSignal {
    unsigned long long value;
    void *sync;
    unsigned long long key;
    unsigned flags;
};
struct FirstWait {
    unsigned long long value;
    void *sync;
    struct {
        unsigned long long key;
        unsigned timeout;
    } mutex;
    unsigned flags;
};
static_assert(sizeof(FirstSignal) == 32 && sizeof(FirstWait) == 40, "as headers before CUDA 11.2 have them");

static volatile unsigned long long *timelines[2];
static cudaExternalSemaphore_t semaphores[2];
static cudaStream_t stream;

// What a form does for both: a signal, then a wait that ends with another stream's signal.
template <typename Signal, typename Wait> static void form(const char *what, const char *suffix, unsigned long long value) {
    using SignalFunction = cudaError_t (*)(const cudaExternalSemaphore_t *, const Signal *, unsigned, cudaStream_t);
    using WaitFunction = cudaError_t (*)(const cudaExternalSemaphore_t *, const Wait *, unsigned, cudaStream_t);
    auto signal = (SignalFunction)dlsym(RTLD_DEFAULT, (std::string("cudaSignalExternalSemaphoresAsync") + suffix).c_str());
    auto wait = (WaitFunction)dlsym(RTLD_DEFAULT, (std::string("cudaWaitExternalSemaphoresAsync") + suffix).c_str());
    if (signal == nullptr || wait == nullptr) {
        printf("%s: missing\n", what);
        return;
    }
    Signal signals[2] = {};
    Wait waits[2] = {};
    for (int at = 0; at < 2; at++) {
        *(unsigned long long *)&signals[at] = value + at;
        *(unsigned long long *)&waits[at] = value + 2 + at;
    }
    OK(signal(semaphores, signals, 2, stream));
    OK(cudaStreamSynchronize(stream));
    printf("%s: %llu %llu, ", what, *timelines[0], *timelines[1]);
    OK(wait(semaphores, waits, 2, stream));
    if (cudaStreamQuery(stream) != cudaErrorNotReady) printf("does not wait, ");
    cudaGetLastError();
    cudaStream_t other;
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int at = 0; at < 2; at++) {
        if (cudaStreamQuery(stream) != cudaErrorNotReady) printf("waits for one only, ");
        cudaGetLastError();
        *(unsigned long long *)&signals[at] = value + 2 + at;
        OK(signal(&semaphores[at], &signals[at], 1, other));
        OK(cudaStreamSynchronize(other));
    }
    OK(cudaStreamSynchronize(stream));
    printf("waits until %llu %llu\n", *timelines[0], *timelines[1]);
}

int main() {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int at = 0; at < 2; at++) {
        int file = memfd_create("timeline", 0);
        if (ftruncate(file, 4096) != 0) return 1;
        timelines[at] = (unsigned long long *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        cudaExternalSemaphoreHandleDesc wanted = {};
        wanted.type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
        wanted.handle.fd = file;
        OK(cudaImportExternalSemaphore(&semaphores[at], &wanted));
    }
    int version;
    OK(cudaRuntimeGetVersion(&version));
    const char *second = version < 13000 ? "_v2" : "";
    form<cudaExternalSemaphoreSignalParams, cudaExternalSemaphoreWaitParams>("with all parameters", second, 3);
    if (version < 13000) {
        form<FirstSignal, FirstWait>("by plain names", "", 7);
    } else {
        form<cudaExternalSemaphoreSignalParams, cudaExternalSemaphoreWaitParams>("by plain names", "", 7);
    }
    cudaExternalSemaphoreSignalParams signals[1] = {};
    auto signal = (cudaError_t (*)(const cudaExternalSemaphore_t *, const void *, unsigned, cudaStream_t))dlsym(RTLD_DEFAULT, "cudaSignalExternalSemaphoresAsync");
    printf("no semaphores: %s ", cudaGetErrorName(signal(semaphores, signals, 0, stream)));
    TELL(signal(nullptr, signals, 1, stream));
}
