/* What the runtime of CUDA 11 has otherwise than 12. Registered as its compiler does it, a kernel runs, and what is behind a structure's end stays what it is. */
#include "registered.h"

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

typedef struct {
    int type;
    union {
        struct { void *memory; Channels channels; size_t bytes; } linear;
        int all[14];
    } of;
} Resource;

int cudaFuncGetAttributes(Attributes *attributes, const void *function);
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

int main(void)
{
    static char twice;
    void **binary = __cudaRegisterFatBinary(fat_binary(TEXT));
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

    char properties[728 + 64];
    memset(properties, 0x5a, sizeof properties);
    CHECK(cudaGetDeviceProperties(properties, 0));
    printf("properties up to byte 728: %s\n", properties[727] != 0x5a && properties[728] == 0x5a ? "yes" : "no");
    __cudaUnregisterFatBinary(binary);
    return 0;
}
