// Which operations are atomic between devices and the host: answers, as the values are the device's.
// toolkit: 13, as that of 12 does not have them
#include "show.h"

int main() {
    cudaAtomicOperation operations[2] = {cudaAtomicOperationIntegerAdd, cudaAtomicOperationExchange};
    unsigned answers[2] = {99, 99};
    CALL(cudaDeviceGetHostAtomicCapabilities(answers, operations, 2, 0));
    SHOW(answers[0] != 99 && answers[1] != 99);
    CALL(cudaDeviceGetHostAtomicCapabilities(answers, operations, 0, 0));
    CALL(cudaDeviceGetHostAtomicCapabilities(nullptr, operations, 2, 0));
    CALL(cudaDeviceGetHostAtomicCapabilities(answers, nullptr, 2, 0));
    CALL(cudaDeviceGetHostAtomicCapabilities(answers, operations, 2, 99));
    operations[1] = (cudaAtomicOperation)77;
    CALL(cudaDeviceGetHostAtomicCapabilities(answers, operations, 2, 0));
    LAST();
    CALL(cudaDeviceGetP2PAtomicCapabilities(answers, operations, 1, 0, 0));
    CALL(cudaDeviceGetP2PAtomicCapabilities(answers, operations, 1, 0, 99));
    CALL(cudaDeviceGetP2PAtomicCapabilities(nullptr, operations, 1, 0, 99));
    LAST();
    return 0;
}
