/* Peers, events of whole contexts, handles for other processes, notifications, atomics, and coredump settings. Needs two
   devices. */
#include "expect.h"

static CUcontext other;

static void peers(void) {
    CUdeviceptr a, b;
    CUDA_MEMCPY3D_PEER copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .WidthInBytes = 4,
                               .Height = 1,
                               .Depth = 1};
    unsigned got = 0;
    int can = 0;
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    HOLDS(can == 1);
    IS(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
    IS(INVALID_VALUE, cuCtxEnablePeerAccess(other, 1));
    OK(cuCtxEnablePeerAccess(other, 0));
    IS(PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other, 0));
    OK(cuCtxDisablePeerAccess(other));
    IS(PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
    IS(PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(context, 0));
    IS(INVALID_CONTEXT, cuCtxEnablePeerAccess(NULL, 0));
    OK(cuMemAlloc(&a, 4));
    OK(cuMemAlloc(&b, 4));
    OK(cuMemsetD32(a, 77, 1));
    copy.srcDevice = a, copy.dstDevice = b, copy.srcContext = context, copy.dstContext = other;
    OK(cuMemcpy3DPeer(&copy));
    OK(cuMemcpyDtoH(&got, b, 4));
    HOLDS(got == 77);
    copy.dstContext = (CUcontext)0x1230;
    IS(INVALID_CONTEXT, cuMemcpy3DPeerAsync(&copy, NULL));
}

static void events_of_contexts(void) {
    CUstream busy, later;
    CUevent all;
    OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&all, 0));
    hold(busy);
    OK(cuCtxRecordEvent(context, all));
    IS(NOT_READY, cuEventQuery(all));
    OK(cuCtxSetCurrent(other));
    OK(cuCtxWaitEvent(other, all));
    /* A stream that comes only now waits too. */
    OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    IS(NOT_READY, cuStreamQuery(later));
    IS(NOT_READY, cuStreamQuery(NULL));
    IS(INVALID_HANDLE, cuCtxRecordEvent(other, all));
    release();
    OK(cuStreamSynchronize(later));
    OK(cuEventQuery(all));
    OK(cuStreamDestroy(later));
    OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    OK(cuStreamQuery(later));
    OK(cuCtxSetCurrent(context));
    IS(INVALID_HANDLE, cuCtxWaitEvent(context, (CUevent)0x1230));
    IS(INVALID_CONTEXT, cuCtxRecordEvent((CUcontext)0x1230, all));
}

static void other_processes(void) {
    CUipcMemHandle memory, again;
    CUipcEventHandle shared;
    CUdeviceptr a, b;
    CUevent event, alone;
    OK(cuMemAlloc(&a, 100));
    OK(cuIpcGetMemHandle(&memory, a));
    OK(cuIpcGetMemHandle(&again, a + 8));
    HOLDS(memcmp(&memory, &again, sizeof memory) == 0);
    IS(INVALID_CONTEXT, cuIpcOpenMemHandle(&b, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    IS(INVALID_VALUE, cuIpcOpenMemHandle(&b, memory, 0));
    memory.reserved[0] ^= 1;
    IS(INVALID_VALUE, cuIpcOpenMemHandle(&b, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    IS(INVALID_VALUE, cuIpcCloseMemHandle(a));
    OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&alone, 0));
    OK(cuIpcGetEventHandle(&shared, event));
    IS(INVALID_HANDLE, cuIpcGetEventHandle(&shared, alone));
}

static void hears(CUasyncNotificationInfo *info, void *data, CUasyncCallbackHandle handle) {
    (void)info, (void)data, (void)handle;
    exit(1);
}

static void devices(void) {
    CUasyncCallbackHandle listener;
    CUatomicOperation operations[] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS};
    unsigned can[2] = {0};
    OK(cuDeviceRegisterAsyncNotification(0, hears, NULL, &listener));
    IS(INVALID_VALUE, cuDeviceUnregisterAsyncNotification(1, listener));
    OK(cuDeviceUnregisterAsyncNotification(0, listener));
    IS(INVALID_VALUE, cuDeviceUnregisterAsyncNotification(0, listener));
    IS(INVALID_VALUE, cuDeviceRegisterAsyncNotification(0, NULL, NULL, &listener));
    OK(cuDeviceGetHostAtomicCapabilities(can, operations, 2, 0));
    HOLDS(can[0] & CU_ATOMIC_CAPABILITY_SCALAR_64 && can[1] & CU_ATOMIC_CAPABILITY_SCALAR_128);
    OK(cuDeviceGetP2PAtomicCapabilities(can, operations, 2, 0, 1));
    IS(INVALID_DEVICE, cuDeviceGetP2PAtomicCapabilities(can, operations, 2, 0, 0));
    IS(INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(can, operations, 0, 0));
    IS(INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(NULL, operations, 2, 0));
}

/* As recorded: files are named in up to 1024 bytes, flags have one; a context begins with what the process has. */
static void coredumps(void) {
    char file[1024] = "x", flag = 2;
    unsigned generation = 0x41;
    size_t size = 0;
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, NULL, &size));
    HOLDS(size == 1024);
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, file, &size));
    HOLDS(file[0] == 0);
    size = 4;
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, "abc", &size));
    size = sizeof file;
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, file, &size));
    HOLDS(strcmp(file, "abc") == 0 && size == sizeof file);
    size = 3;
    IS(INVALID_VALUE, cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, file, &size));
    size = 1;
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &flag, &size));
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &flag, &size));
    flag = 0;
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &flag, &size));
    HOLDS(flag == 1);
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &flag, &size));
    HOLDS(flag == 0);
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &flag, &size));
    HOLDS(flag == 2);
    IS(INVALID_VALUE, cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_USER_TRIGGER, &flag, &size));
    IS(INVALID_VALUE, cuCoredumpSetAttributeGlobal(CU_COREDUMP_GENERATION_FLAGS, &generation, &size));
    IS(NOT_SUPPORTED, cuCoredumpSetAttributeGlobal(CU_COREDUMP_PIPE, "p", &size));
    size = 4;
    OK(cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &generation, &size));
    generation = 0;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_GENERATION_FLAGS, &generation, &size));
    HOLDS(generation == 0x41);
    IS(INVALID_VALUE, cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &generation, &size));
    IS(INVALID_VALUE, cuCoredumpGetAttribute((CUcoredumpSettings)99, &flag, &size));
}

static void arrays(void) {
    CUDA_ARRAY_DESCRIPTOR shape = {.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
    CUgreenCtx green = (CUgreenCtx)1;
    CUarray array, plane;
    OK(cuArrayCreate(&array, &shape));
    IS(INVALID_VALUE, cuArrayGetPlane(&plane, array, 0));
    IS(INVALID_VALUE, cuArrayGetSparseProperties(&sparse, array));
    IS(INVALID_VALUE, cuArrayGetMemoryRequirements(&needs, array, 0));
    IS(INVALID_VALUE, cuArrayGetMemoryRequirements(&needs, array, 9));
    OK(cuArrayDestroy(array));
    IS(INVALID_HANDLE, cuArrayGetPlane(&plane, array, 0));
    OK(cuStreamGetGreenCtx(NULL, &green));
    HOLDS(green == NULL);
}

int main(void) {
    CUgreenCtx green = (CUgreenCtx)1;
    CUcontext owner;
    start();
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    peers();
    events_of_contexts();
    other_processes();
    devices();
    coredumps();
    OK(cuStreamGetCtx_v2(NULL, &owner, &green));
    HOLDS(owner == context && green == NULL);
    arrays();
    puts("done");
    return 0;
}
