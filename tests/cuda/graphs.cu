// Graphs: nodes of most kinds, captured and built by hand, changed after instantiation, cloned.
//@ 13
//= nodes 4 edges 3
//= run 26
//= changed 36
//= captured 2
//= again 3
//= parameters 1
//= host 1
//= clone 4
#include "check.h"
__global__ void affine(int *p, int a, int b) { *p = *p * a + b; }
static int ran; static void host(void *) { ran++; }
int main() {
    int *p, v = 0, a = 2, b = 6, start = 10; OK(cudaMalloc(&p, 4));
    cudaGraph_t g; cudaGraphNode_t in, kernel, out, call; cudaGraphExec_t x; OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddMemcpyNode1D(&in, g, 0, 0, p, &start, 4, cudaMemcpyHostToDevice));
    void *args[] = {&p, &a, &b}; cudaKernelNodeParams k = {}; k.func = (void *)affine; k.gridDim = 1; k.blockDim = 1; k.kernelParams = args; OK(cudaGraphAddKernelNode(&kernel, g, &in, 1, &k));
    OK(cudaGraphAddMemcpyNode1D(&out, g, &kernel, 1, &v, p, 4, cudaMemcpyDeviceToHost)); cudaHostNodeParams h = {host, 0}; OK(cudaGraphAddHostNode(&call, g, &out, 1, &h));
    size_t nodes = 0, edges = 0; OK(cudaGraphGetNodes(g, 0, &nodes)); OK(cudaGraphGetEdges(g, 0, 0, 0, &edges)); printf("nodes %zu edges %zu\n", nodes, edges);
    OK(cudaGraphInstantiate(&x, g, 0)); OK(cudaGraphLaunch(x, 0)); OK(cudaDeviceSynchronize()); printf("run %d\n", v);
    a = 3; OK(cudaGraphExecKernelNodeSetParams(x, kernel, &k)); OK(cudaGraphLaunch(x, 0)); OK(cudaDeviceSynchronize()); printf("changed %d\n", v);
    cudaStream_t s; OK(cudaStreamCreate(&s)); cudaGraph_t c; cudaGraphExec_t y; OK(cudaMemset(p, 0, 4)); OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    affine<<<1, 1, 0, s>>>(p, 1, 1); OK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, s)); OK(cudaStreamEndCapture(s, &c)); OK(cudaGraphGetNodes(c, 0, &nodes)); printf("captured %zu\n", nodes);
    OK(cudaGraphInstantiate(&y, c, 0)); for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(y, s)); OK(cudaStreamSynchronize(s)); printf("again %d\n", v);
    cudaKernelNodeParams got = {}; OK(cudaGraphKernelNodeGetParams(kernel, &got)); printf("parameters %d\n", got.func == (void *)affine && got.gridDim.x == 1);
    printf("host %d\n", ran == 2); cudaGraph_t clone; OK(cudaGraphClone(&clone, g)); OK(cudaGraphGetNodes(clone, 0, &nodes)); printf("clone %zu\n", nodes);
    OK(cudaGraphExecDestroy(x)); OK(cudaGraphExecDestroy(y)); OK(cudaGraphDestroy(g)); OK(cudaGraphDestroy(c)); OK(cudaGraphDestroy(clone));
}
