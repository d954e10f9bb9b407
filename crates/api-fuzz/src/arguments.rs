//! Makes the arguments of a call from the shapes of its parameters.
//!
//! Pointers are good for what the manual says the function does with them, or NULL, as no driver can promise anything about
//! others; everything else may be anything: handles that never were, are not any more, or stand for another kind of object,
//! device addresses, sizes, flags. What a number may be depends on its name, in [`number`](Arguments::number).

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Mutex;

use fastrand::Rng;

use crate::arena::Arena;
use crate::facts::{Aggregate, Direction, Function, Param, Shape, Slot};
use crate::pool::Pool;
use crate::scene::{Image, Scene, callback, slow_callback};
use crate::unions;

/// Types whose values the pool keeps though they are numbers.
const KEPT_NUMBERS: [&str; 7] = [
    "CUdeviceptr_v2",
    "CUdeviceptr_v1",
    "CUtexObject_v1",
    "CUsurfObject_v1",
    "CUmemGenericAllocationHandle_v1",
    "CUgraphConditionalHandle",
    "CUlogIterator",
];

/// Pointers inside what pointers point to.
const DEEPEST: usize = 3;

/// What the pool calls addresses of host memory that the driver gave out.
pub(crate) const HOST_ADDRESS: &str = "host address";

/// The kind under which a type's values are in the pool.
pub(crate) fn kind(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Handle("CUkernel") => Some("CUfunction"),
        Shape::Handle(name) => Some(name),
        Shape::Integer(_, name) if KEPT_NUMBERS.contains(name) => Some(name),
        Shape::Pointer(Shape::Void) => Some(HOST_ADDRESS),
        _ => None,
    }
}

/// An output whose value goes into the pool if the call succeeds.
pub(crate) struct Harvest {
    pub(crate) address: usize,
    pub(crate) kind: &'static str,
    /// Of one value, in bytes.
    pub(crate) size: usize,
}

/// Waits that streams were told: the cells in which they look, and what they wait for.
pub(crate) struct Cells {
    /// Each of eight bytes, in memory of the driver's that no other call is given.
    pub(crate) addresses: Vec<u64>,
}

/// The values that waits wait for; stored, each of them satisfies every kind of comparison with itself.
pub(crate) const AWAITED: [u64; 3] = [1, 2, 5];

/// What the calls of all threads share.
pub(crate) struct Shared {
    pub(crate) pool: Mutex<Pool>,
    pub(crate) scene: Scene,
    pub(crate) cells: Cells,
}

/// The arguments of one call, in the making.
pub(crate) struct Arguments<'a> {
    function: &'static Function,
    rng: &'a mut Rng,
    arena: &'a mut Arena,
    pool: &'a Pool,
    shared: &'a Shared,
    /// Sizes and positions may be absurd; then no host memory goes in that they would apply to.
    hostile: bool,
    /// Whether some parameter is a list or a buffer whose length says another.
    lists: bool,
    /// Elements of each list, and the most that a count says.
    length: usize,
    /// Structs that point to each other: how far in.
    depth: usize,
    /// Counts of lists that end with what is no object say far more than there is.
    overlong: bool,
    options: Vec<(u32, u64)>,
    image: &'a Image,
    pub(crate) harvest: Vec<Harvest>,
    /// What the driver takes if the call succeeds, and only then.
    pub(crate) descriptors: Vec<OwnedFd>,
    /// What was made, for people.
    pub(crate) text: Option<String>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(
        function: &'static Function,
        rng: &'a mut Rng,
        arena: &'a mut Arena,
        pool: &'a Pool,
        shared: &'a Shared,
        traced: bool,
    ) -> Self {
        let is_list = |param: &Param| {
            let buffer = matches!(param.shape, Shape::Pointer(Shape::Void | Shape::Text));
            let sized = param.direction != Direction::In || matches!(param.name, "value" | "ptr");
            param.array || buffer && sized && param.name != "dstHost"
        };
        let hostile = rng.u8(..8) == 0;
        let length = [0, 1, 1, 2, 3, 7, 16][rng.usize(..7)];
        let image = shared.scene.image(rng);
        let mut arguments = Arguments {
            function,
            hostile,
            lists: function.params.iter().any(is_list),
            length,
            depth: 0,
            overlong: length != 0 && rng.u8(..16) == 0,
            options: Vec::new(),
            image,
            harvest: Vec::new(),
            descriptors: Vec::new(),
            text: traced.then(String::new),
            rng,
            arena,
            pool,
            shared,
        };
        arguments.options = (0..length).map(|_| arguments.option()).collect();
        arguments
    }

    /// One slot for each parameter.
    pub(crate) fn slots(&mut self) -> Vec<Slot> {
        self.function.params.iter().map(|param| self.slot(param)).collect()
    }

    fn slot(&mut self, param: &'static Param) -> Slot {
        let mut bytes = vec![0; param.shape.size()];
        match &param.shape {
            // A parameter that is an array is a pointer.
            Shape::Array(of, length) => {
                let address = self.buffer(self.function.symbol, param.name, of, *length, param.direction);
                bytes = address.to_le_bytes().to_vec();
            }
            Shape::Pointer(to) => {
                let length = if param.array { self.length } else { 1 };
                let address = self.pointer(self.function.symbol, param.name, to, length, param.direction);
                bytes = address.to_le_bytes().to_vec();
            }
            shape => self.value(self.function.symbol, param.name, shape, &mut bytes),
        }
        if let Some(text) = &mut self.text {
            let word = bytes.iter().take(8).rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            text.push_str(&format!(" {}={word:#x}", param.name));
        }
        Slot::new(&bytes)
    }

    /// Fills `out` with a value of a type.
    fn value(&mut self, owner: &str, name: &str, shape: &'static Shape, out: &mut [u8]) {
        let word = match shape {
            Shape::Pointer(to) => {
                let direction = if name.ends_with("_out") { Direction::Out } else { Direction::In };
                self.pointer(owner, name, to, self.length, direction)
            }
            Shape::Array(of, length) => {
                for index in 0..*length {
                    self.value(owner, name, of, &mut out[index * of.size()..(index + 1) * of.size()]);
                }
                return;
            }
            Shape::Struct(aggregate) => return self.aggregate(aggregate, out),
            Shape::Handle(_) => self.handle(kind(shape).expect("handles have a kind")),
            Shape::Integer(_, "CUdeviceptr_v2") => self.device_address(name),
            Shape::Integer(_, "CUdevice_v1") => [0, 0, 0, 0, 0, 0, 1, 1, u64::MAX, 99][self.rng.usize(..10)],
            Shape::Integer(_, number) if KEPT_NUMBERS.contains(number) => self.handle(number),
            Shape::Integer(..) => self.number(name),
            Shape::Enum(values) => self.enumerator(name, values),
            Shape::Callback => match self.rng.u8(..10) {
                0 => 0,
                1 => slow_callback as extern "C" fn() -> usize as usize as u64,
                _ => callback as extern "C" fn() -> usize as usize as u64,
            },
            Shape::Float(4) => u64::from([0.0, 1.0, -2.5, f32::NAN, f32::INFINITY][self.rng.usize(..5)].to_bits()),
            Shape::Float(_) => [0.0, 1.0, f64::NAN][self.rng.usize(..3)].to_bits(),
            Shape::Void | Shape::Text => self.rng.u64(..),
        };
        let len = out.len();
        out.copy_from_slice(&word.to_le_bytes()[..len]);
    }

    fn aggregate(&mut self, aggregate: &'static Aggregate, out: &mut [u8]) {
        let is_list = |shape: &Shape| matches!(shape, Shape::Pointer(to) if !matches!(to, Shape::Void));
        self.lists |= aggregate.fields.iter().any(|field| is_list(&field.shape));
        let member = |index: usize| {
            let field = &aggregate.fields[index];
            (field, field.offset..field.offset + field.shape.size())
        };
        if aggregate.is_union {
            // A wait for the narrow member may look at the wide one.
            out.fill(0);
            let (field, range) = member(self.rng.usize(..aggregate.fields.len()));
            return self.value(aggregate.name, field.name, &field.shape, &mut out[range]);
        }
        let mut kind = 0;
        for (field, range) in (0..aggregate.fields.len()).map(member) {
            if let Shape::Struct(inner) = &field.shape
                && inner.is_union
                && let Some(name) = unions::member(aggregate.name, kind)
                && let Some(chosen) = inner.fields.iter().find(|field| field.name == name)
            {
                let start = range.start + chosen.offset;
                self.value(aggregate.name, name, &chosen.shape, &mut out[start..start + chosen.shape.size()]);
                continue;
            }
            self.value(aggregate.name, field.name, &field.shape, &mut out[range.clone()]);
            if field.name == "type" && range.len() == 4 {
                kind = u32::from_le_bytes([
                    out[range.start],
                    out[range.start + 1],
                    out[range.start + 2],
                    out[range.start + 3],
                ]);
            }
        }
    }

    fn handle(&mut self, kind: &'static str) -> u64 {
        let known = match self.rng.u8(..32) {
            0 | 1 => Some(0),
            2 => Some(1),
            3 if kind == "CUstream" => Some(2),
            3 => Some(self.rng.u64(..) & !0xf),
            4 => Some(self.arena_address()),
            5 | 6 => self.pool.foreign(kind, self.rng),
            _ => None,
        };
        known.or_else(|| self.pool.one(kind, self.rng)).unwrap_or_default()
    }

    /// An address that belongs to no object.
    fn arena_address(&mut self) -> u64 {
        self.shared.scene.host.address() as u64 + u64::from(self.rng.u16(..) & !0xf)
    }

    fn device_address(&mut self, name: &str) -> u64 {
        let waits = self.function.symbol.starts_with("cuStreamWaitValue");
        if waits || name == "address" {
            // A wait that nobody ends would hold the stream for ever, as documented.
            let cell = *self.rng.choice(&self.shared.cells.addresses).expect("there are cells");
            return [cell, cell, cell, cell + 2, 0, 12][self.rng.usize(..6)];
        }
        match self.rng.u8(..32) {
            0 => 0,
            1 => self.rng.u64(..),
            2 => self.rng.u64(..1 << 40),
            3 if !self.hostile => self.shared.scene.host.address() as u64,
            4 => self.pool.foreign("CUdeviceptr_v2", self.rng).unwrap_or_default(),
            5 => self.pool.one(HOST_ADDRESS, self.rng).unwrap_or_default(),
            6..11 => {
                let base = self.pool.one("CUdeviceptr_v2", self.rng).unwrap_or_default();
                base.wrapping_add(self.rng.u64(..4096))
            }
            _ => self.pool.one("CUdeviceptr_v2", self.rng).unwrap_or_default(),
        }
    }

    fn enumerator(&mut self, name: &str, values: &'static [i64]) -> u64 {
        // Absurd sizes never meet host memory: no side of the copy is the host's, or may be.
        if self.hostile && name.ends_with("emoryType") {
            return [2, 3, 0, 99][self.rng.usize(..4)];
        }
        match self.rng.u8(..24) {
            0 => self.rng.u64(..),
            1 => 0,
            _ => self.rng.choice(values).map_or(0, |value| *value as u64),
        }
    }

    /// What a number of this name may be.
    fn number(&mut self, name: &str) -> u64 {
        let lower = name.to_ascii_lowercase();
        if name == "fd" {
            let descriptor = self.shared.scene.descriptors.any(self.rng);
            let number = descriptor.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            self.descriptors.extend(descriptor);
            return number as u64;
        }
        if name == "numExtSems" && self.overlong {
            return u64::from(u32::MAX);
        }
        // Hardly anything else is looked at where these are not 0.
        if lower.starts_with("reserved") && self.rng.u8(..16) != 0 {
            return 0;
        }
        // Small enough that a launch which succeeds ends soon.
        if lower.starts_with("grid") || lower.starts_with("clusterdim") {
            return [1, 1, 1, 2, 2, 3, 8, 0, 0xffff_ffff][self.rng.usize(..9)];
        }
        if lower.starts_with("blockdim") || matches!(name, "x" | "y" | "z") {
            return [1, 1, 1, 2, 3, 32, 33, 64, 0, 1025, 0xffff_ffff][self.rng.usize(..11)];
        }
        if name == "size" && matches!(self.function.symbol, "cuLinkAddData" | "cuLinkAddData_v2") {
            return if self.rng.u8(..4) == 0 { self.rng.usize(..=self.image.len) } else { self.image.len } as u64;
        }
        if self.is_count(&lower) {
            return if self.rng.u8(..6) == 0 { self.rng.usize(..=self.length) as u64 } else { self.length as u64 };
        }
        if name == "dataSizes" {
            return [1, 4, 8, 16, 64, 3][self.rng.usize(..6)];
        }
        if name.starts_with("cudaVersion") {
            return [12_000, 13_000, 13_050, 3_020, 2_000, 0, 99_999, u64::MAX][self.rng.usize(..8)];
        }
        if name == "value64" || name == "value" && self.function.symbol != "cuCtxSetLimit" {
            return AWAITED[self.rng.usize(..AWAITED.len())];
        }
        let shaped = ["pitch", "height", "width", "depth", "xinbytes", "srcy", "dsty", "srcz", "dstz"];
        if shaped.iter().any(|part| lower.contains(part)) && !self.hostile {
            return [0, 1, 2, 4, 8, 16, 16, 32][self.rng.usize(..8)];
        }
        let virtual_range = ["cuMemAddress", "cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemSetAccess"];
        if name == "size" && virtual_range.iter().any(|start| self.function.symbol.starts_with(start)) {
            return [2 << 20, 2 << 20, 4 << 20, 8 << 20, 4096, 0, 1 << 40][self.rng.usize(..7)];
        }
        if self.hostile && self.rng.bool() {
            if lower.contains("size") || lower.contains("byte") {
                // Larger than any machine's memory: less could be had, and copies would then run past what they read.
                return [1 << 44, 1 << 48, 1 << 63, u64::MAX, u64::MAX - 511][self.rng.usize(..5)];
            }
            return [1 << 31, u64::from(u32::MAX), 1 << 33, 1 << 48, 1 << 63, u64::MAX, u64::MAX - 511]
                [self.rng.usize(..7)];
        }
        if lower.contains("size") || lower.contains("byte") || name == "count" {
            return [0, 1, 3, 4, 16, 100, 256, 4096, 4096, 65_536][self.rng.usize(..10)];
        }
        [0, 0, 0, 1, 1, 2, 3, 4, 8, 16, 64, 100][self.rng.usize(..12)]
    }

    /// Whether a number says how long a list or a buffer of this call is.
    fn is_count(&self, lower: &str) -> bool {
        const PARTS: [&str; 8] = ["num", "count", "len", "size", "nb", "bytes", "rank", "dim"];
        lower != "sizes" && self.lists && PARTS.iter().any(|part| lower.starts_with(part) || lower.ends_with(part))
    }

    /// An option of the JIT, with a value that is good for it.
    fn option(&mut self) -> (u32, u64) {
        let option = self.rng.u32(..36);
        let value = match option {
            // The log buffers, for as long as whoever was given them lives.
            3 | 5 => self.shared.scene.host.address() as u64 + self.rng.u64(..1024),
            // Their sizes.
            4 | 6 => self.rng.u64(..4096),
            _ => self.rng.u64(..5),
        };
        (option, value)
    }

    /// A pointer that is good for what the parameter is for, or NULL.
    fn pointer(&mut self, owner: &str, name: &str, to: &'static Shape, length: usize, direction: Direction) -> u64 {
        if self.rng.u8(..24) == 0 || self.depth == DEEPEST {
            return 0;
        }
        match (to, name) {
            (Shape::Pointer(Shape::Void), "kernelParams") => self.kernel_parameters(),
            (Shape::Pointer(Shape::Void), "extra") => self.packed_parameters(),
            (Shape::Enum(_), "options" | "jitOptions" | "libraryOptions") => {
                let words: Vec<u8> = self.options.iter().flat_map(|(option, _)| option.to_le_bytes()).collect();
                self.lasting(&words)
            }
            (Shape::Pointer(Shape::Void), "optionValues" | "jitOptionsValues" | "libraryOptionValues") => {
                let words: Vec<u8> = self.options.iter().flat_map(|(_, value)| value.to_le_bytes()).collect();
                self.lasting(&words)
            }
            (Shape::Pointer(Shape::Void), "data") => {
                let places: Vec<u8> = (0..length).flat_map(|_| self.lend(&[0; 64], false).to_le_bytes()).collect();
                self.lend(&places, true)
            }
            (Shape::Text, _) if direction == Direction::In => {
                let text = Scene::text(self.rng);
                if let Some(trace) = &mut self.text {
                    trace.push_str(&format!(" {:?}", String::from_utf8_lossy(&text)));
                }
                self.lend(&text, true)
            }
            (Shape::Float(4), "pBorderColor") => self.buffer(owner, name, to, 4, direction),
            (Shape::Text, "luid") => self.lend(&[0; 8], false),
            (Shape::Void, _) => self.anything(owner, name, direction),
            (to, _) => self.buffer(owner, name, to, length, direction),
        }
    }

    /// A list of values.
    fn buffer(&mut self, owner: &str, name: &str, to: &'static Shape, length: usize, direction: Direction) -> u64 {
        let size = to.size();
        // Some text and data buffers are not marked as lists, but have a length.
        let length = if matches!(to, Shape::Text) { self.length } else { length };
        let mut bytes: Vec<u8> = (0..size * length).map(|_| 0x5a).collect();
        if direction != Direction::Out {
            // A number that goes both ways is a capacity.
            self.depth += 1;
            for index in 0..length {
                let out = &mut bytes[index * size..(index + 1) * size];
                if direction == Direction::InOut && matches!(to, Shape::Integer(..)) {
                    let capacity = self.length.to_le_bytes();
                    out.copy_from_slice(&capacity[..size]);
                } else {
                    self.value(owner, name, to, out);
                }
            }
            self.depth -= 1;
        }
        if let Some(text) = self.text.as_mut().filter(|_| direction != Direction::Out) {
            text.push_str(&format!(" {name}[{length}]={{"));
            bytes.iter().take(128).for_each(|byte| text.push_str(&format!("{byte:02x}")));
            text.push('}');
        }
        if name == "extSemArray" && self.overlong && length != 0 {
            // The list ends at what is no semaphore, whatever the count says.
            bytes[size * (length - 1)..].fill(0);
        }
        let address = self.lend(&bytes, direction == Direction::In);
        if direction != Direction::In
            && address != 0
            && let Some(kind) = kind(to)
            && (kind != HOST_ADDRESS || name == "pp")
        {
            self.harvest.push(Harvest { address: address as usize, kind, size });
        }
        address
    }

    /// A pointer to no type.
    fn anything(&mut self, owner: &str, name: &str, direction: Direction) -> u64 {
        match name {
            "srcHost" | "dstHost" if owner.starts_with("CUDA_MEMCPY") && self.hostile => 0,
            "srcHost" => self.host_memory(true),
            "dstHost" => self.host_memory(false),
            "image" | "code" | "fatCubin" => self.image.address,
            "data" if direction == Direction::In => self.image.address,
            "p" | "addr" => match self.rng.u8(..4) {
                0 => self.host_memory(false) & !0xfff,
                1 => self.pool.one("CUdeviceptr_v2", self.rng).unwrap_or_default(),
                _ => self.pool.one(HOST_ADDRESS, self.rng).unwrap_or_default(),
            },
            "globalAddress" => self.device_address(name),
            "userData" => self.rng.u64(..),
            _ => {
                let bytes: Vec<u8> = (0..64.max(self.length)).map(|_| self.rng.u8(..4)).collect();
                self.lend(&bytes, direction == Direction::In)
            }
        }
    }

    /// An address with room for any size that is not absurd behind it. An absurd size fails on the device's side.
    fn host_memory(&mut self, read_only: bool) -> u64 {
        let scene = &self.shared.scene;
        let block = if read_only && self.rng.bool() { &scene.source } else { &scene.host };
        (block.address() + self.rng.usize(..Scene::HOST - Scene::ROOM)) as u64
    }

    /// As many parameters as any kernel has, each with room for the largest.
    fn kernel_parameters(&mut self) -> u64 {
        const COUNT: usize = 8;
        const SIZE: usize = 64;
        let words: Vec<u8> = (0..COUNT * SIZE / 8).flat_map(|_| self.parameter_word().to_le_bytes()).collect();
        let values = self.lend(&words, true);
        if values == 0 {
            return 0;
        }
        let pointers: Vec<u8> = (0..COUNT).flat_map(|index| (values + (index * SIZE) as u64).to_le_bytes()).collect();
        self.lend(&pointers, true)
    }

    fn parameter_word(&mut self) -> u64 {
        match self.rng.u8(..8) {
            0 => self.rng.u64(..16),
            _ => self.pool.one("CUdeviceptr_v2", self.rng).unwrap_or_default(),
        }
    }

    /// The buffer form of the parameters: marks, addresses, and an end.
    fn packed_parameters(&mut self) -> u64 {
        if self.rng.u8(..4) != 0 {
            return 0;
        }
        let words: Vec<u8> = (0..64).flat_map(|_| self.parameter_word().to_le_bytes()).collect();
        let values = self.lend(&words, true);
        let size = self.rng.usize(..=words.len());
        let size = self.lend(&size.to_le_bytes(), true);
        let all: [u64; 5] = [1, values, 2, size, 0];
        let bytes: Vec<u8> = all.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.lend(&bytes, true)
    }

    /// Memory that stays as it is after the call, as some functions come back to it.
    fn lasting(&mut self, bytes: &[u8]) -> u64 {
        self.shared.scene.keep(bytes)
    }

    fn lend(&mut self, bytes: &[u8], read_only: bool) -> u64 {
        let bytes = &bytes[..bytes.len().min(Arena::LARGEST)];
        self.arena.lend(bytes, read_only).map_or(0, |address| address as u64)
    }
}
