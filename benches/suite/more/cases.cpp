// The kernels of the second set: data, launches, native call, tolerance, work.
#include <cmath>

#include "../bench.h"

// What both sets need is called in the first one's version.
#define NATIVE_NS native
#include "../native.h"
#define NATIVE_NS native
#include "native.h"
#define NATIVE_NS native_fast
#include "../native.h"
#define NATIVE_NS native_fast
#include "native.h"

namespace bench {
const char* set_name() { return "more"; }

namespace {
using T = Type;

int floats(Case& c, Rng& r, size_t n, float a = -1, float b = 1) {
  return c.in<float>(T::f32, n, [&](size_t) { return r.range(a, b); });
}
int doubles(Case& c, Rng& r, size_t n, float a = -1, float b = 1) {
  return c.in<double>(T::f64, n, [&](size_t) { return (double)r.range(a, b); });
}
int words(Case& c, Rng& r, size_t n) {
  return c.in<unsigned>(T::u32, n, [&](size_t) { return r.next(); });
}
int below(Case& c, Rng& r, size_t n, unsigned limit) {
  return c.in<int>(T::i32, n, [&](size_t) { return (int)(r.next() % limit); });
}

void gemv_warp(Case& c, bool quick) {
  int rows = quick ? 500 : 4096, cols = 2000;
  Rng r(1);
  int A = floats(c, r, (size_t)rows * cols), x = floats(c, r, cols);
  int y = c.out(T::f32, rows, 1e-4, 1e-3);
  c.launch("gemv_warp", {ceil_div(rows, 8)}, {256}, {buf(A), buf(x), buf(y), val(rows), val(cols)});
  BENCH_NATIVE(c, k::gemv(m.f(A), m.f(x), m.f(y), rows, cols));
  c.work = 4.0 * rows * cols;
}

void gemv_thread(Case& c, bool quick) {
  int rows = quick ? 500 : 8192, cols = 1000;
  Rng r(2);
  int A = floats(c, r, (size_t)rows * cols), x = floats(c, r, cols);
  int y = c.out(T::f32, rows, 1e-4, 1e-3);
  c.launch("gemv_thread", {ceil_div(rows, 128)}, {128}, {buf(A), buf(x), buf(y), val(rows), val(cols)});
  BENCH_NATIVE(c, k::gemv(m.f(A), m.f(x), m.f(y), rows, cols));
  c.work = 4.0 * rows * cols;
}

void dot_atomic(Case& c, bool quick) {
  int n = quick ? 100003 : 8000003;
  Rng r(3);
  int a = floats(c, r, n, 0, 1), b = floats(c, r, n, 0, 1);
  int o = c.out(T::f32, 1, 1e-4);
  c.fill(o, 0);
  c.launch("dot_atomic", {64}, {256}, {buf(a), buf(b), buf(o), val(n)});
  BENCH_NATIVE(c, k::dot(m.f(a), m.f(b), m.f(o), n));
  c.work = 8.0 * n;
}

void reduce_warp0(Case& c, bool quick) {
  int rows = quick ? 200 : 8192, cols = 1024;
  Rng r(4);
  int x = floats(c, r, (size_t)rows * cols);
  int o = c.out(T::f32, rows, 1e-4, 1e-3);
  c.launch("reduce_warp0", {(unsigned)rows}, {256}, {buf(x), buf(o), val(cols)});
  BENCH_NATIVE(c, k::row_sums(m.f(x), m.f(o), rows, cols));
  c.work = 4.0 * rows * cols;
}

void normalise_layers(Case& c, bool quick, const char* kernel) {
  int rows = quick ? 200 : 4096, cols = 768;
  Rng r(5);
  int x = floats(c, r, (size_t)rows * cols), g = floats(c, r, cols), b = floats(c, r, cols);
  int o = c.out(T::f32, (size_t)rows * cols, 1e-4, 1e-5);
  c.launch(kernel, {(unsigned)rows}, {256}, {buf(x), buf(o), buf(g), buf(b), val(cols)});
  BENCH_NATIVE(c, k::layernorm(m.f(x), m.f(o), m.f(g), m.f(b), rows, cols));
  c.work = 8.0 * rows * cols;
}
void layernorm(Case& c, bool quick) { normalise_layers(c, quick, "layernorm"); }
void layernorm_shfl(Case& c, bool quick) { normalise_layers(c, quick, "layernorm_shfl"); }

void rmsnorm(Case& c, bool quick) {
  int rows = quick ? 200 : 4096, cols = 1024;
  Rng r(6);
  int x = floats(c, r, (size_t)rows * cols), g = floats(c, r, cols);
  int o = c.out(T::f32, (size_t)rows * cols, 1e-4, 1e-5);
  c.launch("rmsnorm", {ceil_div(rows, 4)}, {128}, {buf(x), buf(o), buf(g), val(rows), val(cols / 4)});
  BENCH_NATIVE(c, k::rmsnorm(m.f(x), m.f(o), m.f(g), rows, cols));
  c.work = 8.0 * rows * cols;
}

void gelu4(Case& c, bool quick) {
  int n = quick ? 100000 : 2000000;
  Rng r(7);
  int x = floats(c, r, n, -4, 4);
  int o = c.out(T::f32, n, 1e-4, 1e-5);
  c.launch("gelu4", {ceil_div(n / 4, 256)}, {256}, {buf(x), buf(o), val(n / 4)});
  BENCH_NATIVE(c, k::gelu(m.f(x), m.f(o), n));
  c.work = 8.0 * n;
}

void attention(Case& c, bool quick) {
  int queries = quick ? 128 : 1024, keys = quick ? 128 : 512, dims = 32;
  Rng r(8);
  int Q = floats(c, r, queries * dims), K = floats(c, r, keys * dims), V = floats(c, r, keys * dims);
  int O = c.out(T::f32, queries * dims, 1e-3, 1e-4);
  float scale = 0.17677f;
  c.launch("attention", {(unsigned)queries / 64}, {64}, {buf(Q), buf(K), buf(V), buf(O), val(keys), val(scale)});
  BENCH_NATIVE(c, k::attention(m.f(Q), m.f(K), m.f(V), m.f(O), queries, keys, scale));
  c.work = 4.0 * dims * queries * keys;
  c.flops = true;
}

void argmax(Case& c, bool quick) {
  int rows = quick ? 300 : 8000, cols = 1000;
  Rng r(9);
  int a = floats(c, r, (size_t)rows * cols);
  int o = c.out(T::i32, rows);
  c.launch("argmax", {(unsigned)rows}, {128}, {buf(a), buf(o), val(cols)});
  BENCH_NATIVE(c, k::argmax(m.f(a), m.i(o), rows, cols));
  c.work = 4.0 * rows * cols;
}

void embed(Case& c, bool quick) {
  int vocabulary = quick ? 2000 : 50000, tokens = quick ? 1000 : 32768, dim = 128;
  Rng r(10);
  int ids = below(c, r, tokens, vocabulary), table = floats(c, r, (size_t)vocabulary * dim);
  int o = c.out(T::f32, (size_t)tokens * dim);
  c.launch("embed", {(unsigned)tokens}, {128}, {buf(ids), buf(table), buf(o), val(dim)});
  BENCH_NATIVE(c, k::embed(m.i(ids), m.f(table), m.f(o), tokens, dim));
  c.work = 8.0 * tokens * dim;
}

void maxpool(Case& c, bool quick) {
  int C = quick ? 16 : 512, H = 112, W = 112, oh = H / 2, ow = W / 2, n = C * oh * ow;
  Rng r(11);
  int a = floats(c, r, (size_t)C * H * W);
  int o = c.out(T::f32, n);
  c.launch("maxpool", {ceil_div(n, 256)}, {256}, {buf(a), buf(o), val(n), val(H), val(W), val(oh), val(ow)});
  BENCH_NATIVE(c, k::maxpool(m.f(a), m.f(o), C, H, W));
  c.work = 20.0 * n;
}

void maxpool_2d(Case& c, bool quick) {
  int C = quick ? 16 : 512, H = 112, W = 112, oh = H / 2, ow = W / 2, n = C * oh * ow;
  Rng r(11);
  int a = floats(c, r, (size_t)C * H * W);
  int o = c.out(T::f32, n);
  c.launch("maxpool_2d", {ceil_div(ow, 32), ceil_div(oh, 8), (unsigned)C}, {32, 8},
           {buf(a), buf(o), val(H), val(W), val(oh), val(ow)});
  BENCH_NATIVE(c, k::maxpool(m.f(a), m.f(o), C, H, W));
  c.work = 20.0 * n;
}

void im2col(Case& c, bool quick) {
  int C = quick ? 4 : 64, H = 112, W = 112, n = C * H * W, ksize = 3, pad = 1, stride = 1;
  Rng r(12);
  int a = floats(c, r, n);
  int o = c.out(T::f32, (size_t)n * ksize * ksize);
  c.launch("im2col", {ceil_div(n, 512)}, {512},
           {val(n), buf(a), val(H), val(W), val(ksize), val(pad), val(stride), val(H), val(W), buf(o)});
  BENCH_NATIVE(c, k::im2col(m.f(a), m.f(o), C, H, W));
  c.work = 40.0 * n;
}

void dwconv(Case& c, bool quick) {
  int C = quick ? 16 : 512, H = 112, W = 112;
  size_t n = (size_t)C * H * W;
  Rng r(13);
  int a = floats(c, r, n), w = floats(c, r, 9 * C);
  int o = c.out(T::f32, n, 1e-5, 1e-5);
  c.launch("dwconv", {ceil_div(W, 16), ceil_div(H, 16), (unsigned)C}, {16, 16},
           {buf(a), buf(w), buf(o), val(H), val(W)});
  BENCH_NATIVE(c, k::dwconv(m.f(a), m.f(w), m.f(o), C, H, W));
  c.work = 8.0 * n;
}

void bitonic_global(Case& c, bool quick) {
  int n = quick ? 1 << 12 : 1 << 17;
  Rng r(14);
  int s = c.in<int>(T::i32, n, [&](size_t) { return (int)r.next(); });
  int d = c.out(T::i32, n);
  c.copy(d, s);
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1)
      c.launch("bitonic_global", {(unsigned)n / 256}, {256}, {buf(d), val(j), val(k)});
  BENCH_NATIVE(c, k::bitonic(m.i(d), m.i(s), n));
  c.work = 4.0 * n;
}

void bitonic_shared(Case& c, bool quick) {
  int blocks = quick ? 20 : 256, keys = 1024;
  Rng r(15);
  int s = c.in<int>(T::i32, blocks * keys, [&](size_t) { return (int)r.next(); });
  int d = c.out(T::i32, blocks * keys);
  c.launch("bitonic_shared", {(unsigned)blocks}, {512}, {buf(d), buf(s)});
  BENCH_NATIVE(c, k::sort_blocks(m.i(d), m.i(s), blocks, keys));
  c.work = 8.0 * blocks * keys;
}

void bitonic_warp(Case& c, bool quick) {
  int n = quick ? 1 << 14 : 1 << 19;
  Rng r(16);
  int s = c.in<int>(T::i32, n, [&](size_t) { return (int)r.next(); });
  int d = c.out(T::i32, n);
  c.launch("bitonic_warp", {(unsigned)n / 256}, {256}, {buf(s), buf(d)});
  BENCH_NATIVE(c, k::sort_blocks(m.i(d), m.i(s), n / 32, 32));
  c.work = 8.0 * n;
}

void jacobi_tile(Case& c, bool quick) {
  int w = quick ? 300 : 2050, h = quick ? 200 : 2050;
  Rng r(17);
  int a = floats(c, r, (size_t)w * h);
  int o = c.out(T::f32, (size_t)w * h, 1e-6, 1e-6);
  c.launch("jacobi_tile", {ceil_div(w - 2, 16), ceil_div(h - 2, 16)}, {16, 16}, {buf(a), buf(o), val(w), val(h)});
  BENCH_NATIVE(c, k::jacobi(m.f(a), m.f(o), w, h));
  c.work = 8.0 * w * h;
}

void stencil3d(Case& c, bool quick) {
  int n = quick ? 50 : 200;
  size_t cells = (size_t)n * n * n;
  Rng r(18);
  int a = floats(c, r, cells);
  int o = c.out(T::f32, cells, 1e-5, 1e-6);
  float c0 = 0.5f, c1 = 0.08f;
  c.launch("stencil3d", {ceil_div(n, 32), ceil_div(n, 8)}, {32, 8},
           {buf(a), buf(o), val(n), val(n), val(n), val(c0), val(c1)});
  BENCH_NATIVE(c, k::stencil3d(m.f(a), m.f(o), n, n, n, c0, c1));
  c.work = 8.0 * cells;
}

void conv_rows(Case& c, bool quick) {
  int w = quick ? 512 : 2048, h = quick ? 100 : 2048;
  Rng r(19);
  int a = floats(c, r, (size_t)w * h);
  int o = c.out(T::f32, (size_t)w * h, 1e-5, 1e-5);
  int f = floats(c, r, 17);
  c.buffers[f].symbol = "row_filter";
  c.launch("conv_rows", {(unsigned)w / 128, (unsigned)h / 4}, {16, 4}, {buf(o), buf(a), val(w), val(w), ocl_buf(f)});
  BENCH_NATIVE(c, k::conv_rows(m.f(o), m.f(a), w, h, m.f(f)));
  c.work = 8.0 * w * h;
}

void sobel(Case& c, bool quick) {
  int w = quick ? 500 : 4000, h = quick ? 300 : 3000;
  Rng r(20);
  int a = c.in<unsigned char>(T::u8, (size_t)w * h, [&](size_t) { return r.next() & 127; });
  int o = c.out(T::u8, (size_t)w * h);
  c.launch("sobel", {ceil_div(w, 16), ceil_div(h, 16)}, {16, 16}, {buf(a), buf(o), val(w), val(h)});
  BENCH_NATIVE(c, k::sobel(m.b(a), m.b(o), w, h));
  c.work = 2.0 * w * h;
}

void rgba_gray(Case& c, bool quick) {
  int w = quick ? 500 : 4000, h = quick ? 300 : 2500;
  Rng r(21);
  int a = words(c, r, (size_t)w * h);
  int o = c.out(T::u8, (size_t)w * h, 0, 1);  // rounding decides between neighbours
  c.launch("rgba_gray", {ceil_div(w, 16), ceil_div(h, 16)}, {16, 16}, {buf(a), buf(o), val(h), val(w)});
  BENCH_NATIVE(c, k::rgba_gray(m.b(a), m.b(o), w * h));
  c.work = 5.0 * w * h;
}

void transpose_naive(Case& c, bool quick) {
  int w = quick ? 512 : 2016, h = quick ? 256 : 2080;
  Rng r(22);
  int a = floats(c, r, (size_t)w * h);
  int o = c.out(T::f32, (size_t)w * h);
  c.launch("transpose_naive", {ceil_div(w, 32), ceil_div(h, 8)}, {32, 8}, {buf(a), buf(o), val(w), val(h)});
  BENCH_NATIVE(c, k::transpose(m.f(a), m.f(o), w, h));
  c.work = 8.0 * w * h;
}

void sgemm_reg4x4(Case& c, bool quick) {
  int n = quick ? 128 : 512;
  Rng r(23);
  int A = floats(c, r, n * n), B = floats(c, r, n * n);
  int C = c.out(T::f32, n * n, 1e-4, 1e-4);
  c.launch("sgemm_reg4x4", {(unsigned)n / 64, (unsigned)n / 64}, {256},
           {val(n), val(n), val(n), buf(A), buf(B), buf(C)});
  BENCH_NATIVE(c, k::sgemm_blocked(n, n, n, m.f(A), m.f(B), m.f(C)));
  c.work = 2.0 * n * n * n;
  c.flops = true;
}

void dgemm_tiled16(Case& c, bool quick) {
  int n = quick ? 128 : 384;
  Rng r(24);
  int A = doubles(c, r, n * n), B = doubles(c, r, n * n);
  int C = c.out(T::f64, n * n, 1e-10, 1e-10);
  c.launch("dgemm_tiled16", {(unsigned)n / 16, (unsigned)n / 16}, {16, 16},
           {val(n), val(n), val(n), buf(A), buf(B), buf(C)});
  BENCH_NATIVE(c, k::dgemm(n, n, n, m.d(A), m.d(B), m.d(C)));
  c.work = 2.0 * n * n * n;
  c.flops = true;
}

void gemm_dp4a(Case& c, bool quick) {
  int n = quick ? 128 : 512;
  Rng r(25);
  int A = words(c, r, n * n / 4), B = words(c, r, n * n / 4);
  int C = c.out(T::i32, n * n);
  c.launch("gemm_dp4a", {(unsigned)n / 16, (unsigned)n / 16}, {16, 16},
           {val(n), val(n), val(n / 4), buf(A), buf(B), buf(C)});
  BENCH_NATIVE(c, k::gemm_i8(n, n, n, (signed char*)m.b(A), (signed char*)m.b(B), m.i(C)));
  c.work = 2.0 * n * n * n;
  c.flops = true;
}

void haxpy2(Case& c, bool quick) {
  int n2 = quick ? 50000 : 4000000;
  Rng r(26);
  auto two_halves = [](float lo, float hi) {
    _Float16 h[2] = {(_Float16)lo, (_Float16)hi};
    unsigned u;
    memcpy(&u, h, sizeof u);
    return u;
  };
  auto next = [&](size_t) {
    float lo = r.range(-1, 1), hi = r.range(-1, 1);
    return two_halves(lo, hi);
  };
  int x = c.in<unsigned>(T::u32, n2, next);
  int y = c.in<unsigned>(T::u32, n2, next);
  c.buffers[y].out = true;
  c.buffers[y].bad = 0.003;  // native rounds twice, to single and to half precision
  unsigned a2 = two_halves(1.0f / 64, 1.0f / 64);
  c.launch("haxpy2", {ceil_div(n2, 256)}, {256}, {val(n2), val(a2), buf(x), buf(y)});
  BENCH_NATIVE(c, k::haxpy(2 * n2, a2, m.u(x), m.u(y)));
  c.work = 12.0 * n2;
}

void nbody_double(Case& c, bool quick) {
  int n = quick ? 512 : 2048;
  Rng r(27);
  int x = doubles(c, r, n), y = doubles(c, r, n), z = doubles(c, r, n), mass = doubles(c, r, n, 0.1f, 1);
  int ax = c.out(T::f64, n, 1e-9, 1e-9), ay = c.out(T::f64, n, 1e-9, 1e-9), az = c.out(T::f64, n, 1e-9, 1e-9);
  double eps2 = 0.01;
  c.launch("nbody_double", {ceil_div(n, 128)}, {128},
           {buf(x), buf(y), buf(z), buf(mass), buf(ax), buf(ay), buf(az), val(n), val(eps2)});
  BENCH_NATIVE(c, k::nbody_double(m.d(x), m.d(y), m.d(z), m.d(mass), m.d(ax), m.d(ay), m.d(az), n, eps2));
  c.work = 20.0 * n * n;
  c.flops = true;
}

void lbm_d2q9(Case& c, bool quick) {
  int nx = quick ? 128 : 1024, ny = quick ? 64 : 500;
  size_t cells = (size_t)nx * ny;
  Rng r(28);
  int f = floats(c, r, 9 * cells, 0.1f, 0.2f);
  int g = c.out(T::f32, 9 * cells, 1e-4, 1e-5);
  float omega = 1.2f;
  c.launch("lbm_d2q9", {ceil_div(nx, 128), (unsigned)ny}, {128}, {buf(f), buf(g), val(nx), val(ny), val(omega)});
  BENCH_NATIVE(c, k::lbm(m.f(f), m.f(g), nx, ny, omega));
  c.work = 72.0 * cells;
}

void fft512(Case& c, bool quick) {
  int batch = quick ? 50 : 2000, points = 512;
  Rng r(29);
  int x = floats(c, r, (size_t)batch * points * 2);
  int o = c.out(T::f32, (size_t)batch * points * 2, 1e-4, 1e-3);
  int w = c.in<float>(T::f32, points, [&](size_t i) {
    double a = -2 * M_PI * (double)(i / 2) / points;
    return (float)(i & 1 ? sin(a) : cos(a));
  });
  c.launch("fft512", {(unsigned)batch}, {256}, {buf(x), buf(o), buf(w)});
  BENCH_NATIVE(c, k::fft512(m.f(x), m.f(o), m.f(w), batch));
  c.work = 5.0 * points * 9 * batch;
  c.flops = true;
}

void mandel_double(Case& c, bool quick) {
  int w = quick ? 200 : 400, h = quick ? 120 : 300, it = 256;
  int o = c.out(T::i32, w * h, 0, 0, 0.005);  // rounding decides a few pixels on the border
  double x0 = -2.2, y0 = -1.2, dx = 3.2 / w, dy = 2.4 / h;
  c.launch("mandel_double", {ceil_div(w, 16), ceil_div(h, 16)}, {16, 16},
           {buf(o), val(w), val(h), val(x0), val(y0), val(dx), val(dy), val(it)});
  BENCH_NATIVE(c, k::mandelbrot_double(m.i(o), w, h, x0, y0, dx, dy, it));
  c.work = 4.0 * w * h;
}

void julia(Case& c, bool quick) {
  int n = quick ? 200 : 500;
  int o = c.out(T::u8, 4 * n * n, 0, 0, 0.005);  // rounding decides a few pixels on the border
  c.launch("julia", {ceil_div(n, 16), ceil_div(n, 16)}, {16, 16}, {buf(o), val(n)});
  BENCH_NATIVE(c, k::julia(m.b(o), n));
  c.work = 4.0 * n * n;
}

void scan_warp(Case& c, bool quick) {
  int n = quick ? 100007 : 8000007;
  Rng r(30);
  int a = c.in<int>(T::i32, n, [&](size_t) { return (int)(r.next() & 63) - 20; });
  int o = c.out(T::i32, n);
  c.launch("scan_warp", {ceil_div(n, 256)}, {256}, {buf(a), buf(o), val(n)});
  BENCH_NATIVE(c, k::scan256(m.i(a), m.i(o), n));
  c.work = 8.0 * n;
}

void cumsum_cols(Case& c, bool quick) {
  int rows = quick ? 200 : 2000, cols = quick ? 500 : 2048;
  Rng r(31);
  int a = floats(c, r, (size_t)rows * cols);
  int o = c.out(T::f32, (size_t)rows * cols, 1e-6, 1e-6);
  c.launch("cumsum_cols", {ceil_div(cols, 128)}, {128}, {buf(a), buf(o), val(rows), val(cols)});
  BENCH_NATIVE(c, k::cumsum_cols(m.f(a), m.f(o), rows, cols));
  c.work = 8.0 * rows * cols;
}

void hist_warp(Case& c, bool quick) {
  int n = quick ? 400000 : 16000000;
  Rng r(32);
  int a = words(c, r, n / 4);
  int h = c.out(T::u32, 256);
  c.fill(h, 0);
  c.launch("hist_warp", {64}, {256}, {buf(a), buf(h), val(n)});
  BENCH_NATIVE(c, k::histogram_bytes(m.b(a), m.u(h), n));
  c.work = n;
}

void kmeans(Case& c, bool quick) {
  int n = quick ? 20000 : 500000, centres = 16, dims = 8;
  Rng r(33);
  int x = floats(c, r, (size_t)dims * n);
  int l = c.out(T::i32, n, 0, 0, 1e-4);  // rounding decides between two centres that are equally far away
  int ce = floats(c, r, centres * dims);
  c.buffers[ce].symbol = "centres";
  c.launch("kmeans", {ceil_div(n, 256)}, {256}, {buf(x), buf(l), val(n), ocl_buf(ce)});
  BENCH_NATIVE(c, k::kmeans(m.f(x), m.i(l), n, m.f(ce)));
  c.work = 3.0 * centres * dims * n;
  c.flops = true;
}

void bfs(Case& c, bool quick) {
  int n = quick ? 10000 : 200000, degree = 6, levels = 10;
  Rng r(34);
  int P = c.in<int>(T::i32, n + 1, [&](size_t i) { return (int)i * degree; });
  int A = below(c, r, (size_t)n * degree, n);
  int s = c.in<int>(T::i32, n, [&](size_t i) { return i ? -1 : 0; });
  int l = c.out(T::i32, n);
  c.copy(l, s);
  for (int i = 0; i < levels; ++i) c.launch("bfs", {ceil_div(n, 256)}, {256}, {buf(P), buf(A), buf(l), val(n), val(i)});
  BENCH_NATIVE(c, k::bfs(m.i(P), m.i(A), m.i(l), m.i(s), n, levels));
  c.work = 4.0 * n * (degree + levels);
}

void spmv_warp(Case& c, bool quick) {
  int rows = quick ? 2000 : 100000;
  Rng r(35);
  std::vector<int> ptr(rows + 1, 0);
  for (int i = 0; i < rows; ++i) ptr[i + 1] = ptr[i] + 16 + (int)(r.next() % 97);  // 16 to 112, 64 on average
  int nnz = ptr[rows];
  int P = c.in<int>(T::i32, rows + 1, [&](size_t i) { return ptr[i]; });
  int C = below(c, r, nnz, rows), V = floats(c, r, nnz), X = floats(c, r, rows);
  int Y = c.out(T::f32, rows, 1e-4, 1e-4);
  c.launch("spmv_warp", {ceil_div(rows, 8)}, {256}, {val(rows), buf(P), buf(C), buf(V), buf(X), buf(Y)});
  BENCH_NATIVE(c, k::spmv_long_rows(rows, m.i(P), m.i(C), m.f(V), m.f(X), m.f(Y)));
  c.work = 8.0 * nnz + 12.0 * rows;
}

void spmv_ell(Case& c, bool quick) {
  int rows = quick ? 5000 : 250000, width = 16;
  size_t n = (size_t)rows * width;
  Rng r(36);
  int C = below(c, r, n, rows), V = floats(c, r, n), X = floats(c, r, rows);
  int Y = c.out(T::f32, rows, 1e-4, 1e-4);
  c.launch("spmv_ell", {ceil_div(rows, 256)}, {256}, {val(rows), val(width), buf(C), buf(V), buf(X), buf(Y)});
  BENCH_NATIVE(c, k::spmv_ell(rows, width, m.i(C), m.f(V), m.f(X), m.f(Y)));
  c.work = 8.0 * n + 8.0 * rows;
}

void lower_bound(Case& c, bool quick) {
  int n = quick ? 10000 : 250000, searches = quick ? 10000 : 200000;
  Rng r(37);
  int t = c.in<int>(T::i32, n, [&](size_t i) { return (int)i * 7 + (int)(r.next() % 7); });
  int q = below(c, r, searches, 7 * n);
  int o = c.out(T::i32, searches);
  c.launch("lower_bound", {ceil_div(searches, 256)}, {256}, {buf(t), val(n), buf(q), buf(o), val(searches)});
  BENCH_NATIVE(c, k::lower_bounds(m.i(t), n, m.i(q), m.i(o), searches));
  c.work = 8.0 * searches;
}

void philox(Case& c, bool quick) {
  int n = quick ? 50000 : 1000003;
  unsigned k0 = 1234, k1 = 5678;
  int o = c.out(T::u32, 4 * (size_t)n);
  c.launch("philox", {ceil_div(n, 256)}, {256}, {buf(o), val(n), val(k0), val(k1)});
  BENCH_NATIVE(c, k::philox(m.u(o), n, k0, k1));
  c.work = 16.0 * n;
}

void sha256(Case& c, bool quick) {
  int n = quick ? 2000 : 40000;
  Rng r(38);
  int a = words(c, r, 16 * n);
  int o = c.out(T::u32, 8 * n);
  c.launch("sha256", {ceil_div(n, 128)}, {128}, {buf(a), buf(o), val(n)});
  BENCH_NATIVE(c, k::sha256(m.u(a), m.u(o), n));
  c.work = 96.0 * n;
}
}  // namespace

const std::vector<CaseEntry>& cases() {
#define E(n) {#n, n}
  static const std::vector<CaseEntry> v = {
      E(gemv_warp), E(gemv_thread), E(dot_atomic), E(reduce_warp0), E(layernorm), E(layernorm_shfl), E(rmsnorm),
      E(gelu4), E(attention), E(argmax), E(embed), E(maxpool), E(maxpool_2d), E(im2col), E(dwconv), E(bitonic_global),
      E(bitonic_shared), E(bitonic_warp), E(jacobi_tile), E(stencil3d), E(conv_rows), E(sobel), E(rgba_gray),
      E(transpose_naive), E(sgemm_reg4x4), E(dgemm_tiled16), E(gemm_dp4a), E(haxpy2), E(nbody_double), E(lbm_d2q9),
      E(fft512), E(mandel_double), E(julia), E(scan_warp), E(cumsum_cols), E(hist_warp), E(kmeans), E(bfs),
      E(spmv_warp), E(spmv_ell), E(lower_bound), E(philox), E(sha256)};
#undef E
  return v;
}
}  // namespace bench
