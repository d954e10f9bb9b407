// The shape of a graph: nodes, edges, roots, clones, and what is taken away.
#include "graphs.h"

int main() {
    unsigned long long *number = zeros<unsigned long long>(1);
    cudaGraph_t graph, clone;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t one = digit(graph, nullptr, 0, number, 1), two = digit(graph, &one, 1, number, 2);
    cudaGraphNode_t three = digit(graph, nullptr, 0, number, 3);
#if CUDART_VERSION >= 13000
#define ADD(from, to) cudaGraphAddDependencies(graph, &from, &to, nullptr, 1)
#define REMOVE(from, to) cudaGraphRemoveDependencies(graph, &from, &to, nullptr, 1)
#define BEFORE(node, list, count) cudaGraphNodeGetDependencies(node, list, nullptr, count)
#define AFTER(node, list, count) cudaGraphNodeGetDependentNodes(node, list, nullptr, count)
#else
#define ADD(from, to) cudaGraphAddDependencies(graph, &from, &to, 1)
#define REMOVE(from, to) cudaGraphRemoveDependencies(graph, &from, &to, 1)
#define BEFORE(node, list, count) cudaGraphNodeGetDependencies(node, list, count)
#define AFTER(node, list, count) cudaGraphNodeGetDependentNodes(node, list, count)
#endif
    CALL(ADD(two, three));
    CALL(ADD(two, three));
    CALL(ADD(three, one));
    CALL(REMOVE(three, one));
    LAST();
    show_nodes(graph);
    cudaGraphNode_t list[4] = {};
    size_t count = 4;
    CALL(cudaGraphGetRootNodes(graph, list, &count));
    SHOW(count);
    SHOW(list[0] == one);
    count = 4;
    CALL(BEFORE(three, list, &count));
    SHOW(count);
    SHOW(list[0] == two);
    count = 0;
    CALL(AFTER(one, nullptr, &count));
    SHOW(count);
    CALL(cudaGraphClone(&clone, graph));
    cudaGraphNode_t found = nullptr;
    CALL(cudaGraphNodeFindInClone(&found, two, clone));
    SHOW(found != two && found != nullptr);
    CALL(cudaGraphNodeFindInClone(&found, two, graph));
    LAST();
    CALL(cudaGraphDestroyNode(two));
    show_nodes(graph);
    show_nodes(clone);
    run_once(clone);
    SHOW(at(number));
    CALL(cudaGraphDestroy(clone));
    CALL(ADD(one, three));
    run_once(graph);
    SHOW(at(number));
    return 0;
}
