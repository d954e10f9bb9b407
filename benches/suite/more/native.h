// The native versions that the first set has not. Compiled twice, as its are; no include guard: included once per
// namespace.
#include <cstddef>
namespace NATIVE_NS {
void gemv(const float* A, const float* x, float* y, int rows, int cols);
void dot(const float* a, const float* b, float* out, int n);
void row_sums(const float* in, float* out, int rows, int cols);
void layernorm(const float* in, float* out, const float* gain, const float* bias, int rows, int cols);
void rmsnorm(const float* in, float* out, const float* gain, int rows, int cols);
void gelu(const float* in, float* out, int n);
void attention(const float* Q, const float* K, const float* V, float* O, int queries, int keys, float scale);
void argmax(const float* in, int* out, int rows, int cols);
void embed(const int* ids, const float* table, float* out, int tokens, int dim);
void maxpool(const float* in, float* out, int C, int H, int W);
void im2col(const float* image, float* columns, int C, int H, int W);
void dwconv(const float* in, const float* weights, float* out, int C, int H, int W);
void bitonic(int* out, const int* in, int n);
void sort_blocks(int* out, const int* in, int blocks, int keys);
void jacobi(const float* in, float* out, int w, int h);
void stencil3d(const float* in, float* out, int nx, int ny, int nz, float c0, float c1);
void conv_rows(float* dst, const float* src, int w, int h, const float* filter);
void sobel(const unsigned char* in, unsigned char* out, int w, int h);
void rgba_gray(const unsigned char* in, unsigned char* out, int n);
void dgemm(int M, int N, int K, const double* A, const double* B, double* C);
void gemm_i8(int M, int N, int K, const signed char* A, const signed char* B, int* C);
void haxpy(int n, unsigned a2, const unsigned* x2, unsigned* y2);
void nbody_double(const double* X, const double* Y, const double* Z, const double* M, double* ax, double* ay,
                  double* az, int n, double eps2);
void lbm(const float* f, float* g, int nx, int ny, float omega);
void fft512(const float* in, float* out, const float* twiddles, int batch);
void mandelbrot_double(int* out, int w, int h, double x0, double y0, double dx, double dy, int max_iter);
void julia(unsigned char* pixels, int n);
void scan256(const int* in, int* out, int n);
void cumsum_cols(const float* in, float* out, int rows, int cols);
void kmeans(const float* x, int* label, int n, const float* centres);
void bfs(const int* ptr, const int* adj, int* level, const int* init, int n, int levels);
void spmv_long_rows(int rows, const int* ptr, const int* col, const float* val, const float* x, float* y);
void spmv_ell(int rows, int width, const int* col, const float* val, const float* x, float* y);
void lower_bounds(const int* table, int n, const int* keys, int* out, int m);
void philox(unsigned* out, int n, unsigned key0, unsigned key1);
void sha256(const unsigned* messages, unsigned* out, int n);
}  // namespace NATIVE_NS
#undef NATIVE_NS
