// Several copies in one call.
#include "show.h"

#if CUDART_VERSION >= 13000
#define BATCH(targets, sources, sizes, count, attributes, starts, kinds, stream) \
    cudaMemcpyBatchAsync(targets, sources, sizes, count, attributes, starts, kinds, stream)
#else
static size_t failed;
#define BATCH(targets, sources, sizes, count, attributes, starts, kinds, stream) \
    cudaMemcpyBatchAsync(targets, sources, sizes, count, attributes, starts, kinds, &failed, stream)
#endif

int main() {
    int *here = nullptr, *there = zeros<int>(256), *back = nullptr;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocHost(&here, 1024));
    OK(cudaMallocHost(&back, 1024));
    for (int index = 0; index < 256; index++) here[index] = 3 * index;
    memset(back, 0, 1024);
    cudaMemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    size_t starts[2] = {0, 2}, sizes[3] = {256, 512, 256};
    void *in[3] = {there, there + 64, there + 192}, *out[3] = {back + 192, back, back + 128};
    void *from[3] = {here, here + 64, here + 192};
    CALL(BATCH(in, from, sizes, 3, attributes, starts, 2, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(at(there, 255));
    CALL(BATCH(out, in, sizes, 3, attributes, starts, 1, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(back[192]);
    SHOW(back[0]);
    SHOW(back[128]);
    int local[4] = {1, 2, 3, 4};
    void *one[1] = {there}, *mine[1] = {local};
    size_t sixteen[1] = {16};
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    CALL(BATCH(one, mine, sixteen, 1, attributes, starts, 1, stream));
    local[3] = 0;
    CALL(cudaStreamSynchronize(stream));
    SHOW(at(there, 3));
    CALL(BATCH(one, mine, sixteen, 1, attributes, starts, 1, cudaStreamPerThread));
    CALL(cudaStreamSynchronize(cudaStreamPerThread));
    SHOW(at(there, 3));
    CALL(BATCH(one, mine, sixteen, 1, attributes, starts, 1, nullptr));
    CALL(BATCH(one, mine, sixteen, 0, attributes, starts, 1, stream));
    CALL(BATCH(one, mine, sixteen, 1, attributes, starts, 0, stream));
    CALL(BATCH(one, mine, sixteen, 1, attributes, starts, 2, stream));
    CALL(BATCH(nullptr, mine, sixteen, 1, attributes, starts, 1, stream));
    CALL(BATCH(one, nullptr, sixteen, 1, attributes, starts, 1, stream));
    CALL(BATCH(one, mine, nullptr, 1, attributes, starts, 1, stream));
    CALL(BATCH(one, mine, sixteen, 1, nullptr, starts, 1, stream));
    CALL(BATCH(one, mine, sixteen, 1, attributes, nullptr, 1, stream));
    LAST();
    size_t late[1] = {1};
    CALL(BATCH(one, mine, sixteen, 1, attributes, late, 1, stream));
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    CALL(BATCH(one, mine, sixteen, 1, attributes, starts, 1, stream));
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes[0].flags = 64;
    CALL(BATCH(one, mine, sixteen, 1, attributes, starts, 1, stream));
    LAST();
    CALL(cudaStreamSynchronize(stream));
    return 0;
}
