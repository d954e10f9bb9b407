//! Reports as texts for people, in the manner of a compiler's diagnostics.

use annotate_snippets::{Group, Level, Origin, Renderer};

use crate::report::{At, Report, Severity, Thread};

/// A report as a text of several lines, with a line break at the end.
pub(crate) fn render(report: &Report) -> String {
    let level = match report.severity() {
        Severity::Error => Level::ERROR,
        Severity::Info => Level::INFO,
    };
    let title = level.primary_title(report.message.as_str()).id(format!("{}/{}", report.check.name(), report.kind));
    let mut group = Group::with_title(title);
    if let Some(thread) = &report.thread {
        group = add_thread(group, thread);
    }
    let mut groups = vec![group];
    for note in &report.notes {
        let mut text = note.text.clone();
        for frame in &note.frames {
            text.push_str("\n  ");
            text.push_str(frame);
        }
        match &note.thread {
            Some(thread) => groups.push(add_thread(Group::with_title(Level::NOTE.secondary_title(text)), thread)),
            None => {
                let last = groups.pop().expect("there is the report's own");
                groups.push(last.element(Level::NOTE.message(text)));
            }
        }
    }
    Renderer::plain().render(&groups) + "\n"
}

fn add_thread<'a>(mut group: Group<'a>, thread: &'a Thread) -> Group<'a> {
    let At { file, line, ptx_line, function } = &thread.place;
    if let (Some(file), Some(line)) = (file, line) {
        group = group.element(Origin::path(file.as_str()).line(*line as usize));
    }
    let ([cx, cy, cz], [x, y, z]) = (thread.cta, thread.thread);
    let mut text = format!("kernel {}", thread.kernel);
    if let Some(function) = function {
        text.push_str(&format!(", function {function}"));
    }
    if let Some(line) = ptx_line {
        text.push_str(&format!(", PTX line {line}"));
    }
    text.push_str(&format!(", CTA ({cx}, {cy}, {cz}), thread ({x}, {y}, {z})"));
    group.element(Level::NOTE.with_name("in").message(text))
}
