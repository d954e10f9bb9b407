// A program that uses the library and has no kernel at all.
#include "show.h"

int main() {
    int *memory = zeros<int>(4), value = 1;
    CALL(cudaMemcpy(memory, &value, sizeof value, cudaMemcpyHostToDevice));
    SHOW(at(memory));
    CALL(cudaMemcpyToSymbol(value, &value, sizeof value));
    CALL(cudaDeviceSynchronize());
    LAST();
    return 0;
}
