/* cp.async.bulk.tensor with .tile::gather4 and .tile::scatter4 (PTX ISA 9.7.9.25.5.2): four rows of a tensor of two dimensions that need not follow each other,
 * one of them outside of it; and .cta_group, which says which mbarriers may count. */
#include "behaviour/expect.h"

enum { WIDTH = 16, HEIGHT = 12, BOX = 8 };

static const char TEXT[] =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry rows(.param .u64 out, .param .align 64 .b8 from[128], .param .align 64 .b8 to[128])\n{\n"
    " .reg .b64 %o, %f, %t; .reg .b32 %s, %m, %c, %r<4>, %x, %i, %a; .reg .pred %p;\n"
    " .shared .align 128 .b8 tile[128]; .shared .align 8 .b64 object;\n"
    " mov.u64 %f, from; cvta.param.u64 %f, %f; mov.u64 %t, to; cvta.param.u64 %t, %t; ld.param.u64 %o, [out];\n"
    " mov.u32 %s, tile; mov.u32 %m, object; mbarrier.init.shared.b64 [object], 1;\n"
    " mov.u32 %c, 4; mov.u32 %r0, 3; mov.u32 %r1, 0; mov.u32 %r2, 12; mov.u32 %r3, 11;\n"
    " mbarrier.arrive.expect_tx.shared.b64 _, [object], 256;\n"
    " cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::1 [%s], [%f, {%c, %r0, %r1, %r2, %r3}], [%m];\n"
    " cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%s], [%f, {%c, %r0, %r1, %r2, %r3}], [%m];\n"
    "wait: mbarrier.try_wait.parity.shared.b64 %p, [object], 0; @!%p bra wait;\n"
    " mov.u32 %i, 0;\n"
    "copy: add.u32 %a, %s, %i; ld.shared.u32 %x, [%a]; cvt.u64.u32 %f, %i; add.u64 %f, %o, %f; st.global.u32 [%f], %x;\n"
    " add.u32 %i, %i, 4; setp.lt.u32 %p, %i, 128; @%p bra copy;\n"
    " mov.u32 %c, 8; mov.u32 %r0, 1; mov.u32 %r1, 10; mov.u32 %r2, 5; mov.u32 %r3, 12;\n"
    " cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%t, {%c, %r0, %r1, %r2, %r3}], [%s];\n"
    " cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;\n}\n";

static void encode(CUtensorMap *map, CUdeviceptr memory) {
    cuuint64_t extents[2] = {WIDTH, HEIGHT}, strides[1] = {WIDTH * 4};
    cuuint32_t box[2] = {BOX, 1}, steps[2] = {1, 1};
    OK(cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)memory, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                              CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

int main(void) {
    static const int GATHERED[4] = {3, 0, 12, 11}, SCATTERED[4] = {1, 10, 5, 12};
    unsigned tensor[WIDTH * HEIGHT], target[WIDTH * HEIGHT], tile[4 * BOX];
    CUdeviceptr from, to, out;
    CUtensorMap maps[2] __attribute__((aligned(64)));
    CUmodule module;
    CUfunction rows;
    start();
    for (int i = 0; i < WIDTH * HEIGHT; i++) tensor[i] = 1000 + i;
    OK(cuMemAlloc(&from, sizeof tensor));
    OK(cuMemAlloc(&to, sizeof target));
    OK(cuMemAlloc(&out, sizeof tile));
    OK(cuMemcpyHtoD(from, tensor, sizeof tensor));
    OK(cuMemsetD8(to, 0, sizeof target));
    encode(&maps[0], from);
    encode(&maps[1], to);
    OK(cuModuleLoadData(&module, TEXT));
    OK(cuModuleGetFunction(&rows, module, "rows"));
    void *arguments[] = {&out, &maps[0], &maps[1]};
    OK(cuLaunchKernel(rows, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(tile, out, sizeof tile));
    OK(cuMemcpyDtoH(target, to, sizeof target));
    for (int row = 0; row < 4; row++)
        for (int x = 0; x < BOX; x++) HOLDS(tile[row * BOX + x] == (GATHERED[row] < HEIGHT ? tensor[GATHERED[row] * WIDTH + 4 + x] : 0));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            unsigned expected = 0;
            for (int row = 0; row < 4; row++)
                if (SCATTERED[row] == y && x >= 8) expected = tile[row * BOX + x - 8];
            HOLDS(target[y * WIDTH + x] == expected);
        }
    puts("done");
    return 0;
}
