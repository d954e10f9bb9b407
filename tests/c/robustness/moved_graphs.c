/* Graphs that are moved into nodes, or cannot be: into themselves, deep or not, behind a node that is none, a second time. */
#include "behaviour/expect.h"

static CUresult move(CUgraph graph, CUgraph into, CUgraphNode after, CUgraphNode *node) {
    CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    parameters.graph.graph = graph;
    parameters.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    return cuGraphAddNode(node, into, &after, NULL, after != NULL, &parameters);
}

int main(void) {
    CUgraph outer, inner;
    CUgraphNode node, none = (CUgraphNode)0x77;
    start();
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphCreate(&inner, 0));
    IS(INVALID_VALUE, move(outer, outer, NULL, &node));
    IS(INVALID_VALUE, move(inner, outer, none, &node));
    OK(move(inner, outer, NULL, &node));
    IS(INVALID_VALUE, move(outer, inner, NULL, &node));
    IS(INVALID_VALUE, move(inner, outer, NULL, &node));
    /* It belongs to the node, still. */
    IS(INVALID_VALUE, cuGraphDestroy(inner));
    OK(cuGraphAddEmptyNode(&node, inner, NULL, 0));
    OK(cuGraphDestroy(outer));
    IS(INVALID_VALUE, cuGraphDestroy(inner));
    IS(INVALID_VALUE, cuGraphDestroy(outer));
    puts("done");
    return 0;
}
