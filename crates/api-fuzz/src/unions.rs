//! Which member of a union a program has to write, where another member of the structure says it: what is a pointer there would be
//! nonsense if it were written as anything else.

/// The member of the union in `structure` whose other member `type` is `number`; None where any will do.
pub(crate) fn member(structure: &str, number: u32) -> Option<&'static str> {
    match structure {
        // CUgraphNodeType
        "CUgraphNodeParams" => Some(match number {
            0 => "kernel",
            1 => "memcpy",
            2 => "memset",
            3 => "host",
            4 => "graph",
            6 => "eventWait",
            7 => "eventRecord",
            8 => "extSemSignal",
            9 => "extSemWait",
            10 => "alloc",
            11 => "free",
            12 => "memOp",
            13 => "conditional",
            14 => "memcpyBatch",
            18 => "fabricCpyBatch",
            _ => return None,
        }),
        // What has the type of a descriptor, and of whatever is not read where it is none: no other member looks like the descriptor of somebody else.
        "CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1" | "CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_v1" => Some("fd"),
        _ => None,
    }
}
