// Arrays whose memory a program maps: as a whole (CUDA_ARRAY3D_DEFERRED_MAPPING), and tile by tile (CUDA_ARRAY3D_SPARSE), for recording and comparison as in answers.c. backing.golden is what
// NVIDIA's driver printed (CUDA 13.0, H100).
//
//   cc -w -I<dir with cuda.h of CUDA 13.0 or later> backing.c -o backing -lcuda; ./backing [SCENARIO]
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
static const char *brief(CUresult r) { return r ? nm(r) + 11 : "ok"; }
#define T(e)                         \
  do {                               \
    CUresult r_ = (e);               \
    printf("%s = %s\n", #e, nm(r_)); \
    fflush(stdout);                  \
  } while (0)
#define V(fmt, ...)                     \
  do {                                  \
    printf("    " fmt "\n", __VA_ARGS__); \
    fflush(stdout);                     \
  } while (0)

enum { TILE = 65536, POOL = 4 << 20, LAYERED = 1, SURFACE = 2, CUBE = 4, GATHER = 8, DRAWN = 32, SPARSE = 64, DEFERRED = 128 };

static const char PTX[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 t, .param .u64 p, .param .f32 x, .param .f32 y, .param .f32 l) { .reg .b64 %d<2>; .reg .b32 %r<4>; .reg .f32 %f<3>; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[p];"
    " ld.param.f32 %f0,[x]; ld.param.f32 %f1,[y]; ld.param.f32 %f2,[l]; tex.level.2d.v4.u32.f32 {%r0,%r1,%r2,%r3},[%d0,{%f0,%f1}],%f2; st.global.v4.u32 [%d1],{%r0,%r1,%r2,%r3}; ret; }\n"
    ".visible .entry box(.param .u64 t, .param .u64 p, .param .f32 x, .param .f32 y, .param .f32 z) { .reg .b64 %d<2>; .reg .b32 %r<4>; .reg .f32 %f<4>; ld.param.u64 %d0,[t]; ld.param.u64 %d1,[p];"
    " ld.param.f32 %f0,[x]; ld.param.f32 %f1,[y]; ld.param.f32 %f2,[z]; tex.3d.v4.u32.f32 {%r0,%r1,%r2,%r3},[%d0,{%f0,%f1,%f2,%f2}]; st.global.v4.u32 [%d1],{%r0,%r1,%r2,%r3}; ret; }\n"
    ".visible .entry put(.param .u64 s, .param .u32 x, .param .u32 y, .param .u32 v) { .reg .b64 %d; .reg .b32 %r<3>; ld.param.u64 %d,[s]; ld.param.u32 %r0,[x]; ld.param.u32 %r1,[y]; ld.param.u32 %r2,[v];"
    " sust.b.2d.b32.trap [%d,{%r0,%r1}],%r2; ret; }\n"
    ".visible .entry get(.param .u64 s, .param .u64 p, .param .u32 x, .param .u32 y) { .reg .b64 %d<2>; .reg .b32 %r<3>; ld.param.u64 %d0,[s]; ld.param.u64 %d1,[p]; ld.param.u32 %r0,[x]; ld.param.u32 %r1,[y];"
    " suld.b.2d.b32.trap %r2,[%d0,{%r0,%r1}]; st.global.u32 [%d1],%r2; ret; }\n";

static CUdevice dev;
static CUmodule mod;
static CUdeviceptr out;

static void up(void) {
  CUcontext primary;
  cuInit(0);
  cuDeviceGet(&dev, 0);
  cuDevicePrimaryCtxRetain(&primary, dev);
  cuCtxSetCurrent(primary);
  CUresult r = cuModuleLoadData(&mod, PTX);
  if (r) printf("module: %s\n", nm(r));
  cuMemAlloc(&out, 4096);
  cuMemsetD32(out, 0, 1024);
}
static CUresult launch(const char *name, void **arguments) {
  CUfunction f = 0;
  CUresult r = cuModuleGetFunction(&f, mod, name);
  if (!r) r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0);
  CUresult s = cuCtxSynchronize();
  return r ? r : s;
}
static CUresult pool(CUmemGenericAllocationHandle *handle, size_t size, int usage) {
  CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev}};
  p.allocFlags.usage = usage;
  return cuMemCreate(handle, size, &p, 0);
}
static CUDA_ARRAY3D_DESCRIPTOR shape(int width, int height, int depth, int channels, int flags) {
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = width, .Height = height, .Depth = depth, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = channels, .Flags = flags};
  return d;
}
static CUarray make(int width, int height, int depth, int channels, int flags) {
  CUDA_ARRAY3D_DESCRIPTOR d = shape(width, height, depth, channels, flags);
  CUarray array = 0;
  CUresult r = cuArray3DCreate(&array, &d);
  if (r) V("%d x %d x %d, flags %d: %s", width, height, depth, flags, brief(r));
  return array;
}
static CUarrayMapInfo tiles(CUarray array, CUmemGenericAllocationHandle handle, u64 offset, int x, int y, int z, int width, int height, int depth) {
  CUarrayMapInfo m;
  memset(&m, 0, sizeof m);
  m.resourceType = CU_RESOURCE_TYPE_ARRAY, m.resource.array = array;
  m.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
  m.subresource.sparseLevel.offsetX = x, m.subresource.sparseLevel.offsetY = y, m.subresource.sparseLevel.offsetZ = z;
  m.subresource.sparseLevel.extentWidth = width, m.subresource.sparseLevel.extentHeight = height, m.subresource.sparseLevel.extentDepth = depth;
  m.memOperationType = handle ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
  m.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC, m.memHandle.memHandle = handle, m.offset = offset, m.deviceBitMask = 1;
  return m;
}
static CUarrayMapInfo all(CUarray array, CUmemGenericAllocationHandle handle, u64 offset) { return tiles(array, handle, offset, 0, 0, 0, 0, 0, 0); }
static CUarrayMapInfo of_mip(CUarrayMapInfo m, CUmipmappedArray mip, int level) {
  m.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, m.resource.mipmap = mip, m.subresource.sparseLevel.level = level;
  return m;
}
static CUarrayMapInfo tail(CUmipmappedArray mip, CUmemGenericAllocationHandle handle, u64 offset, int layer, u64 at, u64 size) {
  CUarrayMapInfo m = of_mip(tiles(0, handle, offset, 0, 0, 0, 0, 0, 0), mip, 0);
  memset(&m.subresource, 0, sizeof m.subresource);
  m.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  m.subresource.miptail.layer = layer, m.subresource.miptail.offset = at, m.subresource.miptail.size = size;
  return m;
}
static CUresult map(CUarrayMapInfo m) {
  CUresult r = cuMemMapArrayAsync(&m, 1, 0);
  CUresult s = cuCtxSynchronize();
  return r ? r : s;
}
// One change to what would be mapped.
#define REFUSED(m, ...)                                       \
  do {                                                        \
    CUarrayMapInfo changed = m;                               \
    changed.__VA_ARGS__;                                      \
    printf("    %s: %s\n", #__VA_ARGS__, brief(map(changed))); \
    fflush(stdout);                                           \
  } while (0)
static CUtexObject texture_of(CUarray array, CUmipmappedArray mip, int filter) {
  CUDA_RESOURCE_DESC what = {.resType = mip ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY};
  if (mip) what.res.mipmap.hMipmappedArray = mip;
  else what.res.array.hArray = array;
  CUDA_TEXTURE_DESC how = {.addressMode = {1, 1, 1}, .filterMode = filter, .maxMipmapLevelClamp = 100, .flags = CU_TRSF_READ_AS_INTEGER | (mip ? CU_TRSF_NORMALIZED_COORDINATES : 0)};
  CUtexObject texture = 0;
  CUresult r = cuTexObjectCreate(&texture, &what, &how, 0);
  if (r) V("texture: %s", brief(r));
  return texture;
}
static CUsurfObject surface_of(CUarray array) {
  CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
  CUsurfObject surface = 0;
  CUresult r = cuSurfObjectCreate(&surface, &what);
  if (r) V("surface: %s", brief(r));
  return surface;
}
static void fetch(CUtexObject texture, float x, float y, float level) {
  void *a[] = {&texture, &out, &x, &y, &level};
  unsigned got[4] = {0};
  cuMemsetD32(out, 0x77777777, 4);
  CUresult r = launch("fetch", a);
  cuMemcpyDtoH(got, out, 16);
  V("fetch %g %g of level %g: %s %x %x %x %x", x, y, level, brief(r), got[0], got[1], got[2], got[3]);
}
static void fetch_box(CUtexObject texture, float x, float y, float z) {
  void *a[] = {&texture, &out, &x, &y, &z};
  unsigned got[4] = {0};
  CUresult r = launch("box", a);
  cuMemcpyDtoH(got, out, 16);
  V("fetch %g %g %g: %s %x", x, y, z, brief(r), got[0]);
}
static void put(CUsurfObject surface, int x, int y, unsigned value) {
  void *a[] = {&surface, &x, &y, &value};
  V("put %d %d: %s", x / 4, y, brief(launch("put", a)));
}
static void get(CUsurfObject surface, int x, int y) {
  void *a[] = {&surface, &out, &x, &y};
  unsigned got = 0x99;
  cuMemsetD32(out, 0x77777777, 1);
  CUresult r = launch("get", a);
  cuMemcpyDtoH(&got, out, 4);
  V("get %d %d: %s %x", x / 4, y, brief(r), got);
}
static unsigned host[1 << 20];
static int quiet;
// Rows of words, from 4 x to 4 (x + width), each word what follows from its place and `seed`.
static void fill(CUarray array, int x, int y, int z, int width, int height, unsigned seed) {
  for (int k = 0; k < width * height; k++) host[k] = seed + (y + k / width) * 0x1000 + x + k % width;
  CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = width * 4, .srcHeight = height, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array, .dstXInBytes = x * 4, .dstY = y, .dstZ = z,
                     .WidthInBytes = width * 4, .Height = height, .Depth = 1};
  CUresult r = cuMemcpy3D(&c);
  if (!quiet || r) V("filled from %d %d %d, %d x %d: %s", x, y, z, width, height, brief(r));
}
static void show(CUarray array, int x, int y, int z, int width, int height) {
  memset(host, 0x55, sizeof host);
  CUDA_MEMCPY3D c = {.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = host, .dstPitch = width * 4, .dstHeight = height, .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .srcXInBytes = x * 4, .srcY = y, .srcZ = z,
                     .WidthInBytes = width * 4, .Height = height, .Depth = 1};
  CUresult r = cuMemcpy3D(&c);
  unsigned sum = 2166136261u;
  for (int k = 0; k < width * height; k++) sum = (sum ^ host[k]) * 16777619u;
  V("from %d %d %d, %d x %d: %s %08x %x %x %x", x, y, z, width, height, brief(r), sum, host[0], host[width - 1], host[width * height - 1]);
}

// What the device says, and how much memory is handed out in.
static void attributes(void) {
  up();
  int sparse = -1, deferred = -1;
  cuDeviceGetAttribute(&sparse, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, dev);
  cuDeviceGetAttribute(&deferred, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, dev);
  V("sparse %d, deferred %d", sparse, deferred);
  for (int usage = 0; usage < 3; usage++) {
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev}};
    p.allocFlags.usage = usage;
    size_t least = 0, best = 0;
    CUresult r = cuMemGetAllocationGranularity(&least, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM), s = cuMemGetAllocationGranularity(&best, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    CUmemGenericAllocationHandle handle = 0;
    V("usage %d: %s %zu, %s %zu", usage, brief(r), least, brief(s), best);
    for (size_t size = 65536; size <= 2 << 20; size *= 32) V("%zu bytes: %s", size, brief(pool(&handle, size, usage)));
    CUmemAllocationProp back = {0};
    r = cuMemGetAllocationPropertiesFromHandle(&back, handle);
    V("said to be: %s, usage %d, type %d", brief(r), back.allocFlags.usage, (int)back.type);
    CUdeviceptr at = 0;
    T(cuMemAddressReserve(&at, 2 << 20, 0, 0, 0));
    T(cuMemMap(at, 2 << 20, 0, handle, 0));
    CUmemAccessDesc access = {.location = p.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    T(cuMemSetAccess(at, 2 << 20, &access, 1));
    int fd = -1;
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    V("to be exported: %s", brief(cuMemCreate(&handle, 2 << 20, &p, 0)));
    T(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  }
}

static const struct {
  int format, channels, bytes;
} FORMAT[] = {{1, 1, 1}, {1, 2, 2}, {3, 1, 4}, {3, 2, 8}, {3, 4, 16}, {2, 1, 2}, {1, 4, 4}, {2, 4, 8}};

// How much memory arrays need.
static void requirements(void) {
  up();
  static const int SIZES[][4] = {
      {1, 0, 0, 0}, {64, 0, 0, 0}, {1000, 0, 0, 0}, {65536, 0, 0, 0}, {100000, 0, 0, 0}, {1, 1, 0, 0}, {8, 8, 0, 0}, {17, 5, 0, 0}, {64, 64, 0, 0}, {65, 65, 0, 0}, {100, 9, 0, 0}, {100, 17, 0, 0}, {100, 33, 0, 0}, {100, 65, 0, 0},
      {100, 129, 0, 0}, {128, 128, 0, 0}, {256, 256, 0, 0}, {300, 300, 0, 0}, {1000, 700, 0, 0}, {1024, 1024, 0, 0}, {1025, 1025, 0, 0}, {5000, 3, 0, 0}, {3, 5000, 0, 0}, {4096, 4096, 0, 0},
      {1, 1, 1, 0}, {256, 33, 100, 0}, {256, 100, 33, 0}, {256, 17, 40, 0}, {256, 9, 100, 0}, {256, 100, 9, 0}, {256, 129, 17, 0}, {256, 40, 3, 0}, {256, 40, 2, 0}, {256, 3, 40, 0}, {8, 8, 8, 0}, {16, 16, 3, 0}, {32, 32, 16, 0}, {33, 33, 33, 0}, {64, 64, 64, 0}, {100, 100, 100, 0}, {128, 128, 128, 0}, {500, 30, 7, 0}, {256, 16, 5, 0},
      {100, 0, 5, LAYERED}, {4000, 0, 7, LAYERED}, {8, 8, 3, LAYERED}, {100, 100, 5, LAYERED}, {128, 128, 4, LAYERED}, {300, 200, 3, LAYERED}, {16, 16, 6, CUBE}, {100, 100, 6, CUBE}, {64, 64, 12, CUBE | LAYERED}, {256, 256, 6, CUBE},
  };
  for (unsigned i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    char line[4000] = {0};
    for (int f = 0; f < 5; f++) {
      CUDA_ARRAY3D_DESCRIPTOR d = {.Width = SIZES[i][0], .Height = SIZES[i][1], .Depth = SIZES[i][2], .Format = FORMAT[f].format, .NumChannels = FORMAT[f].channels, .Flags = SIZES[i][3] | DEFERRED};
      CUarray array = 0;
      CUDA_ARRAY_MEMORY_REQUIREMENTS m = {0};
      CUresult r = cuArray3DCreate(&array, &d);
      if (!r) r = cuArrayGetMemoryRequirements(&m, array, dev);
      sprintf(line + strlen(line), "; %s %zu/%zu", brief(r), m.size, m.alignment);
      for (int levels = 2; levels <= 16; levels *= 8) {
        CUmipmappedArray mip = 0;
        memset(&m, 0, sizeof m);
        r = cuMipmappedArrayCreate(&mip, &d, levels);
        if (!r) r = cuMipmappedArrayGetMemoryRequirements(&m, mip, dev);
        sprintf(line + strlen(line), " %s %zu/%zu", brief(r), m.size, m.alignment);
        if (!r) cuMipmappedArrayDestroy(mip);
      }
      if (array) cuArrayDestroy(array);
    }
    V("%d x %d x %d, flags %d%s", SIZES[i][0], SIZES[i][1], SIZES[i][2], SIZES[i][3], line);
  }
}
// Asked of what has no such requirements.
static void requirements_refused(void) {
  up();
  CUDA_ARRAY_MEMORY_REQUIREMENTS m = {0};
  CUDA_ARRAY_SPARSE_PROPERTIES s = {0};
  CUarray array = make(64, 64, 0, 1, DEFERRED), plain = make(64, 64, 0, 1, 0), level = 0;
  T(cuArrayGetMemoryRequirements(0, array, dev));
  T(cuArrayGetMemoryRequirements(&m, 0, dev));
  T(cuArrayGetMemoryRequirements(&m, array, 99));
  T(cuArrayGetMemoryRequirements(&m, array, -1));
  T(cuArrayGetMemoryRequirements(&m, plain, dev));
  T(cuArrayGetSparseProperties(&s, array));
  T(cuArrayGetSparseProperties(0, array));
  T(cuArrayGetSparseProperties(&s, 0));
  CUDA_ARRAY3D_DESCRIPTOR d = shape(64, 64, 0, 1, DEFERRED);
  CUmipmappedArray mip = 0;
  T(cuMipmappedArrayCreate(&mip, &d, 3));
  T(cuMipmappedArrayGetLevel(&level, mip, 0));
  T(cuArrayGetMemoryRequirements(&m, level, dev));
  T(cuMipmappedArrayGetMemoryRequirements(&m, mip, 99));
  T(cuMipmappedArrayGetMemoryRequirements(&m, 0, dev));
  T(cuMipmappedArrayGetSparseProperties(&s, mip));
  d.Flags = 0;
  T(cuMipmappedArrayCreate(&mip, &d, 3));
  T(cuMipmappedArrayGetMemoryRequirements(&m, mip, dev));
  d.Flags = DEFERRED | SURFACE, d.Depth = 8;
  T(cuArray3DCreate(&array, &d));
  d.Flags = DEFERRED | DRAWN, d.Depth = 0;
  T(cuArray3DCreate(&array, &d));
  CUDA_ARRAY3D_DESCRIPTOR back = {0};
  T(cuArray3DGetDescriptor(&back, array));
  V("flags %u", back.Flags);
}
// What is without memory is used.
static void unbacked_copy_in(void) { up(), fill(make(64, 64, 0, 1, DEFERRED), 0, 0, 0, 64, 64, 1); T(cuCtxSynchronize()); }
static void unbacked_copy_out(void) { up(), show(make(64, 64, 0, 1, DEFERRED), 0, 0, 0, 64, 64); T(cuCtxSynchronize()); }
static void unbacked_texture(void) { up(), fetch(texture_of(make(64, 64, 0, 1, DEFERRED), 0, 0), 3, 4, 0); T(cuCtxSynchronize()); }
static void unbacked_put(void) { up(), put(surface_of(make(64, 64, 0, 1, DEFERRED | SURFACE)), 4, 4, 5); T(cuCtxSynchronize()); }
static void unbacked_get(void) { up(), get(surface_of(make(64, 64, 0, 1, DEFERRED | SURFACE)), 4, 4); T(cuCtxSynchronize()); }
// A whole array is mapped.
static void whole(void) {
  up();
  CUmemGenericAllocationHandle h = 0, other = 0;
  V("pool: %s, plain memory: %s", brief(pool(&h, POOL, CU_MEM_CREATE_USAGE_TILE_POOL)), brief(pool(&other, POOL, 0)));
  CUarray a = make(128, 128, 0, 1, DEFERRED | SURFACE), b = make(128, 128, 0, 1, DEFERRED | SURFACE), large = make(2048, 2048, 0, 1, DEFERRED), plain = make(64, 64, 0, 1, 0);
  CUarrayMapInfo m = all(a, h, 0);
  V("unmapped before: %s", brief(map(all(a, 0, 0))));
  REFUSED(m, deviceBitMask = 0);
  REFUSED(m, deviceBitMask = 2);
  REFUSED(m, deviceBitMask = 3);
  REFUSED(m, flags = 1);
  REFUSED(m, reserved[0] = 1);
  REFUSED(m, memHandleType = 1);
  REFUSED(m, memOperationType = 0);
  REFUSED(m, memOperationType = 3);
  REFUSED(m, memOperationType = CU_MEM_OPERATION_TYPE_UNMAP);
  REFUSED(m, offset = 4096);
  REFUSED(m, offset = 32768);
  REFUSED(m, offset = POOL);
  REFUSED(m, offset = POOL - TILE / 2);
  REFUSED(m, resourceType = CU_RESOURCE_TYPE_LINEAR);
  REFUSED(m, resource.array = 0);
  REFUSED(m, resource.array = plain);
  REFUSED(m, resource.array = large);
  T(cuMemMapArrayAsync(0, 1, 0));
  T(cuMemMapArrayAsync(&m, 0, 0));
  V("plain memory: %s", brief(map(all(b, other, 0))));
  V("ignored: %s", brief(map(tiles(a, h, TILE, 7, 9, 11, 13, 15, 17))));
  fill(a, 0, 0, 0, 128, 128, 0x1000000);
  show(a, 0, 0, 0, 128, 128);
  CUtexObject t = texture_of(a, 0, 0);
  fetch(t, 5, 9, 0);
  V("mapped again elsewhere: %s", brief(map(all(a, h, 4 * TILE))));
  show(a, 0, 0, 0, 128, 1);
  fill(a, 0, 0, 0, 128, 128, 0x2000000);
  V("and back: %s", brief(map(all(a, h, TILE))));
  show(a, 0, 0, 0, 128, 128);
  fetch(t, 5, 9, 0);
  V("another array in the same place: %s", brief(map(all(b, h, TILE))));
  show(b, 0, 0, 0, 128, 128);
  put(surface_of(b), 20, 9, 0xabc);
  show(a, 0, 0, 0, 128, 128);
  fetch(t, 5, 9, 0);
  V("unmapped: %s", brief(map(all(a, 0, 0))));
  V("again: %s", brief(map(all(a, 0, 0))));
  V("mapped: %s", brief(map(all(a, h, TILE))));
  show(a, 0, 0, 0, 128, 128);
  T(cuMemRelease(h));
  fetch(t, 5, 9, 0);
  show(b, 0, 0, 0, 128, 128);
  T(cuArrayDestroy(a));
  show(b, 0, 0, 0, 128, 128);
  T(cuArrayDestroy(b));
}
static void unmapped_fetch(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUarray a = make(128, 128, 0, 1, DEFERRED);
  V("mapped: %s", brief(map(all(a, h, 0))));
  fill(a, 0, 0, 0, 128, 128, 0x1000000);
  CUtexObject t = texture_of(a, 0, 0);
  fetch(t, 5, 9, 0);
  V("unmapped: %s", brief(map(all(a, 0, 0))));
  fetch(t, 5, 9, 0);
  T(cuCtxSynchronize());
}
// Several in one call: all or none.
static void lists(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUarray s = make(256, 256, 0, 1, SPARSE);
  CUarrayMapInfo m[4] = {tiles(s, h, 0, 0, 0, 0, 128, 128, 1), tiles(s, h, 4096, 128, 0, 0, 128, 128, 1)};
  T(cuMemMapArrayAsync(m, 2, 0));
  fill(s, 0, 0, 0, 256, 256, 0x1000000);
  show(s, 0, 0, 0, 256, 256);
  m[1] = tiles(s, h, TILE, 128, 0, 0, 128, 128, 1);
  T(cuMemMapArrayAsync(m, 2, 0));
  fill(s, 0, 0, 0, 256, 256, 0x2000000);
  show(s, 0, 0, 0, 256, 256);
  m[0] = tiles(s, h, 2 * TILE, 0, 0, 0, 128, 128, 1), m[1] = tiles(s, 0, 0, 0, 0, 0, 128, 128, 1), m[2] = tiles(s, h, 3 * TILE, 128, 128, 0, 128, 128, 1);
  T(cuMemMapArrayAsync(m, 3, 0));
  fill(s, 0, 0, 0, 256, 256, 0x3000000);
  show(s, 0, 0, 0, 256, 256);
}
static void streams(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUarray s = make(256, 256, 0, 1, SPARSE);
  CUarrayMapInfo m = tiles(s, h, 0, 0, 0, 0, 128, 128, 1);
  CUstream stream = 0;
  cuStreamCreate(&stream, 0);
  T(cuMemMapArrayAsync(&m, 1, stream));
  T(cuStreamSynchronize(stream));
  T(cuMemMapArrayAsync(&m, 1, CU_STREAM_LEGACY));
  T(cuMemMapArrayAsync(&m, 1, CU_STREAM_PER_THREAD));
  T(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  T(cuMemMapArrayAsync(&m, 1, stream));
  CUgraph graph = 0;
  size_t nodes = 99;
  T(cuStreamEndCapture(stream, &graph));
  if (graph) cuGraphGetNodes(graph, 0, &nodes);
  V("%zu nodes", nodes);
  T(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  T(cuMemMapArrayAsync(&m, 1, 0));
  T(cuStreamEndCapture(stream, &graph));
}
static void mipmapped(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUDA_ARRAY3D_DESCRIPTOR d = shape(128, 128, 0, 1, DEFERRED | SURFACE);
  CUmipmappedArray mip = 0;
  CUarray level[8] = {0};
  T(cuMipmappedArrayCreate(&mip, &d, 8));
  for (int i = 0; i < 8; i++) cuMipmappedArrayGetLevel(&level[i], mip, i);
  V("a level: %s", brief(map(all(level[0], h, 0))));
  V("all: %s", brief(map(of_mip(all(0, h, 0), mip, 0))));
  fill(level[0], 0, 0, 0, 128, 128, 0x1000000);
  fill(level[1], 0, 0, 0, 64, 64, 0x2000000);
  fill(level[7], 0, 0, 0, 1, 1, 0x3000000);
  show(level[0], 0, 0, 0, 128, 128);
  show(level[1], 0, 0, 0, 64, 64);
  CUtexObject t = texture_of(0, mip, 0);
  for (int i = 0; i < 2; i++) fetch(t, 0.3f, 0.6f, i);
  fetch(t, 0.3f, 0.6f, 7);
  V("unmapped: %s", brief(map(of_mip(all(0, 0, 0), mip, 0))));
  T(cuMipmappedArrayDestroy(mip));
}

// Tiles of every kind of array.
static void properties(void) {
  up();
  static const int SIZES[][5] = {{256, 256, 0, 0, 0},     {100, 100, 0, 0, 0},     {1000, 700, 0, 0, 0},   {1024, 1024, 0, 0, 1},     {1024, 1024, 0, 0, 3},     {1024, 1024, 0, 0, 11}, {1000, 700, 0, 0, 10}, {100, 100, 0, 0, 7},
                                 {64, 64, 64, 0, 0},      {100, 40, 20, 0, 0},     {128, 128, 128, 0, 8},  {256, 256, 4, LAYERED, 0}, {1000, 700, 3, LAYERED, 10}, {100, 100, 3, LAYERED, 7},
                                 {256, 256, 6, CUBE, 0},  {256, 256, 6, CUBE, 9},  {256, 0, 0, 0, 0},      {256, 0, 4, LAYERED, 0},   {256, 256, 0, SURFACE, 0}, {256, 256, 0, GATHER, 0},  {256, 256, 0, DRAWN, 0},
                                 {512, 512, 12, CUBE | LAYERED, 4}, {4096, 64, 0, 0, 13}, {1, 1, 0, 0, 0}, {300, 300, 300, 0, 9}, {2048, 512, 0, 0, 6}};
  for (unsigned i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
    for (int f = 0; f < 8; f++) {
      CUDA_ARRAY3D_DESCRIPTOR d = {.Width = SIZES[i][0], .Height = SIZES[i][1], .Depth = SIZES[i][2], .Format = FORMAT[f].format, .NumChannels = FORMAT[f].channels, .Flags = SIZES[i][3] | SPARSE};
      CUarray array = 0, level = 0;
      CUmipmappedArray mip = 0;
      CUDA_ARRAY_SPARSE_PROPERTIES s, l;
      memset(&s, 0x11, sizeof s), memset(&l, 0, sizeof l);
      CUresult r = SIZES[i][4] ? cuMipmappedArrayCreate(&mip, &d, SIZES[i][4]) : cuArray3DCreate(&array, &d);
      CUresult q = r ? r : mip ? cuMipmappedArrayGetSparseProperties(&s, mip) : cuArrayGetSparseProperties(&s, array);
      V("%d x %d x %d, flags %d, levels %d, %d bytes: %s, %s, tile %d x %d x %d, tail from %d of %llu, flags %d", SIZES[i][0], SIZES[i][1], SIZES[i][2], SIZES[i][3], SIZES[i][4], FORMAT[f].bytes, brief(r), brief(q),
        s.tileExtent.width, s.tileExtent.height, s.tileExtent.depth, s.miptailFirstLevel, s.miptailSize, s.flags);
      if (mip && !f) {
        cuMipmappedArrayGetLevel(&level, mip, 0);
        q = cuArrayGetSparseProperties(&l, level);
        V("level 0: %s, tile %d x %d x %d, tail from %d of %llu", brief(q), l.tileExtent.width, l.tileExtent.height, l.tileExtent.depth, l.miptailFirstLevel, l.miptailSize);
      }
      if (mip) cuMipmappedArrayDestroy(mip);
      if (array) cuArrayDestroy(array);
    }
}
// Tiles are mapped, read and written.
static void some_tiles(void) {
  up();
  CUmemGenericAllocationHandle h = 0, other = 0;
  pool(&h, POOL, 1), pool(&other, POOL, 0);
  CUarray a = make(300, 300, 0, 1, SPARSE);
  CUtexObject t = texture_of(a, 0, 0);
  CUarrayMapInfo m = tiles(a, h, 0, 128, 0, 0, 128, 128, 1);
  REFUSED(m, deviceBitMask = 0);
  REFUSED(m, deviceBitMask = 2);
  REFUSED(m, flags = 1);
  REFUSED(m, reserved[1] = 1);
  REFUSED(m, memHandleType = 1);
  REFUSED(m, memHandle.memHandle = other);
  REFUSED(m, memOperationType = 0);
  REFUSED(m, memOperationType = CU_MEM_OPERATION_TYPE_UNMAP);
  REFUSED(m, offset = 4096);
  REFUSED(m, offset = POOL);
  REFUSED(m, subresource.sparseLevel.level = 1);
  REFUSED(m, subresource.sparseLevel.layer = 1);
  REFUSED(m, subresource.sparseLevel.offsetX = 64);
  REFUSED(m, subresource.sparseLevel.offsetX = 384);
  REFUSED(m, subresource.sparseLevel.offsetZ = 1);
  REFUSED(m, subresource.sparseLevel.extentWidth = 64);
  REFUSED(m, subresource.sparseLevel.extentWidth = 0);
  REFUSED(m, subresource.sparseLevel.extentWidth = 172);
  REFUSED(m, subresource.sparseLevel.extentWidth = 256);
  REFUSED(m, subresource.sparseLevel.extentWidth = 384);
  REFUSED(m, subresource.sparseLevel.extentHeight = 300);
  REFUSED(m, subresource.sparseLevel.extentHeight = 384);
  REFUSED(m, subresource.sparseLevel.extentHeight = 512);
  REFUSED(m, subresource.sparseLevel.extentDepth = 0);
  REFUSED(m, subresource.sparseLevel.extentDepth = 2);
  REFUSED(m, subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL);
  REFUSED(m, subresourceType = 2);
  V("unmap all: %s", brief(map(tiles(a, 0, 0, 0, 0, 0, 384, 384, 1))));
  V("at the edge: %s", brief(map(tiles(a, h, 2 * TILE, 256, 256, 0, 128, 128, 1))));
  V("to the edge: %s", brief(map(tiles(a, h, 2 * TILE, 256, 256, 0, 44, 44, 1))));
  V("one tile: %s", brief(map(m)));
  fill(a, 0, 0, 0, 300, 300, 0x1000000);
  show(a, 0, 0, 0, 300, 300);
  fetch(t, 130, 5, 0);
  fetch(t, 5, 5, 0);
  fetch(t, 290, 290, 0);
  show(a, 100, 3, 0, 100, 2);
  show(a, 128, 3, 0, 50, 2);
  V("a tile twice: %s", brief(map(tiles(a, h, 0, 0, 128, 0, 128, 128, 1))));
  show(a, 0, 131, 0, 50, 2);
  fetch(t, 2, 133, 0);
  fill(a, 3, 133, 0, 1, 1, 0x7770000);
  fetch(t, 131, 5, 0);
  V("a square of tiles, in the order of memory: %s", brief(map(tiles(a, h, 8 * TILE, 0, 0, 0, 256, 256, 1))));
  fill(a, 0, 0, 0, 256, 256, 0x2000000);
  for (int k = 0; k < 4; k++) {
    map(tiles(a, h, (8 + k) * TILE, 0, 0, 0, 128, 128, 1));
    fetch(t, 7, 7, 0);
  }
  V("unmapped: %s", brief(map(tiles(a, 0, 0, 0, 0, 0, 128, 128, 1))));
  fetch(t, 7, 7, 0);
  fetch(t, 135, 7, 0);
  T(cuMemRelease(h));
  fetch(t, 135, 7, 0);
  V("mapped from what is released: %s", brief(map(tiles(a, other, 0, 0, 0, 0, 128, 128, 1))));
  T(cuArrayDestroy(a));
}
// Surfaces, which a sparse array has although it cannot be asked for them.
static void sparse_surface(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUarray a = make(256, 256, 0, 1, SPARSE);
  V("mapped: %s", brief(map(tiles(a, h, 0, 128, 0, 0, 128, 128, 1))));
  fill(a, 0, 0, 0, 256, 256, 0x1000000);
  CUsurfObject s = surface_of(a);
  get(s, 4 * 130, 5);
  get(s, 4 * 5, 5);
  put(s, 4 * 130, 5, 0x1234);
  put(s, 4 * 5, 5, 0x4321);
  get(s, 4 * 130, 5);
  get(s, 4 * 5, 5);
  show(a, 0, 0, 0, 256, 256);
}
// What is no sparse array, and what a sparse array is not.
static void not_sparse(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  make(256, 256, 0, 1, SPARSE | SURFACE), make(256, 256, 0, 1, SPARSE | DRAWN), make(256, 256, 0, 1, SPARSE | GATHER), make(256, 0, 0, 1, SPARSE), make(256, 0, 3, 1, SPARSE | LAYERED), make(256, 256, 6, 1, SPARSE | CUBE);
  make(256, 256, 64, 1, SPARSE | GATHER), make(256, 256, 3, 1, SPARSE | LAYERED | GATHER), make(256, 256, 3, 1, SPARSE | LAYERED | SURFACE), make(256, 256, 6, 1, SPARSE | CUBE | LAYERED);
  CUarray a = make(256, 256, 0, 1, SPARSE);
  surface_of(a);
  CUDA_ARRAY3D_DESCRIPTOR back = {0};
  T(cuArray3DGetDescriptor(&back, a));
  V("flags %d", back.Flags);
  CUarray plain = make(256, 256, 0, 1, 0);
  V("what has memory: %s", brief(map(tiles(plain, h, 0, 0, 0, 0, 128, 128, 1))));
  V("small arrays are tails: %s", brief(map(tiles(make(100, 100, 0, 1, SPARSE), h, 0, 0, 0, 0, 128, 128, 1))));
  CUarray small = make(100, 100, 0, 1, SPARSE);
  CUarrayMapInfo m = tail(0, h, 0, 0, 0, TILE);
  m.resourceType = CU_RESOURCE_TYPE_ARRAY, m.resource.array = small;
  V("mapped as such: %s", brief(map(m)));
  fill(small, 0, 0, 0, 100, 100, 0x1000000);
  show(small, 0, 0, 0, 100, 100);
}
// Texels between a tile that is there and one that is not.
static void between(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 256, .Height = 256, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = SPARSE};
  CUarray a = 0;
  T(cuArray3DCreate(&a, &d));
  CUtexObject t = texture_of(a, 0, 1);
  V("mapped: %s", brief(map(tiles(a, h, 0, 0, 0, 0, 128, 128, 1))));
  float *f = (float *)host;
  for (int k = 0; k < 128 * 128; k++) f[k] = 1 + k % 128;
  CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 512, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = a, .WidthInBytes = 512, .Height = 128};
  T(cuMemcpy2D(&c));
  for (float x = 126.5f; x < 129; x += 0.25f) fetch(t, x, 9.5f, 0);
}
// Boxes have tiles of several slices, and layers tiles of their own.
static void boxes(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUDA_ARRAY_SPARSE_PROPERTIES p = {0};
  CUarray a = make(64, 64, 64, 1, SPARSE);
  T(cuArrayGetSparseProperties(&p, a));
  int w = p.tileExtent.width, y = p.tileExtent.height, z = p.tileExtent.depth;
  V("tile %d x %d x %d", w, y, z);
  if (!w) return;
  CUtexObject t = texture_of(a, 0, 0);
  V("all: %s", brief(map(tiles(a, h, 0, 0, 0, 0, 64, 64, 64))));
  quiet = 1;
  for (int k = 0; k < 64; k++) fill(a, 0, 0, k, 64, 64, 0x100000 * (k + 1));
  quiet = 0;
  show(a, 0, 0, 37, 64, 64);
  fetch_box(t, 40, 50, 60);
  for (int k = 0; k < 16; k++) {
    map(tiles(a, h, k * TILE, 0, 0, 0, w, y, z));
    fetch_box(t, 0, 0, 0);
  }
  REFUSED(tiles(a, h, 0, 0, 0, 0, w, y, z), subresource.sparseLevel.extentDepth = 1);
  REFUSED(tiles(a, h, 0, 0, 0, 0, w, y, z), subresource.sparseLevel.offsetZ = 1);
  REFUSED(tiles(a, h, 0, 0, 0, 0, w, y, z), subresource.sparseLevel.layer = 1);
  CUarray l = make(256, 256, 3, 1, SPARSE | LAYERED);
  CUarrayMapInfo m = tiles(l, h, 32 * TILE, 0, 0, 0, 256, 256, 1);
  for (int k = 0; k < 3; k++) {
    fill(l, 0, 0, k, 256, 256, 0x1000000 * (k + 1));
    m.subresource.sparseLevel.layer = k, m.offset = (32 + 4 * k) * TILE;
    V("layer %d: %s", k, brief(map(m)));
    fill(l, 0, 0, k, 256, 256, 0x1000000 * (k + 1));
  }
  m.subresource.sparseLevel.layer = 3;
  V("layer 3: %s", brief(map(m)));
  m.subresource.sparseLevel.layer = 0, m.subresource.sparseLevel.offsetZ = 1;
  V("a slice of it: %s", brief(map(m)));
  m.subresource.sparseLevel.offsetZ = 0, m.subresource.sparseLevel.extentDepth = 3;
  V("all layers at once: %s", brief(map(m)));
  for (int k = 0; k < 3; k++) show(l, 0, 0, k, 256, 256);
  // The first layer's memory, seen as the third.
  m = tiles(l, h, 32 * TILE, 0, 0, 0, 256, 256, 1), m.subresource.sparseLevel.layer = 2;
  V("again: %s", brief(map(m)));
  show(l, 0, 0, 2, 256, 256);
}
// Mip levels, and their tail.
static void mip_tail(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUDA_ARRAY3D_DESCRIPTOR d = shape(512, 512, 0, 1, SPARSE);
  CUmipmappedArray mip = 0;
  CUarray level[10] = {0};
  CUDA_ARRAY_SPARSE_PROPERTIES p = {0};
  T(cuMipmappedArrayCreate(&mip, &d, 10));
  T(cuMipmappedArrayGetSparseProperties(&p, mip));
  V("tail from %d of %llu, flags %d", p.miptailFirstLevel, p.miptailSize, p.flags);
  for (int i = 0; i < 10; i++) cuMipmappedArrayGetLevel(&level[i], mip, i);
  CUtexObject t = texture_of(0, mip, 0);
  for (int i = 0; i < 10; i += 3) fetch(t, 0.1f, 0.1f, i);
  CUarrayMapInfo base = of_mip(tiles(0, h, 0, 0, 0, 0, 512, 512, 1), mip, 0), second = of_mip(tiles(0, h, 16 * TILE, 0, 0, 0, 256, 256, 1), mip, 1), third = of_mip(tiles(0, h, 20 * TILE, 0, 0, 0, 128, 128, 1), mip, 2);
  V("a level as an array: %s", brief(map(tiles(level[0], h, 0, 0, 0, 0, 128, 128, 1))));
  REFUSED(base, subresource.sparseLevel.level = 1);
  REFUSED(base, subresource.sparseLevel.level = 10);
  V("base: %s, second: %s, third: %s", brief(map(base)), brief(map(second)), brief(map(third)));
  V("first of the tail as a level: %s", brief(map(of_mip(tiles(0, h, 21 * TILE, 0, 0, 0, 64, 64, 1), mip, 3))));
  V("the same with a whole tile: %s", brief(map(of_mip(tiles(0, h, 21 * TILE, 0, 0, 0, 128, 128, 1), mip, 3))));
  u64 size = p.miptailSize;
  V("tail without bytes: %s", brief(map(tail(mip, h, 32 * TILE, 0, 0, 0))));
  V("too large a tail: %s", brief(map(tail(mip, h, 32 * TILE, 0, 0, size + TILE))));
  V("part of it: %s", brief(map(tail(mip, h, 32 * TILE, 0, 0, 4096))));
  V("tail of a layer: %s", brief(map(tail(mip, h, 32 * TILE, 1, 0, size))));
  V("tail at no tile: %s", brief(map(tail(mip, h, 32 * TILE, 0, 4096, size))));
  V("tail: %s", brief(map(tail(mip, h, 32 * TILE, 0, 0, size))));
  for (int i = 0; i < 10; i++) fill(level[i], 0, 0, 0, 512 >> i, 512 >> i, 0x1000000 * (i + 1));
  for (int i = 0; i < 10; i++) show(level[i], 0, 0, 0, 512 >> i, 512 >> i);
  for (int i = 0; i < 10; i++) fetch(t, 0.3f, 0.7f, i);
  V("tail unmapped: %s", brief(map(tail(mip, 0, 0, 0, 0, size))));
  for (int i = 0; i < 10; i += 3) fetch(t, 0.3f, 0.7f, i);
  V("tail elsewhere: %s", brief(map(tail(mip, h, 33 * TILE, 0, 0, size))));
  V("and back: %s", brief(map(tail(mip, h, 32 * TILE, 0, 0, size))));
  for (int i = 0; i < 10; i += 3) fetch(t, 0.3f, 0.7f, i);
  T(cuMipmappedArrayDestroy(mip));
}
static void mip_tail_of_layers(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUDA_ARRAY3D_DESCRIPTOR d = shape(256, 256, 3, 1, SPARSE | LAYERED);
  CUmipmappedArray mip = 0;
  CUarray level[9] = {0};
  CUDA_ARRAY_SPARSE_PROPERTIES p = {0};
  T(cuMipmappedArrayCreate(&mip, &d, 9));
  T(cuMipmappedArrayGetSparseProperties(&p, mip));
  V("tail from %d of %llu, flags %d", p.miptailFirstLevel, p.miptailSize, p.flags);
  for (int i = 0; i < 9; i++) cuMipmappedArrayGetLevel(&level[i], mip, i);
  for (int layer = 0; layer < 4; layer++) V("tail of layer %d: %s", layer, brief(map(tail(mip, h, layer * 4 * TILE, layer, 0, p.miptailSize))));
  V("tail of all: %s", brief(map(tail(mip, h, 0, 0, 0, 3 * p.miptailSize))));
  for (int layer = 0; layer < 3; layer++)
    for (int i = 0; i < 9; i += 2) fill(level[i], 0, 0, layer, 256 >> i, 256 >> i, 0x1000000 * (i + 1) + 0x100000 * layer);
  for (int layer = 0; layer < 3; layer++)
    for (int i = 0; i < 9; i += 2) show(level[i], 0, 0, layer, 256 >> i, 256 >> i);
}
// Copies that come to tiles without memory.
static void copies_beyond(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUarray a = make(512, 512, 0, 1, SPARSE), plain = make(512, 512, 0, 1, 0);
  show(a, 0, 0, 0, 512, 512);
  fill(a, 0, 0, 0, 512, 512, 0x1000000);
  show(a, 0, 0, 0, 512, 512);
  map(tiles(a, h, 0, 128, 128, 0, 128, 128, 1));
  fill(a, 0, 0, 0, 512, 512, 0x1000000);
  show(a, 0, 0, 0, 512, 512);
  show(a, 100, 100, 0, 100, 100);
  fill(plain, 0, 0, 0, 512, 512, 0x2000000);
  CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = a, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = plain, .WidthInBytes = 2048, .Height = 512};
  T(cuMemcpy2D(&c));
  show(plain, 0, 0, 0, 512, 512);
  c.srcArray = plain, c.dstArray = a;
  fill(plain, 0, 0, 0, 512, 512, 0x3000000);
  T(cuMemcpy2D(&c));
  show(a, 0, 0, 0, 512, 512);
  T(cuMemcpyAtoH(host, a, 4 * 512 * 130, 2048));
  T(cuCtxSynchronize());
}
// One memory in arrays of other texels: the bytes of a tile.
static void other_texels(void) {
  up();
  CUmemGenericAllocationHandle h = 0;
  pool(&h, POOL, 1);
  CUarray words = make(128, 128, 0, 1, SPARSE), pairs = make(128, 64, 0, 2, SPARSE);
  CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 128, .Height = 128, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = SPARSE};
  CUarray floats = 0;
  cuArray3DCreate(&floats, &d);
  V("mapped: %s %s %s", brief(map(tiles(words, h, 0, 0, 0, 0, 128, 128, 1))), brief(map(tiles(pairs, h, 0, 0, 0, 0, 128, 64, 1))), brief(map(tiles(floats, h, 0, 0, 0, 0, 128, 128, 1))));
  fill(words, 0, 0, 0, 128, 128, 0x1000000);
  show(floats, 0, 0, 0, 128, 128);
}

static const struct Scenario {
  const char *name;
  void (*run)(void);
} ALL[] = {
    {"attributes", attributes}, {"requirements", requirements}, {"requirements_refused", requirements_refused}, {"unbacked_copy_in", unbacked_copy_in}, {"unbacked_copy_out", unbacked_copy_out},
    {"unbacked_texture", unbacked_texture}, {"unbacked_put", unbacked_put}, {"unbacked_get", unbacked_get}, {"whole", whole}, {"unmapped_fetch", unmapped_fetch}, {"lists", lists}, {"streams", streams}, {"sparse_surface", sparse_surface}, {"not_sparse", not_sparse}, {"mipmapped", mipmapped},
    {"properties", properties}, {"some_tiles", some_tiles}, {"between", between}, {"boxes", boxes}, {"mip_tail", mip_tail}, {"mip_tail_of_layers", mip_tail_of_layers}, {"copies_beyond", copies_beyond}, {"other_texels", other_texels},
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
      alarm(60);
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
