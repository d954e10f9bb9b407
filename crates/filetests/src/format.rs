//! The comment lines at the head of a filetest.
use std::fmt;

use crate::values::{Element, ElementType};

/// A filetest: the whole file is the PTX to load.
#[derive(Clone, Debug)]
pub struct FileTest {
    /// The text of the file.
    pub text: String,
    /// The kernel: the file's `.entry`, or the one that `kernel` names.
    pub kernel: String,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub cta: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The least architecture it runs on, 100 for sm_100; on ours, the one it runs on.
    pub device: Option<u32>,
    /// Kernel parameters, in order.
    pub parameters: Vec<Parameter>,
    /// What must come out.
    pub expectation: Expectation,
}

/// A kernel parameter.
#[derive(Clone, Debug)]
pub enum Parameter {
    /// A buffer in device memory, passed by address.
    Buffer(Buffer),
    /// A number, passed by value.
    Value {
        /// Its type.
        ty: ElementType,
        /// Its value.
        element: Element,
    },
}

/// A buffer in device memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name in reports.
    pub name: String,
    /// The type of its elements.
    pub ty: ElementType,
    /// The line of the file that describes it, from 0.
    pub line: usize,
    /// Who writes it.
    pub direction: Direction,
    /// What it holds before the launch; outputs hold 0xcd bytes.
    pub before: Vec<Element>,
    /// What it must hold afterwards; inputs must keep what they held.
    pub after: Vec<Element>,
}

/// Who writes a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The test.
    In,
    /// The kernel.
    Out,
    /// Both.
    InOut,
}

/// What loading and running must give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Success, and the buffers' values.
    Values,
    /// `cuModuleLoadDataEx` answers this code.
    LoadError(String),
    /// Launching or synchronising answers this code.
    LaunchError(String),
}

/// A line that does not say what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError(pub String);

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for FormatError {}

impl FileTest {
    /// Reads the comment lines of `text` up to the first line that is neither a comment nor empty.
    pub fn parse(text: &str) -> Result<FileTest, FormatError> {
        let mut test = FileTest {
            text: text.to_owned(),
            kernel: first_entry(text),
            grid: [1; 3],
            cta: [1; 3],
            shared: 0,
            device: None,
            parameters: Vec::new(),
            expectation: Expectation::Values,
        };
        let mut marked = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let Some(comment) = line.strip_prefix("//") else {
                if line.is_empty() {
                    continue;
                }
                break;
            };
            let comment = comment.trim();
            if comment == "test run" {
                marked = true;
            } else if marked {
                test.directive(comment, number)
                    .map_err(|error| FormatError(format!("line {}: {error}", number + 1)))?;
            }
        }
        if !marked {
            return Err(FormatError("no line '// test run' at the head".to_owned()));
        }
        if test.kernel.is_empty() {
            return Err(FormatError("no .entry".to_owned()));
        }
        Ok(test)
    }

    fn directive(&mut self, line: &str, number: usize) -> Result<(), FormatError> {
        let mut words = line.split_whitespace();
        let Some(keyword) = words.next() else { return Ok(()) };
        let words: Vec<&str> = words.collect();
        match (keyword, words.as_slice()) {
            ("kernel", [name]) => self.kernel = (*name).to_owned(),
            ("grid", sizes) => self.grid = extents(sizes)?,
            ("cta", sizes) => self.cta = extents(sizes)?,
            ("shared", [bytes]) => self.shared = count(bytes)?,
            ("device", [name]) => self.device = Some(count(name.strip_prefix("sm_").unwrap_or(name))?),
            ("load-error", [code]) => self.expectation = Expectation::LoadError((*code).to_owned()),
            ("launch-error", [code]) => self.expectation = Expectation::LaunchError((*code).to_owned()),
            ("value", [ty, text]) => {
                let ty = element_type(ty)?;
                self.parameters.push(Parameter::Value { ty, element: ty.element(text)? });
            }
            ("in" | "out", [name, ty, "=", list @ ..]) => {
                let ty = element_type(ty)?;
                let values = elements(ty, list)?;
                let (direction, before) = if keyword == "in" {
                    (Direction::In, values.clone())
                } else {
                    (Direction::Out, vec![Element::Bits(0xcdcd_cdcd_cdcd_cdcd); values.len()])
                };
                self.buffer(Buffer { name: (*name).to_owned(), ty, line: number, direction, before, after: values });
            }
            ("inout", [name, ty, "=", list @ ..]) => {
                let ty = element_type(ty)?;
                let arrow = list
                    .iter()
                    .position(|word| *word == "->")
                    .ok_or_else(|| FormatError("inout has no '->'".to_owned()))?;
                let (before, after) = (elements(ty, &list[..arrow])?, elements(ty, &list[arrow + 1..])?);
                if before.len() != after.len() {
                    return Err(FormatError(format!("{} elements before, {} after", before.len(), after.len())));
                }
                self.buffer(Buffer {
                    name: (*name).to_owned(),
                    ty,
                    line: number,
                    direction: Direction::InOut,
                    before,
                    after,
                });
            }
            _ => return Err(FormatError(format!("'{line}' is not a directive of filetests"))),
        }
        Ok(())
    }

    fn buffer(&mut self, buffer: Buffer) {
        self.parameters.push(Parameter::Buffer(buffer));
    }
}

/// The name behind the first `.entry` outside comments.
fn first_entry(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .find_map(|line| line.split_once(".entry"))
        .map(|(_, rest)| rest.trim().chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$')).collect())
        .unwrap_or_default()
}

fn count(text: &str) -> Result<u32, FormatError> {
    text.parse().map_err(|_| FormatError(format!("'{text}' is not a number")))
}

fn extents(words: &[&str]) -> Result<[u32; 3], FormatError> {
    if words.is_empty() || words.len() > 3 {
        return Err(FormatError("one to three extents are needed".to_owned()));
    }
    let mut extents = [1; 3];
    for (extent, word) in extents.iter_mut().zip(words) {
        *extent = count(word)?;
    }
    Ok(extents)
}

fn element_type(name: &str) -> Result<ElementType, FormatError> {
    ElementType::named(name)
        .ok_or_else(|| FormatError(format!("'{name}' is not a type (u8..u64, s8..s64, b8..b64, f32, f64)")))
}

/// `1 2 3`, `0..31` (counting), `7*32` (32 times 7).
fn elements(ty: ElementType, words: &[&str]) -> Result<Vec<Element>, FormatError> {
    let mut out = Vec::new();
    for word in words {
        if let Some((value, times)) = word.split_once('*') {
            out.extend(std::iter::repeat_n(ty.element(value)?, count(times)? as usize));
        } else if let Some((first, last)) = word.split_once("..") {
            for value in count(first)?..=count(last)? {
                out.push(ty.element(&value.to_string())?);
            }
        } else {
            out.push(ty.element(word)?);
        }
    }
    if out.is_empty() {
        return Err(FormatError("a buffer needs elements".to_owned()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "// test run\n// cta 2 3\n// in a u32 = 0..2 7*2\n// out d s32 = -1\n// value u64 9\n.entry k_1(.param .u64 a) { ret; }";

    #[test]
    fn the_head_is_read() {
        let test = FileTest::parse(HEAD).unwrap();
        assert_eq!((test.kernel.as_str(), test.grid, test.cta), ("k_1", [1, 1, 1], [2, 3, 1]));
        let Parameter::Buffer(a) = &test.parameters[0] else { panic!("a is a buffer") };
        assert_eq!(a.before, [0, 1, 2, 7, 7].map(Element::Bits));
        assert_eq!(test.parameters.len(), 3);
    }

    #[test]
    fn mistakes_name_their_line() {
        let error = FileTest::parse("// test run\n// in a u99 = 1\n.entry k() {}").unwrap_err();
        assert!(error.0.starts_with("line 2: 'u99'"), "{error}");
        assert!(FileTest::parse(".entry k() {}").is_err());
    }
}
