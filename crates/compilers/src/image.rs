//! PTX becomes an image that our driver loads, checked as `ptxas` checks it.
use warploom_ptx::diagnostic::{APPLICATION_INPUT, error_log, info_log};
use warploom_ptx::image::{Container, write_container};
use warploom_ptx::resources::{Shape, notes};
use warploom_ptx::{Linker, Options};

/// What the image is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The compute capability, times ten.
    pub(crate) sm: u32,
    /// The most registers that a thread of a kernel is to have.
    pub(crate) most_registers: Option<u32>,
    /// Whether another link may bring what is missing.
    pub(crate) relocatable: bool,
    /// Whether to say what each kernel needs.
    pub(crate) verbose: bool,
}

/// What became of a text.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) file: Vec<u8>,
    /// Lines for a log.
    pub(crate) remarks: String,
}

/// Reading text nests; a program's threads may have little room. Starts on a stack of its own where less than this is left, in bytes.
const ENOUGH: usize = 256 << 10;
/// Bytes of a stack of its own.
const OWN: usize = 1 << 20;

/// Makes an image of a text; else the lines that say what is wrong with it.
pub(crate) fn assemble(text: String, settings: Settings) -> Result<Image, String> {
    stacker::maybe_grow(ENOUGH, OWN, || {
        let Settings { sm, most_registers, relocatable, verbose } = settings;
        let options = Options { driver_version: warploom_abi::CUDA_VERSION.unsigned_abs(), sm };
        let input = warploom_ptx::compile(text.as_bytes(), &options)
            .map_err(|failure| error_log(&failure.source, APPLICATION_INPUT, &failure.diagnostics))?;
        let mut remarks = vec![info_log(&text, APPLICATION_INPUT, input.warnings())];
        let failed = |messages: Vec<String>| {
            messages.iter().map(|message| format!("ptxas fatal   : {message}")).collect::<Vec<_>>().join("\n")
        };
        let mut linker = Linker::new();
        linker.add(APPLICATION_INPUT, input).map_err(failed)?;
        match linker.complete() {
            Ok(module) if verbose => {
                remarks.push(notes(&module, sm, most_registers, Shape::Assembler, |_| true));
            }
            Err(messages) if !relocatable => return Err(failed(messages)),
            _ => {}
        }
        let container = Container { texts: vec![(APPLICATION_INPUT.to_owned(), text)], most_registers, sm };
        let file = write_container(&container).map_err(|error| format!("ptxas fatal   : {error}"))?;
        remarks.retain(|remark| !remark.is_empty());
        Ok(Image { file, remarks: remarks.join("\n") })
    })
}
