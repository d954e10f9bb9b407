/* Creates and destroys every kind of object again and again: leaks TIMES. What stays resident is bounded, and no device memory is
   lost. Failed creations count as well. */
#include "behaviour/expect.h"

#include <stdint.h>
#include <unistd.h>

static const char TEXT[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[4096];\n.global .texref tex;\n.visible .const .align 4 .u32 fixed = 7;\n"
    ".visible .entry stores(.param .u64 to) {\n    .reg .b64 %d;\n    ld.param.u64 %d, [to];\n    st.global.u32 [%d], 7;\n    ret;\n}\n"
    ".visible .entry nothing() { ret; }\n";
static const char BROKEN[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry stores() {\n    add.u32 %r1, 1;\n}\n";

static CUstream stream;
static CUfunction nothing;
static CUdeviceptr target;

static void contexts(void) {
    CUcontext created;
    CUdeviceptr left;
    OK(cuCtxCreate(&created, NULL, 0, 0));
    OK(cuMemAlloc(&left, 1 << 20));
    OK(cuCtxDestroy(created));
}

static void primary(void) {
    CUcontext retained;
    OK(cuDevicePrimaryCtxRetain(&retained, 0));
    OK(cuDevicePrimaryCtxRelease(0));
}

static void modules(void) {
    CUmodule module;
    CUfunction stores;
    void *parameters[] = {&target};
    OK(cuModuleLoadData(&module, TEXT));
    OK(cuModuleGetFunction(&stores, module, "stores"));
    OK(cuLaunchKernel(stores, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    OK(cuModuleUnload(module));
}

static void broken_modules(void) {
    char log[256];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUmodule module;
    IS(INVALID_PTX, cuModuleLoadDataEx(&module, BROKEN, 2, options, values));
}

static void libraries(void) {
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr table;
    size_t size;
    OK(cuLibraryLoadData(&library, TEXT, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "nothing"));
    OK(cuLibraryGetGlobal(&table, &size, library, "table"));
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuLibraryUnload(library));
}

static void links(void) {
    CUlinkState state;
    void *image;
    size_t size;
    OK(cuLinkCreate(0, NULL, NULL, &state));
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)TEXT, sizeof TEXT, "text", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    OK(cuLinkDestroy(state));
}

static void streams(void) {
    CUstream one;
    OK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, one, NULL, NULL));
    OK(cuStreamDestroy(one));
}

static void events(void) {
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(NULL, event, 0));
    OK(cuEventDestroy(event));
}

static void CUDA_CB note(void *unused) { (void)unused; }

static void callbacks(void) { OK(cuLaunchHostFunc(stream, note, NULL)); }

static void device_memory(void) {
    static const size_t sizes[] = {1, 300, 70000, 3 << 20};
    CUdeviceptr memory[4], pitched;
    size_t pitch;
    for (int i = 0; i < 4; i++) OK(cuMemAlloc(&memory[i], sizes[i]));
    OK(cuMemAllocPitch(&pitched, &pitch, 100, 100, 4));
    OK(cuMemFree(pitched));
    for (int i = 0; i < 4; i++) OK(cuMemFree(memory[i]));
    IS(OUT_OF_MEMORY, cuMemAlloc(&memory[0], (size_t)1 << 60));
}

static void host_memory(void) {
    static char pages[8192] __attribute__((aligned(4096)));
    void *pinned;
    CUdeviceptr managed;
    OK(cuMemHostAlloc(&pinned, 5000, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemFreeHost(pinned));
    OK(cuMemAllocManaged(&managed, 5000, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemFree(managed));
    OK(cuMemHostRegister(pages, sizeof pages, 0));
    OK(cuMemHostUnregister(pages));
}

static void pools(void) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool;
    CUdeviceptr memory;
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuMemAllocFromPoolAsync(&memory, 5 << 20, pool, stream));
    OK(cuMemFreeAsync(memory, stream));
    OK(cuMemPoolDestroy(pool));
    OK(cuMemAllocAsync(&memory, 1000, stream));
    OK(cuMemFreeAsync(memory, stream));
}

static void virtual_memory(void) {
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle physical;
    CUdeviceptr range;
    const size_t size = 2 << 20;
    OK(cuMemAddressReserve(&range, size, 0, 0, 0));
    OK(cuMemCreate(&physical, size, &properties, 0));
    OK(cuMemMap(range, size, 0, physical, 0));
    OK(cuMemSetAccess(range, size, &access, 1));
    OK(cuMemsetD8(range, 1, 4096));
    OK(cuMemUnmap(range, size));
    OK(cuMemRelease(physical));
    OK(cuMemAddressFree(range, size));
}

static void arrays(void) {
    CUDA_ARRAY_DESCRIPTOR shape = {.Width = 64, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC how = {.maxAnisotropy = 1};
    CUtexObject texture;
    CUarray array;
    OK(cuArrayCreate(&array, &shape));
    resource.res.array.hArray = array;
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    OK(cuTexObjectDestroy(texture));
    OK(cuArrayDestroy(array));
}

static void surfaces(void) {
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 64, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUsurfObject surface;
    CUarray array;
    OK(cuArray3DCreate(&array, &shape));
    resource.res.array.hArray = array;
    OK(cuSurfObjectCreate(&surface, &resource));
    OK(cuSurfObjectDestroy(surface));
    OK(cuArrayDestroy(array));
}

static void graphs(void) {
    CUDA_KERNEL_NODE_PARAMS launch = {
        .func = nothing, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    CUgraph graph, clone, captured;
    CUgraphNode node, next;
    CUgraphExec executable;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &launch));
    OK(cuGraphAddEmptyNode(&next, graph, &node, 1));
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphInstantiate(&executable, graph, 0));
    OK(cuGraphLaunch(executable, stream));
    OK(cuGraphExecDestroy(executable));
    OK(cuGraphDestroy(clone));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(cuStreamEndCapture(stream, &captured));
    OK(cuGraphDestroy(captured));
}

static void CUDA_CB heard(void *data, CUlogLevel level, char *message, size_t length) {
    (void)data, (void)level, (void)message, (void)length;
}

static void listeners(void) {
    CUlogsCallbackHandle listener;
    OK(cuLogsRegisterCallback(heard, NULL, &listener));
    IS(INVALID_VALUE, cuMemFree(12));
    OK(cuLogsUnregisterCallback(listener));
}

static size_t resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    size_t all, pages;
    HOLDS(file != NULL && fscanf(file, "%zu %zu", &all, &pages) == 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t free_memory(void) {
    size_t bytes, total;
    OK(cuCtxSynchronize());
    OK(cuMemGetInfo(&bytes, &total));
    return bytes;
}

static int leaks;

/* What is queued at once, and so kept for the next queue, depends on how the workers keep up: only a leak grows every time. */
enum { TRIES = 3 };

static void repeat(const char *name, void (*body)(void), int times) {
    size_t bytes, before, after, grown = SIZE_MAX;
    /* Queues and tables keep what they can use again, and the C library pages. */
    size_t bound = (1 << 20) + 16 * (size_t)times;
    for (int i = 0; i < times; i++) body();
    for (int try = 0; try < TRIES && grown > bound; try++) {
        bytes = free_memory(), before = resident();
        for (int i = 0; i < times; i++) body();
        if (free_memory() != bytes) {
            leaks++;
            fprintf(stderr, "%s: %zd bytes of device memory are gone\n", name, (ssize_t)(bytes - free_memory()));
        }
        after = resident();
        grown = after > before ? after - before : 0;
        fprintf(stderr, "%s: %d times, resident %+zd KiB\n", name, times, (ssize_t)(after - before) / 1024);
    }
    if (grown > bound) {
        leaks++;
        fprintf(stderr, "%s: resident memory grew by %zu KiB each time\n", name, grown / 1024);
    }
}

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 1000;
    CUmodule module;
    start();
    OK(cuModuleLoadData(&module, TEXT));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&target, 8));
#define REPEAT(body) repeat(#body, body, times)
    REPEAT(contexts);
    REPEAT(primary);
    REPEAT(modules);
    REPEAT(broken_modules);
    REPEAT(libraries);
    REPEAT(links);
    REPEAT(streams);
    REPEAT(events);
    REPEAT(callbacks);
    REPEAT(device_memory);
    REPEAT(host_memory);
    REPEAT(pools);
    REPEAT(virtual_memory);
    REPEAT(arrays);
    REPEAT(surfaces);
    REPEAT(graphs);
    REPEAT(listeners);
    puts(leaks == 0 ? "done" : "leaks");
    return leaks != 0;
}
