// Access policies of streams and kernel nodes, and the part of the L2 cache for what persists.
#include "show.h"

__global__ void kernel(int *place) { *place = 1; }

static cudaAccessPolicyWindow window(void *base, size_t bytes, float ratio, cudaAccessProperty hit, cudaAccessProperty miss) {
    cudaAccessPolicyWindow window = {};
    window.base_ptr = base;
    window.num_bytes = bytes;
    window.hitRatio = ratio;
    window.hitProp = hit;
    window.missProp = miss;
    return window;
}

int main() {
    int most = 0, widest = 0;
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
    OK(cudaDeviceGetAttribute(&widest, cudaDevAttrMaxAccessPolicyWindowSize, 0));
    char *memory = zeros<char>(1 << 20);
    cudaStream_t stream, other;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));

    size_t limit = 1;
    CALL(cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize));
    SHOW(limit <= (size_t)most || most == 0);
    CALL(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20));
    OK(cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize));
    SHOW(limit >= 1 << 20 && limit <= 1 << 22);
    CALL(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, most));
    OK(cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize));
    SHOW(limit == (size_t)most);
    CALL(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)most + 1));
    CALL(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0));
    OK(cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize));
    SHOW(limit);
    CALL(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)1 << 40));
    CALL(cudaCtxResetPersistingL2Cache());

    cudaStreamAttrValue value = {}, got = {};
    CALL(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &got));
    SHOW(got.accessPolicyWindow.base_ptr == nullptr);
    SHOW(got.accessPolicyWindow.num_bytes);
    SHOW_REAL(got.accessPolicyWindow.hitRatio);
    SHOW(got.accessPolicyWindow.hitProp);
    SHOW(got.accessPolicyWindow.missProp);

    value.accessPolicyWindow = window(memory, 4096, 0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    CALL(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &got));
    SHOW(got.accessPolicyWindow.base_ptr == memory);
    SHOW(got.accessPolicyWindow.num_bytes);
    SHOW_REAL(got.accessPolicyWindow.hitRatio);
    SHOW(got.accessPolicyWindow.hitProp);
    SHOW(got.accessPolicyWindow.missProp);
    CALL(cudaStreamCopyAttributes(other, stream));
    CALL(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &got));
    SHOW(got.accessPolicyWindow.num_bytes);

    // What does not fit.
    value.accessPolicyWindow = window(memory, 4096, 1.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow = window(memory, 4096, -0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow = window(memory, 4096, 1.0f, cudaAccessPropertyPersisting, cudaAccessPropertyPersisting);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow = window(memory, 4096, 1.0f, (cudaAccessProperty)9, cudaAccessPropertyNormal);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow = window(memory, (size_t)1 << 40, 1.0f, cudaAccessPropertyNormal, cudaAccessPropertyNormal);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow = window(nullptr, 4096, 1.0f, cudaAccessPropertyNormal, cudaAccessPropertyNormal);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    value.accessPolicyWindow = window(nullptr, 0, 0.0f, cudaAccessPropertyNormal, cudaAccessPropertyNormal);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    LAST();

    // Kernel nodes have the same.
    cudaGraph_t graph;
    cudaGraphNode_t node;
    void *arguments[] = {&memory};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)kernel;
    launch.gridDim = launch.blockDim = dim3(1);
    launch.kernelParams = arguments;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
    value.accessPolicyWindow = window(memory, 4096, 1.0f, cudaAccessPropertyStreaming, cudaAccessPropertyNormal);
    CALL(cudaGraphKernelNodeSetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &value));
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &got));
    SHOW(got.accessPolicyWindow.num_bytes);
    SHOW(got.accessPolicyWindow.hitProp);
    value.accessPolicyWindow = window(memory, 4096, 2.0f, cudaAccessPropertyStreaming, cudaAccessPropertyNormal);
    CALL(cudaGraphKernelNodeSetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &value));

    // What a stream says comes with what is captured.
    value.accessPolicyWindow = window(memory, 8192, 1.0f, cudaAccessPropertyStreaming, cudaAccessPropertyNormal);
    CALL(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    kernel<<<1, 1, 0, stream>>>((int *)memory);
    cudaGraph_t captured;
    OK(cudaStreamEndCapture(stream, &captured));
    size_t count = 1;
    OK(cudaGraphGetNodes(captured, &node, &count));
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributeAccessPolicyWindow, &got));
    SHOW(got.accessPolicyWindow.num_bytes);
    return 0;
}
