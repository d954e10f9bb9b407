/* What the checks of the driver are to find, one fault for each argument, and its clean twin with "clean" behind it. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

static const char *PTX =
    ".version 7.8\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry scale(.param .u64 p) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;\n"
    "  st.global.u32 [%d1], %r0;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry decide(.param .u64 p) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;\n"
    "  ld.param.u64 %d0, [p]; ld.global.u32 %r0, [%d0];\n"
    "  setp.eq.u32 %p0, %r0, 7;\n"
    "  @%p0 st.global.u32 [%d0+4], %r0;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry exchange(.param .u64 p, .param .u32 ordered) {\n"
    "  .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<2>; .shared .b32 all[64];\n"
    "  ld.param.u64 %d0, [p]; ld.param.u32 %r4, [ordered]; setp.eq.u32 %p0, %r4, 0;\n"
    "  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, all; add.u32 %r1, %r1, %r2;\n"
    "  st.shared.u32 [%r1], %r0;\n"
    "  @%p0 bra behind;\n"
    "  bar.sync 0;\n"
    "behind:\n"
    "  xor.b32 %r1, %r1, 128; ld.shared.u32 %r3, [%r1];\n"
    "  mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], %r3;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry meet(.param .u32 threads) {\n"
    "  .reg .b32 %r<4>; .reg .pred %p<2>;\n"
    "  ld.param.u32 %r1, [threads]; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, %r1;\n"
    "  @%p0 bra inside;\n"
    "  barrier.sync.aligned 0;\n"
    "  ret;\n"
    "inside:\n"
    "  barrier.sync.aligned 0;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry wait(.param .u64 flag) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;\n"
    "  ld.param.u64 %d0, [flag];\n"
    "again:\n"
    "  ld.volatile.global.u32 %r0, [%d0]; setp.eq.u32 %p0, %r0, 0; @%p0 bra again;\n"
    "  ret;\n"
    "}\n";

static CUmodule module;

static void launch(const char *name, unsigned threads, CUstream stream, CUdeviceptr p, unsigned number) {
    CUfunction kernel;
    void *both[] = {&p, &number}, *one[] = {&number};
    CHECK(cuModuleGetFunction(&kernel, module, name));
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, stream, p == 0 ? one : both, NULL));
}

/* Memory: an allocation of 100 bytes, of which 32 threads write 4 each, twice. */
static void memory(int clean) {
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, clean ? 128 : 100));
    launch("scale", 32, NULL, p, 0);
    launch("scale", 32, NULL, p, 0);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree(p));
}

/* Values that nobody has written: of an allocation, and of one that it was copied to. */
static void init(int clean) {
    CUdeviceptr p, q;
    CHECK(cuMemAlloc(&p, 64));
    CHECK(cuMemAlloc(&q, 64));
    CHECK(cuMemsetD32(clean ? p : p + 4, 1, clean ? 16 : 15));
    CHECK(cuMemcpyDtoD(q, p, 64));
    launch("decide", 1, NULL, q, 0);
    CHECK(cuMemFree(p));
    CHECK(cuMemFree(q));
}

/* The same of memory in the order of a stream, which had another owner before. */
static void init_in_order(int clean) {
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int turn = 0; turn < 2; ++turn) {
        CUdeviceptr p;
        CHECK(cuMemAllocAsync(&p, 64, stream));
        if (turn == 0 || clean) CHECK(cuMemsetD32Async(p, 1, 16, stream));
        launch("decide", 1, stream, p, 0);
        CHECK(cuMemFreeAsync(p, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
}

/* The host is given 64 bytes, of which 28 were written. */
static void init_to_host(int clean) {
    CUdeviceptr p;
    char host[64];
    CHECK(cuMemAlloc(&p, 64));
    CHECK(cuMemcpyHtoD(p, "what is written by the host", 28));
    CHECK(cuMemcpyDtoH(host, p, clean ? 28 : 64));
    CHECK(cuMemFree(p));
}

static void race(int clean) {
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, 256));
    launch("exchange", 64, NULL, p, clean);
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree(p));
}

/* A grid, and a copy to the host in another stream. */
static void race_of_a_copy(int clean) {
    CUdeviceptr p;
    CUstream first, second;
    CUevent event;
    unsigned *host;
    CHECK(cuMemAllocHost((void **)&host, 128));
    CHECK(cuMemAlloc(&p, 128));
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemsetD32Async(p, 1, 32, first));
    launch("scale", 32, first, p, 0);
    CHECK(cuEventRecord(event, first));
    if (clean) CHECK(cuStreamWaitEvent(second, event, 0));
    CHECK(cuMemcpyDtoHAsync(host, p, 128, second));
    CHECK(cuCtxSynchronize());
    CHECK(cuEventDestroy(event));
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuMemFree(p));
    CHECK(cuMemFreeHost(host));
}

/* In which a grid ends that nothing waits for, which orders nothing. */
static void pause_a_while(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* Two grids that write the same memory in streams that do not block. */
static void race_of_streams(int clean) {
    CUdeviceptr p;
    CUstream first, second;
    CHECK(cuMemAlloc(&p, 256));
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    launch("scale", 32, first, p, 0);
    pause_a_while();
    CHECK(clean ? cuCtxSynchronize() : cuStreamSynchronize(NULL));
    launch("exchange", 64, second, p, 1);
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuMemFree(p));
}

/* The same, the second grid behind a wait for a value that the first stream writes behind its grid, or an empty one. */
static void race_of_values(int clean) {
    CUdeviceptr p, flag;
    CUstream first, second, empty;
    CHECK(cuMemAlloc(&p, 256));
    CHECK(cuMemAlloc(&flag, 4));
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&empty, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamWaitValue32(second, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    launch("exchange", 64, second, p, 1);
    launch("scale", 32, first, p, 0);
    pause_a_while();
    CHECK(cuStreamWriteValue32(clean ? first : empty, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuStreamDestroy(empty));
    CHECK(cuMemFree(flag));
    CHECK(cuMemFree(p));
}

static atomic_int called;

static void call(void *unused) {
    (void)unused;
    atomic_store(&called, 1);
}

/* The same, the second grid put into its stream when a function has run behind the first one, or in an empty stream. */
static void race_of_functions(int clean) {
    CUdeviceptr p;
    CUstream first, second, empty;
    CHECK(cuMemAlloc(&p, 256));
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&empty, CU_STREAM_NON_BLOCKING));
    launch("scale", 32, first, p, 0);
    pause_a_while();
    CHECK(cuLaunchHostFunc(clean ? first : empty, call, NULL));
    while (!atomic_load(&called)) {
    }
    launch("exchange", 64, second, p, 1);
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy(first));
    CHECK(cuStreamDestroy(second));
    CHECK(cuStreamDestroy(empty));
    CHECK(cuMemFree(p));
}

/* The same in the default streams of two devices, with something between the two: memory of the first device, and of the second. */
static void in_two_devices(void (*between)(CUcontext first, CUcontext second, CUdeviceptr p, CUdeviceptr q)) {
    CUdevice device;
    CUcontext first, second;
    CUmodule module_of_first = module, module_of_second;
    CUdeviceptr p, q;
    CHECK(cuCtxGetCurrent(&first));
    CHECK(cuMemAlloc(&p, 256));
    CHECK(cuDeviceGet(&device, 1));
    CHECK(cuDevicePrimaryCtxRetain(&second, device));
    CHECK(cuCtxSetCurrent(second));
    CHECK(cuCtxEnablePeerAccess(first, 0));
    CHECK(cuMemAlloc(&q, 256));
    CHECK(cuModuleLoadData(&module_of_second, PTX));
    CHECK(cuCtxSetCurrent(first));
    launch("scale", 32, NULL, p, 0);
    pause_a_while();
    between(first, second, p, q);
    pause_a_while();
    CHECK(cuCtxSetCurrent(second));
    module = module_of_second;
    launch("exchange", 64, NULL, p, 1);
    CHECK(cuCtxSynchronize());
    module = module_of_first;
    CHECK(cuModuleUnload(module_of_second));
    CHECK(cuMemFree(q));
    CHECK(cuDevicePrimaryCtxRelease(device));
    CHECK(cuCtxSetCurrent(first));
    CHECK(cuMemFree(p));
}

/* A copy from one device to the other comes behind all that both were given, and before what they are given next; one that stays on its device does not. */
static void copy_to_second(CUcontext first, CUcontext second, CUdeviceptr p, CUdeviceptr q) {
    (void)first, (void)second;
    CHECK(cuMemcpyDtoDAsync(q, p + 64, 64, NULL));
}

static void copy_on_first(CUcontext first, CUcontext second, CUdeviceptr p, CUdeviceptr q) {
    (void)first, (void)second, (void)q;
    CHECK(cuMemcpyDtoDAsync(p + 128, p + 64, 64, NULL));
}

static void race_of_devices(int clean) {
    in_two_devices(clean ? copy_to_second : copy_on_first);
}

/* An event behind all that a context was given, for which waits what the other one is given, or nothing. */
static CUevent record_all(CUcontext context) {
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuCtxRecordEvent(context, event));
    return event;
}

static void wait_in_second(CUcontext first, CUcontext second, CUdeviceptr p, CUdeviceptr q) {
    CUevent event = record_all(first);
    (void)p, (void)q;
    CHECK(cuCtxWaitEvent(second, event));
    CHECK(cuEventDestroy(event));
}

static void wait_in_none(CUcontext first, CUcontext second, CUdeviceptr p, CUdeviceptr q) {
    (void)second, (void)p, (void)q;
    CHECK(cuEventDestroy(record_all(first)));
}

static void race_of_contexts(int clean) {
    in_two_devices(clean ? wait_in_second : wait_in_none);
}

/* The halves of a warp come to the barrier on two ways. */
static void sync(int clean) {
    launch("meet", 64, NULL, 0, clean ? 64 : 48);
    CHECK(cuCtxSynchronize());
}

static void leak(int clean) {
    CUdeviceptr p;
    CUstream stream;
    CHECK(cuMemAlloc(&p, 4096));
    CHECK(cuStreamCreate(&stream, 0));
    if (!clean) return;
    CHECK(cuMemFree(p));
    CHECK(cuStreamDestroy(stream));
}

/* A copy waits for a kernel, and its source is changed meanwhile. */
static void host_source(int clean) {
    CUdeviceptr p, flag;
    CUstream stream;
    unsigned *pinned;
    CHECK(cuMemAllocHost((void **)&pinned, 8192));
    memset(pinned, 0, 8192);
    CHECK(cuMemHostGetDevicePointer(&flag, pinned, 0));
    CHECK(cuMemAlloc(&p, 4096));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    launch("wait", 1, stream, flag, 0);
    CHECK(cuMemcpyHtoDAsync(p, pinned + 1024, 4096, stream));
    if (!clean) pinned[1024 + 500] = 1;
    *(volatile unsigned *)pinned = 1;
    CHECK(cuStreamSynchronize(stream));
    pinned[1024 + 500] = 2;
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(p));
    CHECK(cuMemFreeHost(pinned));
}

/* A copy waits for a kernel, and its source is unmapped meanwhile. */
static void host_source_freed(int clean) {
    CUdeviceptr p, flag;
    CUstream stream;
    unsigned *pinned;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) exit(1);
    CHECK(cuMemAllocHost((void **)&pinned, 4096));
    memset(pinned, 0, 4096);
    CHECK(cuMemHostGetDevicePointer(&flag, pinned, 0));
    CHECK(cuMemHostRegister(pages, 8192, 0));
    CHECK(cuMemAlloc(&p, 4096));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    launch("wait", 1, stream, flag, 0);
    CHECK(cuMemcpyHtoDAsync(p, pages + 4096, 4096, stream));
    if (!clean) munmap(pages + 4096, 4096);
    *(volatile unsigned *)pinned = 1;
    cuStreamSynchronize(stream);
    CHECK(cuMemHostUnregister(pages));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(p));
    CHECK(cuMemFreeHost(pinned));
}

/* A kernel writes to pages of the host that were registered as read-only, which ends it. */
static void read_only(int clean) {
    CUdeviceptr p;
    int reads = 0;
    CUdevice device;
    char *pages = mmap(NULL, 4096, PROT_READ | (clean ? PROT_WRITE : 0), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) exit(1);
    CHECK(cuCtxGetDevice(&device));
    CHECK(cuDeviceGetAttribute(&reads, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, device));
    CHECK(cuMemHostRegister(pages, 4096, CU_MEMHOSTREGISTER_DEVICEMAP | (clean || !reads ? 0 : CU_MEMHOSTREGISTER_READ_ONLY)));
    CHECK(cuMemHostGetDevicePointer(&p, pages, 0));
    launch("scale", 32, NULL, p, 0);
    if ((cuCtxSynchronize() == CUDA_SUCCESS) != clean) exit(1);
    if (clean) {
        CHECK(cuMemHostUnregister(pages));
        return;
    }
    puts("done");
    exit(0);
}

static void fill_source(void *pinned) {
    memset(pinned, 1, 4096);
}

/* By right: a function in the stream fills the source, and a copy to it comes before a copy from it. */
static void host_source_by_right(int clean) {
    CUdeviceptr p, flag;
    CUstream stream;
    char *pinned;
    (void)clean;
    CHECK(cuMemAllocHost((void **)&pinned, 8192));
    memset(pinned, 0, 8192);
    CHECK(cuMemHostGetDevicePointer(&flag, pinned + 4096, 0));
    CHECK(cuMemAlloc(&p, 4096));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    launch("wait", 1, stream, flag, 0);
    CHECK(cuMemsetD8Async(p, 3, 4096, stream));
    CHECK(cuMemcpyDtoHAsync(pinned, p, 4096, stream));
    CHECK(cuMemcpyHtoDAsync(p, pinned, 4096, stream));
    CHECK(cuLaunchHostFunc(stream, fill_source, pinned));
    CHECK(cuMemcpyHtoDAsync(p, pinned, 4096, stream));
    *(volatile unsigned *)(pinned + 4096) = 1;
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(p));
    CHECK(cuMemFreeHost(pinned));
}

/* Fresh memory is taken for zeros. */
static void fresh(int clean) {
    CUdeviceptr p;
    unsigned char bytes[2] = {1, 1};
    CHECK(cuMemAlloc(&p, 64));
    if (clean) CHECK(cuMemsetD8(p, 0, 64));
    CHECK(cuMemcpyDtoH(bytes, p, 2));
    printf("%d ", bytes[0] == 0 && bytes[1] == 0);
    CHECK(cuMemAllocAsync(&p, 64, NULL));
    if (clean) CHECK(cuMemsetD8(p, 0, 64));
    CHECK(cuMemcpyDtoH(bytes, p, 2));
    printf("%d\n", bytes[0] == 0 && bytes[1] == 0);
}

/* Calls that fail: what becomes of their results. */
static void host_result(int clean) {
    CUdeviceptr p = 0;
    if (clean) {
        if (cuMemAlloc(&p, 0) == CUDA_SUCCESS) exit(1);
    } else {
        cuMemAlloc(&p, 0);
    }
    CHECK(cuCtxSynchronize());
}

#define FAULT(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(int clean);
} FAULTS[] = {FAULT(memory), FAULT(init), FAULT(init_in_order), FAULT(init_to_host), FAULT(race), FAULT(race_of_a_copy),
              FAULT(race_of_streams), FAULT(race_of_values), FAULT(race_of_functions), FAULT(race_of_devices), FAULT(race_of_contexts), FAULT(sync),
              FAULT(leak), FAULT(host_source),
              FAULT(host_source_freed), FAULT(host_source_by_right), FAULT(read_only), FAULT(fresh), FAULT(host_result)};

int main(int count, char **arguments) {
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, PTX));
    for (size_t fault = 0; fault < sizeof FAULTS / sizeof *FAULTS; ++fault)
        if (count > 1 && strcmp(FAULTS[fault].name, arguments[1]) == 0) FAULTS[fault].run(count > 2);
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    puts("done");
    return 0;
}
