// A graph that is captured again, in the runtime's terms: what the program is told of a changed kernel, and that it can say no.
//@ 13
#include "check.h"

enum RecaptureStatus { eligible = 0 };
typedef cudaError_t (*RecaptureCallback)(void *data, cudaGraphNode_t node, const cudaGraphNodeParams *before,
                                         const cudaGraphNodeParams *now, RecaptureStatus status);
struct RecaptureCallbackData {
    RecaptureCallback callbackFunc;
    void *userData;
};
extern "C" cudaError_t cudaStreamBeginRecaptureToGraph(cudaStream_t stream, cudaStreamCaptureMode mode, cudaGraph_t graph,
                                                       RecaptureCallbackData *data);

__global__ void set(int *place, int value) { *place = value; }

struct Asked {
    int calls;
    cudaError_t answer;
};

static cudaError_t ask(void *data, cudaGraphNode_t, const cudaGraphNodeParams *before, const cudaGraphNodeParams *now,
                       RecaptureStatus status) {
    Asked *asked = (Asked *)data;
    asked->calls++;
    printf("%d: type %d, kernel %d %d, value %d to %d, grid %u to %u\n", status, now->type, before->kernel.func == (void *)set,
           now->kernel.func == (void *)set, *(int *)before->kernel.kernelParams[1], *(int *)now->kernel.kernelParams[1],
           before->kernel.gridDim.x, now->kernel.gridDim.x);
    return asked->answer;
}

int main() {
    cudaStream_t stream;
    cudaGraph_t graph, ended;
    cudaGraphExec_t exec;
    int *memory, got = 0;
    Asked asked = {};
    RecaptureCallbackData data = {ask, &asked};
    OK(cudaMalloc(&memory, 4));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    set<<<1, 1, 0, stream>>>(memory, 3);
    OK(cudaStreamEndCapture(stream, &graph));

    OK(cudaStreamBeginRecaptureToGraph(stream, cudaStreamCaptureModeGlobal, graph, &data));
    set<<<2, 1, 0, stream>>>(memory, 4);
    OK(cudaStreamEndCapture(stream, &ended));
    printf("%d calls, same graph %d\n", asked.calls, ended == graph);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&got, memory, 4, cudaMemcpyDeviceToHost));
    printf("%d\n", got);

    // Without a callback everything is taken; a program may also have a structure without one.
    RecaptureCallbackData nobody = {};
    for (RecaptureCallbackData *given : {(RecaptureCallbackData *)nullptr, &nobody}) {
        OK(cudaStreamBeginRecaptureToGraph(stream, cudaStreamCaptureModeGlobal, graph, given));
        set<<<1, 1, 0, stream>>>(memory, 5);
        OK(cudaStreamEndCapture(stream, &ended));
    }
    printf("%d calls\n", asked.calls);

    asked.answer = cudaErrorNotPermitted;
    OK(cudaStreamBeginRecaptureToGraph(stream, cudaStreamCaptureModeGlobal, graph, &data));
    set<<<1, 1, 0, stream>>>(memory, 6);
    printf("%d\n", cudaGetLastError() == (cudaError_t)918);
    TELL(cudaStreamEndCapture(stream, &ended));
    TELL(cudaStreamBeginRecaptureToGraph(stream, cudaStreamCaptureModeGlobal, nullptr, nullptr));
    return 0;
}
//= 0: type 0, kernel 1 1, value 3 to 4, grid 1 to 2
//= 1 calls, same graph 1
//= 4
//= 1 calls
//= 0: type 0, kernel 1 1, value 5 to 6, grid 1 to 1
//= 1
//= cudaErrorStreamCaptureInvalidated
//= cudaErrorInvalidValue
