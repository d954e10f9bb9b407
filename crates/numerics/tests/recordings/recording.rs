//! Reads the recording of the conformance sweep (`tests/goldens/ptx_sweep`): inputs and outputs of instructions on real hardware.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::ZlibDecoder;

/// Lanes of a test.
pub(crate) const LANES: usize = 1536;

/// What was recorded.
pub(crate) struct Recording {
    outputs: BTreeMap<String, Vec<u8>>,
    inputs: HashMap<String, Vec<u64>>,
    /// Tests of the families that were opened and are not yet checked.
    pub(crate) left: BTreeSet<String>,
    failures: Vec<String>,
}

/// How an output is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bits(usize),
    /// A predicate, stored as a byte.
    Predicate,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    F32,
    F64,
}

impl Kind {
    fn bytes(self) -> usize {
        match self {
            Kind::Bits(bits) => bits / 8,
            Kind::Predicate => 1,
            Kind::F16 | Kind::Bf16 => 2,
            Kind::F16x2 | Kind::Bf16x2 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    /// Equal, any NaN of a floating-point type being equal to any other: PTX leaves payloads open.
    fn agree(self, got: u64, expected: u64) -> bool {
        let nan = |bits: u64, width: u32, infinity: u64| bits & ((1 << (width - 1)) - 1) > infinity;
        let half = |infinity: u64, shift: u32| {
            let (got, expected) = (got >> shift & 0xffff, expected >> shift & 0xffff);
            got == expected || nan(got, 16, infinity) && nan(expected, 16, infinity)
        };
        match self {
            Kind::Bits(_) | Kind::Predicate => got == expected,
            Kind::F16 => half(0x7c00, 0),
            Kind::Bf16 => half(0x7f80, 0),
            Kind::F16x2 => half(0x7c00, 0) && half(0x7c00, 16),
            Kind::Bf16x2 => half(0x7f80, 0) && half(0x7f80, 16),
            Kind::F32 => got == expected || nan(got, 32, 0x7f80_0000) && nan(expected, 32, 0x7f80_0000),
            Kind::F64 => got == expected || nan(got, 64, 0x7ff0 << 48) && nan(expected, 64, 0x7ff0 << 48),
        }
    }
}

fn bytes_to_words(bytes: &[u8], size: usize) -> Vec<u64> {
    bytes
        .chunks_exact(size)
        .map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
        .collect()
}

impl Recording {
    /// Opens the tests of a family.
    pub(crate) fn open(family: &str) -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/goldens/ptx_sweep");
        let read = |name: &str| std::fs::read(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let index: serde_json::Value = serde_json::from_slice(&read("index.json")).expect("the index is JSON");
        let mut parts: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        let mut outputs = BTreeMap::new();
        for test in index["tests"].as_array().expect("tests are a list") {
            if test["family"] != family || test["status"] != "ok" {
                continue;
            }
            let number = |key: &str| test[key].as_u64().expect("a number") as usize;
            let (part, offset, length) = (number("part"), number("offset"), number("length"));
            let data = parts.entry(part).or_insert_with(|| read(&format!("part{part}.bin")));
            let mut bytes = Vec::new();
            ZlibDecoder::new(&data[offset..offset + length])
                .read_to_end(&mut bytes)
                .expect("outputs are a zlib stream");
            outputs.insert(test["name"].as_str().expect("a name").to_owned(), bytes);
        }
        let left = outputs.keys().cloned().collect();
        Self { outputs, inputs: read_inputs(root.join("inputs.npz")), left, failures: Vec::new() }
    }

    /// The names of the family's tests.
    pub(crate) fn names(&self) -> Vec<String> {
        self.outputs.keys().cloned().collect()
    }

    /// The recorded outputs of a test, one after another.
    pub(crate) fn outputs(&self, name: &str, kinds: &[Kind]) -> Vec<Vec<u64>> {
        let bytes = &self.outputs[name];
        let mut offset = 0;
        let mut outputs = Vec::new();
        for kind in kinds {
            let length = kind.bytes() * LANES;
            outputs.push(bytes_to_words(&bytes[offset..offset + length], kind.bytes()));
            offset += length;
        }
        assert_eq!(offset, bytes.len(), "{name}: all outputs are compared");
        outputs
    }

    /// Holds `function`, from the inputs of a lane to its outputs, against a test.
    pub(crate) fn check(&mut self, name: &str, ins: &[&str], kinds: &[Kind], function: impl Fn(&[u64]) -> Vec<u64>) {
        self.check_where(name, ins, kinds, function, |_, _, _| false);
    }

    /// As `check`, but `excused(lane's inputs, got, expected)` may accept a difference.
    pub(crate) fn check_where(
        &mut self,
        name: &str,
        ins: &[&str],
        kinds: &[Kind],
        function: impl Fn(&[u64]) -> Vec<u64>,
        excused: impl Fn(&[u64], u64, u64) -> bool,
    ) {
        self.left.remove(name);
        let outputs = self.outputs(name, kinds);
        let mut wrong = 0;
        let mut first = String::new();
        for lane in 0..LANES {
            let operands: Vec<u64> = ins.iter().map(|array| self.inputs[*array][lane]).collect();
            let results = function(&operands);
            assert_eq!(results.len(), kinds.len(), "{name}");
            for ((kind, &got), output) in kinds.iter().zip(&results).zip(&outputs) {
                if !kind.agree(got, output[lane]) && !excused(&operands, got, output[lane]) {
                    wrong += 1;
                    if first.is_empty() {
                        first = format!("lane {lane}: {operands:x?} -> {got:#x}, recorded {:#x}", output[lane]);
                    }
                }
            }
        }
        if wrong != 0 {
            self.failures.push(format!("{name}: {wrong} wrong, {first}"));
        }
    }

    /// Fails if a difference was found or a test of the family was left out.
    pub(crate) fn finish(self) {
        let left: Vec<_> = self.left.iter().map(|name| format!("not checked: {name}")).collect();
        let all: Vec<_> = self.failures.into_iter().chain(left).collect();
        assert!(all.is_empty(), "{} problems\n{}", all.len(), all.join("\n"));
    }
}

/// The arrays of a NumPy archive: little-endian unsigned integers.
fn read_inputs(path: PathBuf) -> HashMap<String, Vec<u64>> {
    let mut archive = zip::ZipArchive::new(File::open(path).expect("the inputs are there")).expect("a NumPy archive");
    let mut arrays = HashMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).expect("an archive member");
        let name = file.name().trim_end_matches(".npy").to_owned();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("a readable member");
        let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let text = String::from_utf8_lossy(&bytes[10..10 + header]).into_owned();
        let size =
            ["|u1", "<u2", "<u4", "<u8"].iter().position(|descr| text.contains(descr)).expect("unsigned integers");
        arrays.insert(name, bytes_to_words(&bytes[10 + header..], 1 << size));
    }
    arrays
}
