// What a CUDA driver answers to handles for other processes, and to memory and semaphores that come from elsewhere: one line a call. Each scenario
// runs in its own process; a scenario with another process starts this program again, and the two take turns. sharing.golden is what NVIDIA's
// driver printed (CUDA 13.0, H100).
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> sharing.c -o sharing -lcuda; ./sharing [SCENARIO]
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#undef cuCtxCreate
extern CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
#undef cuIpcOpenMemHandle
extern CUresult cuIpcOpenMemHandle(CUdeviceptr *, CUipcMemHandle, unsigned);
extern CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *, CUipcMemHandle, unsigned);

static const char *name_of(CUresult result) {
    const char *name = NULL;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS && name != NULL ? name : "?";
}
#define T(call)                                            \
    do {                                                   \
        CUresult result_ = (call);                         \
        printf("%-70s = %s\n", #call, name_of(result_));   \
        fflush(stdout);                                    \
    } while (0)
#define V(value)                                           \
    do {                                                   \
        printf("    %s: %lld\n", #value, (long long)(value)); \
        fflush(stdout);                                    \
    } while (0)

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 4 .u32 counter = 7;\n"
    ".visible .entry waits(.param .u64 p) { .reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %q; ld.param.u64 %d1,[p];\n"
    "L: ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %q,%r1,0; @%q bra L; ret; }\n";

enum { LAZY = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, BETWEEN = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING };

static CUcontext context;
static CUmodule module;
static volatile unsigned *flag;

static void up(void) {
    CUdevice device;
    cuInit(0);
    cuDeviceGet(&device, 0);
    if (cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS) printf("no context\n");
}

// Keeps a stream busy until `flag` is set.
static void hold(CUstream stream) {
    CUfunction function;
    if (flag == NULL) {
        cuModuleLoadData(&module, PTX);
        cuMemHostAlloc((void **)&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP);
    }
    *flag = 0;
    cuModuleGetFunction(&function, module, "waits");
    CUdeviceptr address = (CUdeviceptr)flag;
    void *parameters[] = {&address};
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

// The other process: what it is told by, and what it tells by.
static int in = -1, out = -1;

struct Message {
    CUipcMemHandle memory[4];
    CUipcEventHandle event[3];
};

static struct Message message;

static void tell(void) {
    if (write(out, &message, sizeof message) != sizeof message) _exit(3);
}

static void hear(void) {
    if (read(in, &message, sizeof message) != sizeof message) _exit(4);
}

static pid_t begin_other(const char *part) {
    int there[2], back[2];
    char to[16], from[16];
    if (pipe(there) != 0 || pipe(back) != 0) _exit(5);
    pid_t other = fork();
    if (other == 0) {
        close(there[1]);
        close(back[0]);
        snprintf(from, sizeof from, "%d", there[0]);
        snprintf(to, sizeof to, "%d", back[1]);
        execl("/proc/self/exe", "sharing", part, from, to, NULL);
        _exit(6);
    }
    close(there[0]);
    close(back[1]);
    out = there[1];
    in = back[0];
    return other;
}

static void end_other(pid_t other) {
    int status = -1;
    waitpid(other, &status, 0);
    V(status);
}

static unsigned first(CUdeviceptr address) {
    unsigned value = 99;
    CUresult result = cuMemcpyDtoH(&value, address, 4);
    return result == CUDA_SUCCESS ? value : 1000 + (unsigned)result;
}

static void memory_handles(void) {
    up();
    CUipcMemHandle handle, again;
    CUdeviceptr small, large, pitched, managed, variable, pooled, mapped;
    size_t pitch, size;
    void *host;
    CUstream stream;
    cuStreamCreate(&stream, 0);
    cuMemAlloc(&small, 1000);
    cuMemAlloc(&large, 5 << 20);
    cuMemAllocPitch(&pitched, &pitch, 100, 100, 4);
    cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL);
    cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP);
    cuModuleLoadData(&module, PTX);
    cuModuleGetGlobal(&variable, &size, module, "counter");
    cuMemAllocAsync(&pooled, 4096, stream);
    cuStreamSynchronize(stream);
    T(cuIpcGetMemHandle(&handle, small));
    T(cuIpcGetMemHandle(&again, small));
    V(memcmp(&handle, &again, sizeof handle) == 0);
    T(cuIpcGetMemHandle(&again, small + 999));
    V(memcmp(&handle, &again, sizeof handle) == 0);
    T(cuIpcGetMemHandle(&again, small + 5000000000));
    T(cuIpcGetMemHandle(&again, large));
    V(memcmp(&handle, &again, sizeof handle) == 0);
    T(cuIpcGetMemHandle(&again, large + (5 << 20) - 1));
    T(cuIpcGetMemHandle(&again, pitched));
    T(cuIpcGetMemHandle(&again, managed));
    T(cuIpcGetMemHandle(&again, (CUdeviceptr)host));
    T(cuIpcGetMemHandle(&again, variable));
    T(cuIpcGetMemHandle(&again, pooled));
    T(cuIpcGetMemHandle(&again, 0));
    T(cuIpcGetMemHandle(NULL, small));
    T(cuIpcOpenMemHandle_v2(&small, handle, LAZY));
    T(cuIpcOpenMemHandle(&small, handle, LAZY));
    T(cuIpcOpenMemHandle_v2(&small, handle, 0));
    T(cuIpcOpenMemHandle_v2(NULL, handle, LAZY));
    T(cuIpcCloseMemHandle(large));
    T(cuIpcCloseMemHandle(0));
    memset(&handle, 0, sizeof handle);
    T(cuIpcOpenMemHandle_v2(&small, handle, LAZY));
    memset(&handle, 0xa5, sizeof handle);
    T(cuIpcOpenMemHandle_v2(&small, handle, LAZY));
    T(cuMemFree(large));
    T(cuIpcGetMemHandle(&again, large));
}

static void mapped_memory_handles(void) {
    up();
    CUipcMemHandle handle;
    CUdeviceptr address;
    CUmemGenericAllocationHandle physical;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (int type = 0; type < 2; type++) {
        properties.requestedHandleTypes = type;
        cuMemCreate(&physical, 2 << 20, &properties, 0);
        cuMemAddressReserve(&address, 2 << 20, 0, 0, 0);
        cuMemMap(address, 2 << 20, 0, physical, 0);
        cuMemSetAccess(address, 2 << 20, &access, 1);
        T(cuIpcGetMemHandle(&handle, address));
    }
}

static void opened_memory_there(void) {
    up();
    hear();
    CUdeviceptr small = 0, again = 0, large = 0, inner = 0, old = 0, range = 0;
    CUcontext second, owner;
    CUipcMemHandle handle;
    CUstream stream;
    size_t size;
    int ordinal = -1, capable = -1;
    unsigned type = 0;
    cuStreamCreate(&stream, 0);
    T(cuIpcOpenMemHandle_v2(&small, message.memory[0], 0));
    T(cuIpcOpenMemHandle_v2(&small, message.memory[0], 2));
    T(cuIpcOpenMemHandle_v2(&small, message.memory[0], 3));
    T(cuIpcOpenMemHandle(&old, message.memory[3], LAZY));
    V(first(old));
    T(cuIpcOpenMemHandle_v2(&again, message.memory[3], LAZY | 0x100));
    V(again == old);
    T(cuIpcOpenMemHandle_v2(&small, message.memory[0], LAZY));
    V(first(small));
    T(cuIpcOpenMemHandle_v2(&again, message.memory[0], LAZY));
    V(again == small);
    T(cuIpcOpenMemHandle(&old, message.memory[0], LAZY));
    V(old == small);
    T(cuIpcOpenMemHandle_v2(&large, message.memory[1], LAZY));
    V(first(large));
    T(cuIpcOpenMemHandle_v2(&inner, message.memory[2], LAZY));
    V(inner - large);
    T(cuMemGetAddressRange(&range, &size, large));
    V(range == large);
    V(size);
    T(cuMemGetAddressRange(&range, &size, large + 100));
    V(range == large);
    T(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, large));
    V(type);
    T(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, large));
    V(owner == context);
    T(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, large));
    V(ordinal);
    T(cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, large + 100));
    V(range == large);
    T(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, large));
    V(size);
    T(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, large));
    V(capable);
    T(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MAPPED, large));
    V(type);
    T(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, large));
    V(type);
    T(cuMemsetD32(large + 4096, 17, 4));
    T(cuMemFree(large));
    T(cuMemFreeAsync(large, stream));
    T(cuIpcGetMemHandle(&handle, large));
    T(cuIpcCloseMemHandle(large + 4));
    T(cuIpcCloseMemHandle(large));
    T(cuIpcCloseMemHandle(large));
    T(cuIpcCloseMemHandle(large));
    T(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, large));
    cuCtxCreate_v2(&second, 0, 0);
    T(cuIpcOpenMemHandle_v2(&again, message.memory[0], LAZY));
    V(again == small);
    V(first(small));
    T(cuIpcCloseMemHandle(small));
    T(cuIpcCloseMemHandle(small));
    cuCtxDestroy(second);
    T(cuIpcCloseMemHandle(small));
    T(cuIpcCloseMemHandle(small));
    T(cuIpcCloseMemHandle(small));
    tell();
}

static void opened_memory(void) {
    up();
    CUdeviceptr small, large, other_small;
    cuMemAlloc(&small, 1000);
    cuMemAlloc(&large, 5 << 20);
    cuMemsetD32(small, 11, 100);
    cuMemsetD32(large, 13, 2000);
    cuIpcGetMemHandle(&message.memory[0], small);
    cuIpcGetMemHandle(&message.memory[1], large);
    cuIpcGetMemHandle(&message.memory[2], large + 4096);
    cuMemAlloc(&other_small, 300);
    cuMemsetD32(other_small, 12, 75);
    cuIpcGetMemHandle(&message.memory[3], other_small);
    pid_t other = begin_other("opened_memory");
    tell();
    hear();
    end_other(other);
    V(first(large + 4096));
    T(cuMemFree(large));
}

static void stale_memory_there(void) {
    up();
    CUdeviceptr address, kept;
    hear();
    T(cuIpcOpenMemHandle_v2(&kept, message.memory[0], LAZY));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[1], LAZY));
    tell();
    hear();
    T(cuIpcOpenMemHandle_v2(&address, message.memory[0], LAZY));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[2], LAZY));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[3], LAZY));
    T(cuIpcCloseMemHandle(kept));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[0], LAZY));
    T(cuCtxDestroy(context));
    cuCtxCreate_v2(&context, 0, 0);
    T(cuIpcOpenMemHandle_v2(&kept, message.memory[1], LAZY));
    V(first(kept));
    tell();
    hear();
    T(cuIpcOpenMemHandle_v2(&address, message.memory[1], LAZY));
    V(first(kept));
    T(cuIpcCloseMemHandle(kept));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[1], LAZY));
    T(cuIpcCloseMemHandle(kept));
    T(cuIpcCloseMemHandle(kept));
    T(cuIpcCloseMemHandle(kept));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[1], LAZY));
    CUevent event;
    T(cuIpcOpenEventHandle(&event, message.event[0]));
}

// A process between the two, so that the first can see its child's memory go with it.
static void stale_memory_owner(void) {
    up();
    CUdeviceptr memory[4];
    for (int n = 0; n < 4; n++) {
        cuMemAlloc(&memory[n], 3 << 20);
        cuMemsetD32(memory[n], 20 + n, 4);
        cuIpcGetMemHandle(&message.memory[n], memory[n]);
    }
    CUevent event;
    cuEventCreate(&event, BETWEEN);
    cuIpcGetEventHandle(&message.event[0], event);
    tell();
    hear();
    T(cuMemFree(memory[0]));
    T(cuMemFree(memory[2]));
    cuMemFree(memory[3]);
    cuMemAlloc(&memory[3], 3 << 20);
    tell();
    hear();
}

static void stale_memory(void) {
    pid_t owner = begin_other("stale_memory_owner");
    int from_owner = in, to_owner = out;
    pid_t other = begin_other("stale_memory");
    int from_other = in, to_other = out;
    for (int turn = 0; turn < 2; turn++) {
        in = from_owner, out = to_other;
        hear();
        tell();
        in = from_other, out = to_owner;
        hear();
        tell();
    }
    end_other(owner);
    out = to_other;
    tell();
    end_other(other);
}

static void event_handles(void) {
    up();
    CUevent plain, untimed, event, again;
    CUipcEventHandle handle, second;
    int supported = -1;
    cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0);
    V(supported);
    T(cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    T(cuEventCreate(&plain, 0));
    T(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    T(cuEventCreate(&event, BETWEEN | CU_EVENT_BLOCKING_SYNC));
    T(cuIpcGetEventHandle(&handle, plain));
    T(cuIpcGetEventHandle(&handle, untimed));
    T(cuIpcGetEventHandle(&handle, event));
    T(cuIpcGetEventHandle(&second, event));
    V(memcmp(&handle, &second, sizeof handle) == 0);
    T(cuIpcGetEventHandle(NULL, event));
    T(cuIpcGetEventHandle(&handle, NULL));
    T(cuIpcOpenEventHandle(&again, handle));
    T(cuIpcOpenEventHandle(NULL, handle));
    T(cuEventDestroy(event));
    T(cuIpcOpenEventHandle(&again, handle));
    memset(&handle, 0xa5, sizeof handle);
    T(cuIpcOpenEventHandle(&again, handle));
    memset(&handle, 0, sizeof handle);
    T(cuIpcOpenEventHandle(&again, handle));
}

static void opened_events_there(void) {
    up();
    hear();
    CUevent event, again, unrecorded, pending, timed;
    CUipcEventHandle handle;
    CUstream stream;
    CUgraph graph;
    CUgraphNode node;
    float time;
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    T(cuIpcOpenEventHandle(&event, message.event[0]));
    T(cuIpcOpenEventHandle(&again, message.event[0]));
    V(event == again);
    T(cuIpcOpenEventHandle(&unrecorded, message.event[1]));
    T(cuIpcOpenEventHandle(&pending, message.event[2]));
    T(cuEventQuery(event));
    T(cuEventQuery(unrecorded));
    T(cuEventSynchronize(unrecorded));
    T(cuEventQuery(pending));
    T(cuStreamWaitEvent(stream, unrecorded, 0));
    T(cuStreamWaitEvent(stream, pending, 0));
    T(cuStreamQuery(stream));
    T(cuIpcGetEventHandle(&handle, event));
    cuEventCreate(&timed, 0);
    cuEventRecord(timed, NULL);
    T(cuEventElapsedTime(&time, timed, event));
    tell();
    // It is released meanwhile.
    T(cuEventSynchronize(pending));
    T(cuEventQuery(pending));
    T(cuStreamSynchronize(stream));
    T(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    T(cuEventRecord(event, stream));
    T(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    T(cuStreamEndCapture(stream, &graph));
    T(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    T(cuStreamWaitEvent(stream, event, 0));
    T(cuStreamEndCapture(stream, &graph));
    T(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    T(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    T(cuStreamEndCapture(stream, &graph));
    cuGraphCreate(&graph, 0);
    T(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    T(cuGraphAddEventWaitNode(&node, graph, NULL, 0, event));
    hold(stream);
    T(cuEventRecord(event, stream));
    T(cuEventQuery(event));
    T(cuEventQuery(again));
    T(cuCtxWaitEvent(context, again));
    T(cuCtxRecordEvent(context, again));
    tell();
    hear();
    *flag = 1;
    T(cuEventSynchronize(event));
    T(cuEventQuery(again));
    T(cuEventDestroy(again));
    T(cuEventQuery(event));
    tell();
    hear();
    // The first process has destroyed it.
    T(cuEventQuery(event));
    T(cuEventRecord(event, stream));
    T(cuEventSynchronize(event));
    T(cuIpcOpenEventHandle(&again, message.event[0]));
    T(cuEventDestroy(event));
    tell();
}

static void opened_events(void) {
    up();
    CUevent event, unrecorded, pending;
    CUstream stream;
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&event, BETWEEN);
    cuEventCreate(&unrecorded, BETWEEN);
    cuEventCreate(&pending, BETWEEN);
    cuEventRecord(event, stream);
    cuStreamSynchronize(stream);
    hold(stream);
    cuEventRecord(pending, stream);
    cuIpcGetEventHandle(&message.event[0], event);
    cuIpcGetEventHandle(&message.event[1], unrecorded);
    cuIpcGetEventHandle(&message.event[2], pending);
    pid_t other = begin_other("opened_events");
    tell();
    hear();
    usleep(20000);
    *flag = 1;
    hear();
    T(cuEventQuery(event));
    T(cuStreamWaitEvent(stream, event, 0));
    T(cuStreamQuery(stream));
    tell();
    hear();
    T(cuEventQuery(event));
    T(cuEventSynchronize(event));
    T(cuStreamSynchronize(stream));
    T(cuEventDestroy(event));
    tell();
    hear();
    end_other(other);
}

static void import_memory(const char *what, CUexternalMemoryHandleType type, int descriptor, size_t size, unsigned flags) {
    CUexternalMemory memory = NULL;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC wanted = {.type = type, .handle.fd = descriptor, .size = size, .flags = flags};
    CUresult result = cuImportExternalMemory(&memory, &wanted);
    printf("%s, size %zu, flags %u: %s\n", what, size, flags, name_of(result));
    if (result != CUDA_SUCCESS) return;
    // It is the driver's now.
    V(fcntl(descriptor, F_GETFD) >= 0);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 0, .size = size};
    CUdeviceptr address = 0, other = 0;
    T(cuExternalMemoryGetMappedBuffer(&address, memory, &part));
    V(first(address));
    T(cuExternalMemoryGetMappedBuffer(&other, memory, &part));
    V(other == address);
    part.offset = 4096, part.size = 4096;
    T(cuExternalMemoryGetMappedBuffer(&other, memory, &part));
    V(other == address);
    part.offset = size;
    T(cuExternalMemoryGetMappedBuffer(&other, memory, &part));
    part.offset = 0, part.size = size + 1;
    T(cuExternalMemoryGetMappedBuffer(&other, memory, &part));
    part.size = 0;
    T(cuExternalMemoryGetMappedBuffer(&other, memory, &part));
    part.size = 4096, part.flags = 1;
    T(cuExternalMemoryGetMappedBuffer(&other, memory, &part));
    unsigned type_found = 0;
    size_t range = 0;
    T(cuPointerGetAttribute(&type_found, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    V(type_found);
    T(cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address));
    V(range);
    CUipcMemHandle handle;
    T(cuIpcGetMemHandle(&handle, address));
    T(cuMemFree(address));
    T(cuMemFree(address));
    T(cuDestroyExternalMemory(memory));
}

static void external_memory(void) {
    up();
    CUexternalMemory memory = NULL;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC wanted = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = -1, .size = 4096};
    T(cuImportExternalMemory(NULL, &wanted));
    T(cuImportExternalMemory(&memory, NULL));
    T(cuDestroyExternalMemory(NULL));
    int ends[2];
    pipe(ends);
    import_memory("no descriptor", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, -1, 4096, 0);
    import_memory("closed descriptor", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 999, 4096, 0);
    import_memory("pipe", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(ends[0]), 4096, 0);
    import_memory("pipe", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(ends[0]), 0, 0);
    import_memory("pipe", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(ends[0]), 4096, 1);
    import_memory("pipe", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(ends[0]), 4096, 2);
    for (int type = 0; type < 12; type++) {
        char what[32];
        if (type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF) continue;
        snprintf(what, sizeof what, "type %d", type);
        import_memory(what, (CUexternalMemoryHandleType)type, dup(ends[0]), 4096, 0);
    }
}

static void external_exports(void) {
    up();
    CUmemGenericAllocationHandle physical;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    int exported = -1;
    T(cuMemCreate(&physical, 4 << 20, &properties, 0));
    T(cuMemExportToShareableHandle(&exported, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    import_memory("exported", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(exported), 8 << 20, 0);
    import_memory("exported", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(exported), 0, 0);
    import_memory("exported", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(exported), 2 << 20, 0);
    import_memory("exported", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(exported), 4 << 20, 0);
    import_memory("exported", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, dup(exported), 4 << 20, CUDA_EXTERNAL_MEMORY_DEDICATED);
}

static void import_semaphore(const char *what, int type, int descriptor, unsigned flags) {
    CUexternalSemaphore semaphore = NULL;
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC wanted = {.type = (CUexternalSemaphoreHandleType)type, .handle.fd = descriptor, .flags = flags};
    CUresult result = cuImportExternalSemaphore(&semaphore, &wanted);
    printf("%s, flags %u: %s\n", what, flags, name_of(result));
    if (result == CUDA_SUCCESS) T(cuDestroyExternalSemaphore(semaphore));
}

static void external_semaphores(void) {
    up();
    CUexternalSemaphore semaphore = NULL, none[1] = {NULL};
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC wanted = {.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = -1};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal[1] = {0};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait[1] = {0};
    T(cuImportExternalSemaphore(NULL, &wanted));
    T(cuImportExternalSemaphore(&semaphore, NULL));
    T(cuDestroyExternalSemaphore(NULL));
    int ends[2];
    pipe(ends);
    import_semaphore("no descriptor", CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, -1, 0);
    import_semaphore("no descriptor", CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, -1, 0);
    for (int type = 0; type < 12; type++) {
        char what[32];
        if (type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC) continue;
        snprintf(what, sizeof what, "type %d, pipe", type);
        import_semaphore(what, type, dup(ends[0]), 0);
    }
    import_semaphore("pipe", CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, dup(ends[0]), 1);
    T(cuSignalExternalSemaphoresAsync(none, signal, 0, NULL));
    T(cuWaitExternalSemaphoresAsync(none, wait, 0, NULL));
    CUgraph graph;
    CUgraphNode node;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals = {none, signal, 0};
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits = {none, wait, 0};
    cuGraphCreate(&graph, 0);
    T(cuGraphAddExternalSemaphoresSignalNode(&node, graph, NULL, 0, &signals));
    T(cuGraphExternalSemaphoresSignalNodeGetParams(node, &signals));
    V(signals.numExtSems);
    T(cuGraphExternalSemaphoresSignalNodeSetParams(node, &signals));
    T(cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &waits));
    T(cuGraphExternalSemaphoresWaitNodeGetParams(node, &waits));
    T(cuGraphExternalSemaphoresWaitNodeSetParams(node, &waits));
    CUgraphExec ready;
    T(cuGraphInstantiate(&ready, graph, 0));
    T(cuGraphExecExternalSemaphoresWaitNodeSetParams(ready, node, &waits));
    T(cuGraphLaunch(ready, NULL));
    T(cuStreamSynchronize(NULL));
}

static void address_range_handles(void) {
    up();
    CUdeviceptr memory;
    int descriptor = -1;
    cuMemAlloc(&memory, 4 << 20);
    T(cuMemGetHandleForAddressRange(&descriptor, memory, 4 << 20, (CUmemRangeHandleType)0, 0));
    T(cuMemGetHandleForAddressRange(&descriptor, memory, 4 << 20, (CUmemRangeHandleType)9, 0));
    T(cuMemGetHandleForAddressRange(NULL, memory, 4 << 20, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    T(cuMemGetHandleForAddressRange(&descriptor, memory, 0, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    T(cuMemGetHandleForAddressRange(&descriptor, memory + 100, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    T(cuMemGetHandleForAddressRange(&descriptor, 4096, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    T(cuMemGetHandleForAddressRange(&descriptor, memory, 4 << 20, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 8));
}

struct Part {
    const char *name;
    void (*run)(void);
};
#define P(part) {#part, part}
static const struct Part parts[] = {
    P(memory_handles),  P(mapped_memory_handles), P(opened_memory),       P(stale_memory),         P(event_handles),
    P(opened_events),   P(external_memory),       P(external_exports),    P(external_semaphores),  P(address_range_handles),
};
static const struct Part elsewhere[] = {
    {"opened_memory", opened_memory_there},
    {"stale_memory", stale_memory_there},
    P(stale_memory_owner),
    {"opened_events", opened_events_there},
};

int main(int argc, char **argv) {
    if (argc == 4) {
        in = atoi(argv[2]);
        out = atoi(argv[3]);
        alarm(60);
        for (unsigned n = 0; n < sizeof elsewhere / sizeof *elsewhere; n++)
            if (strcmp(argv[1], elsewhere[n].name) == 0) elsewhere[n].run();
        return 0;
    }
    for (unsigned n = 0; n < sizeof parts / sizeof *parts; n++) {
        int status;
        if (argc > 1 && strcmp(argv[1], parts[n].name) != 0) continue;
        printf("== %s\n", parts[n].name);
        fflush(stdout);
        pid_t process = fork();
        if (process == 0) {
            alarm(60);
            parts[n].run();
            fflush(stdout);
            _exit(0);
        }
        waitpid(process, &status, 0);
        if (WIFSIGNALED(status)) printf("CRASH signal %d\n", WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
