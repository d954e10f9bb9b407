//! What kernels print.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the bytes of `vprintf` and of assertion messages go.
pub trait DeviceOutput: Send + Sync {
    /// Takes bytes of one CTA, in the order in which it wrote them. Bytes of one call stay together.
    fn write(&self, bytes: &[u8]);

    /// Passes on what is held back: called when a stream, an event or a context is synchronised or ends, and by launches, blocking copies, and the loading and
    /// unloading of modules (CUDA C++ programming guide, "Formatted Output"), so that nothing to do costs nothing. And when a kernel faults.
    fn flush(&self);
}

/// Holds output back until it is flushed, as a GPU's buffer is: a host program's own output keeps its place. What does
/// not fit the limit is passed on early; nothing is lost.
pub struct Buffered<S: Sink> {
    held: Mutex<Vec<u8>>,
    /// Whether something is held back.
    holds: AtomicBool,
    limit: usize,
    sink: S,
}

/// The end of the way.
pub trait Sink: Send + Sync {
    /// Writes all bytes; errors have nobody to go to.
    fn put(&self, bytes: &[u8]);
}

impl<S: Sink> Buffered<S> {
    /// Holds back up to `limit` bytes (`CU_LIMIT_PRINTF_FIFO_SIZE`).
    pub fn new(limit: usize, sink: S) -> Buffered<S> {
        Buffered { held: Mutex::new(Vec::new()), holds: AtomicBool::new(false), limit, sink }
    }

    /// The end of the way.
    pub fn sink(&self) -> &S {
        &self.sink
    }
}

impl<S: Sink> DeviceOutput for Buffered<S> {
    fn write(&self, bytes: &[u8]) {
        let mut held = self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        held.extend_from_slice(bytes);
        if held.len() > self.limit {
            self.sink.put(&held);
            held.clear();
        }
        self.holds.store(!held.is_empty(), Ordering::Release);
    }

    fn flush(&self) {
        if !self.holds.load(Ordering::Acquire) {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !held.is_empty() {
            self.sink.put(&held);
            held.clear();
        }
        self.holds.store(false, Ordering::Release);
    }
}

/// The C library's `stdout`: device output keeps its order with a C program's `printf`.
pub struct CStdout;

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

impl Sink for CStdout {
    fn put(&self, bytes: &[u8]) {
        // SAFETY: `stdout` is the C library's stream, which is there as long as the process; `fwrite` locks it.
        let written = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout) };
        if written < bytes.len() {
            // The stream is in error or closed; the descriptor may still take the rest.
            let _ = std::io::stdout().write_all(&bytes[written..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Taken(Mutex<Vec<u8>>);

    impl Sink for Taken {
        fn put(&self, bytes: &[u8]) {
            self.0.lock().unwrap().extend_from_slice(bytes);
        }
    }

    #[test]
    fn output_waits_for_a_flush_or_a_full_buffer() {
        let output = Buffered::new(8, Taken::default());
        let taken = || String::from_utf8(output.sink().0.lock().unwrap().clone()).unwrap();
        output.write(b"one ");
        output.write(b"two ");
        assert_eq!(taken(), "");
        output.write(b"three ");
        assert_eq!(taken(), "one two three ");
        output.write(b"four");
        output.flush();
        output.flush();
        assert_eq!(taken(), "one two three four");
    }
}
