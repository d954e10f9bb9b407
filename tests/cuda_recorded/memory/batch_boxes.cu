// Copies of several boxes in one call, between linear memory and arrays.
#include "show.h"

#if CUDART_VERSION >= 13000
#define BATCH(count, list, flags, stream) cudaMemcpy3DBatchAsync(count, list, flags, stream)
#else
static size_t failed;
#define BATCH(count, list, flags, stream) cudaMemcpy3DBatchAsync(count, list, &failed, flags, stream)
#endif

static cudaMemcpy3DOperand linear(void *memory, size_t row, size_t rows, bool host) {
    cudaMemcpy3DOperand operand = {};
    operand.type = cudaMemcpyOperandTypePointer;
    operand.op.ptr.ptr = memory;
    operand.op.ptr.rowLength = row;
    operand.op.ptr.layerHeight = rows;
    operand.op.ptr.locHint.type = host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    return operand;
}

static cudaMemcpy3DOperand in(cudaArray_t array, size_t x, size_t y) {
    cudaMemcpy3DOperand operand = {};
    operand.type = cudaMemcpyOperandTypeArray;
    operand.op.array.array = array;
    operand.op.array.offset.x = x;
    operand.op.array.offset.y = y;
    return operand;
}

static cudaMemcpy3DBatchOp copy(cudaMemcpy3DOperand from, cudaMemcpy3DOperand to, size_t width, size_t height, size_t depth) {
    cudaMemcpy3DBatchOp operation = {};
    operation.src = from;
    operation.dst = to;
    operation.extent = make_cudaExtent(width, height, depth);
    operation.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    return operation;
}

int main() {
    unsigned char *here = nullptr, *back = nullptr, *there = zeros<unsigned char>(4096);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocHost(&here, 4096));
    OK(cudaMallocHost(&back, 4096));
    for (int index = 0; index < 4096; index++) here[index] = (unsigned char)(index * 7);
    memset(back, 0, 4096);
    cudaArray_t array;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &floats, 16, 8));
    cudaMemcpy3DBatchOp operations[3];
    operations[0] = copy(linear(here, 64, 8, true), linear(there, 64, 8, false), 48, 4, 3);
    operations[1] = copy(linear(here, 0, 0, true), linear(there + 2048, 0, 0, false), 100, 1, 1);
    CALL(BATCH(2, operations, 0, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(at(there, 47));
    SHOW(at(there, 48));
    SHOW(at(there, 64 * 8 * 2 + 64 * 3 + 5));
    SHOW(at(there, 2048 + 99));
    operations[0] = copy(linear(here, 16, 8, true), in(array, 0, 0), 16, 8, 1);
    CALL(BATCH(1, operations, 0, stream));
    CALL(cudaStreamSynchronize(stream));
    operations[0] = copy(in(array, 4, 2), linear(back, 16, 8, true), 8, 4, 1);
    CALL(BATCH(1, operations, 0, stream));
    CALL(cudaStreamSynchronize(stream));
    SHOW(back[0]);
    SHOW(back[31]);
    SHOW(back[32]);
    SHOW(back[64 * 3 + 1]);
    CALL(BATCH(0, operations, 0, stream));
    CALL(BATCH(1, nullptr, 0, stream));
    CALL(BATCH(1, operations, 1, stream));
    CALL(BATCH(1, operations, 0, nullptr));
    operations[0].extent.width = 0;
    CALL(BATCH(1, operations, 0, stream));
    operations[0].extent.width = 17;
    CALL(BATCH(1, operations, 0, stream));
    operations[0].extent.width = 8;
    operations[0].dst.type = (cudaMemcpy3DOperandType)9;
    CALL(BATCH(1, operations, 0, stream));
    LAST();
    CALL(cudaStreamSynchronize(stream));
    return 0;
}
