/* Devices are equal parts of the machine: `device_parts DEVICES THREADS MEMORY`, the settings of the whole machine. With a fourth argument the process
   sees one of the devices. */
#include "expect.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

enum { MOST = 8, MIB = 1 << 20 };

/* Notes the multiprocessor of each CTA, and how many there are. */
static const char WHERE[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry where(.param .u64 to) {\n"
    "    .reg .b64 %d<3>;\n    .reg .b32 %r<3>;\n"
    "    ld.param.u64 %d0, [to];\n    mov.u32 %r0, %ctaid.x;\n    mul.wide.u32 %d1, %r0, 8;\n    add.u64 %d0, %d0, %d1;\n"
    "    mov.u32 %r1, %smid;\n    mov.u32 %r2, %nsmid;\n    st.global.v2.u32 [%d0], {%r1, %r2};\n    ret;\n}\n";

static CUcontext contexts[MOST];
static int devices;

static size_t free_of(int device) {
    size_t free, all, device_has;
    OK(cuCtxSetCurrent(contexts[device]));
    OK(cuMemGetInfo(&free, &all));
    OK(cuDeviceTotalMem(&device_has, device));
    HOLDS(all == device_has && free <= all);
    return free;
}

/* What is done on a device, and given back by `cuCtxDestroy` and others. */
static void counts_for(int device, size_t before[], size_t bytes) {
    for (int other = 0; other < devices; other++) {
        size_t now = free_of(other);
        HOLDS(other == device ? before[other] - now >= bytes && before[other] - now <= bytes + 4 * MIB : now == before[other]);
    }
}

static void memory_is_counted_apart(size_t share) {
    size_t before[MOST];
    for (int device = 0; device < devices; device++) before[device] = free_of(device);
    for (int device = 0; device < devices; device++) {
        CUdeviceptr address, managed, pooled;
        CUmemGenericAllocationHandle physical;
        CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}}};
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuMemAlloc(&address, 6 * MIB));
        counts_for(device, before, 6 * MIB);
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuMemAllocManaged(&managed, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
        counts_for(device, before, 10 * MIB);
        OK(cuCtxSetCurrent(contexts[(device + 1) % devices]));
        OK(cuMemCreate(&physical, 8 * MIB, &properties, 0));
        counts_for(device, before, 18 * MIB);
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuMemAllocAsync(&pooled, 2 * MIB, NULL));
        OK(cuStreamSynchronize(NULL));
        counts_for(device, before, 20 * MIB);
        OK(cuMemFreeAsync(pooled, NULL));
        OK(cuStreamSynchronize(NULL));
        OK(cuMemFree(address));
        OK(cuMemFree(managed));
        OK(cuMemRelease(physical));
        counts_for(device, before, 0);
    }
    /* One that is full leaves the others theirs. */
    CUdeviceptr all, more, elsewhere;
    OK(cuCtxSetCurrent(contexts[0]));
    OK(cuMemAlloc(&all, share - 2 * MIB));
    IS(OUT_OF_MEMORY, cuMemAlloc(&more, 4 * MIB));
    if (devices > 1) {
        OK(cuCtxSetCurrent(contexts[1]));
        OK(cuMemAlloc(&elsewhere, share - 2 * MIB));
        OK(cuMemcpyDtoD(elsewhere, all, 1 * MIB));
        OK(cuMemFree(elsewhere));
        OK(cuCtxSetCurrent(contexts[0]));
    }
    OK(cuMemFree(all));
    OK(cuMemAlloc(&more, 4 * MIB));
    OK(cuMemFree(more));
}

static int multiprocessors(int device) {
    int count = 0;
    OK(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    return count;
}

static void kernels_run_on_their_part(void) {
    enum { CTAS = 2000 };
    static unsigned found[CTAS][2];
    for (int device = 0; device < devices; device++) {
        CUmodule module;
        CUfunction where;
        CUdeviceptr to;
        void *parameters[] = {&to};
        unsigned count = multiprocessors(device);
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuModuleLoadData(&module, WHERE));
        OK(cuModuleGetFunction(&where, module, "where"));
        OK(cuMemAlloc(&to, sizeof found));
        OK(cuLaunchKernel(where, CTAS, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
        OK(cuMemcpyDtoH(found, to, sizeof found));
        for (int cta = 0; cta < CTAS; cta++) HOLDS(found[cta][0] < count && found[cta][1] == count);
        OK(cuMemFree(to));
    }
}

/* Kernels of all devices wait until the last device's flag is set, which the host does when all of them run. */
static void devices_run_side_by_side(void) {
    CUfunction kernels[MOST];
    CUdeviceptr address = (CUdeviceptr)flag;
    void *parameters[] = {&address};
    *flag = 0;
    for (int device = 0; device < devices; device++) {
        CUmodule module;
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuModuleLoadData(&module, WAITS));
        OK(cuModuleGetFunction(&kernels[device], module, "waits"));
        OK(cuLaunchKernel(kernels[device], multiprocessors(device), 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    }
    for (int device = 0; device < devices; device++) {
        OK(cuCtxSetCurrent(contexts[device]));
        IS(NOT_READY, cuStreamQuery(NULL));
    }
    release();
    for (int device = 0; device < devices; device++) {
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuCtxSynchronize());
    }
}

/* The line of a thread's state that begins so. */
static void line_of(const char *thread, const char *begin, char line[512]) {
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%.200s/status", thread);
    FILE *file = fopen(path, "r");
    HOLDS(file != NULL);
    while (fgets(line, 512, file) != NULL && strncmp(line, begin, strlen(begin)) != 0) line[0] = 0;
    fclose(file);
}

/* How many workers there are, and on how many different lists of processors they stay. */
static void look_at_workers(int *workers, int *places) {
    char known[64][512], line[512];
    struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    *workers = *places = 0;
    while ((entry = readdir(tasks)) != NULL) {
        int number, at = 0;
        if (entry->d_name[0] == '.') continue;
        line_of(entry->d_name, "Name:", line);
        if (sscanf(line, "Name:\twarploom-%d", &number) != 1) continue;
        ++*workers;
        line_of(entry->d_name, "Cpus_allowed_list:", line);
        while (at < *places && strcmp(known[at], line) != 0) at++;
        if (at == *places && *places < 64) strcpy(known[(*places)++], line);
    }
    closedir(tasks);
}

int main(int argc, char **argv) {
    alarm(120);
    if (argc < 4) return 2;
    int count = atoi(argv[1]), threads = atoi(argv[2]), workers, places, sum = 0;
    size_t share = (size_t)atoi(argv[3]) / count * MIB, has;
    OK(cuInit(0));
    OK(cuDeviceGetCount(&devices));
    HOLDS(devices == (argc > 4 ? 1 : count));
    for (int device = 0; device < devices; device++) {
        OK(cuDeviceTotalMem(&has, device));
        HOLDS(has == share);
        HOLDS(multiprocessors(device) == threads / count || multiprocessors(device) == threads / count + 1);
        sum += multiprocessors(device);
    }
    if (argc == 4) HOLDS(sum == (threads > count ? threads : count));
    for (int device = 0; device < devices; device++) OK(cuCtxCreate_v2(&contexts[device], 0, device));
    OK(cuMemHostAlloc((void **)&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    memory_is_counted_apart(share);
    kernels_run_on_their_part();
    devices_run_side_by_side();
    /* Threads name and place themselves, when the host lets them run for the first time. */
    cpu_set_t allowed;
    HOLDS(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int processors = CPU_COUNT(&allowed), wanted = devices == 1 || processors >= count ? devices : processors;
    for (int look = 0; look < 1000; look++) {
        look_at_workers(&workers, &places);
        if (workers == sum && places == wanted) break;
        usleep(10000);
    }
    HOLDS(workers == sum && places == wanted);
    puts("done");
    return 0;
}
