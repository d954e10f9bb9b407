// Arrays, views and textures of compressed blocks (BC1 to BC7), and images whose brightness and colours lie among each other: which there are, how they are copied, and what is read, for
// recording and comparison as in answers.c. blocks.golden is what NVIDIA's driver printed (CUDA 13.0, H100).
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> blocks.c -o blocks -lcuda; ./blocks [SCENARIO]
//
// Many values are one line: their checksum, and some of them.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *nm(CUresult r) {
  const char *s = 0;
  return cuGetErrorName(r, &s) == CUDA_SUCCESS && s ? s : "unknown code";
}
// Without CUDA_ERROR_, for lines with several answers.
static const char *brief(CUresult r) { return r ? nm(r) + 11 : "ok"; }
#define V(fmt, ...)                       \
  do {                                    \
    printf("    " fmt "\n", __VA_ARGS__); \
    fflush(stdout);                       \
  } while (0)

// Number, channels, bytes of a block, and the number of a view of it.
static const struct Known {
  const char *name;
  int number, channels, bytes, view;
} KNOWN[] = {
    {"bc1", 145, 4, 8, 25},       {"bc1 srgb", 146, 4, 8, 25},  {"bc2", 147, 4, 16, 26},        {"bc2 srgb", 148, 4, 16, 26},     {"bc3", 149, 4, 16, 27},
    {"bc3 srgb", 150, 4, 16, 27}, {"bc4", 151, 1, 8, 28},       {"bc4 signed", 152, 1, 8, 29},  {"bc5", 153, 2, 16, 30},          {"bc5 signed", 154, 2, 16, 31},
    {"bc6h", 155, 3, 16, 32},     {"bc6h signed", 156, 3, 16, 33}, {"bc7", 157, 4, 16, 34},     {"bc7 srgb", 158, 4, 16, 34},
};
enum { ALL_KNOWN = sizeof KNOWN / sizeof *KNOWN, BC4 = 6, BC6H = 10, BC7 = 12, VIDEO = 256 };
static const struct Known INTERLEAVED[] = {{"yuy2", 165, 4}, {"y210", 166, 2}, {"y216", 167, 2}, {"ayuv", 168, 4}, {"y410", 169, 1}, {"y416", 177, 4}, {"floats", 32, 1}};
enum { ALL_INTERLEAVED = 6 };
// Those of sRGB are read with the flag for it only.
static int usual_flags(const struct Known *known) { return strstr(known->name, "srgb") ? CU_TRSF_SRGB : 0; }

#define SIMPLE(name, fetch)                                                                                                                                                           \
  ".visible .entry " name "(.param .u64 t, .param .u64 p, .param .f32 ox, .param .f32 oy, .param .f32 sx, .param .f32 sy, .param .u32 wide) {"                                          \
  " .reg .b64 %d<4>; .reg .b32 %r<12>; .reg .f32 %f<8>; .reg .pred %q;"                                                                                                               \
  " ld.param.u64 %d0,[t]; ld.param.u64 %d1,[p]; ld.param.f32 %f0,[ox]; ld.param.f32 %f1,[oy]; ld.param.f32 %f2,[sx]; ld.param.f32 %f3,[sy]; ld.param.u32 %r5,[wide];"                  \
  " mov.u32 %r0,%tid.x; mov.u32 %r6,%ctaid.x; mov.u32 %r7,%ntid.x; mad.lo.u32 %r0,%r6,%r7,%r0; rem.u32 %r8,%r0,%r5; div.u32 %r9,%r0,%r5;"                                             \
  " cvt.rn.f32.u32 %f4,%r8; cvt.rn.f32.u32 %f5,%r9; fma.rn.f32 %f0,%f4,%f2,%f0; fma.rn.f32 %f1,%f5,%f3,%f1; mov.f32 %f6,0f3f000000; " fetch                                          \
  " mul.wide.u32 %d2,%r0,16; add.u64 %d1,%d1,%d2; st.global.v4.u32 [%d1],{%r1,%r2,%r3,%r4}; ret; }\n"
static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    // Thread i reads at (i % wide * sx + ox, i / wide * sy + oy).
    SIMPLE("plane", "tex.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1}];")
    SIMPLE("texels", "cvt.rzi.s32.f32 %r10,%f0; cvt.rzi.s32.f32 %r11,%f1; tex.2d.v4.u32.s32 {%r1,%r2,%r3,%r4},[%d0,{%r10,%r11}];")
    SIMPLE("levels", "tex.level.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1}],%f4;")
    SIMPLE("layers", "and.b32 %r10,%r0,3; tex.a2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%r10,%f0,%f1,%f1}];")
    SIMPLE("cube", "tex.cube.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1,%f6,%f6}];")
    SIMPLE("box", "tex.3d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1,%f1,%f1}];")
    SIMPLE("line", "tex.1d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0}];")
    SIMPLE("gather_alpha", "tld4.a.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1}];")
    SIMPLE("gather_green", "tld4.g.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1}];")
    SIMPLE("gather_red", "tld4.r.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[%d0,{%f0,%f1}];")
    SIMPLE("surface", "cvt.rzi.s32.f32 %r10,%f0; cvt.rzi.s32.f32 %r11,%f1; suld.b.2d.b32.zero %r1,[%d0,{%r10,%r11}]; mov.u32 %r2,0; mov.u32 %r3,0; mov.u32 %r4,0;")
    SIMPLE("store", "cvt.rzi.s32.f32 %r10,%f0; cvt.rzi.s32.f32 %r11,%f1; mad.lo.u32 %r1,%r0,77,5; sust.b.2d.b32.zero [%d0,{%r10,%r11}],%r1; mov.u32 %r2,0; mov.u32 %r3,0; mov.u32 %r4,0;")
    SIMPLE("sizes", "txq.width.b32 %r1,[%d0]; txq.height.b32 %r2,[%d0]; txq.depth.b32 %r3,[%d0]; mov.u32 %r4,0;");

static CUdevice dev;
static CUmodule mod;
static CUdeviceptr out;
enum { OUT = 1 << 20 };
static unsigned words[OUT / 4];

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
static unsigned checksum(const void *bytes, int count) {
  unsigned sum = 2166136261u;
  for (int i = 0; i < count; i++) sum = (sum ^ ((const unsigned *)bytes)[i]) * 16777619u;
  return sum;
}
static void show_words(const char *what, int count) {
  printf("    %s: %08x", what, checksum(words, count));
  for (int i = 0; i < 8; i++) printf(" %08x", words[i / 4 * (count - 8) / 4 * 4 + i % 4 + (i > 3) * 4]);
  printf("\n");
  fflush(stdout);
}
static unsigned state = 1;
static unsigned char next_byte(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 24;
}

// Blocks of every kind: each mode of BC7 and of BC6H as often as the others, and colours of BC1 to BC3 that lie near each other.
static void random_blocks(const struct Known *known, unsigned char *to, int count) {
  static const unsigned char MODES[] = {0, 1, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31};
  for (int i = 0; i < count; i++, to += known->bytes) {
    for (int k = 0; k < known->bytes; k++) to[k] = next_byte();
    if (known->number == 157 || known->number == 158) {
      int mode = i % 9;
      if (mode < 8) to[0] = (to[0] & ~((2 << mode) - 1)) | 1 << mode;
      else to[0] = 0;
    }
    if (known->number == 155 || known->number == 156) {
      int mode = MODES[i % 18];
      to[0] = mode < 2 ? (to[0] & ~3) | mode : (to[0] & ~31) | mode;
    }
    unsigned char *colours = to + known->bytes - 8;
    if (known->number <= 150 && i % 4 == 1) colours[3] = colours[1], colours[2] = colours[0] + i % 3 - 1;
    if (known->number <= 150 && i % 4 == 2) colours[3] = colours[1] ^ 1;
    if ((known->number >= 149 && known->number <= 154) && i % 4 == 3) to[1] = to[0] + i % 7 - 3;
    if ((known->number == 152 || known->number == 154) && i % 4 == 0) to[i / 4 % 2] = 0x80 + i / 8 % 3;
  }
}
static CUresult make(CUarray *array, int number, int channels, int width, int height, int depth, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = width, .Height = height, .Depth = depth, .Format = number, .NumChannels = channels, .Flags = flags};
  *array = 0;
  return cuArray3DCreate(array, &d);
}
// A copy between the host and an array, of rows of bytes.
static CUresult copy(CUarray array, int x, int y, int z, void *host, int wide, int high, int deep, int to_array) {
  CUDA_MEMCPY3D c = {.WidthInBytes = wide, .Height = high, .Depth = deep};
  if (to_array) {
    c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = host, c.srcPitch = wide, c.srcHeight = high;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = array, c.dstXInBytes = x, c.dstY = y, c.dstZ = z;
  } else {
    c.dstMemoryType = CU_MEMORYTYPE_HOST, c.dstHost = host, c.dstPitch = wide, c.dstHeight = high;
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = array, c.srcXInBytes = x, c.srcY = y, c.srcZ = z;
  }
  return cuMemcpy3D(&c);
}
static unsigned char host[1 << 18];
// An array of `wide` x `high` blocks, filled as far as copies can.
static CUarray filled(const struct Known *known, int wide, int high) {
  CUarray array = 0;
  CUresult r = make(&array, known->number, known->channels, wide * 4, high * 4, 0, 0);
  random_blocks(known, host, wide * high);
  if (!r) r = copy(array, 0, 0, 0, host, wide * known->bytes, high, 1, 1);
  if (r) V("%s, filled: %s", known->name, brief(r));
  return array;
}
static CUresult launch(const char *name, int count, CUtexObject texture, float ox, float oy, float sx, float sy, int wide) {
  CUfunction f = 0;
  void *arguments[] = {&texture, &out, &ox, &oy, &sx, &sy, &wide};
  CUresult r = cuModuleGetFunction(&f, mod, name);
  if (!r) r = cuLaunchKernel(f, count / 128, 1, 1, 128, 1, 1, 0, 0, arguments, 0);
  CUresult s = cuCtxSynchronize();
  memset(words, 0, count * 16);
  cuMemcpyDtoH(words, out, count * 16);
  return r ? r : s;
}
static void sampled(const char *what, const char *kernel, int count, CUtexObject texture, float ox, float oy, float sx, float sy, int wide) {
  CUresult r = launch(kernel, count, texture, ox, oy, sx, sy, wide);
  if (r) V("%s: %s", what, brief(r));
  else show_words(what, count * 4);
}
static CUresult texture_of(CUtexObject *texture, CUarray array, int flags, int filter, int mode) {
  CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
  CUDA_TEXTURE_DESC how = {.addressMode = {mode, mode, mode}, .filterMode = filter, .flags = flags, .borderColor = {0.3f, -0.7f, 1.5f, 0.5f}};
  *texture = 0;
  return cuTexObjectCreate(texture, &what, &how, 0);
}

// How many channels each has.
static void channels(void) {
  up();
  for (int i = 0; i < ALL_KNOWN + ALL_INTERLEAVED; i++) {
    const struct Known *known = i < ALL_KNOWN ? &KNOWN[i] : &INTERLEAVED[i - ALL_KNOWN];
    printf("    %s:", known->name);
    for (int count = 0; count <= 5; count++) {
      CUarray array = 0;
      printf(" %s", brief(make(&array, known->number, count, 8, 8, 0, i < ALL_KNOWN ? 0 : VIDEO)));
    }
    printf("\n");
    fflush(stdout);
  }
}
// Which shapes and flags: the formats that get the same answers, for arrays and mipmapped ones.
static void shapes(void) {
  up();
  static const struct Shape {
    const char *what;
    int width, height, depth, flags;
  } SHAPES[] = {
      {"line", 8, 0, 0, 0},           {"plane", 8, 8, 0, 0},       {"one texel", 1, 1, 0, 0},    {"odd", 7, 5, 0, 0},         {"odd width", 7, 4, 0, 0},      {"odd height", 8, 6, 0, 0},
      {"two", 2, 2, 0, 0},            {"box", 8, 8, 8, 0},         {"flat box", 8, 8, 1, 0},     {"lines", 8, 0, 4, 1},       {"planes", 8, 8, 4, 1},         {"odd planes", 6, 5, 3, 1},
      {"cube", 8, 8, 6, 4},           {"odd cube", 6, 6, 6, 4},    {"cubes", 8, 8, 12, 5},       {"no cube", 8, 4, 6, 4},     {"surface", 8, 8, 0, 2},        {"line surface", 8, 0, 0, 2},
      {"box surface", 8, 8, 8, 2},    {"planes surface", 8, 8, 4, 3}, {"gather", 8, 8, 0, 8},    {"depths", 8, 8, 0, 16},     {"depths surface", 8, 8, 0, 18}, {"drawn to", 8, 8, 0, 32},
      {"sparse", 256, 256, 0, 64},    {"sparse box", 256, 256, 64, 64}, {"small sparse", 8, 8, 0, 64}, {"deferred", 8, 8, 0, 128}, {"deferred surface", 8, 8, 0, 130}, {"odd deferred", 7, 5, 0, 128},
      {"sparse and deferred", 256, 256, 0, 192}, {"video", 8, 8, 0, VIDEO}, {"video line", 8, 0, 0, VIDEO}, {"video box", 8, 8, 8, VIDEO}, {"video planes", 8, 8, 4, VIDEO | 1},
      {"odd video", 7, 5, 0, VIDEO},  {"video of odd height", 8, 5, 0, VIDEO}, {"video of odd width", 7, 8, 0, VIDEO}, {"video cube", 8, 8, 6, VIDEO | 4}, {"deferred video", 8, 8, 0, VIDEO | 128},
      {"sparse video", 256, 256, 0, VIDEO | 64}, {"video surface", 8, 8, 0, VIDEO | 2}, {"video to gather", 8, 8, 0, VIDEO | 8}, {"no such flag", 8, 8, 0, 512},
      {"nothing", 0, 8, 0, 0},        {"too wide", 131073, 4, 0, 0}, {"widest", 131072, 4, 0, 0},  {"too high", 4, 65537, 0, 0}, {"too many layers", 4, 4, 2049, 1}, {"too deep", 4, 4, 32769, 0}, {"deep", 4, 4, 16385, 0}, {"deep and wide", 8193, 4, 16385, 0}, {"wide box", 16384, 4, 4, 0}, {"too wide box", 16385, 4, 4, 0},
      {"high box", 4, 16384, 4, 0}, {"deep and high", 4, 8193, 16385, 0}, {"deepest", 4, 4, 32768, 0},
  };
  for (unsigned s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++) {
    const struct Shape *shape = &SHAPES[s];
    char answers[ALL_KNOWN + 7][80];
    for (int i = 0; i < ALL_KNOWN + 7; i++) {
      const struct Known *known = i < ALL_KNOWN ? &KNOWN[i] : &INTERLEAVED[i - ALL_KNOWN];
      CUDA_ARRAY3D_DESCRIPTOR d = {.Width = shape->width, .Height = shape->height, .Depth = shape->depth, .Format = known->number, .NumChannels = known->channels, .Flags = shape->flags};
      CUarray array = 0;
      CUresult r = cuArray3DCreate(&array, &d);
      if (!r) cuArrayDestroy(array);
      CUmipmappedArray mip = 0;
      CUresult m = cuMipmappedArrayCreate(&mip, &d, 2);
      if (!m) cuMipmappedArrayDestroy(mip);
      sprintf(answers[i], "%s, %s", brief(r), brief(m));
    }
    for (int i = 0; i < ALL_KNOWN + 7; i++) {
      if (!*answers[i]) continue;
      char same[80];
      strcpy(same, answers[i]);
      printf("    %s: %s for", shape->what, same);
      for (int k = i; k < ALL_KNOWN + 7; k++)
        if (!strcmp(answers[k], same)) printf(" %d", k < ALL_KNOWN ? KNOWN[k].number : INTERLEAVED[k - ALL_KNOWN].number), *answers[k] = 0;
      printf("\n");
      fflush(stdout);
    }
  }
}
static void describe(const char *what, CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR d = {0};
  CUDA_ARRAY_DESCRIPTOR two = {0};
  CUresult r = cuArray3DGetDescriptor(&d, array), s = cuArrayGetDescriptor(&two, array);
  V("%s: %s %d x %d x %d of %d, %d channels, flags %d; %s %d x %d of %d, %d channels", what, brief(r), (int)d.Width, (int)d.Height, (int)d.Depth, (int)d.Format, (int)d.NumChannels, (int)d.Flags,
    brief(s), (int)two.Width, (int)two.Height, (int)two.Format, (int)two.NumChannels);
}
// What arrays say of themselves, and how much memory they are mapped to.
static void described(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i += 5) {
    CUarray array = 0, plane = 0;
    V("%s: %s", KNOWN[i].name, brief(make(&array, KNOWN[i].number, KNOWN[i].channels, 7, 5, 0, 0)));
    describe("whole", array);
    V("plane: %s", brief(cuArrayGetPlane(&plane, array, 0)));
    CUDA_ARRAY_DESCRIPTOR two = {.Width = 9, .Height = 4, .Format = KNOWN[i].number, .NumChannels = KNOWN[i].channels};
    V("in two dimensions: %s", brief(cuArrayCreate(&array, &two)));
    describe("it", array);
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 20, .Height = 12, .Format = KNOWN[i].number, .NumChannels = KNOWN[i].channels};
    CUmipmappedArray mip = 0;
    V("levels: %s", brief(cuMipmappedArrayCreate(&mip, &d, 9)));
    for (int level = 0; level < 6; level++) {
      CUresult r = cuMipmappedArrayGetLevel(&array, mip, level);
      if (r) V("level %d: %s", level, brief(r));
      else describe("level", array);
    }
    CUdeviceptr memory = out;
    CUtexref ref = 0;
    CUarray_format format = 0;
    int count = 0;
    cuTexRefCreate(&ref);
    make(&array, KNOWN[i].number, KNOWN[i].channels, 8, 8, 0, 0);
    CUresult set = cuTexRefSetFormat(ref, KNOWN[i].number, KNOWN[i].channels), bound = cuTexRefSetArray(ref, array, CU_TRSA_OVERRIDE_FORMAT), got = cuTexRefGetFormat(&format, &count, ref);
    V("reference: %s, bound %s, %s, %d of %d", brief(set), brief(bound), brief(got), count, (int)format);
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUsurfObject surface = 0;
    CUsurfref global = 0;
    V("surface: %s", brief(cuSurfObjectCreate(&surface, &what)));
    CUtexObject texture = 0;
    for (int linear = 0; linear < 2; linear++) {
      CUDA_RESOURCE_DESC plain = {.resType = CU_RESOURCE_TYPE_PITCH2D,
                                  .res.pitch2D = {.devPtr = memory, .format = KNOWN[i].number, .numChannels = KNOWN[i].channels, .width = 8, .height = 8, .pitchInBytes = 128}};
      if (linear) plain.resType = CU_RESOURCE_TYPE_LINEAR, plain.res.linear.devPtr = memory, plain.res.linear.format = KNOWN[i].number, plain.res.linear.numChannels = KNOWN[i].channels, plain.res.linear.sizeInBytes = 1024;
      CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}};
      V("%s: %s", linear ? "line of memory" : "plane of memory", brief(cuTexObjectCreate(&texture, &plain, &how, 0)));
    }
  }
}
static void memory(void) {
  up();
  static const int SIZES[][4] = {{8, 8, 0, 0}, {7, 5, 0, 0},     {64, 64, 0, 0},   {250, 130, 0, 0}, {256, 256, 0, 0}, {1000, 600, 0, 0}, {2048, 4096, 0, 0}, {64, 64, 5, 1},
                                 {130, 40, 3, 1}, {64, 64, 6, 4}, {64, 64, 12, 5}, {32, 32, 20, 0}, {300, 200, 9, 0}};
  for (int i = 0; i < ALL_KNOWN; i += BC7)
    for (unsigned s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
      for (int levels = 0; levels < 12; levels += levels ? 6 : 3)
        for (int flag = 64; flag <= 128; flag *= 2) {
          CUDA_ARRAY3D_DESCRIPTOR d = {.Width = SIZES[s][0], .Height = SIZES[s][1], .Depth = SIZES[s][2], .Format = KNOWN[i].number, .NumChannels = KNOWN[i].channels, .Flags = SIZES[s][3] | flag};
          CUarray array = 0;
          CUmipmappedArray mip = 0;
          CUresult r = levels ? cuMipmappedArrayCreate(&mip, &d, levels) : cuArray3DCreate(&array, &d);
          CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {0};
          CUDA_ARRAY_SPARSE_PROPERTIES sparse = {0};
          if (flag == 128) {
            if (!r) r = levels ? cuMipmappedArrayGetMemoryRequirements(&needs, mip, dev) : cuArrayGetMemoryRequirements(&needs, array, dev);
            V("%s, %d x %d x %d, flags %d, %d levels: %s %zu", KNOWN[i].name, SIZES[s][0], SIZES[s][1], SIZES[s][2], SIZES[s][3], levels, brief(r), needs.size);
          } else {
            if (!r) r = levels ? cuMipmappedArrayGetSparseProperties(&sparse, mip) : cuArrayGetSparseProperties(&sparse, array);
            V("%s, %d x %d x %d, flags %d, %d levels, sparse: %s, tiles of %d x %d x %d, tail from %d, %zu bytes, flags %d", KNOWN[i].name, SIZES[s][0], SIZES[s][1], SIZES[s][2], SIZES[s][3], levels,
              brief(r), sparse.tileExtent.width, sparse.tileExtent.height, sparse.tileExtent.depth, sparse.miptailFirstLevel, (size_t)sparse.miptailSize, sparse.flags);
          }
        }
}
// Which copies an array takes: rows of bytes, rows.
static void try_copies(const char *what, CUarray array, int x, int y, int z, int bytes, int wide, int high, int deep) {
  char line[8000] = {0};
  memset(host, 0xa5, sizeof host);
  for (int rows = 1; rows <= high; rows++)
    for (int row = bytes; row <= wide; row += bytes) {
      CUresult in = copy(array, x, y, z, host, row, rows, deep, 1), back = copy(array, x, y, z, words, row, rows, deep, 0);
      if (in || back) continue;
      sprintf(line + strlen(line), " %dx%d%s", row, rows, memcmp(host, words, row * rows * deep) ? "!" : "");
    }
  V("%s from %d %d %d:%s", what, x, y, z, line);
}
static void copies(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i += 4) {
    const struct Known *known = &KNOWN[i];
    int bytes = known->bytes;
    CUarray array = 0;
    V("%s", known->name);
    static const int SIZES[][2] = {{16, 12}, {7, 5}, {1, 1}, {10, 3}};
    for (int s = 0; s < 4; s++) {
      char what[40];
      sprintf(what, "%d x %d", SIZES[s][0], SIZES[s][1]);
      if (make(&array, known->number, known->channels, SIZES[s][0], SIZES[s][1], 0, 0)) continue;
      try_copies(what, array, 0, 0, 0, bytes / 2, bytes * 6, 6, 1);
      try_copies(what, array, bytes, 1, 0, bytes, bytes * 4, 4, 1);
      try_copies(what, array, bytes / 2, 0, 0, bytes / 2, bytes * 3, 1, 1);
      try_copies(what, array, 1, 0, 0, bytes, bytes * 3, 1, 1);
      try_copies(what, array, 0, 4, 0, bytes, bytes * 4, 2, 1);
    }
    // Bytes of a row that are no whole block.
    char line[400] = {0};
    make(&array, known->number, known->channels, 16, 12, 0, 0);
    for (int row = 1; row <= 20; row++) sprintf(line + strlen(line), " %s", brief(copy(array, 0, 0, 0, host, row, 1, 1, 1)));
    V("rows of 1 to 20 bytes:%s", line);
    if (!make(&array, known->number, known->channels, 10, 9, 3, 1)) {
      try_copies("layers", array, 0, 0, 0, bytes, bytes * 4, 4, 3);
      try_copies("layers", array, 0, 0, 2, bytes, bytes * 4, 4, 1);
      try_copies("layers", array, 0, 0, 0, bytes, bytes * 4, 1, 4);
    }
    if (!make(&array, known->number, known->channels, 10, 9, 3, 0)) try_copies("box", array, 0, 0, 0, bytes, bytes * 4, 4, 3);
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 20, .Height = 12, .Format = known->number, .NumChannels = known->channels};
    CUmipmappedArray mip = 0;
    cuMipmappedArrayCreate(&mip, &d, 5);
    for (int level = 0; level < 5; level++) {
      cuMipmappedArrayGetLevel(&array, mip, level);
      try_copies("level", array, 0, 0, 0, bytes, bytes * 6, 4, 1);
    }
    // One-dimensional ones count bytes of a row.
    make(&array, known->number, known->channels, 16, 12, 0, 0);
    for (int k = 0; k < 256; k++) host[k] = k;
    V("in bytes: %s %s %s %s %s", brief(cuMemcpyHtoA(array, 0, host, bytes)), brief(cuMemcpyHtoA(array, bytes, host, 3 * bytes)), brief(cuMemcpyHtoA(array, 0, host, 5 * bytes)),
      brief(cuMemcpyHtoA(array, 0, host, bytes / 2)), brief(cuMemcpyHtoA(array, bytes * 4, host, bytes)));
    memset(words, 0, 256);
    V("back: %s %s", brief(cuMemcpyAtoH(words, array, 0, 4 * bytes)), brief(cuMemcpyAtoH(words + 64, array, 2 * bytes, bytes)));
    show_words("read", 128);
  }
}
// Copies between arrays.
static void between(void) {
  up();
  static const struct Known PLAIN[] = {{"two words", 3, 2, 8}, {"four words", 3, 4, 16}, {"four shorts", 2, 4, 8}, {"four floats", 32, 4, 16}, {"bytes", 1, 4, 4}};
  for (int i = 0; i < ALL_KNOWN; i += 3)
    for (int k = 0; k < ALL_KNOWN + 5; k++) {
      const struct Known *from = &KNOWN[i], *to = k < ALL_KNOWN ? &KNOWN[k] : &PLAIN[k - ALL_KNOWN];
      if (k < ALL_KNOWN && k != i && k != i + 1 && k != 0 && k != 12) continue;
      CUarray source = filled(from, 4, 3), target = 0;
      CUresult made = k < ALL_KNOWN ? make(&target, to->number, to->channels, 16, 12, 0, 0) : make(&target, to->number, to->channels, 4, 3, 0, 0);
      CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = source, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = target, .WidthInBytes = 4 * from->bytes, .Height = 3};
      CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = target, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = source, .dstXInBytes = from->bytes, .dstY = 1, .WidthInBytes = from->bytes, .Height = 2};
      CUresult whole = cuMemcpy2D(&c), part = cuMemcpy2D(&back);
      V("%s to %s: %s, %s, back %s, in bytes %s", from->name, to->name, brief(made), brief(whole), brief(part), brief(cuMemcpyAtoA(target, 0, source, 0, from->bytes)));
      memset(words, 0, 1024);
      CUresult r = copy(source, 0, 0, 0, words, 4 * from->bytes, 3, 1, 0), s = copy(target, 0, 0, 0, words + 128, 4 * to->bytes, 3, 1, 0);
      V("then %s %08x, %s %08x", brief(r), checksum(words, 128), brief(s), checksum(words + 128, 128));
    }
}
// Batches count elements.
static void batches(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i += BC4) {
    const struct Known *known = &KNOWN[i];
    CUstream stream = 0;
    cuStreamCreate(&stream, 0);
    static const int EXTENTS[][4] = {{4, 3, 0, 0}, {16, 12, 0, 0}, {8, 8, 0, 0}, {8, 4, 4, 4}, {4, 4, 1, 1}, {1, 1, 0, 0}, {2, 2, 2, 1}, {6, 6, 0, 0}, {16, 3, 0, 0}, {4, 12, 0, 0}};
    for (int e = 0; e < 10; e++) {
      CUarray array = filled(known, 4, 3);
      for (int k = 0; k < 16 * 12 * 16; k++) host[k] = k * 7 + k / 256;
      cuMemcpyHtoD(out, host, 16 * 12 * 16);
      CUDA_MEMCPY3D_BATCH_OP op = {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = out}}, .dst = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = {.array = array}}};
      op.extent.width = EXTENTS[e][0], op.extent.height = EXTENTS[e][1], op.extent.depth = 1;
      op.dst.op.array.offset.x = EXTENTS[e][2], op.dst.op.array.offset.y = EXTENTS[e][3];
      op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
      CUresult r = cuMemcpy3DBatchAsync(1, &op, 0, stream), s = cuStreamSynchronize(stream);
      memset(words, 0, 1024);
      CUresult b = copy(array, 0, 0, 0, words, 4 * known->bytes, 3, 1, 0);
      V("%s, %d x %d at %d %d: %s, %s, then %s %08x", known->name, EXTENTS[e][0], EXTENTS[e][1], EXTENTS[e][2], EXTENTS[e][3], brief(r), brief(s), brief(b), checksum(words, 256));
      char line[1000] = {0};
      for (int k = 0; k < 12; k++) sprintf(line + strlen(line), " %08x", words[k * known->bytes / 4]);
      V("first words of blocks:%s", line);
    }
  }
}
enum { SIDE = 16, TEXELS = SIDE * 4 * SIDE * 4 };
// What textures read: the nearest, between texels, in every way to read that is there.
static void textures(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i++) {
    CUarray array = filled(&KNOWN[i], SIDE, SIDE);
    if (!array) continue;
    V("%s", KNOWN[i].name);
    CUtexObject texture;
    int usual = usual_flags(&KNOWN[i]);
    for (int filter = 0; filter < 2; filter++)
      for (int flags = 0; flags < 4; flags++) {
        static const int FLAGS[] = {0, 1, 16, 17};
        CUresult r = texture_of(&texture, array, FLAGS[flags], filter, 1);
        char title[80];
        sprintf(title, "filter %d, flags %d: %s", filter, FLAGS[flags], brief(r));
        if (r) V("%s", title);
        else if (filter) sampled(title, "plane", TEXELS, texture, -0.83f, -1.17f, 1.037f, 1.0231f, SIDE * 4);
        else sampled(title, "plane", TEXELS, texture, 0.5f, 0.5f, 1, 1, SIDE * 4);
      }
    texture_of(&texture, array, usual, 1, 1);
    sampled("in the middle of texels", "plane", TEXELS, texture, 0.5f, 0.5f, 1, 1, SIDE * 4);
    for (int filter = 0; filter < 2; filter++) {
      texture_of(&texture, array, usual, filter, 3);
      sampled("at the border", "plane", 1024, texture, -1.4f, -1.6f, 2.3f, 2.21f, 32);
      texture_of(&texture, array, usual | 2, filter, 2);
      sampled("back and forth", "plane", 1024, texture, -0.4f, -0.6f, 0.053f, 0.0621f, 32);
      texture_of(&texture, array, usual | 2, filter, 0);
      sampled("again", "plane", 1024, texture, -0.4f, -0.6f, 0.053f, 0.0621f, 32);
    }
    texture_of(&texture, array, usual, 0, 1);
    sampled("by whole numbers", "texels", 1024, texture, -2, -3, 3, 3, 32);
    sampled("red gathered", "gather_red", 1024, texture, -1.3f, -2.4f, 2.3f, 2.21f, 32);
    sampled("green gathered", "gather_green", 1024, texture, -1.3f, -2.4f, 2.3f, 2.21f, 32);
    sampled("alpha gathered", "gather_alpha", 1024, texture, -1.3f, -2.4f, 2.3f, 2.21f, 32);
    launch("sizes", 128, texture, 0, 0, 0, 0, 1);
    V("sizes %d %d %d", words[0], words[1], words[2]);
  }
}
// Each mode of the formats that have modes, and each kind of blocks of the others.
static void modes(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i++) {
    CUarray array = filled(&KNOWN[i], SIDE, SIDE);
    if (!array) continue;
    CUtexObject texture;
    texture_of(&texture, array, usual_flags(&KNOWN[i]), 0, 1);
    if (launch("plane", TEXELS, texture, 0.5f, 0.5f, 1, 1, SIDE * 4)) continue;
    int kinds = i >= BC7 ? 9 : i >= BC6H ? 18 : 4;
    for (int kind = 0; kind < kinds; kind++) {
      static unsigned of_kind[TEXELS * 4];
      int count = 0;
      for (int block = kind; block < SIDE * SIDE; block += kinds)
        for (int texel = 0; texel < 16; texel++, count += 4) {
          int x = block % SIDE * 4 + texel % 4, y = block / SIDE * 4 + texel / 4;
          memcpy(of_kind + count, words + (y * SIDE * 4 + x) * 4, 16);
        }
      printf("    %s, kind %d: %08x", KNOWN[i].name, kind, checksum(of_kind, count));
      for (int k = 0; k < 8; k++) printf(" %08x", of_kind[k / 4 * 20 + k % 4]);
      printf("\n");
      fflush(stdout);
    }
  }
  // Halves around 0, the two least numbers on each side of it: those of mode 15, whose ends are whole halves.
  for (int i = BC6H; i < BC7; i++) {
    CUarray array = 0;
    CUtexObject texture;
    if (make(&array, KNOWN[i].number, 3, 32, 4, 0, 0)) continue;
    memset(host, 0, 128);
    for (int block = 0; block < 8; block++) {
      unsigned end = (block - 4) & 0xffff;
      unsigned long long low = 15 | (unsigned long long)(end & 1023) << 5;
      for (int bit = 0; bit < 6; bit++) low |= (unsigned long long)(end >> (15 - bit) & 1) << (39 + bit);
      memcpy(host + 16 * block, &low, 8);
    }
    copy(array, 0, 0, 0, host, 128, 1, 1, 1);
    texture_of(&texture, array, 0, 0, 1);
    launch("plane", 128, texture, 0.5f, 0.5f, 4, 0, 32);
    V("%s around 0: %08x %08x %08x %08x %08x %08x %08x %08x", KNOWN[i].name, words[0], words[4], words[8], words[12], words[16], words[20], words[24], words[28]);
  }
}
// What lies between any two ends: of BC3's alpha and BC4, all pairs; of BC1 and BC2, pairs of each channel.
static void ends(void) {
  up();
  enum { WIDE = 256, ACROSS = WIDE * 4 };
  static const int KINDS[] = {4, 6, 7, 0, 2};
  static unsigned char all[WIDE * WIDE * 16];
  CUdeviceptr keep = out, large = 0;
  cuMemAlloc(&large, (size_t)ACROSS * ACROSS * 16);
  unsigned *seen = malloc((size_t)ACROSS * ACROSS * 16);
  for (int kind = 0; kind < 5; kind++) {
    const struct Known *known = &KNOWN[KINDS[kind]];
    memset(all, 0, sizeof all);
    for (int k = 0; k < WIDE * WIDE; k++) {
      unsigned char *to = all + k * known->bytes;
      if (kind < 3) {
        unsigned long long indices = 0xfac688fac688;
        to[0] = k >> 8, to[1] = k;
        memcpy(to + 2, &indices, 6);
      } else {
        int g0 = k / 64 % 64, g1 = k % 64, r0 = k / 32 % 32, r1 = k % 32, b0 = (k * 7 + 3) % 32, b1 = (k / 32 * 5 + k / 1024) % 32, c0 = r0 << 11 | g0 << 5 | b0, c1 = r1 << 11 | g1 << 5 | b1;
        to += known->bytes - 8;
        to[0] = c0, to[1] = c0 >> 8, to[2] = c1, to[3] = c1 >> 8, to[4] = to[5] = to[6] = to[7] = 0xe4;
      }
    }
    CUarray array = 0;
    CUtexObject texture;
    CUresult r = make(&array, known->number, known->channels, ACROSS, ACROSS, 0, 0);
    if (!r) r = copy(array, 0, 0, 0, all, WIDE * known->bytes, WIDE, 1, 1);
    if (!r) r = texture_of(&texture, array, 0, 0, 1);
    int wide = ACROSS;
    float half = 0.5f, one = 1;
    CUfunction f = 0;
    void *arguments[] = {&texture, &large, &half, &half, &one, &one, &wide};
    if (!r) r = cuModuleGetFunction(&f, mod, "plane");
    if (!r) r = cuLaunchKernel(f, ACROSS * ACROSS / 128, 1, 1, 128, 1, 1, 0, 0, arguments, 0);
    if (!r) r = cuMemcpyDtoH(seen, large, (size_t)ACROSS * ACROSS * 16);
    V("%s: %s %08x", known->name, brief(r), checksum(seen, ACROSS * ACROSS * 4));
    // Some, in full: what the first row of a block has.
    for (int k = 0; k < 5; k++) {
      unsigned *row = seen + (size_t)(4 * (k * 50 + 17) * ACROSS + 4 * (k * 31 + 90)) * 4;
      V("%d: %08x %08x %08x %08x, %08x %08x %08x %08x, %08x %08x %08x %08x", k, row[0], row[1], row[2], row[3], row[8], row[9], row[10], row[11], row[12], row[13], row[14], row[15]);
    }
  }
  out = keep;
}
// Of sizes that are no whole blocks, of layers, cubes, boxes and levels.
static void wholes(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i++) {
    const struct Known *known = &KNOWN[i];
    int usual = usual_flags(known);
    V("%s", known->name);
    random_blocks(known, host, 64);
    CUarray array;
    CUtexObject texture;
    if (!make(&array, known->number, known->channels, 7, 5, 0, 0)) {
      CUresult r = copy(array, 0, 0, 0, host, 2 * known->bytes, 2, 1, 1);
      V("7 x 5: %s", brief(r));
      for (int filter = 0; filter < 2; filter++) {
        texture_of(&texture, array, usual | 2, filter, 0);
        sampled("again", "plane", 128, texture, -0.4f, -0.6f, 0.153f, 0.1621f, 16);
        texture_of(&texture, array, usual, filter, 3);
        sampled("border", "plane", 128, texture, -1.4f, -1.6f, 0.653f, 1.21f, 16);
      }
    }
    static const struct Stacked {
      const char *what, *kernel;
      int side, deep, flags;
    } STACKED[] = {{"layers", "layers", 8, 4, 1}, {"cube", "cube", 8, 6, 4}, {"box", "box", 8, 8, 0}, {"small cube", "cube", 6, 6, 4}};
    for (int s = 0; s < 4; s++) {
      CUresult r = make(&array, known->number, known->channels, STACKED[s].side, STACKED[s].side, STACKED[s].deep, STACKED[s].flags);
      if (!r) r = copy(array, 0, 0, 0, host, 2 * known->bytes, 2, STACKED[s].deep, 1);
      V("%s: %s", STACKED[s].what, brief(r));
      for (int filter = 0; filter < 2 && !r; filter++)
        for (int flags = 0; flags <= 64; flags += 64) {
          if (flags && !(STACKED[s].flags & 4)) continue;
          r = texture_of(&texture, array, usual | flags, filter, 1);
          if (r) V("%s", brief(r));
          else sampled(STACKED[s].what, STACKED[s].kernel, 512, texture, -1.4f, -1.6f, 0.153f, 0.3621f, 32);
        }
    }
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 20, .Height = 12, .Format = known->number, .NumChannels = known->channels};
    CUmipmappedArray mip = 0;
    CUresult r = cuMipmappedArrayCreate(&mip, &d, 5);
    for (int level = 0; level < 5; level++) {
      int width = 20 >> level, height = 12 >> level;
      width = ((width ? width : 1) + 3) / 4, height = ((height ? height : 1) + 3) / 4;
      if (!r) r = cuMipmappedArrayGetLevel(&array, mip, level);
      if (!r) r = copy(array, 0, 0, 0, host + level * 3 * known->bytes, width * known->bytes, height, 1, 1);
    }
    V("levels: %s", brief(r));
    for (int filter = 0; filter < 2; filter++)
      for (int between = 0; between < 2; between++) {
        CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = mip};
        CUDA_TEXTURE_DESC how = {.addressMode = {0, 2, 0}, .filterMode = filter, .mipmapFilterMode = between, .flags = usual | CU_TRSF_NORMALIZED_COORDINATES, .maxMipmapLevelClamp = 9, .mipmapLevelBias = -0.3f};
        r = cuTexObjectCreate(&texture, &what, &how, 0);
        if (r) V("%s", brief(r));
        else sampled("levels", "levels", 512, texture, 0, 0, 0.0519f, 0.0647f, 8);
      }
  }
}
static CUresult view_of(CUtexObject *texture, CUarray array, int view, int width, int height, int flags, int filter) {
  CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
  CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .filterMode = filter, .flags = flags};
  CUDA_RESOURCE_VIEW_DESC seen = {.format = view, .width = width, .height = height};
  *texture = 0;
  return cuTexObjectCreate(texture, &what, &how, &seen);
}
// Arrays of words seen as blocks: which formats and sizes, and what is read.
static void views(void) {
  up();
  static const int FORMATS[] = {1, 2, 3, 8, 9, 10, 16, 32};
  CUtexObject texture;
  CUarray array;
  for (int view = 25; view <= 35; view++) {
    char line[1000] = {0};
    for (int f = 0; f < 8; f++)
      for (int channels = 1; channels <= 4; channels *= 2) {
        if (make(&array, FORMATS[f], channels, 4, 3, 0, 0)) continue;
        CUresult r = view_of(&texture, array, view, 16, 12, 0, 0);
        if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d of %d %s", channels, FORMATS[f], brief(r));
      }
    V("view %d:%s", view, line);
  }
  make(&array, 3, 2, 4, 3, 0, 0);
  for (int view = 25; view <= 28; view += 3) {
    char line[8000] = {0};
    for (int width = 1; width <= 20; width++)
      for (int height = 0; height <= 14; height++) {
        CUresult r = view_of(&texture, array, view, width, height, 0, 0);
        if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d x %d %s", width, height, brief(r));
      }
    V("view %d, sizes:%s", view, line);
  }
  make(&array, 3, 2, 4, 0, 0, 0);
  V("of a line: %s %s", brief(view_of(&texture, array, 25, 16, 0, 0, 0)), brief(view_of(&texture, array, 25, 16, 4, 0, 0)));
  for (int i = 0; i < ALL_KNOWN; i++) {
    const struct Known *known = &KNOWN[i];
    if (i < 6 && i % 2 || i == 13) continue;
    random_blocks(known, host, SIDE * SIDE);
    if (make(&array, 3, known->bytes / 4, SIDE, SIDE, 0, 0) || copy(array, 0, 0, 0, host, SIDE * known->bytes, SIDE, 1, 1)) continue;
    for (int flags = 0; flags <= 17; flags += 17)
      for (int filter = 0; filter < 2; filter++) {
        CUresult r = view_of(&texture, array, known->view, SIDE * 4, SIDE * 4, flags, filter);
        char title[80];
        sprintf(title, "%s, flags %d, filter %d: %s", known->name, flags, filter, brief(r));
        if (r) V("%s", title);
        else if (filter) sampled(title, "plane", TEXELS, texture, -0.83f, -1.17f, 1.037f, 1.0231f, SIDE * 4);
        else sampled(title, "plane", TEXELS, texture, 0.5f, 0.5f, 1, 1, SIDE * 4);
      }
    view_of(&texture, array, known->view, SIDE * 4, SIDE * 4, 0, 0);
    sampled("by whole numbers", "texels", 1024, texture, -2, -3, 3, 3, 32);
    sampled("alpha gathered", "gather_alpha", 1024, texture, -1.3f, -2.4f, 2.3f, 2.21f, 32);
    launch("sizes", 128, texture, 0, 0, 0, 0, 1);
    V("sizes %d %d %d", words[0], words[1], words[2]);
    CUDA_RESOURCE_VIEW_DESC back = {0};
    CUresult r = cuTexObjectGetResourceViewDesc(&back, texture);
    V("view: %s %d, %d x %d x %d", brief(r), (int)back.format, (int)back.width, (int)back.height, (int)back.depth);
  }
  // A line of blocks, of which it sees one row.
  random_blocks(&KNOWN[0], host, 4);
  make(&array, 3, 2, 4, 0, 0, 0);
  copy(array, 0, 0, 0, host, 32, 1, 1, 1);
  for (int filter = 0; filter < 2; filter++) {
    CUresult r = view_of(&texture, array, 25, 16, 0, 0, filter);
    if (r) V("line: %s", brief(r));
    else sampled("line", "line", 128, texture, -0.7f, 0, 0.137f, 0, 128);
  }
  launch("sizes", 128, texture, 0, 0, 0, 0, 1);
  V("sizes %d %d %d", words[0], words[1], words[2]);
  // Levels of which each has half the blocks, and of which not.
  static const int LEVELS[][2] = {{8, 8}, {5, 3}, {4, 1}};
  for (int s = 0; s < 3; s++) {
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = LEVELS[s][0], .Height = LEVELS[s][1], .Format = 3, .NumChannels = 2};
    CUmipmappedArray mip = 0;
    CUresult r = cuMipmappedArrayCreate(&mip, &d, 4);
    for (int level = 0; level < 4; level++) {
      int wide = LEVELS[s][0] >> level, high = LEVELS[s][1] >> level;
      random_blocks(&KNOWN[0], host, 64);
      if (cuMipmappedArrayGetLevel(&array, mip, level)) break;
      copy(array, 0, 0, 0, host, (wide ? wide : 1) * 8, high ? high : 1, 1, 1);
    }
    for (int last = 0; last < 4; last++)
      for (int filter = 0; filter < 2; filter++) {
        CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = mip};
        CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .maxMipmapLevelClamp = 9, .filterMode = filter, .mipmapFilterMode = filter};
        CUDA_RESOURCE_VIEW_DESC seen = {.format = 25, .width = 4 * LEVELS[s][0], .height = 4 * LEVELS[s][1], .firstMipmapLevel = last == 3, .lastMipmapLevel = last};
        r = cuTexObjectCreate(&texture, &what, &how, &seen);
        char title[80];
        sprintf(title, "%d x %d, up to level %d, filter %d: %s", LEVELS[s][0], LEVELS[s][1], last, filter, brief(r));
        if (r) V("%s", title);
        else sampled(title, "levels", 512, texture, 0, 0, 0.0519f, 0.0647f, 8);
      }
  }
  // Layers and boxes.
  for (int flags = 0; flags < 2; flags++) {
    random_blocks(&KNOWN[4], host, 64);
    CUresult r = make(&array, 3, 4, 4, 4, 4, flags);
    if (!r) r = copy(array, 0, 0, 0, host, 64, 4, 4, 1);
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .filterMode = 1};
    CUDA_RESOURCE_VIEW_DESC seen = {.format = 27, .width = 16, .height = 16, .depth = 4, .firstLayer = flags, .lastLayer = 2 * flags};
    if (!r) r = cuTexObjectCreate(&texture, &what, &how, &seen);
    V("%s: %s", flags ? "layers" : "box", brief(r));
    if (!r) sampled("read", flags ? "layers" : "box", 512, texture, -1.4f, -1.6f, 0.353f, 0.3621f, 32);
  }
  // Which shapes of views.
  static const int DEEP[][4] = {{4, 3, 0, 0}, {4, 4, 4, 1}, {4, 4, 6, 4}, {4, 4, 4, 0}, {4, 4, 12, 5}};
  for (int s = 0; s < 5; s++) {
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = DEEP[s][0], .Height = DEEP[s][1], .Depth = DEEP[s][2], .Format = 3, .NumChannels = 2, .Flags = DEEP[s][3]};
    CUmipmappedArray mip = 0;
    CUresult made = cuMipmappedArrayCreate(&mip, &d, 3);
    CUresult plain = make(&array, 3, 2, DEEP[s][0], DEEP[s][1], DEEP[s][2], DEEP[s][3]);
    char line[400] = {0};
    for (int whole = 0; whole < 2; whole++)
      for (int depth = 0; depth < 3; depth++) {
        CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = mip};
        if (whole) what.resType = CU_RESOURCE_TYPE_ARRAY, what.res.array.hArray = array;
        CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .maxMipmapLevelClamp = 9};
        CUDA_RESOURCE_VIEW_DESC seen = {.format = 25, .width = 4 * DEEP[s][0], .height = 4 * DEEP[s][1], .depth = (int[]){DEEP[s][2], 4 * DEEP[s][2], 0}[depth], .lastMipmapLevel = whole ? 0 : 1};
        sprintf(line + strlen(line), " %s", brief(cuTexObjectCreate(&texture, &what, &how, &seen)));
      }
    V("%d x %d x %d, flags %d: %s %s,%s", DEEP[s][0], DEEP[s][1], DEEP[s][2], DEEP[s][3], brief(made), brief(plain), line);
  }
}
// Arrays of blocks seen as other blocks, and as what is none.
static void views_of_blocks(void) {
  up();
  for (int i = 0; i < ALL_KNOWN; i++) {
    CUarray array = filled(&KNOWN[i], 4, 3);
    CUtexObject texture;
    char line[1000] = {0};
    for (int view = 0; view <= 36; view++)
      for (int whole = 0; whole < 2; whole++) {
        CUresult r = view_of(&texture, array, view, whole ? 16 : 4, whole ? 12 : 3, 0, 0);
        if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d of %d %s", view, whole ? 16 : 4, brief(r));
        if (!r && whole && view >= 25) {
          char title[80];
          sprintf(title, "%s as %d", KNOWN[i].name, view);
          sampled(title, "plane", 256, texture, 0.5f, 0.5f, 1, 1, 16);
          if (!view_of(&texture, array, view, 16, 12, 16, 1)) sampled("colours between", "plane", 256, texture, 0.3f, 0.1f, 1, 1, 16);
        }
      }
    V("%s:%s", KNOWN[i].name, line);
    line[0] = 0;
    for (int width = 13; width <= 20; width++)
      for (int height = 9; height <= 13; height++) {
        CUresult r = view_of(&texture, array, KNOWN[i].view, width, height, 0, 0);
        if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d x %d %s", width, height, brief(r));
      }
    V("sizes:%s", line);
  }
}
// Images whose brightness and colours lie among each other.
static void interleaved(void) {
  up();
  for (int i = 0; i < 6; i++) {
    const struct Known *known = &INTERLEAVED[i];
    CUarray array = 0, plane = 0;
    CUresult r = make(&array, known->number, known->channels, 16, 8, 0, VIDEO | CUDA_ARRAY3D_SURFACE_LDST);
    V("%s: %s", known->name, brief(r));
    if (r) continue;
    describe("it", array);
    for (int k = 0; k < 2; k++) {
      r = cuArrayGetPlane(&plane, array, k);
      V("plane %d: %s", k, brief(r));
      if (!r) describe("plane", plane);
    }
    char line[1000] = {0};
    for (int k = 0; k < 1024; k++) host[k] = k * 7 + k / 16;
    for (int row = 8; row <= 256; row += 8) {
      r = copy(array, 0, 0, 0, host, row, 8, 1, 1);
      if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d %s", row, brief(r));
    }
    V("copied, bytes of rows:%s", line);
    line[0] = 0;
    for (int rows = 1; rows <= 20; rows++) {
      r = copy(array, 0, 0, 0, host, 16, rows, 1, 1);
      if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d %s", rows, brief(r));
    }
    V("copied, rows:%s", line);
    line[0] = 0;
    for (int row = 1; row <= 16; row++) sprintf(line + strlen(line), " %s", brief(copy(array, 0, 0, 0, host, row, 1, 1, 1)));
    V("rows of 1 to 16 bytes:%s", line);
    memset(words, 0, 1024);
    V("read: %s", brief(copy(array, 0, 0, 0, words, 16, 8, 1, 0)));
    show_words("bytes", 32);
    // Twice as many, of what has eight bytes.
    CUresult wide = copy(array, 0, 0, 0, host, 128, 8, 1, 1), wider = copy(array, 0, 0, 0, words, 128, 8, 1, 0);
    V("whole rows of 128 bytes: %s, %s", brief(wide), brief(wider));
    if (!wider) show_words("bytes", 256);
    CUtexObject texture;
    for (int flags = 0; flags <= 17; flags += 17) V("texture, flags %d: %s", flags, brief(texture_of(&texture, array, flags, 0, 1)));
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUsurfObject surface = 0;
    V("surface: %s", brief(cuSurfObjectCreate(&surface, &what)));
    line[0] = 0;
    for (int view = 0; view <= 36; view++) {
      r = view_of(&texture, array, view, 16, 8, 0, 1);
      if (r != CUDA_ERROR_INVALID_VALUE) sprintf(line + strlen(line), " %d %s", view, brief(r));
      char title[40];
      sprintf(title, "view %d", view);
      if (!r && view != 20 && view != 21 && view != 22 && view != 23) sampled(title, "plane", 128, texture, 0.3f, 0.1f, 0.87f, 0.93f, 16);
    }
    V("views:%s", line);
    sampled("read by a surface", "surface", 128, surface, 0, 0, 4, 1, 16);
    sampled("written by it", "store", 128, surface, 0, 0, 4, 1, 16);
    memset(words, 0, 1024);
    copy(array, 0, 0, 0, words, 64, 8, 1, 0);
    show_words("then", 128);
    CUtexref ref = 0;
    cuTexRefCreate(&ref);
    V("reference: %s, bound %s", brief(cuTexRefSetFormat(ref, known->number, known->channels)), brief(cuTexRefSetArray(ref, array, CU_TRSA_OVERRIDE_FORMAT)));
    V("destroyed: %s", brief(cuArrayDestroy(array)));
  }
}

// What a module declares to read, bound to such arrays.
static void references(void) {
  up();
  static const char TEXT[] =
      ".version 7.0\n.target sm_52\n.address_size 64\n.global .texref seen;\n"
      ".visible .entry plane(.param .u64 t, .param .u64 p, .param .f32 ox, .param .f32 oy, .param .f32 sx, .param .f32 sy, .param .u32 wide) { .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<4>;"
      " ld.param.u64 %d1,[p]; ld.param.f32 %f0,[ox]; ld.param.f32 %f1,[oy]; ld.param.f32 %f2,[sx]; ld.param.f32 %f3,[sy]; mov.u32 %r0,%tid.x; and.b32 %r5,%r0,15; shr.u32 %r6,%r0,4;"
      " cvt.rn.f32.u32 %f4,%r5; fma.rn.f32 %f0,%f4,%f2,%f0; cvt.rn.f32.u32 %f4,%r6; fma.rn.f32 %f1,%f4,%f3,%f1; tex.2d.v4.u32.f32 {%r1,%r2,%r3,%r4},[seen,{%f0,%f1}];"
      " mul.wide.u32 %d2,%r0,16; add.u64 %d1,%d1,%d2; st.global.v4.u32 [%d1],{%r1,%r2,%r3,%r4}; ret; }\n";
  char text[4000];
  strcpy(text, TEXT);
  memcpy(strstr(text, "%f<4>"), "%f<8>", 5);
  V("module: %s", brief(cuModuleLoadData(&mod, text)));
  CUtexref ref = 0;
  V("reference: %s", brief(cuModuleGetTexRef(&ref, mod, "seen")));
  for (int i = 0; i < ALL_KNOWN + ALL_INTERLEAVED; i++) {
    const struct Known *known = i < ALL_KNOWN ? &KNOWN[i] : &INTERLEAVED[i - ALL_KNOWN];
    CUarray array = 0;
    if (i < ALL_KNOWN) array = filled(known, 4, 2);
    else {
      make(&array, known->number, known->channels, 16, 8, 0, VIDEO);
      for (int k = 0; k < 1024; k++) host[k] = k * 7 + k / 16;
      copy(array, 0, 0, 0, host, 64, 8, 1, 1);
    }
    for (int flags = 0; flags <= 17; flags += flags % 16 ? 15 : 1) {
      CUresult f = cuTexRefSetFlags(ref, flags), r = cuTexRefSetArray(ref, array, CU_TRSA_OVERRIDE_FORMAT);
      V("%s, flags %d: %s, bound %s", known->name, flags, brief(f), brief(r));
      sampled("read", "plane", 128, 0, 0.5f, 0.5f, 1, 1, 16);
    }
  }
}
static CUarrayMapInfo tiles(CUarray array, CUmemGenericAllocationHandle handle, int x, int y, int width, int height) {
  CUarrayMapInfo m = {.resourceType = CU_RESOURCE_TYPE_ARRAY, .resource.array = array, .subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL};
  m.subresource.sparseLevel.offsetX = x, m.subresource.sparseLevel.offsetY = y;
  m.subresource.sparseLevel.extentWidth = width, m.subresource.sparseLevel.extentHeight = height, m.subresource.sparseLevel.extentDepth = 1;
  m.memOperationType = handle ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
  m.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC, m.memHandle.memHandle = handle, m.deviceBitMask = 1;
  return m;
}
// Blocks in memory that the program maps: as a whole, and tile by tile, where some have none.
static void mapped(void) {
  up();
  CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, dev}};
  prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  CUmemGenericAllocationHandle pool = 0;
  V("pool: %s", brief(cuMemCreate(&pool, 2 << 20, &prop, 0)));
  for (int i = 0; i < ALL_KNOWN; i++) {
    const struct Known *known = &KNOWN[i];
    int usual = usual_flags(known), wide = known->bytes == 8 ? 512 : 256;
    CUarray whole = 0, sparse = 0;
    CUtexObject texture;
    CUresult made = make(&whole, known->number, known->channels, 64, 64, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUarrayMapInfo m = tiles(whole, pool, 0, 0, 0, 0);
    V("%s: %s, mapped %s", known->name, brief(made), brief(cuMemMapArrayAsync(&m, 1, 0)));
    random_blocks(known, host, 256);
    V("filled: %s", brief(copy(whole, 0, 0, 0, host, 16 * known->bytes, 16, 1, 1)));
    texture_of(&texture, whole, usual, 1, 1);
    sampled("read", "plane", 4096, texture, 0.3f, 0.4f, 0.97f, 0.96f, 64);
    made = make(&sparse, known->number, known->channels, 2 * wide, 512, 0, CUDA_ARRAY3D_SPARSE);
    V("sparse: %s", brief(made));
    char line[400] = {0};
    static const int PARTS[][4] = {{0, 0, 64, 64}, {4, 0, 1, 1}, {0, 0, 2, 1}, {8, 4, 4, 4}, {4, 0, 4, 4}, {2, 0, 2, 2}};
    for (int k = 0; k < 6; k++) {
      // In quarters of tiles.
      m = tiles(sparse, pool, PARTS[k][0] * wide / 4, PARTS[k][1] * 64, PARTS[k][2] == 64 ? 64 : PARTS[k][2] * wide / 4, PARTS[k][3] == 64 ? 64 : PARTS[k][3] * 64);
      CUresult r = cuMemMapArrayAsync(&m, 1, 0);
      sprintf(line + strlen(line), " %s", brief(r));
    }
    V("parts:%s", line);
    // The second tile has memory; of the others what is written is lost, and what is read is nothing.
    CUresult r = 0;
    for (int row = 0; row < 128 && !r; row++) {
      random_blocks(known, host, wide / 2);
      r = copy(sparse, 0, row, 0, host, wide / 2 * known->bytes, 1, 1, 1);
    }
    memset(words, 0, sizeof words);
    V("filled: %s, back %s", brief(r), brief(copy(sparse, (wide / 4 - 4) * known->bytes, 0, 0, words, 8 * known->bytes, 64, 1, 0)));
    show_words("blocks", 8 * known->bytes * 64 / 4);
    for (int filter = 0; filter < 2; filter++) {
      texture_of(&texture, sparse, usual, filter, 1);
      sampled("read", "plane", 4096, texture, wide - 32.3f, 200, 0.97f, 1.93f, 64);
    }
    cuArrayDestroy(sparse);
    cuArrayDestroy(whole);
  }
}

static const struct Scenario {
  const char *name;
  void (*run)(void);
} ALL[] = {
    {"channels", channels}, {"block_shapes", shapes}, {"blocks_described", described}, {"block_memory", memory}, {"block_copies", copies}, {"between_arrays", between},
    {"batches", batches}, {"block_textures", textures}, {"modes", modes}, {"ends", ends}, {"wholes", wholes}, {"views", views}, {"views_of_blocks", views_of_blocks}, {"interleaved", interleaved}, {"references", references}, {"mapped", mapped},
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
