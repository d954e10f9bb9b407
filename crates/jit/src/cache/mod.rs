//! Code on disk, shared by all processes of a user.
//!
//! Each entry is a file of its own, named by what it was made from ([`key`]). It is written under another name and then renamed, so that readers
//! see it as a whole or not at all; what is damaged all the same is told by its checksum, reported and removed. When there is too much, what
//! was not used for longest goes. No locks: whatever other processes do at the same time, the worst is that something is compiled twice.

pub(crate) mod entry;
pub(crate) mod key;
mod settings;

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

pub use settings::CacheSettings;

use entry::Entry;
use key::Key;

/// How entries' names end.
const SUFFIX: &str = ".wlcode";
/// How names end of what is being written.
const UNFINISHED: &str = ".new";
/// What was not finished for so long never will be.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Down to so many of ten parts of the limit, old entries go.
const KEEP: u64 = 9;
/// The largest entry that is read.
const LARGEST: u64 = 64 << 20;

/// The cache of this process.
pub struct Cache {
    settings: CacheSettings,
    /// Bytes in the folder, as far as this process knows; [`UNKNOWN`] before it has looked.
    held: AtomicU64,
    complained: AtomicBool,
    complain: Box<dyn Fn(&str) + Send + Sync>,
}

const UNKNOWN: u64 = u64::MAX;

/// What a folder holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many kernels.
    pub entries: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Cache {
    /// The cache in a folder, which is made with the first entry. `complain` hears once of what is wrong with the folder, and of every damaged entry.
    pub fn new(settings: CacheSettings, complain: impl Fn(&str) + Send + Sync + 'static) -> Cache {
        Cache {
            settings,
            held: AtomicU64::new(UNKNOWN),
            complained: AtomicBool::new(false),
            complain: Box::new(complain),
        }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.settings.folder.join(format!("{key}{SUFFIX}"))
    }

    /// Says what is wrong, once: it will be wrong again.
    fn complain(&self, what: &str, path: &Path, error: &io::Error) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            (self.complain)(&format!("compiled code {what} {}: {error}", path.display()));
        }
    }

    /// The entry of a key, if there is one that is whole.
    pub(crate) fn load(&self, key: &Key) -> Option<Entry> {
        let path = self.path(key);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                self.complain("cannot be read from", &path, &error);
                return None;
            }
        };
        match Entry::decode(&bytes, key) {
            Ok(entry) => Some(entry),
            Err(why) => {
                self.refuse(key, why);
                None
            }
        }
    }

    /// Whether there is an entry of a key, whole or not.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.path(key).exists()
    }

    /// Removes an entry that is of no use, and says so.
    pub(crate) fn refuse(&self, key: &Key, why: &str) {
        let path = self.path(key);
        (self.complain)(&format!("{} is discarded: {why}", path.display()));
        // Another process may have been faster, or the folder is read-only.
        let _ = fs::remove_file(path);
    }

    /// Keeps an entry.
    pub(crate) fn store(&self, key: &Key, entry: &Entry) {
        let bytes = entry.encode(key);
        let size = bytes.len() as u64;
        if size > self.settings.limit.min(LARGEST) {
            return;
        }
        let path = self.path(key);
        if let Err(error) = self.write(&path, &bytes) {
            self.complain("cannot be kept in", &path, &error);
            return;
        }
        let held = match self.held.load(Ordering::Relaxed) {
            UNKNOWN => self.look(),
            known => known + size,
        };
        let held = if held > self.settings.limit { self.evict() } else { held };
        self.held.store(held, Ordering::Relaxed);
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.settings.folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Processes in containers may have the same number.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let unfinished = format!("{}-{number}-{now}{UNFINISHED}", std::process::id());
        let unfinished = self.settings.folder.join(unfinished);
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&unfinished, path));
        if written.is_err() {
            // Nothing is left behind; if that fails too, it is removed as abandoned.
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    fn look(&self) -> u64 {
        files(&self.settings.folder).iter().map(|file| file.size).sum()
    }

    /// Removes what was not used for longest, and says how much is left.
    fn evict(&self) -> u64 {
        let mut files = files(&self.settings.folder);
        files.sort_by_key(|file| file.used);
        let mut held: u64 = files.iter().map(|file| file.size).sum();
        for file in files {
            if held <= self.settings.limit / 10 * KEEP {
                break;
            }
            // Another process may have been faster.
            let _ = fs::remove_file(&file.path);
            held -= file.size;
        }
        held
    }
}

/// What a folder holds now.
pub(crate) fn usage(folder: &Path) -> Usage {
    let files = files(folder);
    Usage { entries: files.len() as u64, bytes: files.iter().map(|file| file.size).sum() }
}

/// A whole entry, noted as used just now.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    // SAFETY: it only answers.
    let user = unsafe { libc::geteuid() };
    if ![user, 0].contains(&metadata.uid()) || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "others could have written it"));
    }
    if metadata.len() > LARGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is too large"));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.read_to_end(&mut bytes)?;
    // Where it cannot be noted (a read-only folder), it is as old as it was written.
    let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    Ok(bytes)
}

struct Listed {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// All entries of a folder. What was never finished is removed.
fn files(folder: &Path) -> Vec<Listed> {
    let Ok(listed) = fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for found in listed.flatten() {
        let (path, name) = (found.path(), found.file_name());
        let (Some(name), Ok(metadata)) = (name.to_str(), found.metadata()) else { continue };
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if name.ends_with(SUFFIX) {
            files.push(Listed { path, size: metadata.len(), used });
        } else if name.ends_with(UNFINISHED) && used.elapsed().is_ok_and(|age| age > ABANDONED) {
            // Another process may have been faster.
            let _ = fs::remove_file(path);
        }
    }
    files
}
