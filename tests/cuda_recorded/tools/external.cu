// Memory and semaphores of other interfaces: handles that are none.
#include "show.h"

int main() {
    OK(cudaFree(nullptr));
    cudaExternalMemory_t memory = nullptr;
    cudaExternalMemoryHandleDesc wanted = {};
    wanted.type = cudaExternalMemoryHandleTypeOpaqueFd;
    wanted.handle.fd = -1;
    wanted.size = 4096;
    CALL(cudaImportExternalMemory(nullptr, &wanted));
    CALL(cudaImportExternalMemory(&memory, nullptr));
    wanted.size = 0;
    CALL(cudaImportExternalMemory(&memory, &wanted));
    LAST();
    cudaExternalSemaphore_t semaphore = nullptr;
    cudaExternalSemaphoreHandleDesc signal = {};
    CALL(cudaImportExternalSemaphore(nullptr, &signal));
    CALL(cudaImportExternalSemaphore(&semaphore, nullptr));
    CALL(cudaDestroyExternalMemory(nullptr));
    CALL(cudaDestroyExternalSemaphore(nullptr));
    LAST();
    return 0;
}
