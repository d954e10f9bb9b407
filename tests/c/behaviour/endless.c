/* A kernel that waits: for as many milliseconds as the argument says, then for nothing more; for ever with 0. Prints what its end answers. */
#include "behaviour/expect.h"

#include <unistd.h>

int main(int count, char **arguments) {
    const char *name = "?";
    start();
    hold(NULL);
    if (count > 1 && atoi(arguments[1]) > 0) {
        usleep(atoi(arguments[1]) * 1000);
        release();
    }
    cuGetErrorName(cuCtxSynchronize(), &name);
    puts(name);
    return 0;
}
