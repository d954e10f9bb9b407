/* The structure for all kinds of nodes, which gives parameters back since CUDA 13.2. */
#include "graphs.h"

int main(void) {
    setup();
    CUdeviceptr place = words(1);
    CUgraph graph;
    CHECK(cuGraphCreate(&graph, 0));
    CUgraphNode write = digit(graph, NULL, 0, place, 1);
    CUgraphNodeParams any = {0}, any_back = {0};
    CUgraphNode generic;
    unsigned five = 5;
    void *digits[] = {&place, &place, &five};
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel.func = function("digit");
    any.kernel.gridDimX = any.kernel.gridDimY = any.kernel.gridDimZ = 1;
    any.kernel.blockDimX = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
    any.kernel.kernelParams = digits;
    SHOW(cuGraphAddNode(&generic, graph, &write, NULL, 1, &any));
    CHECK(cuGraphNodeGetType(generic, &(CUgraphNodeType){0}));
    SHOW(cuGraphNodeGetParams(generic, &any_back));
    printf("any: type %d, digit %u\n", (int)any_back.type, *(unsigned *)any_back.kernel.kernelParams[2]);
    any.type = (CUgraphNodeType)99;
    SHOW(cuGraphAddNode(&generic, graph, NULL, NULL, 0, &any));
    any.type = CU_GRAPH_NODE_TYPE_EMPTY;
    any.reserved0[1] = 1;
    SHOW(cuGraphAddNode(&generic, graph, NULL, NULL, 0, &any));
    CHECK(cuGraphDestroy(graph));
    return 0;
}
