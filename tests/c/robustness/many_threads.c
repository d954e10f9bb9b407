/* Sixteen threads that use everything at once, each checking what it computes: many_threads [SECONDS]. */
#include "behaviour/expect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define THREADS 16
#define COUNT 1000

/* to[i] = from[i] * factor + i, and a count of threads. */
static const char KERNELS[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .global .align 4 .u32 launches;\n"
    ".visible .entry scale(.param .u64 to, .param .u64 from, .param .u32 factor, .param .u32 count) {\n"
    "    .reg .b64 %d<8>;\n    .reg .b32 %r<12>;\n    .reg .pred %p<2>;\n"
    "    ld.param.u64 %d1, [to];\n    ld.param.u64 %d2, [from];\n"
    "    ld.param.u32 %r1, [factor];\n    ld.param.u32 %r2, [count];\n"
    "    mov.u32 %r3, %ctaid.x;\n    mov.u32 %r4, %ntid.x;\n    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.u32 %r6, %r3, %r4, %r5;\n    setp.ge.u32 %p1, %r6, %r2;\n    @%p1 ret;\n"
    "    mul.wide.u32 %d3, %r6, 4;\n    add.u64 %d4, %d2, %d3;\n    add.u64 %d5, %d1, %d3;\n"
    "    ld.global.u32 %r7, [%d4];\n    mad.lo.u32 %r8, %r7, %r1, %r6;\n    st.global.u32 [%d5], %r8;\n    ret;\n}\n"
    ".visible .entry count_launch() {\n    .reg .b32 %r;\n    atom.global.add.u32 %r, [launches], 1;\n    ret;\n}\n";

static atomic_uint shared_launches, rounds;
static CUcontext primary;
static CUfunction count_launch;
static CUstream shared_stream;
static CUdeviceptr launches;
static time_t end;

static void CUDA_CB add(void *counter) { atomic_fetch_add((atomic_uint *)counter, 1); }
static void CUDA_CB add_in_stream(CUstream stream, CUresult status, void *counter) {
    (void)stream;
    HOLDS(status == CUDA_SUCCESS);
    add(counter);
}

/* One computation, with whatever memory and streams `seed` says; the current context is any. */
static void compute(unsigned seed) {
    CUmodule module;
    CUfunction scale;
    CUstream streams[2];
    CUevent copied, done;
    CUdeviceptr to, from;
    unsigned *host, *result, pageable[COUNT], factor = seed % 91 + 1, count = COUNT;
    atomic_uint called = 0;
    const size_t size = COUNT * sizeof(unsigned);
    float elapsed;
    OK(cuModuleLoadData(&module, KERNELS));
    OK(cuModuleGetFunction(&scale, module, "scale"));
    OK(cuStreamCreate(&streams[0], seed % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    OK(cuStreamCreateWithPriority(&streams[1], CU_STREAM_NON_BLOCKING, seed % 3 ? 0 : -1));
    OK(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&done, CU_EVENT_DEFAULT));
    OK(seed % 5 == 0 ? cuMemAllocManaged(&to, size, CU_MEM_ATTACH_GLOBAL) : cuMemAlloc(&to, size));
    OK(seed % 7 == 0 ? cuMemAllocAsync(&from, size, streams[0]) : cuMemAlloc(&from, size));
    OK(cuMemHostAlloc((void **)&host, size, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemAllocHost((void **)&result, size));
    for (unsigned i = 0; i < COUNT; i++) pageable[i] = host[i] = seed * 31 + i;
    OK(cuMemcpyHtoDAsync(from, seed % 11 == 0 ? pageable : host, size, streams[0]));
    OK(cuMemsetD32Async(to, 0xdead, COUNT, streams[1]));
    OK(cuEventRecord(copied, streams[0]));
    OK(cuStreamWaitEvent(streams[1], copied, 0));
    {
        void *parameters[] = {&to, &from, &factor, &count};
        OK(cuLaunchKernel(scale, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, streams[1], parameters, NULL));
    }
    OK(cuMemcpyDtoHAsync(result, to, size, streams[1]));
    OK(cuLaunchHostFunc(streams[1], add, &called));
    OK(cuStreamAddCallback(streams[1], add_in_stream, &called, 0));
    OK(cuEventRecord(done, streams[1]));
    OK(seed % 2 ? cuEventSynchronize(done) : cuStreamSynchronize(streams[1]));
    HOLDS(atomic_load(&called) == 2);
    for (unsigned i = 0; i < COUNT; i++) HOLDS(result[i] == (seed * 31 + i) * factor + i);
    OK(cuEventRecord(done, streams[1]));
    OK(cuCtxSynchronize());
    OK(cuEventQuery(done));
    IS(INVALID_HANDLE, cuEventElapsedTime(&elapsed, copied, done));
    OK(seed % 7 == 0 ? cuMemFreeAsync(from, streams[0]) : cuMemFree(from));
    OK(cuMemFree(to));
    OK(cuMemFreeHost(host));
    OK(cuMemFreeHost(result));
    OK(cuEventDestroy(copied));
    OK(cuEventDestroy(done));
    OK(cuStreamDestroy(streams[0]));
    OK(cuStreamDestroy(streams[1]));
    OK(cuModuleUnload(module));
}

static void *work(void *argument) {
    unsigned number = (unsigned)(size_t)argument, seed = number;
    /* Some streams of the primary context are everybody's. */
    do {
        CUcontext own = NULL, popped;
        if (seed % 4 == 0) {
            OK(cuCtxCreate(&own, NULL, 0, 0));
        } else {
            OK(cuCtxSetCurrent(primary));
        }
        compute(seed);
        if (own != NULL) {
            CUdeviceptr left;
            /* What a context leaves goes with it. */
            OK(cuMemAlloc(&left, 5000));
            OK(seed % 8 ? cuCtxPopCurrent(&popped) : CUDA_SUCCESS);
            OK(cuCtxDestroy(own));
            OK(cuCtxSetCurrent(primary));
            IS(INVALID_CONTEXT, cuCtxSetCurrent(own));
        }
        for (int i = 0; i < 5; i++) {
            OK(cuLaunchKernel(count_launch, 1, 1, 1, 1, 1, 1, 0, i % 2 ? shared_stream : NULL, NULL, NULL));
            atomic_fetch_add(&shared_launches, 1);
        }
        atomic_fetch_add(&rounds, 1);
        seed += THREADS;
    } while (time(NULL) < end);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    CUmodule module;
    size_t free_before, free_after, total;
    unsigned counted;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxSetCurrent(primary));
    OK(cuModuleLoadData(&module, KERNELS));
    OK(cuModuleGetFunction(&count_launch, module, "count_launch"));
    OK(cuModuleGetGlobal(&launches, NULL, module, "launches"));
    OK(cuStreamCreate(&shared_stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemGetInfo(&free_before, &total));
    end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
    for (size_t i = 0; i < THREADS; i++) HOLDS(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++) HOLDS(pthread_join(threads[i], NULL) == 0);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&counted, launches, sizeof counted));
    HOLDS(counted == atomic_load(&shared_launches));
    {
        /* What was allocated in the order of streams stays with the pool until it is told to let go. */
        CUmemoryPool pool;
        OK(cuDeviceGetDefaultMemPool(&pool, 0));
        OK(cuMemPoolTrimTo(pool, 0));
    }
    OK(cuMemGetInfo(&free_after, &total));
    HOLDS(free_before == free_after);
    fprintf(stderr, "%u rounds\n", atomic_load(&rounds));
    puts("done");
    return 0;
}
