#include "../../kernels/empty.cu"
