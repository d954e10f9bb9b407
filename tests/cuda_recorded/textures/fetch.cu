// Reading through textures: points and between them, address modes, normalised numbers and coordinates.
#include "show.h"

enum { WIDTH = 8, HEIGHT = 4 };

template <typename T> __global__ void look(cudaTextureObject_t texture, const float2 *places, T *seen) {
    seen[threadIdx.x] = tex2D<T>(texture, places[threadIdx.x].x, places[threadIdx.x].y);
}

template <typename T, typename Element>
static void show(const char *what, cudaArray_t array, cudaTextureDesc how, const float2 *places, T *seen, int count,
                 Element element) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    look<T><<<1, count>>>(texture, places, seen);
    printf("%s:", what);
    for (int index = 0; index < count; index++) printf(" %.7g", (double)element(at(seen, index)));
    printf("\n");
    OK(cudaDestroyTextureObject(texture));
}

int main() {
    float host[HEIGHT][WIDTH];
    uchar4 colours[HEIGHT][WIDTH];
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            host[y][x] = x + 100 * y;
            colours[y][x] = make_uchar4(x * 30, y * 60, 255, x + y);
        }
    }
    const float2 list[] = {{0.5f, 0.5f}, {3.5f, 2.5f}, {3.0f, 2.0f}, {3.25f, 1.75f}, {-1.5f, 0.5f}, {9.5f, 5.5f}, {7.75f, 3.75f}};
    float2 scaled[7], *places = zeros<float2>(7), *normalised = zeros<float2>(7);
    for (int index = 0; index < 7; index++) scaled[index] = make_float2(list[index].x / WIDTH, list[index].y / HEIGHT);
    OK(cudaMemcpy(places, list, sizeof list, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(normalised, scaled, sizeof scaled, cudaMemcpyHostToDevice));
    cudaArray_t numbers, bytes;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), byte_format = cudaCreateChannelDesc<uchar4>();
    OK(cudaMallocArray(&numbers, &format, WIDTH, HEIGHT));
    OK(cudaMallocArray(&bytes, &byte_format, WIDTH, HEIGHT));
    OK(cudaMemcpy2DToArray(numbers, 0, 0, host, sizeof host[0], sizeof host[0], HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(bytes, 0, 0, colours, sizeof colours[0], sizeof colours[0], HEIGHT, cudaMemcpyHostToDevice));
    float *seen = zeros<float>(7);
    float4 *seen4 = zeros<float4>(7);
    auto itself = [](float value) { return value; };
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    show("points, clamped", numbers, how, places, seen, 7, itself);
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeBorder;
    how.borderColor[0] = -1;
    show("points, border", numbers, how, places, seen, 7, itself);
    how.filterMode = cudaFilterModeLinear;
    show("between, border", numbers, how, places, seen, 7, itself);
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    show("between, clamped", numbers, how, places, seen, 7, itself);
    how.normalizedCoords = 1;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeWrap;
    show("between, wrapped", numbers, how, normalised, seen, 7, itself);
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeMirror;
    show("between, mirrored", numbers, how, normalised, seen, 7, itself);
    how.readMode = cudaReadModeNormalizedFloat;
    show("first colour", bytes, how, normalised, seen4, 7, [](float4 value) { return value.x; });
    how.filterMode = cudaFilterModePoint;
    show("second colour", bytes, how, normalised, seen4, 7, [](float4 value) { return value.y; });
    show("last colour", bytes, how, normalised, seen4, 7, [](float4 value) { return value.w; });
    LAST();
    return 0;
}
