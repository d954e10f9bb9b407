//! Steps that are ready to be put into a stream: whatever can fail has been done, so that a launch is put in as a whole or not at
//! all.
use std::sync::Arc;

use warploom_exec::device_runtime::GraphRun;
use warploom_exec::grid::Launch;
use warploom_exec::stream::Stream;

use super::conditional::Choice;
use super::plan::{Plan, Step};
use super::updatable::Updatable;
use super::{BatchWork, Driver, DriverResult, HostWork, KernelWork, Work};
use crate::context::Limit;
use crate::event::Event;
use crate::launch::LaunchShape;
use crate::memory::{Checked, Fill2d};
use crate::stream::SemaphoreWork;
use crate::{DriverError, ErrorCode};

/// What a step does.
pub(super) enum Ready {
    /// A graph's nodes are steps of their own; memory is there already.
    Nothing,
    Launch(Arc<KernelWork>, Box<Launch>),
    Updatable(Updatable),
    Copy(Checked),
    Copies(Vec<Checked>),
    Fill(Fill2d, u64),
    Host(HostWork),
    Wait(Arc<Event>),
    Record(Arc<Event>),
    Semaphores(Arc<SemaphoreWork>),
    Batch(Arc<BatchWork>),
    Choice(Arc<Choice>),
}

impl Driver {
    /// Makes all steps of a plan that take part ready. What was ready stays so until the step is changed.
    ///
    /// # Errors
    /// As [`Driver::launch`], [`Driver::fill`].
    pub(super) fn make_ready(&self, plan: &mut Plan) -> DriverResult {
        for step in plan.steps.iter_mut().filter(|step| step.is_put()) {
            match &step.ready {
                // The memory that is set may have been freed since the last launch.
                Some(Ready::Fill(fill, _)) => _ = self.check_fill(fill)?,
                Some(_) => {}
                None => step.ready = Some(self.ready(step)?),
            }
        }
        Ok(())
    }

    /// The launch of a kernel node.
    ///
    /// # Errors
    /// As [`Driver::launch`]; `ContextIsDestroyed` for one of a green context that is no more.
    pub(super) fn prepare_kernel(&self, kernel: &KernelWork) -> DriverResult<Launch> {
        self.prepare_kernel_with(kernel, &kernel.shape(), kernel.parameters.clone())
    }

    /// The same with another shape and other parameters.
    pub(super) fn prepare_kernel_with(
        &self,
        kernel: &KernelWork,
        shape: &LaunchShape,
        parameters: Box<[u8]>,
    ) -> DriverResult<Launch> {
        if kernel.green.as_ref().is_some_and(|green| green.is_destroyed()) {
            let reason = "the green context of a kernel node has been destroyed";
            return Err(DriverError::new(ErrorCode::ContextIsDestroyed, reason));
        }
        self.prepare_launch(&kernel.function, shape, parameters, kernel.green.as_deref())
    }

    fn ready(&self, step: &Step) -> DriverResult<Ready> {
        Ok(match &step.work {
            Work::Kernel(kernel) => {
                let launch = self.prepare_kernel(kernel)?;
                match self.updatable(kernel, step.enabled) {
                    Some(updatable) => Ready::Updatable(updatable),
                    None => Ready::Launch(Arc::clone(kernel), Box::new(launch)),
                }
            }
            Work::Copy(copy) => copy.checked.clone().map_or(Ready::Nothing, Ready::Copy),
            Work::Copies(batch) => Ready::Copies(batch.copies.iter().filter_map(|copy| copy.checked.clone()).collect()),
            Work::Fill(fill) => self.check_fill(fill)?.map_or(Ready::Nothing, |extent| Ready::Fill(*fill, extent)),
            Work::Host(host) => Ready::Host(host.clone()),
            Work::WaitEvent(event) => Ready::Wait(Arc::clone(event)),
            Work::RecordEvent(event) => Ready::Record(Arc::clone(event)),
            Work::Semaphores(work) => Ready::Semaphores(Arc::clone(work)),
            Work::Batch(batch) => Ready::Batch(Arc::clone(batch)),
            Work::Conditional(work) => Ready::Choice(self.prepare_choice(work, &step.bodies)?),
            Work::Graph(_) | Work::Empty | Work::Alloc(_) | Work::Free(_) => Ready::Nothing,
        })
    }

    /// Puts what is ready into a stream. Kernels are told which launch of a graph they belong to, if that is said.
    pub(super) fn put_ready(&self, ready: &Ready, stream: &Stream, run: Option<&Arc<GraphRun>>) {
        match ready {
            Ready::Nothing => {}
            Ready::Launch(kernel, launch) => {
                // The limit is that of the time of the launch, and so are the references and who runs the kernel: one that was made
                // ready is loaded.
                let module = kernel.function.module();
                let stack_limit = module.context().limit(Limit::StackSize);
                let objects = self.objects_of(module);
                let mut launch = Launch { stack_limit, objects, graph: run.cloned(), ..Launch::clone(launch) };
                if let Ok(loaded) = kernel.function.loaded(self) {
                    launch.kernel = loaded;
                }
                stream.launch(launch);
            }
            Ready::Updatable(updatable) => updatable.put(stream, self.state_of(stream).sticky(), run),
            Ready::Copy(checked) => {
                checked.clone().put(self.memory(), self.state_of(stream).sticky(), stream);
            }
            Ready::Copies(copies) => {
                for checked in copies {
                    checked.clone().put(self.memory(), self.state_of(stream).sticky(), stream);
                }
            }
            Ready::Fill(fill, extent) => fill.put(*extent, self.memory(), self.state_of(stream).sticky(), stream),
            Ready::Host(host) => self.put_function(host, stream),
            Ready::Wait(event) => {
                if let Some(marker) = event.marker() {
                    stream.wait_for(&marker);
                }
            }
            Ready::Record(event) => event.record_in(stream),
            Ready::Semaphores(work) => self.put_semaphores(work, stream),
            Ready::Batch(batch) => {
                for operation in &batch.operations {
                    self.put_operation(operation, stream);
                }
            }
            Ready::Choice(choice) => choice.put(stream, self.state_of(stream).sticky()),
        }
    }
}
