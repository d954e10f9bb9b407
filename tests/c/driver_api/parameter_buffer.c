/* Parameters in one packed buffer, each where the alignment of its type on the device puts it. The kernel gives back what
   it found in each parameter, so a wrong offset shows. */
#include "check.h"

#define ALIGN_UP(offset, alignment) (offset) = ((offset) + (alignment) - 1) & ~((alignment) - 1)

#define ADD_TO_PARAM_BUFFER(value, alignment)                         \
    do {                                                              \
        ALIGN_UP(paramBufferSize, alignment);                         \
        memcpy(paramBuffer + paramBufferSize, &(value), sizeof(value)); \
        paramBufferSize += sizeof(value);                             \
    } while (0)

/* As on the host: without the alignment that they have on the device. */
typedef struct {
    float x, y, z, w;
} float4;
typedef struct {
    float x, y;
} float2;

/* Not padded at all on the host; on the device 12 bytes follow `f`, since `f4` is aligned to 16. */
typedef struct {
    float f;
    float4 f4;
} myStruct;

int main(void) {
    CUcontext context;
    CUmodule module;
    CUfunction cuFunction;
    CUdeviceptr devPtr;
    float found[10];
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0));
    CHECK(cuModuleLoad(&module, "parameters.ptx"));
    CHECK(cuMemAlloc(&devPtr, sizeof found));

    char paramBuffer[1024];
    size_t paramBufferSize = 0;
    int i = -7;
    ADD_TO_PARAM_BUFFER(i, __alignof(i));
    float4 f4 = {1.5f, 2.5f, 3.5f, 4.5f};
    ADD_TO_PARAM_BUFFER(f4, 16);
    char c = 42;
    ADD_TO_PARAM_BUFFER(c, __alignof(c));
    float f = 0.25f;
    ADD_TO_PARAM_BUFFER(f, __alignof(f));
    ADD_TO_PARAM_BUFFER(devPtr, __alignof(devPtr));
    float2 f2 = {8.0f, 16.0f};
    ADD_TO_PARAM_BUFFER(f2, 8);
    printf("%zu bytes\n", paramBufferSize);

    void *extra[] = {
        CU_LAUNCH_PARAM_BUFFER_POINTER, paramBuffer,
        CU_LAUNCH_PARAM_BUFFER_SIZE,    &paramBufferSize,
        CU_LAUNCH_PARAM_END,
    };
    CHECK(cuModuleGetFunction(&cuFunction, module, "scalars_and_vectors"));
    for (size_t index = 0; index < 6; index++) {
        size_t offset, size;
        CHECK(cuFuncGetParamInfo(cuFunction, index, &offset, &size));
        printf("%zu+%zu ", offset, size);
    }
    CHECK(cuLaunchKernel(cuFunction, 1, 1, 1, 1, 1, 1, 0, 0, 0, extra));
    CHECK(cuMemcpyDtoH(found, devPtr, sizeof found));
    for (int index = 0; index < 9; index++) printf("%g ", found[index]);
    printf("\n");

    /* The same parameters behind pointers. */
    void *pointers[] = {&i, &f4, &c, &f, &devPtr, &f2};
    CHECK(cuMemsetD8(devPtr, 0, sizeof found));
    CHECK(cuLaunchKernel(cuFunction, 1, 1, 1, 1, 1, 1, 0, 0, pointers, 0));
    CHECK(cuMemcpyDtoH(found, devPtr, sizeof found));
    for (int index = 0; index < 9; index++) printf("%g ", found[index]);
    printf("\n");

    /* A structure goes in with the device's padding. */
    myStruct host = {9.0f, {1.0f, 2.0f, 3.0f, 4.0f}};
    paramBufferSize = 0;
    ADD_TO_PARAM_BUFFER(host.f, 16);
    ADD_TO_PARAM_BUFFER(host.f4, 16);
    ADD_TO_PARAM_BUFFER(devPtr, __alignof(devPtr));
    printf("host %zu bytes, device %zu\n", sizeof host, paramBufferSize - sizeof devPtr);
    CHECK(cuModuleGetFunction(&cuFunction, module, "structure"));
    CHECK(cuLaunchKernel(cuFunction, 1, 1, 1, 1, 1, 1, 0, 0, 0, extra));
    CHECK(cuMemcpyDtoH(found, devPtr, sizeof found));
    for (int index = 0; index < 5; index++) printf("%g ", found[index]);
    printf("\n");
    CHECK(cuCtxDestroy(context));
    return 0;
}
