/* A graph as text. */
#include "graphs.h"
#include "read_file.h"

int main(void) {
    setup();
    CUdeviceptr place = words(1);
    CUgraph graph, inner;
    CUgraphNode child;
    CHECK(cuGraphCreate(&inner, 0));
    digit(inner, NULL, 0, place, 2);
    CHECK(cuGraphCreate(&graph, 0));
    CUgraphNode first = digit(graph, NULL, 0, place, 1);
    CHECK(cuGraphAddChildGraphNode(&child, graph, &first, 1, inner));
    SHOW(cuGraphDebugDotPrint(graph, "graph.dot", CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    SHOW(cuGraphDebugDotPrint(graph, NULL, 0));
    SHOW(cuGraphDebugDotPrint(NULL, "graph.dot", 0));
    printf("no such folder: %d\n", cuGraphDebugDotPrint(graph, "missing/graph.dot", 0) != CUDA_SUCCESS);
    char *text = read_file("graph.dot", NULL);
    printf("digraph %d, kernels %d, edge %d\n", strncmp(text, "digraph", 7) == 0, strstr(text, "digit") != NULL,
           strstr(text, "->") != NULL);
    free(text);
    return 0;
}
