/* Adds two vectors of 50000 elements, as vectorAddDrv does: a fat binary is found by a search path, read into memory and
   loaded; the kernel gets its parameters behind pointers, and a second time in a packed buffer. */
#include "sample.h"

#include <math.h>

static float *random_vector(int count) {
    float *vector = malloc((size_t)count * sizeof(float));
    for (int index = 0; index < count; index++) vector[index] = (float)rand() / (float)RAND_MAX;
    return vector;
}

static int wrong(const float *a, const float *b, const float *c, int count) {
    int wrong = 0;
    for (int index = 0; index < count; index++) wrong += !(fabsf(c[index] - (a[index] + b[index])) <= 1e-7f);
    return wrong;
}

int main(int argc, char **argv) {
    int count = 50000, threads = 256, ctas = (count + threads - 1) / threads, failures = 0;
    size_t size = (size_t)count * sizeof(float);
    CUdevice device = choose_device(argc, argv);
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr a, b, c;
    CHECK(cuCtxCreate(&context, 0, device));

    char *image = read_file(find_file(argv[0], "vector_add.fatbin"), NULL);
    CHECK(cuModuleLoadData(&module, image));
    free(image);
    CHECK(cuModuleGetFunction(&kernel, module, "VecAdd_kernel"));

    float *host_a = random_vector(count), *host_b = random_vector(count), *host_c = malloc(size);
    CHECK(cuMemAlloc(&a, size));
    CHECK(cuMemAlloc(&b, size));
    CHECK(cuMemAlloc(&c, size));
    CHECK(cuMemcpyHtoD(a, host_a, size));
    CHECK(cuMemcpyHtoD(b, host_b, size));

    void *pointers[] = {&a, &b, &c, &count};
    CHECK(cuLaunchKernel(kernel, ctas, 1, 1, threads, 1, 1, 0, NULL, pointers, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(host_c, c, size));
    failures += wrong(host_a, host_b, host_c, count);

    struct {
        CUdeviceptr a, b, c;
        int count;
    } buffer = {a, b, c, count};
    size_t buffer_size = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &buffer_size,
                     CU_LAUNCH_PARAM_END};
    buffer_size = offsetof(__typeof__(buffer), count) + sizeof count;
    CHECK(cuMemsetD8(c, 0xff, size));
    CHECK(cuLaunchKernel(kernel, ctas, 1, 1, threads, 1, 1, 0, NULL, NULL, extra));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(host_c, c, size));
    failures += wrong(host_a, host_b, host_c, count);

    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(c));
    CHECK(cuCtxDestroy(context));
    free(host_a);
    free(host_b);
    free(host_c);
    printf("%s\n", failures == 0 ? "Result = PASS" : "Result = FAIL");
    return failures != 0;
}
