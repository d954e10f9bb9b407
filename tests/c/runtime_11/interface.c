/* The runtime of CUDA 11, whose functions and structures of these names are others than those of 12: declared here, as no header of ours has them. Registered
 * as its compiler does it, a kernel runs, and what is behind a structure's end stays what it is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;

typedef struct {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, preferredShmemCarveout;
} Attributes;

typedef struct {
    int addressMode[3], filterMode, readMode, sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization;
} Texture;

typedef struct { int x, y, z, w, f; } Channels;

typedef struct {
    int type;
    union {
        struct { void *memory; Channels channels; size_t bytes; } linear;
        int all[14];
    } of;
} Resource;

void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid, void *block, void *grid, int *size);
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream);
int cudaFuncGetAttributes(Attributes *attributes, const void *function);
int cudaMalloc(void **memory, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaRuntimeGetVersion(int *version);
int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags);
int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphAddEmptyNode(void **node, void *graph, void *const *dependencies, size_t count);
int cudaGraphInstantiate(void **instance, void *graph, void **node, char *log, size_t bytes);
int cudaGraphExecUpdate(void *instance, void *graph, void **node, int *result);
int cudaCreateTextureObject(unsigned long long *object, const Resource *resource, const Texture *texture, const void *view);
int cudaGetTextureObjectTextureDesc(Texture *texture, unsigned long long object);
int cudaDestroyTextureObject(unsigned long long object);
int cudaGetDeviceProperties(void *properties, int device);
int cudaBindTexture(size_t *offset, const void *reference, const void *memory, const Channels *channels, size_t bytes);

#define CHECK(call)                                                            \
    do {                                                                       \
        int result = call;                                                     \
        if (result) {                                                          \
            printf("line %d: %d\n", __LINE__, result);                         \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static const char TEXT[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry twice(.param .u64 p) { .reg .b64 %p; .reg .b32 %x;\n"
                           "ld.param.u64 %p, [p]; ld.global.u32 %x, [%p]; add.u32 %x, %x, %x; st.global.u32 [%p], %x; ret; }\n";

/* A fat binary of one entry, which is text. */
static const void *fat_binary(void)
{
    static struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
        struct {
            uint16_t kind, version;
            uint32_t header;
            uint64_t bytes;
            uint32_t compressed, options;
            uint16_t minor, major;
            uint32_t arch, name_at, name_bytes;
            uint64_t flags, zero, size;
        } entry;
        char text[(sizeof TEXT + 7) / 8 * 8];
    } binary;
    static struct { int magic, version; const void *data; void *parts; } wrapper = {0x466243b1, 1, &binary, NULL};
    binary.magic = 0xba55ed50, binary.version = 1, binary.header = 16, binary.bytes = sizeof binary.entry + sizeof binary.text;
    binary.entry.kind = 1, binary.entry.version = 0x101, binary.entry.header = sizeof binary.entry, binary.entry.bytes = sizeof binary.text;
    binary.entry.minor = 0, binary.entry.major = 7, binary.entry.arch = 52, binary.entry.flags = 0x11;
    memcpy(binary.text, TEXT, sizeof TEXT);
    return &wrapper;
}

int main(void)
{
    static char twice;
    void **binary = __cudaRegisterFatBinary(fat_binary());
    __cudaRegisterFunction(binary, &twice, "twice", "twice", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(binary);

    int version, number = 21;
    CHECK(cudaRuntimeGetVersion(&version));
    void *memory;
    CHECK(cudaMalloc(&memory, 64));
    CHECK(cudaMemcpy(memory, &number, sizeof number, 1));
    dim3 one = {1, 1, 1};
    CHECK(cudaLaunchKernel(&twice, one, one, (void *[]){&memory}, 0, NULL));
    CHECK(cudaMemcpy(&number, memory, sizeof number, 2));
    printf("version %d, twice 21 is %d\n", version, number);

    struct { Attributes told; char behind[128]; } attributes;
    memset(&attributes, 0x5a, sizeof attributes);
    CHECK(cudaFuncGetAttributes(&attributes.told, &twice));
    int kept = 1;
    for (size_t at = 0; at < sizeof attributes.behind; at++)
        kept &= attributes.behind[at] == 0x5a;
    printf("threads %d, PTX %d, behind them %s\n", attributes.told.maxThreadsPerBlock, attributes.told.ptxVersion, kept ? "kept" : "written");

    struct { Texture texture; int behind; } texture = {{{1, 1, 1}, 0, 0, 0, {0}, 0, 0, 0, 0, 0, 0, 0}, 0x5a5a5a5a};
    Resource resource = {.type = 2, .of.linear = {memory, {32, 0, 0, 0, 1}, 64}};
    unsigned long long object;
    CHECK(cudaCreateTextureObject(&object, &resource, &texture.texture, NULL));
    CHECK(cudaGetTextureObjectTextureDesc(&texture.texture, object));
    CHECK(cudaDestroyTextureObject(object));
    printf("mode %d, behind it %s\n", texture.texture.addressMode[0], texture.behind == 0x5a5a5a5a ? "kept" : "written");

    void *function = NULL, *graph, *nodes[2], *instance, *wrong = NULL;
    CHECK(cudaGetDriverEntryPoint("cuMemAlloc", &function, 0));
    char log[64] = "nothing";
    int result = -1;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEmptyNode(&nodes[0], graph, NULL, 0));
    CHECK(cudaGraphInstantiate(&instance, graph, &wrong, log, sizeof log));
    CHECK(cudaGraphExecUpdate(instance, graph, &wrong, &result));
    CHECK(cudaGraphAddEmptyNode(&nodes[1], graph, NULL, 0));
    int refused = cudaGraphExecUpdate(instance, graph, &wrong, &result);
    printf("entry point %s, graph updated, then refused with %d for reason %d\n", function ? "found" : "missing", refused, result);

    size_t offset;
    printf("texture references %d\n", cudaBindTexture(&offset, NULL, memory, NULL, 64));
    char properties[728 + 64];
    memset(properties, 0x5a, sizeof properties);
    CHECK(cudaGetDeviceProperties(properties, 0));
    printf("properties up to byte 728: %s\n", properties[727] != 0x5a && properties[728] == 0x5a ? "yes" : "no");
    __cudaUnregisterFatBinary(binary);
    return 0;
}
