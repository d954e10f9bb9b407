//! Translation of images to code: options, and the logs that come back.
use std::borrow::Cow;
use std::io::Write as _;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use warploom_ptx::diagnostic::{self, APPLICATION_INPUT, error_log, info_log};
use warploom_ptx::image::{Container, ElfKind, EntryKind, Fatbin, ImageError, read_container};
use warploom_ptx::resources::{Shape, notes};
use warploom_ptx::{Failure, FailureClass, Linker, Options, VerifiedModule};

use super::{Code, Image};
use crate::driver::Driver;
use crate::stack::with_room;
use crate::{DriverError, DriverResult, ErrorCode};

/// What a program asks of the translation of PTX, as far as it means something here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    /// The compute capability to translate for, if it is not the device's (`CU_JIT_TARGET`).
    pub target: Option<u32>,
    /// Kernels are to have no more registers than this (`CU_JIT_MAX_REGISTERS`).
    pub most_registers: Option<u32>,
    /// Notes about each kernel are wanted in the info log (`CU_JIT_LOG_VERBOSE`).
    pub verbose: bool,
}

/// What the translation has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitLogs {
    /// Errors, one a line.
    pub errors: String,
    /// Notes, one a line.
    pub info: String,
    /// How long it took.
    pub time: Duration,
}

impl JitLogs {
    /// Adds lines to the errors.
    pub(crate) fn complain(&mut self, lines: &str) {
        append(&mut self.errors, lines);
    }

    /// Adds lines to the notes.
    pub(super) fn note(&mut self, lines: &str) {
        append(&mut self.info, lines);
    }
}

/// Lines are separated, not ended, by line feeds.
fn append(log: &mut String, lines: &str) {
    if !log.is_empty() && !lines.is_empty() {
        log.push('\n');
    }
    log.push_str(lines);
}

/// Up to this many bytes an ELF file holds its header and nothing else.
const EMPTY_ELF: usize = 64;

/// What PTX that was refused answers; the log says everything, the error the first thing.
pub(crate) fn refused(failure: &Failure, name: &str, logs: &mut JitLogs) -> DriverError {
    logs.complain(&error_log(&failure.source, name, &failure.diagnostics));
    let code = match failure.class {
        FailureClass::InvalidImage => ErrorCode::InvalidImage,
        FailureClass::UnsupportedPtxVersion => ErrorCode::UnsupportedPtxVersion,
        FailureClass::InvalidPtx => ErrorCode::InvalidPtx,
    };
    let log = error_log(&failure.source, name, &failure.diagnostics);
    let first = log.lines().next().unwrap_or("the PTX is not valid");
    match failure
        .diagnostics
        .iter()
        .find(|problem| problem.code == diagnostic::Code::Target)
        .and_then(|told| told.notes.first())
    {
        None => DriverError::new(code, first.to_owned()),
        Some(hint) => {
            say_once(hint, first);
            DriverError::new(code, format!("{first} ({hint})"))
        }
    }
}

/// Tells on standard error what helps, once: few programs tell more than the result code.
fn say_once(hint: &str, problem: &str) {
    static SAID: Once = Once::new();
    // Without standard error nobody reads hints.
    SAID.call_once(|| _ = writeln!(std::io::stderr(), "warploom: {problem}\n  = hint: {hint}"));
}

/// What inputs that do not fit together answer.
pub(crate) fn unlinkable(messages: &[String], logs: &mut JitLogs) -> DriverError {
    for message in messages {
        logs.complain(&format!("error   : {message}"));
    }
    let first = messages.first().cloned().unwrap_or_default();
    DriverError::new(ErrorCode::InvalidSource, format!("the inputs cannot be linked: {first}"))
}

pub(crate) fn damaged(error: &ImageError) -> DriverError {
    DriverError::new(ErrorCode::InvalidImage, error.to_string())
}

/// What machine code alone lacks, and what helps.
const MACHINE_CODE: (&str, &str) = (
    "the image holds no PTX that this device can run, only machine code for GPUs",
    "build it with PTX, as nvcc does with -gencode arch=compute_NN,code=compute_NN, or by the nvcc of a folder that `warploom toolkit` makes",
);

/// What an image with nothing but machine code answers.
pub(crate) fn no_binary(logs: &mut JitLogs) -> DriverError {
    let (reason, hint) = MACHINE_CODE;
    logs.complain(&format!("error   : {reason}; {hint}"));
    DriverError::new(ErrorCode::NoBinaryForGpu, format!("{reason}; {hint}"))
}

/// Where a fat binary has PTX for devices newer than this one only, of compute capability `device` (times ten): why, and what helps.
fn newer_only(binary: &Fatbin<'_>, device: u32) -> Option<(String, String)> {
    let newer = binary.entries.iter().filter(|entry| entry.holds_ptx()).map(|entry| entry.architecture.sm);
    let sm = newer.filter(|sm| *sm > device).min()?;
    Some((
        format!("the image holds PTX for sm_{sm} and newer devices only, and this one is sm_{device}"),
        format!("a device sm_{sm} loads it: --device sm_{sm}, or WARPLOOM_DEVICE=sm_{sm}"),
    ))
}

/// What a fat binary answers in which there is nothing for a device.
pub(crate) fn none_for(binary: &Fatbin<'_>, device: u32, logs: &mut JitLogs) -> DriverError {
    let Some((reason, hint)) = newer_only(binary, device) else { return no_binary(logs) };
    logs.complain(&format!("error   : {reason}"));
    DriverError::new(ErrorCode::NoBinaryForGpu, format!("{reason} ({hint})"))
}

/// Says on standard error too what an image lacks that is to be loaded: some programs look at no result code. Links may do without an input.
fn say_what_is_missing(binary: Option<&Fatbin<'_>>, device: u32) {
    match binary.and_then(|binary| newer_only(binary, device)) {
        Some((reason, hint)) => say_once(&hint, &reason),
        None => say_once(MACHINE_CODE.1, MACHINE_CODE.0),
    }
}

impl Driver {
    /// Translates an image. The logs are there in any case.
    ///
    /// # Errors
    /// `InvalidImage` for what is no image, `InvalidPtx`, `UnsupportedPtxVersion`, `NoBinaryForGpu` for an image with
    /// nothing but machine code.
    pub fn translate(&self, image: &Image, options: &JitOptions, logs: &mut JitLogs) -> DriverResult<Arc<Code>> {
        let start = Instant::now();
        let mut most_registers = options.most_registers;
        let result = with_room(|| match image {
            Image::Text(text) => self.translate_text(text, options, logs),
            Image::Elf(bytes) => self.translate_elf(bytes, options, &mut most_registers, logs),
            Image::FatBinary(bytes) => self.translate_fat_binary(bytes, options, &mut most_registers, logs),
            // A wrapper around nothing is no image, as recorded.
            Image::WrappedFatBinary(bytes) if Fatbin::parse(bytes).is_ok_and(|binary| binary.entries.is_empty()) => {
                Err(DriverError::new(ErrorCode::InvalidImage, "the fat binary is empty"))
            }
            Image::WrappedFatBinary(bytes) => self.translate_fat_binary(bytes, options, &mut most_registers, logs),
        });
        logs.time += start.elapsed();
        Ok(Code::new(result?, most_registers))
    }

    /// Notes what each kernel of a link needs, if the program wants to know. Loading has nothing to say, as recorded.
    pub(crate) fn note_kernels(&self, module: &VerifiedModule, options: &JitOptions, logs: &mut JitLogs) {
        if options.verbose {
            let sm = self.ptx_options(options).sm;
            logs.note(&notes(module, sm, options.most_registers, Shape::Log, |_| true));
        }
    }

    /// For whom PTX is translated.
    pub(crate) fn ptx_options(&self, options: &JitOptions) -> Options {
        Options {
            driver_version: self.options().machine.cuda_version.unsigned_abs(),
            sm: options.target.unwrap_or(self.options().machine.compute_capability),
        }
    }

    fn translate_text(
        &self,
        text: &[u8],
        options: &JitOptions,
        logs: &mut JitLogs,
    ) -> DriverResult<Arc<VerifiedModule>> {
        let module = warploom_ptx::load(text, &self.ptx_options(options))
            .map_err(|failure| refused(&failure, APPLICATION_INPUT, logs))?;
        let source = String::from_utf8_lossy(text);
        logs.note(&info_log(&source, APPLICATION_INPUT, module.warnings()));
        Ok(Arc::new(module))
    }

    /// `most_registers` becomes what an image that was linked brings along, if the program does not say.
    fn translate_elf(
        &self,
        bytes: &[u8],
        options: &JitOptions,
        most_registers: &mut Option<u32>,
        logs: &mut JitLogs,
    ) -> DriverResult<Arc<VerifiedModule>> {
        match ElfKind::of_file(bytes) {
            ElfKind::Container(_) => {
                if let Some((module, most)) = self.linked(bytes, options) {
                    *most_registers = most_registers.or(most);
                    return Ok(module);
                }
                let container = read_container(bytes).map_err(|error| damaged(&error))?;
                self.translate_container(&container, options, most_registers, logs)
            }
            // A file for GPUs without any content is not understood by the real driver either, as recorded.
            ElfKind::MachineCode if bytes.len() <= EMPTY_ELF => {
                Err(DriverError::new(ErrorCode::Unknown, "the ELF file for a GPU is empty"))
            }
            ElfKind::MachineCode => {
                say_what_is_missing(None, self.ptx_options(options).sm);
                Err(no_binary(logs))
            }
            ElfKind::Other => {
                Err(DriverError::new(ErrorCode::InvalidImage, "the ELF file is not for a GPU, or is damaged"))
            }
        }
    }

    fn translate_container(
        &self,
        container: &Container,
        options: &JitOptions,
        most_registers: &mut Option<u32>,
        logs: &mut JitLogs,
    ) -> DriverResult<Arc<VerifiedModule>> {
        *most_registers = most_registers.or(container.most_registers);
        // Which functions may be declared in different ways whoever made the image has decided.
        let mut linker = Linker::with_any_prototypes();
        for (name, text) in &container.texts {
            let input = warploom_ptx::compile(text.as_bytes(), &self.ptx_options(options))
                .map_err(|failure| refused(&failure, name, logs))?;
            linker.add(name, input).map_err(|messages| unlinkable(&messages, logs))?;
        }
        linker.complete().map(Arc::new).map_err(|messages| unlinkable(&messages, logs))
    }

    fn translate_fat_binary(
        &self,
        bytes: &[u8],
        options: &JitOptions,
        most_registers: &mut Option<u32>,
        logs: &mut JitLogs,
    ) -> DriverResult<Arc<VerifiedModule>> {
        let binary = Fatbin::parse(bytes).map_err(|error| damaged(&error))?;
        match self.best_entry(&binary, options)? {
            Some(Best::Text(text)) => self.translate_text(&text, options, logs),
            Some(Best::Container(container)) => self.translate_container(&container, options, most_registers, logs),
            None => {
                let device = self.ptx_options(options).sm;
                say_what_is_missing(Some(&binary), device);
                Err(none_for(&binary, device, logs))
            }
        }
    }

    /// What of a fat binary is loaded: the best of its entries that the device runs and that is no machine code.
    ///
    /// # Errors
    /// `InvalidImage` for a damaged text.
    pub(crate) fn best_entry<'a>(&self, binary: &Fatbin<'a>, options: &JitOptions) -> DriverResult<Option<Best<'a>>> {
        for entry in binary.entries_for(self.ptx_options(options).sm) {
            if entry.kind == EntryKind::Ptx {
                return entry.content().map(|text| Some(Best::Text(text))).map_err(|error| damaged(&error));
            }
            // What is left out is machine code, whole or damaged.
            if entry.holds_container() {
                let container = entry.content().and_then(|file| read_container(&file));
                return container.map(|container| Some(Best::Container(container))).map_err(|error| damaged(&error));
            }
        }
        Ok(None)
    }
}

/// What of a fat binary is loaded.
pub(crate) enum Best<'a> {
    /// A PTX text.
    Text(Cow<'a, [u8]>),
    /// What a link or our assembler made.
    Container(Container),
}
