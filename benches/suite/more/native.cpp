#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace NATIVE_NS {

void gemv(const float* __restrict A, const float* __restrict x, float* __restrict y, int rows, int cols) {
#pragma omp parallel for schedule(static)
  for (int r = 0; r < rows; ++r) {
    const float* a = A + (size_t)r * cols;
    float s = 0;
#pragma omp simd reduction(+ : s)
    for (int c = 0; c < cols; ++c) s += a[c] * x[c];
    y[r] = s;
  }
}

void dot(const float* a, const float* b, float* out, int n) {
  float s = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : s)
  for (int i = 0; i < n; ++i) s += a[i] * b[i];
  *out = s;
}

void row_sums(const float* __restrict in, float* __restrict out, int rows, int cols) {
#pragma omp parallel for schedule(static)
  for (int r = 0; r < rows; ++r) {
    const float* p = in + (size_t)r * cols;
    float s = 0;
#pragma omp simd reduction(+ : s)
    for (int c = 0; c < cols; ++c) s += p[c];
    out[r] = s;
  }
}

void layernorm(const float* __restrict in, float* __restrict out, const float* __restrict gain,
               const float* __restrict bias, int rows, int cols) {
#pragma omp parallel for schedule(static)
  for (int r = 0; r < rows; ++r) {
    const float* x = in + (size_t)r * cols;
    float* y = out + (size_t)r * cols;
    float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum, square)
    for (int c = 0; c < cols; ++c) {
      sum += x[c];
      square += x[c] * x[c];
    }
    float mean = sum / cols;
    float inv = 1.0f / sqrtf(square / cols - mean * mean + 1e-5f);
    for (int c = 0; c < cols; ++c) y[c] = (x[c] - mean) * inv * gain[c] + bias[c];
  }
}

void rmsnorm(const float* __restrict in, float* __restrict out, const float* __restrict gain, int rows, int cols) {
#pragma omp parallel for schedule(static)
  for (int r = 0; r < rows; ++r) {
    const float* x = in + (size_t)r * cols;
    float* y = out + (size_t)r * cols;
    float square = 0;
#pragma omp simd reduction(+ : square)
    for (int c = 0; c < cols; ++c) square += x[c] * x[c];
    float inv = 1.0f / sqrtf(square / cols + 1e-6f);
    for (int c = 0; c < cols; ++c) y[c] = x[c] * inv * gain[c];
  }
}

void gelu(const float* __restrict in, float* __restrict out, int n) {
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; ++i) {
    float x = in[i];
    out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  }
}

void attention(const float* __restrict Q, const float* __restrict K, const float* __restrict V, float* __restrict O,
               int queries, int keys, float scale) {
  const int D = 32;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < queries; ++i) {
    float q[D], acc[D] = {}, largest = -1e30f, sum = 0;
    for (int d = 0; d < D; ++d) q[d] = Q[i * D + d] * scale;
    for (int t = 0; t < keys; ++t) {
      float s = 0;
#pragma omp simd reduction(+ : s)
      for (int d = 0; d < D; ++d) s += q[d] * K[t * D + d];
      float next = largest > s ? largest : s;
      float correction = expf(largest - next);
      float p = expf(s - next);
      sum = sum * correction + p;
      for (int d = 0; d < D; ++d) acc[d] = acc[d] * correction + p * V[t * D + d];
      largest = next;
    }
    for (int d = 0; d < D; ++d) O[i * D + d] = acc[d] / sum;
  }
}

void argmax(const float* __restrict in, int* __restrict out, int rows, int cols) {
#pragma omp parallel for schedule(static)
  for (int r = 0; r < rows; ++r) {
    const float* p = in + (size_t)r * cols;
    float best = -3e38f;
    int place = 0;
    for (int c = 0; c < cols; ++c) {
      if (p[c] > best) {
        best = p[c];
        place = c;
      }
    }
    out[r] = place;
  }
}

void embed(const int* __restrict ids, const float* __restrict table, float* __restrict out, int tokens, int dim) {
#pragma omp parallel for schedule(static)
  for (int t = 0; t < tokens; ++t) memcpy(out + (size_t)t * dim, table + (size_t)ids[t] * dim, sizeof(float) * dim);
}

void maxpool(const float* __restrict in, float* __restrict out, int C, int H, int W) {
  int oh = H / 2, ow = W / 2;
#pragma omp parallel for collapse(2) schedule(static)
  for (int c = 0; c < C; ++c)
    for (int y = 0; y < oh; ++y) {
      const float* p = in + ((size_t)c * H + 2 * y) * W;
      const float* q = p + W;
      float* o = out + ((size_t)c * oh + y) * ow;
      for (int x = 0; x < ow; ++x) {
        float a = p[2 * x] > p[2 * x + 1] ? p[2 * x] : p[2 * x + 1];
        float b = q[2 * x] > q[2 * x + 1] ? q[2 * x] : q[2 * x + 1];
        o[x] = a > b ? a : b;
      }
    }
}

// 3x3, a border of one, every place.
void im2col(const float* __restrict image, float* __restrict columns, int C, int H, int W) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int c = 0; c < C; ++c)
    for (int k = 0; k < 9; ++k) {
      int dy = k / 3 - 1, dx = k % 3 - 1;
      float* o = columns + ((size_t)c * 9 + k) * H * W;
      for (int y = 0; y < H; ++y, o += W) {
        if (y + dy < 0 || y + dy >= H) {
          memset(o, 0, sizeof(float) * W);
          continue;
        }
        const float* p = image + ((size_t)c * H + y + dy) * W;
        for (int x = 0; x < W; ++x) o[x] = x + dx >= 0 && x + dx < W ? p[x + dx] : 0;
      }
    }
}

void dwconv(const float* __restrict in, const float* __restrict weights, float* __restrict out, int C, int H, int W) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int c = 0; c < C; ++c)
    for (int y = 0; y < H; ++y) {
      float* o = out + ((size_t)c * H + y) * W;
      for (int x = 0; x < W; ++x) o[x] = 0;
      for (int i = -1; i <= 1; ++i) {
        if (y + i < 0 || y + i >= H) continue;
        const float* p = in + ((size_t)c * H + y + i) * W;
        const float* k = weights + c * 9 + (i + 1) * 3;
        float k0 = k[0], k1 = k[1], k2 = k[2];
        o[0] += p[0] * k1 + p[1] * k2;
        for (int x = 1; x < W - 1; ++x) o[x] += p[x - 1] * k0 + p[x] * k1 + p[x + 1] * k2;
        o[W - 1] += p[W - 2] * k0 + p[W - 1] * k1;
      }
    }
}

void bitonic(int* __restrict out, const int* __restrict in, int n) {
  memcpy(out, in, sizeof(int) * n);
#pragma omp parallel
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
#pragma omp for schedule(static)
      for (int b = 0; b < n; b += 2 * j) {
        int* p = out + b;
        int* q = p + j;
        if ((b & k) == 0) {
          for (int t = 0; t < j; ++t) {
            int x = p[t], y = q[t];
            p[t] = std::min(x, y);
            q[t] = std::max(x, y);
          }
        } else {
          for (int t = 0; t < j; ++t) {
            int x = p[t], y = q[t];
            p[t] = std::max(x, y);
            q[t] = std::min(x, y);
          }
        }
      }
    }
}

void sort_blocks(int* out, const int* in, int blocks, int keys) {
#pragma omp parallel for schedule(static)
  for (int b = 0; b < blocks; ++b) {
    int* o = out + (size_t)b * keys;
    memcpy(o, in + (size_t)b * keys, sizeof(int) * keys);
    std::sort(o, o + keys);
  }
}

void jacobi(const float* __restrict in, float* __restrict out, int w, int h) {
#pragma omp parallel for schedule(static)
  for (int y = 1; y < h - 1; ++y) {
    const float* p = in + (size_t)y * w;
    float* q = out + (size_t)y * w;
    for (int x = 1; x < w - 1; ++x) q[x] = 0.25f * (p[x - 1] + p[x + 1] + p[x - w] + p[x + w]);
  }
}

void stencil3d(const float* __restrict in, float* __restrict out, int nx, int ny, int nz, float c0, float c1) {
  int plane = nx * ny;
#pragma omp parallel for collapse(2) schedule(static)
  for (int z = 1; z < nz - 1; ++z)
    for (int y = 1; y < ny - 1; ++y) {
      const float* p = in + (size_t)z * plane + y * nx;
      float* q = out + (size_t)z * plane + y * nx;
      for (int x = 1; x < nx - 1; ++x)
        q[x] = c0 * p[x] + c1 * (p[x - 1] + p[x + 1] + p[x - nx] + p[x + nx] + p[x - plane] + p[x + plane]);
    }
}

void conv_rows(float* __restrict dst, const float* __restrict src, int w, int h, const float* __restrict filter) {
  const int R = 8;
#pragma omp parallel for schedule(static)
  for (int y = 0; y < h; ++y) {
    const float* p = src + (size_t)y * w;
    float* q = dst + (size_t)y * w;
    auto edge = [&](int x) {
      float s = 0;
      for (int j = -R; j <= R; ++j)
        if (x + j >= 0 && x + j < w) s += filter[R - j] * p[x + j];
      q[x] = s;
    };
    for (int x = 0; x < R; ++x) edge(x);
    for (int x = R; x < w - R; ++x) {
      float s = 0;
      for (int j = -R; j <= R; ++j) s += filter[R - j] * p[x + j];
      q[x] = s;
    }
    for (int x = w - R; x < w; ++x) edge(x);
  }
}

void sobel(const unsigned char* __restrict in, unsigned char* __restrict out, int w, int h) {
#pragma omp parallel for schedule(static)
  for (int y = 1; y < h - 1; ++y)
    for (int x = 1; x < w - 1; ++x) {
      const unsigned char* p = in + (size_t)y * w + x;
      int a = p[-w - 1], b = p[-w], c = p[-w + 1];
      int d = p[-1], e = p[1];
      int f = p[w - 1], g = p[w], i = p[w + 1];
      int gx = c + 2 * e + i - a - 2 * d - f;
      int gy = f + 2 * g + i - a - 2 * b - c;
      out[(size_t)y * w + x] = (unsigned char)std::min(std::abs(gx) + std::abs(gy), 255);
    }
}

void rgba_gray(const unsigned char* __restrict in, unsigned char* __restrict out, int n) {
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; ++i)
    out[i] = (unsigned char)(0.299f * in[4 * i] + 0.587f * in[4 * i + 1] + 0.114f * in[4 * i + 2]);
}

// Four rows by 32 columns at a time; M is a multiple of 4, N of 32.
void dgemm(int M, int N, int K, const double* __restrict A, const double* __restrict B, double* __restrict C) {
  const int RB = 4, CB = 32;
#pragma omp parallel for schedule(static)
  for (int i0 = 0; i0 < M; i0 += RB)
    for (int j0 = 0; j0 < N; j0 += CB) {
      double acc[RB][CB] = {};
      for (int k = 0; k < K; ++k) {
        const double* b = B + (size_t)k * N + j0;
        double a0 = A[(size_t)i0 * K + k], a1 = A[(size_t)(i0 + 1) * K + k];
        double a2 = A[(size_t)(i0 + 2) * K + k], a3 = A[(size_t)(i0 + 3) * K + k];
        for (int j = 0; j < CB; ++j) {
          acc[0][j] += a0 * b[j];
          acc[1][j] += a1 * b[j];
          acc[2][j] += a2 * b[j];
          acc[3][j] += a3 * b[j];
        }
      }
      for (int r = 0; r < RB; ++r) memcpy(C + (size_t)(i0 + r) * N + j0, acc[r], sizeof acc[r]);
    }
}

void gemm_i8(int M, int N, int K, const signed char* __restrict A, const signed char* __restrict B, int* __restrict C) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      const signed char* a = A + (size_t)i * K;
      const signed char* b = B + (size_t)j * K;
      int s = 0;
      for (int k = 0; k < K; ++k) s += a[k] * b[k];
      C[(size_t)i * N + j] = s;
    }
}

void haxpy(int n, unsigned a2, const unsigned* __restrict x2, unsigned* __restrict y2) {
  _Float16 a_half;
  memcpy(&a_half, &a2, sizeof a_half);
  float a = a_half;
  const _Float16* x = (const _Float16*)x2;
  _Float16* y = (_Float16*)y2;
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; ++i) y[i] = (_Float16)(a * (float)x[i] + (float)y[i]);
}

void nbody_double(const double* __restrict X, const double* __restrict Y, const double* __restrict Z,
                  const double* __restrict M, double* __restrict ax, double* __restrict ay, double* __restrict az,
                  int n, double eps2) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; ++i) {
    double x = X[i], y = Y[i], z = Z[i], fx = 0, fy = 0, fz = 0;
#pragma omp simd reduction(+ : fx, fy, fz)
    for (int j = 0; j < n; ++j) {
      double dx = X[j] - x, dy = Y[j] - y, dz = Z[j] - z;
      double d2 = dx * dx + dy * dy + dz * dz + eps2;
      double s = M[j] / (d2 * sqrt(d2));
      fx += dx * s;
      fy += dy * s;
      fz += dz * s;
    }
    ax[i] = fx;
    ay[i] = fy;
    az[i] = fz;
  }
}

static inline float equilibrium(float weight, float cu, float u2) {
  return weight * (1.0f + 3.0f * cu + 4.5f * cu * cu - u2);
}

void lbm(const float* __restrict f, float* __restrict g, int nx, int ny, float omega) {
  int n = nx * ny;
#pragma omp parallel for schedule(static)
  for (int y = 0; y < ny; ++y) {
    int below = y == 0 ? ny - 1 : y - 1;
    int above = y == ny - 1 ? 0 : y + 1;
    // Inlined, so that the loop below has its neighbours at known distances.
    auto cell = [&](int x, int left, int right) __attribute__((always_inline)) {
      int i = y * nx + x;
      float f0 = f[i];
      float f1 = f[n + y * nx + left];
      float f2 = f[2 * n + below * nx + x];
      float f3 = f[3 * n + y * nx + right];
      float f4 = f[4 * n + above * nx + x];
      float f5 = f[5 * n + below * nx + left];
      float f6 = f[6 * n + below * nx + right];
      float f7 = f[7 * n + above * nx + right];
      float f8 = f[8 * n + above * nx + left];
      float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
      float inv = 1.0f / rho;
      float ux = (f1 + f5 + f8 - f3 - f6 - f7) * inv;
      float uy = (f2 + f5 + f6 - f4 - f7 - f8) * inv;
      float u2 = 1.5f * (ux * ux + uy * uy);
      float w0 = rho * 4.0f / 9.0f, w1 = rho / 9.0f, w2 = rho / 36.0f;
      g[i] = f0 + omega * (equilibrium(w0, 0.0f, u2) - f0);
      g[n + i] = f1 + omega * (equilibrium(w1, ux, u2) - f1);
      g[2 * n + i] = f2 + omega * (equilibrium(w1, uy, u2) - f2);
      g[3 * n + i] = f3 + omega * (equilibrium(w1, -ux, u2) - f3);
      g[4 * n + i] = f4 + omega * (equilibrium(w1, -uy, u2) - f4);
      g[5 * n + i] = f5 + omega * (equilibrium(w2, ux + uy, u2) - f5);
      g[6 * n + i] = f6 + omega * (equilibrium(w2, uy - ux, u2) - f6);
      g[7 * n + i] = f7 + omega * (equilibrium(w2, -ux - uy, u2) - f7);
      g[8 * n + i] = f8 + omega * (equilibrium(w2, ux - uy, u2) - f8);
    };
    cell(0, nx - 1, 1);
    for (int x = 1; x < nx - 1; ++x) cell(x, x - 1, x + 1);
    cell(nx - 1, nx - 2, 0);
  }
}

void fft512(const float* __restrict in, float* __restrict out, const float* __restrict twiddles, int batch) {
  const int N = 512;
#pragma omp parallel for schedule(static)
  for (int b = 0; b < batch; ++b) {
    const float* p = in + (size_t)b * N * 2;
    float* o = out + (size_t)b * N * 2;
    float re[N], im[N];
    for (int i = 0; i < N; ++i) {
      int r = __builtin_bitreverse32(i) >> 23;
      re[r] = p[2 * i];
      im[r] = p[2 * i + 1];
    }
    for (int half = 1; half < N; half <<= 1)
      for (int first = 0; first < N; first += 2 * half) {
#pragma omp simd
        for (int j = 0; j < half; ++j) {
          const float* w = twiddles + j * (N / 2 / half) * 2;
          int u = first + j, v = u + half;
          float vr = re[v] * w[0] - im[v] * w[1], vi = re[v] * w[1] + im[v] * w[0];
          float ur = re[u], ui = im[u];
          re[u] = ur + vr;
          im[u] = ui + vi;
          re[v] = ur - vr;
          im[v] = ui - vi;
        }
      }
    for (int i = 0; i < N; ++i) {
      o[2 * i] = re[i];
      o[2 * i + 1] = im[i];
    }
  }
}

void mandelbrot_double(int* out, int w, int h, double x0, double y0, double dx, double dy, int max_iter) {
#pragma omp parallel for schedule(dynamic, 4)
  for (int py = 0; py < h; ++py)
    for (int px = 0; px < w; ++px) {
      double cx = x0 + dx * px, cy = y0 + dy * py, x = 0, y = 0;
      int it = 0;
      while (it < max_iter) {
        double xx = x * x, yy = y * y;
        if (xx + yy > 4.0) break;
        y = 2.0 * x * y + cy;
        x = xx - yy + cx;
        ++it;
      }
      out[py * w + px] = it;
    }
}

void julia(unsigned char* pixels, int n) {
#pragma omp parallel for schedule(dynamic, 4)
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      float r = 1.5f * (float)(n / 2 - x) / (n / 2), i = 1.5f * (float)(n / 2 - y) / (n / 2);
      int inside = 1;
      for (int k = 0; k < 200 && inside; ++k) {
        float nr = r * r - i * i - 0.8f, ni = i * r + r * i + 0.156f;
        r = nr;
        i = ni;
        if (r * r + i * i > 1000) inside = 0;
      }
      unsigned char* p = pixels + 4 * ((size_t)y * n + x);
      p[0] = 255 * inside;
      p[1] = 0;
      p[2] = 0;
      p[3] = 255;
    }
}

void scan256(const int* __restrict in, int* __restrict out, int n) {
#pragma omp parallel for schedule(static)
  for (int b = 0; b < n; b += 256) {
    int s = 0, end = std::min(n, b + 256);
    for (int i = b; i < end; ++i) {
      s += in[i];
      out[i] = s;
    }
  }
}

// Each thread has some columns, whose sums it keeps while it goes down the rows.
void cumsum_cols(const float* __restrict in, float* __restrict out, int rows, int cols) {
#pragma omp parallel
  {
    int T = omp_get_num_threads(), t = omp_get_thread_num();
    int lo = (int)((int64_t)cols * t / T), hi = (int)((int64_t)cols * (t + 1) / T);
    std::vector<float> sums(hi - lo, 0.0f);
    float* __restrict s = sums.data();
    for (int r = 0; r < rows; ++r) {
      const float* p = in + (size_t)r * cols + lo;
      float* q = out + (size_t)r * cols + lo;
      for (int c = 0; c < hi - lo; ++c) {
        s[c] += p[c];
        q[c] = s[c];
      }
    }
  }
}

void kmeans(const float* __restrict x, int* __restrict label, int n, const float* __restrict centres) {
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; ++i) {
    float best = 1e30f;
    int nearest = 0;
    for (int c = 0; c < 16; ++c) {
      float distance = 0;
      for (int k = 0; k < 8; ++k) {
        float t = x[(size_t)k * n + i] - centres[c * 8 + k];
        distance += t * t;
      }
      nearest = distance < best ? c : nearest;
      best = distance < best ? distance : best;
    }
    label[i] = nearest;
  }
}

// All that write to a level write the same number.
void bfs(const int* ptr, const int* adj, int* level, const int* init, int n, int levels) {
  memcpy(level, init, sizeof(int) * n);
  for (int current = 0; current < levels; ++current) {
#pragma omp parallel for schedule(static)
    for (int v = 0; v < n; ++v) {
      if (level[v] != current) continue;
      for (int e = ptr[v]; e < ptr[v + 1]; ++e) {
        int u = adj[e];
        if (level[u] == -1) level[u] = current + 1;
      }
    }
  }
}

void spmv_long_rows(int rows, const int* __restrict ptr, const int* __restrict col, const float* __restrict val,
                    const float* __restrict x, float* __restrict y) {
#pragma omp parallel for schedule(static)
  for (int r = 0; r < rows; ++r) {
    float s = 0;
#pragma omp simd reduction(+ : s)
    for (int j = ptr[r]; j < ptr[r + 1]; ++j) s += val[j] * x[col[j]];
    y[r] = s;
  }
}

// As many rows at a time as keep their sums in the cache, since what belongs to a row lies `rows` apart.
void spmv_ell(int rows, int width, const int* __restrict col, const float* __restrict val, const float* __restrict x,
              float* __restrict y) {
  const int RB = 512;
#pragma omp parallel for schedule(static)
  for (int r0 = 0; r0 < rows; r0 += RB) {
    int m = std::min(RB, rows - r0);
    float acc[RB] = {};
    for (int k = 0; k < width; ++k) {
      const float* v = val + (size_t)k * rows + r0;
      const int* c = col + (size_t)k * rows + r0;
      for (int r = 0; r < m; ++r) acc[r] += v[r] * x[c[r]];
    }
    memcpy(y + r0, acc, sizeof(float) * m);
  }
}

void lower_bounds(const int* __restrict table, int n, const int* __restrict keys, int* __restrict out, int m) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < m; ++i) {
    int key = keys[i], lo = 0, hi = n;
    while (lo < hi) {
      int mid = (lo + hi) >> 1;
      if (table[mid] < key) {
        lo = mid + 1;
      } else {
        hi = mid;
      }
    }
    out[i] = lo;
  }
}

void philox(unsigned* __restrict out, int n, unsigned key0, unsigned key1) {
#pragma omp parallel for simd schedule(static)
  for (int i = 0; i < n; ++i) {
    unsigned c0 = i, c1 = 0, c2 = 0, c3 = 0, k0 = key0, k1 = key1;
    for (int r = 0; r < 10; ++r) {
      uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
      c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
      c1 = (unsigned)p1;
      c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
      c3 = (unsigned)p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    out[4 * i] = c0;
    out[4 * i + 1] = c1;
    out[4 * i + 2] = c2;
    out[4 * i + 3] = c3;
  }
}

static const unsigned round_constants[64] = {
#include "sha256_constants.h"
};

static inline unsigned rotr(unsigned x, int n) { return (x >> n) | (x << (32 - n)); }

void sha256(const unsigned* __restrict messages, unsigned* __restrict out, int n) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; ++i) {
    unsigned w[64];
    for (int t = 0; t < 16; ++t) w[t] = messages[i * 16 + t];
    for (int t = 16; t < 64; ++t) {
      unsigned s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
      unsigned s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    unsigned a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
    unsigned e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
    for (int t = 0; t < 64; ++t) {
      unsigned t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
      unsigned t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    unsigned* o = out + i * 8;
    o[0] = a + 0x6a09e667;
    o[1] = b + 0xbb67ae85;
    o[2] = c + 0x3c6ef372;
    o[3] = d + 0xa54ff53a;
    o[4] = e + 0x510e527f;
    o[5] = f + 0x9b05688c;
    o[6] = g + 0x1f83d9ab;
    o[7] = h + 0x5be0cd19;
  }
}

}  // namespace NATIVE_NS
