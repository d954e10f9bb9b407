//! Registers of fragments that are tiles of a matrix: moved by rows of sixteen bytes, of which four lanes have one, in place of piece by piece.

use pulp::bytemuck::{cast, cast_slice, cast_slice_mut};

use super::load_store::{Image, Pieces};
use super::tile::transposed;
use crate::frame::Row32;

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

impl Image {
    /// The rows of a tile.
    #[inline(always)]
    pub(super) fn tile(&self, rows: &[u8; ROWS]) -> Row32 {
        let image: &[[u32; 4]; Image::ROWS] = cast_slice(&self.0).try_into().expect("as many");
        cast(rows.map(|row| image[row as usize % Image::ROWS]))
    }

    /// Two registers that have rows of 32 bytes in turns.
    #[inline(always)]
    pub(super) fn in_turns(&self, rows: &[u8; ROWS]) -> [Row32; 2] {
        let [low, high] = [0, 1].map(|next| {
            let tile: [[[u32; 2]; 2]; ROWS] = cast(self.tile(&rows.map(|row| row + next)));
            tile
        });
        [0, 1].map(|odd| {
            let row = |row: usize| [low[row][0][odd], low[row][1][odd], high[row][0][odd], high[row][1][odd]];
            cast(std::array::from_fn::<[u32; 4], ROWS, _>(row))
        })
    }

    /// [`Image::tile`] of a register that has columns.
    #[inline(always)]
    pub(super) fn columns(&self, rows: &[u8; ROWS]) -> Row32 {
        transposed(&self.tile(rows))
    }

    /// The rows of a tile become those of a register.
    #[inline(always)]
    pub(super) fn put_tile(&mut self, rows: &[u8; ROWS], register: &Row32) {
        let image: &mut [[u32; 4]; Image::ROWS] = cast_slice_mut(&mut self.0).try_into().expect("as many");
        let tile: [[u32; 4]; ROWS] = cast(*register);
        for (row, words) in rows.iter().zip(tile) {
            image[*row as usize % Image::ROWS] = words;
        }
    }

    /// Rows of 32 bytes become those that two registers have in turns.
    #[inline(always)]
    pub(super) fn put_in_turns(&mut self, rows: &[u8; ROWS], [even, odd]: [&Row32; 2]) {
        let (even, odd): ([[u32; 4]; ROWS], [[u32; 4]; ROWS]) = (cast(*even), cast(*odd));
        for next in [0, 1] {
            let row = |row: usize| {
                let at = 2 * next as usize;
                [even[row][at], odd[row][at], even[row][at + 1], odd[row][at + 1]]
            };
            self.put_tile(&rows.map(|row| row + next), &cast(std::array::from_fn::<[u32; 4], ROWS, _>(row)));
        }
    }
}
