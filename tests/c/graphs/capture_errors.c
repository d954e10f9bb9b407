/* What cannot be captured, and what becomes of the capture then. */
#include "graphs.h"

#include <pthread.h>

static CUstream stream, other, blocking;
static CUevent event, second;
static CUgraph graph;
static CUdeviceptr place;

static void begin(CUstreamCaptureMode mode) {
    CHECK(cuStreamBeginCapture(stream, mode));
    stream_digit(stream, place, 1);
}

/* Ends the capture of `stream`, whatever came of it. */
static void end(const char *what) {
    graph = (CUgraph)1;
    CUresult result = cuStreamEndCapture(stream, &graph);
    printf("%s: %s, graph %s\n", what, name_of(result), graph == NULL ? "NULL" : graph == (CUgraph)1 ? "as before" : "given");
    if (result == CUDA_SUCCESS) CHECK(cuGraphDestroy(graph));
    CUstreamCaptureStatus status;
    CHECK(cuStreamIsCapturing(stream, &status));
    if (status != CU_STREAM_CAPTURE_STATUS_NONE) printf("status %d\n", (int)status);
}

static void *end_elsewhere(void *data) {
    (void)data;
    CHECK(cuCtxSetCurrent(context));
    SHOW(cuStreamEndCapture(stream, &graph));
    return NULL;
}

static void *allocate_elsewhere(void *data) {
    CUdeviceptr address;
    CHECK(cuCtxSetCurrent(context));
    if (data != NULL) CHECK(cuThreadExchangeStreamCaptureMode(data));
    SHOW(cuMemAlloc(&address, 16));
    return NULL;
}

static void on_a_thread(void *(*function)(void *), void *data) {
    pthread_t thread;
    pthread_create(&thread, NULL, function, data);
    pthread_join(thread, NULL);
}

static void callback(CUstream a, CUresult b, void *c) { (void)a, (void)b, (void)c; }

int main(void) {
    setup();
    CUstreamCaptureStatus status;
    CUdeviceptr address;
    float time;
    place = words(4);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuEventCreate(&second, 0));

    SHOW(cuStreamEndCapture(stream, &graph));
    SHOW(cuStreamBeginCapture(0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SHOW(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SHOW(cuStreamBeginCapture(stream, (CUstreamCaptureMode)3));
    STALE(cuStreamBeginCapture((CUstream)0x12340, CU_STREAM_CAPTURE_MODE_GLOBAL));

    /* Waiting for a captured stream, asking for it, or a callback in it. */
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    SHOW(cuStreamSynchronize(stream));
    SHOW(cuStreamIsCapturing(stream, &status));
    printf("status %d\n", (int)status);
    SHOW(cuMemsetD32Async(place, 0, 1, stream));
    end("synchronised");
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    SHOW(cuStreamQuery(stream));
    end("queried");
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    SHOW(cuStreamAddCallback(stream, callback, NULL, 0));
    end("callback");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    SHOW(cuCtxSynchronize());
    end("context synchronised");

    /* Events. */
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(cuEventRecord(event, stream));
    SHOW(cuEventQuery(event));
    end("captured event queried");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(cuEventRecord(event, stream));
    SHOW(cuEventSynchronize(event));
    end("captured event synchronised");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(cuEventRecord(event, stream));
    end("event recorded");
    SHOW(cuEventQuery(event));
    SHOW(cuEventElapsedTime(&time, event, event));
    CHECK(cuEventRecord(second, other));
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    SHOW(cuStreamWaitEvent(stream, second, 0));
    end("waited for what is not captured");

    /* Several captures. */
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    SHOW(cuStreamWaitEvent(other, event, 0));
    SHOW(cuStreamEndCapture(other, &graph));
    end("merged");

    /* Streams that are taken in. */
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(other, event, 0));
    stream_digit(other, place, 2);
    end("not joined");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(other, event, 0));
    end("taken in without work");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(other, event, 0));
    SHOW(cuStreamEndCapture(other, &graph));
    end("ended in another stream");
    SHOW(cuStreamIsCapturing(other, &status));
    printf("status %d\n", (int)status);

    /* The legacy stream waits for blocking streams. */
    CHECK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    SHOW(cuStreamIsCapturing(0, &status));
    SHOW(cuStreamIsCapturing(blocking, &status));
    printf("status %d\n", (int)status);
    SHOW(cuMemsetD32Async(place, 0, 1, 0));
    SHOW(cuStreamEndCapture(blocking, &graph));
    CHECK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    SHOW(cuMemcpyDtoH(&time, place, 4));
    SHOW(cuStreamEndCapture(blocking, &graph));
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    SHOW(cuMemcpyDtoH(&time, place, 4));
    end("copied meanwhile");

    /* Threads and modes. */
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    on_a_thread(end_elsewhere, NULL);
    end("ended by another thread before");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    on_a_thread(end_elsewhere, NULL);
    SHOW(cuStreamIsCapturing(stream, &status));
    printf("status %d\n", (int)status);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    SHOW(cuMemAlloc(&address, 16));
    end("allocated");
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    SHOW(cuEventQuery(second));
    end("event queried");
    begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    SHOW(cuMemAlloc(&address, 16));
    end("allocated");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    SHOW(cuMemAlloc(&address, 16));
    end("allocated");
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    on_a_thread(allocate_elsewhere, NULL);
    end("allocated elsewhere");
    begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    on_a_thread(allocate_elsewhere, NULL);
    end("allocated elsewhere");
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    on_a_thread(allocate_elsewhere, &mode);
    end("allocated elsewhere");
    mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    SHOW(cuThreadExchangeStreamCaptureMode(&mode));
    printf("mode before %d\n", (int)mode);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    SHOW(cuMemAlloc(&address, 16));
    end("allocated");
    mode = (CUstreamCaptureMode)7;
    SHOW(cuThreadExchangeStreamCaptureMode(&mode));
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    SHOW(cuThreadExchangeStreamCaptureMode(&mode));
    printf("mode before %d\n", (int)mode);

    /* A stream that is destroyed takes its capture along. */
    CHECK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SHOW(cuStreamDestroy(blocking));
    SHOW(cuMemAlloc(&address, 16));
    return 0;
}
