// Choosing a device: numbers that are none, flags, and lists of devices.
#include "show.h"

int main() {
    int device = -1;
    unsigned flags = 0;
    CALL(cudaSetDevice(1000));
    CALL(cudaSetDevice(-1));
    CALL(cudaSetDevice(0));
    CALL(cudaGetDevice(&device));
    SHOW(device);
    CALL(cudaGetDevice(nullptr));
    CALL(cudaGetDeviceCount(nullptr));
    LAST();
    CALL(cudaGetDeviceFlags(&flags));
    SHOW(flags);
    CALL(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    CALL(cudaGetDeviceFlags(&flags));
    SHOW(flags);
    CALL(cudaSetDeviceFlags(cudaDeviceScheduleYield | cudaDeviceScheduleSpin));
    CALL(cudaSetDeviceFlags(0x4000));
    CALL(cudaGetDeviceFlags(&flags));
    SHOW(flags);
    CALL(cudaGetDeviceFlags(nullptr));
    LAST();
    CALL(cudaInitDevice(0, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid));
    CALL(cudaGetDeviceFlags(&flags));
    SHOW(flags);
    CALL(cudaInitDevice(0, 0, 0));
    CALL(cudaInitDevice(1000, 0, 0));
    CALL(cudaInitDevice(0, 0x4000, cudaInitDeviceFlagsAreValid));
    LAST();
    int list[] = {0};
    int wrong[] = {1000};
    CALL(cudaSetValidDevices(list, 1));
    CALL(cudaSetValidDevices(wrong, 1));
    CALL(cudaSetValidDevices(nullptr, 0));
    CALL(cudaSetValidDevices(nullptr, 1));
    LAST();
    cudaDeviceProp wanted = {};
    int chosen = -1;
    CALL(cudaChooseDevice(&chosen, &wanted));
    SHOW(chosen >= 0);
    CALL(cudaChooseDevice(nullptr, &wanted));
    CALL(cudaChooseDevice(&chosen, nullptr));
    LAST();
    char id[32] = "";
    CALL(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    SHOW(strlen(id));
    int found = -1;
    CALL(cudaDeviceGetByPCIBusId(&found, id));
    SHOW(found);
    CALL(cudaDeviceGetByPCIBusId(&found, "no bus"));
    CALL(cudaDeviceGetPCIBusId(id, 3, 0));
    CALL(cudaDeviceGetPCIBusId(id, sizeof id, 1000));
    LAST();
    return 0;
}
