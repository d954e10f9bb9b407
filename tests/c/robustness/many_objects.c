/* A hundred thousand allocations, ten thousand streams and contexts, forty thousand mappings, and what each costs: more of them must not cost more each.
   "many_objects" prints the curves; with an argument it makes so many times fewer. */
#include "behaviour/expect.h"

#include <time.h>

enum { ALLOCATIONS = 100000, RUNS = 20000, STREAMS = 10000, EVENTS = 100000, CONTEXTS = 10000, MAPPINGS = 40000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double since;

static void begin(void) { since = now(); }

static void end(const char *what, int count) { printf("%-44s %7d  %8.2f us each\n", what, count, (now() - since) * 1e6 / count); }

static void allocations(int count, size_t size, const char *made, const char *freed) {
    CUdeviceptr *all = malloc(count * sizeof *all);
    begin();
    for (int i = 0; i < count; i++) OK(cuMemAlloc(&all[i], size));
    end(made, count);
    begin();
    /* Every other one first: nothing merges. */
    for (int i = 0; i < count; i += 2) OK(cuMemFree(all[i]));
    for (int i = 1; i < count; i += 2) OK(cuMemFree(all[i]));
    end(freed, count);
    free(all);
}

static void streams(int count) {
    CUstream *all = malloc(count * sizeof *all);
    begin();
    for (int i = 0; i < count; i++) OK(cuStreamCreate(&all[i], CU_STREAM_NON_BLOCKING));
    end("streams made", count);
    begin();
    for (int i = 0; i < count; i++) OK(cuStreamDestroy(all[i]));
    end("streams destroyed", count);
    free(all);
}

static void events(int count) {
    CUevent *all = malloc(count * sizeof *all);
    begin();
    for (int i = 0; i < count; i++) OK(cuEventCreate(&all[i], 0));
    for (int i = 0; i < count; i++) OK(cuEventDestroy(all[i]));
    end("events made and destroyed", count);
    free(all);
}

/* With something of everything in each. */
static void fill_context(void) {
    CUdeviceptr memory;
    CUstream stream;
    CUevent event;
    CUmodule module;
    OK(cuMemAlloc(&memory, 64));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuModuleLoadData(&module, WAITS));
}

static void contexts_in_turn(int count) {
    begin();
    for (int i = 0; i < count; i++) {
        CUcontext one;
        OK(cuCtxCreate(&one, NULL, 0, 0));
        fill_context();
        OK(cuCtxDestroy(one));
    }
    end("contexts made, filled, destroyed in turn", count);
}

static void contexts_at_once(int count) {
    CUcontext *all = malloc(count * sizeof *all);
    begin();
    for (int i = 0; i < count; i++) {
        OK(cuCtxCreate(&all[i], NULL, 0, 0));
        fill_context();
        OK(cuCtxPopCurrent(&all[i]));
    }
    end("contexts made and filled", count);
    begin();
    for (int i = 0; i < count; i++) OK(cuCtxDestroy(all[i]));
    end("contexts destroyed with all in them", count);
    free(all);
}

static void mappings(int count) {
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    size_t unit = 2 << 20, size = count * unit;
    unsigned char bytes[64];
    CUdeviceptr base;
    OK(cuMemAddressReserve(&base, size, 0, 0, 0));
    begin();
    for (int i = 0; i < count; i++) {
        OK(cuMemCreate(&handle, unit, &properties, 0));
        OK(cuMemMap(base + i * unit, unit, 0, handle, 0));
        OK(cuMemRelease(handle));
        OK(cuMemSetAccess(base + i * unit, unit, &access, 1));
    }
    end("pieces mapped in a row", count);
    begin();
    for (int i = 1; i < 1000; i++) OK(cuMemcpyDtoH(bytes, base + (size_t)(count / 2) * unit - 32, sizeof bytes));
    end("copies across two of them", 1000);
    begin();
    for (int i = 0; i < count; i += 2) OK(cuMemUnmap(base + i * unit, unit));
    for (int i = 1; i < count; i += 2) OK(cuMemUnmap(base + i * unit, unit));
    end("pieces unmapped", count);
    OK(cuMemAddressFree(base, size));
}

int main(int count, char **arguments) {
    int fewer = count > 1 ? atoi(arguments[1]) : 1;
    start();
    for (int part = 10; part >= 1; part -= 9) {
        int of = part * fewer;
        allocations(ALLOCATIONS / of, 64, "allocations of 64 bytes", "freed, every other one first");
        allocations(RUNS / of, 600 << 10, "allocations of 600 KiB", "freed, every other one first");
        streams(STREAMS / of);
        events(EVENTS / of);
        mappings(MAPPINGS / of);
        contexts_in_turn(CONTEXTS / of);
        OK(cuCtxSetCurrent(context));
        contexts_at_once(CONTEXTS / of);
        OK(cuCtxSetCurrent(context));
    }
    puts("done");
    return 0;
}
