/* Stream-ordered memory: order, what pools hold, thresholds, limits, access, and pools of other places. */
#include "expect.h"

enum { MIB = 1 << 20 };

static cuuint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = 12345;
    OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

#define USED(pool) attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
#define RESERVED(pool) attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)

static CUmemoryPool make(CUmemAllocationType type, CUmemLocationType where, size_t most) {
    CUmemPoolProps properties = {.allocType = type, .location = {.type = where}, .maxSize = most};
    CUmemoryPool pool;
    OK(cuMemPoolCreate(&pool, &properties));
    return pool;
}

static CUmemoryPool device_pool(size_t most) {
    return make(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, most);
}

static void freed_in_order(CUstream stream) {
    CUmemoryPool pool = device_pool(0);
    CUstream elsewhere;
    CUdeviceptr a, b;
    unsigned char bytes[4] = {0};
    OK(cuStreamCreate(&elsewhere, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocFromPoolAsync(&a, 4 * MIB, pool, stream));
    hold(stream);
    OK(cuMemsetD8Async(a, 7, 4 * MIB, stream));
    OK(cuMemFreeAsync(a, stream));
    /* The stream has not got there: the memory is no longer counted as used, but not to be had, and cannot be freed again. */
    HOLDS(USED(pool) == 0 && RESERVED(pool) >= 4 * MIB);
    IS(INVALID_VALUE, cuMemFreeAsync(a, stream));
    IS(INVALID_VALUE, cuMemFree(a));
    IS(INVALID_VALUE, cuMemsetD8Async(a + 8, 1, 4, stream));
    OK(cuMemAllocFromPoolAsync(&b, 4 * MIB, pool, elsewhere));
    HOLDS(a != b);
    release();
    OK(cuStreamSynchronize(stream));
    HOLDS(USED(pool) == 4 * MIB);
    IS(INVALID_VALUE, cuMemsetD8(a, 1, 1));
    OK(cuMemsetD8(b, 9, 4));
    OK(cuMemcpyDtoH(bytes, b, 4));
    HOLDS(bytes[3] == 9);
    OK(cuMemFree(b));
    HOLDS(USED(pool) == 0);
    OK(cuMemPoolDestroy(pool));
}

static void kept_up_to_the_threshold(CUstream stream) {
    CUmemoryPool pool = device_pool(0);
    CUdeviceptr a, again;
    cuuint64_t threshold = 64 * MIB, zero = 0, one = 1;
    OK(cuMemAllocFromPoolAsync(&a, 8 * MIB, pool, stream));
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    HOLDS(RESERVED(pool) == 0);

    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    OK(cuMemAllocFromPoolAsync(&a, 8 * MIB, pool, stream));
    HOLDS(RESERVED(pool) >= 8 * MIB && USED(pool) == 8 * MIB);
    OK(cuMemFreeAsync(a, stream));
    OK(cuCtxSynchronize());
    HOLDS(RESERVED(pool) >= 8 * MIB && USED(pool) == 0);
    /* What is kept is used again. */
    OK(cuMemAllocFromPoolAsync(&again, 8 * MIB, pool, stream));
    HOLDS(again == a);
    OK(cuMemFreeAsync(again, stream));
    OK(cuMemPoolTrimTo(pool, 0));
    HOLDS(RESERVED(pool) == 0);

    HOLDS(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 8 * MIB);
    IS(INVALID_VALUE, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    HOLDS(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
    HOLDS(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 0);
    IS(INVALID_VALUE, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
    IS(INVALID_VALUE, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL));
    OK(cuMemPoolDestroy(pool));
}

static void limited(CUstream stream) {
    CUmemoryPool pool = device_pool(32 * MIB);
    CUdeviceptr a, b;
    HOLDS(attribute(pool, CU_MEMPOOL_ATTR_MAX_POOL_SIZE) == 32 * MIB);
    OK(cuMemAllocFromPoolAsync(&a, 20 * MIB, pool, stream));
    IS(OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&b, 20 * MIB, pool, stream));
    OK(cuMemFreeAsync(a, stream));
    /* What is kept of another size makes room. */
    OK(cuMemAllocFromPoolAsync(&b, 28 * MIB, pool, stream));
    OK(cuMemPoolDestroy(pool));
    /* Memory outlives its pool. */
    OK(cuMemsetD8(b, 1, 28 * MIB));
    OK(cuMemFreeAsync(b, stream));
    OK(cuStreamSynchronize(stream));
    IS(INVALID_VALUE, cuMemFreeAsync(b, stream));
}

static void current_pool(CUstream stream) {
    CUmemoryPool mine = device_pool(0), was, is, of;
    CUdeviceptr a;
    OK(cuDeviceGetDefaultMemPool(&was, 0));
    OK(cuDeviceSetMemPool(0, mine));
    OK(cuDeviceGetMemPool(&is, 0));
    HOLDS(is == mine);
    OK(cuMemAllocAsync(&a, 100, stream));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
    HOLDS(of == mine);
    OK(cuMemPoolDestroy(mine));
    OK(cuDeviceGetMemPool(&is, 0));
    HOLDS(is == was);
    OK(cuMemFreeAsync(a, stream));
}

static void access_and_sharing(void) {
    CUmemoryPool pool = device_pool(0);
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE}, there = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
    CUmemAccess_flags flags = 0;
    CUmemAccessDesc other = {there, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}, own = {here, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    CUmemPoolProps shared = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemPoolPtrExportData data;
    CUmemoryPool none;
    int descriptor;
    OK(cuMemPoolGetAccess(&flags, pool, &here));
    HOLDS(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemPoolGetAccess(&flags, pool, &there));
    HOLDS(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemPoolSetAccess(pool, &other, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &there));
    HOLDS(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    IS(INVALID_DEVICE, cuMemPoolSetAccess(pool, &own, 1));
    own.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    IS(NOT_SUPPORTED, cuMemPoolSetAccess(pool, &own, 1));
    there.id = 9;
    IS(INVALID_VALUE, cuMemPoolGetAccess(&flags, pool, &there));
    shared.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    IS(NOT_SUPPORTED, cuMemPoolCreate(&none, &shared));
    shared.handleTypes = (CUmemAllocationHandleType)64;
    IS(INVALID_VALUE, cuMemPoolCreate(&none, &shared));
    IS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    IS(INVALID_VALUE, cuMemPoolExportPointer(&data, 16));
    OK(cuMemPoolDestroy(pool));
}

static void other_places(CUstream stream) {
    CUmemoryPool host = make(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST, 0);
    CUmemoryPool managed = make(CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_LOCATION_TYPE_NONE, 0), is;
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_HOST};
    CUdeviceptr a;
    unsigned type = 0, is_managed = 0;
    OK(cuMemAllocFromPoolAsync(&a, 100, host, stream));
    *(char *)a = 1;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    HOLDS(type == CU_MEMORYTYPE_HOST);
    IS(INVALID_VALUE, cuMemFreeHost((void *)a));
    OK(cuMemFreeAsync(a, stream));
    OK(cuMemAllocFromPoolAsync(&a, 100, managed, stream));
    *(char *)a = 1;
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
    HOLDS(is_managed);
    OK(cuMemFreeAsync(a, stream));
    OK(cuMemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, host));
    OK(cuMemGetMemPool(&is, &location, CU_MEM_ALLOCATION_TYPE_PINNED));
    HOLDS(is == host);
    OK(cuMemGetDefaultMemPool(&is, &location, CU_MEM_ALLOCATION_TYPE_PINNED));
    HOLDS(is != host);
    IS(INVALID_VALUE, cuMemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, managed));
    OK(cuMemPoolDestroy(host));
    OK(cuMemPoolDestroy(managed));
}

int main(void) {
    CUstream stream;
    size_t before, after, all;
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemGetInfo(&before, &all));
    freed_in_order(stream);
    kept_up_to_the_threshold(stream);
    limited(stream);
    current_pool(stream);
    access_and_sharing();
    other_places(stream);
    OK(cuCtxSynchronize());
    OK(cuMemGetInfo(&after, &all));
    HOLDS(before == after);
    puts("done");
    return 0;
}
