//! Matrices in shared memory as descriptors of `wgmma` give them (PTX ISA 9.7.15.5.1).
//!
//! A matrix is made of units of 16 bytes: elements that follow each other along k, or, where it is transposed, across. Eight units across (or along) are
//! consecutive without swizzling; with it, rows of 32, 64 or 128 bytes lie eight by eight, and the units of a row are exchanged by the row's number.

/// Bytes of a unit.
pub(super) const UNIT: u64 = 16;

/// A matrix descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    start: u64,
    /// Byte offsets between neighbours in the leading dimension and in the other one.
    leading: u64,
    stride: u64,
    /// What the rows' numbers in addresses are less than their numbers in the pattern of swizzling.
    base: u64,
    /// Units in a row of the pattern of swizzling: 1 is none.
    width: u64,
}

impl Descriptor {
    pub(super) fn new(bits: u64) -> Self {
        let bytes = |lowest: u32| (bits >> lowest & 0x3fff) << 4;
        let width = match bits >> 62 {
            0 => 1,
            1 => 8,
            2 => 4,
            _ => 2,
        };
        Self { start: bytes(0), leading: bytes(16), stride: bytes(32), base: bits >> 49 & 7, width }
    }

    /// The shared address of unit `along` (in k) of row `across`, of a matrix whose units lie along k.
    pub(super) fn along(&self, across: u64, along: u64) -> u64 {
        let rows = across / 8 * self.stride;
        self.swizzled(match self.width {
            1 => along * self.leading + rows + across % 8 * UNIT,
            width => along * UNIT + rows + across % 8 * width * UNIT,
        })
    }

    /// The shared address of unit `across` of column `along` (in k), of a matrix whose units lie across.
    pub(super) fn across(&self, across: u64, along: u64) -> u64 {
        self.swizzled(match self.width {
            1 => across * self.stride + along % 8 * UNIT + along / 8 * self.leading,
            width => {
                let row = along % 8 * width * UNIT + along / 8 * self.stride;
                across % width * UNIT + across / width * self.leading + row
            }
        })
    }

    fn swizzled(&self, offset: u64) -> u64 {
        let address = self.start + offset;
        let row = (address >> 7).wrapping_sub(self.base) & (self.width - 1);
        address ^ row << 4
    }
}
