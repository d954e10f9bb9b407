/* Memory pools whose memory other processes use: what an exporter and an importer see, in one process and in two. Answers as recorded on an H100; those of pools of
   the host's memory are what NVIDIA's tests of cuda-core expect. */
#include "expect.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, LARGE = 5 * MIB };
static const CUmemAllocationHandleType BY_DESCRIPTOR = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
static const CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE}, node = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA};

static CUmemoryPool make_at(CUmemLocation place, CUmemAllocationHandleType types) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = place, .handleTypes = types};
    CUmemoryPool pool;
    OK(cuMemPoolCreate(&pool, &properties));
    return pool;
}

static CUmemoryPool make(CUmemAllocationHandleType types) { return make_at(here, types); }

static CUmemoryPool import(int descriptor) {
    CUmemoryPool pool = NULL;
    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)descriptor, BY_DESCRIPTOR, 0));
    return pool;
}

static unsigned word_at(CUdeviceptr address) {
    unsigned word = 0;
    OK(cuMemcpyDtoH(&word, address, 4));
    return word;
}

static cuuint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = 0;
    OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static cuuint64_t asked(CUpointer_attribute which, CUdeviceptr address) {
    cuuint64_t value = 0;
    OK(cuPointerGetAttribute(&value, which, address));
    return value;
}

static void send_descriptor(int socket, int descriptor) {
    char control[CMSG_SPACE(sizeof descriptor)] = {0}, byte = 1;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    HOLDS(sendmsg(socket, &message, 0) == 1);
}

static int receive_descriptor(int socket) {
    char control[CMSG_SPACE(sizeof(int))], byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int descriptor;
    HOLDS(recvmsg(socket, &message, 0) == 1);
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

static void importer(int socket) {
    CUmemPoolPtrExportData told[2];
    CUdeviceptr small, large, again;
    char done = 1;
    start();
    CUmemoryPool pool = import(receive_descriptor(socket));
    HOLDS(read(socket, told, sizeof told) == sizeof told);
    OK(cuMemPoolImportPointer(&small, pool, &told[0]));
    OK(cuMemPoolImportPointer(&large, pool, &told[1]));
    OK(cuMemPoolImportPointer(&again, pool, &told[0]));
    HOLDS(again == small);
    HOLDS(word_at(small) == 11 && word_at(large + LARGE - 4) == 22);
    OK(cuMemsetD32(small, 33, 250));
    OK(cuMemFree(small));
    IS(INVALID_VALUE, cuMemFree(small));
    OK(cuMemFreeAsync(large, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemPoolImportPointer(&small, pool, &told[0]));
    HOLDS(word_at(small) == 33);
    IS(INVALID_VALUE, cuMemPoolDestroy(pool));
    OK(cuMemFree(small));
    OK(cuMemPoolDestroy(pool));
    HOLDS(write(socket, &done, 1) == 1);
    exit(0);
}

static void between_processes(CUmemLocation place) {
    int sockets[2], descriptor, status;
    CUmemPoolPtrExportData told[2];
    CUdeviceptr small, large;
    char done;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pid_t child = fork();
    if (child == 0) importer(sockets[1]);
    start();
    CUmemoryPool pool = make_at(place, BY_DESCRIPTOR);
    /* What is allocated after the export is shared as well. */
    OK(cuMemAllocFromPoolAsync(&small, 1000, pool, NULL));
    OK(cuMemPoolExportToShareableHandle(&descriptor, pool, BY_DESCRIPTOR, 0));
    OK(cuMemAllocFromPoolAsync(&large, LARGE, pool, NULL));
    OK(cuMemsetD32(small, 11, 250));
    OK(cuMemsetD32(large, 22, LARGE / 4));
    OK(cuCtxSynchronize());
    OK(cuMemPoolExportPointer(&told[0], small));
    OK(cuMemPoolExportPointer(&told[1], large));
    send_descriptor(sockets[0], descriptor);
    HOLDS(write(sockets[0], told, sizeof told) == sizeof told);
    HOLDS(read(sockets[0], &done, 1) == 1 && waitpid(child, &status, 0) == child && status == 0);
    HOLDS(word_at(small) == 33 && word_at(large + 8) == 22);
    if (place.type != here.type) {
        unsigned kind = asked(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, small);
        HOLDS(*(unsigned *)small == 33 && kind == CU_MEMORYTYPE_HOST);
    }
    OK(cuMemFree(small));
    OK(cuMemFree(large));
    OK(cuMemPoolDestroy(pool));
    close(descriptor);
}

static void in_one_process(void) {
    CUmemPoolPtrExportData told, other;
    CUdeviceptr small, large, there, plain;
    CUmemoryPool pool = make(BY_DESCRIPTOR), plain_pool = make(CU_MEM_HANDLE_TYPE_NONE), is;
    CUmemGenericAllocationHandle handle;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemAccessDesc access = {.location = here, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    cuuint64_t one = 1;
    int descriptor = 7, supported = 0;
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    HOLDS(supported & BY_DESCRIPTOR);
    OK(cuMemAllocFromPoolAsync(&small, 1000, pool, NULL));
    OK(cuMemAllocFromPoolAsync(&large, LARGE, pool, NULL));
    HOLDS(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1000 + LARGE);
    HOLDS(asked(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, small) == (uintptr_t)pool && asked(CU_POINTER_ATTRIBUTE_RANGE_SIZE, small) == 1000);
    HOLDS(asked(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, small) == 1);
    IS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_NONE, 0));
    IS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    IS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&descriptor, pool, BY_DESCRIPTOR, 1));
    IS(INVALID_VALUE, cuMemPoolExportToShareableHandle(NULL, pool, BY_DESCRIPTOR, 0));
    IS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&descriptor, plain_pool, BY_DESCRIPTOR, 0));
    HOLDS(descriptor == 7);
    OK(cuMemPoolExportToShareableHandle(&descriptor, pool, BY_DESCRIPTOR, 0));
    HOLDS(fcntl(descriptor, F_GETFD) == 0);
    OK(cuMemAllocFromPoolAsync(&plain, 1000, plain_pool, NULL));
    OK(cuCtxSynchronize());
    IS(INVALID_VALUE, cuMemPoolExportPointer(&told, plain));
    IS(INVALID_VALUE, cuMemPoolExportPointer(&told, 16));
    IS(INVALID_VALUE, cuMemPoolExportPointer(&told, small + 8));
    IS(INVALID_VALUE, cuMemPoolExportPointer(NULL, small));
    OK(cuMemPoolExportPointer(&told, small));
    OK(cuMemPoolExportPointer(&other, large));
    IS(UNKNOWN, cuMemPoolImportFromShareableHandle(&is, (void *)(intptr_t)999, BY_DESCRIPTOR, 0));
    int nothing = open("/dev/null", O_RDONLY);
    IS(UNKNOWN, cuMemPoolImportFromShareableHandle(&is, (void *)(intptr_t)nothing, BY_DESCRIPTOR, 0));
    close(nothing);
    IS(INVALID_VALUE, cuMemPoolImportFromShareableHandle(&is, (void *)(intptr_t)descriptor, CU_MEM_HANDLE_TYPE_NONE, 0));
    IS(INVALID_VALUE, cuMemPoolImportFromShareableHandle(&is, (void *)(intptr_t)descriptor, BY_DESCRIPTOR, 1));
    IS(NOT_SUPPORTED, cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)descriptor, BY_DESCRIPTOR));

    CUmemoryPool imported = import(descriptor);
    HOLDS(imported != pool);
    for (int which = 1; which <= 8; which++) IS(INVALID_VALUE, cuMemPoolGetAttribute(imported, (CUmemPool_attribute)which, &one));
    IS(INVALID_VALUE, cuMemPoolSetAttribute(imported, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &one));
    IS(INVALID_VALUE, cuMemPoolTrimTo(imported, 0));
    IS(INVALID_VALUE, cuMemAllocFromPoolAsync(&there, 100, imported, NULL));
    IS(INVALID_VALUE, cuDeviceSetMemPool(0, imported));
    IS(INVALID_VALUE, cuMemPoolExportToShareableHandle(&nothing, imported, BY_DESCRIPTOR, 0));
    OK(cuMemPoolGetAccess(&flags, imported, (CUmemLocation *)&here));
    HOLDS(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemPoolSetAccess(imported, &access, 1));
    IS(INVALID_VALUE, cuMemPoolImportPointer(&there, pool, &told));
    OK(cuMemPoolImportPointer(&there, imported, &told));
    HOLDS(there != small && asked(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, there) == (uintptr_t)imported);
    HOLDS(asked(CU_POINTER_ATTRIBUTE_RANGE_SIZE, there) == 1000 && asked(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, there) == 0);
    OK(cuMemsetD32(small, 7, 250));
    HOLDS(word_at(there + 996) == 7);
    OK(cuMemsetD32(there, 9, 250));
    HOLDS(word_at(small) == 9);
    IS(INVALID_VALUE, cuMemPoolExportPointer(&other, there));
    IS(INVALID_VALUE, cuMemsetD8(there, 1, 1001));
    /* What is of a pool is not the program's to map. */
    IS(INVALID_VALUE, cuMemUnmap(small & ~(CUdeviceptr)(2 * MIB - 1), 2 * MIB));
    IS(INVALID_VALUE, cuMemSetAccess(small & ~(CUdeviceptr)(2 * MIB - 1), 2 * MIB, &access, 1));
    IS(INVALID_VALUE, cuMemRetainAllocationHandle(&handle, (void *)small));
    memset(&told, 0x55, sizeof told);
    IS(INVALID_VALUE, cuMemPoolImportPointer(&plain, imported, &told));
    IS(INVALID_VALUE, cuMemPoolDestroy(imported));
    OK(cuMemFreeAsync(there, NULL));
    OK(cuCtxSynchronize());
    IS(INVALID_VALUE, cuMemFree(there));
    OK(cuMemPoolDestroy(imported));
    OK(cuMemFree(small));
    IS(INVALID_VALUE, cuMemPoolExportPointer(&told, small));
    OK(cuMemFreeAsync(large, NULL));
    OK(cuCtxSynchronize());
    HOLDS(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    OK(cuMemPoolTrimTo(pool, 0));
    HOLDS(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    OK(cuMemPoolDestroy(pool));
    OK(cuMemPoolDestroy(plain_pool));
    /* The descriptor outlives the pool. */
    OK(cuMemPoolDestroy(import(descriptor)));
    close(descriptor);
}

/* Small allocations share pages, and all of it comes back. */
static void many(void) {
    static CUdeviceptr all[3000];
    CUmemoryPool pool = make(BY_DESCRIPTOR);
    size_t before, after, total;
    OK(cuMemGetInfo(&before, &total));
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned k = 0; k < 3000; k++) {
            OK(cuMemAllocFromPoolAsync(&all[k], 600 + k, pool, NULL));
            OK(cuMemsetD32Async(all[k], k, 150, NULL));
        }
        HOLDS(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) <= 12 * MIB);
        for (unsigned k = 0; k < 3000; k++) HOLDS(word_at(all[k] + 596) == k);
        for (unsigned k = 0; k < 3000; k++) OK(cuMemFreeAsync(all[(k * 7 + round) % 3000], NULL));
        OK(cuCtxSynchronize());
    }
    OK(cuMemPoolDestroy(pool));
    OK(cuMemGetInfo(&after, &total));
    HOLDS(after == before);
}

int main(void) {
    int status;
    /* Each exporter is a process of its own: one that uses the driver cannot fork an importer. */
    pid_t child = fork();
    if (child == 0) {
        between_processes(node);
        exit(0);
    }
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    between_processes(here);
    in_one_process();
    many();
    puts("done");
    return 0;
}
