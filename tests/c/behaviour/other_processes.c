/* Memory and events by handle between processes: they take turns with a buffer, ordered by events only; one of them is killed, as often as the argument says; nothing stays behind. */
#include "expect.h"
#include "turns.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>

enum { ROUNDS = 50, NUMBERS = 256, BETWEEN = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING };

/* Doubles each number and adds one. */
static const char STEP[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry step(.param .u64 numbers) {\n"
    "    .reg .b64 %d<3>;\n    .reg .b32 %r<3>;\n"
    "    ld.param.u64 %d0, [numbers];\n    mov.u32 %r0, %tid.x;\n    mul.wide.u32 %d1, %r0, 4;\n    add.u64 %d0, %d0, %d1;\n"
    "    ld.global.u32 %r1, [%d0];\n    mad.lo.u32 %r1, %r1, 2, 1;\n    st.global.u32 [%d0], %r1;\n    ret;\n}\n";

struct Message {
    CUipcMemHandle memory;
    CUipcEventHandle first, second;
};

static CUfunction step_kernel(void) {
    CUmodule module;
    CUfunction step;
    OK(cuModuleLoadData(&module, STEP));
    OK(cuModuleGetFunction(&step, module, "step"));
    return step;
}

static void step(CUfunction kernel, CUdeviceptr numbers, CUstream stream) {
    void *parameters[] = {&numbers};
    OK(cuLaunchKernel(kernel, 1, 1, 1, NUMBERS, 1, 1, 0, stream, parameters, NULL));
}

static void end(pid_t process, int wanted) {
    HOLDS(end_of_other(process) == wanted);
    close(in);
    close(out);
}

/* Entries of a folder that begin so. */
static int entries(const char *folder, const char *begin) {
    DIR *open = opendir(folder);
    struct dirent *entry;
    int count = 0;
    if (open == NULL) return 0;
    while ((entry = readdir(open)) != NULL) count += strncmp(entry->d_name, begin, strlen(begin)) == 0;
    closedir(open);
    return count;
}

/* A record of an event can be waited for once it is made: the pipes say that. Its work is what the events order. */
static void take_turns_there(void) {
    struct Message message;
    CUdeviceptr numbers;
    CUevent first, second;
    CUstream stream;
    char turn = 0;
    start();
    CUfunction kernel = step_kernel();
    hear(&message, sizeof message);
    OK(cuIpcOpenMemHandle(&numbers, message.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcOpenEventHandle(&first, message.first));
    OK(cuIpcOpenEventHandle(&second, message.second));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < ROUNDS; round++) {
        hear(&turn, 1);
        OK(cuStreamWaitEvent(stream, first, 0));
        step(kernel, numbers, stream);
        OK(cuEventRecord(second, stream));
        tell(&turn, 1);
    }
    OK(cuEventSynchronize(second));
    OK(cuIpcCloseMemHandle(numbers));
    IS(INVALID_VALUE, cuMemsetD8(numbers, 0, 1));
    OK(cuEventDestroy(first));
    OK(cuEventDestroy(second));
}

static void take_turns(size_t size) {
    struct Message message;
    CUdeviceptr numbers;
    CUevent first, second;
    CUstream stream;
    unsigned found[NUMBERS], wanted = 3;
    char turn = 0;
    CUfunction kernel = step_kernel();
    OK(cuMemAlloc(&numbers, size));
    OK(cuMemsetD32(numbers, wanted, NUMBERS));
    OK(cuEventCreate(&first, BETWEEN));
    OK(cuEventCreate(&second, BETWEEN));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuIpcGetMemHandle(&message.memory, numbers));
    OK(cuIpcGetEventHandle(&message.first, first));
    OK(cuIpcGetEventHandle(&message.second, second));
    pid_t process = begin_other("take_turns");
    tell(&message, sizeof message);
    for (int round = 0; round < ROUNDS; round++) {
        /* What is put into the streams before the kernel lets go waits with it, in both processes. */
        if (round % 10 == 0) {
            OK(cuStreamSynchronize(stream));
            hold(stream);
        }
        step(kernel, numbers, stream);
        OK(cuEventRecord(first, stream));
        tell(&turn, 1);
        hear(&turn, 1);
        if (round % 10 == 0) IS(NOT_READY, cuEventQuery(second));
        OK(cuStreamWaitEvent(stream, second, 0));
        if (round % 10 == 0) release();
    }
    OK(cuMemcpyDtoHAsync(found, numbers, sizeof found, stream));
    OK(cuStreamSynchronize(stream));
    for (int round = 0; round < 2 * ROUNDS; round++) wanted = wanted * 2 + 1;
    for (int n = 0; n < NUMBERS; n++) HOLDS(found[n] == wanted);
    end(process, 0);
    OK(cuMemFree(numbers));
    OK(cuEventDestroy(first));
    OK(cuEventDestroy(second));
    OK(cuStreamDestroy(stream));
}

/* Records an event behind a kernel that never ends, and is killed. */
static void be_killed_there(void) {
    struct Message message;
    CUdeviceptr numbers;
    CUevent first;
    CUstream stream;
    char turn = 0;
    start();
    hear(&message, sizeof message);
    OK(cuIpcOpenMemHandle(&numbers, message.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcOpenEventHandle(&first, message.first));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD8(numbers, 77, 4096));
    hold(stream);
    OK(cuEventRecord(first, stream));
    tell(&turn, 1);
    pause();
}

static void kill_others(int times) {
    struct Message message;
    CUdeviceptr numbers;
    CUevent first;
    CUstream stream;
    unsigned char *found;
    char turn = 0;
    OK(cuMemAlloc(&numbers, 3 << 20));
    OK(cuMemHostAlloc((void **)&found, 4096, 0));
    OK(cuEventCreate(&first, BETWEEN));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuIpcGetMemHandle(&message.memory, numbers));
    OK(cuIpcGetEventHandle(&message.first, first));
    for (int n = 0; n < times; n++) {
        OK(cuMemsetD8(numbers, 0, 4096));
        pid_t process = begin_other("be_killed");
        tell(&message, sizeof message);
        hear(&turn, 1);
        IS(NOT_READY, cuEventQuery(first));
        OK(cuStreamWaitEvent(stream, first, 0));
        OK(cuMemcpyDtoHAsync(found, numbers, 4096, stream));
        HOLDS(kill(process, SIGKILL) == 0);
        if (n % 2 == 0) OK(cuEventSynchronize(first));
        OK(cuStreamSynchronize(stream));
        HOLDS(found[0] == 77 && found[4095] == 77);
        OK(cuEventQuery(first));
        end(process, SIGKILL);
    }
    OK(cuMemFreeHost(found));
    OK(cuMemFree(numbers));
    OK(cuEventDestroy(first));
    OK(cuStreamDestroy(stream));
}

/* Names memory for a process whose memory it has open, and is killed at work on both. */
static void be_killed_as_owner_there(void) {
    CUipcMemHandle handle;
    CUdeviceptr mine, theirs;
    char turn = 0;
    start();
    CUfunction kernel = step_kernel();
    hear(&handle, sizeof handle);
    OK(cuMemAlloc(&mine, 4 << 20));
    OK(cuMemsetD32(mine, 5, NUMBERS));
    OK(cuIpcOpenMemHandle(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuIpcGetMemHandle(&handle, mine));
    /* A process that has named memory closes that of others, too. */
    OK(cuIpcCloseMemHandle(theirs));
    hear(&turn, 1);
    tell(&handle, sizeof handle);
    hear(&handle, sizeof handle);
    OK(cuIpcOpenMemHandle(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    tell(&turn, 1);
    for (;;) {
        step(kernel, theirs, NULL);
        OK(cuMemsetD32(mine + (2 << 20), 6, NUMBERS));
        OK(cuStreamSynchronize(NULL));
    }
}

static void kill_owners(int times) {
    CUipcMemHandle mine_by_name, handle;
    CUdeviceptr mine, theirs;
    unsigned found[NUMBERS];
    char turn = 0;
    CUfunction kernel = step_kernel();
    OK(cuMemAlloc(&mine, 3 << 20));
    OK(cuIpcGetMemHandle(&mine_by_name, mine));
    for (int n = 0; n < times; n++) {
        pid_t process = begin_other("be_killed_as_owner");
        tell(&mine_by_name, sizeof mine_by_name);
        tell(&turn, 1);
        hear(&handle, sizeof handle);
        OK(cuIpcOpenMemHandle(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        tell(&mine_by_name, sizeof mine_by_name);
        hear(&turn, 1);
        HOLDS(kill(process, SIGKILL) == 0);
        end(process, SIGKILL);
        /* The memory is there as long as somebody has it open, and nobody who comes later finds it. */
        step(kernel, theirs, NULL);
        OK(cuMemcpyDtoH(found, theirs, sizeof found));
        for (int number = 0; number < NUMBERS; number++) HOLDS(found[number] == 11);
        OK(cuIpcCloseMemHandle(theirs));
        IS(INVALID_HANDLE, cuIpcOpenMemHandle(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        OK(cuMemsetD32(mine, n, NUMBERS));
        OK(cuMemcpyDtoH(found, mine, sizeof found));
        HOLDS(found[0] == (unsigned)n && found[NUMBERS - 1] == (unsigned)n);
    }
    OK(cuMemFree(mine));
}

/* Counts in device memory, through copies of the host, while its pages move to a file. */
static volatile int is_named;

static void *count_on(void *address) {
    CUdeviceptr number = *(CUdeviceptr *)address;
    OK(cuCtxSetCurrent(context));
    for (unsigned value = 1; !is_named || value % 1000 != 0; value++) {
        unsigned seen = 0;
        OK(cuMemcpyHtoD(number, &value, sizeof value));
        OK(cuMemcpyDtoH(&seen, number, sizeof seen));
        HOLDS(seen == value);
    }
    return NULL;
}

static void name_what_is_in_use(void) {
    pthread_t threads[2];
    CUdeviceptr numbers[2];
    CUipcMemHandle handle;
    for (int n = 0; n < 2; n++) {
        OK(cuMemAlloc(&numbers[n], n == 0 ? 64 : 8 << 20));
        HOLDS(pthread_create(&threads[n], NULL, count_on, &numbers[n]) == 0);
    }
    usleep(5000);
    for (int n = 0; n < 2; n++) OK(cuIpcGetMemHandle(&handle, numbers[n]));
    usleep(5000);
    is_named = 1;
    for (int n = 0; n < 2; n++) {
        pthread_join(threads[n], NULL);
        OK(cuMemFree(numbers[n]));
    }
}

int main(int argc, char **argv) {
    const char *part = part_of_other(argc, argv);
    if (part != NULL) {
        if (strcmp(part, "take_turns") == 0) take_turns_there();
        if (strcmp(part, "be_killed") == 0) be_killed_there();
        if (strcmp(part, "be_killed_as_owner") == 0) be_killed_as_owner_there();
        return 0;
    }
    const int times = argc == 2 ? atoi(argv[1]) : 0;
    HOLDS(times > 0);
    alarm(300);
    start();
    name_what_is_in_use();
    int descriptors = entries("/proc/self/fd", "");
    for (int turn = 0; turn < 2; turn++) {
        take_turns(sizeof(unsigned) * NUMBERS);
        take_turns(6 << 20);
    }
    kill_others(times);
    kill_owners(times);
    /* A slab that small allocations have taken along may still be in its file, as it may keep its pages. */
    HOLDS(entries("/proc/self/fd", "") <= descriptors + 2);
    HOLDS(entries("/dev/shm", "cuda") == 0 && entries("/dev/shm", "warploom") == 0);
    puts("done");
    return 0;
}
