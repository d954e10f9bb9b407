/* What the samples share: arguments, and files that are looked for in several folders. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "check.h"
#include "read_file.h"

#include <unistd.h>

/* The number behind `-name=` or `--name=`. */
static inline int number_argument(int argc, char **argv, const char *name, int otherwise) {
    size_t length = strlen(name);
    for (int index = 1; index < argc; index++) {
        const char *argument = argv[index] + strspn(argv[index], "-");
        if (strncmp(argument, name, length) == 0 && argument[length] == '=') return atoi(argument + length + 1);
    }
    return otherwise;
}

/* The path of a file: beside the current folder, or beside the program. */
static inline const char *find_file(const char *program, const char *name) {
    static const char *const folders[] = {"./", "./data/", "../data/", "./kernels/", "../common/data/"};
    static char path[4096];
    const char *slash = strrchr(program, '/');
    int beside = slash == NULL ? 0 : (int)(slash - program) + 1;
    for (size_t index = 0; index < sizeof folders / sizeof *folders; index++) {
        snprintf(path, sizeof path, "%s%s", folders[index], name);
        if (access(path, R_OK) == 0) return path;
        snprintf(path, sizeof path, "%.*s%s%s", beside, program, folders[index], name);
        if (access(path, R_OK) == 0) return path;
    }
    fprintf(stderr, "%s is nowhere\n", name);
    exit(1);
}

/* The device that `-device=` names, or the one with most multiprocessors. */
static inline CUdevice choose_device(int argc, char **argv) {
    int count, best = 0, most = -1, wanted;
    CUdevice device;
    char name[256];
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    if (count == 0) {
        fprintf(stderr, "no device supports CUDA\n");
        exit(1);
    }
    wanted = number_argument(argc, argv, "device", -1);
    if (wanted >= count) {
        fprintf(stderr, "there is no device %d\n", wanted);
        exit(1);
    }
    for (int index = 0; index < count; index++) {
        int multiprocessors, mode;
        CHECK(cuDeviceGet(&device, index));
        CHECK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
        CHECK(cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device));
        if (mode != CU_COMPUTEMODE_PROHIBITED && multiprocessors > most) {
            most = multiprocessors;
            best = index;
        }
    }
    CHECK(cuDeviceGet(&device, wanted >= 0 ? wanted : best));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    fprintf(stderr, "device %d: %s\n", (int)device, name);
    return device;
}

#endif
