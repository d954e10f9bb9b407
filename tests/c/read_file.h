/* Whole files, as the examples load them: with a NUL behind, so that PTX is a string. */
#ifndef READ_FILE_H
#define READ_FILE_H

#include <stdio.h>
#include <stdlib.h>

static inline char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    long length;
    char *data;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    rewind(file);
    data = (char *)malloc((size_t)length + 1);
    if (data == NULL || fread(data, 1, (size_t)length, file) != (size_t)length) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    data[length] = 0;
    if (size != NULL) *size = (size_t)length;
    return data;
}

#endif
