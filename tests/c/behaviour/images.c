/* Fat binaries, whole and damaged, and linked images that go to another process. `images save FILE` links and writes the
   image, `images load FILE` runs what such a file holds. */
#include "expect.h"
#include "read_file.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static const char KERNEL[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry seven(.param .u64 to) {\n    .reg .b64 %d;\n    .reg .b32 %r;\n"
    "    ld.param.u64 %d, [to];\n    mov.u32 %r, 7;\n    st.global.u32 [%d], %r;\n    ret;\n}\n";
static const char CALLER[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".extern .func (.param .b32 out) answer();\n.extern .global .u32 offset;\n"
    ".visible .entry seven(.param .u64 to) {\n    .reg .b64 %d;\n    .reg .b32 %r<3>;\n"
    "    ld.param.u64 %d, [to];\n"
    "    { .param .b32 out; call.uni (out), answer, (); ld.param.b32 %r1, [out]; }\n"
    "    ld.global.u32 %r2, [offset];\n    add.u32 %r1, %r1, %r2;\n    st.global.u32 [%d], %r1;\n    ret;\n}\n";
static const char ANSWER[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .global .u32 offset = 2;\n"
    ".visible .func (.param .b32 out) answer() {\n    .reg .b32 %r;\n    mov.u32 %r, 5;\n    st.param.b32 [out], %r;\n    ret;\n}\n";

enum { PTX = 1, ELF = 2 };
enum packing { PLAIN = 0, LZ4 = 0x2000, ZSTD = 0x8000 };

/* A fat binary with one entry for a compute capability. Compressed data holds the bytes as they are, which both formats
   allow. */
static unsigned char *fat_binary(int kind, unsigned capability, enum packing packing, const void *content, size_t size,
                                 size_t *total) {
    unsigned char *image = calloc(1, size + 4096), *head = image + 16, *data = head + 64;
    size_t stored = 0;
    if (packing == PLAIN) {
        memcpy(data, content, size);
        stored = size;
    } else if (packing == LZ4) {
        data[stored++] = 0xf0; /* nothing but literals, 15 and more of them */
        size_t left = size - 15;
        for (; left >= 255; left -= 255) data[stored++] = 255;
        data[stored++] = (unsigned char)left;
        memcpy(data + stored, content, size);
        stored += size;
    } else {
        uint32_t magic = 0xfd2fb528, length = (uint32_t)size, block = (uint32_t)size << 3 | 1; /* the last block, raw */
        memcpy(data, &magic, 4);
        data[4] = 0xa0; /* one segment, four bytes of size */
        memcpy(data + 5, &length, 4);
        memcpy(data + 9, &block, 3);
        memcpy(data + 12, content, size);
        stored = 12 + size;
    }
    uint64_t padded = (stored + 7) / 8 * 8, flags = 1 | (uint64_t)packing, whole = packing == PLAIN ? 0 : size;
    uint32_t head_size = 64, compressed = packing == PLAIN ? 0 : (uint32_t)stored;
    uint16_t minor = 0, major = 7;
    *(uint16_t *)(head + 0) = (uint16_t)kind;
    *(uint16_t *)(head + 2) = 0x101;
    memcpy(head + 4, &head_size, 4);
    memcpy(head + 8, &padded, 8);
    memcpy(head + 16, &compressed, 4);
    memcpy(head + 24, &minor, 2);
    memcpy(head + 26, &major, 2);
    memcpy(head + 28, &capability, 4);
    memcpy(head + 40, &flags, 8);
    memcpy(head + 56, &whole, 8);
    uint32_t magic = 0xba55ed50;
    uint16_t version = 1, header = 16;
    uint64_t payload = 64 + padded;
    memcpy(image, &magic, 4);
    memcpy(image + 4, &version, 2);
    memcpy(image + 6, &header, 2);
    memcpy(image + 8, &payload, 8);
    *total = 16 + payload;
    return image;
}

static void run(CUmodule module) {
    CUfunction kernel;
    CUdeviceptr to;
    unsigned got = 0;
    void *parameters[] = {&to};
    OK(cuModuleGetFunction(&kernel, module, "seven"));
    OK(cuMemAlloc(&to, 4));
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, parameters, 0));
    OK(cuMemcpyDtoH(&got, to, 4));
    HOLDS(got == 7);
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
}

static void whole(void) {
    const enum packing packings[] = {PLAIN, LZ4, ZSTD};
    struct {
        uint32_t magic, version;
        const void *data, *more;
    } wrapper = {0x466243b1, 1, NULL, NULL};
    for (int index = 0; index < 3; index++) {
        size_t size;
        unsigned char *image = fat_binary(PTX, 52, packings[index], KERNEL, sizeof KERNEL, &size);
        CUmodule module;
        CUlibrary library;
        CUkernel kernel;
        OK(cuModuleLoadFatBinary(&module, image));
        run(module);
        OK(cuModuleLoadData(&module, image));
        run(module);
        wrapper.data = image;
        OK(cuModuleLoadData(&module, &wrapper));
        run(module);
        OK(cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
        OK(cuLibraryGetKernel(&kernel, library, "seven"));
        OK(cuLibraryUnload(library));
        free(image);
    }
}

static void only_machine_code(void) {
    unsigned char code[256] = "\177ELF\2\1\1";
    size_t size;
    unsigned char *image;
    char errors[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {errors, (void *)sizeof errors};
    CUmodule module;
    code[18] = 190; /* EM_CUDA */
    image = fat_binary(ELF, 90, PLAIN, code, sizeof code, &size);
    IS(NO_BINARY_FOR_GPU, cuModuleLoadDataEx(&module, image, 2, options, values));
    HOLDS(strstr(errors, "PTX") != NULL && strlen(errors) == (size_t)values[1]);
    puts(errors);
    /* PTX for a newer device only. */
    free(image);
    image = fat_binary(PTX, 120, PLAIN, KERNEL, sizeof KERNEL, &size);
    IS(NO_BINARY_FOR_GPU, cuModuleLoadData(&module, image));
    free(image);
}

/* Every length in the headers, at the end of what can be read: an error, and the process lives. */
static void damaged(void) {
    long page = sysconf(_SC_PAGESIZE);
    unsigned char *room = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t size;
    unsigned char *good = fat_binary(PTX, 52, LZ4, KERNEL, sizeof KERNEL, &size);
    HOLDS(room != MAP_FAILED && munmap(room + 2 * page, page) == 0 && size < (size_t)page);
    unsigned char *image = room + 2 * page - (size + 7) / 8 * 8;
    static const int places[] = {6, 8, 12, 15, 16 + 4, 16 + 8, 16 + 15, 16 + 16, 16 + 32, 16 + 36, 16 + 56, 16 + 63, 16 + 64};
    for (size_t index = 0; index < sizeof places / sizeof *places; index++) {
        for (int value = 0; value < 256; value += 51) {
            CUmodule module;
            memcpy(image, good, size);
            if (image[places[index]] == value) continue;
            image[places[index]] = (unsigned char)value;
            CUresult result = cuModuleLoadData(&module, image);
            if (result == CUDA_SUCCESS) OK(cuModuleUnload(module));
            else HOLDS(result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_INVALID_PTX
                       || result == CUDA_ERROR_NO_BINARY_FOR_GPU);
        }
    }
    /* ELF headers that promise more than there is. */
    memset(image, 0, size);
    memcpy(image, "\177ELF\2\1\1", 7);
    memset(image + 24, 0xff, 40);
    CUmodule module;
    HOLDS(cuModuleLoadData(&module, image) != CUDA_SUCCESS);
    free(good);
    munmap(room, 2 * page);
    munmap(room + 3 * page, page);
}

static void *link_parts(size_t *size, CUlinkState *state) {
    size_t bytes;
    void *image;
    unsigned char *fat = fat_binary(PTX, 52, ZSTD, ANSWER, sizeof ANSWER, &bytes);
    OK(cuLinkCreate(0, NULL, NULL, state));
    OK(cuLinkAddData(*state, CU_JIT_INPUT_PTX, (void *)CALLER, sizeof CALLER, "caller.ptx", 0, NULL, NULL));
    OK(cuLinkAddData(*state, CU_JIT_INPUT_FATBINARY, fat, bytes, "answer.fatbin", 0, NULL, NULL));
    free(fat);
    OK(cuLinkComplete(*state, &image, size));
    HOLDS(*size > 64 && memcmp(image, "\177ELF", 4) == 0);
    return image;
}

/* Every function that loads takes every kind of image, the one for fat binaries too (recorded). */
static void of_every_kind(void) {
    size_t size, bytes;
    CUlinkState state;
    unsigned char *fat = fat_binary(PTX, 52, PLAIN, KERNEL, sizeof KERNEL, &bytes);
    const void *linked = link_parts(&size, &state);
    const void *kinds[] = {KERNEL, fat, linked};
    for (int index = 0; index < 3; index++) {
        CUmodule module;
        OK(cuModuleLoadData(&module, kinds[index]));
        run(module);
        OK(cuModuleLoadDataEx(&module, kinds[index], 0, NULL, NULL));
        run(module);
        OK(cuModuleLoadFatBinary(&module, kinds[index]));
        run(module);
    }
    OK(cuLinkDestroy(state));
    free(fat);
}

/* Inputs of a link that are not there, are not what they are called, or end where nothing can be read. */
static void absurd_inputs(void) {
    long page = sysconf(_SC_PAGESIZE);
    char *room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(room != MAP_FAILED && munmap(room + page, page) == 0);
    char *text = room + page - sizeof KERNEL;
    memcpy(text, KERNEL, sizeof KERNEL);
    static const size_t sizes[] = {(size_t)1 << 20, (size_t)1 << 40, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX};
    static const CUjitInputType types[] = {CU_JIT_INPUT_CUBIN, CU_JIT_INPUT_PTX, CU_JIT_INPUT_FATBINARY, CU_JIT_INPUT_OBJECT,
                                           CU_JIT_INPUT_LIBRARY, (CUjitInputType)7, (CUjitInputType)-1};
    CUlinkState state;
    size_t size;
    void *image;
    OK(cuLinkCreate(0, NULL, NULL, &state));
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
        IS(INVALID_VALUE, cuLinkAddData(state, types[type], NULL, 16, "nothing", 0, NULL, NULL));
        IS(INVALID_VALUE, cuLinkAddData(state, types[type], text, 0, "empty", 0, NULL, NULL));
        for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
            HOLDS(cuLinkAddData(state, types[type], text, sizes[index], "beyond", 0, NULL, NULL) != CUDA_SUCCESS);
        /* A text may be called a fat binary, and ends a link as a cubin (tests/c/answers/links.c). */
        if (types[type] != CU_JIT_INPUT_PTX && types[type] != CU_JIT_INPUT_FATBINARY && types[type] != CU_JIT_INPUT_CUBIN)
            HOLDS(cuLinkAddData(state, types[type], text, sizeof KERNEL, "not of this kind", 0, NULL, NULL) != CUDA_SUCCESS);
    }
    IS(INVALID_VALUE, cuLinkAddData(state, CU_JIT_INPUT_PTX, text, sizeof KERNEL, "options", 1, NULL, NULL));
    /* None of that is in the link, which goes on. */
    OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, text, sizeof KERNEL, "kernel.ptx", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    CUmodule module;
    OK(cuModuleLoadData(&module, image));
    run(module);
    OK(cuLinkDestroy(state));
    munmap(room, page);
}

int main(int count, char **arguments) {
    const char *mode = count > 2 ? arguments[1] : "";
    size_t size;
    CUlinkState state;
    CUmodule module;
    start();
    if (strcmp(mode, "save") == 0) {
        void *image = link_parts(&size, &state);
        FILE *file = fopen(arguments[2], "wb");
        HOLDS(file != NULL && fwrite(image, 1, size, file) == size && fclose(file) == 0);
        OK(cuLinkDestroy(state));
    } else if (strcmp(mode, "load") == 0) {
        CUlibrary library;
        CUkernel kernel;
        void *image = read_file(arguments[2], NULL);
        OK(cuModuleLoadData(&module, image));
        run(module);
        OK(cuModuleLoad(&module, arguments[2]));
        run(module);
        OK(cuLibraryLoadFromFile(&library, arguments[2], NULL, NULL, 0, NULL, NULL, 0));
        OK(cuLibraryGetKernel(&kernel, library, "seven"));
    } else {
        CUmoduleLoadingMode loading;
        whole();
        only_machine_code();
        damaged();
        of_every_kind();
        absurd_inputs();
        OK(cuModuleGetLoadingMode(&loading));
        puts(loading == CU_MODULE_EAGER_LOADING ? "eager" : "lazy");
    }
    puts("done");
    return 0;
}
