// Variables of the device by their names in the program: constants, arrays, templates, static ones.
#include "show.h"

__device__ int counter = 7;
__device__ double table[16];
__constant__ float factors[4] = {1, 2, 3, 4};
static __device__ short hidden = -5;
__device__ const int fixed = 33;
template <typename T> __device__ T made = T(12);

__global__ void use(double *out) {
    out[threadIdx.x] = table[threadIdx.x] * factors[threadIdx.x % 4] + counter + hidden + made<long> + fixed;
}

int main() {
    double numbers[16], result[16];
    for (int index = 0; index < 16; index++) numbers[index] = index;
    double *out = zeros<double>(16);
    void *address = nullptr;
    size_t size = 0;
    CALL(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
    use<<<1, 16>>>(out);
    CALL(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
    for (double value : result) SHOW_REAL(value);
    CALL(cudaGetSymbolAddress(&address, counter));
    CALL(cudaGetSymbolSize(&size, counter));
    SHOW(size);
    CALL(cudaGetSymbolSize(&size, table));
    SHOW(size);
    CALL(cudaGetSymbolSize(&size, factors));
    SHOW(size);
    CALL(cudaGetSymbolSize(&size, made<long>));
    SHOW(size);
    int value = 20;
    CALL(cudaMemcpy(address, &value, sizeof value, cudaMemcpyHostToDevice));
    float factor = 10;
    CALL(cudaMemcpyToSymbol(factors, &factor, sizeof factor, 2 * sizeof factor));
    CALL(cudaMemcpyToSymbol(factors, &factor, sizeof factor, 4 * sizeof factor));
    CALL(cudaMemcpyToSymbol(factors, &factor, 0, 0));
    CALL(cudaMemcpyToSymbol(counter, &value, sizeof value, 0, cudaMemcpyDeviceToHost));
    LAST();
    short small = 0;
    CALL(cudaMemcpyFromSymbol(&small, hidden, sizeof small));
    SHOW(small);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    CALL(cudaMemcpyToSymbolAsync(table, numbers, 8, 8, cudaMemcpyHostToDevice, stream));
    CALL(cudaMemcpyFromSymbolAsync(result, table, 24, 0, cudaMemcpyDeviceToHost, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW_REAL(result[1]);
    use<<<1, 16>>>(out);
    SHOW_REAL(at(out, 2));
    CALL(cudaMemcpyFromSymbol(out, table, 128, 0, cudaMemcpyDeviceToDevice));
    SHOW_REAL(at(out, 15));
    LAST();
    return 0;
}
