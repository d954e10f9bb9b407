/* Waits for a value, a semaphore or a graph of these that nobody ends: they end with their context, what comes behind them is dropped, and until then
   everybody waits. `given_up exit` ends the process meanwhile. */
#include "later.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>

enum { VALUE_32, VALUE_64, COUNTER, TIMELINE, BATCH_NODE, SEMAPHORE_NODE, BRANCHES, WAYS };
enum { DESTROY, RELEASE, RESET, DETACH, ENDS };

static CUdevice device;
static CUcontext ended;
static int called, told;

static void CUDA_CB host_function(void *counter) { ++*(int *)counter; }

static void CUDA_CB callback(CUstream stream, CUresult status, void *unused) {
    (void)stream;
    (void)unused;
    told = (int)status;
}

/* A context that is to be ended in a way. */
static void begin(int end) {
    if (end == RELEASE || end == RESET) {
        OK(cuDevicePrimaryCtxRetain(&ended, device));
        OK(cuCtxSetCurrent(ended));
    } else {
        OK(cuCtxCreate_v2(&ended, 0, device));
    }
}

static void finish(int end) {
    CUcontext popped;
    if (end == DESTROY) OK(cuCtxDestroy(ended));
    if (end == DETACH) OK(cuCtxDetach(ended));
    if (end == RELEASE) OK(cuDevicePrimaryCtxRelease(device));
    if (end == RESET) OK(cuDevicePrimaryCtxReset(device));
    if (end == RELEASE || end == RESET) OK(cuCtxPopCurrent(&popped));
}

static CUexternalSemaphore semaphore(int descriptor, CUexternalSemaphoreHandleType type) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC wanted = {.type = type, .handle.fd = descriptor};
    CUexternalSemaphore made;
    OK(cuImportExternalSemaphore(&made, &wanted));
    return made;
}

static CUexternalSemaphore counter(void) {
    return semaphore(eventfd(0, EFD_CLOEXEC), CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD);
}

static CUexternalSemaphore timeline(void) {
    int file = memfd_create("timeline", MFD_CLOEXEC);
    HOLDS(ftruncate(file, 4096) == 0);
    return semaphore(file, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
}

static void launch(CUgraph graph, CUstream stream) {
    CUgraphExec ready;
    OK(cuGraphInstantiate(&ready, graph, 0));
    OK(cuGraphLaunch(ready, stream));
    OK(cuGraphExecDestroy(ready));
    OK(cuGraphDestroy(graph));
}

/* Puts a wait into a stream for what is never there. */
static void wait_in(CUstream stream, int way, CUdeviceptr cell) {
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS seven = {.params.fence.value = 7};
    CUstreamBatchMemOpParams value = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = cell, .value = 7}};
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {.ctx = ended, .count = 1, .paramArray = &value};
    CUexternalSemaphore made;
    CUgraph graph;
    CUgraphNode node;
    if (way == VALUE_32) OK(cuStreamWaitValue32(stream, cell, 7, CU_STREAM_WAIT_VALUE_GEQ));
    if (way == VALUE_64) OK(cuStreamWaitValue64(stream, cell, 7, CU_STREAM_WAIT_VALUE_EQ));
    if (way == COUNTER || way == TIMELINE) {
        made = way == COUNTER ? counter() : timeline();
        OK(cuWaitExternalSemaphoresAsync(&made, &seven, 1, stream));
        OK(cuDestroyExternalSemaphore(made));
    }
    if (way < BATCH_NODE) return;
    OK(cuGraphCreate(&graph, 0));
    if (way == SEMAPHORE_NODE) {
        made = counter();
        CUDA_EXT_SEM_WAIT_NODE_PARAMS waits = {&made, &seven, 1};
        OK(cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &waits));
        OK(cuDestroyExternalSemaphore(made));
    } else {
        OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &batch));
        if (way == BRANCHES) OK(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &batch));
    }
    launch(graph, stream);
}

static CUdeviceptr new_cell(void) {
    CUdeviceptr cell;
    OK(cuMemAlloc(&cell, 64));
    OK(cuMemsetD8(cell, 0, 64));
    OK(cuCtxSynchronize());
    return cell;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Nobody ends the wait: the end of its context does, and that of what another stream waits for. */
static void nobody_comes(int way, int end) {
    CUstream stream, follower;
    CUevent behind;
    double before;
    begin(end);
    CUdeviceptr cell = new_cell();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&follower, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&behind, 0));
    called = 0;
    told = -1;
    wait_in(stream, way, cell);
    OK(cuLaunchHostFunc(stream, host_function, &called));
    OK(cuStreamAddCallback(stream, callback, NULL, 0));
    OK(cuEventRecord(behind, stream));
    OK(cuStreamWaitEvent(follower, behind, 0));
    OK(cuLaunchHostFunc(follower, host_function, &called));
    usleep(2000);
    IS(NOT_READY, cuStreamQuery(stream));
    IS(NOT_READY, cuStreamQuery(follower));
    before = seconds();
    finish(end);
    HOLDS(called == 0 && told == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    HOLDS(seconds() - before < 20);
}

/* Another stream, or another branch of the graph, writes the value when a kernel has ended: the end of the context waits for that. */
static void somebody_comes(int in_graph) {
    CUstream stream, other;
    begin(DESTROY);
    CUdeviceptr cell = new_cell();
    CUfunction late = late_kernel();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    called = 0;
    *flag = 0;
    if (in_graph) {
        CUstreamBatchMemOpParams wait = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = cell, .value = 7}};
        CUstreamBatchMemOpParams write = {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = cell, .value = 7}};
        CUDA_BATCH_MEM_OP_NODE_PARAMS waits_for = {.ctx = ended, .count = 1, .paramArray = &wait};
        CUDA_BATCH_MEM_OP_NODE_PARAMS writes = {.ctx = ended, .count = 1, .paramArray = &write};
        CUdeviceptr address = (CUdeviceptr)flag, from = cell + 4, to = cell + 32;
        void *parameters[] = {&address, &to, &from};
        CUDA_KERNEL_NODE_PARAMS kernel = {.func = late, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
                                          .blockDimZ = 1, .kernelParams = parameters};
        CUDA_HOST_NODE_PARAMS host = {host_function, &called};
        CUgraph graph;
        CUgraphNode nodes[4];
        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddBatchMemOpNode(&nodes[0], graph, NULL, 0, &waits_for));
        OK(cuGraphAddHostNode(&nodes[1], graph, &nodes[0], 1, &host));
        OK(cuGraphAddKernelNode(&nodes[2], graph, NULL, 0, &kernel));
        OK(cuGraphAddBatchMemOpNode(&nodes[3], graph, &nodes[2], 1, &writes));
        launch(graph, stream);
    } else {
        OK(cuStreamWaitValue32(stream, cell, 7, CU_STREAM_WAIT_VALUE_EQ));
        OK(cuLaunchHostFunc(stream, host_function, &called));
        CUdeviceptr address = (CUdeviceptr)flag, from = cell + 4, to = cell + 32;
        void *parameters[] = {&address, &to, &from};
        OK(cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, other, parameters, NULL));
        OK(cuStreamWriteValue32(other, cell, 7, 0));
    }
    release_soon();
    OK(cuCtxDestroy(ended));
    released();
    HOLDS(called == 1);
}

static volatile unsigned *value;

static void *set_the_value(void *nothing) {
    usleep(300000);
    __atomic_store_n(value, 7, __ATOMIC_SEQ_CST);
    return nothing;
}

/* Whoever asks for the end of the work waits for it. */
static void who_asks_waits(void) {
    pthread_t thread;
    CUstream stream;
    begin(DESTROY);
    OK(cuMemHostAlloc((void **)&value, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    *value = 0;
    called = 0;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue32(stream, (CUdeviceptr)value, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuLaunchHostFunc(stream, host_function, &called));
    HOLDS(pthread_create(&thread, NULL, set_the_value, NULL) == 0);
    OK(cuCtxSynchronize());
    HOLDS(*value == 7 && called == 1);
    pthread_join(thread, NULL);
    OK(cuCtxDestroy(ended));
}

int main(int argc, char **argv) {
    CUdeviceptr cell;
    alarm(100);
    start();
    OK(cuDeviceGet(&device, 0));
    if (argc > 1 && strcmp(argv[1], "exit") == 0) {
        CUstream stream;
        ended = context;
        cell = new_cell();
        for (int way = 0; way < WAYS; ++way) {
            OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            wait_in(stream, way, cell);
            OK(cuLaunchHostFunc(stream, host_function, &called));
        }
        puts("leaves");
        return 0;
    }
    somebody_comes(0);
    somebody_comes(1);
    who_asks_waits();
    for (int way = 0; way < WAYS; ++way) nobody_comes(way, DESTROY);
    nobody_comes(VALUE_32, DETACH);
    /* The primary context is this program's own as well: it goes last, and with it the flag. */
    OK(cuDevicePrimaryCtxRelease(device));
    nobody_comes(COUNTER, RELEASE);
    nobody_comes(BRANCHES, RESET);
    nobody_comes(VALUE_64, RESET);
    puts("done");
    return 0;
}
