/* Multiplies two matrices through shared memory, as matrixMulDrv does: PTX from disk with JIT options, one of two kernels by
   the size of the tiles, dynamic shared memory, parameters behind pointers or in a packed buffer. */
#include "sample.h"

#include <math.h>
#include <stdint.h>

enum { LOG_SIZE = 1024 };

static CUmodule load(const char *program) {
    CUmodule module;
    char log[LOG_SIZE] = "";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER, CU_JIT_MAX_REGISTERS};
    void *values[] = {(void *)(size_t)LOG_SIZE, log, (void *)(size_t)32};
    char *text = read_file(find_file(program, "matrix_mul.ptx"), NULL);
    CHECK(cuModuleLoadDataEx(&module, text, 3, options, values));
    fprintf(stderr, "PTX JIT log (%zu bytes): %s\n", (size_t)(uintptr_t)values[0], log);
    free(text);
    return module;
}

/* Small whole numbers: sums of their products are exact. */
static float *matrix(int rows, int columns, int seed) {
    float *elements = malloc((size_t)rows * columns * sizeof(float));
    for (int index = 0; index < rows * columns; index++) elements[index] = (float)((index * 7 + seed) % 11 - 5);
    return elements;
}

int main(int argc, char **argv) {
    int tile = number_argument(argc, argv, "tile", 32);
    int packed = number_argument(argc, argv, "packed", 0);
    int width_a = 4 * tile, height_a = 5 * tile, width_b = 3 * tile, height_b = width_a;
    CUdevice device = choose_device(argc, argv);
    CUcontext context;
    CUfunction kernel;
    CUdeviceptr a, b, c;
    size_t memory;
    int major, minor;
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    CHECK(cuDeviceTotalMem(&memory, device));
    fprintf(stderr, "compute capability %d.%d, %zu bytes\n", major, minor, memory);
    CHECK(cuCtxCreate(&context, 0, device));
    CUmodule module = load(argv[0]);
    CHECK(cuModuleGetFunction(&kernel, module, tile == 8 ? "matrixMul_8" : "matrixMul_32"));

    float *host_a = matrix(height_a, width_a, 0), *host_b = matrix(height_b, width_b, 3);
    size_t size_a = (size_t)height_a * width_a * sizeof(float), size_b = (size_t)height_b * width_b * sizeof(float);
    size_t size_c = (size_t)height_a * width_b * sizeof(float);
    float *host_c = malloc(size_c);
    CHECK(cuMemAlloc(&a, size_a));
    CHECK(cuMemcpyHtoD(a, host_a, size_a));
    CHECK(cuMemAlloc(&b, size_b));
    CHECK(cuMemcpyHtoD(b, host_b, size_b));
    CHECK(cuMemAlloc(&c, size_c));

    unsigned shared = 2 * tile * tile * sizeof(float);
    unsigned ctas_x = width_b / tile, ctas_y = height_a / tile;
    if (packed) {
        struct {
            CUdeviceptr c, a, b;
            int width_a, width_b;
        } buffer = {c, a, b, width_a, width_b};
        size_t size = sizeof buffer;
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                         CU_LAUNCH_PARAM_END};
        CHECK(cuLaunchKernel(kernel, ctas_x, ctas_y, 1, tile, tile, 1, shared, NULL, NULL, extra));
    } else {
        void *pointers[] = {&c, &a, &b, &width_a, &width_b};
        CHECK(cuLaunchKernel(kernel, ctas_x, ctas_y, 1, tile, tile, 1, shared, NULL, pointers, NULL));
    }
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(host_c, c, size_c));

    int wrong = 0;
    for (int row = 0; row < height_a; row++) {
        for (int column = 0; column < width_b; column++) {
            float sum = 0;
            for (int k = 0; k < width_a; k++) sum += host_a[row * width_a + k] * host_b[k * width_b + column];
            wrong += host_c[row * width_b + column] != sum;
        }
    }
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(c));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(context));
    free(host_a);
    free(host_b);
    free(host_c);
    printf("%d x %d, %d wrong: %s\n", height_a, width_b, wrong, wrong == 0 ? "Result = PASS" : "Result = FAIL");
    return wrong != 0;
}
