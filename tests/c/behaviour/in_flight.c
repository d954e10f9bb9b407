/* What a stream has been given stays until it is done, though the program has destroyed it: graphs, instances, their memory,
   textures, surfaces, streams and events. */
#include "later.h"

enum { WORDS = 32, BYTES = 4 * WORDS };

static CUfunction late;
static CUdeviceptr out;
static CUstream stream;

static void expect_word(unsigned expected, int line) {
    unsigned got = 0;
    if (cuStreamSynchronize(stream) != CUDA_SUCCESS || cuMemcpyDtoH(&got, out + BYTES - 4, 4) != CUDA_SUCCESS || got != expected) {
        fprintf(stderr, "line %d: %u, not %u\n", line, got, expected);
        exit(1);
    }
    OK(cuMemsetD32(out, 0, WORDS));
    OK(cuCtxSynchronize());
}

#define GIVES(expected) expect_word(expected, __LINE__)

static CUDA_MEM_ALLOC_NODE_PARAMS request(void) {
    return (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
        .bytesize = BYTES};
}

/* A graph that allocates, sets and reads, and frees or not. */
static CUdeviceptr build(CUgraph *graph, unsigned value, int frees) {
    CUDA_MEM_ALLOC_NODE_PARAMS wanted = request();
    CUgraphNode node;
    OK(cuGraphCreate(graph, 0));
    OK(cuGraphAddMemAllocNode(&node, *graph, NULL, 0, &wanted));
    CUDA_MEMSET_NODE_PARAMS fill = {wanted.dptr, 0, value, 4, WORDS, 1};
    OK(cuGraphAddMemsetNode(&node, *graph, &node, 1, &fill, context));
    if (!frees) return wanted.dptr;
    CUdeviceptr address = (CUdeviceptr)flag;
    void *arguments[] = {&address, &out, &wanted.dptr};
    CUDA_KERNEL_NODE_PARAMS launch = {.func = late, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = WORDS,
                                      .blockDimY = 1, .blockDimZ = 1, .kernelParams = arguments};
    OK(cuGraphAddKernelNode(&node, *graph, &node, 1, &launch));
    OK(cuGraphAddMemFreeNode(&node, *graph, &node, 1, wanted.dptr));
    return wanted.dptr;
}

static void graphs(void) {
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr memory;

    build(&graph, 3, 1);
    OK(cuGraphInstantiate(&exec, graph, 0));
    *flag = 0;
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    release();
    GIVES(3);

    /* Allocated by a launch, freed by the program, in the order of the stream or when all work is done. */
    for (int at_once = 0; at_once < 2; at_once++) {
        memory = build(&graph, 4 + at_once, 0);
        OK(cuGraphInstantiate(&exec, graph, 0));
        OK(cuGraphLaunch(exec, stream));
        *flag = 0;
        copy_late(late, out, memory, stream);
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
        if (at_once) {
            release_soon();
            OK(cuMemFree(memory));
            released();
        } else {
            OK(cuMemFreeAsync(memory, stream));
            IS(INVALID_VALUE, cuMemFreeAsync(memory, stream));
            release();
        }
        GIVES(4 + at_once);
        IS(INVALID_VALUE, cuMemFree(memory));
    }
}

static const char SAMPLE[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry sample(.param .u64 flag, .param .u64 to, .param .u64 from) {\n"
    "    .reg .b64 %d<3>;\n    .reg .b32 %r<6>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d0, [flag];\n    ld.param.u64 %d1, [to];\n    ld.param.u64 %d2, [from];\n"
    "AGAIN:\n    ld.volatile.global.u32 %r0, [%d0];\n    setp.eq.u32 %p, %r0, 0;\n    @%p bra AGAIN;\n"
    "    mov.u32 %r1, 5;\n    tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d2, {%r1}];\n    st.global.u32 [%d1+124], %r2;\n    ret;\n}\n"
    ".visible .entry look(.param .u64 flag, .param .u64 to, .param .u64 from) {\n"
    "    .reg .b64 %d<3>;\n    .reg .b32 %r<3>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d0, [flag];\n    ld.param.u64 %d1, [to];\n    ld.param.u64 %d2, [from];\n"
    "AGAIN:\n    ld.volatile.global.u32 %r0, [%d0];\n    setp.eq.u32 %p, %r0, 0;\n    @%p bra AGAIN;\n"
    "    mov.u32 %r1, 20;\n    suld.b.1d.b32.trap %r2, [%d2, {%r1}];\n    st.global.u32 [%d1+124], %r2;\n    ret;\n}\n";

static void textures(void) {
    CUmodule module;
    CUfunction sample, look;
    CUarray array;
    CUtexObject texture;
    CUsurfObject surface;
    CUDA_RESOURCE_DESC back;
    unsigned texels[8] = {0, 1, 2, 3, 4, 55, 6, 7};
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1,
                                     .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    OK(cuModuleLoadData(&module, SAMPLE));
    OK(cuModuleGetFunction(&sample, module, "sample"));
    OK(cuModuleGetFunction(&look, module, "look"));
    OK(cuArray3DCreate(&array, &shape));
    OK(cuMemcpyHtoA(array, 0, texels, sizeof texels));
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res = {.array = {array}}};
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    OK(cuSurfObjectCreate(&surface, &resource));
    *flag = 0;
    copy_late(sample, out, texture, stream);
    OK(cuTexObjectDestroy(texture));
    IS(INVALID_VALUE, cuTexObjectGetResourceDesc(&back, texture));
    IS(INVALID_VALUE, cuTexObjectDestroy(texture));
    release();
    GIVES(55);
    *flag = 0;
    copy_late(look, out, surface, stream);
    OK(cuSurfObjectDestroy(surface));
    IS(INVALID_VALUE, cuSurfObjectGetResourceDesc(&back, surface));
    release_soon();
    OK(cuArrayDestroy(array));
    released();
    GIVES(55);
}

/* What belongs to a context ends with it: textures, surfaces, and references that were created. */
static void with_their_context(void) {
    CUcontext other;
    CUarray array;
    CUtexObject texture;
    CUsurfObject surface;
    CUtexref reference;
    CUDA_RESOURCE_DESC back;
    unsigned flags;
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1,
                                     .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    OK(cuCtxCreate(&other, NULL, 0, 0));
    OK(cuArray3DCreate(&array, &shape));
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res = {.array = {array}}};
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    OK(cuSurfObjectCreate(&surface, &resource));
    OK(cuTexRefCreate(&reference));
    OK(cuCtxDestroy(other));
    OK(cuCtxSetCurrent(context));
    IS(CONTEXT_IS_DESTROYED, cuTexObjectGetResourceDesc(&back, texture));
    IS(CONTEXT_IS_DESTROYED, cuSurfObjectGetResourceDesc(&back, surface));
    IS(CONTEXT_IS_DESTROYED, cuTexRefGetFlags(&flags, reference));
}

static void streams_and_events(void) {
    CUstream other;
    CUevent event;
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemsetD32(memory, 8, WORDS));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    *flag = 0;
    copy_late(late, memory, out, other);
    OK(cuMemsetD32Async(memory, 6, WORDS, other));
    OK(cuEventRecord(event, other));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuMemcpyDtoDAsync(out, memory, BYTES, stream));
    OK(cuEventDestroy(event));
    OK(cuStreamDestroy(other));
    release();
    GIVES(6);
    OK(cuMemFree(memory));
}

int main(void) {
    start();
    late = late_kernel();
    OK(cuMemAlloc(&out, BYTES));
    OK(cuMemsetD32(out, 0, WORDS));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    graphs();
    textures();
    with_their_context();
    streams_and_events();
    puts("done");
    return 0;
}
