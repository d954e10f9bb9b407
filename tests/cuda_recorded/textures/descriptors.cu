// Channel formats that templates make, and descriptors as they come back.
#include "show.h"
#include <cuda_fp16.h>

static void show(const char *what, cudaChannelFormatDesc format) {
    printf("%s: %d %d %d %d, kind %d\n", what, format.x, format.y, format.z, format.w, (int)format.f);
}

int main() {
    show("char", cudaCreateChannelDesc<char>());
    show("unsigned char", cudaCreateChannelDesc<unsigned char>());
    show("uchar4", cudaCreateChannelDesc<uchar4>());
    show("short2", cudaCreateChannelDesc<short2>());
    show("int", cudaCreateChannelDesc<int>());
    show("uint4", cudaCreateChannelDesc<uint4>());
    show("float", cudaCreateChannelDesc<float>());
    show("float4", cudaCreateChannelDesc<float4>());
    show("half", cudaCreateChannelDescHalf());
    show("half4", cudaCreateChannelDescHalf4());
    float *memory = zeros<float>(256);
    cudaResourceDesc resource = {}, resource_back = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<float2>();
    resource.res.linear.sizeInBytes = 1024;
    cudaTextureDesc how = {}, how_back = {};
    how.readMode = cudaReadModeElementType;
    how.addressMode[0] = cudaAddressModeClamp;
    cudaTextureObject_t texture = 0;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    SHOW(texture != 0);
    CALL(cudaGetTextureObjectResourceDesc(&resource_back, texture));
    SHOW(resource_back.resType);
    SHOW(resource_back.res.linear.devPtr == memory);
    SHOW(resource_back.res.linear.sizeInBytes);
    show("linear", resource_back.res.linear.desc);
    CALL(cudaGetTextureObjectTextureDesc(&how_back, texture));
    SHOW(how_back.addressMode[0]);
    SHOW(how_back.filterMode);
    SHOW(how_back.readMode);
    SHOW(how_back.normalizedCoords);
    cudaResourceViewDesc view;
    CALL(cudaGetTextureObjectResourceViewDesc(&view, texture));
    CALL(cudaDestroyTextureObject(texture));
    LAST();
    how.filterMode = cudaFilterModeLinear;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    LAST();
    how.filterMode = cudaFilterModePoint;
    resource.res.linear.devPtr = (char *)memory + 4;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    LAST();
    resource.resType = (cudaResourceType)9;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = nullptr;
    CALL(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    LAST();
    return 0;
}
