//! What a worker's calls are given besides handles: host memory, images, strings and callbacks.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use fastrand::Rng;

use crate::arena::Block;
use crate::descriptors::Descriptors;

/// Kernels that do no harm whatever their arguments are.
const SAFE: &str = r#"
.version 8.0
.target sm_70
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .global .align 4 .u32 counter;
.visible .const .align 8 .u64 fixed = 7;
.global .texref tex;
.visible .entry nothing() { ret; }
.visible .entry arguments(.param .u64 a, .param .u32 b, .param .align 8 .b8 c[24]) {
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [b];
  atom.global.add.u32 %r2, [counter], %r1;
  ret;
}
.visible .entry shared_sum(.param .u32 n) {
  .shared .align 4 .b8 cell[4];
  .reg .b32 %r<4>;
  .reg .pred %p1;
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SUM;
  st.shared.u32 [cell], 0;
SUM:
  bar.sync 0;
  atom.shared.add.u32 %r2, [cell], %r1;
  bar.sync 0;
  ret;
}
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry busy() {
  .reg .b32 %r<2>;
  .reg .pred %p1;
  mov.u32 %r1, 200;
AGAIN:
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ret;
}
"#;

/// Kernels that fault with most arguments, or with all.
const HARMFUL: &str = r#"
.version 8.0
.target sm_70
.address_size 64
.visible .global .align 8 .b8 table[4096];
.visible .entry store(.param .u64 p) {
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
  st.global.u64 [%d1], %d1;
  ret;
}
.visible .entry trap_now() { trap; }
.visible .entry nothing() { ret; }
"#;

/// Refers to what another image has to define.
const NEEDS_OTHER: &str = r#"
.version 8.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) helper(.param .b32 a);
.visible .entry calls_helper() {
  .param .b32 a;
  .param .b32 r;
  st.param.b32 [a], 3;
  call (r), helper, (a);
  ret;
}
"#;

/// What the image above refers to.
const DEFINES_HELPER: &str = r#"
.version 8.0
.target sm_70
.address_size 64
.visible .func (.param .b32 r) helper(.param .b32 a) {
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [a];
  st.param.b32 [r], %r1;
  ret;
}
"#;

/// Strings that functions are asked for, among others.
const NAMES: [&str; 26] = [
    "nothing",
    "arguments",
    "shared_sum",
    "bounded",
    "busy",
    "store",
    "trap_now",
    "counter",
    "fixed",
    "table",
    "tex",
    "helper",
    "",
    "0000:00:00.0",
    "cuMemAlloc",
    "cuGetProcAddress",
    "cuCtxCreate",
    "safe.ptx",
    "broken.ptx",
    ".",
    "there/is/no/such.file",
    "/proc/self/mem",
    "out.txt",
    "é\u{1f600}",
    "%s%n%d",
    "a name that is longer than most names are",
];

/// Memory in which images stand.
pub(crate) struct Image {
    pub(crate) address: u64,
    /// In bytes, with the NUL at the end.
    pub(crate) len: usize,
}

/// See the head of the file.
pub(crate) struct Scene {
    /// Host memory that copies may read and write at any time.
    pub(crate) host: Block,
    /// Host memory that calls may only read, and what it holds.
    pub(crate) source: Block,
    source_bytes: Vec<u8>,
    /// What functions come back to after they were called, and how much of it is taken.
    kept: Block,
    kept_used: AtomicUsize,
    pub(crate) descriptors: Descriptors,
    images: Vec<Image>,
    harmful: usize,
    /// Keeps the images where they are.
    _blocks: Vec<Block>,
}

impl Scene {
    /// Bytes of either host block.
    pub(crate) const HOST: usize = 512 << 10;
    /// What any size that is not hostile stays below, times the room that a copy's pitches may need.
    pub(crate) const ROOM: usize = 128 << 10;

    pub(crate) fn new(rng: &mut Rng) -> io::Result<Scene> {
        let (host, source) = (Block::new(Scene::HOST)?, Block::new(Scene::HOST)?);
        let source_bytes: Vec<u8> = (0..Scene::HOST).map(|_| rng.u8(..)).collect();
        source.write(0, &source_bytes);
        let mut texts = vec![SAFE.to_owned(), DEFINES_HELPER.to_owned(), NEEDS_OTHER.to_owned(), HARMFUL.to_owned()];
        let harmful = texts.len() - 1;
        std::fs::write("safe.ptx", SAFE)?;
        std::fs::write("broken.ptx", &SAFE[..SAFE.len() / 2])?;
        for base in [SAFE, DEFINES_HELPER] {
            texts.push(base[..base.len() * 2 / 3].to_owned());
            for _ in 0..4 {
                texts.push(mutated(base, rng));
            }
        }
        texts.push(String::new());
        texts.push("not PTX at all \u{1} \u{7f}".to_owned());
        let (mut images, mut blocks) = (Vec::new(), Vec::new());
        for text in texts {
            let block = Block::new(text.len() + 1)?;
            let offset = block.size() - text.len() - 1;
            block.write(offset, text.as_bytes());
            images.push(Image { address: (block.address() + offset) as u64, len: text.len() + 1 });
            blocks.push(block);
        }
        // Headers of other kinds of image whose contents are missing or nonsense, with room for what they promise.
        for magic in [0x464c_457f_u32, 0xba55_ed50, 0x4662_43b1] {
            for noise in [false, true] {
                let block = Block::new(64 << 10)?;
                if noise {
                    let bytes: Vec<u8> = (0..60).map(|_| rng.u8(..16)).collect();
                    block.write(4, &bytes);
                }
                block.write(0, &magic.to_le_bytes());
                // The sizes and offsets that follow are small, or lead to zeros.
                block.write(8, &u64::from(rng.u16(..)).to_le_bytes());
                images.push(Image { address: block.address() as u64, len: block.size() });
                blocks.push(block);
            }
        }
        Ok(Scene {
            host,
            source,
            source_bytes,
            kept: Block::new(1 << 20)?,
            kept_used: AtomicUsize::new(0),
            descriptors: Descriptors::new()?,
            images,
            harmful,
            _blocks: blocks,
        })
    }

    /// An image, of the well-formed ones mostly.
    pub(crate) fn image(&self, rng: &mut Rng) -> &Image {
        match rng.u8(..64) {
            0 => &self.images[self.harmful],
            1..24 => &self.images[rng.usize(..self.images.len())],
            _ => &self.images[rng.usize(..self.harmful)],
        }
    }

    /// A well-formed image with kernels that do no harm.
    pub(crate) fn first_image(&self) -> &Image {
        &self.images[0]
    }

    /// A string, with the NUL at its end.
    pub(crate) fn text(rng: &mut Rng) -> Vec<u8> {
        let mut text = match rng.u8(..16) {
            0 => (0..rng.usize(..40)).map(|_| rng.u8(1..)).collect(),
            1 => vec![b'x'; rng.usize(..5000)],
            _ => NAMES[rng.usize(..NAMES.len())].as_bytes().to_vec(),
        };
        text.push(0);
        text
    }

    /// Puts bytes where they stay until [`Scene::forget_kept`]. The address, or 0 when there is no more room.
    pub(crate) fn keep(&self, bytes: &[u8]) -> u64 {
        let offset = self.kept_used.fetch_add(bytes.len().next_multiple_of(16), Ordering::Relaxed);
        if offset + bytes.len() > self.kept.size() {
            return 0;
        }
        self.kept.write(offset, bytes);
        (self.kept.address() + offset) as u64
    }

    /// Makes room again, once no object is left that might come back to what was kept.
    pub(crate) fn forget_kept(&self) {
        self.kept_used.store(0, Ordering::Relaxed);
    }

    /// Whether the memory that may only be read is as it was.
    pub(crate) fn source_is_unchanged(&self) -> bool {
        self.source.read(0, Scene::HOST) == self.source_bytes
    }
}

/// A text with a few of its characters replaced, doubled or removed.
fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..bytes.len());
        match rng.u8(..3) {
            0 => bytes[at] = b" \n;.,%{}[]()$_09azAZ-@!/*\"\t"[rng.usize(..27)],
            1 => bytes.insert(at, bytes[at]),
            _ => {
                bytes.remove(at);
            }
        }
    }
    String::from_utf8(bytes).expect("all of it is ASCII")
}

/// Calls of callbacks so far, in all threads.
static CALLBACKS: AtomicU64 = AtomicU64::new(0);

/// A callback for any purpose: what its arguments are does not matter to it, and zero is a result of every kind.
pub(crate) extern "C" fn callback() -> usize {
    CALLBACKS.fetch_add(1, Ordering::Relaxed);
    0
}

/// Another that takes a while now and then: a listener to the log is called for each failure.
pub(crate) extern "C" fn slow_callback() -> usize {
    if CALLBACKS.load(Ordering::Relaxed).is_multiple_of(64) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    callback()
}
