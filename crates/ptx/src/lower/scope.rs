//! Names and what they stand for, scope by scope.

use crate::ir::{FunctionId, GlobalId, PrototypeId, Reg, ScalarType};
use crate::syntax::{Name, Span};
use std::collections::HashMap;

/// What the elements of a vector register are called behind its name (PTX ISA 6.4.3).
pub(super) const ELEMENTS: [&str; 4] = ["x", "y", "z", "w"];

/// Which element of a vector a suffix means: a place, or a colour.
pub(super) fn element(suffix: &str) -> Option<u32> {
    Some(match suffix {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Reg(Reg),
    /// `.reg .v4 .f32 v`: consecutive registers.
    Vector {
        first: Reg,
        count: u8,
    },
    Global(GlobalId),
    Function(FunctionId),
    /// A `.local` variable at this offset of the frame.
    Local {
        offset: u32,
        ty: ScalarType,
        is_array: bool,
    },
    /// A variable of the parameter frame: index into the function's list.
    Param(u32),
    Label(u32),
    BranchTargets(u32),
    CallTargets(u32),
    Prototype(PrototypeId),
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    symbol: Symbol,
    depth: u32,
    span: Span,
}

/// `%r<n>`: registers come into being when they are used.
#[derive(Debug)]
struct Range {
    prefix: Name,
    ty: ScalarType,
    vector: u8,
    count: u32,
    depth: u32,
    regs: HashMap<u32, Symbol>,
}

/// A name that a range declares but no instruction has used yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewReg {
    pub(super) ty: ScalarType,
    pub(super) vector: u8,
    range: usize,
    index: u32,
}

/// The result of a look-up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Symbol(Symbol),
    /// The caller makes the register and hands it to [`Scopes::bind_range`].
    New(NewReg),
}

/// All open scopes: the module's at depth 0.
#[derive(Debug)]
pub(super) struct Scopes {
    table: Vec<Option<Binding>>,
    undo: Vec<(Name, Option<Binding>)>,
    ranges: Vec<Range>,
    marks: Vec<(usize, usize)>,
}

impl Scopes {
    /// `names` is the number of names of the module.
    pub(super) fn new(names: usize) -> Scopes {
        Scopes { table: vec![None; names], undo: Vec::new(), ranges: Vec::new(), marks: Vec::new() }
    }

    fn depth(&self) -> u32 {
        self.marks.len() as u32
    }

    pub(super) fn open(&mut self) {
        self.marks.push((self.undo.len(), self.ranges.len()));
    }

    pub(super) fn close(&mut self) {
        if let Some((undo, ranges)) = self.marks.pop() {
            for (name, old) in self.undo.drain(undo..).rev() {
                self.table[name.index()] = old;
            }
            self.ranges.truncate(ranges);
        }
    }

    fn set(&mut self, name: Name, binding: Binding) {
        let old = self.table[name.index()].replace(binding);
        self.undo.push((name, old));
    }

    /// Binds a name in the innermost scope. If that scope has the name already, nothing changes and the earlier place is returned.
    pub(super) fn declare(&mut self, name: Name, symbol: Symbol, span: Span) -> Result<(), Span> {
        let depth = self.depth();
        match self.table[name.index()] {
            Some(old) if old.depth == depth => Err(old.span),
            _ => {
                self.set(name, Binding { symbol, depth, span });
                Ok(())
            }
        }
    }

    /// Declares `%r<count>` in the innermost scope; false if it has that prefix already.
    pub(super) fn declare_range(&mut self, prefix: Name, ty: ScalarType, vector: u8, count: u32) -> bool {
        let depth = self.depth();
        let fresh = !self.ranges.iter().any(|r| r.prefix == prefix && r.depth == depth);
        self.ranges.push(Range { prefix, ty, vector, count, depth, regs: HashMap::new() });
        fresh
    }

    /// Whether the innermost scope declares a register of this name through a range.
    pub(super) fn in_range_here(&self, prefix: Name, index: u32) -> bool {
        let depth = self.depth();
        self.ranges.iter().any(|r| r.depth == depth && r.prefix == prefix && index < r.count)
    }

    /// What `name` stands for. `split` gives the prefix and the number of a name that ends in digits.
    pub(super) fn find(&mut self, name: Name, split: impl FnOnce() -> Option<(Name, u32)>) -> Option<Found> {
        let bound = self.table[name.index()];
        let outer = bound.map(|b| Found::Symbol(b.symbol));
        // Ranges are in the order of their scopes: if the last one is no deeper than the binding, none can hide it.
        let deepest = self.ranges.last().map_or(0, |r| r.depth);
        if bound.is_some_and(|b| b.depth >= deepest) {
            return outer;
        }
        let Some((prefix, index)) = split() else { return outer };
        let least = bound.map_or(0, |b| b.depth + 1);
        let declares = |r: &Range| r.prefix == prefix && index < r.count && r.depth >= least;
        let Some(range) = self.ranges.iter().rposition(declares) else { return outer };
        if let Some(symbol) = self.ranges[range].regs.get(&index).copied() {
            self.set(name, Binding { symbol, depth: self.ranges[range].depth, span: Span::default() });
            return Some(Found::Symbol(symbol));
        }
        let Range { ty, vector, .. } = self.ranges[range];
        Some(Found::New(NewReg { ty, vector, range, index }))
    }

    /// Remembers the register made for a [`Found::New`].
    pub(super) fn bind_range(&mut self, name: Name, new: NewReg, symbol: Symbol) {
        self.ranges[new.range].regs.insert(new.index, symbol);
        let depth = self.ranges[new.range].depth;
        self.set(name, Binding { symbol, depth, span: Span::default() });
    }
}
