/* Export tables: none of NVIDIA's is there, and who asks for the one that its runtime library needs is told why it will not go
   on: once, whichever table is asked for first. The argument says which that is. */
#include "expect.h"

int main(int argc, char **argv) {
    /* Those that runtime libraries of CUDA 11, 12 and 13 ask for. */
    static const unsigned char names[][16] = {
        {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2},
        {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
        {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9}};
    static const CUuuid unknown = {{1, 2, 3}};
    const void *table = &table;
    CUuuid id;
    int first = argc > 1 ? atoi(argv[1]) : 0;
    start();
    IS(INVALID_VALUE, cuGetExportTable(&table, &unknown));
    for (int i = 0; i < 4; i++) {
        memcpy(&id, names[(first + i) % 3], sizeof id);
        IS(INVALID_VALUE, cuGetExportTable(&table, &id));
    }
    IS(INVALID_VALUE, cuGetExportTable(&table, NULL));
    IS(INVALID_VALUE, cuGetExportTable(NULL, &unknown));
    HOLDS(table == &table);
    puts("done");
    return 0;
}
