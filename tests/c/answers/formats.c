// Array formats beyond those of plain channels: which there are, what arrays, their planes, textures and surfaces of them answer, and what is read and written, for recording and comparison as
// in answers.c. formats.golden is what NVIDIA's driver printed (CUDA 13.0, H100).
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> formats.c -o formats -lcuda; ./formats [SCENARIO]
//
// Many values are one line: their checksum, and four of them.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long u64;
static const char *nm(CUresult r) {
  const char *s = 0;
  return cuGetErrorName(r, &s) == CUDA_SUCCESS && s ? s : "unknown code";
}
// Without CUDA_ERROR_, for lines with several answers.
static const char *brief(CUresult r) { return r ? nm(r) + 11 : "ok"; }
#define T(e)                            \
  do {                                  \
    CUresult r_ = (e);                  \
    printf("%s = %s\n", #e, nm(r_)); \
    fflush(stdout);                     \
  } while (0)
#define V(fmt, ...)                     \
  do {                                  \
    printf("    " fmt "\n", __VA_ARGS__); \
    fflush(stdout);                     \
  } while (0)

// The formats that arrays are made of here: number, channels, bytes of a texel.
static const struct Known {
  const char *name;
  int number, channels, bytes;
} KNOWN[] = {
    {"unorm 8", 192, 1, 1},         {"unorm 8, two", 193, 2, 2},   {"unorm 8, four", 194, 4, 4},   {"unorm 16", 195, 1, 2},        {"unorm 16, two", 196, 2, 4},
    {"unorm 16, four", 197, 4, 8},  {"snorm 8", 198, 1, 1},        {"snorm 8, two", 199, 2, 2},    {"snorm 8, four", 200, 4, 4},   {"snorm 16", 201, 1, 2},
    {"snorm 16, two", 202, 2, 4},   {"snorm 16, four", 203, 4, 8}, {"unorm 10:10:10:2", 80, 4, 4},
    {"bytes", 1, 4, 4},             {"floats", 32, 1, 4},
};
enum { ALL_KNOWN = sizeof KNOWN / sizeof *KNOWN };
// Formats beyond the plain ones, and two of those, with as many channels as each has.
static const int FORMATS[][2] = {
    {1, 4},  {32, 1}, {192, 1}, {193, 2}, {194, 4}, {195, 1}, {196, 2}, {197, 4}, {198, 1}, {199, 2}, {200, 4}, {201, 1}, {202, 2}, {203, 4}, {80, 4}, {81, 4}, {82, 4}, {83, 3}, {84, 3},
    {85, 3}, {86, 3}, {87, 3},  {88, 3},  {89, 3},  {90, 3},  {91, 3},  {92, 3},  {93, 3},  {94, 3},  {176, 3}, {159, 3}, {161, 3}, {162, 3}, {163, 3}, {164, 3}, {178, 3}, {179, 3}, {180, 3}, {181, 3},
};
// Compressed blocks, and images whose brightness and colours lie among each other.
static const int BLOCKS[][2] = {{145, 4}, {146, 4}, {147, 4}, {148, 4}, {149, 4}, {150, 4}, {151, 1}, {152, 1}, {153, 2}, {154, 2}, {155, 3}, {156, 3}, {157, 4}, {158, 4}};
static const int INTERLEAVED[][2] = {{165, 4}, {166, 2}, {167, 2}, {168, 4}, {169, 1}, {177, 4}};
enum { ALL_FORMATS = sizeof FORMATS / sizeof *FORMATS, VIDEO = 256 };

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry sample(.param .u64 t, .param .u64 p, .param .f32 sx, .param .f32 sy) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[p];"
    " ld.param.f32 %f0,[sx]; ld.param.f32 %f1,[sy]; mov.u32 %r0,%tid.x; cvt.rn.f32.u32 %f2,%r0; mul.f32 %f0,%f0,%f2; mul.f32 %f1,%f1,%f2; tex.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1}];"
    " mul.wide.u32 %d2,%r0,16; add.u64 %d1,%d1,%d2; st.global.v4.u32 [%d1],{%r1,%r2,%r3,%r4}; ret; }\n"
    // The same of one dimension, of three, and of levels, with what is y for two once more.
    ".visible .entry line(.param .u64 t, .param .u64 p, .param .f32 sx, .param .f32 sy) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[p];"
    " ld.param.f32 %f0,[sx]; mov.u32 %r0,%tid.x; cvt.rn.f32.u32 %f2,%r0; mul.f32 %f0,%f0,%f2; tex.1d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0}];"
    " mul.wide.u32 %d2,%r0,16; add.u64 %d1,%d1,%d2; st.global.v4.u32 [%d1],{%r1,%r2,%r3,%r4}; ret; }\n"
    ".visible .entry box(.param .u64 t, .param .u64 p, .param .f32 sx, .param .f32 sy) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[p];"
    " ld.param.f32 %f0,[sx]; ld.param.f32 %f1,[sy]; mov.u32 %r0,%tid.x; cvt.rn.f32.u32 %f2,%r0; mul.f32 %f0,%f0,%f2; mul.f32 %f1,%f1,%f2; tex.3d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1,%f1,%f1}];"
    " mul.wide.u32 %d2,%r0,16; add.u64 %d1,%d1,%d2; st.global.v4.u32 [%d1],{%r1,%r2,%r3,%r4}; ret; }\n"
    ".visible .entry levels(.param .u64 t, .param .u64 p, .param .f32 sx, .param .f32 sy) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[p];"
    " ld.param.f32 %f0,[sx]; ld.param.f32 %f1,[sy]; mov.u32 %r0,%tid.x; cvt.rn.f32.u32 %f2,%r0; mul.f32 %f0,%f0,%f2; mul.f32 %f1,%f1,%f2; tex.level.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1}],%f1;"
    " mul.wide.u32 %d2,%r0,16; add.u64 %d1,%d1,%d2; st.global.v4.u32 [%d1],{%r1,%r2,%r3,%r4}; ret; }\n"
    ".visible .entry read(.param .u64 s, .param .u64 p) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .b16 %h; ld.param.u64 %d0,[s]; ld.param.u64 %d1,[p]; mov.u32 %r0,%tid.x; mov.u32 %r2,%ctaid.x;"
    " suld.b.2d.b8.zero %h,[%d0,{%r0,%r2}]; cvt.u32.u16 %r3,%h; mov.u32 %r4,%ntid.x; mad.lo.u32 %r5,%r4,%r2,%r0; mul.wide.u32 %d2,%r5,4; add.u64 %d1,%d1,%d2; st.global.u32 [%d1],%r3; ret; }\n"
    ".visible .entry write(.param .u64 s) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .b16 %h; ld.param.u64 %d0,[s]; mov.u32 %r0,%tid.x; mov.u32 %r2,%ctaid.x;"
    " mad.lo.u32 %r5,%r2,37,%r0; cvt.u16.u32 %h,%r5; sust.b.2d.b8.zero [%d0,{%r0,%r2}],%h; ret; }\n"
    // What formatted stores make of floats, and of whole numbers.
    ".visible .entry format(.param .u64 s, .param .u64 p) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .b32 %v<4>; ld.param.u64 %d0,[s]; ld.param.u64 %d1,[p]; mov.u32 %r0,%tid.x; mov.u32 %r2,%ctaid.x;"
    " mad.lo.u32 %r5,%r2,8,%r0; mul.wide.u32 %d2,%r5,16; add.u64 %d1,%d1,%d2; ld.global.v4.u32 {%v0,%v1,%v2,%v3},[%d1]; sust.p.2d.v4.b32.zero [%d0,{%r0,%r2}],{%v0,%v1,%v2,%v3}; ret; }\n"
    ".visible .entry sizes(.param .u64 t, .param .u64 s, .param .u64 p) { .reg .b64 %d<4>; .reg .b32 %r<8>; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[s]; ld.param.u64 %d2,[p];"
    " txq.width.b32 %r0,[%d0]; txq.height.b32 %r1,[%d0]; suq.width.b32 %r2,[%d1]; suq.height.b32 %r3,[%d1]; st.global.v4.u32 [%d2],{%r0,%r1,%r2,%r3}; ret; }\n";

static CUdevice dev;
static CUmodule mod;
static CUdeviceptr out;
enum { OUT = 1 << 20, SIDE = 8 };

static void up(void) {
  CUcontext primary;
  cuInit(0);
  cuDeviceGet(&dev, 0);
  cuDevicePrimaryCtxRetain(&primary, dev);
  cuCtxSetCurrent(primary);
  CUresult r = cuModuleLoadData(&mod, PTX);
  if (r) printf("module: %s\n", nm(r));
  cuMemAlloc(&out, OUT);
  cuMemsetD32(out, 0, OUT / 4);
}
static CUresult launch(const char *name, int blocks, int threads, void **arguments) {
  CUfunction f = 0;
  CUresult r = cuModuleGetFunction(&f, mod, name);
  if (!r) r = cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, 0, arguments, 0);
  CUresult s = cuCtxSynchronize();
  return r ? r : s;
}
static unsigned words[OUT / 4];
static void show_words(const char *what, const unsigned *w, int count) {
  unsigned sum = 2166136261u;
  for (int i = 0; i < count; i++) sum = (sum ^ w[i]) * 16777619u;
  printf("    %s: %08x", what, sum);
  for (int i = 0; i < 4; i++) printf(" %08x", w[i * (count - 1) / 3]);
  printf("\n");
  fflush(stdout);
}
static unsigned next_random(void) {
  static unsigned state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

// Which numbers are formats, of how many channels; those of images that video codecs take need a flag.
static void numbers(void) {
  up();
  for (int flags = 0; flags <= VIDEO; flags += VIDEO) {
    int refused = 0;
    V("flags %d", flags);
    for (int number = 0; number < 256; number++) {
      if ((number >= 145 && number <= 158) || (number >= 165 && number <= 169) || number == 177) continue;
      char line[400] = {0};
      int any = 0;
      for (int channels = 0; channels <= 5; channels++) {
        CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 8, .Height = 8, .Format = number, .NumChannels = channels, .Flags = flags};
        CUarray array = 0;
        CUresult r = cuArray3DCreate(&array, &d);
        if (!r) cuArrayDestroy(array);
        any |= r != CUDA_ERROR_INVALID_VALUE;
        sprintf(line + strlen(line), " %s", brief(r));
      }
      if (any) V("%d:%s", number, line);
      else refused++;
    }
    V("%d others are invalid values", refused);
  }
}
// Which shapes and flags: the formats that get the same answers, for arrays and mipmapped ones.
static void shapes(void) {
  up();
  static const struct Shape {
    const char *what;
    int width, height, depth, flags;
  } SHAPES[] = {
      {"line", 8, 0, 0, 0},          {"plane", 8, 8, 0, 0},   {"box", 8, 8, 8, 0},           {"lines", 8, 0, 4, 1},                {"planes", 8, 8, 4, 1},             {"cube", 8, 8, 6, 4},
      {"cubes", 8, 8, 12, 5},        {"odd", 7, 5, 0, 0},     {"odd width", 7, 4, 0, 0},     {"surface", 8, 8, 0, 2},              {"gather", 8, 8, 0, 8},             {"depths", 8, 8, 0, 16},
      {"drawn to", 8, 8, 0, 32},     {"sparse", 256, 256, 0, 64}, {"deferred", 8, 8, 0, 128},  {"video", 8, 8, 0, VIDEO},           {"video surface", 8, 8, 0, VIDEO | 2}, {"deferred surface", 8, 8, 0, 130},
      {"video line", 8, 0, 0, VIDEO}, {"video box", 8, 8, 8, VIDEO}, {"video planes", 8, 8, 4, VIDEO | 1},
      {"odd video", 7, 5, 0, VIDEO}, {"no such flag", 8, 8, 0, 512},
  };
  for (unsigned s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++) {
    const struct Shape *shape = &SHAPES[s];
    char answers[ALL_FORMATS][80];
    for (int i = 0; i < ALL_FORMATS; i++) {
      CUDA_ARRAY3D_DESCRIPTOR d = {.Width = shape->width, .Height = shape->height, .Depth = shape->depth, .Format = FORMATS[i][0], .NumChannels = FORMATS[i][1], .Flags = shape->flags};
      CUarray array = 0;
      CUresult r = cuArray3DCreate(&array, &d);
      if (!r) cuArrayDestroy(array);
      CUmipmappedArray mip = 0;
      CUresult m = cuMipmappedArrayCreate(&mip, &d, 2);
      if (!m) cuMipmappedArrayDestroy(mip);
      sprintf(answers[i], "%s, %s", brief(r), brief(m));
    }
    for (int i = 0; i < ALL_FORMATS; i++) {
      if (!*answers[i]) continue;
      char same[80];
      strcpy(same, answers[i]);
      printf("    %s: %s for", shape->what, same);
      for (int k = i; k < ALL_FORMATS; k++)
        if (!strcmp(answers[k], same)) printf(" %d", FORMATS[k][0]), *answers[k] = 0;
      printf("\n");
      fflush(stdout);
    }
  }
}
static void describe(const char *what, CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR d = {0};
  CUresult r = cuArray3DGetDescriptor(&d, array);
  V("%s: %s %d x %d x %d of %d, %d channels, flags %d", what, brief(r), (int)d.Width, (int)d.Height, (int)d.Depth, (int)d.Format, (int)d.NumChannels, (int)d.Flags);
}
// What arrays say of themselves, and of their planes.
static void described(void) {
  up();
  for (int i = 0; i < ALL_FORMATS; i++) {
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 16, .Height = 8, .Format = FORMATS[i][0], .NumChannels = FORMATS[i][1], .Flags = VIDEO};
    CUarray array = 0;
    CUDA_ARRAY_DESCRIPTOR two = {0};
    CUresult r = cuArray3DCreate(&array, &d);
    if (r) d.Flags = 0, r = cuArray3DCreate(&array, &d);
    V("%d: %s", (int)d.Format, brief(r));
    if (r) continue;
    describe("whole", array);
    r = cuArrayGetDescriptor(&two, array);
    V("in two dimensions: %s %d x %d of %d, %d channels", brief(r), (int)two.Width, (int)two.Height, (int)two.Format, (int)two.NumChannels);
    for (unsigned plane = 0; plane < 4; plane++) {
      CUarray one = 0, again = 0;
      r = cuArrayGetPlane(&one, array, plane);
      V("plane %d: %s", plane, brief(r));
      if (r) continue;
      describe("it", one);
      V("the same again: %d, the whole: %d", cuArrayGetPlane(&again, array, plane) == 0 && again == one, one == array);
      V("plane of it: %s, destroyed: %s", brief(cuArrayGetPlane(&again, one, 0)), brief(cuArrayDestroy(one)));
      describe("then", one);
    }
    T(cuArrayDestroy(array));
  }
}
// Which of several formats get an answer for planes, lines, surfaces, and as images.
static void answers_of(const char *what, const int formats[][2], int count, int height, int flags) {
  int ok = 0, invalid = 0, not_supported = 0;
  for (int i = 0; i < count; i++) {
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 16, .Height = height, .Format = formats[i][0], .NumChannels = formats[i][1], .Flags = flags};
    CUarray array = 0;
    CUresult r = cuArray3DCreate(&array, &d);
    ok += r == CUDA_SUCCESS, invalid += r == CUDA_ERROR_INVALID_VALUE, not_supported += r == CUDA_ERROR_NOT_SUPPORTED;
  }
  V("%s of %d x %d, flags %d: %d are made, %d invalid, %d not supported", what, 16, height, flags, ok, invalid, not_supported);
}
static void blocks(void) {
  up();
  for (int flags = 0; flags <= VIDEO; flags += VIDEO)
    for (int surface = 0; surface <= 2; surface += 2)
      for (int height = 0; height <= 16; height += 16) {
        answers_of("blocks", BLOCKS, 14, height, flags | surface);
        answers_of("interleaved images", INTERLEAVED, 6, height, flags | surface);
      }
}
// An array of a format with bytes that follow from places, and room for surfaces.
static CUarray filled(const struct Known *known, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = SIDE, .Height = SIDE, .Format = known->number, .NumChannels = known->channels, .Flags = flags};
  CUarray array = 0;
  static unsigned char host[SIDE * SIDE * 16];
  unsigned state = 5;
  for (int i = 0; i < SIDE * SIDE * known->bytes; i++) state = state * 1664525u + 1013904223u, host[i] = state >> 24;
  if (cuArray3DCreate(&array, &d)) return 0;
  CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = SIDE * known->bytes, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array,
                     .WidthInBytes = SIDE * known->bytes, .Height = SIDE};
  CUresult r = cuMemcpy2D(&c);
  if (r) V("filled: %s", brief(r));
  return array;
}
static void sampled_by(const char *kernel, CUtexObject texture, float sx, float sy, const char *what) {
  int count = 512;
  void *arguments[] = {&texture, &out, &sx, &sy};
  CUresult r = launch(kernel, 1, count, arguments);
  if (r) V("%s: %s", what, brief(r));
  cuMemcpyDtoH(words, out, count * 16);
  if (!r) show_words(what, words, count * 4);
}
static void sampled(CUtexObject texture, const char *what) { sampled_by("sample", texture, 0.037f, 0.0231f, what); }
// What textures read: every filter, and flags.
static void textures(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i++) {
    CUarray array = filled(&KNOWN[i], 0);
    if (!array) continue;
    V("%s", KNOWN[i].name);
    for (int filter = 0; filter < 2; filter++)
      for (int flags = 0; flags < 4; flags++) {
        static const int FLAGS[] = {0, 1, 16, 17};
        CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
        CUDA_TEXTURE_DESC how = {.addressMode = {1, flags == 3 ? 3 : 1, 1}, .filterMode = filter, .flags = FLAGS[flags], .borderColor = {0.3f, -0.7f, 1.5f, 0.5f}};
        CUtexObject texture = 0;
        CUresult r = cuTexObjectCreate(&texture, &what, &how, 0);
        char title[80];
        sprintf(title, "filter %d, flags %d: %s", filter, FLAGS[flags], brief(r));
        if (r) V("%s", title);
        else sampled(texture, title);
      }
  }
}
// All numbers that 10 bits, and 2, are read as; and what lies between them.
static void ten_bits(void) {
  up();
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 1024, .Height = 2, .Format = 80, .NumChannels = 4};
  CUarray array = 0;
  static unsigned host[2048];
  T(cuArray3DCreate(&array, &d));
  if (!array) return;
  for (int i = 0; i < 2048; i++) host[i] = i < 1024 ? i | (1023 - i) << 10 | (i * 7 & 1023) << 20 | (i & 3) << 30 : next_random() << 8 ^ i * 77;
  CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 4096, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .WidthInBytes = 4096, .Height = 2};
  T(cuMemcpy2D(&c));
  for (int filter = 0; filter < 2; filter++) {
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .filterMode = filter};
    CUtexObject texture = 0;
    T(cuTexObjectCreate(&texture, &what, &how, 0));
    for (int step = 0; step < 3; step++) {
      static const float STEP[][2] = {{1, 0}, {0.37f, 0}, {0.871f, 0.00187f}};
      float sx = STEP[step][0], sy = STEP[step][1];
      void *arguments[] = {&texture, &out, &sx, &sy};
      CUresult r = launch("sample", 1, 1024, arguments);
      cuMemcpyDtoH(words, out, 1024 * 16);
      V("%s", brief(r));
      show_words("read", words, 4096);
    }
  }
}
static void show_array(const char *what, CUarray array, int bytes) {
  memset(words, 0, sizeof words);
  CUDA_MEMCPY2D c = {.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = words, .dstPitch = SIDE * bytes, .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .WidthInBytes = SIDE * bytes, .Height = SIDE};
  CUresult r = cuMemcpy2D(&c);
  if (r) V("%s: %s", what, brief(r));
  else show_words(what, words, SIDE * SIDE * bytes / 4);
}
static void surfaces(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i++) {
    const struct Known *known = &KNOWN[i];
    CUarray array = filled(known, CUDA_ARRAY3D_SURFACE_LDST);
    V("%s%s", known->name, array ? "" : ": no array");
    if (!array) continue;
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}};
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    CUresult r = cuSurfObjectCreate(&surface, &what);
    V("made: %s", brief(r));
    if (r) continue;
    void *read[] = {&surface, &out}, *sizes[] = {&texture, &surface, &out};
    V("read: %s", brief(launch("read", SIDE, SIDE * known->bytes, read)));
    cuMemcpyDtoH(words, out, SIDE * SIDE * known->bytes * 4);
    show_words("bytes", words, SIDE * SIDE * known->bytes);
    V("write: %s", brief(launch("write", SIDE, SIDE * known->bytes, read)));
    show_array("written", array, known->bytes);
    float values[SIDE * SIDE * 4];
    for (int kind = 0; kind < 3; kind++) {
      for (int k = 0; k < SIDE * SIDE * 4; k++) {
        if (kind == 0) values[k] = k / 200.0f - 0.1f;
        if (kind == 1) values[k] = -k / 220.0f + 0.05f;
        if (kind == 2) ((int *)values)[k] = k * 40503 - 5000000;
      }
      ((unsigned *)values)[9] = 0x7fc00000, values[10] = 1e30f, values[11] = -1e30f;
      cuMemcpyHtoD(out, values, sizeof values);
      CUresult r = launch("format", SIDE, SIDE, read);
      V("formatted: %s", brief(r));
      show_array("stored", array, known->bytes);
    }
    cuTexObjectCreate(&texture, &what, &how, 0);
    V("sizes: %s", brief(launch("sizes", 1, 1, sizes)));
    cuMemcpyDtoH(words, out, 16);
    V("%d %d %d %d", words[0], words[1], words[2], words[3]);
  }
}
// Plain memory, references and views of these formats.
static void plain_memory(void) {
  up();
  for (int i = 0; i < ALL_KNOWN + 2; i++) {
    struct Known known = i < ALL_KNOWN ? KNOWN[i] : (struct Known){i == ALL_KNOWN ? "nv12" : "bc1", i == ALL_KNOWN ? 176 : 145, i == ALL_KNOWN ? 3 : 4, 4};
    V("%s", known.name);
    for (int linear = 0; linear < 2; linear++)
      for (int filter = 0; filter < 2; filter++)
        for (int channels = known.channels; channels >= 0; channels -= known.channels) {
          CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_PITCH2D, .res.pitch2D = {.devPtr = out, .format = known.number, .numChannels = channels, .width = 8, .height = 8, .pitchInBytes = 128}};
          if (linear) what.resType = CU_RESOURCE_TYPE_LINEAR, what.res.linear.devPtr = out, what.res.linear.format = known.number, what.res.linear.numChannels = channels, what.res.linear.sizeInBytes = 1024;
          CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .filterMode = filter};
          CUtexObject texture = 0;
          CUresult r = cuTexObjectCreate(&texture, &what, &how, 0);
          CUDA_RESOURCE_DESC back = {0};
          if (!r) cuTexObjectGetResourceDesc(&back, texture);
          V("%s, filter %d, %d channels: %s, said to be %d", linear ? "line" : "plane", filter, channels, brief(r), linear ? (int)back.res.linear.format : (int)back.res.pitch2D.format);
          if (!r && !linear) {
            unsigned state = 77;
            for (int k = 0; k < 8 * 128 / 4; k++) state = state * 1664525u + 1013904223u, words[k] = state;
            cuMemcpyHtoD(out, words, 1024);
            CUdeviceptr keep = out;
            out += 4096;
            sampled(texture, "read");
            out = keep;
          }
        }
    CUtexref ref = 0;
    CUarray_format format = 0;
    int count = 0;
    cuTexRefCreate(&ref);
    CUresult set = cuTexRefSetFormat(ref, known.number, known.channels), got = cuTexRefGetFormat(&format, &count, ref);
    V("reference: %s, %s, %d of %d", brief(set), brief(got), count, (int)format);
    size_t offset = 0;
    V("bound to memory: %s", brief(cuTexRefSetAddress(&offset, ref, out, 1024)));
    CUDA_ARRAY_DESCRIPTOR d = {.Width = 8, .Height = 8, .Format = known.number, .NumChannels = known.channels};
    V("in two dimensions: %s", brief(cuTexRefSetAddress2D(ref, &d, out, 128)));
    if (i >= ALL_KNOWN) continue;
    CUarray array = filled(&known, 0);
    if (!array) continue;
    V("bound to an array: %s", brief(cuTexRefSetArray(ref, array, CU_TRSA_OVERRIDE_FORMAT)));
    got = cuTexRefGetFormat(&format, &count, ref);
    V("%s, %d of %d", brief(got), count, (int)format);
    for (int view = 1; view <= 24; view++) {
      CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
      CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}};
      CUDA_RESOURCE_VIEW_DESC seen = {.format = view, .width = 8, .height = 8};
      CUtexObject texture = 0;
      CUresult r = cuTexObjectCreate(&texture, &what, &how, &seen);
      if (r) continue;
      char title[40];
      sprintf(title, "view %d", view);
      sampled(texture, title);
    }
  }
}
// Copies between arrays of these formats and others of the same size of texels, and of another.
static void copies(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i++)
    for (int j = 0; j < ALL_KNOWN; j++) {
      if (j != ALL_KNOWN - 2 && j != ALL_KNOWN - 1 && i != j && j != 2) continue;
      CUarray from = filled(&KNOWN[i], 0), to = filled(&KNOWN[j], 0);
      if (!from || !to) continue;
      CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = from, .srcXInBytes = KNOWN[i].bytes, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = to, .WidthInBytes = 4, .Height = 4};
      CUresult whole = cuMemcpy2D(&c);
      c.WidthInBytes = SIDE * KNOWN[i].bytes;
      CUresult wide = cuMemcpy2D(&c);
      c.WidthInBytes = 1, c.srcXInBytes = 0;
      CUresult part = cuMemcpy2D(&c);
      V("%s to %s: %s, wide %s, one byte %s, to itself in bytes %s", KNOWN[i].name, KNOWN[j].name, brief(whole), brief(wide), brief(part), brief(cuMemcpyAtoA(to, 0, from, 4, 8)));
      show_array("then", to, KNOWN[j].bytes);
    }
}
// Images of several planes.
static void planes(void) {
  up();
  for (int i = 0; i < ALL_FORMATS; i++) {
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 16, .Height = 8, .Format = FORMATS[i][0], .NumChannels = FORMATS[i][1], .Flags = VIDEO | CUDA_ARRAY3D_SURFACE_LDST};
    CUarray whole = 0, one = 0;
    if (FORMATS[i][1] != 3 || cuArray3DCreate(&whole, &d)) continue;
    V("%d", FORMATS[i][0]);
    static unsigned char host[1024];
    for (int k = 0; k < 1024; k++) host[k] = k * 7 + k / 16;
    // As a whole: how many bytes a row, and how many rows.
    char line[1000] = {0};
    for (int rows = 4; rows <= 24; rows += 4)
      for (int row = 8; row <= 64; row *= 2) {
        CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = row, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = whole, .WidthInBytes = row, .Height = rows};
        CUresult r = cuMemcpy2D(&c);
        if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d x %d %s", row, rows, brief(r));
      }
    V("copied as a whole:%s", line);
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = whole};
    CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}};
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    V("surface of the whole: %s", brief(cuSurfObjectCreate(&surface, &what)));
    int planes = 0;
    for (unsigned plane = 0; plane < 3 && !cuArrayGetPlane(&one, whole, plane); plane++) {
      planes++;
      CUDA_ARRAY3D_DESCRIPTOR known = {0};
      cuArray3DGetDescriptor(&known, one);
      int row = known.Width * known.NumChannels * (known.Format == CU_AD_FORMAT_UNSIGNED_INT8 ? 1 : 2);
      CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host + 100 * plane, .srcPitch = row, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = one, .WidthInBytes = row, .Height = known.Height};
      CUresult r = cuMemcpy2D(&c);
      c.WidthInBytes++;
      CUresult wide = cuMemcpy2D(&c);
      c.WidthInBytes--, c.Height++;
      V("plane %d filled, %d x %d: %s, wider %s, higher %s", plane, row, (int)known.Height, brief(r), brief(wide), brief(cuMemcpy2D(&c)));
    }
    for (unsigned plane = 0; plane < planes; plane++) {
      cuArrayGetPlane(&one, whole, plane);
      CUDA_RESOURCE_DESC part = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = one};
      for (int flags = 0; flags < 2; flags++) {
        how.flags = flags, how.filterMode = 0;
        CUresult r = cuTexObjectCreate(&texture, &part, &how, 0);
        V("texture of plane %d, flags %d: %s", plane, flags, brief(r));
        if (!r) sampled(texture, "read");
      }
      V("surface of it: %s", brief(cuSurfObjectCreate(&surface, &part)));
    }
    for (int filter = 0; filter < 2; filter++)
      for (int flags = 0; flags < 2; flags++) {
        how.filterMode = filter, how.flags = flags;
        CUresult r = cuTexObjectCreate(&texture, &what, &how, 0);
        V("texture of the whole, filter %d, flags %d: %s", filter, flags, brief(r));
        if (!r) sampled(texture, "read");
      }
    memset(words, 0, sizeof words);
    CUDA_MEMCPY2D c = {.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = words, .dstPitch = 16, .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = whole, .WidthInBytes = 16, .Height = 8};
    V("read as a whole: %s", brief(cuMemcpy2D(&c)));
    show_words("read", words, 32);
    T(cuArrayDestroy(whole));
  }
}
// What lies between texels of plain channels, in one to three dimensions, at their borders, and between levels; `flags` say how they are read.
static void between_texels(int format, int bytes, int channels, int flags) {
  enum { WIDE = 16 };
  static unsigned char host[WIDE * WIDE * WIDE * 16];
  unsigned state = 11;
  for (unsigned i = 0; i < sizeof host; i++) state = state * 1664525u + 1013904223u, host[i] = state >> 24;
  char title[80];
  for (int dimensions = 1; dimensions <= 3; dimensions++) {
    static const char *const KERNELS[] = {"line", "sample", "box"};
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = WIDE, .Height = dimensions > 1 ? WIDE : 0, .Depth = dimensions > 2 ? WIDE : 0, .Format = format, .NumChannels = channels};
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = WIDE * bytes * channels, .srcHeight = WIDE, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .WidthInBytes = WIDE * bytes * channels,
                       .Height = dimensions > 1 ? WIDE : 1, .Depth = dimensions > 2 ? WIDE : 1};
    CUresult r = cuArray3DCreate(&c.dstArray, &d);
    if (!r) r = cuMemcpy3D(&c);
    if (r) V("array: %s", brief(r));
    for (int mode = 1; mode <= 3; mode += 2) {
      CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = c.dstArray};
      CUDA_TEXTURE_DESC how = {.addressMode = {mode, mode, mode}, .filterMode = 1, .flags = flags, .borderColor = {0.3f, -0.7f, 1.5f, 0.5f}};
      CUtexObject texture = 0;
      r = cuTexObjectCreate(&texture, &what, &how, 0);
      sprintf(title, "%d dimensions, address mode %d: %s", dimensions, mode, brief(r));
      if (r) V("%s", title);
      else sampled_by(KERNELS[dimensions - 1], texture, 0.0371f, 0.0313f, title);
    }
  }
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = WIDE, .Height = WIDE, .Format = format, .NumChannels = channels};
  CUmipmappedArray mip = 0;
  CUresult r = cuMipmappedArrayCreate(&mip, &d, 3);
  for (int level = 0; level < 3; level++) {
    int wide = WIDE >> level;
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host + 500 * level, .srcPitch = wide * bytes * channels, .srcHeight = wide, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .WidthInBytes = wide * bytes * channels,
                       .Height = wide, .Depth = 1};
    if (!r) r = cuMipmappedArrayGetLevel(&c.dstArray, mip, level);
    if (!r) r = cuMemcpy3D(&c);
  }
  if (r) V("mipmapped array: %s", brief(r));
  for (int filter = 0; filter < 2; filter++) {
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = mip};
    CUDA_TEXTURE_DESC how = {.addressMode = {0, 2, 0}, .filterMode = filter, .mipmapFilterMode = 1, .flags = flags | CU_TRSF_NORMALIZED_COORDINATES, .maxMipmapLevelClamp = 9};
    CUtexObject texture = 0;
    r = cuTexObjectCreate(&texture, &what, &how, 0);
    sprintf(title, "levels, filter %d: %s", filter, brief(r));
    if (r) V("%s", title);
    else sampled_by("levels", texture, 0.0119f, 0.0047f, title);
  }
}
// Whole numbers that are read as they are.
static void between_whole_numbers(void) {
  up();
  static const int KINDS[][2] = {{1, 1}, {2, 2}, {3, 4}, {8, 1}, {9, 2}, {10, 4}};
  for (int i = 0; i < 6; i++)
    for (int channels = 1; channels <= 4; channels *= 2) {
      V("format %d, %d channels", KINDS[i][0], channels);
      between_texels(KINDS[i][0], KINDS[i][1], channels, CU_TRSF_READ_AS_INTEGER);
    }
}
static void between_colours(void) {
  up();
  for (int channels = 1; channels <= 4; channels *= 2) {
    V("%d channels", channels);
    between_texels(1, 1, channels, CU_TRSF_SRGB);
  }
}
// Colours of a border of halves, which not every float is.
static void half_borders(void) {
  up();
  static const float COLOURS[][4] = {
      {0.3f, -0.3f, 0.1f, 1.0f / 3}, {1e-6f, -3e-8f, 5.9e-8f, 6.1e-5f}, {65519, 65520, -65536, 1e9f}, {2049, -2051, 4098.5f, 0.99999f}, {1e300 * 1e10, -1e300 * 1e10, 1e-30f, -0.0f},
  };
  CUDA_ARRAY_DESCRIPTOR d = {.Width = 1, .Height = 1, .Format = CU_AD_FORMAT_HALF, .NumChannels = 4};
  CUarray array = 0;
  T(cuArrayCreate(&array, &d));
  for (unsigned colour = 0; colour < sizeof COLOURS / sizeof *COLOURS; colour++)
    for (int filter = 0; filter < 2; filter++) {
      CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
      CUDA_TEXTURE_DESC how = {.addressMode = {3, 3, 3}, .filterMode = filter};
      memcpy(how.borderColor, COLOURS[colour], sizeof how.borderColor);
      CUtexObject texture = 0;
      CUresult r = cuTexObjectCreate(&texture, &what, &how, 0);
      float step = 4;
      if (!r) r = launch("sample", 1, 32, (void *[]){&texture, &out, &step, &step});
      if (!r) r = cuMemcpyDtoH(words, out, 32 * 16);
      const unsigned *last = words + 31 * 4;
      V("filter %d: %s %08x %08x %08x %08x", filter, brief(r), last[0], last[1], last[2], last[3]);
    }
}
static const struct Scenario {
  const char *name;
  void (*run)(void);
} ALL[] = {
    {"numbers", numbers}, {"shapes", shapes},     {"described", described}, {"blocks", blocks}, {"textures", textures}, {"ten_bits", ten_bits},
    {"surfaces", surfaces}, {"plain_memory", plain_memory}, {"copies", copies},             {"planes", planes},
    {"between_whole_numbers", between_whole_numbers}, {"between_colours", between_colours}, {"half_borders", half_borders},
};

// Each scenario is a process.
int main(int argc, char **argv) {
  for (unsigned i = 0; i < sizeof ALL / sizeof *ALL; i++) {
    const struct Scenario *one = &ALL[i];
    if (argc > 1 && strcmp(argv[argc - 1], one->name)) continue;
    printf("== %s\n", one->name);
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      one->run();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) printf("    signal %d\n", WTERMSIG(status));
    fflush(stdout);
  }
  return 0;
}
