//! Registers of fragments that are tiles of a matrix: moved by rows of sixteen bytes, of which four lanes have one, in place of piece by piece.

use bytemuck::{cast_slice_mut, must_cast};

use warploom_exec::memory::Run;

use super::load_store::{Image, Pieces};
use super::tile::transposed;
use crate::frame::Row32;
use crate::isa::Isa;

/// Rows of a tile.
const ROWS: usize = 8;

/// Bytes of a row of a tile.
const ROW: u32 = 16;

/// How all registers of a fragment lie in the matrix. Places are numbers of rows of sixteen bytes in its image.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Four lanes hold a row of a tile, one register a tile.
    Rows(Vec<[u8; ROWS]>),
    /// Four lanes hold two of them, one behind the other, in two registers: words in turns in the one and the other.
    Pairs(Vec<[u8; ROWS]>),
    /// Four lanes hold a column of a tile of elements of 16 bits, one register a tile.
    Columns(Vec<[u8; ROWS]>),
    /// None of these.
    Other,
}

impl Shape {
    /// That of pieces, which are so many to a register.
    pub(super) fn of(pieces: &Pieces, to_a_register: usize) -> Shape {
        let Pieces { places, bytes, .. } = pieces;
        let (pairs, left) = places.as_chunks::<2>();
        let shape = match (bytes, to_a_register) {
            (4, 1) => places.iter().map(rows).collect::<Option<_>>().map(Shape::Rows).or_else(|| {
                let pairs: Option<_> = pairs.iter().map(in_turns).collect();
                pairs.filter(|_| left.is_empty()).map(Shape::Pairs)
            }),
            (2, 2) => pairs.iter().map(columns).collect::<Option<_>>().map(Shape::Columns),
            _ => None,
        };
        shape.unwrap_or(Shape::Other)
    }
}

/// The number of a row of the image that begins at a piece.
fn number(place: u32, bytes: u32) -> Option<u8> {
    let byte = place * bytes;
    byte.is_multiple_of(ROW).then(|| u8::try_from(byte / ROW).ok()).flatten()
}

/// The rows of a register of words.
fn rows(places: &[u32; 32]) -> Option<[u8; ROWS]> {
    let mut found = [0; ROWS];
    for (found, lanes) in found.iter_mut().zip(places.as_chunks::<4>().0) {
        let follow = (0..4).all(|lane| lanes[lane as usize] == lanes[0] + lane);
        *found = number(lanes[0], 4).filter(|_| follow)?;
    }
    Some(found)
}

/// The first of the two rows that two registers hold in turns.
fn in_turns([even, odd]: &[[u32; 32]; 2]) -> Option<[u8; ROWS]> {
    let mut found = [0; ROWS];
    for ((found, even), odd) in found.iter_mut().zip(even.as_chunks::<4>().0).zip(odd.as_chunks::<4>().0) {
        let follow = (0..4).all(|lane| {
            let (first, at) = (even[0] + 2 * lane, lane as usize);
            even[at] == first && odd[at] == first + 1
        });
        *found = number(even[0], 4).filter(|_| follow)?;
    }
    Some(found)
}

/// The rows of a tile of which a register holds two elements of a column in each lane: the first from the row `l % 4 * 2` of column `l / 4`.
fn columns([low, high]: &[[u32; 32]; 2]) -> Option<[u8; ROWS]> {
    let first: [u32; ROWS] = std::array::from_fn(|row| [low, high][row % 2][row / 2]);
    let all = (0..32).all(|lane| {
        let (row, column) = (lane % 4 * 2, lane as u32 / 4);
        low[lane] == first[row] + column && high[lane] == first[row + 1] + column
    });
    let mut found = [0; ROWS];
    for (found, place) in found.iter_mut().zip(first) {
        *found = number(place, 2).filter(|_| all)?;
    }
    Some(found)
}

/// The words of a row of the image, which lie in a run of 2 to the power of `run` bytes. Every row has been found to be there.
#[inline(always)]
fn read(matrix: Run<'_>, row: u8, stride: u32, run: u32) -> [u32; 4] {
    let byte = u32::from(row) * ROW;
    let mut words = [0; 4];
    matrix.read_all((byte >> run) * stride + (byte & ((1 << run) - 1)), &mut words);
    words
}

impl Shape {
    /// Loads registers from the matrix itself, whose runs of so many bytes begin at a distance of so many; `false` if they have no shape.
    #[inline(always)]
    pub(super) fn load(
        &self,
        isa: Isa,
        matrix: Run<'_>,
        [stride, run]: [u32; 2],
        rows: &[u32],
        registers: &mut [Row32],
    ) -> bool {
        let run = run.trailing_zeros();
        match self {
            Shape::Rows(tiles) => {
                for (register, tile) in rows.iter().zip(tiles) {
                    registers[*register as usize] = isa.joined(
                        #[inline(always)]
                        |at| read(matrix, tile[at], stride, run),
                    );
                }
            }
            Shape::Columns(tiles) => {
                for (register, tile) in rows.iter().zip(tiles) {
                    registers[*register as usize] = transposed(&isa.joined(
                        #[inline(always)]
                        |at| read(matrix, tile[at], stride, run),
                    ));
                }
            }
            Shape::Pairs(tiles) => {
                for (pair, tile) in rows.as_chunks::<2>().0.iter().zip(tiles) {
                    for (odd, register) in pair.iter().enumerate() {
                        registers[*register as usize] = isa.joined(
                            #[inline(always)]
                            |at| {
                                let (low, high) =
                                    (read(matrix, tile[at], stride, run), read(matrix, tile[at] + 1, stride, run));
                                [low[odd], low[odd + 2], high[odd], high[odd + 2]]
                            },
                        );
                    }
                }
            }
            Shape::Other => return false,
        }
        true
    }
}

impl Image {
    /// The rows of a tile become those of a register.
    #[inline(always)]
    pub(super) fn put_tile(&mut self, rows: &[u8; ROWS], register: &Row32) {
        let image: &mut [[u32; 4]; Image::ROWS] = cast_slice_mut(&mut self.0).try_into().expect("as many");
        let tile: [[u32; 4]; ROWS] = must_cast(*register);
        for (row, words) in rows.iter().zip(tile) {
            image[*row as usize % Image::ROWS] = words;
        }
    }

    /// Rows of 32 bytes become those that two registers have in turns.
    #[inline(always)]
    pub(super) fn put_in_turns(&mut self, rows: &[u8; ROWS], [even, odd]: [&Row32; 2]) {
        let (even, odd): ([[u32; 4]; ROWS], [[u32; 4]; ROWS]) = (must_cast(*even), must_cast(*odd));
        for next in [0, 1] {
            let row = |row: usize| {
                let at = 2 * next as usize;
                [even[row][at], odd[row][at], even[row][at + 1], odd[row][at + 1]]
            };
            self.put_tile(&rows.map(|row| row + next), &must_cast(std::array::from_fn::<[u32; 4], ROWS, _>(row)));
        }
    }
}
