/* PTX for a newer device than there is: refused as by NVIDIA's driver, and the log says which device loads it. */
#include "behaviour/expect.h"

int main(void) {
    static const char NEWER[] = ".version 8.8\n.target sm_121\n.address_size 64\n.visible .entry k() { ret; }\n";
    CUmodule module;
    CUlogIterator end;
    char lines[4096];
    size_t size = sizeof lines;
    start();
    OK(cuLogsCurrent(&end, 0));
    for (int i = 0; i < 2; i++) IS(INVALID_PTX, cuModuleLoadData(&module, NEWER));
    OK(cuLogsDumpToMemory(&end, lines, &size, 0));
    HOLDS(strstr(lines, "a device sm_121 loads it") != NULL);
    puts("done");
    return 0;
}
