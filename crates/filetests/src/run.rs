//! One filetest on one driver.
use std::path::Path;

use anyhow::Result;

use crate::device::Device;
use crate::format::{Buffer, Direction, Expectation, FileTest, Parameter};

/// How a filetest ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As the file says.
    Passed,
    /// Not so; the text says where.
    Failed(String),
    /// The device is older than the file asks for.
    Skipped,
    /// With `bless`: the file with the driver's values in place of its own.
    Blessed(String),
}

/// Runs `test` on the driver `library`, which loads `image`: the file's text, or what was made of it. With `bless` the outputs are taken from the driver instead of compared.
pub fn run(test: &FileTest, image: &[u8], library: &Path, bless: bool) -> Result<Outcome> {
    let device = Device::open(library)?;
    if test.device.is_some_and(|least| device.architecture().is_ok_and(|sm| sm < least)) {
        return Ok(Outcome::Skipped);
    }
    let module = match (device.load(image)?, &test.expectation) {
        (Ok(_), Expectation::LoadError(code)) => {
            return Ok(Outcome::Failed(format!("the module loaded, expected {code}")));
        }
        (Ok(module), _) => module,
        (Err(failure), Expectation::LoadError(code)) if failure.code == *code => return Ok(Outcome::Passed),
        (Err(failure), _) => {
            return Ok(Outcome::Failed(format!("loading the module answers {}\n{}", failure.code, failure.log)));
        }
    };
    let function = device.function(module, &test.kernel)?;

    let mut buffers = Vec::new();
    let mut parameters = Vec::new();
    for parameter in &test.parameters {
        match parameter {
            Parameter::Value { ty, element } => parameters.push(ty.bytes(*element)),
            Parameter::Buffer(buffer) => {
                let bytes: Vec<u8> = buffer.before.iter().flat_map(|&element| buffer.ty.bytes(element)).collect();
                let address = device.upload(&bytes)?;
                parameters.push(address.to_le_bytes().to_vec());
                buffers.push((buffer, address, bytes));
            }
        }
    }
    match (device.launch(function, test.grid, test.cta, test.shared, &mut parameters)?, &test.expectation) {
        (Ok(()), Expectation::LaunchError(code)) => {
            return Ok(Outcome::Failed(format!("the launch succeeded, expected {code}")));
        }
        (Ok(()), _) => {}
        (Err(failure), Expectation::LaunchError(code)) if failure.code == *code => return Ok(Outcome::Passed),
        (Err(failure), _) => return Ok(Outcome::Failed(format!("the launch answers {}", failure.code))),
    }

    let mut lines: Vec<String> = test.text.lines().map(str::to_owned).collect();
    let mut problems = Vec::new();
    for (buffer, address, uploaded) in buffers {
        let bytes = device.download(address, uploaded.len())?;
        if buffer.direction == Direction::In {
            if bytes != uploaded {
                problems.push(format!("the input {} was written", buffer.name));
            }
        } else if bless {
            lines[buffer.line] = blessed(&lines[buffer.line], buffer, &buffer.ty.read(&bytes));
        } else {
            problems.extend(difference(buffer, &buffer.ty.read(&bytes)));
        }
    }
    Ok(match (problems.is_empty(), bless) {
        (false, _) => Outcome::Failed(problems.join("\n")),
        (true, false) => Outcome::Passed,
        (true, true) => Outcome::Blessed(lines.join("\n") + "\n"),
    })
}

/// The first element that is not as expected, and how many are not.
fn difference(buffer: &Buffer, got: &[u64]) -> Option<String> {
    let wrong: Vec<usize> = (0..got.len()).filter(|&i| !buffer.ty.agrees(buffer.after[i], got[i])).collect();
    let &first = wrong.first()?;
    let want = buffer.ty.print_element(buffer.after[first]);
    Some(format!(
        "{}[{first}] is {}, expected {want}; {} of {} elements differ",
        buffer.name,
        buffer.ty.print(got[first]),
        wrong.len(),
        got.len()
    ))
}

/// The line of `buffer` with `got` as its expected values; runs of equal values are folded.
fn blessed(line: &str, buffer: &Buffer, got: &[u64]) -> String {
    let marker = if buffer.direction == Direction::InOut { "->" } else { "=" };
    let head = line.split_once(marker).map_or(line, |(head, _)| head).trim_end();
    let mut text = format!("{head} {marker}");
    let mut rest = got;
    while let Some(&value) = rest.first() {
        let times = rest.iter().take_while(|&&other| other == value).count();
        let printed = buffer.ty.print(value);
        text += &if times > 2 { format!(" {printed}*{times}") } else { format!(" {printed}").repeat(times) };
        rest = &rest[times..];
    }
    text
}
