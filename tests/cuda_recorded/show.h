// What the programs of this folder share: every call prints what it answers, and values are printed by their expression, so that
// two libraries can be compared line by line. Nothing may be printed that differs between devices or runs.
#ifndef SHOW_H
#define SHOW_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static inline const char *name_of(cudaError_t result) { return cudaGetErrorName(result); }

static inline const char *name_of(CUresult result) {
    const char *name = nullptr;
    cuGetErrorName(result, &name);
    return name != nullptr ? name : "?";
}

// Prints a call and its answer.
#define CALL(...)                                          \
    do {                                                   \
        auto result_ = (__VA_ARGS__);                      \
        printf("%s = %s\n", #__VA_ARGS__, name_of(result_)); \
        fflush(stdout);                                    \
    } while (0)

// A call that has to succeed, for what is not the matter of a program.
#define OK(...)                                                                          \
    do {                                                                                 \
        auto result_ = (__VA_ARGS__);                                                    \
        if ((int)result_ != 0) {                                                         \
            printf("line %d: %s = %s\n", __LINE__, #__VA_ARGS__, name_of(result_));       \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

// Prints a whole number, or a truth, and the expression that it comes from.
#define SHOW(...)                                                \
    do {                                                         \
        printf("    %s: %lld\n", #__VA_ARGS__, (long long)(__VA_ARGS__)); \
        fflush(stdout);                                          \
    } while (0)

// Prints a number with a fraction.
#define SHOW_REAL(...)                                        \
    do {                                                      \
        printf("    %s: %.9g\n", #__VA_ARGS__, (double)(__VA_ARGS__)); \
        fflush(stdout);                                       \
    } while (0)

// Prints the thread's last error, which it takes away, and what is left.
#define LAST()                                                                        \
    do {                                                                              \
        const char *peeked_ = name_of(cudaPeekAtLastError()), *got_ = name_of(cudaGetLastError()); \
        printf("    last error: %s, %s, %s\n", peeked_, got_, name_of(cudaGetLastError())); \
        fflush(stdout);                                                               \
    } while (0)

// Device memory with a number of elements, all bytes 0.
template <typename T> static inline T *zeros(size_t count) {
    T *memory;
    OK(cudaMalloc((void **)&memory, count * sizeof(T)));
    OK(cudaMemset(memory, 0, count * sizeof(T)));
    return memory;
}

// One element of device memory.
template <typename T> static inline T at(const T *memory, size_t index = 0) {
    T value;
    OK(cudaMemcpy(&value, memory + index, sizeof value, cudaMemcpyDefault));
    return value;
}

#endif
