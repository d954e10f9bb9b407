/* Ways for a process to end while the driver is busy: endings MODE. */
#include "behaviour/expect.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void CUDA_CB leave(void *unused) {
    (void)unused;
    exit(0);
}

static void *launch_for_ever(void *unused) {
    (void)unused;
    OK(cuCtxSetCurrent(context));
    *flag = 1;
    for (;;) {
        CUdeviceptr address = (CUdeviceptr)flag;
        void *parameters[] = {&address};
        CUresult result = cuLaunchKernel(waits, 4, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL);
        /* What comes after the exit handlers have begun is refused. */
        if (result == CUDA_ERROR_DEINITIALIZED) return NULL;
        OK(result);
    }
}

static void *leave_from_here(void *unused) {
    (void)unused;
    usleep(50000);
    exit(0);
}

/* Runs after the driver's own handler, as it was registered earlier. */
static void call_late(void) {
    CUdeviceptr address;
    IS(DEINITIALIZED, cuMemAlloc(&address, 4));
    IS(DEINITIALIZED, cuCtxSynchronize());
    IS(DEINITIALIZED, cuCtxDestroy(context));
    puts("late");
    fflush(stdout);
}

/* Memory of a static object, which goes after `main`. */
static unsigned *registered;
enum { REGISTERED = 1 << 16 };

static void unmap_registered(void) {
    munmap(registered, REGISTERED);
    /* Long enough for a kernel that still runs to touch it. */
    usleep(100000);
    puts("unmapped");
    fflush(stdout);
}

/* A kernel that writes to its parameter for ever. */
static const char WRITES[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry writes(.param .u64 memory) {\n"
    "    .reg .b64 %d;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %d, [memory];\n    mov.u32 %r, 0;\n"
    "AGAIN:\n    add.u32 %r, %r, 1;\n    st.global.u32 [%d], %r;\n    bra AGAIN;\n}\n";

static void write_for_ever(void) {
    CUmodule module;
    CUfunction writes;
    void *parameters[] = {&registered};
    registered = mmap(NULL, REGISTERED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(registered != MAP_FAILED);
    OK(cuMemHostRegister(registered, REGISTERED, CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cuModuleLoadData(&module, WRITES));
    OK(cuModuleGetFunction(&writes, module, "writes"));
    OK(cuLaunchKernel(writes, 8, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    while (*(volatile unsigned *)registered == 0) {}
}

static int to_parent;

/* Uses the device from a thread that is not the main one, which has ended. */
static void *use_and_end(void *mode) {
    start();
    if (strcmp(mode, "signal_busy") == 0) {
        CUdeviceptr address = (CUdeviceptr)flag;
        void *parameters[] = {&address};
        *flag = 0;
        OK(cuLaunchKernel(waits, 8, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    } else {
        *flag = 1;
        hold(NULL);
        release();
        OK(cuCtxSynchronize());
    }
    HOLDS(write(to_parent, "", 1) == 1);
    return NULL;
}

static volatile pthread_t handled_on;
static void note_thread(int signal) {
    (void)signal;
    handled_on = pthread_self();
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    CUstream stream;
    CUdeviceptr memory;
    pthread_t threads[4];
#define MODE(name) (strcmp(mode, name) == 0)
    if (MODE("late")) atexit(call_late);
    if (MODE("signal") || MODE("signal_busy")) {
        int ends[2], status = 0;
        char used;
        HOLDS(pipe(ends) == 0);
        pid_t child = fork();
        HOLDS(child >= 0);
        if (child == 0) {
            to_parent = ends[1];
            HOLDS(pthread_create(&threads[0], NULL, use_and_end, argv[1]) == 0);
            pthread_exit(NULL);
        }
        close(ends[1]);
        HOLDS(read(ends[0], &used, 1) == 1);
        /* Its last own thread is to be gone. */
        usleep(200000);
        HOLDS(kill(child, SIGTERM) == 0);
        for (int i = 0; i < 2000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(10000);
        if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)) kill(child, SIGKILL);
        HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        return 0;
    }
    if (MODE("registered")) atexit(unmap_registered);
    start();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&memory, 1 << 20));
    if (MODE("threads") || MODE("thread")) {
        for (int i = 0; i < 4; i++) HOLDS(pthread_create(&threads[i], NULL, launch_for_ever, NULL) == 0);
        usleep(50000);
        if (MODE("threads")) return 0;
        HOLDS(pthread_create(&threads[0], NULL, leave_from_here, NULL) == 0);
        OK(cuCtxSynchronize());
        for (;;) pause();
    }
    if (MODE("registered")) {
        write_for_ever();
        return 0;
    }
    if (MODE("handled")) {
        sigset_t term;
        HOLDS(signal(SIGTERM, note_thread) != SIG_ERR);
        hold(stream);
        usleep(50000);
        for (int i = 0; i < 100; i++) {
            handled_on = 0;
            HOLDS(kill(getpid(), SIGTERM) == 0);
            while (handled_on == 0) usleep(100);
            HOLDS(pthread_equal(handled_on, pthread_self()));
        }
        /* Blocked for a while, it waits for the program's own thread. */
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        HOLDS(pthread_sigmask(SIG_BLOCK, &term, NULL) == 0);
        handled_on = 0;
        HOLDS(kill(getpid(), SIGTERM) == 0);
        usleep(50000);
        HOLDS(handled_on == 0);
        HOLDS(pthread_sigmask(SIG_UNBLOCK, &term, NULL) == 0);
        HOLDS(pthread_equal(handled_on, pthread_self()));
        return 0;
    }
    hold(stream);
    if (MODE("return") || MODE("late")) return 0;
    if (MODE("exit")) exit(0);
    if (MODE("quick")) quick_exit(0);
    if (MODE("at_once")) _exit(0);
    if (MODE("callback")) {
        release();
        OK(cuLaunchHostFunc(stream, leave, NULL));
        for (;;) pause();
    }
    if (MODE("main_thread")) {
        /* The process ends with its last thread. */
        HOLDS(pthread_create(&threads[0], NULL, leave_from_here, NULL) == 0);
        pthread_exit(NULL);
    }
    if (MODE("destroyed")) {
        release();
        OK(cuCtxSynchronize());
        OK(cuDevicePrimaryCtxRelease(0));
        return 0;
    }
    fprintf(stderr, "no such mode: %s\n", mode);
    return 2;
}
