/* Physical memory behind handles that can be shared: by the tens of thousands, and exported to this and to another process. */
#include "expect.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

enum { HANDLES = 50000 };

static CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static size_t unit;

static const CUmemAccessDesc both_ways = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static CUdeviceptr mapped(CUmemGenericAllocationHandle handle, size_t size) {
    CUdeviceptr address;
    OK(cuMemAddressReserve(&address, size, 0, 0, 0));
    OK(cuMemMap(address, size, 0, handle, 0));
    OK(cuMemSetAccess(address, size, &both_ways, 1));
    return address;
}

static void unmap(CUdeviceptr address, size_t size) {
    OK(cuMemUnmap(address, size));
    OK(cuMemAddressFree(address, size));
}

static unsigned char byte_at(CUdeviceptr address) {
    unsigned char byte = 0;
    OK(cuMemcpyDtoH(&byte, address, 1));
    return byte;
}

static void send_descriptor(int link, int descriptor) {
    char room[CMSG_SPACE(sizeof descriptor)] = {0}, byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof descriptor)};
    memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    HOLDS(sendmsg(link, &message, 0) == 1);
}

static int receive_descriptor(int link) {
    int descriptor = -1;
    char room[CMSG_SPACE(sizeof descriptor)], byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    HOLDS(recvmsg(link, &message, 0) == 1);
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    return descriptor;
}

/* Sees the memory of a process that ends before the second look. */
static void importer(int link) {
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp found;
    CUdeviceptr address;
    int descriptor, gone;
    start();
    unit = 2 << 20;
    descriptor = receive_descriptor(link);
    OK(cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    OK(cuMemGetAllocationPropertiesFromHandle(&found, handle));
    HOLDS(found.requestedHandleTypes == properties.requestedHandleTypes && found.location.type == properties.location.type);
    address = mapped(handle, 4 * unit);
    HOLDS(byte_at(address) == 3 && byte_at(address + 4 * unit - 1) == 3);
    OK(cuMemsetD8(address + unit, 4, unit));
    HOLDS(write(link, "x", 1) == 1);
    HOLDS(read(link, &gone, 1) == 0);
    HOLDS(byte_at(address) == 5);
    unmap(address, 4 * unit);
    OK(cuMemRelease(handle));
}

static void exporter(int link) {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    int descriptor;
    char byte;
    start();
    unit = 2 << 20;
    OK(cuMemCreate(&handle, 4 * unit, &properties, 0));
    address = mapped(handle, 4 * unit);
    OK(cuMemsetD8(address, 3, 4 * unit));
    OK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_descriptor(link, descriptor);
    HOLDS(read(link, &byte, 1) == 1);
    HOLDS(byte_at(address + unit) == 4 && byte_at(address) == 3);
    OK(cuMemsetD8(address, 5, 1));
}

static pid_t fork_as(void (*role)(int), int link, int other) {
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child != 0) return child;
    close(other);
    role(link);
    exit(0);
}

static void between_processes(void) {
    int links[2], status;
    pid_t children[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, links) == 0);
    children[0] = fork_as(importer, links[0], links[1]);
    children[1] = fork_as(exporter, links[1], links[0]);
    close(links[0]);
    close(links[1]);
    for (int i = 0; i < 2; i++) HOLDS(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void many(void) {
    struct rlimit limit = {1024, 1024};
    CUmemGenericAllocationHandle *handles = malloc(HANDLES * sizeof *handles);
    size_t size = (size_t)HANDLES * unit;
    CUdeviceptr address;
    int descriptor, first = dup(0);
    HOLDS(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < HANDLES; i++) OK(cuMemCreate(&handles[i], unit, &properties, 0));
    HOLDS(dup(0) == first + 1);
    OK(cuMemAddressReserve(&address, size, 0, 0, 0));
    for (int i = 0; i < HANDLES; i++) {
        OK(cuMemMap(address + i * unit, unit, 0, handles[i], 0));
        if (i % 2) OK(cuMemSetAccess(address + (i - 1) * unit, 2 * unit, &both_ways, 1));
    }
    for (int i = 0; i < HANDLES; i += 997) OK(cuMemsetD8(address + i * unit, i, 100));
    OK(cuMemsetD8(address + unit - 50, 77, 100));
    HOLDS(byte_at(address + 49 * 997 * unit) == (unsigned char)(49 * 997) && byte_at(address + unit) == 77);
    HOLDS(dup(0) == first + 2);
    OK(cuMemExportToShareableHandle(&descriptor, handles[997], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    HOLDS(lseek(descriptor, 0, SEEK_END) < 2 * (off_t)unit && byte_at(address + 997 * unit) == (unsigned char)997);
    close(descriptor);
    OK(cuMemUnmap(address, size));
    OK(cuMemAddressFree(address, size));
    for (int i = 0; i < HANDLES; i++) OK(cuMemRelease(handles[i]));
    free(handles);
}

static void in_one_process(void) {
    CUmemGenericAllocationHandle handle, again;
    CUdeviceptr here, there;
    int descriptor;
    OK(cuMemCreate(&handle, unit, &properties, 0));
    /* Before it was ever mapped. */
    OK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&again, (void *)(uintptr_t)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    HOLDS(handle != again);
    here = mapped(handle, unit);
    there = mapped(again, unit);
    OK(cuMemsetD8(here + 5, 9, 1));
    HOLDS(byte_at(there + 5) == 9);
    OK(cuMemRelease(handle));
    unmap(here, unit);
    HOLDS(byte_at(there + 5) == 9);
    unmap(there, unit);
    OK(cuMemRelease(again));
    HOLDS(fcntl(descriptor, F_GETFD) != -1);
    close(descriptor);
}

/* What a pointer into mapped memory says of sharing, as recorded on an H100. */
static void attributes(void) {
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp asked = properties;
    for (int types = 0; types < 2; types++) {
        unsigned long long allowed = 77;
        unsigned by_name = 7; /* As wide as an int, as recorded. */
        asked.requestedHandleTypes = (CUmemAllocationHandleType)types;
        OK(cuMemCreate(&handle, unit, &asked, 0));
        CUdeviceptr address = mapped(handle, unit);
        OK(cuPointerGetAttribute(&allowed, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address + 5));
        OK(cuPointerGetAttribute(&by_name, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address));
        HOLDS(allowed == (unsigned long long)types && by_name == 0);
        CUipcMemHandle name;
        IS(INVALID_VALUE, cuIpcGetMemHandle(&name, address));
        unmap(address, unit);
        OK(cuMemRelease(handle));
    }
    unsigned long long allowed = 77;
    CUdeviceptr plain;
    OK(cuMemAlloc(&plain, 64));
    OK(cuPointerGetAttribute(&allowed, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, plain));
    HOLDS(allowed == 0);
    OK(cuMemFree(plain));
}

/* The addresses that a pointer into mapped memory lies in, and the mapping, as recorded on an H100. */
static void ranges(void) {
    const CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle first, second;
    CUdeviceptr base, start;
    size_t size;
    OK(cuMemAddressReserve(&base, 8 * unit, 0, 0, 0));
    OK(cuMemCreate(&first, 2 * unit, &properties, 0));
    OK(cuMemCreate(&second, unit, &properties, 0));
    OK(cuMemMap(base + unit, 2 * unit, 0, first, 0));
    OK(cuMemMap(base + 3 * unit, unit, 0, second, 0));
    IS(INVALID_VALUE, cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + 5 * unit));
    IS(NOT_FOUND, cuMemGetAddressRange(&start, &size, base + unit));
    OK(cuMemSetAccess(base + unit, 3 * unit, &access, 1));
    for (size_t at = unit; at < 4 * unit; at += unit / 2) {
        const size_t from = at < 3 * unit ? unit : 3 * unit;
        OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + at));
        OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + at));
        HOLDS(start == base && size == 8 * unit);
        OK(cuMemGetAddressRange(&start, &size, base + at));
        HOLDS(start == base + from && size == (at < 3 * unit ? 2 * unit : unit));
    }
    IS(NOT_FOUND, cuMemGetAddressRange(&start, &size, base));
    OK(cuMemUnmap(base, 8 * unit));
    OK(cuMemAddressFree(base, 8 * unit));
    OK(cuMemRelease(first));
    OK(cuMemRelease(second));
}

static void refusals(void) {
    CUmemGenericAllocationHandle handle, plain;
    CUmemAllocationProp asked = properties;
    int descriptor = 7;
    asked.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    IS(NOT_SUPPORTED, cuMemCreate(&handle, unit, &asked, 0));
    asked.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    IS(INVALID_VALUE, cuMemCreate(&handle, unit, &asked, 0));
    asked.requestedHandleTypes = (CUmemAllocationHandleType)64;
    IS(INVALID_VALUE, cuMemCreate(&handle, unit, &asked, 0));
    asked.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemCreate(&plain, unit, &asked, 0));
    OK(cuMemCreate(&handle, unit, &properties, 0));
    IS(INVALID_VALUE, cuMemExportToShareableHandle(&descriptor, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    IS(INVALID_VALUE, cuMemExportToShareableHandle(NULL, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    IS(INVALID_VALUE, cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
    IS(INVALID_VALUE, cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_NONE, 0));
    IS(INVALID_VALUE, cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    HOLDS(descriptor == 7);
    OK(cuMemRelease(plain));
    OK(cuMemRelease(handle));
    IS(INVALID_VALUE, cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    IS(INVALID_VALUE, cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)999999, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    IS(INVALID_VALUE, cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

int main(void) {
    int supported = 0;
    between_processes();
    start();
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
    HOLDS(supported == 1);
    OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    in_one_process();
    attributes();
    ranges();
    refusals();
    many();
    puts("done");
    return 0;
}
