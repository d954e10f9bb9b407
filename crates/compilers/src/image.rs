//! PTX becomes an image that our driver loads, checked as `ptxas` checks it.
use warploom_device_runtime as device_runtime;
use warploom_ptx::diagnostic::{error_log, info_log};
use warploom_ptx::image::{Container, write_container};
use warploom_ptx::resources::{Shape, notes};
use warploom_ptx::{Linker, Options};

/// What the image is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The compute capability, times ten.
    pub sm: u32,
    /// The most registers that a thread of a kernel is to have.
    pub most_registers: Option<u32>,
    /// Whether another link may bring what is missing.
    pub relocatable: bool,
    /// Whether functions may be declared otherwise than they are defined.
    pub any_prototypes: bool,
    /// Whether to say what each kernel needs.
    pub verbose: bool,
}

/// An image in the making: texts that become one program.
#[derive(Debug, Default)]
pub struct Assembly {
    settings: Settings,
    linker: Linker,
    texts: Vec<(String, String)>,
    remarks: Vec<String>,
}

/// What became of the texts.
#[derive(Debug)]
pub struct Image {
    /// The ELF file.
    pub file: Vec<u8>,
    /// Lines for a log.
    pub remarks: String,
}

/// Reading text nests; a program's threads may have little room. Starts on a stack of its own where less than this is left, in bytes.
const ENOUGH: usize = 256 << 10;
/// Bytes of a stack of its own.
const OWN: usize = 1 << 20;

impl Assembly {
    /// Without texts.
    pub fn new(settings: Settings) -> Assembly {
        let linker = if settings.any_prototypes { Linker::with_any_prototypes() } else { Linker::new() };
        Assembly { settings, linker, ..Assembly::default() }
    }

    /// Adds a text under the name that messages call it by, or says what is wrong with it, in lines as an assembler writes them.
    pub fn add(&mut self, name: &str, text: String) -> Result<(), String> {
        stacker::maybe_grow(ENOUGH, OWN, || {
            let options = Options { driver_version: warploom_abi::CUDA_VERSION.unsigned_abs(), sm: self.settings.sm };
            let input = warploom_ptx::compile(text.as_bytes(), &options)
                .map_err(|failure| error_log(&failure.source, name, &failure.diagnostics))?;
            self.remarks.push(info_log(&text, name, input.warnings()));
            self.linker.add(name, input).map_err(|messages| lines("error   : ", &messages))?;
            self.texts.push((name.to_owned(), text));
            Ok(())
        })
    }

    /// What functions are declared otherwise than they are defined, in lines as a linker writes them.
    pub fn mismatches(&self) -> String {
        lines("error   : ", self.linker.mismatches())
    }

    /// Adds what the device's runtime library has and the texts lack.
    pub fn add_device_runtime(&mut self) -> Result<(), String> {
        let (name, text) = device_runtime::COOPERATIVE;
        if device_runtime::is_wanted(&self.linker) { self.add(name, text.to_owned()) } else { Ok(()) }
    }

    /// The image; else messages that say what is missing.
    pub fn complete(mut self) -> Result<Image, Vec<String>> {
        let Settings { sm, most_registers, relocatable, verbose, .. } = self.settings;
        match stacker::maybe_grow(ENOUGH, OWN, || self.linker.complete()) {
            Ok(module) => {
                if let Some(message) = device_runtime::without_device(&module, sm) {
                    return Err(vec![message]);
                }
                if verbose {
                    self.remarks.push(notes(&module, sm, most_registers, Shape::Assembler, |_| true));
                }
            }
            Err(mut messages) if !relocatable => {
                messages.extend(device_runtime::missing(&self.linker));
                return Err(messages);
            }
            Err(_) => {}
        }
        let container = Container { texts: self.texts, most_registers, sm };
        let file = write_container(&container).map_err(|error| vec![error.to_string()])?;
        self.remarks.retain(|remark| !remark.is_empty());
        Ok(Image { file, remarks: self.remarks.join("\n") })
    }
}

/// A line for each message.
pub fn lines(start: &str, messages: &[String]) -> String {
    messages.iter().map(|message| format!("{start}{message}")).collect::<Vec<_>>().join("\n")
}
