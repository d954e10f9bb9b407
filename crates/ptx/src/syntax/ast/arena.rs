//! The arrays in which the nodes of a tree lie, and what names nodes in them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Index;

use super::{
    Address, Expr, Function, FunctionDirective, Ident, Loc, Module, Operand, Prototype, SectionLine, Statement,
    StringLiteral, Variable,
};

/// One node in the array of its kind.
pub struct Id<T> {
    index: u32,
    kind: PhantomData<fn() -> T>,
}

/// A run of nodes in the array of their kind.
pub struct List<T> {
    start: u32,
    len: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// The index in the array of its kind: unique among nodes of that kind in a module.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

impl<T> List<T> {
    /// The list of nothing.
    pub const EMPTY: Self = Self { start: 0, len: 0, kind: PhantomData };

    /// How many nodes it holds.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it holds nothing.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The ids of its nodes, in order.
    pub fn ids(self) -> impl DoubleEndedIterator<Item = Id<T>> + ExactSizeIterator {
        (self.start..self.start + self.len).map(|index| Id { index, kind: PhantomData })
    }
}

macro_rules! plain_handle {
    ($handle:ident, $($field:ident),+) => {
        impl<T> Clone for $handle<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $handle<T> {}
        impl<T> PartialEq for $handle<T> {
            fn eq(&self, other: &Self) -> bool {
                ($(self.$field),+) == ($(other.$field),+)
            }
        }
        impl<T> Eq for $handle<T> {}
        impl<T> Hash for $handle<T> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                ($(self.$field),+).hash(state);
            }
        }
        impl<T> fmt::Debug for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($handle), "{:?}"), ($(self.$field),+))
            }
        }
    };
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

plain_handle!(Id, index);
plain_handle!(List, start, len);

/// The arrays behind [`Id`] and [`List`].
#[derive(Clone, Debug, Default)]
pub(in crate::syntax) struct Nodes {
    pub(in crate::syntax) idents: Vec<Ident>,
    pub(in crate::syntax) variables: Vec<Variable>,
    pub(in crate::syntax) functions: Vec<Function>,
    pub(in crate::syntax) directives: Vec<FunctionDirective>,
    pub(in crate::syntax) statements: Vec<Statement>,
    pub(in crate::syntax) operands: Vec<Operand>,
    pub(in crate::syntax) addresses: Vec<Address>,
    pub(in crate::syntax) exprs: Vec<Expr>,
    pub(in crate::syntax) dims: Vec<Option<u64>>,
    pub(in crate::syntax) locs: Vec<Loc>,
    pub(in crate::syntax) prototypes: Vec<Prototype>,
    pub(in crate::syntax) section_lines: Vec<SectionLine>,
    pub(in crate::syntax) strings: Vec<StringLiteral>,
}

macro_rules! arenas {
    ($($field:ident: $node:ty),+ $(,)?) => {$(
        impl Index<Id<$node>> for Module {
            type Output = $node;
            fn index(&self, id: Id<$node>) -> &$node {
                &self.nodes.$field[id.index()]
            }
        }
        impl Index<List<$node>> for Module {
            type Output = [$node];
            fn index(&self, list: List<$node>) -> &[$node] {
                &self.nodes.$field[list.start as usize..][..list.len as usize]
            }
        }
        impl Arena<$node> for Nodes {
            fn arena(&mut self) -> &mut Vec<$node> {
                &mut self.$field
            }
        }
    )+};
}
arenas! {
    idents: Ident, variables: Variable, functions: Function, directives: FunctionDirective,
    statements: Statement, operands: Operand, addresses: Address, exprs: Expr, dims: Option<u64>,
    locs: Loc, prototypes: Prototype, section_lines: SectionLine, strings: StringLiteral,
}

/// Which array of [`Nodes`] holds the nodes of a kind.
pub(in crate::syntax) trait Arena<T> {
    fn arena(&mut self) -> &mut Vec<T>;
}

impl Nodes {
    /// Adds one node.
    pub(in crate::syntax) fn push<T>(&mut self, node: T) -> Id<T>
    where
        Self: Arena<T>,
    {
        let arena = self.arena();
        arena.push(node);
        Id { index: arena.len() as u32 - 1, kind: PhantomData }
    }

    /// How many nodes of a kind there are: where a list begins whose nodes are pushed one by one.
    pub(in crate::syntax) fn mark<T>(&mut self) -> u32
    where
        Self: Arena<T>,
    {
        self.arena().len() as u32
    }

    /// The nodes pushed since `start`, which came from [`Self::mark`].
    pub(in crate::syntax) fn since<T>(&mut self, start: u32) -> List<T>
    where
        Self: Arena<T>,
    {
        List { start, len: self.arena().len() as u32 - start, kind: PhantomData }
    }

    /// Adds nodes next to each other.
    pub(in crate::syntax) fn extend<T>(&mut self, nodes: impl IntoIterator<Item = T>) -> List<T>
    where
        Self: Arena<T>,
    {
        let arena = self.arena();
        let start = arena.len() as u32;
        arena.extend(nodes);
        List { start, len: arena.len() as u32 - start, kind: PhantomData }
    }
}
