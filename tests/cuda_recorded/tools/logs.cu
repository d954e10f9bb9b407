// The log of errors, and who hears of it. What it says is each library's own.
// toolkit: 13, as that of 12 does not have it
#include "show.h"

static int heard, with_text;
static void hear(void *data, cudaLogLevel level, char *message, size_t length) {
    if (data == &heard && level == cudaLogLevelError) heard++;
    if (message != nullptr && length > 0) with_text++;
}

int main() {
    cudaLogsCallbackHandle callback = nullptr, second = nullptr;
    CALL(cudaLogsRegisterCallback(hear, &heard, &callback));
    SHOW(callback != nullptr);
    CALL(cudaLogsRegisterCallback(nullptr, nullptr, &second));
    CALL(cudaLogsRegisterCallback(hear, nullptr, nullptr));
    LAST();
    cudaLogIterator now = 0;
    CALL(cudaLogsCurrent(&now, 0));
    CALL(cudaLogsCurrent(&now, 1));
    CALL(cudaLogsCurrent(nullptr, 0));
    heard = with_text = 0;
    CUmodule module;
    OK(cudaFree(nullptr));
    CALL(cuModuleLoadData(&module, "no code"));
    SHOW(heard > 0);
    SHOW(with_text > 0);
    char text[512] = "";
    size_t size = sizeof text;
    CALL(cudaLogsDumpToMemory(&now, text, &size, 0));
    SHOW(size > 1);
    SHOW(strlen(text) > 0);
    CALL(cudaLogsDumpToMemory(&now, nullptr, &size, 0));
    CALL(cudaLogsDumpToMemory(&now, text, nullptr, 0));
    CALL(cudaLogsDumpToFile(&now, "/no/such/folder/file", 0));
    CALL(cudaLogsDumpToFile(nullptr, nullptr, 0));
    return 0;
}
