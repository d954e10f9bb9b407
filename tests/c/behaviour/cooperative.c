/* Grids that synchronise: %envreg1 and %envreg2 hold the address of a workspace, in which compiled code of cooperative groups counts
   the CTAs that have arrived. Plain launches have none. */
#include "expect.h"

enum { CTAS = 24, THREADS = 64, ALL = CTAS * THREADS };

/* As a compiler translates a sum over the grid's values behind grid_group::sync, three times in a row; then the two registers. */
static const char GRID[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry sum(.param .u64 values, .param .u64 sums) {\n"
    "    .reg .b64 %d<8>;\n    .reg .b32 %r<16>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d0, [values];\n    ld.param.u64 %d1, [sums];\n"
    "    mov.u32 %r0, %envreg1;\n    mov.u32 %r1, %envreg2;\n    mov.b64 %d2, {%r1, %r0};\n"
    "    setp.ne.u64 %p, %d2, 0;\n    @%p bra THERE;\n    trap;\nTHERE:\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "    mul.wide.u32 %d3, %r5, 4;\n    add.u64 %d4, %d0, %d3;\n    mov.u32 %r12, 0;\n"
    "ROUND:\n    mad.lo.u32 %r6, %r5, 3, %r12;\n    st.global.u32 [%d4], %r6;\n"
    "    barrier.sync 0;\n    setp.ne.u32 %p, %r4, 0;\n    @%p bra ARRIVED;\n"
    "    mov.u32 %r7, %nctaid.x;\n    mov.u32 %r8, -2147483647;\n    sub.u32 %r8, %r8, %r7;\n"
    "    setp.eq.u32 %p, %r2, 0;\n    selp.b32 %r8, %r8, 1, %p;\n"
    "    atom.add.release.gpu.u32 %r9, [%d2+4], %r8;\n"
    "WAIT:\n    ld.acquire.gpu.u32 %r10, [%d2+4];\n    xor.b32 %r10, %r10, %r9;\n    setp.gt.s32 %p, %r10, -1;\n    @%p bra WAIT;\n"
    "ARRIVED:\n    barrier.sync 0;\n"
    "    mov.u32 %r11, 0;\n    mov.u32 %r13, 0;\n    mul.lo.u32 %r7, %r3, 24;\n    mov.u64 %d5, %d0;\n"
    "NEXT:\n    ld.global.u32 %r6, [%d5];\n    add.u32 %r11, %r11, %r6;\n    add.u64 %d5, %d5, 4;\n    add.u32 %r13, %r13, 1;\n"
    "    setp.lt.u32 %p, %r13, %r7;\n    @%p bra NEXT;\n"
    "    add.u64 %d6, %d1, %d3;\n    st.global.u32 [%d6], %r11;\n"
    /* Nobody writes the next round's values before all have summed up this one's. */
    "    barrier.sync 0;\n    setp.ne.u32 %p, %r4, 0;\n    @%p bra AGAIN;\n"
    "    mov.u32 %r7, %nctaid.x;\n    mov.u32 %r8, -2147483647;\n    sub.u32 %r8, %r8, %r7;\n"
    "    setp.eq.u32 %p, %r2, 0;\n    selp.b32 %r8, %r8, 1, %p;\n"
    "    atom.add.release.gpu.u32 %r9, [%d2+4], %r8;\n"
    "HOLD:\n    ld.acquire.gpu.u32 %r10, [%d2+4];\n    xor.b32 %r10, %r10, %r9;\n    setp.gt.s32 %p, %r10, -1;\n    @%p bra HOLD;\n"
    "AGAIN:\n    barrier.sync 0;\n    add.u32 %r12, %r12, 1;\n    setp.lt.u32 %p, %r12, 3;\n    @%p bra ROUND;\n    ret;\n}\n"
    ".visible .entry registers(.param .u64 out) {\n"
    "    .reg .b64 %d;\n    .reg .b32 %r<2>;\n    ld.param.u64 %d, [out];\n"
    "    mov.u32 %r0, %envreg1;\n    mov.u32 %r1, %envreg2;\n    st.global.v2.u32 [%d], {%r0, %r1};\n    ret;\n}\n";

static CUfunction sum, registers;
static CUdeviceptr values, sums, pair;
static void *arguments[] = {&values, &sums};

/* What every thread of the third round has summed up. */
static void check_sums(void) {
    static unsigned got[ALL];
    unsigned expected = 3u * (ALL - 1) * ALL / 2 + 2u * ALL;
    OK(cuMemcpyDtoH(got, sums, sizeof got));
    for (int thread = 0; thread < ALL; thread++) HOLDS(got[thread] == expected);
    OK(cuMemsetD32(sums, 0, ALL));
}

static cuuint64_t workspace(void) {
    unsigned halves[2];
    OK(cuMemcpyDtoH(halves, pair, sizeof halves));
    return (cuuint64_t)halves[0] << 32 | halves[1];
}

int main(void) {
    CUmodule module;
    CUstream stream;
    CUgraph graph, captured;
    CUgraphExec exec;
    CUgraphNode node;
    void *place[] = {&pair};
    start();
    OK(cuModuleLoadData(&module, GRID));
    OK(cuModuleGetFunction(&sum, module, "sum"));
    OK(cuModuleGetFunction(&registers, module, "registers"));
    OK(cuMemAlloc(&values, 4 * ALL));
    OK(cuMemAlloc(&sums, 4 * ALL));
    OK(cuMemAlloc(&pair, 8));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    OK(cuMemsetD32(pair, 1, 2));
    OK(cuLaunchKernel(registers, 1, 1, 1, 1, 1, 1, 0, NULL, place, NULL));
    HOLDS(workspace() == 0);
    OK(cuLaunchCooperativeKernel(registers, 1, 1, 1, 1, 1, 1, 0, NULL, place));
    HOLDS(workspace() != 0);

    OK(cuLaunchCooperativeKernel(sum, CTAS, 1, 1, THREADS, 1, 1, 0, NULL, arguments));
    check_sums();

    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
    CUlaunchConfig config = {.gridDimX = CTAS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS, .blockDimY = 1,
                             .blockDimZ = 1, .attrs = &cooperative, .numAttrs = 1};
    OK(cuLaunchKernelEx(&config, sum, arguments, NULL));
    check_sums();

    /* In graphs: a node with the attribute, and a captured launch; each twice. */
    CUDA_KERNEL_NODE_PARAMS parameters = {.func = sum, .gridDimX = CTAS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS,
                                          .blockDimY = 1, .blockDimZ = 1, .kernelParams = arguments};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &parameters));
    OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &cooperative.value));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuLaunchCooperativeKernel(sum, CTAS, 1, 1, THREADS, 1, 1, 0, stream, arguments));
    OK(cuStreamEndCapture(stream, &captured));
    CUgraph graphs[] = {graph, captured};
    for (int way = 0; way < 2; way++) {
        OK(cuGraphInstantiate(&exec, graphs[way], 0));
        for (int round = 0; round < 2; round++) {
            OK(cuGraphLaunch(exec, stream));
            OK(cuStreamSynchronize(stream));
            check_sums();
        }
        /* The workspace stays until the launch has ended. */
        OK(cuGraphLaunch(exec, stream));
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graphs[way]));
        OK(cuStreamSynchronize(stream));
        check_sums();
    }
    puts("done");
    return 0;
}
