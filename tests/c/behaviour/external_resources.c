/* Memory files and semaphores of the host as external memory and external semaphores: in streams, in captures, in graphs. */
#include "expect.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 3 << 20 };

static CUexternalMemory import_file(int file, size_t size, unsigned flags) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC wanted = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = dup(file), .size = size, .flags = flags};
    CUexternalMemory memory;
    OK(cuImportExternalMemory(&memory, &wanted));
    /* The descriptor was given away. */
    HOLDS(fcntl(wanted.handle.fd, F_GETFD) < 0);
    return memory;
}

static CUdeviceptr part(CUexternalMemory memory, size_t offset, size_t size) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC wanted = {.offset = offset, .size = size};
    CUdeviceptr address;
    OK(cuExternalMemoryGetMappedBuffer(&address, memory, &wanted));
    return address;
}

static void memory_files(unsigned flags) {
    int file = memfd_create("external", flags);
    HOLDS(ftruncate(file, SIZE) == 0);
    unsigned char *mine = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memset(mine, 5, SIZE);
    CUexternalMemory memory = import_file(file, SIZE, 0);
    CUdeviceptr whole = part(memory, 0, SIZE), inner = part(memory, 10000, 100);
    unsigned char found[4] = {0};
    OK(cuMemcpyDtoH(found, whole + SIZE - 4, 4));
    HOLDS(found[0] == 5 && found[3] == 5);
    OK(cuMemsetD8(inner, 9, 100));
    HOLDS(mine[9999] == 5 && mine[10000] == 9 && mine[10099] == 9 && mine[10100] == 5);
    OK(cuMemcpyDtoH(found, whole + 10099, 2));
    HOLDS(found[0] == 9 && found[1] == 5);
    IS(INVALID_VALUE, cuMemsetD8(inner, 9, 101));
    IS(INVALID_VALUE, cuMemsetD8(whole, 9, SIZE + 1));
    /* What is mapped outlives the memory's handle. */
    OK(cuDestroyExternalMemory(memory));
    IS(INVALID_HANDLE, cuDestroyExternalMemory(memory));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC wanted = {.size = 16};
    CUdeviceptr none;
    IS(INVALID_HANDLE, cuExternalMemoryGetMappedBuffer(&none, memory, &wanted));
    OK(cuMemsetD8(whole, 1, SIZE));
    HOLDS(mine[0] == 1 && mine[SIZE - 1] == 1);
    OK(cuMemFree(inner));
    OK(cuMemFree(whole));
    IS(INVALID_VALUE, cuMemFree(whole));
    munmap(mine, SIZE);
    close(file);
    memory = import_file(memfd_create("none", 0), 4096, CUDA_EXTERNAL_MEMORY_DEDICATED);
    IS(INVALID_VALUE, cuExternalMemoryGetMappedBuffer(&none, memory, &wanted));
    OK(cuDestroyExternalMemory(memory));
}

static CUexternalSemaphore import_semaphore(int descriptor, CUexternalSemaphoreHandleType type) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC wanted = {.type = type, .handle.fd = dup(descriptor)};
    CUexternalSemaphore semaphore;
    OK(cuImportExternalSemaphore(&semaphore, &wanted));
    HOLDS(fcntl(wanted.handle.fd, F_GETFD) < 0);
    return semaphore;
}

/* What is not imported stays the program's. */
static void refused_descriptors(void) {
    int descriptor = eventfd(0, 0);
    CUexternalSemaphore semaphore;
    CUexternalMemory memory;
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC timeline = {.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
                                                    .handle.fd = descriptor};
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC file = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = descriptor, .size = 4096};
    IS(UNKNOWN, cuImportExternalSemaphore(&semaphore, &timeline));
    IS(UNKNOWN, cuImportExternalMemory(&memory, &file));
    HOLDS(fcntl(descriptor, F_GETFD) >= 0 && close(descriptor) == 0);
}

static void signal_in(CUstream stream, CUexternalSemaphore semaphore, unsigned long long value) {
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS parameters = {.params.fence.value = value};
    OK(cuSignalExternalSemaphoresAsync(&semaphore, &parameters, 1, stream));
}

static void wait_in(CUstream stream, CUexternalSemaphore semaphore, unsigned long long value) {
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS parameters = {.params.fence.value = value};
    OK(cuWaitExternalSemaphoresAsync(&semaphore, &parameters, 1, stream));
}

static void counters(CUstream one, CUstream other) {
    int counter = eventfd(0, 0);
    unsigned long long value = 1;
    CUexternalSemaphore semaphore = import_semaphore(counter, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD);
    wait_in(one, semaphore, 0);
    usleep(5000);
    IS(NOT_READY, cuStreamQuery(one));
    HOLDS(write(counter, &value, sizeof value) == sizeof value);
    OK(cuStreamSynchronize(one));
    hold(other);
    signal_in(other, semaphore, 0);
    wait_in(one, semaphore, 0);
    IS(NOT_READY, cuStreamQuery(one));
    release();
    OK(cuStreamSynchronize(one));
    /* Both streams are done with it: what they had was theirs. */
    signal_in(other, semaphore, 0);
    OK(cuDestroyExternalSemaphore(semaphore));
    OK(cuStreamSynchronize(other));
    HOLDS(read(counter, &value, sizeof value) == sizeof value && value == 1);
    IS(INVALID_HANDLE, cuDestroyExternalSemaphore(semaphore));
    close(counter);
}

static unsigned long long *number;

static void *set_to_five(void *nothing) {
    usleep(20000);
    __atomic_store_n(number, 5, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, number, FUTEX_WAKE, 100, NULL, NULL, 0);
    return nothing;
}

static void timelines(CUstream one, CUstream other) {
    int file = memfd_create("timeline", 0);
    pthread_t thread;
    HOLDS(ftruncate(file, 4096) == 0);
    number = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CUexternalSemaphore semaphore = import_semaphore(file, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
    wait_in(one, semaphore, 5);
    wait_in(other, semaphore, 4);
    IS(NOT_READY, cuStreamQuery(one));
    pthread_create(&thread, NULL, set_to_five, NULL);
    OK(cuStreamSynchronize(one));
    OK(cuStreamSynchronize(other));
    pthread_join(thread, NULL);
    signal_in(one, semaphore, 9);
    wait_in(other, semaphore, 9);
    OK(cuStreamSynchronize(other));
    HOLDS(__atomic_load_n(number, __ATOMIC_SEQ_CST) == 9);

    /* Captured, the same is two nodes, whose parameters can be asked for and changed. */
    CUgraph graph;
    CUgraphExec ready;
    CUgraphNode nodes[2];
    CUgraphNodeType type;
    size_t count = 2;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits;
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    wait_in(one, semaphore, 10);
    signal_in(one, semaphore, 11);
    OK(cuStreamEndCapture(one, &graph));
    OK(cuGraphGetNodes(graph, nodes, &count));
    HOLDS(count == 2);
    OK(cuGraphNodeGetType(nodes[0], &type));
    HOLDS(type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
    OK(cuGraphNodeGetType(nodes[1], &type));
    HOLDS(type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
    OK(cuGraphExternalSemaphoresWaitNodeGetParams(nodes[0], &waits));
    HOLDS(waits.numExtSems == 1 && waits.extSemArray[0] == semaphore && waits.paramsArray[0].params.fence.value == 10);
    IS(INVALID_VALUE, cuGraphExternalSemaphoresSignalNodeGetParams(nodes[0], &signals));
    OK(cuGraphExternalSemaphoresSignalNodeGetParams(nodes[1], &signals));
    HOLDS(signals.numExtSems == 1 && signals.paramsArray[0].params.fence.value == 11);
    OK(cuGraphInstantiate(&ready, graph, 0));
    OK(cuGraphLaunch(ready, one));
    usleep(5000);
    IS(NOT_READY, cuStreamQuery(one));
    signal_in(other, semaphore, 10);
    OK(cuStreamSynchronize(one));
    HOLDS(*number == 11);
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS later = {.params.fence.value = 20};
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS changed = {&semaphore, &later, 1};
    OK(cuGraphExecExternalSemaphoresSignalNodeSetParams(ready, nodes[1], &changed));
    OK(cuGraphLaunch(ready, one));
    OK(cuStreamSynchronize(one));
    HOLDS(*number == 20);

    CUgraphNode added;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS first = {.params.fence.value = 20};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, .extSemWait = {&semaphore, &first, 1}};
    OK(cuGraphAddNode(&added, graph, NULL, NULL, 0, &any));
    OK(cuGraphExternalSemaphoresWaitNodeGetParams(added, &waits));
    HOLDS(waits.numExtSems == 1 && waits.paramsArray[0].params.fence.value == 20);
    OK(cuGraphExecDestroy(ready));
    OK(cuGraphDestroy(graph));
    OK(cuDestroyExternalSemaphore(semaphore));
}

int main(void) {
    CUstream one, other;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {0};
    CUexternalSemaphore none = NULL;
    alarm(120);
    start();
    OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    memory_files(0);
    memory_files(MFD_ALLOW_SEALING);
    refused_descriptors();
    counters(one, other);
    timelines(one, other);
    IS(INVALID_HANDLE, cuSignalExternalSemaphoresAsync(&none, &signal, 1, one));
    OK(cuCtxSynchronize());
    puts("done");
    return 0;
}
