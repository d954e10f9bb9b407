/* Texture and surface references, registered as the compiler of CUDA 11 does it: what is bound to them, how kernels read it, and what is refused. */
#include "registered.h"

typedef struct {
    int normalized, filterMode, addressMode[3];
    Channels channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, reserved[14];
} Texture;

typedef struct { Channels channelDesc; } Surface;

typedef struct { size_t width, height, depth; } Extent;

void __cudaRegisterTexture(void **handle, const Texture *host, const void **device, const char *name, int dim, int norm, int ext);
void __cudaRegisterSurface(void **handle, const Surface *host, const void **device, const char *name, int dim, int ext);
int cudaBindTexture(size_t *offset, const Texture *texture, const void *memory, const Channels *channels, size_t bytes);
int cudaBindTexture2D(size_t *offset, const Texture *texture, const void *memory, const Channels *channels, size_t width, size_t height, size_t pitch);
int cudaBindTextureToArray(const Texture *texture, void *array, const Channels *channels);
int cudaBindTextureToMipmappedArray(const Texture *texture, void *array, const Channels *channels);
int cudaUnbindTexture(const Texture *texture);
int cudaGetTextureAlignmentOffset(size_t *offset, const Texture *texture);
int cudaGetTextureReference(const Texture **texture, const void *symbol);
int cudaBindSurfaceToArray(const Surface *surface, void *array, const Channels *channels);
int cudaGetSurfaceReference(const Surface **surface, const void *symbol);
int cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height);
int cudaMallocArray(void **array, const Channels *channels, size_t width, size_t height, unsigned flags);
int cudaFreeArray(void *array);
int cudaMallocMipmappedArray(void **array, const Channels *channels, Extent extent, unsigned levels, unsigned flags);
int cudaGetMipmappedArrayLevel(void **level, void *array, unsigned number);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind);
int cudaMemcpy2DToArray(void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind);
int cudaMemcpy2DFromArray(void *to, size_t pitch, void *array, size_t x, size_t y, size_t width, size_t height, int kind);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cudaGetLastError(void);
int cudaSetDevice(int device);

enum {
    SUCCESS = 0, INVALID_VALUE = 1, INVALID_TEXTURE = 18, INVALID_TEXTURE_BINDING = 19, INVALID_CHANNELS = 20, INVALID_FILTER = 26, INVALID_NORM = 27, INVALID_SURFACE = 37,
    INVALID_RESOURCE = 400
};
enum { WRAP, CLAMP, MIRROR, BORDER };
enum { TO_DEVICE = 1, FROM_DEVICE = 2 };

static int wrong;

#define IS(expected, call)                                                                         \
    do {                                                                                           \
        int answer = call;                                                                         \
        if (answer != (expected)) {                                                                \
            printf("line %d: %s answers %d, not %s\n", __LINE__, #call, answer, #expected);        \
            wrong = 1;                                                                             \
        }                                                                                          \
    } while (0)
#define OK(call) IS(SUCCESS, call)
#define READS(expected, call)                                                                      \
    do {                                                                                           \
        float seen = call;                                                                         \
        if (seen != (expected)) {                                                                  \
            printf("line %d: %s is %g, not %s\n", __LINE__, #call, (double)seen, #expected);       \
            wrong = 1;                                                                             \
        }                                                                                          \
    } while (0)
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: not so: %s\n", __LINE__, #condition);                                 \
            wrong = 1;                                                                             \
        }                                                                                          \
    } while (0)

/* Every kernel takes the place of a result, two coordinates and a level or value. */
#define KERNEL(name, body)                                                                         \
    ".visible .entry " name "(.param .u64 out, .param .f32 x, .param .f32 y, .param .f32 z) {\n"   \
    ".reg .b64 %d; .reg .f32 %x, %y, %z, %f<4>; .reg .b32 %i, %j, %r<4>;\n"                        \
    "ld.param.u64 %d, [out]; ld.param.f32 %x, [x]; ld.param.f32 %y, [y]; ld.param.f32 %z, [z];\n"  \
    "cvt.rzi.s32.f32 %i, %x; cvt.rzi.s32.f32 %j, %y;\n" body "\nret;\n}\n"
#define FLOATS "{%f0, %f1, %f2, %f3}"
#define STORE "st.global.f32 [%d], %f0;"

static const char TEXT[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".global .texref line;\n.global .texref plane;\n.global .texref levels;\n.global .texref whole;\n.global .texref fractions;\n.global .surfref image;\n"
    KERNEL("line_at", "tex.1d.v4.f32.s32 " FLOATS ", [line, {%i}]; " STORE)
    KERNEL("plane_at", "tex.2d.v4.f32.f32 " FLOATS ", [plane, {%x, %y}]; " STORE)
    KERNEL("level_at", "tex.level.2d.v4.f32.f32 " FLOATS ", [levels, {%x, %y}], %z; " STORE)
    KERNEL("whole_at", "tex.1d.v4.s32.s32 {%r0, %r1, %r2, %r3}, [whole, {%i}]; cvt.rn.f32.s32 %f0, %r0; " STORE)
    KERNEL("fraction_at", "tex.1d.v4.f32.s32 " FLOATS ", [fractions, {%i}]; " STORE)
    KERNEL("image_at", "shl.b32 %i, %i, 2; suld.b.2d.b32.trap {%r0}, [image, {%i, %j}]; st.global.b32 [%d], %r0;")
    KERNEL("paint", "shl.b32 %i, %i, 2; mov.b32 %r0, %z; sust.b.2d.b32.trap [image, {%i, %j}], {%r0};");

static const char *const KERNELS[] = {"line_at", "plane_at", "level_at", "whole_at", "fraction_at", "image_at", "paint"};
enum { LINE_AT, PLANE_AT, LEVEL_AT, WHOLE_AT, FRACTION_AT, IMAGE_AT, PAINT };
static char stand_ins[7];

static void *out;

/* What a kernel reads; a number that no texel has if it fails. */
static float read_by(int kernel, float x, float y, float z)
{
    const dim3 one = {1, 1, 1};
    float result = -1000;
    OK(cudaLaunchKernel(&stand_ins[kernel], one, one, (void *[]){&out, &x, &y, &z}, 0, NULL));
    OK(cudaMemcpy(&result, out, sizeof result, FROM_DEVICE));
    return result;
}

static const Channels FLOAT = {32, 0, 0, 0, 2}, WORD = {32, 0, 0, 0, 0}, BYTE = {8, 0, 0, 0, 1}, UNEVEN = {8, 16, 0, 0, 1};

/* As the constructor of the template leaves them: zeros, but for the address mode. */
static Texture line = {.addressMode = {CLAMP, CLAMP, CLAMP}}, plane, levels, whole, fractions, lacking, unknown;
static Surface image, no_image;

static void linear_memory(void)
{
    float numbers[256];
    for (int at = 0; at < 256; at++)
        numbers[at] = at;
    float *memory, *other;
    OK(cudaMalloc((void **)&memory, sizeof numbers));
    OK(cudaMalloc((void **)&other, sizeof numbers));
    OK(cudaMemcpy(memory, numbers, sizeof numbers, TO_DEVICE));
    size_t offset = 99;

    IS(INVALID_TEXTURE_BINDING, cudaGetTextureAlignmentOffset(&offset, &line));
    OK(cudaUnbindTexture(&line));
    OK(cudaBindTexture(&offset, &line, memory, &FLOAT, sizeof numbers));
    HOLDS(offset == 0);
    READS(7, read_by(LINE_AT, 7, 0, 0));
    READS(255, read_by(LINE_AT, 255, 0, 0));
    READS(0, read_by(LINE_AT, 256, 0, 0));

    /* Between two places where textures can start. */
    IS(INVALID_VALUE, cudaBindTexture(NULL, &line, memory + 3, &FLOAT, 64));
    READS(7, read_by(LINE_AT, 7, 0, 0));
    OK(cudaBindTexture(&offset, &line, memory + 3, &FLOAT, 64));
    HOLDS(offset == 12);
    READS(3, read_by(LINE_AT, 3, 0, 0));
    READS(18, read_by(LINE_AT, 3 + 15, 0, 0));
    READS(0, read_by(LINE_AT, 3 + 16, 0, 0));
    offset = 99;
    OK(cudaGetTextureAlignmentOffset(&offset, &line));
    HOLDS(offset == 12);

    /* Without a size: to the end of the allocation. */
    OK(cudaBindTexture(NULL, &line, memory + 128, &FLOAT, UINT32_MAX));
    READS(255, read_by(LINE_AT, 127, 0, 0));
    READS(0, read_by(LINE_AT, 128, 0, 0));
    IS(INVALID_VALUE, cudaBindTexture(NULL, &line, (void *)4096, &FLOAT, UINT32_MAX));

    /* Another place; what lies at the first one is not read any more. */
    OK(cudaMemcpy(other, numbers + 100, 64, TO_DEVICE));
    OK(cudaBindTexture(NULL, &line, other, &FLOAT, 64));
    READS(102, read_by(LINE_AT, 2, 0, 0));
    OK(cudaGetTextureAlignmentOffset(&offset, &line));
    HOLDS(offset == 0);
    OK(cudaUnbindTexture(&line));
    IS(INVALID_TEXTURE_BINDING, cudaGetTextureAlignmentOffset(&offset, &line));
    OK(cudaUnbindTexture(&line));

    IS(INVALID_VALUE, cudaBindTexture(NULL, &line, memory, &FLOAT, (size_t)1 << 40));
    IS(INVALID_VALUE, cudaBindTexture(NULL, &line, memory, NULL, 64));
    IS(INVALID_CHANNELS, cudaBindTexture(NULL, &line, memory, &UNEVEN, 64));
    IS(INVALID_TEXTURE, cudaBindTexture(NULL, NULL, memory, &FLOAT, 64));
    IS(INVALID_TEXTURE, cudaBindTexture(NULL, &unknown, memory, &FLOAT, 64));
    IS(INVALID_TEXTURE, cudaBindTexture(NULL, &lacking, memory, &FLOAT, 64));
    IS(INVALID_TEXTURE, cudaUnbindTexture(NULL));
    IS(INVALID_TEXTURE, cudaUnbindTexture(&unknown));
    IS(INVALID_TEXTURE, cudaGetTextureAlignmentOffset(&offset, &unknown));
    IS(INVALID_VALUE, cudaGetTextureAlignmentOffset(NULL, &line));
    IS(INVALID_VALUE, cudaGetLastError());
    OK(cudaGetLastError());
}

/* Whole numbers, as the code was compiled to read them. */
static void whole_numbers(void)
{
    const unsigned char numbers[4] = {0, 255, 51, 7};
    void *memory;
    OK(cudaMalloc(&memory, sizeof numbers));
    OK(cudaMemcpy(memory, numbers, sizeof numbers, TO_DEVICE));
    OK(cudaBindTexture(NULL, &whole, memory, &BYTE, sizeof numbers));
    READS(51, read_by(WHOLE_AT, 2, 0, 0));
    OK(cudaBindTexture(NULL, &fractions, memory, &BYTE, sizeof numbers));
    READS(1, read_by(FRACTION_AT, 1, 0, 0));
    READS(0.2f, read_by(FRACTION_AT, 2, 0, 0));

    IS(INVALID_NORM, cudaBindTexture(NULL, &fractions, memory, &WORD, sizeof numbers));
    whole.filterMode = 1;
    IS(INVALID_FILTER, cudaBindTexture(NULL, &whole, memory, &BYTE, sizeof numbers));
    whole.filterMode = 0;
    whole.addressMode[0] = 9;
    IS(INVALID_VALUE, cudaBindTexture(NULL, &whole, memory, &BYTE, sizeof numbers));
}

static void rows(void)
{
    float numbers[4][8];
    for (int at = 0; at < 32; at++)
        numbers[at / 8][at % 8] = 10 * (at / 8) + at % 8;
    char *memory;
    size_t pitch, offset = 99;
    OK(cudaMallocPitch((void **)&memory, &pitch, sizeof numbers[0], 4));
    OK(cudaMemcpy2D(memory, pitch, numbers, sizeof numbers[0], sizeof numbers[0], 4, TO_DEVICE));
    OK(cudaBindTexture2D(&offset, &plane, memory, &FLOAT, 8, 4, pitch));
    HOLDS(offset == 0);
    READS(23, read_by(PLANE_AT, 3.5f, 2.5f, 0));
    plane.addressMode[0] = plane.addressMode[1] = BORDER;
    OK(cudaBindTexture2D(&offset, &plane, memory, &FLOAT, 8, 4, pitch));
    READS(0, read_by(PLANE_AT, 8.5f, 2.5f, 0));
    plane.addressMode[0] = plane.addressMode[1] = CLAMP;
    OK(cudaBindTexture2D(NULL, &plane, memory, &FLOAT, 8, 4, pitch));
    READS(27, read_by(PLANE_AT, 8.5f, 2.5f, 0));

    /* From the third column on: the rows are longer by the two that are before it. */
    IS(INVALID_VALUE, cudaBindTexture2D(NULL, &plane, memory + 8, &FLOAT, 8, 4, pitch));
    OK(cudaBindTexture2D(&offset, &plane, memory + 8, &FLOAT, 6 + 2, 4, pitch));
    HOLDS(offset == 8);
    READS(17, read_by(PLANE_AT, 2 + 5.5f, 1.5f, 0));
    OK(cudaGetTextureAlignmentOffset(&offset, &plane));
    HOLDS(offset == 8);

    IS(INVALID_VALUE, cudaBindTexture2D(NULL, &plane, memory, &FLOAT, 8, 4, pitch + 4));
    IS(INVALID_VALUE, cudaBindTexture2D(NULL, &plane, memory, &FLOAT, pitch / 4 + 1, 4, pitch));
    IS(INVALID_VALUE, cudaBindTexture2D(NULL, &plane, memory, &FLOAT, 1 << 30, 1, (size_t)1 << 32));
    IS(INVALID_VALUE, cudaBindTexture2D(NULL, &plane, memory, NULL, 8, 4, pitch));
    IS(INVALID_CHANNELS, cudaBindTexture2D(NULL, &plane, memory, &UNEVEN, 8, 4, pitch));
    IS(INVALID_TEXTURE, cudaBindTexture2D(NULL, NULL, memory, &FLOAT, 8, 4, pitch));
    IS(INVALID_TEXTURE, cudaBindTexture2D(NULL, &unknown, memory, &FLOAT, 8, 4, pitch));
}

/* An array of floats, which count on from `first` in ones along x and in tens along y. */
static void fill(void *array, size_t width, size_t height, float first)
{
    float numbers[16];
    for (size_t at = 0; at < width * height; at++)
        numbers[at] = first + 10 * (at / width) + at % width;
    OK(cudaMemcpy2DToArray(array, 0, 0, numbers, width * sizeof(float), width * sizeof(float), height, TO_DEVICE));
}

static void arrays(void)
{
    void *first, *second;
    OK(cudaMallocArray(&first, &FLOAT, 4, 4, 0));
    fill(first, 4, 4, 0);
    plane.normalized = 1, plane.filterMode = 1, plane.addressMode[0] = plane.addressMode[1] = WRAP;
    OK(cudaBindTextureToArray(&plane, first, &FLOAT));
    READS(16.5f, read_by(PLANE_AT, 0.5f, 0.5f, 0));
    READS(1.5f, read_by(PLANE_AT, 1.5f, 1.125f, 0));
    READS(16.5f, read_by(PLANE_AT, 1, 0.5f, 0));
    size_t offset = 99;
    OK(cudaGetTextureAlignmentOffset(&offset, &plane));
    HOLDS(offset == 0);

    /* Another array, when the first is gone, nearest texels by their number. */
    OK(cudaMallocArray(&second, &FLOAT, 4, 4, 0));
    fill(second, 4, 4, 500);
    OK(cudaFreeArray(first));
    plane.normalized = 0, plane.filterMode = 0, plane.addressMode[0] = plane.addressMode[1] = CLAMP;
    OK(cudaBindTextureToArray(&plane, second, &FLOAT));
    READS(523, read_by(PLANE_AT, 3.9f, 2.1f, 0));
    READS(530, read_by(PLANE_AT, -1, 9, 0));

    IS(INVALID_RESOURCE, cudaBindTextureToArray(&plane, NULL, &FLOAT));
    IS(INVALID_VALUE, cudaBindTextureToArray(&plane, second, NULL));
    IS(INVALID_CHANNELS, cudaBindTextureToArray(&plane, second, &UNEVEN));
    IS(INVALID_TEXTURE, cudaBindTextureToArray(NULL, second, &FLOAT));
    IS(INVALID_TEXTURE, cudaBindTextureToArray(&unknown, second, &FLOAT));
}

static void mip_levels(void)
{
    void *array, *level;
    OK(cudaMallocMipmappedArray(&array, &FLOAT, (Extent){4, 4, 0}, 3, 0));
    for (unsigned number = 0; number < 3; number++) {
        OK(cudaGetMipmappedArrayLevel(&level, array, number));
        fill(level, 4 >> number, 4 >> number, 100 * number);
    }
    levels.normalized = 1, levels.maxMipmapLevelClamp = 2;
    OK(cudaBindTextureToMipmappedArray(&levels, array, &FLOAT));
    READS(22, read_by(LEVEL_AT, 0.625f, 0.625f, 0));
    READS(111, read_by(LEVEL_AT, 0.625f, 0.625f, 1));
    READS(200, read_by(LEVEL_AT, 0.625f, 0.625f, 7));
    levels.mipmapFilterMode = 1;
    OK(cudaBindTextureToMipmappedArray(&levels, array, &FLOAT));
    READS(155.5f, read_by(LEVEL_AT, 0.625f, 0.625f, 1.5f));
    levels.mipmapLevelBias = 1;
    OK(cudaBindTextureToMipmappedArray(&levels, array, &FLOAT));
    READS(111, read_by(LEVEL_AT, 0.625f, 0.625f, 0));
    levels.mipmapLevelBias = 0, levels.minMipmapLevelClamp = levels.maxMipmapLevelClamp = 2;
    OK(cudaBindTextureToMipmappedArray(&levels, array, &FLOAT));
    READS(200, read_by(LEVEL_AT, 0.625f, 0.625f, 0));

    IS(INVALID_RESOURCE, cudaBindTextureToMipmappedArray(&levels, NULL, &FLOAT));
    IS(INVALID_VALUE, cudaBindTextureToMipmappedArray(&levels, array, NULL));
    IS(INVALID_TEXTURE, cudaBindTextureToMipmappedArray(&unknown, array, &FLOAT));
}

static void surfaces(void)
{
    void *first, *second;
    OK(cudaMallocArray(&first, &FLOAT, 4, 4, 2));
    OK(cudaMallocArray(&second, &FLOAT, 4, 4, 2));
    fill(first, 4, 4, 0);
    fill(second, 4, 4, 50);
    OK(cudaBindSurfaceToArray(&image, first, &FLOAT));
    READS(12, read_by(IMAGE_AT, 2, 1, 0));
    read_by(PAINT, 2, 1, 0.5f);
    READS(0.5f, read_by(IMAGE_AT, 2, 1, 0));
    OK(cudaBindSurfaceToArray(&image, second, &FLOAT));
    READS(62, read_by(IMAGE_AT, 2, 1, 0));
    float painted[4];
    OK(cudaMemcpy2DFromArray(painted, sizeof painted, first, 0, 1, sizeof painted, 1, FROM_DEVICE));
    HOLDS(painted[1] == 11 && painted[2] == 0.5f && painted[3] == 13);

    IS(INVALID_RESOURCE, cudaBindSurfaceToArray(&image, NULL, &FLOAT));
    IS(INVALID_VALUE, cudaBindSurfaceToArray(&image, first, NULL));
    IS(INVALID_SURFACE, cudaBindSurfaceToArray(NULL, first, &FLOAT));
    IS(INVALID_SURFACE, cudaBindSurfaceToArray(&no_image, first, &FLOAT));
}

static void by_symbol(void)
{
    const Texture *texture = NULL;
    const Surface *surface = NULL;
    OK(cudaGetTextureReference(&texture, &plane));
    HOLDS(texture == &plane);
    OK(cudaGetSurfaceReference(&surface, &image));
    HOLDS(surface == &image);
    IS(INVALID_TEXTURE, cudaGetTextureReference(&texture, NULL));
    IS(INVALID_TEXTURE, cudaGetTextureReference(&texture, &image));
    IS(INVALID_SURFACE, cudaGetSurfaceReference(&surface, &plane));
    IS(INVALID_VALUE, cudaGetTextureReference(NULL, &plane));
    IS(INVALID_VALUE, cudaGetSurfaceReference(NULL, &image));
    HOLDS(texture == &plane && surface == &image);
}

/* Each device has bindings of its own, which end with its context. */
static void devices(void)
{
    const float numbers[2] = {4, 5}, others[2] = {6, 7};
    void *memory, *other, *first_out = out;
    size_t offset;
    OK(cudaMalloc(&memory, sizeof numbers));
    OK(cudaMemcpy(memory, numbers, sizeof numbers, TO_DEVICE));
    OK(cudaBindTexture(NULL, &line, memory, &FLOAT, sizeof numbers));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&out, 64));
    IS(INVALID_TEXTURE_BINDING, cudaGetTextureAlignmentOffset(&offset, &line));
    OK(cudaMalloc(&other, sizeof others));
    OK(cudaMemcpy(other, others, sizeof others, TO_DEVICE));
    OK(cudaBindTexture(NULL, &line, other, &FLOAT, sizeof others));
    READS(7, read_by(LINE_AT, 1, 0, 0));
    OK(cudaDeviceReset());
    IS(INVALID_TEXTURE_BINDING, cudaGetTextureAlignmentOffset(&offset, &line));
    OK(cudaSetDevice(0));
    out = first_out;
    READS(5, read_by(LINE_AT, 1, 0, 0));
}

int main(void)
{
    void **binary = __cudaRegisterFatBinary(fat_binary(TEXT));
    for (int at = 0; at < 7; at++)
        __cudaRegisterFunction(binary, &stand_ins[at], (char *)KERNELS[at], KERNELS[at], -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterTexture(binary, &line, NULL, "line", 1, 0, 0);
    __cudaRegisterTexture(binary, &plane, NULL, "plane", 2, 0, 0);
    __cudaRegisterTexture(binary, &levels, NULL, "levels", 2, 0, 0);
    __cudaRegisterTexture(binary, &whole, NULL, "whole", 1, 0, 0);
    __cudaRegisterTexture(binary, &fractions, NULL, "fractions", 1, 1, 0);
    __cudaRegisterTexture(binary, &lacking, NULL, "lacking", 1, 0, 0);
    __cudaRegisterSurface(binary, &image, NULL, "image", 2, 0);
    __cudaRegisterFatBinaryEnd(binary);
    plane = levels = whole = fractions = lacking = unknown = line;

    OK(cudaMalloc(&out, 64));
    linear_memory();
    whole_numbers();
    rows();
    arrays();
    mip_levels();
    surfaces();
    by_symbol();
    devices();

    /* Nothing is read of what is not bound any more. */
    const dim3 one = {1, 1, 1};
    float at = 0;
    OK(cudaUnbindTexture(&line));
    OK(cudaLaunchKernel(&stand_ins[LINE_AT], one, one, (void *[]){&out, &at, &at, &at}, 0, NULL));
    HOLDS(cudaDeviceSynchronize() != SUCCESS);

    __cudaUnregisterFatBinary(binary);
    IS(INVALID_TEXTURE, cudaGetTextureReference(&(const Texture *){NULL}, &line));
    IS(INVALID_SURFACE, cudaGetSurfaceReference(&(const Surface *){NULL}, &image));
    puts(wrong ? "wrong" : "all as it should be");
    return wrong;
}
