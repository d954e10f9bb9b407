// Memory by handle: what has one, what another process answers to it, and what becomes of handles of memory that is gone.

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
    hear_all();
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
    tell_all();
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
    tell_all();
    hear_all();
    end_other(other);
    V(first(large + 4096));
    T(cuMemFree(large));
}

static void stale_memory_there(void) {
    up();
    CUdeviceptr address, kept;
    hear_all();
    T(cuIpcOpenMemHandle_v2(&kept, message.memory[0], LAZY));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[1], LAZY));
    tell_all();
    hear_all();
    T(cuIpcOpenMemHandle_v2(&address, message.memory[0], LAZY));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[2], LAZY));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[3], LAZY));
    T(cuIpcCloseMemHandle(kept));
    T(cuIpcOpenMemHandle_v2(&address, message.memory[0], LAZY));
    T(cuCtxDestroy(context));
    cuCtxCreate_v2(&context, 0, 0);
    T(cuIpcOpenMemHandle_v2(&kept, message.memory[1], LAZY));
    V(first(kept));
    tell_all();
    hear_all();
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
    tell_all();
    hear_all();
    T(cuMemFree(memory[0]));
    T(cuMemFree(memory[2]));
    cuMemFree(memory[3]);
    cuMemAlloc(&memory[3], 3 << 20);
    tell_all();
    hear_all();
}

static void stale_memory(void) {
    pid_t owner = begin_other("stale_memory_owner");
    int from_owner = in, to_owner = out;
    pid_t other = begin_other("stale_memory");
    int from_other = in, to_other = out;
    for (int turn = 0; turn < 2; turn++) {
        in = from_owner, out = to_other;
        hear_all();
        tell_all();
        in = from_other, out = to_owner;
        hear_all();
        tell_all();
    }
    end_other(owner);
    out = to_other;
    tell_all();
    end_other(other);
}
