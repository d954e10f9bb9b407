//! What programs that look for defects have in common: they try one seed after the other for some time, in workers, which are processes of
//! their own as they may die or hang, and tell what they find with the seed that shows it again. A worker's own memory
//! is here, too, as its growth is a finding.

mod resident;
mod worker;

use std::fmt::Display;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub use resident::Resident;
pub use worker::{End, Worker};

/// A search: for how long, and what it has found.
pub struct Search {
    end: Instant,
    /// How much may be found before it ends.
    enough: u32,
    findings: u32,
}

impl Search {
    /// One that ends after so many seconds, or with the finding number `enough`: more is of the same kind.
    pub fn new(seconds: u64, enough: u32) -> Search {
        Search { end: Instant::now() + Duration::from_secs(seconds), enough, findings: 0 }
    }

    /// Whether to stop.
    pub fn is_over(&self) -> bool {
        self.findings >= self.enough || Instant::now() >= self.end
    }

    /// Seconds that are left, the last one as a whole.
    pub fn seconds_left(&self) -> u64 {
        self.end.saturating_duration_since(Instant::now()).as_secs() + 1
    }

    /// Counts and tells what a seed has shown.
    pub fn found(&mut self, seed: u64, what: &impl Display) {
        self.findings += 1;
        println!("seed {seed}: {what}");
    }

    /// How much was found.
    pub fn findings(&self) -> u32 {
        self.findings
    }

    /// What the process ends with: success if nothing was found.
    pub fn exit_code(&self) -> ExitCode {
        if self.findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_with_its_time_or_enough_findings() {
        assert!(Search::new(0, 5).is_over());
        let mut search = Search::new(100, 2);
        assert!((99..=100).contains(&search.seconds_left()));
        search.found(1, &"one");
        assert!(!search.is_over());
        search.found(2, &"two");
        assert!(search.is_over() && search.findings() == 2);
    }
}
