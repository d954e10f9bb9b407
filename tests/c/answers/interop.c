// Interoperation with OpenGL, EGL, VDPAU, and what else needs something that a process may lack, for recording and comparison as in
// answers.c: what a process is answered that has no context or display of these. interop.golden is what NVIDIA's driver printed
// (CUDA 13.0,
// H200); calls in which it crashed are left out.
//
//   cc -w -I<dir with the headers of CUDA 13.0 or later> interop.c -o interop -lcuda; ./interop [SCENARIO]
#include <cuda.h>
#include <cudaEGL.h>
#include <cudaGL.h>
#include <cudaProfiler.h>
#include <cudaVDPAU.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *nm(CUresult r) {
  const char *s = 0;
  return cuGetErrorName(r, &s) == CUDA_SUCCESS && s ? s : "unknown code";
}
#define T(e)                                \
  do {                                      \
    CUresult r_ = (e);                      \
    printf("%-98s = %s\n", #e, nm(r_));     \
    fflush(stdout);                         \
  } while (0)
// A call with arguments that a driver may take for addresses, in a process of its own.
#define C(e)                                                                  \
  do {                                                                        \
    pid_t child_ = fork();                                                    \
    int status_ = 0;                                                          \
    if (!child_) {                                                            \
      alarm(10);                                                              \
      up();                                                                   \
      T(e);                                                                   \
      _exit(0);                                                               \
    }                                                                         \
    waitpid(child_, &status_, 0);                                             \
    if (status_) printf("%-98s = signal %d\n", #e, WTERMSIG(status_));       \
  } while (0)
#define V(fmt, ...)                         \
  do {                                      \
    printf("    " fmt "\n", __VA_ARGS__);   \
    fflush(stdout);                         \
  } while (0)

static CUdevice dev;
static CUcontext ctx, other;
static CUstream stream, stale;
static CUarray array;
static CUmipmappedArray mip;
static CUdeviceptr_v2 ptr;
static size_t size;
static unsigned count;
static CUdevice devices[4];
static CUgraphicsResource r, none[2];
static char zeros[4096];
static void *const WILD = (void *)0x10, *const ZEROS = zeros;

static void up(void) {
  cuInit(0);
  cuDeviceGet(&dev, 0);
  cuDevicePrimaryCtxRetain(&ctx, dev);
  cuCtxSetCurrent(ctx);
  cuStreamCreate(&stream, 0);
}
static void stale_stream(void) {
  cuStreamCreate(&stale, 0);
  cuStreamDestroy(stale);
}

static void gl_resources(void) {
  up();
  T(cuGraphicsGLRegisterBuffer(&r, 1, 0));
  T(cuGraphicsGLRegisterBuffer(&r, 0, 0));
  T(cuGraphicsGLRegisterBuffer(&r, 1, 2));
  T(cuGraphicsGLRegisterBuffer(&r, 1, 3));
  T(cuGraphicsGLRegisterBuffer(&r, 1, 4));
  T(cuGraphicsGLRegisterBuffer(&r, 1, 64));
  T(cuGraphicsGLRegisterBuffer(0, 1, 64));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 0));
  T(cuGraphicsGLRegisterImage(&r, 0, 0x0DE1, 0));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x1234, 0));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 1));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 2));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 3));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 4));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 8));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 16));
  T(cuGraphicsGLRegisterImage(&r, 1, 0x0DE1, 64));
  T(cuGraphicsGLRegisterImage(0, 1, 0x1234, 64));
}
static void gl_devices(void) {
  up();
  T(cuGLGetDevices_v2(&count, devices, 4, CU_GL_DEVICE_LIST_ALL));
  T(cuGLGetDevices_v2(&count, devices, 4, CU_GL_DEVICE_LIST_NEXT_FRAME));
  T(cuGLGetDevices_v2(&count, devices, 4, (CUGLDeviceList)0));
  T(cuGLGetDevices_v2(&count, devices, 4, (CUGLDeviceList)9));
  T(cuGLGetDevices_v2(&count, devices, 0, CU_GL_DEVICE_LIST_ALL));
  T(cuGLGetDevices_v2(&count, 0, 0, CU_GL_DEVICE_LIST_ALL));
  T(cuGLGetDevices_v2(0, devices, 4, CU_GL_DEVICE_LIST_ALL));
  T(cuGLCtxCreate_v2(&other, 0, dev));
  T(cuGLCtxCreate_v2(&other, 0xffffffff, dev));
  T(cuGLCtxCreate_v2(&other, 0x40, dev));
  T(cuGLCtxCreate_v2(&other, 0, 99));
  T(cuGLCtxCreate_v2(&other, 0, -1));
  T(cuGLCtxCreate_v2(0, 0, 99));
  T(cuGLInit());
  cuCtxSetCurrent(0);
  T(cuGLGetDevices_v2(&count, devices, 4, CU_GL_DEVICE_LIST_ALL));
  T(cuGLCtxCreate_v2(&other, 0, dev));
  T(cuGLCtxCreate_v2(&other, 0, 99));
  T(cuGLInit());
}
static void gl_buffers(void) {
  up();
  T(cuGLRegisterBufferObject(1));
  T(cuGLRegisterBufferObject(0));
  T(cuGLMapBufferObject_v2(&ptr, &size, 1));
  T(cuGLMapBufferObject_v2(0, &size, 1));
  T(cuGLMapBufferObject_v2(&ptr, 0, 1));
  T(cuGLUnmapBufferObject(1));
  T(cuGLUnregisterBufferObject(1));
  T(cuGLSetBufferObjectMapFlags(1, 0));
  T(cuGLSetBufferObjectMapFlags(1, 3));
  T(cuGLMapBufferObjectAsync_v2(&ptr, &size, 1, 0));
  T(cuGLMapBufferObjectAsync_v2(&ptr, &size, 1, stream));
  T(cuGLMapBufferObjectAsync_v2(0, 0, 1, stream));
}
static void resources(void) {
  up();
  stale_stream();
  T(cuGraphicsUnregisterResource(0));
  T(cuGraphicsSubResourceGetMappedArray(&array, 0, 0, 0));
  T(cuGraphicsSubResourceGetMappedArray(0, 0, 0, 0));
  T(cuGraphicsResourceGetMappedMipmappedArray(&mip, 0));
  T(cuGraphicsResourceGetMappedMipmappedArray(0, 0));
  T(cuGraphicsResourceGetMappedPointer_v2(&ptr, &size, 0));
  T(cuGraphicsResourceGetMappedPointer_v2(0, 0, 0));
  T(cuGraphicsResourceSetMapFlags_v2(0, 0));
  T(cuGraphicsResourceSetMapFlags_v2(0, 77));
  T(cuGraphicsMapResources(0, 0, 0));
  T(cuGraphicsMapResources(0, none, 0));
  T(cuGraphicsMapResources(1, 0, 0));
  T(cuGraphicsMapResources(1, none, 0));
  T(cuGraphicsMapResources(2, none, stream));
  T(cuGraphicsMapResources(0, none, stale));
  T(cuGraphicsMapResources(1, none, stale));
  T(cuGraphicsUnmapResources(0, 0, 0));
  T(cuGraphicsUnmapResources(0, none, 0));
  T(cuGraphicsUnmapResources(1, none, 0));
  T(cuGraphicsUnmapResources(1, none, stale));
  cuCtxSetCurrent(0);
  T(cuGraphicsUnregisterResource(0));
  T(cuGraphicsMapResources(1, none, 0));
  T(cuGraphicsMapResources(1, none, stream));
  T(cuGraphicsUnmapResources(1, none, stream));
}
static void resources_wild(void) {
  C(cuGraphicsUnregisterResource(ZEROS));
  C(cuGraphicsSubResourceGetMappedArray(&array, ZEROS, 0, 0));
  C(cuGraphicsSubResourceGetMappedArray(0, ZEROS, 0, 0));
  C(cuGraphicsResourceGetMappedMipmappedArray(&mip, ZEROS));
  C(cuGraphicsResourceGetMappedPointer_v2(&ptr, &size, ZEROS));
  C(cuGraphicsResourceSetMapFlags_v2(ZEROS, 77));
  C(cuGraphicsMapResources(1, (CUgraphicsResource[]){ZEROS}, 0));
}
static VdpStatus refusing(VdpDevice device, VdpFuncId id, void **function) { return 1; }
static void vdpau(void) {
  up();
  VdpGetProcAddress *lookup = (VdpGetProcAddress *)refusing;
  T(cuVDPAUGetDevice(0, 1, 0));
  T(cuVDPAUGetDevice(&dev, 1, 0));
  T(cuVDPAUGetDevice(0, 1, lookup));
  T(cuVDPAUGetDevice(&dev, 1, lookup));
  T(cuVDPAUGetDevice(&dev, 0, lookup));
}
static void vdpau_wild(void) {
  VdpGetProcAddress *lookup = (VdpGetProcAddress *)refusing;
  C(cuVDPAUCtxCreate_v2(&other, 0, dev, 1, lookup));
  C(cuVDPAUCtxCreate_v2(&other, 0xffffffff, dev, 1, lookup));
  C(cuVDPAUCtxCreate_v2(&other, 0, 99, 1, lookup));
}
static void egl(void) {
  up();
  static CUeglStreamConnection conn;
  static CUeglFrame frame;
  T(cuGraphicsEGLRegisterImage(&r, 0, 0));
  T(cuGraphicsEGLRegisterImage(&r, WILD, 0));
  T(cuGraphicsEGLRegisterImage(&r, WILD, 77));
  T(cuGraphicsEGLRegisterImage(0, WILD, 0));
  T(cuEGLStreamConsumerConnect(&conn, 0));
  T(cuEGLStreamConsumerConnect(0, WILD));
  T(cuEGLStreamConsumerConnectWithFlags(&conn, 0, 0));
  T(cuEGLStreamConsumerConnectWithFlags(&conn, 0, 77));
  T(cuEGLStreamConsumerDisconnect(0));
  T(cuEGLStreamConsumerDisconnect(&conn));
  T(cuEGLStreamConsumerAcquireFrame(0, &r, &stream, 0));
  T(cuEGLStreamConsumerAcquireFrame(&conn, &r, &stream, 0));
  T(cuEGLStreamConsumerAcquireFrame(&conn, 0, &stream, 0));
  T(cuEGLStreamConsumerReleaseFrame(0, r, &stream));
  T(cuEGLStreamConsumerReleaseFrame(&conn, r, &stream));
  T(cuEGLStreamProducerConnect(&conn, 0, 64, 64));
  T(cuEGLStreamProducerConnect(0, WILD, 64, 64));
  T(cuEGLStreamProducerDisconnect(0));
  T(cuEGLStreamProducerDisconnect(&conn));
  T(cuEGLStreamProducerPresentFrame(0, frame, &stream));
  T(cuEGLStreamProducerPresentFrame(&conn, frame, &stream));
  T(cuEGLStreamProducerReturnFrame(0, &frame, &stream));
  T(cuEGLStreamProducerReturnFrame(&conn, &frame, &stream));
  T(cuEGLStreamProducerReturnFrame(&conn, 0, &stream));
  T(cuGraphicsResourceGetMappedEglFrame(&frame, 0, 0, 0));
  T(cuGraphicsResourceGetMappedEglFrame(0, 0, 0, 0));
  cuCtxSetCurrent(0);
  T(cuGraphicsEGLRegisterImage(&r, WILD, 0));
  T(cuEGLStreamConsumerDisconnect(&conn));
}
static void egl_wild(void) {
  static CUeglStreamConnection conn;
  static CUeglFrame frame;
  C(cuEGLStreamConsumerConnect(&conn, WILD));
  C(cuEGLStreamConsumerConnect(&conn, ZEROS));
  C(cuEGLStreamProducerConnect(&conn, WILD, 64, 64));
  C(cuEGLStreamConsumerConnectWithFlags(&conn, WILD, 77));
  C(cuGraphicsResourceGetMappedEglFrame(&frame, ZEROS, 0, 0));
}
static void systems_on_a_chip(void) {
  up();
  T(cuDeviceGetNvSciSyncAttributes(0, dev, 1));
  T(cuDeviceGetNvSciSyncAttributes(0, dev, 4));
  T(cuDeviceGetNvSciSyncAttributes(0, 99, 1));
  cuCtxSetCurrent(0);
}
static void systems_on_a_chip_wild(void) {
  C(cuDeviceGetNvSciSyncAttributes(ZEROS, dev, 0));
  C(cuDeviceGetNvSciSyncAttributes(ZEROS, dev, 1));
  C(cuDeviceGetNvSciSyncAttributes(ZEROS, dev, 2));
  C(cuDeviceGetNvSciSyncAttributes(ZEROS, dev, 3));
  C(cuDeviceGetNvSciSyncAttributes(ZEROS, dev, 4));
  C(cuDeviceGetNvSciSyncAttributes(ZEROS, 99, 1));
  C(cuDeviceGetNvSciSyncAttributes(0, dev, 1));
}
static void profiler(void) {
  T(cuProfilerInitialize("a", "b", CU_OUT_KEY_VALUE_PAIR));
  up();
  T(cuProfilerInitialize("a", "b", CU_OUT_CSV));
  T(cuProfilerInitialize("a", "b", 77));
}
static void checkpoints(void) {
  int thread = 0;
  pid_t child = fork();
  if (!child) {
    pause();
    _exit(0);
  }
  up();
  T(cuCheckpointProcessGetRestoreThreadId(child, &thread));
  T(cuCheckpointProcessGetRestoreThreadId(child, 0));
  T(cuCheckpointProcessGetRestoreThreadId(0, &thread));
  T(cuCheckpointProcessGetRestoreThreadId(-1, &thread));
  T(cuCheckpointProcessLock(child, 0));
  T(cuCheckpointProcessLock(0, 0));
  T(cuCheckpointProcessLock(-1, 0));
  T(cuCheckpointProcessCheckpoint(child, 0));
  T(cuCheckpointProcessCheckpoint(-1, 0));
  T(cuCheckpointProcessRestore(child, 0));
  T(cuCheckpointProcessRestore(-1, 0));
  T(cuCheckpointProcessUnlock(child, 0));
  T(cuCheckpointProcessUnlock(-1, 0));
  kill(child, SIGKILL);
}
static void checkpoints_wild(void) {
  CUprocessState state = 77;
  int thread = 0;
  C(cuCheckpointProcessCheckpoint(getpid(), 0));
  C(cuCheckpointProcessRestore(getpid(), 0));
  C(cuCheckpointProcessUnlock(getpid(), 0));
  C(cuCheckpointProcessGetRestoreThreadId(getpid(), &thread));
  C(cuCheckpointProcessGetState(getpid(), &state));
}
static void several_devices(void) {
  up();
  int value = -1;
  cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, dev);
  V("launches over several devices: %d", value);
  static CUDA_LAUNCH_PARAMS params[2];
  T(cuLaunchCooperativeKernelMultiDevice(0, 1, 0));
  T(cuLaunchCooperativeKernelMultiDevice(params, 0, 0));
  T(cuLaunchCooperativeKernelMultiDevice(params, 1, 4));
  T(cuLaunchCooperativeKernelMultiDevice(params, 1, 0));
  params[0].hStream = stream;
  T(cuLaunchCooperativeKernelMultiDevice(params, 1, 0));
  CUmodule module;
  CUfunction function = 0;
  cuModuleLoadData(&module, ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty() { ret; }\n");
  cuModuleGetFunction(&function, module, "empty");
  CUDA_LAUNCH_PARAMS one = {function, 1, 1, 1, 1, 1, 1, 0, stream, 0};
  params[0] = params[1] = one;
  T(cuLaunchCooperativeKernelMultiDevice(params, 1, 0));
  T(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
  T(cuLaunchCooperativeKernelMultiDevice(params, 1, 3));
  params[0].hStream = 0;
  T(cuLaunchCooperativeKernelMultiDevice(params, 1, 0));
  params[0].hStream = stream;
  params[0].gridDimX = 0;
  T(cuLaunchCooperativeKernelMultiDevice(params, 1, 0));
  T(cuCtxSynchronize());
}

static const struct {
  const char *name;
  void (*run)(void);
} SCENARIOS[] = {
#define S(name) {#name, name}
    S(gl_resources), S(gl_devices), S(gl_buffers), S(resources), S(resources_wild), S(vdpau),
    S(vdpau_wild), S(egl), S(egl_wild), S(systems_on_a_chip), S(systems_on_a_chip_wild),
    S(profiler), S(checkpoints), S(checkpoints_wild), S(several_devices)};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof SCENARIOS / sizeof *SCENARIOS; i++) {
    if (argc > 1 && strcmp(argv[1], SCENARIOS[i].name)) continue;
    printf("== %s\n", SCENARIOS[i].name);
    fflush(stdout);
    pid_t child = fork();
    int status = 0;
    if (!child) {
      SCENARIOS[i].run();
      _exit(0);
    }
    waitpid(child, &status, 0);
    if (status) printf("    ended by signal %d\n", WTERMSIG(status));
  }
  return 0;
}
