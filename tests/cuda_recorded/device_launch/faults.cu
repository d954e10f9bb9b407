// A child that faults ends all; a module that needs the device's runtime library and is loaded without it.
// nvcc: -rdc=true -lcudadevrt
#include "show.h"

__global__ void bad(int *place) { *place = 1; }

__global__ void parent(int *place) {
    bad<<<1, 1>>>((int *)16);
    *place = cudaGetLastError() + 5;
}

static const char NEEDS[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b64 r) %s(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
    ".visible .entry launches() {\n { .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 c[12]; .param .b32 s; .param .b64 b;\n"
    " st.param.b64 [f], 0; st.param.b32 [s], 0; call (b), %s, (f, g, c, s); }\n ret;\n}\n";

static const char NEEDS_ONE[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 r) %s();\n"
    ".visible .entry asks() {\n { .param .b32 r; call (r), %s, (); }\n ret;\n}\n";

int main() {
    OK(cudaFree(0));
    char text[2048];
    for (const char *name : {"cudaGetParameterBufferV2", "__cudaCDP2GetParameterBufferV2"}) {
        snprintf(text, sizeof text, NEEDS, name, name);
        CUmodule module;
        CALL(cuModuleLoadData(&module, text));
    }
    for (const char *name : {"cudaGetLastError", "__cudaCDP2GetLastError", "cudaGraphLaunch", "cudaCGSynchronize", "__cudaDeviceSynchronizeDeprecationAvoidance"}) {
        snprintf(text, sizeof text, NEEDS_ONE, name, name);
        CUmodule module;
        CALL(cuModuleLoadData(&module, text));
    }
    int *place = zeros<int>(1);
    parent<<<1, 1>>>(place);
    CALL(cudaDeviceSynchronize());
    LAST();
    return 0;
}
