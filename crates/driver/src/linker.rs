//! Linking: several inputs with PTX become one image, which loads like any other, in another process too.
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_device_runtime as device_runtime;
use warploom_ptx::diagnostic::APPLICATION_INPUT;
use warploom_ptx::image::{Container, ElfKind, Fatbin, read_container, write_container};
use warploom_ptx::{FailureClass, VerifiedModule};

use crate::driver::Driver;
use crate::handle::Handle;
use crate::module::{Best, Image, JitLogs, JitOptions, damaged, no_binary, none_for, refused, unlinkable};
use crate::stack::with_room;
use crate::{DriverError, DriverResult, ErrorCode};

/// One link in progress, or done.
pub struct Linker {
    handle: Handle,
    options: JitOptions,
    state: Mutex<LinkState>,
}

#[derive(Default)]
struct LinkState {
    linker: warploom_ptx::Linker,
    /// The inputs, which are the image.
    texts: Vec<(String, String)>,
    logs: JitLogs,
    /// What made the link fail: an input that does not go with the others, or is no image of ours where it is said to be one. Texts that were refused are
    /// left out, and what comes behind them is taken (recorded on an H200, `tests/c/answers/links.golden`).
    failed: Option<DriverError>,
    /// It was asked to complete, and all inputs had been taken.
    completed: bool,
    /// Lives as long as the link.
    image: Option<Linked>,
}

/// An image, and what it holds, which nobody has to translate again.
struct Linked {
    image: Arc<[u8]>,
    module: Arc<VerifiedModule>,
}

impl LinkState {
    /// The link has failed, and the error is its answer from now on.
    fn fail(&mut self, error: DriverError) -> DriverError {
        self.failed = Some(error.clone());
        error
    }
}

/// What an input is said to be (`CUjitInputType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkInput {
    /// An image that a link gave.
    Cubin,
    /// PTX text.
    Ptx,
    /// A fat binary.
    FatBinary,
    /// A host object or library with device code in it: not taken apart, but for the device's runtime library, which is built in.
    Host,
}

impl LinkInput {
    /// The kind with this number.
    ///
    /// # Errors
    /// `InvalidValue` for other numbers; NVVM code is not linked since CUDA 13.
    pub fn from_number(number: u32) -> DriverResult<LinkInput> {
        Ok(match number {
            0 => LinkInput::Cubin,
            1 => LinkInput::Ptx,
            2 => LinkInput::FatBinary,
            3 | 4 => LinkInput::Host,
            _ => return Err(DriverError::invalid_value(format!("{number} is no kind of input"))),
        })
    }
}

impl Driver {
    /// Begins a link.
    ///
    /// # Errors
    /// Those of [`Driver::current`]; `OutOfMemory` if there are no handles left.
    pub fn create_linker(&self, options: JitOptions) -> DriverResult<Handle> {
        self.current()?;
        let state = Mutex::default();
        Ok(self.linkers.insert(|handle| Linker { handle, options, state })?.handle)
    }

    /// Ends a link, and its image.
    ///
    /// # Errors
    /// `InvalidHandle` for NULL, stale and foreign handles.
    pub fn destroy_linker(&self, linker: Handle) -> DriverResult {
        self.linkers.remove(linker).map(|_| ())
    }

    /// Adds an input under the name that messages call it by.
    ///
    /// # Errors
    /// `InvalidHandle`; `InvalidValue` once it was tried to complete the link; `InvalidImage` and what else [`Driver::translate`]
    /// answers for the input; `InvalidSource` for a symbol that another input defines. What has made the link fail is answered for all inputs behind it.
    pub fn add_link_input(&self, linker: Handle, kind: LinkInput, name: &str, bytes: Vec<u8>) -> DriverResult {
        let linker = self.linkers.lookup(linker)?;
        let mut state = linker.state.lock();
        if state.completed {
            return Err(DriverError::invalid_value("the link is complete"));
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        let texts = match self.link_texts(&linker.options, kind, name, bytes, &mut state.logs) {
            Err(error) if kind == LinkInput::Cubin => {
                return Err(state.fail(error));
            }
            texts => texts?,
        };
        for (name, text) in texts {
            self.add_text(&linker.options, &mut state, name, text)?;
        }
        Ok(())
    }

    /// The PTX in an input.
    fn link_texts(
        &self,
        options: &JitOptions,
        kind: LinkInput,
        name: &str,
        bytes: Vec<u8>,
        logs: &mut JitLogs,
    ) -> DriverResult<Vec<(String, String)>> {
        let one = |text: &[u8]| {
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            vec![(name.to_owned(), String::from_utf8_lossy(&text[..end]).into_owned())]
        };
        if kind == LinkInput::Host && device_runtime::is_archive(&bytes) {
            return Ok(Vec::new());
        }
        match (kind, Image::from_bytes(bytes)) {
            (LinkInput::Ptx | LinkInput::FatBinary, Image::Text(text)) => Ok(one(&text)),
            (LinkInput::FatBinary, Image::FatBinary(bytes)) => {
                let binary = Fatbin::parse(&bytes).map_err(|error| damaged(&error))?;
                match self.best_entry(&binary, options)? {
                    Some(Best::Text(text)) => Ok(one(&text)),
                    Some(Best::Container(container)) => Ok(container.texts),
                    None => Err(none_for(&binary, self.ptx_options(options).sm, logs)),
                }
            }
            (LinkInput::Cubin, Image::Elf(bytes)) => match ElfKind::of_file(&bytes) {
                ElfKind::Container(_) => {
                    read_container(&bytes).map(|container| container.texts).map_err(|error| damaged(&error))
                }
                ElfKind::MachineCode => Err(no_binary(logs)),
                ElfKind::Other => Err(DriverError::new(ErrorCode::InvalidImage, "the ELF file is not for a GPU")),
            },
            (LinkInput::Host, _) => {
                let reason = "host objects and libraries are not taken apart; link their PTX";
                logs.complain(&format!("error   : {reason}"));
                Err(DriverError::new(ErrorCode::NotSupported, reason))
            }
            (kind, _) => Err(not_recognized(kind, logs)),
        }
    }

    fn add_text(&self, options: &JitOptions, state: &mut LinkState, name: String, text: String) -> DriverResult {
        if device_runtime::is_library(&text) {
            return Ok(());
        }
        let input = match with_room(|| warploom_ptx::compile(text.as_bytes(), &self.ptx_options(options))) {
            Ok(input) => input,
            Err(failure) if failure.class == FailureClass::InvalidImage => {
                return Err(not_recognized(LinkInput::Ptx, &mut state.logs));
            }
            Err(failure) => return Err(refused(&failure, APPLICATION_INPUT, &mut state.logs)),
        };
        if let Err(messages) = state.linker.add(&name, input) {
            let error = unlinkable(&messages, &mut state.logs);
            return Err(state.fail(error));
        }
        state.texts.push((name, text));
        Ok(())
    }

    /// Completes a link: the image, which lives as long as the link.
    ///
    /// # Errors
    /// `InvalidHandle`, also for a link that is complete; `InvalidSource` for undefined symbols; what has made the link fail before.
    pub fn complete_link(&self, linker: Handle) -> DriverResult<Arc<[u8]>> {
        let linker = self.linkers.lookup(linker)?;
        let mut state = linker.state.lock();
        let state = &mut *state;
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        if std::mem::replace(&mut state.completed, true) {
            return Err(DriverError::new(ErrorCode::InvalidHandle, "the link is complete"));
        }
        if device_runtime::is_wanted(&state.linker) {
            let (name, text) = device_runtime::COOPERATIVE;
            self.add_text(&linker.options, state, name.to_owned(), text.to_owned())?;
        }
        let module = match state.linker.complete() {
            Ok(module) => module,
            Err(messages) => {
                if let Some(reason) = device_runtime::missing(&state.linker) {
                    state.logs.complain(&format!("error   : {reason}"));
                }
                let error = unlinkable(&messages, &mut state.logs);
                return Err(state.fail(error));
            }
        };
        if let Some(reason) = device_runtime::without_device(&module, self.ptx_options(&linker.options).sm) {
            state.logs.complain(&format!("error   : {reason}"));
            let error = DriverError::new(ErrorCode::InvalidSource, reason);
            return Err(state.fail(error));
        }
        self.note_kernels(&module, &linker.options, &mut state.logs);
        let most_registers = linker.options.most_registers;
        let sm = self.ptx_options(&linker.options).sm;
        let container = Container { texts: std::mem::take(&mut state.texts), most_registers, sm };
        let image: Arc<[u8]> = write_container(&container).map_err(|error| damaged(&error))?.into();
        state.image = Some(Linked { image: Arc::clone(&image), module: Arc::new(module) });
        Ok(image)
    }

    /// What an image holds that a link has made which is still there, for a program that loads it at once, the same for the same device, and how many registers its kernels
    /// are to have at most.
    pub(crate) fn linked(&self, image: &[u8], options: &JitOptions) -> Option<(Arc<VerifiedModule>, Option<u32>)> {
        let wanted = self.ptx_options(options);
        // A link that is at work has no image yet.
        let same = |linker: &Linker| {
            linker.state.try_lock().is_some_and(|state| {
                let same = |linked: &Linked| *linked.image == *image && self.ptx_options(&linker.options) == wanted;
                state.image.as_ref().is_some_and(same)
            })
        };
        let linker = self.linkers.find(same)?;
        let module = linker.state.lock().image.as_ref().map(|linked| Arc::clone(&linked.module))?;
        Some((module, linker.options.most_registers))
    }

    /// What a link has to say so far.
    ///
    /// # Errors
    /// `InvalidHandle`.
    pub fn link_logs(&self, linker: Handle) -> DriverResult<JitLogs> {
        Ok(self.linkers.lookup(linker)?.state.lock().logs.clone())
    }
}

/// What an input that is not of its kind answers, with the log line that programs know.
fn not_recognized(kind: LinkInput, logs: &mut JitLogs) -> DriverError {
    logs.complain("error   : Binary format for key='0', ident='' is not recognized");
    DriverError::new(ErrorCode::InvalidImage, format!("the input is no {kind:?}"))
}
