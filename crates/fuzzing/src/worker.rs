//! Workers: this program again, in a process of its own.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How a worker has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(ExitStatus),
    /// It took longer than this, and was killed.
    Hung(Duration),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Hung(limit) => write!(f, "it takes more than {} s", limit.as_secs()),
            End::Exited(status) => match (status.code(), status.signal()) {
                (Some(0), _) => write!(f, "it ended"),
                (Some(code), _) => write!(f, "it ended with exit code {code}"),
                (None, signal) => write!(f, "it died of signal {}", signal.unwrap_or_default()),
            },
        }
    }
}

/// See the head of the file. One that is dropped is killed.
pub struct Worker {
    child: Child,
    lines: Receiver<String>,
}

impl Worker {
    /// Starts this program again, as `prepare` says. The lines that it prints are there to be read.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(prepare: impl FnOnce(&mut Command)) -> Result<Worker> {
        let mut command = Command::new(std::env::current_exe().context("the program's own path")?);
        command.stdout(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn().context("a worker does not start")?;
        let (send, lines) = channel();
        // Who has sent the output elsewhere reads no lines.
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Worker { child, lines })
    }

    /// The next line, or how it ended; one that is silent for longer than `limit` is killed.
    ///
    /// # Errors
    /// The host does not say what became of the process.
    pub fn next_line(&mut self, limit: Duration) -> Result<Result<String, End>> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Ok(Ok(line)),
            Err(RecvTimeoutError::Timeout) => {
                self.kill()?;
                Ok(Err(End::Hung(limit)))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(Err(End::Exited(self.child.wait()?))),
        }
    }

    /// Waits for its end; after `limit` it is killed.
    ///
    /// # Errors
    /// As [`Worker::next_line`].
    pub fn wait(&mut self, limit: Duration) -> Result<End> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = self.child.try_wait()? {
                return Ok(End::Exited(status));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill()?;
        Ok(End::Hung(limit))
    }

    fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself, which is as well.
        let _ = self.kill();
    }
}
