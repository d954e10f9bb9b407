// Objects of the program that live as long as the graphs which use them.
#include "graphs.h"
#include <unistd.h>

static volatile int destroyed;
static void CUDART_CB destroy(void *place) { destroyed = destroyed + *(int *)place; }

int main() {
    static int one = 1, ten = 10;
    cudaGraph_t graph, clone;
    cudaGraphExec_t ready;
    cudaUserObject_t first, second;
    OK(cudaGraphCreate(&graph, 0));
    CALL(cudaUserObjectCreate(&first, &one, destroy, 1, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectCreate(&second, &ten, destroy, 2, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectCreate(&first, &one, destroy, 1, 0));
    CALL(cudaUserObjectRetain(second, 1));
    CALL(cudaGraphRetainUserObject(graph, first, 1, cudaGraphUserObjectMove));
    CALL(cudaGraphRetainUserObject(graph, second, 1, 0));
    CALL(cudaUserObjectRelease(second, 3));
    SHOW(destroyed);
    CALL(cudaGraphClone(&clone, graph));
    CALL(cudaGraphInstantiate(&ready, graph, 0));
    CALL(cudaGraphReleaseUserObject(graph, second, 1));
    CALL(cudaGraphDestroy(graph));
    SHOW(destroyed);
    CALL(cudaGraphExecDestroy(ready));
    SHOW(destroyed);
    CALL(cudaGraphDestroy(clone));
    // Destructors come after the call, on a thread of the library's.
    for (int turn = 0; turn < 5000 && destroyed != 11; turn++) usleep(1000);
    SHOW(destroyed);
    CALL(cudaUserObjectCreate(nullptr, &one, destroy, 1, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectCreate(&first, &one, nullptr, 1, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectCreate(&first, &one, destroy, 0, cudaUserObjectNoDestructorSync));
    LAST();
    return 0;
}
