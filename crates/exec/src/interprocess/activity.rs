//! What a process does with its devices, for others to see: memory in use, contexts, and when kernels ran.
//!
//! It stands in a memory file that the process holds open, which whoever may look into the process finds below `/proc` ([`all`]) and reads. The process only counts,
//! as it would without: nothing is told to anybody, no thread serves it, and the host takes it away with the process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How long a slot is. Those of a device are used in turn: they say how long kernels ran in the last seconds.
pub const SLOT: Duration = Duration::from_millis(50);
const SLOTS: usize = 64;
/// Devices that a file has room for: as many as there may be.
const DEVICES: usize = 64;
/// The first bytes of the file, with the number of its layout.
const MARK: u64 = u64::from_le_bytes(*b"warploo\x01");
/// What the host calls the file in `/proc`.
const NAME: &std::ffi::CStr = c"warploom-activity";

/// The file: atomic numbers only.
#[repr(C)]
struct Page {
    mark: AtomicU64,
    process: AtomicU32,
    count: AtomicU32,
    devices: [Device; DEVICES],
}

#[repr(C)]
struct Device {
    number: AtomicU32,
    contexts: AtomicU32,
    used: AtomicU64,
    /// When the kernels began that run now, in nanoseconds; 0 if none does.
    running_since: AtomicU64,
    /// The number of the slot above, how long kernels ran in it below; see [`busy_slot`].
    slots: [AtomicU64; SLOTS],
}

const SIZE: usize = size_of::<Page>();

/// What this process shows of itself.
pub struct Activity {
    page: *mut Page,
    /// None where nobody is shown anything.
    _file: Option<File>,
}

// SAFETY: the page consists of atomics.
unsafe impl Send for Activity {}
// SAFETY: as above.
unsafe impl Sync for Activity {}

impl Activity {
    /// Of devices with these numbers, for others to see.
    ///
    /// # Errors
    /// The host gives no memory file.
    pub fn shown(numbers: &[u32]) -> io::Result<Arc<Activity>> {
        // SAFETY: the name is a C string; the descriptor returned is new and owned by nobody else.
        let file = unsafe {
            match libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) {
                -1 => return Err(io::Error::last_os_error()),
                descriptor => File::from_raw_fd(descriptor),
            }
        };
        file.set_len(SIZE as u64)?;
        let page = map(libc::MAP_SHARED, file.as_raw_fd())?;
        Ok(Activity::begin(page, Some(file), numbers))
    }

    /// Of so many devices, for this process alone.
    ///
    /// # Errors
    /// The host gives no memory.
    pub fn hidden(devices: u32) -> io::Result<Arc<Activity>> {
        let page = map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        Ok(Activity::begin(page, None, &(0..devices).collect::<Vec<u32>>()))
    }

    fn begin(page: *mut Page, file: Option<File>, numbers: &[u32]) -> Arc<Activity> {
        assert!(numbers.len() <= DEVICES, "there is room for every device");
        let activity = Activity { page, _file: file };
        let page = activity.page();
        for (device, number) in page.devices.iter().zip(numbers) {
            device.number.store(*number, Ordering::Relaxed);
        }
        page.count.store(numbers.len() as u32, Ordering::Relaxed);
        page.process.store(std::process::id(), Ordering::Relaxed);
        page.mark.store(MARK, Ordering::Release);
        Arc::new(activity)
    }

    fn page(&self) -> &Page {
        // SAFETY: a mapping of that size, aligned to a page, that lives as long as this; all bytes are values of atomics.
        unsafe { &*self.page }
    }

    /// What it says of the device with an ordinal.
    pub fn device(self: &Arc<Self>, ordinal: u32) -> DeviceActivity {
        let count = self.page().count.load(Ordering::Relaxed);
        assert!(ordinal < count, "there is no device {ordinal}, only {count}");
        DeviceActivity { activity: Arc::clone(self), ordinal: ordinal as usize }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `map`, into which nothing points any more.
        unsafe { libc::munmap(self.page.cast(), SIZE) };
    }
}

fn map(flags: libc::c_int, descriptor: libc::c_int) -> io::Result<*mut Page> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, of a file of that size or of none.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, access, flags, descriptor, 0) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.cast()) }
}

/// What this process shows of one device. Stands for the number of bytes in use, in which its memory is counted.
#[derive(Clone)]
pub struct DeviceActivity {
    activity: Arc<Activity>,
    ordinal: usize,
}

impl Deref for DeviceActivity {
    type Target = AtomicU64;

    #[inline]
    fn deref(&self) -> &AtomicU64 {
        &self.entry().used
    }
}

impl DeviceActivity {
    #[inline]
    fn entry(&self) -> &Device {
        &self.activity.page().devices[self.ordinal]
    }

    /// Another context is there.
    pub fn begin_context(&self) {
        self.entry().contexts.fetch_add(1, Ordering::Relaxed);
    }

    /// One is gone.
    pub fn end_context(&self) {
        self.entry().contexts.fetch_sub(1, Ordering::Relaxed);
    }

    /// Kernels run from now on. By one thread at a time, as [`DeviceActivity::rest`].
    pub(crate) fn run(&self) {
        self.entry().running_since.store(now(), Ordering::Release);
    }

    /// No kernel runs any more.
    pub(crate) fn rest(&self) {
        let entry = self.entry();
        self.count_from(entry.running_since.load(Ordering::Relaxed));
        entry.running_since.store(0, Ordering::Release);
    }

    /// Kernels have run for so long until now. As [`DeviceActivity::run`], while none is known to.
    pub(crate) fn ran(&self, time: Duration) {
        self.count_from(now().saturating_sub(time.as_nanos() as u64));
    }

    fn count_from(&self, since: u64) {
        for (number, within) in slots_between(since, now()) {
            let slot = &self.entry().slots[number as usize % SLOTS];
            slot.store(busy_slot(number, within + time_in(slot.load(Ordering::Relaxed), number)), Ordering::Release);
        }
    }
}

/// Nanoseconds since the machine started: the same in all of its processes.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the result is ours; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

const SLOT_NANOSECONDS: u64 = SLOT.as_nanos() as u64;

/// A slot as it stands in the file. Of its number there are the low 32 bits, which come again after years.
fn busy_slot(number: u64, nanoseconds: u64) -> u64 {
    number << 32 | nanoseconds
}

/// How long kernels ran in the slot with a number, by what stands in its place.
fn time_in(slot: u64, number: u64) -> u64 {
    if slot >> 32 == number & 0xffff_ffff { slot & 0xffff_ffff } else { 0 }
}

/// The slots between two times, the last ones if there are too many, and how much of each lies between them.
fn slots_between(from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
    let first = from / SLOT_NANOSECONDS;
    let last = to / SLOT_NANOSECONDS;
    (first.max((last + 1).saturating_sub(SLOTS as u64))..=last).map(move |number| {
        let start = number * SLOT_NANOSECONDS;
        (number, to.min(start + SLOT_NANOSECONDS).saturating_sub(from.max(start)))
    })
}

/// What a process says of itself.
#[derive(Clone, Debug)]
pub struct ProcessActivity {
    /// Its number, as this process knows it.
    pub process: u32,
    /// Its devices, by their number on the machine.
    pub devices: BTreeMap<u32, DeviceUse>,
}

/// What a process says of a device.
#[derive(Clone, Debug)]
pub struct DeviceUse {
    /// How many contexts it has there.
    pub contexts: u32,
    /// Bytes of device memory that it has.
    pub used: u64,
    running_since: u64,
    slots: [u64; SLOTS],
}

impl DeviceUse {
    /// How long its kernels ran between two times of [`now`], the first one not more than three seconds ago.
    pub fn busy(&self, from: u64, to: u64) -> Duration {
        let ended = slots_between(from, to).map(|(number, within)| {
            let ran = time_in(self.slots[number as usize % SLOTS], number);
            // Which part of the slot it was is not known; the slot of this moment has no more than that yet.
            ran.min(within)
        });
        let still = if self.running_since == 0 { 0 } else { to.saturating_sub(self.running_since.max(from)) };
        Duration::from_nanos((ended.sum::<u64>() + still).min(to.saturating_sub(from)))
    }
}

/// All processes that this one may look into and that use devices, in ascending order of their numbers.
pub fn all() -> Vec<ProcessActivity> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut all: Vec<ProcessActivity> = numbers.filter_map(of).collect();
    all.sort_by_key(|activity| activity.process);
    all
}

/// What a process says of itself, if it uses devices and lets this one look.
pub fn of(process: u32) -> Option<ProcessActivity> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).ok()?.flatten();
    let mut own = descriptors.filter(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let name = target.as_os_str().as_encoded_bytes().strip_prefix(b"/memfd:");
        name.and_then(|name| name.strip_prefix(NAME.to_bytes())).is_some_and(|rest| rest == b" (deleted)")
    });
    own.find_map(|entry| read(process, &File::open(entry.path()).ok()?))
}

/// A forked process has its parent's file, which says nothing of it.
fn read(process: u32, file: &File) -> Option<ProcessActivity> {
    let mut bytes = vec![0; SIZE];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    if word(std::mem::offset_of!(Page, mark)) != MARK || half(std::mem::offset_of!(Page, process)) != inside(process)? {
        return None;
    }
    let count = half(std::mem::offset_of!(Page, count)) as usize;
    let devices = (0..count.min(DEVICES)).map(|ordinal| {
        let entry = std::mem::offset_of!(Page, devices) + ordinal * size_of::<Device>();
        let slots = entry + std::mem::offset_of!(Device, slots);
        let of_device = DeviceUse {
            contexts: half(entry + std::mem::offset_of!(Device, contexts)),
            used: word(entry + std::mem::offset_of!(Device, used)),
            running_since: word(entry + std::mem::offset_of!(Device, running_since)),
            slots: std::array::from_fn(|slot| word(slots + slot * size_of::<u64>())),
        };
        (half(entry + std::mem::offset_of!(Device, number)), of_device)
    });
    Some(ProcessActivity { process, devices: devices.collect() })
}

/// The number that a process has for itself, which is another in a namespace.
fn inside(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.map_or(Some(process), |numbers| numbers.split_whitespace().next_back()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_see_what_is_counted() {
        let activity = Activity::shown(&[2, 0]).unwrap();
        let (first, second) = (activity.device(0), activity.device(1));
        first.fetch_add(4096, Ordering::Relaxed);
        second.begin_context();
        second.begin_context();
        second.end_context();
        // Other tests of this process may show devices too.
        let seen = |file: &File| read(std::process::id(), file).expect("it is this process's");
        let seen = seen(activity._file.as_ref().unwrap());
        assert_eq!(seen.devices.keys().copied().collect::<Vec<_>>(), [0, 2]);
        assert_eq!((seen.devices[&2].used, seen.devices[&2].contexts), (4096, 0));
        assert_eq!((seen.devices[&0].used, seen.devices[&0].contexts), (0, 1));
        assert!(all().iter().any(|process| process.process == std::process::id()));
    }

    #[test]
    fn time_is_counted_in_slots() {
        let activity = Activity::shown(&[0]).unwrap();
        let device = activity.device(0);
        let seen = || {
            let seen = read(std::process::id(), activity._file.as_ref().unwrap()).unwrap();
            let now = now();
            seen.devices[&0].busy(now - 1_000_000_000, now)
        };
        assert_eq!(seen(), Duration::ZERO);
        device.run();
        std::thread::sleep(Duration::from_millis(120));
        let running = seen();
        assert!(running >= Duration::from_millis(119), "{running:?}");
        device.rest();
        let ended = seen();
        assert!(ended >= running && ended <= running + Duration::from_millis(100), "{running:?}, then {ended:?}");
    }

    #[test]
    fn slots_cover_the_time_between() {
        let s = SLOT_NANOSECONDS;
        let of = |from, to| slots_between(from, to).collect::<Vec<_>>();
        assert_eq!(of(10 * s + 1, 10 * s + 5), [(10, 4)]);
        assert_eq!(of(10 * s + 1, 12 * s), [(10, s - 1), (11, s), (12, 0)]);
        assert_eq!(of(0, 1000 * s).len(), SLOTS);
        assert_eq!(time_in(busy_slot(7 + (1 << 32), 9), 7), 9);
        assert_eq!(time_in(busy_slot(7, 9), 8), 0);
    }
}
