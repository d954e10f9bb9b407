/* A sparse array without memory is zeros to every copy that reads it (cuMemMapArrayAsync), and costs the device no memory, before or after. */
#include "behaviour/expect.h"

enum { WIDTH = 1024, HEIGHT = 64, BYTES = WIDTH * HEIGHT * 4 };

static unsigned host[WIDTH * HEIGHT];

static size_t free_bytes(void) {
    size_t available, total;
    OK(cuMemGetInfo(&available, &total));
    return available;
}

static CUarray array(unsigned flags) {
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = WIDTH, .Height = HEIGHT, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1, .Flags = flags};
    CUarray made;
    OK(cuArray3DCreate(&made, &shape));
    return made;
}

static CUDA_MEMCPY2D all_of(CUarray source) {
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = source, .WidthInBytes = WIDTH * 4, .Height = HEIGHT};
    return copy;
}

static void is_zeros(void) {
    for (int word = 0; word < WIDTH * HEIGHT; word++) HOLDS(host[word] == 0);
}

int main(void) {
    start();
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, BYTES));
    CUarray plain = array(0);
    size_t before = free_bytes();
    CUarray sparse = array(CUDA_ARRAY3D_SPARSE);
    CUDA_MEMCPY2D copy = all_of(sparse);

    memset(host, 7, BYTES);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = host;
    OK(cuMemcpy2D(&copy));
    is_zeros();

    OK(cuMemsetD32(memory, 7, WIDTH * HEIGHT));
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = memory;
    OK(cuMemcpy2DAsync(&copy, NULL));
    OK(cuMemcpyDtoH(host, memory, BYTES));
    is_zeros();

    OK(cuMemsetD32(memory, 7, WIDTH * HEIGHT));
    CUDA_MEMCPY2D fill = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = memory, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = plain, .WidthInBytes = WIDTH * 4, .Height = HEIGHT};
    OK(cuMemcpy2D(&fill));
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = plain;
    OK(cuMemcpy2D(&copy));
    memset(host, 7, BYTES);
    CUDA_MEMCPY2D back = all_of(plain);
    back.dstMemoryType = CU_MEMORYTYPE_HOST, back.dstHost = host;
    OK(cuMemcpy2D(&back));
    is_zeros();

    HOLDS(free_bytes() == before);
    OK(cuArrayDestroy(sparse));
    HOLDS(free_bytes() == before);
    printf("done\n");
    return 0;
}
