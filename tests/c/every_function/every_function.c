// What a CUDA driver answers to a call of every function that it exports, in situations that all of them meet:
//
//   before_init      arguments all zero, before cuInit
//   no_context       arguments all zero, after cuInit, with no current context
//   zeros            arguments all zero, with a current context
//   capture          plausible arguments, while the stream that they name is captured (mode GLOBAL) by the calling thread
//   callback         arguments all zero, in a callback of cuStreamAddCallback
//   host_function    arguments all zero, in a function of cuLaunchHostFunc
//   in_callback      plausible arguments, in a callback of cuStreamAddCallback
//   in_host_function plausible arguments, in a function of cuLaunchHostFunc
//
// A call that crashes or hangs takes its process along, and one that succeeds ends it, so that each is made in an untouched process
// and in an empty folder of its own; a call that merely fails changes nothing, and the next one is made in the same process. Only a
// linker's state is no longer untouched after an input that it refused.
//
// One line a function: its name, and an answer for each situation asked for: the result code without CUDA_ERROR_; "crash", "exit" or
// "hang" for what the call did to its process; "absent" for a function that the driver lacks; "-" for one that is not asked. Behind
// the answer in a capture: "/invalidated", "/ended" or "/gone" if that became of it.
//
//   cc -w -I<our include> every_function.c -o every_function -lcuda -ldl -lpthread; ./every_function [-j JOBS] [-t SECONDS] SITUATION...
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum Situation { BEFORE_INIT, NO_CONTEXT, ZEROS, CAPTURE, CALLBACK_ZEROS, HOST_ZEROS, CALLBACK_PLAUSIBLE, HOST_PLAUSIBLE, SITUATIONS };
static const char *const NAMES[SITUATIONS] = {"before_init", "no_context",    "zeros",       "capture",
                                              "callback",    "host_function", "in_callback", "in_host_function"};

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .align 4 .u32 counter = 7;\n"
    ".visible .global .texref texture;\n.visible .global .surfref surface;\n.visible .entry empty() { ret; }\n";

// -- what plausible arguments are made of

static int plausible;
/// Standard error, while the driver and the kernels write elsewhere.
static int complaints;
static struct {
  CUcontext context;
  CUstream stream;
  CUevent event;
  CUmodule module;
  CUfunction function;
  CUlibrary library;
  CUkernel kernel;
  CUdeviceptr memory;
  CUarray array;
  CUmemoryPool pool;
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
  CUtexref texture;
  CUsurfref surface;
  CUtexObject texture_object;
  CUsurfObject surface_object;
  CUlinkState link;
  CUuserObject user_object;
  CUmemGenericAllocationHandle allocation;
  CUgraphConditionalHandle condition;
} made;

static uint64_t nothing(void) { return 0; }

/// In the mode "nulls": which parameter is given zero, from 0 on, and how many there are. All others are addresses of zeros.
static int nulls, zero_at, parameters;
static uint64_t one_null(int index) {
  static _Alignas(4096) char room[1 << 16];
  if (index >= parameters) parameters = index + 1;
  return index == zero_at ? 0 : (uint64_t)room;
}
static void ignore(void *unused) {}

/// What must succeed for the call to be in the situation that is named.
#define must(call) must_succeed(call, #call)
static void must_succeed(CUresult result, const char *call) {
  if (result == CUDA_SUCCESS) return;
  dprintf(complaints, "%s = %d\n", call, (int)result);
  _exit(3);
}

static void make_objects(void) {
  CUDA_ARRAY3D_DESCRIPTOR of_array = {16, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
  CUmemAllocationProp of_allocation = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
  CUgraph of_condition;
  must(cuStreamCreate(&made.stream, CU_STREAM_DEFAULT));
  must(cuEventCreate(&made.event, CU_EVENT_DEFAULT));
  must(cuModuleLoadData(&made.module, PTX));
  must(cuModuleGetFunction(&made.function, made.module, "empty"));
  must(cuModuleGetTexRef(&made.texture, made.module, "texture"));
  must(cuModuleGetSurfRef(&made.surface, made.module, "surface"));
  must(cuLibraryLoadData(&made.library, PTX, 0, 0, 0, 0, 0, 0));
  must(cuLibraryGetKernel(&made.kernel, made.library, "empty"));
  must(cuMemAlloc(&made.memory, 1 << 20));
  must(cuMemsetD8(made.memory, 0, 1 << 20));
  must(cuArray3DCreate(&made.array, &of_array));
  must(cuDeviceGetDefaultMemPool(&made.pool, 0));
  must(cuGraphCreate(&made.graph, 0));
  must(cuGraphCreate(&of_condition, 0));
  must(cuGraphConditionalHandleCreate(&made.condition, of_condition, made.context, 0, 0));
  must(cuGraphAddEmptyNode(&made.node, made.graph, 0, 0));
  must(cuGraphInstantiateWithFlags(&made.exec, made.graph, 0));
  CUDA_RESOURCE_DESC of_objects = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = made.array};
  CUDA_TEXTURE_DESC of_texture = {0};
  must(cuTexObjectCreate(&made.texture_object, &of_objects, &of_texture, 0));
  must(cuSurfObjectCreate(&made.surface_object, &of_objects));
  must(cuLinkCreate(0, 0, 0, &made.link));
  must(cuUserObjectCreate(&made.user_object, 0, ignore, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  must(cuMemCreate(&made.allocation, 2 << 20, &of_allocation, 0));
  must(cuCtxSynchronize());
}

static int is(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }
static int has(const char *text, const char *part) { return strcasestr(text, part) != 0; }

/// A number or a handle.
static uint64_t word(int index, const char *type, const char *name) {
  if (nulls) return one_null(index);
  if (!plausible) return 0;
  const struct { const char *type; uint64_t value; } handles[] = {
      {"CUcontext", (uint64_t)made.context}, {"CUstream", (uint64_t)made.stream}, {"CUevent", (uint64_t)made.event},
      {"CUmodule", (uint64_t)made.module}, {"CUfunction", (uint64_t)made.function}, {"CUlibrary", (uint64_t)made.library},
      {"CUkernel", (uint64_t)made.kernel}, {"CUarray", (uint64_t)made.array}, {"CUmemoryPool", (uint64_t)made.pool},
      {"CUgraph", (uint64_t)made.graph}, {"CUgraphNode", (uint64_t)made.node}, {"CUgraphExec", (uint64_t)made.exec},
      {"CUtexref", (uint64_t)made.texture}, {"CUsurfref", (uint64_t)made.surface}, {"CUtexObject", made.texture_object},
      {"CUsurfObject", made.surface_object}, {"CUlinkState", (uint64_t)made.link}, {"CUuserObject", (uint64_t)made.user_object},
      {"CUmemGenericAllocationHandle", made.allocation}, {"CUgraphConditionalHandle", made.condition}};
  for (unsigned i = 0; i < sizeof handles / sizeof *handles; i++) {
    size_t length = strlen(handles[i].type);
    if (is(type, handles[i].type) && (type[length] == 0 || is(type + length, "_v"))) return handles[i].value;
  }
  if (is(type, "CUdeviceptr")) return made.memory + (has(name, "src") ? 4096 : 0);
  if (!is(type, "size_t") && !is(type, "int") && !is(type, "unsigned")) return 0;
  if (has(name, "GridDim") || has(name, "BlockDim") || strlen(name) == 1 && strchr("xyz", *name)) return 1;
  if (has(name, "ElementSize")) return 4;
  if (is(name, "num") || has(name, "flag") || has(name, "offset") || has(name, "shared")) return 0;
  if (is(type, "size_t")) return 16;
  const char *const sizes[] = {"width", "height", "count", "bytes", "size", "pitch", "len"};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (has(name, sizes[i])) return 16;
  return 0;
}

enum { IN, OUT, INOUT, VALUE };

/// Memory for a parameter: zeros, apart from texts and images.
static uint64_t pointer(int index, int direction, const char *to, const char *name) {
  static _Alignas(4096) char room[16][1 << 16];
  static unsigned next;
  if (nulls) return one_null(index);
  if (!plausible || has(name, "extra")) return 0;
  if (direction == IN && strcmp(to, "char") == 0) return (uint64_t) "empty";
  if (direction == IN && (has(name, "image") || has(name, "code") || has(name, "fatCubin"))) return (uint64_t)PTX;
  return (uint64_t)room[next++ % 16];
}

// -- every function

typedef struct { char bytes[64]; } Bytes64;
typedef void *Function;
#define WORD(index, type, name) word(index, type, name)
#define POINTER(index, direction, to, name) pointer(index, direction, to, name)
#define CALLBACK(index) callback(index)
static uint64_t callback(int index) { return nulls ? one_null(index) : plausible ? (uint64_t)nothing : 0; }

#define CALL(symbol, types, arguments) \
  static unsigned call_##symbol(Function function) { return ((unsigned(*) types)function) arguments; }
#include "calls.h"
#undef CALL
#define CALL(symbol, types, arguments) {#symbol, call_##symbol},
static const struct { const char *symbol; unsigned (*call)(Function); } CALLS[] = {
#include "calls.h"
};
enum { COUNT = sizeof CALLS / sizeof *CALLS };

// -- the calls of a process

/// What is known of a call: shared by the process that makes it and the one that waits for that.
typedef struct { int answered, capture_known, late, status; unsigned result; int capture; } Answer;

/// What a process does.
typedef struct { pid_t pid; int situation, index; double began; } Slot;

enum { MOST_JOBS = 64 };
static struct Shared {
  /// The next function to be called in each situation.
  int next[SITUATIONS];
  Slot slots[MOST_JOBS];
  Answer answers[SITUATIONS][COUNT];
} *shared;

static void *library;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

/// Whether a function is left out: those of multicast objects can stop devices that others use.
static int left_out(const char *symbol, enum Situation situation) {
  return is(symbol, "cuMulticast") && situation != BEFORE_INIT;
}

/// The next function that can be called in the slot's situation.
static int take(Slot *slot) {
  int index;
  do index = __atomic_fetch_add(&shared->next[slot->situation], 1, __ATOMIC_SEQ_CST);
  while (index < COUNT && (!dlsym(library, CALLS[index].symbol) || left_out(CALLS[index].symbol, slot->situation)));
  if (index >= COUNT) return 0;
  slot->began = now();
  __atomic_store_n(&slot->index, index, __ATOMIC_SEQ_CST);
  return 1;
}

/// Calls functions until one does something.
static void calls(Slot *slot) {
  do {
    Answer *answer = &shared->answers[slot->situation][slot->index];
    answer->result = CALLS[slot->index].call(dlsym(library, CALLS[slot->index].symbol));
    __atomic_store_n(&answer->answered, 1, __ATOMIC_SEQ_CST);
    // A fault of the device stays.
    if (answer->result == CUDA_SUCCESS || answer->result >= 700 && answer->result < 720) return;
    if (is(CALLS[slot->index].symbol, "cuLinkAdd")) return;
    if (slot->situation == CAPTURE) {
      CUstreamCaptureStatus status;
      answer->capture = cuStreamIsCapturing(made.stream, &status) == CUDA_SUCCESS ? status : -1;
      answer->capture_known = 1;
      if (answer->capture != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    }
  } while (take(slot));
}

static void in_callback(CUstream stream, CUresult status, void *slot) { calls(slot); }
static void in_host_function(void *slot) { calls(slot); }

/// A process: brings about the situation, and calls.
static void process(Slot *slot) {
  int silence = open("/dev/null", O_WRONLY), situation = slot->situation;
  // Some functions write files, which others read.
  char folder[] = "XXXXXX";
  complaints = dup(2);
  if (!mkdtemp(folder) || chdir(folder)) perror(folder), _exit(3);
  dup2(silence, 1);
  dup2(silence, 2);
  if (situation > BEFORE_INIT) must(cuInit(0));
  if (situation > NO_CONTEXT) must(cuCtxCreate_v2(&made.context, 0, 0));
  if (situation > ZEROS) make_objects();
  plausible = situation == CAPTURE || situation == CALLBACK_PLAUSIBLE || situation == HOST_PLAUSIBLE;
  if (situation == CAPTURE) must(cuStreamBeginCapture(made.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  if (!take(slot)) _exit(0);
  if (situation == CALLBACK_ZEROS || situation == CALLBACK_PLAUSIBLE)
    must(cuStreamAddCallback(made.stream, in_callback, slot, 0));
  else if (situation == HOST_ZEROS || situation == HOST_PLAUSIBLE)
    must(cuLaunchHostFunc(made.stream, in_host_function, slot));
  else
    calls(slot);
  if (situation > CAPTURE) cuStreamSynchronize(made.stream);
  Answer *last = &shared->answers[situation][slot->index];
  if (situation == CAPTURE && !last->capture_known) {
    CUstreamCaptureStatus status;
    last->capture = cuStreamIsCapturing(made.stream, &status) == CUDA_SUCCESS ? status : -1;
    last->capture_known = 1;
  }
  _exit(0);
}

// -- many processes

/// Begins a process in each free slot, and notes how others ended. Whether there is still something to do.
static int turn(int jobs, const int *asked, int situations, double limit) {
  int busy = 0;
  for (int j = 0; j < jobs; j++) {
    Slot *slot = &shared->slots[j];
    int status;
    if (slot->pid) {
      Answer *answer = slot->index < 0 ? 0 : &shared->answers[slot->situation][slot->index];
      if (now() > slot->began + limit) {
        if (answer && !answer->answered) answer->late = 1;
        kill(slot->pid, SIGKILL);
      }
      if (waitpid(slot->pid, &status, WNOHANG) == slot->pid) {
        // It found nothing left to call, or could not bring about its situation.
        if (slot->index < 0) shared->next[slot->situation] = COUNT;
        else shared->answers[slot->situation][slot->index].status = status;
        slot->pid = 0;
      }
    }
    for (int s = 0; !slot->pid && s < situations; s++)
      if (shared->next[asked[s]] < COUNT) {
        *slot = (Slot){0, asked[s], -1, now()};
        pid_t pid = fork();
        if (pid == 0) process(slot);
        slot->pid = pid;
      }
    busy |= slot->pid != 0;
  }
  return busy;
}

static void describe(int situation, int index) {
  const Answer *answer = &shared->answers[situation][index];
  const char *name = 0, *symbol = CALLS[index].symbol, *behind = "";
  if (!dlsym(library, symbol) || left_out(symbol, situation)) {
    printf(" %s", dlsym(library, symbol) ? "-" : "absent");
  } else if (!answer->answered) {
    printf(" %s", answer->late ? "hang" : WIFSIGNALED(answer->status) ? "crash" : shared->next[situation] > index ? "exit" : "-");
  } else if (cuGetErrorName(answer->result, &name) == CUDA_SUCCESS && name) {
    if (situation == CAPTURE && answer->capture != CU_STREAM_CAPTURE_STATUS_ACTIVE)
      behind = !answer->capture_known || answer->capture == -1 ? "/gone"
             : answer->capture == CU_STREAM_CAPTURE_STATUS_NONE ? "/ended" : "/invalidated";
    printf(" %s%s", name + (is(name, "CUDA_ERROR_") ? 11 : 5), behind);
  } else {
    printf(" %d", (int)answer->result);
  }
}

/// Whether to begin no more calls, and print what is known: after SIGTERM.
static volatile sig_atomic_t over;
static void end(int signal) { over = 1; }

// -- one argument zero at a time, before cuInit

enum { MOST_ARGUMENTS = 24, UNASKED = -1, CRASHED = -2 };
static struct Nulls {
  int function, argument, count[COUNT], answers[COUNT][MOST_ARGUMENTS + 1];
} *of_nulls;

static void call_with_nulls(void) {
  int silence = open("/dev/null", O_WRONLY);
  dup2(silence, 1);
  dup2(silence, 2);
  nulls = 1;
  for (; of_nulls->function < COUNT; of_nulls->function++, of_nulls->argument = 0) {
    int index = of_nulls->function;
    void *symbol = dlsym(library, CALLS[index].symbol);
    // cuInit would end the situation; checkpoints are made of whatever process has the number.
    if (!symbol || strcmp(CALLS[index].symbol, "cuInit") == 0 || is(CALLS[index].symbol, "cuCheckpoint")) continue;
    if (is(CALLS[index].symbol, "cuMulticast")) continue;
    do {
      int *answer = &of_nulls->answers[index][of_nulls->argument];
      *answer = CRASHED, parameters = 0, zero_at = of_nulls->argument++ - 1;
      alarm(3);
      *answer = CALLS[index].call(symbol);
      of_nulls->count[index] = parameters;
    } while (of_nulls->argument <= of_nulls->count[index] && of_nulls->argument <= MOST_ARGUMENTS);
  }
  _exit(0);
}

/// Prints for each function what it answers with all arguments non-zero, and with one that is zero, in their order.
static void print_nulls(void) {
  of_nulls = mmap(0, sizeof *of_nulls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < COUNT; i++)
    for (int k = 0; k <= MOST_ARGUMENTS; k++) of_nulls->answers[i][k] = UNASKED;
  for (int status = 1; status != 0 && of_nulls->function < COUNT;) {
    pid_t pid = fork();
    if (pid == 0) call_with_nulls();
    waitpid(pid, &status, 0);
    // Where the first call crashes nothing tells how many arguments there are.
    if (status && of_nulls->argument > of_nulls->count[of_nulls->function]) of_nulls->function++, of_nulls->argument = 0;
  }
  for (int i = 0; i < COUNT; i++) {
    printf("%s", CALLS[i].symbol);
    for (int k = 0; k <= MOST_ARGUMENTS && of_nulls->answers[i][k] != UNASKED; k++) {
      const char *name = 0;
      if (of_nulls->answers[i][k] == CRASHED) printf(" crash");
      else if (cuGetErrorName(of_nulls->answers[i][k], &name) == CUDA_SUCCESS) printf(" %s", name + (is(name, "CUDA_ERROR_") ? 11 : 5));
      else printf(" %d", of_nulls->answers[i][k]);
    }
    printf("\n");
  }
}

/// Calls every function in each situation asked for, and prints the answers.
static void print_situations(int jobs, const int *asked, int situations, double limit) {
  shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  signal(SIGTERM, end);
  while (turn(jobs, asked, over ? 0 : situations, limit)) usleep(500);
  printf("function");
  for (int s = 0; s < situations; s++) printf(" %s", NAMES[asked[s]]);
  for (int i = 0; i < COUNT; i++) {
    printf("\n%s", CALLS[i].symbol);
    for (int s = 0; s < situations; s++) describe(asked[s], i);
  }
  printf("\n");
}

int main(int argc, char **argv) {
  int jobs = 1, asked[SITUATIONS], situations = 0;
  double limit = 10;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-j") == 0 && i + 1 < argc) jobs = atoi(argv[++i]);
    else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc) limit = atof(argv[++i]);
    else if (strcmp(argv[i], "nulls")) {
      int situation = 0;
      while (situation < SITUATIONS && strcmp(NAMES[situation], argv[i])) situation++;
      if (situation == SITUATIONS || situations == SITUATIONS) return fprintf(stderr, "%s is no situation\n", argv[i]), 2;
      asked[situations++] = situation;
    }
  }
  if (jobs < 1 || jobs > MOST_JOBS) return fprintf(stderr, "from 1 to %d jobs\n", MOST_JOBS), 2;
  char scratch[] = "/tmp/every_function.XXXXXX", remove[64];
  if (!mkdtemp(scratch) || chdir(scratch)) return perror(scratch), 2;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (argc == 2 && strcmp(argv[1], "nulls") == 0) print_nulls();
  else print_situations(jobs, asked, situations, limit);
  snprintf(remove, sizeof remove, "rm -rf %s", scratch);
  return system(remove) != 0;
}
