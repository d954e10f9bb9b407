// Answers that are not as recorded, and why.

const CAPTURE: &[&str] = &["capture"];
const PLAUSIBLE: &[&str] = &["capture", "in_callback", "in_host_function"];
const PLAUSIBLE_IN_CALLBACKS: &[&str] = &["in_callback", "in_host_function"];
const ZEROS_IN_CALLBACKS: &[&str] = &["callback", "host_function"];

const DIFFERENCES: &[Difference] = &[
    Difference {
        functions: "cuMemGetAddressRange cuMemGetAddressRange_v2",
        situations: &["before_init"],
        ours: "NOT_INITIALIZED",
        reason: "asks for nothing, which the recorded driver gives without being initialised",
    },
    Difference {
        functions: "cuMemGetAddressRange cuMemGetAddressRange_v2 cuArrayDestroy cuFuncGetModule",
        situations: ZEROS_IN_CALLBACKS,
        ours: "NOT_PERMITTED",
        reason: "a callback may not call them: that they are also given nothing is said only outside of one",
    },
    Difference {
        functions: "cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 cuMemPrefetchAsync cuMemPrefetchAsync_v2 cuMemDiscardBatchAsync \
            cuStreamAttachMemAsync cuGraphMemcpyNodeSetParams cuGraphMemsetNodeSetParams cuGraphAddBatchMemOpNode \
            cuGraphBatchMemOpNodeSetParams cuGraphExecBatchMemOpNodeSetParams",
        situations: PLAUSIBLE_IN_CALLBACKS,
        ours: "INVALID_CONTEXT",
        reason: "both refuse the call: in a callback no context is current, and the arguments, structures of zeros, are wrong as well",
    },
    Difference {
        functions: "cuCoredumpGetAttribute cuCoredumpSetAttribute",
        situations: PLAUSIBLE_IN_CALLBACKS,
        ours: "NOT_PERMITTED",
        reason: "both refuse the call: there is no attribute 0, and no context is current",
    },
    Difference {
        functions: "cuUserObjectRelease cuGraphReleaseUserObject",
        situations: PLAUSIBLE,
        ours: "INVALID_VALUE",
        reason: "the recorded driver lets more references be released than there are, and frees the object under those who hold them",
    },
    Difference {
        functions: "cuLogsDumpToMemory",
        situations: PLAUSIBLE,
        ours: "INVALID_VALUE",
        reason: "a size of 0 is refused, as the manual has it",
    },
    Difference {
        functions: "cuArrayGetDescriptor cuArray3DGetDescriptor",
        situations: PLAUSIBLE,
        ours: "INVALID_HANDLE",
        reason: "first ABI: no array was created through it",
    },
    Difference {
        functions: "cuGreenCtxCreate",
        situations: PLAUSIBLE,
        ours: "SUCCESS",
        reason: "flags of 0 are documented since CUDA 13.1",
    },
    Difference {
        functions: "cuParamSetTexRef",
        situations: CAPTURE,
        ours: "INVALID_HANDLE",
        reason: "both refuse the call: the unit is not the default one, and the kernel has no such reference",
    },
    Difference {
        functions: "cuGraphAddChildGraphNode",
        situations: CAPTURE,
        ours: "SUCCESS",
        reason: "the recorded driver crashes when a graph is added to itself; ours copies it as it was",
    },
];
