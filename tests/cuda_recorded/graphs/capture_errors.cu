// What may not be done while a stream captures, and what becomes of the capture.
#include "graphs.h"

int main() {
    unsigned long long *number = zeros<unsigned long long>(1);
    cudaStream_t stream, blocking, other;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&blocking));
    OK(cudaEventCreate(&event));
    cudaGraph_t graph = nullptr;
    void *memory = nullptr;
    cudaStreamCaptureStatus status;
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
    LAST();

    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CALL(cudaMalloc(&memory, 16));
    CALL(cudaStreamIsCapturing(stream, &status));
    SHOW(status);
    append<<<1, 1, 0, stream>>>(number, 1);
    LAST();
    CALL(cudaStreamEndCapture(stream, &graph));
    SHOW(graph == nullptr);
    LAST();

    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CALL(cudaMalloc(&memory, 16));
    CALL(cudaStreamQuery(stream));
    CALL(cudaStreamEndCapture(stream, &graph));
    LAST();

    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaStreamEndCapture(stream, &graph));
    LAST();

    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CALL(cudaDeviceSynchronize());
    CALL(cudaStreamEndCapture(stream, &graph));
    LAST();

    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CALL(cudaEventRecord(event, stream));
    CALL(cudaEventQuery(event));
    CALL(cudaStreamEndCapture(stream, &graph));
    LAST();

    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CALL(cudaEventRecord(event, stream));
    CALL(cudaStreamWaitEvent(other, event, 0));
    append<<<1, 1, 0, other>>>(number, 2);
    CALL(cudaStreamEndCapture(other, &graph));
    CALL(cudaStreamEndCapture(stream, &graph));
    LAST();

    CALL(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    append<<<1, 1>>>(number, 3);
    LAST();
    CALL(cudaMemcpyAsync(&number, &number, 8, cudaMemcpyHostToHost, nullptr));
    CALL(cudaStreamEndCapture(blocking, &graph));
    LAST();

    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    SHOW(mode);
    CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CALL(cudaMalloc(&memory, 16));
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    SHOW(mode);
    return 0;
}
