// Resources of graphics interfaces, none of which this process uses.
#include "show.h"

int main() {
    void *address = nullptr;
    cudaArray_t array;
    cudaMipmappedArray_t mipmap;
    size_t size;
    CALL(cudaGraphicsUnregisterResource(nullptr));
    CALL(cudaGraphicsResourceSetMapFlags(nullptr, 0));
    CALL(cudaGraphicsResourceGetMappedPointer(&address, &size, nullptr));
    CALL(cudaGraphicsSubResourceGetMappedArray(&array, nullptr, 0, 0));
    CALL(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, nullptr));
    LAST();
    return 0;
}
