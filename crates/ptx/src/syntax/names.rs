//! Interned names: identifiers, opcodes and modifiers of one module, each stored once and compared as a number.

use hashbrown::HashTable;

/// A name of one module; [`Names`] has its text. Numbers are dense from zero, so tables indexed by name are small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(pub u32);

impl Name {
    /// The name as a table index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of one module.
#[derive(Clone, Default)]
pub struct Names {
    text: String,
    /// End of each name in `text`; a name begins where the one before it ends.
    ends: Vec<u32>,
    table: HashTable<Name>,
}

impl Names {
    /// Gives the number of `text`, new or known.
    pub fn intern(&mut self, text: &str) -> Name {
        let hash = hash(text.as_bytes());
        let Self { text: all, ends, table } = self;
        if let Some(name) = table.find(hash, |name| slice(all, ends, *name) == text) {
            return *name;
        }
        let name = Name(ends.len() as u32);
        all.push_str(text);
        ends.push(all.len() as u32);
        table.insert_unique(hash, name, |name| self::hash(slice(all, ends, *name).as_bytes()));
        name
    }

    /// The number of `text`, if the module uses it.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.table.find(hash(text.as_bytes()), |name| self.get(*name) == text).copied()
    }

    /// The text of a name of this module.
    pub fn get(&self, name: Name) -> &str {
        slice(&self.text, &self.ends, name)
    }

    /// How many names there are; every [`Name::index`] is below this.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no name was seen.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries((0..self.len()).map(|at| self.get(Name(at as u32)))).finish()
    }
}

fn slice<'a>(text: &'a str, ends: &[u32], name: Name) -> &'a str {
    let at = name.index();
    let start = if at == 0 { 0 } else { ends[at - 1] as usize };
    &text[start..ends[at] as usize]
}

/// A multiply-and-rotate hash over eight bytes at a time: names are short, and a slower hash would dominate parsing.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let hash = chunks.iter().fold(bytes.len() as u64, |hash, chunk| mix(hash, u64::from_le_bytes(*chunk)));
    // At most seven bytes, read as two overlapping halves or bytes instead of one by one.
    let rest = match rest {
        [] => 0,
        [a] => u64::from(*a),
        [a, b] => u64::from(u16::from_le_bytes([*a, *b])),
        [a, b, c] => u64::from(u32::from_le_bytes([*a, *b, *c, 0])),
        [a, b, c, d, tail @ ..] => {
            let tail = tail.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
            u64::from(u32::from_le_bytes([*a, *b, *c, *d])) | tail << 32
        }
    };
    let hash = mix(hash, rest);
    hash ^ hash >> 32
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
