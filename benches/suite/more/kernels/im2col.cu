// Columns of image patches for a convolution by matrix product: grid-stride over the places of all channels.
extern "C" __global__ void im2col(int n, const float* image, int height, int width, int ksize, int pad, int stride,
                                  int height_out, int width_out, float* columns) {
  for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < n; index += blockDim.x * gridDim.x) {
    int x_out = index % width_out;
    int y_out = index / width_out % height_out;
    int channel_in = index / width_out / height_out;
    int channel_out = channel_in * ksize * ksize;
    int y_in = y_out * stride - pad;
    int x_in = x_out * stride - pad;
    float* column = columns + (channel_out * height_out + y_out) * width_out + x_out;
    const float* patch = image + (channel_in * height + y_in) * width + x_in;
    for (int i = 0; i < ksize; ++i) {
      for (int j = 0; j < ksize; ++j) {
        int y = y_in + i, x = x_in + j;
        *column = y >= 0 && x >= 0 && y < height && x < width ? patch[i * width + j] : 0.0f;
        column += height_out * width_out;
      }
    }
  }
}
