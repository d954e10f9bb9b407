//! Functions that the system provides to device code.

/// Functions that the system provides to device code (CUDA programming guide, device-side `printf`, `malloc`, `assert`, dynamic parallelism).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `.func (.param .b32 r) vprintf(.param .b64 format, .param .b64 args)`
    Vprintf,
    /// `.func (.param .b64 r) malloc(.param .b64 size)`
    Malloc,
    /// `.func free(.param .b64 p)`
    Free,
    /// `.func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)`
    GraphSetConditional,
    /// `.func __assertfail(.param .b64 message, .b64 file, .b32 line, .b64 function, .b64 char_size)`
    AssertFail,
    /// A function of the device's runtime library, with the parameters that NVIDIA's `cuda_device_runtime_api.h` gives it.
    Runtime(RuntimeFunction),
}

/// A function of the device's runtime library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeFunction {
    /// What it does.
    pub call: RuntimeCall,
    /// The default stream is that of the thread (`_ptsz`).
    pub per_thread: bool,
}

macro_rules! runtime_calls {
    ($($call:ident),* $(,)?) => {
        /// What functions of the device's runtime library do: the names without `cuda` or `__cudaCDP2`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names of CUDA's functions say it")]
        pub enum RuntimeCall {
            $($call,)*
        }

        impl RuntimeCall {
            const ALL: &[(&str, RuntimeCall)] = &[$((stringify!($call), RuntimeCall::$call)),*];
        }
    };
}

runtime_calls! {
    GetParameterBuffer, GetParameterBufferV2, LaunchDevice, LaunchDeviceV2, DeviceSynchronize,
    DeviceGetAttribute, DeviceGetLimit, DeviceGetCacheConfig, DeviceGetSharedMemConfig, GetDeviceCount, GetDevice,
    RuntimeGetVersion,
    GetLastError, PeekAtLastError, GetErrorString, GetErrorName,
    StreamCreateWithFlags, StreamDestroy, StreamWaitEvent,
    EventCreateWithFlags, EventRecord, EventRecordWithFlags, EventDestroy,
    FuncGetAttributes, OccupancyMaxActiveBlocksPerMultiprocessor, OccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    Malloc, Free,
    MemcpyAsync, Memcpy2DAsync, Memcpy3DAsync, MemsetAsync, Memset2DAsync, Memset3DAsync,
    GraphLaunch, GraphKernelNodeSetParam, GraphKernelNodeSetEnabled, GraphKernelNodeSetGridDim, GraphKernelNodeUpdatesApply,
}

impl RuntimeCall {
    /// Whether it is about graphs: such calls are there without the library too, as recorded, and have one name.
    fn is_of_graphs(self) -> bool {
        use RuntimeCall::*;
        matches!(
            self,
            GraphLaunch
                | GraphKernelNodeSetParam
                | GraphKernelNodeSetEnabled
                | GraphKernelNodeSetGridDim
                | GraphKernelNodeUpdatesApply
        )
    }

    /// Whether it takes a stream, so that there is a form with the thread's default stream.
    fn takes_stream(self) -> bool {
        use RuntimeCall::*;
        matches!(
            self,
            LaunchDevice
                | LaunchDeviceV2
                | StreamWaitEvent
                | EventRecord
                | EventRecordWithFlags
                | MemcpyAsync
                | Memcpy2DAsync
                | Memcpy3DAsync
                | MemsetAsync
                | Memset2DAsync
                | Memset3DAsync
        )
    }
}

impl Builtin {
    /// The one of that name.
    pub fn named(name: &str) -> Option<Builtin> {
        match name {
            "vprintf" => Some(Builtin::Vprintf),
            "malloc" => Some(Builtin::Malloc),
            "free" => Some(Builtin::Free),
            "cudaGraphSetConditional" => Some(Builtin::GraphSetConditional),
            "__assertfail" => Some(Builtin::AssertFail),
            "__cudaDeviceSynchronizeDeprecationAvoidance" => {
                Some(Builtin::Runtime(RuntimeFunction { call: RuntimeCall::DeviceSynchronize, per_thread: false }))
            }
            _ => runtime_function(name).map(Builtin::Runtime),
        }
    }

    /// Whether it is there only where the device's runtime library is linked.
    pub fn is_linked(self) -> bool {
        matches!(self, Builtin::Runtime(function) if !function.call.is_of_graphs())
    }
}

fn runtime_function(name: &str) -> Option<RuntimeFunction> {
    let newer = name.strip_prefix("__cudaCDP2");
    let plain = newer.or_else(|| name.strip_prefix("cuda"))?;
    let (plain, per_thread) = plain.strip_suffix("_ptsz").map_or((plain, false), |plain| (plain, true));
    let (_, call) = *RuntimeCall::ALL.iter().find(|(name, _)| *name == plain)?;
    let one_name = call.is_of_graphs() || call == RuntimeCall::DeviceSynchronize;
    let exists = !(one_name && newer.is_some()) && (!per_thread || call.takes_stream());
    exists.then_some(RuntimeFunction { call, per_thread })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_versions_are_the_same_functions() {
        let named = |name: &str| match Builtin::named(name) {
            Some(Builtin::Runtime(function)) => Some((function.call, function.per_thread)),
            _ => None,
        };
        assert_eq!(named("cudaLaunchDeviceV2"), Some((RuntimeCall::LaunchDeviceV2, false)));
        assert_eq!(named("__cudaCDP2LaunchDeviceV2_ptsz"), Some((RuntimeCall::LaunchDeviceV2, true)));
        assert_eq!(named("__cudaCDP2Malloc"), Some((RuntimeCall::Malloc, false)));
        assert_eq!(named("cudaGraphLaunch"), Some((RuntimeCall::GraphLaunch, false)));
        for none in ["cudaMalloc_ptsz", "__cudaCDP2GraphLaunch", "__cudaCDP2DeviceSynchronize", "cuda", "cudaCGGetSize"]
        {
            assert_eq!(named(none), None, "{none}");
        }
        assert_eq!(Builtin::named("malloc"), Some(Builtin::Malloc));
    }
}
