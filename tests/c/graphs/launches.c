/* Launches: order among branches, in and across streams, and what outlives what. */
#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int gate, passed, destroyed;

static void wait_for_gate(void *data) {
    (void)data;
    while (!atomic_load(&gate)) usleep(100);
    atomic_fetch_add(&passed, 1);
}

static void destructor(void *data) { atomic_fetch_add(&destroyed, *(int *)data); }

/* Waits a while for a counter that another thread moves. */
static int reaches(atomic_int *counter, int value) {
    for (int round = 0; round < 20000 && atomic_load(counter) != value; round++) usleep(100);
    return atomic_load(counter);
}

int main(void) {
    setup();
    CUstream stream, other;
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));

    /* 24 branches of 3 kernels each between a first and a last one; the last one of a level joins all. */
    enum { BRANCHES = 24 };
    CUdeviceptr place = words(BRANCHES + 2);
    CUgraphNode first, ends[BRANCHES];
    CHECK(cuGraphCreate(&graph, 0));
    first = digit(graph, NULL, 0, place + 4 * BRANCHES, 1);
    for (unsigned branch = 0; branch < BRANCHES; branch++) {
        CUdeviceptr to = place + 4 * branch, from = place + 4 * BRANCHES;
        unsigned two = 2;
        void *arguments[] = {&to, &from, &two};
        CUDA_KERNEL_NODE_PARAMS parameters = one_thread("digit", arguments);
        CHECK(cuGraphAddKernelNode(&ends[branch], graph, &first, 1, &parameters));
        ends[branch] = digit(graph, &ends[branch], 1, to, 3);
        ends[branch] = digit(graph, &ends[branch], 1, to, 4);
    }
    CUgraphNode sums = ends[0];
    for (unsigned branch = 1; branch < BRANCHES; branch++) {
        CUdeviceptr to = place, with = place + 4 * branch;
        void *arguments[] = {&to, &to, &with};
        CUDA_KERNEL_NODE_PARAMS parameters = one_thread("sum", arguments);
        CUgraphNode after[] = {sums, ends[branch]};
        CHECK(cuGraphAddKernelNode(&sums, graph, after, 2, &parameters));
    }
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 50; round++) {
        CHECK(cuMemsetD32Async(place, 0, BRANCHES + 2, stream));
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
        if (word(place) != BRANCHES * 1234) printf("round %d: %u\n", round, word(place));
    }
    printf("%u\n", word(place) / BRANCHES);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    /* A launch comes after the work before it in its stream, before the work after it, and after the last launch elsewhere. */
    CHECK(cuMemsetD32(place, 0, 1));
    CHECK(cuGraphCreate(&graph, 0));
    CUDA_HOST_NODE_PARAMS host = {wait_for_gate, NULL};
    CUgraphNode held;
    CHECK(cuGraphAddHostNode(&held, graph, NULL, 0, &host));
    digit(graph, &held, 1, place, 2);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    stream_digit(stream, place, 1);
    SHOW(cuGraphLaunch(exec, stream));
    SHOW(cuGraphLaunch(exec, other));
    stream_digit(other, place, 3);
    SHOW(cuStreamQuery(stream));
    SHOW(cuStreamQuery(other));
    /* What was launched goes on without the instance and the graph. */
    SHOW(cuGraphExecDestroy(exec));
    SHOW(cuGraphDestroy(graph));
    atomic_store(&gate, 1);
    CHECK(cuStreamSynchronize(other));
    CHECK(cuStreamSynchronize(stream));
    printf("%u, host functions %d\n", word(place), atomic_load(&passed));

    /* Resources of the program end with the last that counts on them. */
    CUuserObject object;
    int one = 1, ten = 10;
    CHECK(cuGraphCreate(&graph, 0));
    digit(graph, NULL, 0, place, 1);
    SHOW(cuUserObjectCreate(&object, &one, destructor, 1, 0));
    SHOW(cuUserObjectCreate(&object, &one, destructor, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    SHOW(cuUserObjectCreate(&object, &one, destructor, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    SHOW(cuGraphRetainUserObject(graph, object, 1, 0));
    SHOW(cuUserObjectRelease(object, 1));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    SHOW(cuGraphDestroy(graph));
    usleep(20000);
    printf("with an instance: %d\n", atomic_load(&destroyed));
    SHOW(cuGraphExecDestroy(exec));
    printf("without: %d\n", reaches(&destroyed, 1));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuUserObjectCreate(&object, &ten, destructor, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    SHOW(cuGraphRetainUserObject(graph, object, 2, CU_GRAPH_USER_OBJECT_MOVE));
    STALE(cuGraphReleaseUserObject(graph, object, 3));
    SHOW(cuGraphReleaseUserObject(graph, object, 1));
    usleep(20000);
    printf("one left: %d\n", atomic_load(&destroyed));
    SHOW(cuGraphReleaseUserObject(graph, object, 1));
    printf("none left: %d\n", reaches(&destroyed, 11));
    STALE(cuUserObjectRetain(object, 1));
    CHECK(cuGraphDestroy(graph));

    /* A node that fails ends the launch, and the error stays, as outside graphs. */
    CUdeviceptr nowhere = 16;
    CHECK(cuGraphCreate(&graph, 0));
    digit(graph, NULL, 0, nowhere, 1);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    SHOW(cuGraphLaunch(exec, stream));
    SHOW(cuStreamSynchronize(stream));
    SHOW(cuGraphLaunch(exec, stream));
    return 0;
}
