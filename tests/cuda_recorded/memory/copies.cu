// Copies of bytes in a row: every direction, and directions that are wrong.
#include "show.h"

static int host[1024], back[1024];

static bool same() {
    bool result = memcmp(host, back, sizeof host) == 0;
    memset(back, 0, sizeof back);
    return result;
}

int main() {
    for (int index = 0; index < 1024; index++) host[index] = index * 2654435761u;
    int *one = zeros<int>(1024), *two = zeros<int>(1024), *pinned;
    OK(cudaMallocHost(&pinned, sizeof host));
    CALL(cudaMemcpy(one, host, sizeof host, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(two, one, sizeof host, cudaMemcpyDeviceToDevice));
    CALL(cudaMemcpy(back, two, sizeof host, cudaMemcpyDeviceToHost));
    SHOW(same());
    CALL(cudaMemcpy(back, host, sizeof host, cudaMemcpyHostToHost));
    SHOW(same());
    CALL(cudaMemcpy(pinned, one, sizeof host, cudaMemcpyDefault));
    CALL(cudaMemcpy(back, pinned, sizeof host, cudaMemcpyDefault));
    SHOW(same());
    CALL(cudaMemcpy((char *)one + 3, (char *)host + 1, 1001, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy((char *)back + 5, (char *)one + 3, 1001, cudaMemcpyDeviceToHost));
    SHOW(memcmp((char *)back + 5, (char *)host + 1, 1001));
    CALL(cudaMemcpy(one, host, sizeof host, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(one, host, sizeof host, cudaMemcpyDeviceToDevice));
    CALL(cudaMemcpy(back, two, sizeof host, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(back, two, sizeof host, cudaMemcpyHostToHost));
    CALL(cudaMemcpy(back, two, sizeof host, (cudaMemcpyKind)5));
    LAST();
    CALL(cudaMemcpy(back, two, 0, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(two, host, (size_t)1 << 40, cudaMemcpyHostToDevice));
    LAST();
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    memset(back, 0, sizeof back);
    memcpy(pinned, host, sizeof host);
    CALL(cudaMemsetAsync(one, 0, sizeof host, stream));
    CALL(cudaMemcpyAsync(one, pinned, sizeof host, cudaMemcpyHostToDevice, stream));
    CALL(cudaMemcpyAsync(two, one, sizeof host, cudaMemcpyDeviceToDevice, stream));
    CALL(cudaMemcpyAsync(back, two, sizeof host, cudaMemcpyDeviceToHost, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(same());
    CALL(cudaMemcpyAsync(two, host, sizeof host, cudaMemcpyHostToDevice));
    CALL(cudaMemcpyAsync(back, two, sizeof host, cudaMemcpyDefault, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(same());
    CALL(cudaMemcpyAsync(two, host, 16, (cudaMemcpyKind)5, stream));
    CALL(cudaMemcpyAsync(nullptr, host, 16, cudaMemcpyHostToDevice, stream));
    LAST();
    return 0;
}
