//! Command lines of NVIDIA's tools, where a name of several letters may stand behind one dash or two (`-arch`, `--arch`), and words in files.
use std::ffi::OsString;

/// The words of a command line as `command` reads them.
pub(crate) fn read(command: &clap::Command, words: Vec<OsString>) -> Result<Vec<OsString>, clap::Error> {
    let names: Vec<String> = command
        .get_arguments()
        .flat_map(|argument| argument.get_long().into_iter().chain(argument.get_all_aliases().into_iter().flatten()))
        .map(str::to_owned)
        .collect();
    Ok(with_files(words)?.into_iter().map(|word| doubled(word, &names)).collect())
}

/// A word with two dashes where it has one before a name of several letters.
fn doubled(word: OsString, names: &[String]) -> OsString {
    let Some(text) = word.to_str() else { return word };
    let Some(name) = text.strip_prefix('-').map(|rest| rest.split('=').next().unwrap_or(rest)) else { return word };
    if name.len() > 1 && names.iter().any(|known| known == name) { format!("-{text}").into() } else { word }
}

/// The names of the option that stands for the words of a file.
const FILE_OPTIONS: [&str; 3] = ["--options-file", "-options-file", "-optf"];

/// The words, and those in the files of options among them, which are separated by white space.
fn with_files(words: Vec<OsString>) -> Result<Vec<OsString>, clap::Error> {
    let mut all = Vec::new();
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        let (name, value) = word.to_str().map_or(("", None), |text| match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        });
        if !FILE_OPTIONS.contains(&name) {
            all.push(word);
            continue;
        }
        let file = value.map(OsString::from).or_else(|| rest.next()).unwrap_or_default();
        for file in file.to_string_lossy().split(',') {
            let text = std::fs::read_to_string(file).map_err(|error| {
                let message = format!("Options file '{file}' could not be opened: {error}");
                clap::Error::raw(clap::error::ErrorKind::Io, message)
            })?;
            all.extend(text.split_whitespace().map(OsString::from));
        }
    }
    Ok(all)
}
