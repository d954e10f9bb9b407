/* Export tables: none of NVIDIA's is there, and who asks for the one that its runtime library needs is told why it will not go on. */
#include "expect.h"

int main(void) {
    static const CUuuid authentication = {{(char)0xd4, 0x08, 0x20, 0x55, (char)0xbd, (char)0xe6, 0x70, 0x4b, (char)0x8d, 0x34, (char)0xba, 0x12, 0x3c, 0x66,
                                           (char)0xe1, (char)0xf2}};
    static const CUuuid unknown = {{1, 2, 3}};
    const void *table = &table;
    start();
    IS(INVALID_VALUE, cuGetExportTable(&table, &unknown));
    IS(INVALID_VALUE, cuGetExportTable(&table, &authentication));
    IS(INVALID_VALUE, cuGetExportTable(&table, &authentication));
    IS(INVALID_VALUE, cuGetExportTable(&table, NULL));
    IS(INVALID_VALUE, cuGetExportTable(NULL, &unknown));
    HOLDS(table == &table);
    puts("done");
    return 0;
}
