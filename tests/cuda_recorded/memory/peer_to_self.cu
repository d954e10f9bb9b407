// Peers, of which every machine has one: the device itself.
#include "show.h"

int main() {
    int *one = zeros<int>(64), *two = zeros<int>(64), can = 9;
    OK(cudaMemset(one, 1, 256));
    CALL(cudaMemcpyPeer(two, 0, one, 0, 128));
    SHOW(at(two, 31) == 0x01010101);
    SHOW(at(two, 32));
    CALL(cudaMemcpyPeerAsync(two, 0, one, 0, 256, nullptr));
    CALL(cudaDeviceSynchronize());
    SHOW(at(two, 63) == 0x01010101);
    CALL(cudaMemcpyPeer(two, 0, one, 1000, 16));
    CALL(cudaMemcpyPeer(two, -1, one, 0, 16));
    CALL(cudaMemcpyPeer(nullptr, 0, one, 0, 16));
    CALL(cudaMemcpyPeer(two, 0, one, 0, 0));
    LAST();
    cudaMemcpy3DPeerParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(one, 64, 64, 4);
    copy.dstPtr = make_cudaPitchedPtr(two, 64, 64, 4);
    copy.extent = make_cudaExtent(32, 2, 1);
    OK(cudaMemset(two, 0, 256));
    CALL(cudaMemcpy3DPeer(&copy));
    SHOW(at(two, 7) == 0x01010101);
    SHOW(at(two, 8));
    SHOW(at(two, 16) == 0x01010101);
    SHOW(at(two, 32));
    CALL(cudaMemcpy3DPeerAsync(&copy, nullptr));
    CALL(cudaDeviceSynchronize());
    CALL(cudaDeviceCanAccessPeer(&can, 0, 0));
    SHOW(can);
    CALL(cudaDeviceCanAccessPeer(&can, 0, 1000));
    CALL(cudaDeviceEnablePeerAccess(0, 0));
    CALL(cudaDeviceEnablePeerAccess(1000, 0));
    CALL(cudaDeviceDisablePeerAccess(0));
    LAST();
    int value = 9;
    CALL(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    CALL(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1000));
    CALL(cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 0));
    LAST();
    return 0;
}
