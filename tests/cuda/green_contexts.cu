// Parts of a device and contexts for them. The functions are newer than the headers which compile this, declared as in the manual.
//@ 13
#include "check.h"

typedef struct cudaExecutionContext_st *ExecutionContext;
typedef struct ResourceDescription *Description;
struct Resource {
    int type;
    unsigned char padding[92];
    union {
        struct {
            unsigned count, least, aligned, flags;
        } sm;
        unsigned char room[40];
    };
    Resource *next;
};
struct GroupParams {
    unsigned count, preferred, flags, reserved[12];
};
extern "C" {
cudaError_t cudaDeviceGetDevResource(int device, Resource *resource, int type);
cudaError_t cudaDevSmResourceSplitByCount(Resource *result, unsigned *groups, const Resource *input, Resource *remaining,
                                          unsigned flags, unsigned least);
cudaError_t cudaDevResourceGenerateDesc(Description *description, Resource *resources, unsigned count);
cudaError_t cudaGreenCtxCreate(ExecutionContext *context, Description description, int device, unsigned flags);
cudaError_t cudaDeviceGetExecutionCtx(ExecutionContext *context, int device);
cudaError_t cudaExecutionCtxDestroy(ExecutionContext context);
cudaError_t cudaExecutionCtxGetDevResource(ExecutionContext context, Resource *resource, int type);
cudaError_t cudaExecutionCtxGetDevice(int *device, ExecutionContext context);
cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *stream, ExecutionContext context, unsigned flags, int priority);
cudaError_t cudaExecutionCtxSynchronize(ExecutionContext context);
cudaError_t cudaExecutionCtxRecordEvent(ExecutionContext context, cudaEvent_t event);
cudaError_t cudaExecutionCtxWaitEvent(ExecutionContext context, cudaEvent_t event);
cudaError_t cudaStreamGetDevResource(cudaStream_t stream, Resource *resource, int type);
}

__global__ void set(int *place) { *place = 7; }

// Where the driver has green contexts: work in one.
static void use(ExecutionContext green) {
    int device = -1, *memory, got = 0;
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaExecutionCtxGetDevice(&device, green));
    OK(cudaMalloc(&memory, 4));
    OK(cudaExecutionCtxStreamCreate(&stream, green, cudaStreamNonBlocking, 0));
    OK(cudaEventCreate(&event));
    set<<<1, 1, 0, stream>>>(memory);
    OK(cudaExecutionCtxRecordEvent(green, event));
    OK(cudaExecutionCtxWaitEvent(green, event));
    OK(cudaExecutionCtxSynchronize(green));
    OK(cudaMemcpy(&got, memory, 4, cudaMemcpyDeviceToHost));
    printf("device %d, %d\n", device, got);
    OK(cudaStreamDestroy(stream));
    OK(cudaExecutionCtxDestroy(green));
}

int main() {
    Resource whole = {}, part = {}, rest = {};
    Description description = nullptr;
    ExecutionContext own = nullptr, green = nullptr;
    unsigned groups = 1;
    enum { MULTIPROCESSORS = 1 };
    TELL(cudaDeviceGetDevResource(0, nullptr, MULTIPROCESSORS));
    TELL(cudaDeviceGetDevResource(99, &whole, MULTIPROCESSORS));
    TELL(cudaDeviceGetDevResource(0, &whole, MULTIPROCESSORS));
    TELL(cudaDevSmResourceSplitByCount(&part, &groups, &whole, &rest, 0, 1));
    TELL(cudaDevResourceGenerateDesc(&description, &part, 1));
    TELL(cudaGreenCtxCreate(nullptr, description, 0, 0));
    TELL(cudaGreenCtxCreate(&green, description, 99, 0));
    TELL(cudaGreenCtxCreate(&green, description, 0, 1));
    TELL(cudaGreenCtxCreate(&green, nullptr, 0, 0));
    TELL(cudaGreenCtxCreate(&green, description, 0, 0));
    if (green) use(green);
    TELL(cudaDeviceGetExecutionCtx(&own, 0));
    TELL(cudaExecutionCtxGetDevResource(own, &whole, MULTIPROCESSORS));
    TELL(cudaExecutionCtxGetDevResource(nullptr, &whole, MULTIPROCESSORS));
    TELL(cudaExecutionCtxDestroy(own));
    TELL(cudaStreamGetDevResource(nullptr, &whole, MULTIPROCESSORS));
    return 0;
}
//= cudaErrorInvalidValue
//= cudaErrorInvalidDevice
//= cudaSuccess
//= cudaSuccess
//= cudaSuccess
//= cudaErrorInvalidValue
//= cudaErrorInvalidDevice
//= cudaErrorInvalidValue
//= cudaSuccess
//= cudaSuccess
//= device 0, 7
//= cudaSuccess
//= cudaSuccess
//= cudaErrorInvalidResourceHandle
//= cudaErrorInvalidResourceHandle
//= cudaSuccess
