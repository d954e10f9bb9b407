//! Loops and the order of basic blocks.
//!
//! Blocks stand in a weak topological order: an edge goes forward unless it goes back to the header of a loop around it, and the blocks of a
//! loop stand together, header first, inner loops inside, what follows the loop behind it. So the lowest numbered block that threads wait
//! at is never one that others of them still come to from within the loop, whichever way round its branch is written. A loop is a
//! range of blocks. Irreducible flow has loops too: the header is then the entry that a depth-first walk finds first, the other
//! entries are edges to the middle of the range.
//!
//! The loops are those of Havlak's nesting forest (Nesting of Reducible and Irreducible Loops, TOPLAS 1997), found with disjoint sets in nearly linear time.

use super::BlockId;
use std::ops::Range;

/// A loop of the flow graph: a set of blocks each of which can reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its blocks; the first is the header.
    pub blocks: Range<u32>,
    /// The loop around it, by its index in [`super::Body::loops`].
    pub parent: Option<u32>,
    /// 1 for a loop in no other.
    pub depth: u32,
    /// Whether control enters elsewhere than at the header too.
    pub irreducible: bool,
}

impl Loop {
    /// Where a trip begins.
    pub const fn header(&self) -> BlockId {
        BlockId(self.blocks.start)
    }

    /// Whether the block is one of the loop.
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.contains(&block.0)
    }
}

/// An order of blocks and the loops in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// The blocks that the first one reaches, by their old numbers.
    pub order: Vec<u32>,
    /// In the order of their headers, outer loops first, with blocks by their new numbers.
    pub loops: Vec<Loop>,
}

/// Arranges the blocks of a flow graph that is entered at block 0. Where the order is free, the last of a block's `successors`
/// follows it soonest.
pub fn arrange(successors: &[Vec<u32>]) -> Arrangement {
    if successors.is_empty() {
        return Arrangement::default();
    }
    let walk = Walk::new(successors);
    let forest = Forest::new(&walk);
    Layout::new(&walk, &forest).finish()
}

const NONE: u32 = u32::MAX;

/// A depth-first walk. From here on blocks go by the order in which it meets them.
struct Walk {
    /// By new number: the old one.
    met: Vec<u32>,
    /// By new number: the greatest number in the subtree.
    last: Vec<u32>,
    successors: Vec<Vec<u32>>,
    predecessors: Vec<Vec<u32>>,
}

impl Walk {
    fn new(graph: &[Vec<u32>]) -> Walk {
        let mut number = vec![NONE; graph.len()];
        let mut met = vec![0];
        let mut last = vec![0];
        number[0] = 0;
        let mut stack = vec![(0u32, graph[0].iter())];
        while let Some((block, pending)) = stack.last_mut() {
            match pending.next() {
                Some(&next) if number[next as usize] == NONE => {
                    number[next as usize] = met.len() as u32;
                    met.push(next);
                    last.push(0);
                    stack.push((next, graph[next as usize].iter()));
                }
                Some(_) => {}
                None => {
                    last[number[*block as usize] as usize] = met.len() as u32 - 1;
                    stack.pop();
                }
            }
        }
        let mut successors: Vec<Vec<u32>> = Vec::with_capacity(met.len());
        let mut predecessors = vec![Vec::new(); met.len()];
        for (block, &old) in met.iter().enumerate() {
            let next: Vec<u32> = graph[old as usize].iter().map(|&next| number[next as usize]).collect();
            next.iter().for_each(|&next| predecessors[next as usize].push(block as u32));
            successors.push(next);
        }
        Walk { met, last, successors, predecessors }
    }

    /// Whether `b` is `a` or was met below it.
    fn is_above(&self, a: u32, b: u32) -> bool {
        a <= b && b <= self.last[a as usize]
    }
}

/// Which loop each block is in.
struct Forest {
    /// By block: the header of the innermost loop around it, other than the one that it is the header of.
    around: Vec<u32>,
    is_header: Vec<bool>,
    irreducible: Vec<bool>,
}

impl Forest {
    fn new(walk: &Walk) -> Forest {
        let count = walk.met.len();
        let mut forest =
            Forest { around: vec![NONE; count], is_header: vec![false; count], irreducible: vec![false; count] };
        // Blocks of loops that are done stand for their outermost header.
        let mut joined: Vec<u32> = (0..count as u32).collect();
        // Where control enters the loop of a header other than through it.
        let mut entered_from: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut member_of = vec![NONE; count];
        for header in (0..count as u32).rev() {
            let mut body = Vec::new();
            for &from in &walk.predecessors[header as usize] {
                if !walk.is_above(header, from) {
                    continue;
                }
                forest.is_header[header as usize] = true;
                let from = find(&mut joined, from);
                if from != header && std::mem::replace(&mut member_of[from as usize], header) != header {
                    body.push(from);
                }
            }
            let mut next = 0;
            while next < body.len() {
                let block = body[next];
                next += 1;
                let side = std::mem::take(&mut entered_from[block as usize]);
                let direct = walk.predecessors[block as usize].iter().filter(|&&from| !walk.is_above(block, from));
                for &from in direct.chain(&side) {
                    let from = find(&mut joined, from);
                    if !walk.is_above(header, from) {
                        forest.irreducible[header as usize] = true;
                        entered_from[header as usize].push(from);
                    } else if from != header && std::mem::replace(&mut member_of[from as usize], header) != header {
                        body.push(from);
                    }
                }
            }
            for block in body {
                forest.around[block as usize] = header;
                joined[block as usize] = header;
            }
        }
        forest
    }

    /// The header of the innermost loop that the block is in.
    fn innermost(&self, block: u32) -> u32 {
        if self.is_header[block as usize] { block } else { self.around[block as usize] }
    }
}

/// The block that stands for a set; shortens the way there.
fn find(joined: &mut [u32], mut block: u32) -> u32 {
    while joined[block as usize] != block {
        joined[block as usize] = joined[joined[block as usize] as usize];
        block = joined[block as usize];
    }
    block
}

/// Orders the parts of each loop, whose parts are blocks and inner loops. The part of block `b` is `b`, that of the loop with header `h` is `count + h`.
struct Layout<'w> {
    walk: &'w Walk,
    forest: &'w Forest,
    count: u32,
    depths: Vec<u32>,
    edges: Vec<Vec<u32>>,
}

impl<'w> Layout<'w> {
    fn new(walk: &'w Walk, forest: &'w Forest) -> Layout<'w> {
        let count = walk.met.len() as u32;
        let mut depths = vec![0; 2 * count as usize];
        // Headers have lower numbers than what is in their loops.
        for block in 0..count {
            let outside = match forest.around[block as usize] {
                NONE => 0,
                header => depths[(count + header) as usize] + 1,
            };
            depths[(count + block) as usize] = outside;
            depths[block as usize] = outside + u32::from(forest.is_header[block as usize]);
        }
        let mut layout = Layout { walk, forest, count, depths, edges: vec![Vec::new(); 2 * count as usize] };
        for from in 0..count {
            for &to in &walk.successors[from as usize] {
                layout.connect(from, to);
            }
        }
        layout
    }

    /// The loop that a part is in.
    fn parent(&self, part: u32) -> u32 {
        let header = match part.checked_sub(self.count) {
            Some(header) => self.forest.around[header as usize],
            None => self.forest.innermost(part),
        };
        if header == NONE { NONE } else { self.count + header }
    }

    /// Notes an edge between the parts of the innermost loop that has both blocks, unless it goes back to its header.
    fn connect(&mut self, from: u32, to: u32) {
        let (mut from, mut to) = (from, to);
        loop {
            let parents = (self.parent(from), self.parent(to));
            if parents.0 == parents.1 {
                break;
            }
            let (above, below) = (self.depths[from as usize], self.depths[to as usize]);
            if above >= below {
                from = parents.0;
            }
            if below >= above {
                to = parents.1;
            }
        }
        if from != to && self.parent(to) != self.count.wrapping_add(to) {
            self.edges[from as usize].push(to);
        }
    }

    /// The parts behind `first` on its level, in reverse post order.
    fn level(&self, first: u32, seen: &mut [bool]) -> Vec<u32> {
        let mut order = Vec::new();
        seen[first as usize] = true;
        let mut stack = vec![(first, self.edges[first as usize].iter())];
        while let Some((part, pending)) = stack.last_mut() {
            match pending.next() {
                Some(&next) if !seen[next as usize] => {
                    seen[next as usize] = true;
                    stack.push((next, self.edges[next as usize].iter()));
                }
                Some(_) => {}
                None => {
                    order.push(*part);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    fn finish(self) -> Arrangement {
        let mut out = Arrangement::default();
        let mut seen = vec![false; self.edges.len()];
        let mut entry = 0;
        while self.parent(entry) != NONE {
            entry = self.parent(entry);
        }
        // Levels that are being written, each with the loop that it is the inside of.
        let mut open = vec![(self.level(entry, &mut seen).into_iter(), None)];
        while let Some((parts, inside)) = open.last_mut() {
            let inside: Option<u32> = *inside;
            let at = out.order.len() as u32;
            match parts.next() {
                Some(part) if part < self.count => out.order.push(self.walk.met[part as usize]),
                Some(part) => {
                    let header = part - self.count;
                    let irreducible = self.forest.irreducible[header as usize];
                    let depth = self.depths[part as usize] + 1;
                    out.loops.push(Loop { blocks: at..at, parent: inside, depth, irreducible });
                    open.push((self.level(header, &mut seen).into_iter(), Some(out.loops.len() as u32 - 1)));
                }
                None => {
                    if let Some(inside) = inside {
                        out.loops[inside as usize].blocks.end = at;
                    }
                    open.pop();
                }
            }
        }
        out
    }
}
