// Copies between arrays of every shape and memory: layers, faces, parts, with a pitch, and in streams.
#include "sweep.h"
#include <vector>

enum { SIZE = 8, SLICES = 6 };

static void show_array(const char *what, cudaArray_t array, cudaExtent extent) {
    std::vector<uint32_t> host(extent.width * extent.height * extent.depth);
    cudaMemcpy3DParms copy = {};
    copy.dstPtr = make_cudaPitchedPtr(host.data(), extent.width * 4, extent.width, extent.height);
    copy.srcArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CALL(cudaMemcpy3D(&copy));
    show_words(what, host.data(), host.size());
}

int main() {
    std::vector<uint32_t> host(SIZE * SIZE * SLICES);
    for (size_t index = 0; index < host.size(); index++) host[index] = index * index + 1;
    auto format = channels(1, 32, cudaChannelFormatKindUnsigned);
    cudaExtent whole = make_cudaExtent(SIZE, SIZE, SLICES);
    cudaArray_t box = filled(format, whole, 0, host.data()), layers = filled(format, whole, cudaArrayLayered, host.data());
    cudaArray_t cube = filled(format, whole, cudaArrayCubemap, host.data()), plane = filled(format, make_cudaExtent(SIZE, SIZE, 0), 0, host.data());
    uint32_t *device;
    size_t pitch;
    OK(cudaMallocPitch((void **)&device, &pitch, SIZE * 4, SIZE * SLICES));
    OK(cudaMemset2D(device, pitch, 0, SIZE * 4, SIZE * SLICES));
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    // Parts of arrays into one another.
    cudaMemcpy3DParms copy = {};
    copy.srcArray = box;
    copy.srcPos = make_cudaPos(1, 2, 3);
    copy.dstArray = layers;
    copy.dstPos = make_cudaPos(3, 1, 0);
    copy.extent = make_cudaExtent(4, 5, 2);
    copy.kind = cudaMemcpyDeviceToDevice;
    CALL(cudaMemcpy3D(&copy));
    show_array("into layers", layers, whole);
    copy.srcArray = layers;
    copy.dstArray = cube;
    copy.dstPos.z = 4;
    CALL(cudaMemcpy3DAsync(&copy, stream));
    CALL(cudaStreamSynchronize(stream));
    show_array("into faces", cube, whole);
    copy.dstPos.z = 5;
    CALL(cudaMemcpy3D(&copy));
    cudaGetLastError();
    // From memory with a pitch, and back.
    copy = {};
    copy.srcArray = cube;
    copy.dstPtr = make_cudaPitchedPtr(device, pitch, SIZE, SIZE);
    copy.extent = whole;
    copy.kind = cudaMemcpyDeviceToDevice;
    CALL(cudaMemcpy3DAsync(&copy, stream));
    copy = {};
    copy.srcPtr = make_cudaPitchedPtr(device, pitch, SIZE, SIZE);
    copy.srcPos = make_cudaPos(4 * 2, 1, 1);
    copy.dstArray = box;
    copy.dstPos = make_cudaPos(0, 3, 2);
    copy.extent = make_cudaExtent(5, 3, 4);
    copy.kind = cudaMemcpyDeviceToDevice;
    CALL(cudaMemcpy3DAsync(&copy, stream));
    CALL(cudaStreamSynchronize(stream));
    show_array("through memory", box, whole);
    // Two dimensions, from one array to another and with a pitch.
    CALL(cudaMemcpy2DArrayToArray(plane, 4, 1, layers, 8, 2, 12, 3, cudaMemcpyDeviceToDevice));
    show_array("plane", plane, make_cudaExtent(SIZE, SIZE, 1));
    CALL(cudaMemcpy2DToArray(plane, 8, 2, device, pitch, 16, 4, cudaMemcpyDeviceToDevice));
    CALL(cudaMemcpy2DToArrayAsync(plane, 0, 6, host.data(), 40, 28, 2, cudaMemcpyHostToDevice, stream));
    CALL(cudaStreamSynchronize(stream));
    show_array("plane", plane, make_cudaExtent(SIZE, SIZE, 1));
    CALL(cudaMemcpy2DFromArray(device, pitch, plane, 4, 3, 20, 2, cudaMemcpyDeviceToDevice));
    CALL(cudaMemcpy2DFromArray(host.data(), 48, plane, 4, 3, 20, 5, cudaMemcpyDeviceToHost));
    show_words("from the plane", host.data(), 48);
    CALL(cudaMemcpy2DToArray(plane, 8, 7, device, pitch, 16, 2, cudaMemcpyDeviceToDevice));
    CALL(cudaMemcpy2DToArray(plane, 20, 0, device, pitch, 16, 2, cudaMemcpyDeviceToDevice));
    cudaGetLastError();
    // Between devices, of which both are one.
    cudaMemcpy3DPeerParms peer = {};
    peer.srcArray = box;
    peer.dstArray = layers;
    peer.dstPos = make_cudaPos(2, 0, 1);
    peer.extent = make_cudaExtent(3, 4, 5);
    CALL(cudaMemcpy3DPeer(&peer));
    show_array("between devices", layers, whole);
    peer.dstPos.z = 0;
    CALL(cudaMemcpy3DPeerAsync(&peer, stream));
    CALL(cudaStreamSynchronize(stream));
    show_array("between devices", layers, whole);
    // With the driver's functions: one slice, rows by pitch, one dimension.
    CUDA_MEMCPY3D slice = {};
    slice.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    slice.srcArray = (CUarray)layers;
    slice.srcZ = 2;
    slice.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    slice.dstArray = (CUarray)cube;
    slice.dstZ = 5;
    slice.WidthInBytes = SIZE * 4;
    slice.Height = SIZE;
    slice.Depth = 1;
    CALL(cuMemcpy3D(&slice));
    CALL(cuMemcpy3DAsync(&slice, stream));
    CALL(cudaStreamSynchronize(stream));
    show_array("slice", cube, whole);
    CALL(cuMemcpyDtoA((CUarray)plane, 8, (CUdeviceptr)device, 16));
    CALL(cuMemcpyAtoD((CUdeviceptr)device, (CUarray)plane, 4, 16));
    CALL(cuMemcpyAtoH(host.data(), (CUarray)plane, 4, 16));
    show_words("row", host.data(), 4);
    CALL(cuMemcpyHtoA((CUarray)plane, 12, host.data() + 8, 16));
    CALL(cuMemcpyAtoA((CUarray)plane, 0, (CUarray)plane, 12, 8));
    show_array("plane", plane, make_cudaExtent(SIZE, SIZE, 1));
    LAST();
    return 0;
}
