//! What processes of one user share by name: memory and events (`cuIpc*`); and what they see of each other.
//!
//! A process keeps a [`Board`], a memory file of fixed size with an entry for each thing that it offers. A [`Name`] says which process, which of its
//! descriptors the board is, which entry, and the secret that stands there. Who is given a name opens the board as `/proc/PROCESS/fd/DESCRIPTOR`, which the
//! host allows for processes of the same user, holds the secret against it, and finds there what it needs to open the memory in the same way, or the
//! state of the event itself. No thread serves this, nothing lies in a file system, and the host takes all of it away with the process.
//!
//! - `board`: entries, names, and opening those of others. `event`: the state of an event, and waiting for it. `semaphore`: semaphores that come as
//!   descriptors from outside. [`activity`]: what a process does with its devices.

pub mod activity;
mod board;
mod event;
mod semaphore;

pub use board::{Board, Name, OfferedMemory, OpenError};
pub use event::{Opened, Pending, SharedEvent};
pub use semaphore::{ExternalSemaphore, SemaphoreKind};
