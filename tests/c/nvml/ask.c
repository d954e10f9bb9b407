/* A program that is linked with the management library, as monitors are: what it asks of each device, and what it is told when it asks wrongly. */
#include <stdio.h>
#include <string.h>

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;
typedef struct {
    unsigned int gpu, memory;
} nvmlUtilization_t;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);
int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization);
int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *temperature);
int nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long *set);

static void say(const char *what, int result)
{
    printf("%s: %s\n", what, nvmlErrorString(result));
}

int main(void)
{
    unsigned int count = 77;
    say("before it is initialised", nvmlDeviceGetCount_v2(&count));
    say("initialised", nvmlInit_v2());
    say("counted", nvmlDeviceGetCount_v2(&count));
    for (unsigned int index = 0; index <= count; index++) {
        nvmlDevice_t device, found;
        int result = nvmlDeviceGetHandleByIndex_v2(index, &device);
        printf("device %u: %s\n", index, nvmlErrorString(result));
        if (result != 0)
            continue;
        char uuid[96], small[8];
        nvmlMemory_t memory;
        nvmlUtilization_t utilization;
        unsigned int temperature;
        unsigned long set[16], all = 0;
        say("  small UUID", nvmlDeviceGetUUID(device, small, sizeof small));
        say("  UUID", nvmlDeviceGetUUID(device, uuid, sizeof uuid));
        result = nvmlDeviceGetHandleByUUID(uuid, &found);
        printf("  found: %s, %s\n", nvmlErrorString(result), found == device ? "the same" : "another");
        result = nvmlDeviceGetMemoryInfo(device, &memory);
        printf("  memory: %s, %llu MiB, %s\n", nvmlErrorString(result), memory.total >> 20,
               memory.free + memory.used == memory.total ? "all accounted for" : "wrong");
        say("  memory without a place", nvmlDeviceGetMemoryInfo(device, NULL));
        result = nvmlDeviceGetUtilizationRates(device, &utilization);
        printf("  busy: %s, %s\n", nvmlErrorString(result), utilization.gpu <= 100 ? "a percentage" : "wrong");
        say("  temperature", nvmlDeviceGetTemperature(device, 0, &temperature));
        result = nvmlDeviceGetCpuAffinity(device, 16, set);
        for (int word = 0; word < 16; word++)
            all |= set[word];
        printf("  processors: %s, %s\n", nvmlErrorString(result), all ? "some" : "none");
    }
    say("no device", nvmlDeviceGetMemoryInfo((nvmlDevice_t)16, &(nvmlMemory_t){0}));
    say("ended", nvmlShutdown());
    say("ended again", nvmlShutdown());
    return 0;
}
