//! Device attributes by number: those recorded on real hardware of compute capability 9.0, what differs by capability
//! (tables of the CUDA programming guide, "Compute Capabilities"), and what differs because the device is a CPU.
use super::host::Host;
use super::machine::Machine;

/// Numbers of the attributes that the driver itself looks at, under the names of `CUdevice_attribute`.
#[expect(missing_docs, reason = "the names say it")]
pub mod attribute {
    pub const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub const MAX_BLOCK_DIM_X: i32 = 2;
    pub const MAX_BLOCK_DIM_Y: i32 = 3;
    pub const MAX_BLOCK_DIM_Z: i32 = 4;
    pub const MAX_GRID_DIM_X: i32 = 5;
    pub const MAX_GRID_DIM_Y: i32 = 6;
    pub const MAX_GRID_DIM_Z: i32 = 7;
    pub const MAX_SHARED_MEMORY_PER_BLOCK: i32 = 8;
    pub const TOTAL_CONSTANT_MEMORY: i32 = 9;
    pub const WARP_SIZE: i32 = 10;
    pub const MAX_PITCH: i32 = 11;
    pub const MAX_REGISTERS_PER_BLOCK: i32 = 12;
    pub const CLOCK_RATE: i32 = 13;
    pub const TEXTURE_ALIGNMENT: i32 = 14;
    pub const MULTIPROCESSOR_COUNT: i32 = 16;
    pub const MAXIMUM_TEXTURE1D_WIDTH: i32 = 21;
    pub const MAXIMUM_TEXTURE2D_WIDTH: i32 = 22;
    pub const MAXIMUM_TEXTURE2D_HEIGHT: i32 = 23;
    pub const MAXIMUM_TEXTURE3D_WIDTH: i32 = 24;
    pub const MAXIMUM_TEXTURE3D_HEIGHT: i32 = 25;
    pub const MAXIMUM_TEXTURE3D_DEPTH: i32 = 26;
    pub const MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE: i32 = 47;
    pub const MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE: i32 = 48;
    pub const MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE: i32 = 49;
    pub const MAXIMUM_TEXTURE2D_LAYERED_WIDTH: i32 = 27;
    pub const MAXIMUM_TEXTURE2D_LAYERED_HEIGHT: i32 = 28;
    pub const MAXIMUM_TEXTURE2D_LAYERED_LAYERS: i32 = 29;
    pub const SURFACE_ALIGNMENT: i32 = 30;
    pub const PCI_BUS_ID: i32 = 33;
    pub const PCI_DEVICE_ID: i32 = 34;
    pub const L2_CACHE_SIZE: i32 = 38;
    pub const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 39;
    pub const MAXIMUM_TEXTURE1D_LAYERED_WIDTH: i32 = 42;
    pub const MAXIMUM_TEXTURE1D_LAYERED_LAYERS: i32 = 43;
    pub const MAXIMUM_TEXTURE2D_GATHER_WIDTH: i32 = 45;
    pub const MAXIMUM_TEXTURE2D_GATHER_HEIGHT: i32 = 46;
    pub const PCI_DOMAIN_ID: i32 = 50;
    pub const TEXTURE_PITCH_ALIGNMENT: i32 = 51;
    pub const MAXIMUM_SURFACE1D_WIDTH: i32 = 55;
    pub const MAXIMUM_SURFACE2D_WIDTH: i32 = 56;
    pub const MAXIMUM_SURFACE2D_HEIGHT: i32 = 57;
    pub const MAXIMUM_SURFACE3D_WIDTH: i32 = 58;
    pub const MAXIMUM_SURFACE3D_HEIGHT: i32 = 59;
    pub const MAXIMUM_SURFACE3D_DEPTH: i32 = 60;
    pub const MAXIMUM_TEXTURE1D_LINEAR_WIDTH: i32 = 69;
    pub const MAXIMUM_TEXTURE2D_LINEAR_WIDTH: i32 = 70;
    pub const MAXIMUM_TEXTURE2D_LINEAR_HEIGHT: i32 = 71;
    pub const MAXIMUM_TEXTURE2D_LINEAR_PITCH: i32 = 72;
    pub const MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH: i32 = 73;
    pub const MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT: i32 = 74;
    pub const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub const COMPUTE_CAPABILITY_MINOR: i32 = 76;
    pub const MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH: i32 = 77;
    pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: i32 = 81;
    pub const MAX_REGISTERS_PER_MULTIPROCESSOR: i32 = 82;
    pub const SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: i32 = 87;
    pub const COOPERATIVE_LAUNCH: i32 = 95;
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: i32 = 97;
    pub const MAX_BLOCKS_PER_MULTIPROCESSOR: i32 = 106;
    pub const RESERVED_SHARED_MEMORY_PER_BLOCK: i32 = 111;
    pub const CLUSTER_LAUNCH: i32 = 120;
    pub const HOST_NUMA_ID: i32 = 134;
}

/// An attribute that all devices have alike.
const fn of_all(number: i32) -> u32 {
    match BASE[number as usize] {
        Some(value) => value as u32,
        None => 0,
    }
}

/// Threads of a CTA.
pub(crate) const MOST_THREADS: u32 = of_all(attribute::MAX_THREADS_PER_BLOCK);
/// Bytes of shared memory of a CTA, static and dynamic, that a kernel has without asking for more.
pub(crate) const MOST_SHARED: u32 = of_all(attribute::MAX_SHARED_MEMORY_PER_BLOCK);

/// The attributes by number, as recorded for 9.0; `CPU` marks where a CPU differs.
const BASE: [Option<i32>; 148] = [
    None,
    Some(1024),        // 1 MAX_THREADS_PER_BLOCK
    Some(1024),        // 2 MAX_BLOCK_DIM_X
    Some(1024),        // 3 MAX_BLOCK_DIM_Y
    Some(64),          // 4 MAX_BLOCK_DIM_Z
    Some(2147483647),  // 5 MAX_GRID_DIM_X
    Some(65535),       // 6 MAX_GRID_DIM_Y
    Some(65535),       // 7 MAX_GRID_DIM_Z
    Some(49152),       // 8 MAX_SHARED_MEMORY_PER_BLOCK
    Some(65536),       // 9 TOTAL_CONSTANT_MEMORY
    Some(32),          // 10 WARP_SIZE
    Some(2147483647),  // 11 MAX_PITCH
    Some(65536),       // 12 MAX_REGISTERS_PER_BLOCK
    Some(0),           // 13 CLOCK_RATE, CPU
    Some(512),         // 14 TEXTURE_ALIGNMENT
    Some(1),           // 15 GPU_OVERLAP
    Some(0),           // 16 MULTIPROCESSOR_COUNT, CPU
    Some(0),           // 17 KERNEL_EXEC_TIMEOUT
    Some(0),           // 18 INTEGRATED
    Some(1),           // 19 CAN_MAP_HOST_MEMORY
    Some(0),           // 20 COMPUTE_MODE
    Some(131072),      // 21 MAXIMUM_TEXTURE1D_WIDTH
    Some(131072),      // 22 MAXIMUM_TEXTURE2D_WIDTH
    Some(65536),       // 23 MAXIMUM_TEXTURE2D_HEIGHT
    Some(16384),       // 24 MAXIMUM_TEXTURE3D_WIDTH
    Some(16384),       // 25 MAXIMUM_TEXTURE3D_HEIGHT
    Some(16384),       // 26 MAXIMUM_TEXTURE3D_DEPTH
    Some(32768),       // 27 MAXIMUM_TEXTURE2D_LAYERED_WIDTH
    Some(32768),       // 28 MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
    Some(2048),        // 29 MAXIMUM_TEXTURE2D_LAYERED_LAYERS
    Some(512),         // 30 SURFACE_ALIGNMENT
    Some(1),           // 31 CONCURRENT_KERNELS
    Some(0),           // 32 ECC_ENABLED, CPU
    Some(0),           // 33 PCI_BUS_ID
    Some(0),           // 34 PCI_DEVICE_ID, CPU
    Some(0),           // 35 TCC_DRIVER
    Some(1_600_000),   // 36 MEMORY_CLOCK_RATE, CPU: two channels of DDR4-3200, as cost models divide by it
    Some(128),         // 37 GLOBAL_MEMORY_BUS_WIDTH, CPU
    Some(0),           // 38 L2_CACHE_SIZE, CPU
    Some(2048),        // 39 MAX_THREADS_PER_MULTIPROCESSOR
    Some(3),           // 40 ASYNC_ENGINE_COUNT
    Some(1),           // 41 UNIFIED_ADDRESSING
    Some(32768),       // 42 MAXIMUM_TEXTURE1D_LAYERED_WIDTH
    Some(2048),        // 43 MAXIMUM_TEXTURE1D_LAYERED_LAYERS
    Some(1),           // 44 CAN_TEX2D_GATHER
    Some(32768),       // 45 MAXIMUM_TEXTURE2D_GATHER_WIDTH
    Some(32768),       // 46 MAXIMUM_TEXTURE2D_GATHER_HEIGHT
    Some(8192),        // 47 MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE
    Some(8192),        // 48 MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE
    Some(32768),       // 49 MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE
    Some(0),           // 50 PCI_DOMAIN_ID
    Some(32),          // 51 TEXTURE_PITCH_ALIGNMENT
    Some(32768),       // 52 MAXIMUM_TEXTURECUBEMAP_WIDTH
    Some(32768),       // 53 MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
    Some(2046),        // 54 MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS
    Some(32768),       // 55 MAXIMUM_SURFACE1D_WIDTH
    Some(131072),      // 56 MAXIMUM_SURFACE2D_WIDTH
    Some(65536),       // 57 MAXIMUM_SURFACE2D_HEIGHT
    Some(16384),       // 58 MAXIMUM_SURFACE3D_WIDTH
    Some(16384),       // 59 MAXIMUM_SURFACE3D_HEIGHT
    Some(16384),       // 60 MAXIMUM_SURFACE3D_DEPTH
    Some(32768),       // 61 MAXIMUM_SURFACE1D_LAYERED_WIDTH
    Some(2048),        // 62 MAXIMUM_SURFACE1D_LAYERED_LAYERS
    Some(32768),       // 63 MAXIMUM_SURFACE2D_LAYERED_WIDTH
    Some(32768),       // 64 MAXIMUM_SURFACE2D_LAYERED_HEIGHT
    Some(2048),        // 65 MAXIMUM_SURFACE2D_LAYERED_LAYERS
    Some(32768),       // 66 MAXIMUM_SURFACECUBEMAP_WIDTH
    Some(32768),       // 67 MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH
    Some(2046),        // 68 MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS
    Some(268435456),   // 69 MAXIMUM_TEXTURE1D_LINEAR_WIDTH
    Some(131072),      // 70 MAXIMUM_TEXTURE2D_LINEAR_WIDTH
    Some(65000),       // 71 MAXIMUM_TEXTURE2D_LINEAR_HEIGHT
    Some(2097120),     // 72 MAXIMUM_TEXTURE2D_LINEAR_PITCH
    Some(32768),       // 73 MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
    Some(32768),       // 74 MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT
    Some(9),           // 75 COMPUTE_CAPABILITY_MAJOR
    Some(0),           // 76 COMPUTE_CAPABILITY_MINOR
    Some(32768),       // 77 MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH
    Some(1),           // 78 STREAM_PRIORITIES_SUPPORTED
    Some(1),           // 79 GLOBAL_L1_CACHE_SUPPORTED
    Some(1),           // 80 LOCAL_L1_CACHE_SUPPORTED
    Some(233472),      // 81 MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    Some(65536),       // 82 MAX_REGISTERS_PER_MULTIPROCESSOR
    Some(1),           // 83 MANAGED_MEMORY
    Some(0),           // 84 MULTI_GPU_BOARD
    Some(0),           // 85 MULTI_GPU_BOARD_GROUP_ID
    Some(1),           // 86 HOST_NATIVE_ATOMIC_SUPPORTED, CPU
    Some(2),           // 87 SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    Some(0),           // 88 PAGEABLE_MEMORY_ACCESS
    Some(1),           // 89 CONCURRENT_MANAGED_ACCESS
    Some(1),           // 90 COMPUTE_PREEMPTION_SUPPORTED
    Some(1),           // 91 CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    Some(0),           // 92 CAN_USE_STREAM_MEM_OPS_V1
    Some(0),           // 93 CAN_USE_64_BIT_STREAM_MEM_OPS_V1
    Some(0),           // 94 CAN_USE_STREAM_WAIT_VALUE_NOR_V1
    Some(1),           // 95 COOPERATIVE_LAUNCH
    Some(0),           // 96 COOPERATIVE_MULTI_DEVICE_LAUNCH, CPU
    Some(232448),      // 97 MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    Some(0),           // 98 CAN_FLUSH_REMOTE_WRITES
    Some(1),           // 99 HOST_REGISTER_SUPPORTED
    Some(0),           // 100 PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
    Some(0),           // 101 DIRECT_MANAGED_MEM_ACCESS_FROM_HOST
    Some(1),           // 102 VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED
    Some(1),           // 103 HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    Some(0),           // 104 HANDLE_TYPE_WIN32_HANDLE_SUPPORTED
    Some(0),           // 105 HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED
    Some(32),          // 106 MAX_BLOCKS_PER_MULTIPROCESSOR
    Some(0),           // 107 GENERIC_COMPRESSION_SUPPORTED, CPU
    Some(39_321_600),  // 108 MAX_PERSISTING_L2_CACHE_SIZE
    Some(134_217_728), // 109 MAX_ACCESS_POLICY_WINDOW_SIZE
    Some(0),           // 110 GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, CPU
    Some(1024),        // 111 RESERVED_SHARED_MEMORY_PER_BLOCK
    Some(1),           // 112 SPARSE_CUDA_ARRAY_SUPPORTED
    Some(1),           // 113 READ_ONLY_HOST_REGISTER_SUPPORTED
    Some(1),           // 114 TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
    Some(1),           // 115 MEMORY_POOLS_SUPPORTED
    Some(0),           // 116 GPU_DIRECT_RDMA_SUPPORTED, CPU
    Some(0),           // 117 GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, CPU
    Some(0),           // 118 GPU_DIRECT_RDMA_WRITES_ORDERING, CPU
    Some(1),           // 119 MEMPOOL_SUPPORTED_HANDLE_TYPES, CPU
    Some(1),           // 120 CLUSTER_LAUNCH
    Some(1),           // 121 DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED
    Some(1),           // 122 CAN_USE_64_BIT_STREAM_MEM_OPS
    Some(1),           // 123 CAN_USE_STREAM_WAIT_VALUE_NOR
    Some(0),           // 124 DMA_BUF_SUPPORTED, CPU
    Some(1),           // 125 IPC_EVENT_SUPPORTED
    Some(4),           // 126 MEM_SYNC_DOMAIN_COUNT
    Some(0),           // 127 TENSOR_MAP_ACCESS_SUPPORTED, CPU
    Some(0),           // 128 HANDLE_TYPE_FABRIC_SUPPORTED, CPU
    Some(1),           // 129 UNIFIED_FUNCTION_POINTERS
    Some(0),           // 130 NUMA_CONFIG
    Some(-1),          // 131 NUMA_ID
    Some(0),           // 132 MULTICAST_SUPPORTED
    Some(0),           // 133 MPS_ENABLED
    Some(0),           // 134 HOST_NUMA_ID
    Some(0),           // 135 D3D12_CIG_SUPPORTED
    Some(0),           // 136 MEM_DECOMPRESS_ALGORITHM_MASK
    Some(0),           // 137 MEM_DECOMPRESS_MAXIMUM_LENGTH
    Some(0),           // 138 VULKAN_CIG_SUPPORTED
    Some(0),           // 139 GPU_PCI_DEVICE_ID, CPU
    Some(0),           // 140 GPU_PCI_SUBSYSTEM_ID, CPU
    Some(0),           // 141 HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, CPU
    Some(1),           // 142 HOST_NUMA_MEMORY_POOLS_SUPPORTED
    Some(0),           // 143 HOST_NUMA_MULTINODE_IPC_SUPPORTED
    Some(1),           // 144 HOST_MEMORY_POOLS_SUPPORTED
    Some(0),           // 145 HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, CPU
    Some(0),           // 146 HOST_ALLOC_DMA_BUF_SUPPORTED
    Some(0),           // 147 ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED
];

/// What differs by compute capability.
struct Capability {
    capability: u32,
    threads_per_multiprocessor: i32,
    ctas_per_multiprocessor: i32,
    shared_per_multiprocessor: i32,
    /// Of the shared memory of a multiprocessor, what a CTA cannot have.
    reserved_shared: i32,
    clusters: bool,
    single_to_double: i32,
}

const CAPABILITIES: [Capability; 12] = [
    capability(75, [1024, 16, 65_536, 0], false, 32),
    capability(80, [2048, 32, 167_936, 1024], false, 2),
    capability(86, [1536, 16, 102_400, 1024], false, 64),
    capability(87, [1536, 16, 167_936, 1024], false, 64),
    capability(88, [1536, 16, 102_400, 1024], false, 64),
    capability(89, [1536, 24, 102_400, 1024], false, 64),
    capability(90, [2048, 32, 233_472, 1024], true, 2),
    capability(100, [2048, 32, 233_472, 1024], true, 2),
    capability(103, [2048, 32, 233_472, 1024], true, 64),
    capability(110, [1536, 24, 233_472, 1024], true, 64),
    capability(120, [1536, 24, 102_400, 1024], true, 64),
    capability(121, [1536, 24, 102_400, 1024], true, 64),
];

const fn capability(capability: u32, limits: [i32; 4], clusters: bool, single_to_double: i32) -> Capability {
    let [threads_per_multiprocessor, ctas_per_multiprocessor, shared_per_multiprocessor, reserved_shared] = limits;
    Capability {
        capability,
        threads_per_multiprocessor,
        ctas_per_multiprocessor,
        shared_per_multiprocessor,
        reserved_shared,
        clusters,
        single_to_double,
    }
}

/// The compute capabilities whose limits are known, from the least on.
pub fn capabilities() -> impl Iterator<Item = u32> {
    CAPABILITIES.iter().map(|known| known.capability)
}

/// The number of attributes that CUDA 13.5 knows: those after 147 came with 13.1 and later, and a CPU has none of them.
const COUNT_SINCE_13_1: usize = 162;

/// A PCI domain that hosts do not number: the device is no PCI device, and must not be taken for one.
const PCI_DOMAIN: i32 = 0xcafe;

/// All attributes of a device.
pub(super) fn of(number: u32, machine: &Machine, threads: u32, host: &Host, total_memory: u64) -> Box<[Option<i32>]> {
    let mut values = BASE.to_vec();
    if machine.cuda_version > 13_000 {
        values.resize(COUNT_SINCE_13_1, Some(0));
    }
    let mut set = |number: i32, value: i32| {
        if let Some(place) = usize::try_from(number).ok().and_then(|number| values.get_mut(number)) {
            *place = Some(value);
        }
    };
    let multiprocessors = machine.multiprocessors.unwrap_or(threads);
    set(attribute::MULTIPROCESSOR_COUNT, i32::try_from(multiprocessors).unwrap_or(i32::MAX));
    set(attribute::CLOCK_RATE, host.clock_khz);
    set(attribute::L2_CACHE_SIZE, host.last_cache_bytes);
    set(attribute::PCI_DOMAIN_ID, PCI_DOMAIN);
    set(attribute::PCI_BUS_ID, i32::try_from(number).unwrap_or(0));
    set(attribute::MAX_PITCH, i32::try_from(total_memory).unwrap_or(i32::MAX));
    set(attribute::COMPUTE_CAPABILITY_MAJOR, (machine.compute_capability / 10) as i32);
    set(attribute::COMPUTE_CAPABILITY_MINOR, (machine.compute_capability % 10) as i32);
    if let Some(known) = CAPABILITIES.iter().find(|known| known.capability == machine.compute_capability) {
        set(attribute::MAX_THREADS_PER_MULTIPROCESSOR, known.threads_per_multiprocessor);
        set(attribute::MAX_BLOCKS_PER_MULTIPROCESSOR, known.ctas_per_multiprocessor);
        set(attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, known.shared_per_multiprocessor);
        set(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, known.shared_per_multiprocessor - known.reserved_shared);
        set(attribute::RESERVED_SHARED_MEMORY_PER_BLOCK, known.reserved_shared);
        set(attribute::CLUSTER_LAUNCH, i32::from(known.clusters));
        set(attribute::SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, known.single_to_double);
    }
    values.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(compute_capability: u32, cuda_version: i32) -> Box<[Option<i32>]> {
        let machine = Machine {
            cuda_version,
            compute_capability,
            device_count: 1,
            threads: None,
            multiprocessors: None,
            memory: None,
        };
        of(0, &machine, 3, Host::get(), 1 << 40)
    }

    #[test]
    fn base_has_the_recorded_numbers() {
        let values = attributes(90, 13_000);
        assert_eq!(values.len(), 148);
        let value = |number: i32| values[number as usize];
        assert_eq!(values[0], None);
        assert_eq!(value(attribute::MAX_THREADS_PER_BLOCK), Some(1024));
        assert_eq!(value(attribute::MAX_BLOCK_DIM_Z), Some(64));
        assert_eq!(value(attribute::WARP_SIZE), Some(32));
        assert_eq!(value(attribute::MULTIPROCESSOR_COUNT), Some(3));
        assert_eq!(value(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), Some(232_448));
        assert_eq!(value(attribute::COMPUTE_CAPABILITY_MAJOR), Some(9));
    }

    #[test]
    fn the_newest_capability_has_its_limits() {
        let values = attributes(121, 13_000);
        assert_eq!(values[attribute::COMPUTE_CAPABILITY_MAJOR as usize], Some(12));
        assert_eq!(values[attribute::COMPUTE_CAPABILITY_MINOR as usize], Some(1));
        assert_eq!(values[attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as usize], Some(101_376));
    }

    #[test]
    fn capabilities_differ() {
        let values = attributes(75, 13_050);
        assert_eq!(values.len(), COUNT_SINCE_13_1);
        assert_eq!(values[attribute::MAX_THREADS_PER_MULTIPROCESSOR as usize], Some(1024));
        assert_eq!(values[attribute::CLUSTER_LAUNCH as usize], Some(0));
    }
}
