/* What a compiler makes for debugging runs as what it makes for speed: nothing is optimised, all variables lie in local memory, all calls are calls, and
   sections describe it. The argument names the library that compiles at run time (NVRTC). */
#include "expect.h"

/* Structures, arrays and pointers to them, calls in calls, loops with several ways out, shared memory, and all that waits. */
static const char SOURCE[] =
    "struct Point { float x, y; int tag; };\n"
    "__device__ int steps(unsigned n) { int count = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; if (++count > 1000) return -1; } return count; }\n"
    "__device__ float length(const Point *p) { return p->x * p->x + p->y * p->y; }\n"
    "__device__ Point moved(Point p, float by) { p.x += by; p.y -= by; p.tag ^= 0x5a; return p; }\n"
    "template <typename T> __device__ T reduced(T *room, T value) {\n"
    "    int lane = threadIdx.x; room[lane] = value; __syncthreads();\n"
    "    for (int half = blockDim.x / 2; half; half /= 2) { if (lane < half) room[lane] += room[lane + half]; __syncthreads(); }\n"
    "    return room[0];\n"
    "}\n"
    "extern \"C\" __global__ void work(long long *out, int n) {\n"
    "    __shared__ long long room[64];\n"
    "    int at = blockIdx.x * blockDim.x + threadIdx.x, table[7];\n"
    "    long long sum = 0;\n"
    "    for (int i = 0; i < 7; i++) table[i] = i * at - 3;\n"
    "    for (int i = 0; i < n; i++) { if (i == 5 && at % 3 == 0) continue; if (i * at > 900) break; sum += table[(i + at) % 7]; }\n"
    "    Point points[3] = {{1.0f * at, 2.0f, at}, {3.0f, 4.0f, -at}, {0.5f, 0.25f, 7}};\n"
    "    for (Point &p : points) { p = moved(p, 0.5f); sum += (long long)(4 * length(&p)) + p.tag; }\n"
    "    switch (at & 3) { case 0: sum += steps(at + 1); break; case 1: sum -= steps(at + 7); case 2: sum *= 3; break; default: sum ^= at; }\n"
    "    sum += __shfl_xor_sync(0xffffffff, at, 5) + __popc(__ballot_sync(0xffffffff, at % 5 == 2));\n"
    "    long long all = reduced(room, sum);\n"
    "    out[at] = sum + (threadIdx.x == 0 ? all : 0);\n"
    "    if (n < 0) { out[-1000000000] = 1;\n    }\n"
    "}\n";

typedef struct nvrtc *program_t;
static int (*create)(program_t *, const char *, const char *, int, const char *const *, const char *const *);
static int (*compile)(program_t, int, const char *const *);
static int (*size_of_ptx)(program_t, size_t *);
static int (*get_ptx)(program_t, char *);
static int (*size_of_log)(program_t, size_t *);
static int (*get_log)(program_t, char *);

static void *entry(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) fprintf(stderr, "%s: %s\n", name, dlerror()), exit(1);
    return found;
}

/* The PTX of the source. */
static char *made(const char *option) {
    const char *options[] = {"--gpu-architecture=compute_75", option};
    program_t program;
    size_t size = 0;
    char *text;
    HOLDS(create(&program, SOURCE, "/src/work.cu", 0, NULL, NULL) == 0);
    if (compile(program, 2, options) != 0) {
        HOLDS(size_of_log(program, &size) == 0);
        text = malloc(size);
        HOLDS(get_log(program, text) == 0);
        fprintf(stderr, "%s\n", text), exit(1);
    }
    HOLDS(size_of_ptx(program, &size) == 0);
    text = malloc(size);
    HOLDS(get_ptx(program, text) == 0);
    return text;
}

enum { CTAS = 5, THREADS = 64, ALL = CTAS * THREADS };

static CUfunction kernel(const char *ptx) {
    CUmodule module;
    CUfunction function;
    char log[4096] = "";
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)sizeof log};
    CUresult loaded = cuModuleLoadDataEx(&module, ptx, 2, option, value);
    if (loaded != CUDA_SUCCESS) fprintf(stderr, "%d: %s\n", loaded, log), exit(1);
    OK(cuModuleGetFunction(&function, module, "work"));
    return function;
}

static CUresult run(CUfunction function, CUdeviceptr out, int n) {
    void *parameters[] = {&out, &n};
    OK(cuLaunchKernel(function, CTAS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
    return cuCtxSynchronize();
}

int main(int count, char **arguments) {
    void *library = dlopen(count > 1 ? arguments[1] : "libnvrtc.so.12", RTLD_NOW);
    CUdeviceptr out;
    long long fast[ALL], slow[ALL];
    if (!library) fprintf(stderr, "%s\n", dlerror()), exit(1);
    *(void **)&create = entry(library, "nvrtcCreateProgram");
    *(void **)&compile = entry(library, "nvrtcCompileProgram");
    *(void **)&size_of_ptx = entry(library, "nvrtcGetPTXSize");
    *(void **)&get_ptx = entry(library, "nvrtcGetPTX");
    *(void **)&size_of_log = entry(library, "nvrtcGetProgramLogSize");
    *(void **)&get_log = entry(library, "nvrtcGetProgramLog");
    char *optimised = made("--generate-line-info"), *debug = made("--device-debug");
    HOLDS(strstr(debug, ", debug") && strstr(debug, ".debug_info") && !strstr(optimised, ".debug_info"));
    start();
    OK(cuMemAlloc(&out, sizeof fast));
    OK(run(kernel(optimised), out, 20));
    OK(cuMemcpyDtoH(fast, out, sizeof fast));
    OK(cuMemsetD8(out, 0xee, sizeof slow));
    CUfunction unoptimised = kernel(debug);
    OK(run(unoptimised, out, 20));
    OK(cuMemcpyDtoH(slow, out, sizeof slow));
    for (int i = 0; i < ALL; i++) {
        if (fast[i] != slow[i]) fprintf(stderr, "thread %d: %lld optimised, %lld not\n", i, fast[i], slow[i]), exit(1);
    }
    /* The report names the line of the source. */
    IS(ILLEGAL_ADDRESS, run(unoptimised, out, -1));
    puts("done");
    return 0;
}
