// Graphs that kernels launch: without waiting, behind the graph that launches, beside it, and again and again.
// nvcc: -rdc=true -lcudadevrt
#include "show.h"

__global__ void digit(int *place, int value) { *place = *place * 10 + value; }

__global__ void add(int *place, int value) { atomicAdd(place, value); }

__global__ void launches(cudaGraphExec_t graph, cudaStream_t stream, int *answer) { *answer = cudaGraphLaunch(graph, stream); }

__global__ void launches_twice(cudaGraphExec_t one, cudaGraphExec_t two, int *answers) {
    answers[0] = cudaGraphLaunch(one, cudaStreamGraphTailLaunch);
    answers[1] = cudaGraphLaunch(two, cudaStreamGraphTailLaunch);
}

__global__ void again(int *count, int most, int *answer) {
    if (++*count < most) *answer = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

__global__ void current(int *place) { *place = cudaGetCurrentGraphExec() != 0; }

__global__ void the_same(cudaGraphExec_t graph, int *answers) {
    answers[0] = cudaGraphLaunch(graph, cudaStreamGraphTailLaunch);
    answers[1] = cudaGraphLaunch(graph, cudaStreamGraphTailLaunch);
}

__global__ void asks_for_errors(int *answers) { *answers = cudaGetLastError(); }

static cudaGraphExec_t made(cudaStream_t stream, bool device = true) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, device ? cudaGraphInstantiateFlagDeviceLaunch : 0));
    OK(cudaGraphDestroy(graph));
    return exec;
}

static void begin(cudaStream_t stream) { OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)); }

int main() {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *numbers = zeros<int>(64), *answers = zeros<int>(64);
    auto one_kernel = [&](int place, int value) {
        begin(stream);
        digit<<<1, 1, 0, stream>>>(numbers + place, value);
        return made(stream);
    };
    auto finish = [&] {
        CALL(cudaStreamSynchronize(stream));
        CALL(cudaDeviceSynchronize());
    };
    begin(stream);
    current<<<1, 1, 0, stream>>>(numbers + 1);
    cudaGraphExec_t asks = made(stream);
    begin(stream);
    current<<<1, 1, 0, stream>>>(numbers + 2);
    cudaGraphExec_t asks_on_host = made(stream, false);
    current<<<1, 1, 0, stream>>>(numbers + 3);
    CALL(cudaGraphLaunch(asks, stream));
    CALL(cudaGraphLaunch(asks_on_host, stream));
    finish();
    for (int index = 1; index < 4; index++) SHOW(at(numbers, index));

    cudaGraphExec_t five = one_kernel(4, 5), six = one_kernel(4, 6);
    CALL(cudaGraphUpload(five, stream));
    CALL(cudaGraphUpload(six, stream));
    finish();
    for (cudaStream_t how : {cudaStreamGraphFireAndForget, cudaStreamGraphTailLaunch, cudaStreamGraphFireAndForgetAsSibling}) {
        begin(stream);
        launches<<<1, 1, 0, stream>>>(five, how, answers);
        cudaGraphExec_t launcher = made(stream);
        CALL(cudaGraphLaunch(launcher, stream));
        finish();
        SHOW(at(answers));
        SHOW(at(numbers, 4));
        CALL(cudaGraphExecDestroy(launcher));
    }
    // Behind the whole graph that launches, in order.
    OK(cudaMemset(numbers, 0, 256));
    begin(stream);
    launches_twice<<<1, 1, 0, stream>>>(five, six, answers);
    digit<<<1, 1, 0, stream>>>(numbers + 4, 1);
    digit<<<1, 1, 0, stream>>>(numbers + 4, 2);
    cudaGraphExec_t launcher = made(stream);
    CALL(cudaGraphLaunch(launcher, stream));
    // The stream goes on behind them.
    digit<<<1, 1, 0, stream>>>(numbers + 4, 3);
    finish();
    SHOW(at(answers));
    SHOW(at(answers, 1));
    SHOW(at(numbers, 4));
    // Again and again.
    begin(stream);
    again<<<1, 1, 0, stream>>>(numbers + 5, 1000, answers + 2);
    cudaGraphExec_t loop = made(stream);
    CALL(cudaGraphLaunch(loop, stream));
    finish();
    SHOW(at(numbers, 5));
    SHOW(at(answers, 2));
    // A graph for hosts launches one for devices.
    begin(stream);
    launches<<<1, 1, 0, stream>>>(five, cudaStreamGraphFireAndForget, answers + 4);
    cudaGraphExec_t plain = made(stream, false);
    OK(cudaMemset(numbers + 4, 0, 4));
    CALL(cudaGraphLaunch(plain, stream));
    finish();
    SHOW(at(answers, 4));
    SHOW(at(numbers, 4));
    // Kernels that launch kernels, or ask for errors, are not for such graphs.
    cudaGraph_t graph;
    cudaGraphExec_t none = nullptr;
    begin(stream);
    asks_for_errors<<<1, 1, 0, stream>>>(answers);
    OK(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiate(&none, graph, cudaGraphInstantiateFlagDeviceLaunch));
    LAST();
    CALL(cudaGraphInstantiate(&none, graph, 0));
    // The same one twice.
    begin(stream);
    the_same<<<1, 1, 0, stream>>>(six, answers + 8);
    cudaGraphExec_t twice = made(stream);
    OK(cudaMemset(numbers + 4, 0, 4));
    CALL(cudaGraphLaunch(twice, stream));
    finish();
    for (int index = 8; index < 10; index++) SHOW(at(answers, index));
    SHOW(at(numbers, 4));
    return 0;
}
