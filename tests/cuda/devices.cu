// Devices: properties agree with attributes, choice, limits, errors of bad ordinals.
//@ 13
//= agree 1
//= memory 1
//= name 1
//= chosen 0
//= cudaErrorInvalidDevice
//= cudaErrorInvalidDevice
//= bus 1
//= limit 4096
//= last cudaErrorInvalidDevice cudaSuccess
#include "check.h"
#include <cstring>
int main() {
    cudaDeviceProp p; memset(&p, 0x55, sizeof p); OK(cudaGetDeviceProperties(&p, 0)); int warp, major, minor, mp; OK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0)); OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0)); OK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0)); OK(cudaDeviceGetAttribute(&mp, cudaDevAttrMultiProcessorCount, 0));
    printf("agree %d\n", p.warpSize == warp && p.major == major && p.minor == minor && p.multiProcessorCount == mp); size_t f, t; OK(cudaMemGetInfo(&f, &t)); printf("memory %d\nname %d\n", p.totalGlobalMem > 0 && f <= t, p.name[0] != 0 && strlen(p.name) < 256);
    int d = -1; OK(cudaChooseDevice(&d, &p)); printf("chosen %d\n", d); TELL(cudaSetDevice(99)); TELL(cudaGetDeviceProperties(&p, -1));
    char id[16]; OK(cudaDeviceGetPCIBusId(id, 16, 0)); OK(cudaDeviceGetByPCIBusId(&d, id)); printf("bus %d\n", d == 0); OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096)); OK(cudaDeviceGetLimit(&f, cudaLimitStackSize)); printf("limit %zu\n", f);
    cudaSetDevice(50); printf("last %s", cudaGetErrorName(cudaGetLastError())); printf(" %s\n", cudaGetErrorName(cudaGetLastError()));
}
