/* Nodes and edges: adding, asking, removing, copying. */
#include "graphs.h"

static CUgraph graph;
static CUgraphNode a, b, c, d;

static char letter(CUgraphNode node) { return node == a ? 'a' : node == b ? 'b' : node == c ? 'c' : node == d ? 'd' : '?'; }

static void print_edges(void) {
    CUgraphNode from[8], to[8];
    size_t count = 8;
    CHECK(cuGraphGetEdges(graph, from, to, NULL, &count));
    for (size_t index = 0; index < count; index++) printf("%c%c ", letter(from[index]), letter(to[index]));
    printf("\n");
}

int main(void) {
    setup();
    CUdeviceptr place = words(1);
    SHOW(cuGraphCreate(&graph, 1));
    SHOW(cuGraphCreate(NULL, 0));
    SHOW(cuGraphCreate(&graph, 0));
    a = digit(graph, NULL, 0, place, 1);
    b = digit(graph, &a, 1, place, 2);
    CHECK(cuGraphAddEmptyNode(&c, graph, &a, 1));
    CUgraphNode both[] = {b, c};
    d = digit(graph, both, 2, place, 3);
    CUgraphNode twice[] = {a, a}, wrong = (CUgraphNode)0x12340, extra;
    SHOW(cuGraphAddEmptyNode(&extra, graph, twice, 2));
    STALE(cuGraphAddEmptyNode(&extra, graph, &wrong, 1));
    SHOW(cuGraphAddEmptyNode(&extra, NULL, NULL, 0));
    SHOW(cuGraphAddEmptyNode(NULL, graph, NULL, 0));
    STALE(cuGraphAddEmptyNode(&extra, graph, NULL, 1));

    CUgraphNode nodes[6];
    size_t count = 0;
    SHOW(cuGraphGetNodes(graph, NULL, &count));
    printf("nodes: %zu\n", count);
    count = 6;
    nodes[4] = wrong;
    SHOW(cuGraphGetNodes(graph, nodes, &count));
    printf("nodes: %zu, %c%c%c%c, cleared %d\n", count, letter(nodes[0]), letter(nodes[1]), letter(nodes[2]), letter(nodes[3]),
           nodes[4] == NULL);
    count = 2;
    SHOW(cuGraphGetNodes(graph, nodes, &count));
    printf("nodes: %zu\n", count);
    count = 6;
    SHOW(cuGraphGetRootNodes(graph, nodes, &count));
    printf("roots: %zu, %c\n", count, letter(nodes[0]));
    count = 6;
    SHOW(cuGraphNodeGetDependencies(d, nodes, NULL, &count));
    printf("before d: %zu, %c%c\n", count, letter(nodes[0]), letter(nodes[1]));
    count = 6;
    SHOW(cuGraphNodeGetDependentNodes(a, nodes, NULL, &count));
    printf("after a: %zu, %c%c\n", count, letter(nodes[0]), letter(nodes[1]));
    count = 0;
    SHOW(cuGraphNodeGetDependencies(a, NULL, NULL, &count));
    printf("before a: %zu\n", count);
    print_edges();
    SHOW(cuGraphGetNodes(graph, NULL, NULL));
    SHOW(cuGraphGetEdges(graph, nodes, NULL, NULL, &count));
    SHOW(cuGraphGetNodes(NULL, NULL, &count));

    CUgraphNodeType type;
    SHOW(cuGraphNodeGetType(a, &type));
    printf("type %d\n", (int)type);
    SHOW(cuGraphNodeGetType(c, &type));
    printf("type %d\n", (int)type);
    SHOW(cuGraphNodeGetType(NULL, &type));

    SHOW(cuGraphAddDependencies(graph, &a, &d, NULL, 1));
    SHOW(cuGraphAddDependencies(graph, &a, &d, NULL, 1));
    SHOW(cuGraphAddDependencies(graph, &a, &a, NULL, 1));
    SHOW(cuGraphAddDependencies(graph, NULL, NULL, NULL, 0));
    print_edges();
    SHOW(cuGraphRemoveDependencies(graph, &a, &d, NULL, 1));
    SHOW(cuGraphRemoveDependencies(graph, &a, &d, NULL, 1));

    CUgraph copy, other;
    CUgraphNode found;
    SHOW(cuGraphClone(&copy, graph));
    SHOW(cuGraphNodeFindInClone(&found, b, copy));
    printf("another node: %d\n", found != b);
    count = 6;
    CHECK(cuGraphNodeGetDependencies(found, nodes, NULL, &count));
    CUgraphNode first;
    CHECK(cuGraphNodeFindInClone(&first, a, copy));
    printf("comes after the copy of a: %d\n", count == 1 && nodes[0] == first);
    CHECK(cuGraphCreate(&other, 0));
    SHOW(cuGraphNodeFindInClone(&found, b, other));
    SHOW(cuGraphAddEmptyNode(&extra, other, &a, 1));

    SHOW(cuGraphDestroyNode(b));
    print_edges();
    STALE(cuGraphDestroyNode(b));
    SHOW(cuGraphDestroy(graph));
    STALE(cuGraphDestroy(graph));
    SHOW(cuGraphDestroy(NULL));
    STALE(cuGraphNodeGetType(a, &type));
    count = 0;
    SHOW(cuGraphGetNodes(copy, NULL, &count));
    printf("nodes of the copy: %zu\n", count);
    SHOW(cuGraphDestroy(copy));
    SHOW(cuGraphDestroy(other));

    /* A cycle is found when the graph is instantiated. */
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {0};
    CHECK(cuGraphCreate(&graph, 0));
    a = digit(graph, NULL, 0, place, 1);
    b = digit(graph, &a, 1, place, 2);
    c = digit(graph, &b, 1, place, 3);
    SHOW(cuGraphAddDependencies(graph, &c, &b, NULL, 1));
    SHOW(cuGraphInstantiate(&exec, graph, 0));
    SHOW(cuGraphInstantiateWithParams(&exec, graph, &how));
    printf("result %d, node given %d\n", (int)how.result_out, how.hErrNode_out != NULL);
    SHOW(cuGraphRemoveDependencies(graph, &c, &b, NULL, 1));
    SHOW(cuGraphInstantiateWithParams(&exec, graph, &how));
    printf("result %d, node given %d\n", (int)how.result_out, how.hErrNode_out != NULL);
    SHOW(cuGraphLaunch(exec, 0));
    CHECK(cuCtxSynchronize());
    printf("%u\n", word(place));
    SHOW(cuGraphInstantiate(&exec, graph, 1 << 10));
    SHOW(cuGraphInstantiate(&exec, NULL, 0));
    SHOW(cuGraphInstantiate(NULL, graph, 0));
    SHOW(cuGraphLaunch(NULL, 0));
    STALE(cuGraphLaunch(exec, (CUstream)0x12340));
    unsigned long long flags = 9;
    SHOW(cuGraphExecGetFlags(exec, (cuuint64_t *)&flags));
    printf("flags %llu\n", flags);
    SHOW(cuGraphExecDestroy(exec));
    STALE(cuGraphExecDestroy(exec));
    STALE(cuGraphLaunch(exec, 0));
    CHECK(cuGraphDestroy(graph));
    return 0;
}
