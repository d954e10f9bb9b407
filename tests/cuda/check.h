// What the programs share: a call that must succeed, or its error's name is printed.
#pragma once
#include <cstdio>
#include <cuda_runtime.h>
#define OK(...)                                                                            \
    do {                                                                                   \
        cudaError_t result_ = (__VA_ARGS__);                                               \
        if (result_ != cudaSuccess) printf("%s: %s\n", #__VA_ARGS__, cudaGetErrorName(result_)); \
    } while (0)
#define TELL(...) printf("%s\n", cudaGetErrorName(__VA_ARGS__))
