// How arguments reach a kernel: sizes, alignment, classes, templates, lambdas.
#include "show.h"

struct Large {
    int numbers[500];
};
struct alignas(16) Aligned {
    char letter;
    double value;
};
struct Empty {};
template <int N> struct Vector {
    float values[N];
    __host__ __device__ float sum() const {
        float result = 0;
        for (float value : values) result += value;
        return result;
    }
};

__global__ void mixed(char a, double b, short c, Aligned d, bool e, float3 f, int *out) {
    out[0] = a;
    out[1] = (int)(b * 10);
    out[2] = c;
    out[3] = d.letter + (int)d.value;
    out[4] = e;
    out[5] = (int)(f.x + f.y + f.z);
}
__global__ void large(Large value, int *out) { *out = value.numbers[0] + value.numbers[499]; }
__global__ void none() {}
__global__ void empty(Empty, int *out) { *out = 5; }
template <int N> __global__ void vector(Vector<N> value, float *out) { *out = value.sum(); }
template <typename... T> __global__ void pack(int *out, T... values) { *out = (0 + ... + (int)values); }
__device__ int twice(int value) { return 2 * value; }
__device__ int (*chosen)(int) = twice;
__global__ void indirect(int *out) { *out = chosen(21); }

int main() {
    int *out = zeros<int>(8);
    mixed<<<1, 1>>>('x', 2.75, -7, Aligned{'a', 100.5}, true, make_float3(1, 2, 3), out);
    for (int index = 0; index < 6; index++) SHOW(at(out, index));
    Large value = {};
    value.numbers[0] = 1;
    value.numbers[499] = 41;
    large<<<1, 1>>>(value, out);
    SHOW(at(out));
    none<<<1, 1>>>();
    empty<<<1, 1>>>(Empty{}, out);
    SHOW(at(out));
    float *real = zeros<float>(1);
    vector<3><<<1, 1>>>(Vector<3>{{1, 2, 3.5f}}, real);
    SHOW_REAL(at(real));
    vector<1><<<1, 1>>>(Vector<1>{{0.125f}}, real);
    SHOW_REAL(at(real));
    pack<<<1, 1>>>(out, 1, 2.5, 'a', 4ll);
    SHOW(at(out));
    indirect<<<1, 1>>>(out);
    SHOW(at(out));
    LAST();
    return 0;
}
