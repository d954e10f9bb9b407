/* Views of arrays as textures: of the array's own format and size, and of words as blocks, as an H100 takes them. */
#include "expect.h"

int main(void) {
    static const struct {
        CUarray_format format;
        unsigned channels;
        CUresourceViewFormat view;
    } known[] = {{CU_AD_FORMAT_FLOAT, 1, CU_RES_VIEW_FORMAT_FLOAT_1X32},
                 {CU_AD_FORMAT_FLOAT, 4, CU_RES_VIEW_FORMAT_FLOAT_4X32},
                 {CU_AD_FORMAT_HALF, 1, CU_RES_VIEW_FORMAT_FLOAT_1X16},
                 {CU_AD_FORMAT_HALF, 2, CU_RES_VIEW_FORMAT_FLOAT_2X16},
                 {CU_AD_FORMAT_UNSIGNED_INT8, 1, CU_RES_VIEW_FORMAT_UINT_1X8},
                 {CU_AD_FORMAT_SIGNED_INT8, 4, CU_RES_VIEW_FORMAT_SINT_4X8},
                 {CU_AD_FORMAT_UNSIGNED_INT16, 2, CU_RES_VIEW_FORMAT_UINT_2X16},
                 {CU_AD_FORMAT_SIGNED_INT16, 1, CU_RES_VIEW_FORMAT_SINT_1X16},
                 {CU_AD_FORMAT_UNSIGNED_INT32, 4, CU_RES_VIEW_FORMAT_UINT_4X32},
                 {CU_AD_FORMAT_SIGNED_INT32, 2, CU_RES_VIEW_FORMAT_SINT_2X32}};
    CUtexObject texture;
    start();
    for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
        CUDA_ARRAY3D_DESCRIPTOR shape = {
            .Width = 16, .Height = 8, .Format = known[index].format, .NumChannels = known[index].channels};
        CUarray array;
        OK(cuArray3DCreate(&array, &shape));
        CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res = {.array = {array}}};
        CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
        CUDA_RESOURCE_VIEW_DESC view = {.format = known[index].view, .width = 16, .height = 8}, back = {0};
        OK(cuTexObjectCreate(&texture, &resource, &how, &view));
        OK(cuTexObjectGetResourceViewDesc(&back, texture));
        HOLDS(memcmp(&view, &back, sizeof view) == 0);
        OK(cuTexObjectDestroy(texture));
        OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
        /* Without a view nothing is told. */
        memset(&back, 0xee, sizeof back);
        OK(cuTexObjectGetResourceViewDesc(&back, texture));
        HOLDS(back.width == (size_t)0xeeeeeeeeeeeeeeee && back.format == (CUresourceViewFormat)0xeeeeeeee);
        OK(cuTexObjectDestroy(texture));
        view.format = CU_RES_VIEW_FORMAT_NONE;
        IS(INVALID_VALUE, cuTexObjectCreate(&texture, &resource, &how, &view));
        /* Blocks are words, each four texels wide and high. */
        view.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC2;
        IS(INVALID_VALUE, cuTexObjectCreate(&texture, &resource, &how, &view));
        view.width *= 4, view.height *= 4;
        if (known[index].format == CU_AD_FORMAT_UNSIGNED_INT32 && known[index].channels == 4)
            OK(cuTexObjectCreate(&texture, &resource, &how, &view));
        else
            IS(INVALID_VALUE, cuTexObjectCreate(&texture, &resource, &how, &view));
        OK(cuArrayDestroy(array));
    }
    puts("done");
    return 0;
}
