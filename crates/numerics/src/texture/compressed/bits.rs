//! A block of 128 bits, read from the lowest on.

pub(super) struct Bits {
    block: u128,
    next: u32,
}

impl Bits {
    pub(super) fn new(block: u128) -> Bits {
        Bits { block, next: 0 }
    }

    /// The next `count` bits, up to 32.
    pub(super) fn take(&mut self, count: u32) -> u32 {
        let taken = (self.block >> self.next) as u32 & ((1u64 << count) - 1) as u32;
        self.next += count;
        taken
    }

    pub(super) fn skip(&mut self, count: u32) {
        self.next += count;
    }

    /// The index of texel `texel` in a list of indices of `bits` each that begins here; those of the texels `anchors` lack their highest bit, which is 0.
    pub(super) fn index(&self, texel: u32, bits: u32, anchors: &[u32]) -> u32 {
        let before = anchors.iter().filter(|anchor| **anchor < texel).count() as u32;
        let own = bits - u32::from(anchors.contains(&texel));
        Bits { block: self.block, next: self.next + texel * bits - before }.take(own)
    }
}
