// The name and the text of every error code.
#include "show.h"

int main() {
    // Those that came after 13.0.
    auto newer = [](int code) { return code == 10 || code == 227 || (code >= 917 && code <= 919); };
    for (int code = -1; code < 1100; code++) {
        if (newer(code)) continue;
        const char *name = cudaGetErrorName((cudaError_t)code);
        if (strcmp(name, "unrecognized error code") != 0) {
            printf("%d %s: %s\n", code, name, cudaGetErrorString((cudaError_t)code));
        }
    }
    for (int code : {-1, 11, 1100, 10000, 10001}) {
        printf("%d %s: %s\n", code, cudaGetErrorName((cudaError_t)code), cudaGetErrorString((cudaError_t)code));
    }
    LAST();
    return 0;
}
