/* Copies between two devices: in the NULL stream they come after all work of both contexts, and all later work of both comes after
   them. Needs two devices. */
#include "later.h"

enum { WORDS = 32, BYTES = 4 * WORDS };

static CUcontext contexts[2];
static CUfunction kernels[2];
static CUdeviceptr here, there, out;
static CUstream aside;

enum { PLAIN, PLAIN_ASYNC, PEER, PEER_ASYNC, PEER_3D, PEER_3D_ASYNC, WAYS };

static int waits_itself(int way) { return way == PLAIN || way == PEER || way == PEER_3D; }

static void copy(int way) {
    CUDA_MEMCPY3D_PEER box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = here,
                              .srcContext = contexts[0],
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = there,
                              .dstContext = contexts[1],
                              .WidthInBytes = BYTES,
                              .Height = 1,
                              .Depth = 1};
    switch (way) {
    case PLAIN: OK(cuMemcpyDtoD(there, here, BYTES)); break;
    case PLAIN_ASYNC: OK(cuMemcpyDtoDAsync(there, here, BYTES, NULL)); break;
    case PEER: OK(cuMemcpyPeer(there, contexts[1], here, contexts[0], BYTES)); break;
    case PEER_ASYNC: OK(cuMemcpyPeerAsync(there, contexts[1], here, contexts[0], BYTES, NULL)); break;
    case PEER_3D: OK(cuMemcpy3DPeer(&box)); break;
    case PEER_3D_ASYNC: OK(cuMemcpy3DPeerAsync(&box, NULL)); break;
    }
}

static unsigned word(CUdeviceptr address) {
    unsigned value = 0;
    OK(cuMemcpyDtoH(&value, address + BYTES - 4, 4));
    return value;
}

/* A kernel of the destination's context reads what the copy is about to overwrite. */
static void comes_after(int way, CUstream stream) {
    OK(cuCtxSetCurrent(contexts[0]));
    OK(cuMemsetD32(here, 7, WORDS));
    OK(cuCtxSetCurrent(contexts[1]));
    OK(cuMemsetD32(there, 1, WORDS));
    *flag = 0;
    copy_late(kernels[1], out, there, stream);
    OK(cuCtxSetCurrent(contexts[0]));
    if (waits_itself(way)) release_soon();
    copy(way);
    if (waits_itself(way)) released();
    release();
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(contexts[1]));
    OK(cuCtxSynchronize());
    HOLDS(word(out) == 1);
    HOLDS(word(there) == 7);
}

/* A kernel of the destination's context reads what the copy has yet to write, as its source is not there yet. */
static void comes_before(int way, CUstream stream) {
    OK(cuCtxSetCurrent(contexts[1]));
    OK(cuMemsetD32(there, 1, WORDS));
    OK(cuMemsetD32(out, 9, WORDS));
    OK(cuCtxSetCurrent(contexts[0]));
    OK(cuMemsetD32(here, 5, WORDS));
    *flag = 0;
    copy_late(kernels[0], here, out, NULL);
    if (waits_itself(way)) release_soon();
    copy(way);
    if (waits_itself(way)) released();
    OK(cuCtxSetCurrent(contexts[1]));
    copy_late(kernels[1], out + BYTES, there, stream);
    CUstream later;
    OK(cuStreamCreate(&later, CU_STREAM_NON_BLOCKING));
    OK(cuMemcpyDtoDAsync(out + 2 * BYTES, there, BYTES, later));
    release();
    OK(cuCtxSynchronize());
    HOLDS(word(out + BYTES) == 9);
    HOLDS(word(out + 2 * BYTES) == 9);
    OK(cuStreamDestroy(later));
}

int main(void) {
    start();
    for (int device = 0; device < 2; device++) {
        OK(cuDevicePrimaryCtxRetain(&contexts[device], device));
        OK(cuCtxSetCurrent(contexts[device]));
        kernels[device] = late_kernel();
        OK(cuMemAlloc(device == 0 ? &here : &there, BYTES));
    }
    OK(cuMemAlloc(&out, 3 * BYTES));
    OK(cuStreamCreate(&aside, CU_STREAM_NON_BLOCKING));
    for (int way = 0; way < WAYS; way++) {
        comes_after(way, NULL);
        comes_after(way, aside);
        comes_before(way, NULL);
        comes_before(way, aside);
    }
    puts("done");
    return 0;
}
