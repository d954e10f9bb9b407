// Notifications of a device, none of which comes here.
#include "show.h"

static void heard(cudaAsyncNotificationInfo_t *, void *, cudaAsyncCallbackHandle_t) { printf("heard\n"); }

int main() {
    cudaAsyncCallbackHandle_t one = nullptr, two = nullptr;
    CALL(cudaDeviceRegisterAsyncNotification(0, heard, nullptr, &one));
    SHOW(one != nullptr);
    CALL(cudaDeviceRegisterAsyncNotification(0, heard, nullptr, &two));
    SHOW(one != two);
    CALL(cudaDeviceRegisterAsyncNotification(99, heard, nullptr, &two));
    CALL(cudaDeviceRegisterAsyncNotification(0, nullptr, nullptr, &two));
    return 0;
}
