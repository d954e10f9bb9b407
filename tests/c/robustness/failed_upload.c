/* An instantiation whose upload fails leaves no instance behind: its user objects are released, and the graph, which may have
 * one instance at a time because it allocates memory, can be instantiated again. */
#include "behaviour/expect.h"

#include <unistd.h>

static int destroyed;

static void CUDA_CB destroy(void *unused) {
    (void)unused;
    __atomic_store_n(&destroyed, 1, __ATOMIC_RELEASE);
}

static size_t free_memory(void) {
    size_t bytes, total;
    OK(cuMemGetInfo(&bytes, &total));
    return bytes;
}

/* A stream whose context is gone. */
static CUstream stale_stream(void) {
    CUcontext other;
    CUstream stream;
    OK(cuCtxCreate(&other, NULL, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuCtxDestroy(other));
    return stream;
}

static void fail_to_upload(CUgraph graph) {
    CUgraphExec exec = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
    parameters.hUploadStream = stale_stream();
    HOLDS(cuGraphInstantiateWithParams(&exec, graph, &parameters) != CUDA_SUCCESS);
    HOLDS(exec == NULL);
    HOLDS(parameters.result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
}

int main(void) {
    CUgraph graph, inner;
    CUgraphNode node;
    CUgraphExec exec;
    CUgraphConditionalHandle condition;
    CUuserObject object;
    CUDA_MEM_ALLOC_NODE_PARAMS allocation = {.bytesize = 256};
    CUgraphNodeParams choice = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    size_t before;
    start();
    before = free_memory();

    /* The instance keeps what its graphs ask for and hold. */
    OK(cuGraphCreate(&inner, 0));
    OK(cuCtxGetCurrent(&choice.conditional.ctx));
    OK(cuGraphConditionalHandleCreate(&condition, inner, choice.conditional.ctx, 0, 0));
    choice.conditional.handle = condition;
    choice.conditional.type = CU_GRAPH_COND_TYPE_IF;
    choice.conditional.size = 1;
    OK(cuGraphAddNode(&node, inner, NULL, NULL, 0, &choice));
    OK(cuUserObjectCreate(&object, NULL, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(inner, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    fail_to_upload(inner);
    OK(cuGraphDestroy(inner));
    for (int i = 0; i < 5000 && !__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE); i++) usleep(1000);
    HOLDS(__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE));
    HOLDS(free_memory() == before);

    OK(cuGraphCreate(&graph, 0));
    allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &allocation));
    OK(cuGraphAddMemFreeNode(&node, graph, &node, 1, allocation.dptr));
    fail_to_upload(graph);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    puts("done");
    return 0;
}
