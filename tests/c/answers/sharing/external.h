// Memory and semaphores that come from elsewhere as descriptors.

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
