//! Events that several processes record and wait for.
//!
//! Each record of an event has a number, and the event stands for its last one. Whoever records says so when the work before it has ended, in the
//! place that the number has in a ring; who waits sleeps on that place (`futex(2)`), and looks now and then whether the process that
//! recorded is still there: work of a process that has ended is over.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::board::{Board, Name, OpenError};
use crate::signal::{Reach, futex_wait, futex_wake};

/// Records of an event that can be pending at once, each waited for by its number.
const RING: usize = 28;
/// How often a sleeper looks whether there is still somebody to wait for.
const LOOK: Duration = Duration::from_millis(100);

/// The state of an event, all bytes 0 at first.
#[repr(C)]
pub(super) struct EventState {
    /// Numbers that were given to records, and the last that stands for the event.
    given: AtomicU32,
    last: AtomicU32,
    ring: [Entry; RING],
}

#[repr(C)]
struct Entry {
    /// The last record that has ended, of those with this place.
    ended: AtomicU32,
    unused: u32,
    /// The last record with this place, and in the low half the process that made it.
    by: AtomicU64,
}

/// Whether a number is not before another; they go round.
fn has_come(number: u32, wanted: u32) -> bool {
    number.wrapping_sub(wanted) as i32 >= 0
}

impl EventState {
    fn place(&self, number: u32) -> &Entry {
        &self.ring[number as usize % RING]
    }

    fn reset(&self) {
        self.given.store(0, Ordering::SeqCst);
        self.last.store(0, Ordering::SeqCst);
        for place in &self.ring {
            place.ended.store(0, Ordering::SeqCst);
            place.by.store(0, Ordering::SeqCst);
        }
    }
}

/// An event of this or another process.
pub struct SharedEvent {
    board: Arc<Board>,
    name: Name,
}

/// A record of an event; the work before it has ended when this is dropped.
pub struct Pending {
    event: Arc<SharedEvent>,
    number: u32,
}

impl SharedEvent {
    /// A new event of this process, never recorded.
    ///
    /// # Errors
    /// As [`Board::offer_memory`].
    pub fn new(board: &Arc<Board>) -> io::Result<Arc<SharedEvent>> {
        let name = board.offer(|entry| entry.event.reset())?;
        Ok(Arc::new(SharedEvent { board: Arc::clone(board), name }))
    }

    /// For other processes.
    pub fn name(&self) -> Name {
        self.name
    }

    fn state(&self) -> &EventState {
        &self.board.entry(self.name.index()).event
    }

    /// Records it: the number of the record, and what to drop when the work before it has ended.
    pub fn record(self: &Arc<Self>) -> (u32, Pending) {
        let state = self.state();
        let number = state.given.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        let by = u64::from(number) << 32 | u64::from(std::process::id());
        state.place(number).by.store(by, Ordering::SeqCst);
        // Other processes record at the same time: the highest number is the last record.
        let later = |last| (!has_come(last, number)).then_some(number);
        // An error says that there is a later one.
        let _ = state.last.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
        (number, Pending { event: Arc::clone(self), number })
    }

    /// The number of the last record, 0 for none.
    pub fn last(&self) -> u32 {
        self.state().last.load(Ordering::SeqCst)
    }

    /// Whether the work before a record has ended.
    pub fn has_ended(&self, number: u32) -> bool {
        number == 0
            || has_come(self.state().place(number).ended.load(Ordering::SeqCst), number)
            || self.is_orphan(number)
    }

    /// Waits until the work before a record has ended; gives up when it is time to, which is asked now and then.
    pub fn wait(&self, number: u32, give_up: impl Fn() -> bool) {
        let place = self.state().place(number);
        loop {
            let seen = place.ended.load(Ordering::SeqCst);
            if number == 0 || has_come(seen, number) || self.is_orphan(number) || give_up() {
                return;
            }
            futex_wait(&place.ended, seen, Some(LOOK), Reach::Machine);
        }
    }

    /// Whether the process that made a record has ended.
    fn is_orphan(&self, number: u32) -> bool {
        let by = self.state().place(number).by.load(Ordering::SeqCst);
        let process = by as u32;
        by >> 32 == u64::from(number) && process != std::process::id() && has_exited(process)
    }
}

/// Whether a process has ended, its parent informed of it or not.
fn has_exited(process: u32) -> bool {
    let process = process as libc::pid_t;
    // SAFETY: numbers go in; the descriptor that comes out is new and owned by nobody else.
    let found = unsafe {
        match libc::syscall(libc::SYS_pidfd_open, process, 0) {
            descriptor if descriptor >= 0 => Ok(OwnedFd::from_raw_fd(descriptor as i32)),
            _ => Err(io::Error::last_os_error()),
        }
    };
    match found {
        Ok(descriptor) => {
            let mut watched = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, and no waiting.
            unsafe { libc::poll(&raw mut watched, 1, 0) == 1 }
        }
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => true,
        Err(_) => {
            // SAFETY: signal 0 is sent to nobody: the call only looks whether the process is there.
            let missing = unsafe { libc::kill(process, 0) } != 0;
            missing && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
        }
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        if self.board.is_foreign() {
            self.board.entry(self.name.index()).users.fetch_sub(1, Ordering::SeqCst);
        } else {
            self.board.withdraw(&self.name);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let ended = &self.event.state().place(self.number).ended;
        let later = |ended| (!has_come(ended, self.number)).then_some(self.number);
        // An error says that a later record has ended.
        let _ = ended.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
        futex_wake(ended, i32::MAX as u32, Reach::Machine);
    }
}

/// What this process has open of others.
#[derive(Default)]
pub struct Opened {
    boards: Mutex<HashMap<(u32, u64), Weak<Board>>>,
    events: Mutex<HashMap<Name, Weak<SharedEvent>>>,
}

impl Opened {
    /// The event of another process that a name stands for.
    ///
    /// # Errors
    /// As [`OpenError`] says; an event that this process has open is found whether or not its process still has it.
    pub fn event(&self, name: &Name) -> Result<Arc<SharedEvent>, OpenError> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = events.get(name).and_then(Weak::upgrade) {
            return Ok(event);
        }
        let board = self.board(name)?;
        // Counted first: what is counted is not used again for something else.
        let users = &board.entry(name.index()).users;
        users.fetch_add(1, Ordering::SeqCst);
        if board.entry_of(name).is_none() {
            users.fetch_sub(1, Ordering::SeqCst);
            return Err(OpenError::Withdrawn);
        }
        let event = Arc::new(SharedEvent { board, name: *name });
        events.retain(|_, event| event.strong_count() != 0);
        events.insert(*name, Arc::downgrade(&event));
        Ok(event)
    }

    fn board(&self, name: &Name) -> Result<Arc<Board>, OpenError> {
        let mut boards = self.boards.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(board) = boards.get(&name.board()).and_then(Weak::upgrade) {
            return Ok(board);
        }
        let board = Arc::new(name.open_board()?);
        boards.retain(|_, board| board.strong_count() != 0);
        boards.insert(name.board(), Arc::downgrade(&board));
        Ok(board)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stands_for_its_last_record() {
        let board = Board::new().unwrap();
        let event = SharedEvent::new(&board).unwrap();
        assert!(event.last() == 0 && event.has_ended(0));
        let (first, one) = event.record();
        let (second, other) = event.record();
        assert!(event.last() == second && !event.has_ended(first) && !event.has_ended(second));
        drop(other);
        assert!(event.has_ended(second) && !event.has_ended(first));
        drop(one);
        assert!(event.has_ended(first));
        for _ in 0..200 {
            let (number, pending) = event.record();
            assert!(!event.has_ended(number));
            drop(pending);
            assert!(event.has_ended(number) && event.last() == number);
        }
    }

    #[test]
    fn sleepers_wake_when_the_work_has_ended_or_they_give_up() {
        let board = Board::new().unwrap();
        let event = SharedEvent::new(&board).unwrap();
        let (number, pending) = event.record();
        let sleeper = event.clone();
        let thread = std::thread::spawn(move || sleeper.wait(number, || false));
        std::thread::sleep(Duration::from_millis(5));
        assert!(!thread.is_finished());
        drop(pending);
        thread.join().expect("it wakes");
        let (number, _pending) = event.record();
        event.wait(number, || true);
        assert!(!event.has_ended(number));
    }

    #[test]
    fn what_others_open_is_one_event_and_outlives_its_owner() {
        let (board, opened) = (Board::new().unwrap(), Opened::default());
        let event = SharedEvent::new(&board).unwrap();
        let name = event.name();
        let there = opened.event(&name).unwrap_or_else(|error| panic!("{error}"));
        let (number, pending) = there.record();
        assert!(event.last() == number && !event.has_ended(number));
        drop(event);
        drop(pending);
        assert!(there.has_ended(number));
        assert!(opened.event(&name).is_ok());
        drop(there);
        assert!(matches!(opened.event(&name), Err(OpenError::Withdrawn)));
    }

    #[test]
    fn work_of_a_process_that_has_ended_is_over() {
        let board = Board::new().unwrap();
        let event = SharedEvent::new(&board).unwrap();
        let (number, _pending) = event.record();
        let mut child = std::process::Command::new("sleep").arg("10").spawn().expect("there is a sleep");
        let by = u64::from(number) << 32 | u64::from(child.id());
        event.state().place(number).by.store(by, Ordering::SeqCst);
        assert!(!event.has_ended(number));
        child.kill().expect("it runs");
        // Nobody has asked for its status yet: it is a zombie.
        event.wait(number, || false);
        assert!(event.has_ended(number));
        child.wait().expect("it has ended");
        assert!(event.has_ended(number));
    }
}
