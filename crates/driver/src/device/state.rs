//! What belongs to one device of the process: who runs its streams, and the error that a fault of its kernels has left.
use std::io::Write as _;
use std::sync::Arc;

use warploom_exec::fault::Fault;
use warploom_exec::interprocess::activity::DeviceActivity;
use warploom_exec::output::DeviceOutput;
use warploom_exec::pool::Pool;
use warploom_exec::stream::{Engine, Group, Stream, StreamKind};

use crate::DriverResult;
use crate::coredump::Coredumps;
use crate::fault::Sticky;

/// Makes a note to the report of a fault.
pub(crate) type Note = Arc<dyn Fn(&Fault) -> String + Send + Sync>;

/// What fails together. The streams that the driver itself needs, which are no device's, have one too.
pub(crate) struct DeviceState {
    engine: Arc<Engine>,
    sticky: Arc<Sticky>,
    coredumps: Arc<Coredumps>,
    activity: Option<DeviceActivity>,
}

impl DeviceState {
    /// That of the device with this ordinal, of which others see `activity`. The report of a fault goes to standard error, where the kernel's user looks for it.
    pub(crate) fn new(
        pool: &Arc<Pool>,
        activity: Option<DeviceActivity>,
        ordinal: Option<u32>,
        note: Note,
        output: Arc<dyn DeviceOutput>,
    ) -> DeviceState {
        let sticky = Arc::new(Sticky::default());
        let first_fault = Arc::clone(&sticky);
        let coredumps = Arc::new(Coredumps::default());
        let files = Arc::clone(&coredumps);
        let engine = Engine::new(
            pool,
            ordinal,
            Box::new(move |fault| {
                // What was printed before is on the way to where the fault lies; as recorded on an H200, a fault loses nothing of it.
                output.flush();
                // In one piece and first: the program may end as soon as a call fails.
                let mut report = format!("warploom: {fault}{}\n", note(fault));
                if let Some(place) = files.write(&report) {
                    report.push_str(&place);
                }
                // Without standard error nobody reads reports.
                let _ = std::io::stderr().write_all(report.as_bytes());
                first_fault.set(fault);
            }),
        );
        DeviceState { engine, sticky, coredumps, activity }
    }

    /// What its contexts set of coredumps.
    pub(crate) fn coredumps(&self) -> &Coredumps {
        &self.coredumps
    }

    /// Other processes see that it has one context more.
    pub(crate) fn begin_context(&self) {
        self.activity.iter().for_each(DeviceActivity::begin_context);
    }

    /// Other processes see that it has one context less.
    pub(crate) fn end_context(&self) {
        self.activity.iter().for_each(DeviceActivity::end_context);
    }

    /// Who runs its streams.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The error that stays, to be kept by what runs later.
    pub(crate) fn sticky(&self) -> &Arc<Sticky> {
        &self.sticky
    }

    /// Fails once a kernel of the device has faulted.
    ///
    /// # Errors
    /// The sticky error.
    #[inline]
    pub(crate) fn check(&self) -> DriverResult {
        self.sticky.check()
    }

    /// A stream that the program knows nothing of, ordered with no other.
    pub(crate) fn new_stream(&self) -> Stream {
        Stream::new(&self.engine, &Arc::new(Group::default()), StreamKind::NonBlocking, false)
    }
}
