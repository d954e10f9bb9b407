//! Problems with the lines they are about, for people.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Label, Severity};
use crate::syntax::LineIndex;

/// Labels so close together, in lines, are shown in one excerpt.
const NEAR: u32 = 4;

/// Problems of a text called `path`, each with its excerpt; `color` adds terminal escapes.
pub fn excerpts(source: &str, path: &str, diagnostics: &[Diagnostic], color: bool) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let lines = Lines { source, index: LineIndex::new(source) };
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    diagnostics.iter().map(|diagnostic| lines.render(path, diagnostic, &renderer) + "\n").collect()
}

struct Lines<'a> {
    source: &'a str,
    index: LineIndex,
}

impl Lines<'_> {
    fn render(&self, path: &str, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
        let level = match diagnostic.severity {
            Severity::Info => Level::INFO,
            Severity::Warning => Level::WARNING,
            Severity::Error | Severity::Fatal => Level::ERROR,
        };
        let id = diagnostic.code.name();
        let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()).id(id));
        let mut labels = diagnostic.labels.as_slice();
        let mut kind = AnnotationKind::Primary;
        while let Some((first, rest)) = labels.split_first() {
            let near = rest.iter().take_while(|label| self.line(label).abs_diff(self.line(first)) <= NEAR).count();
            let (here, later) = labels.split_at(near + 1);
            group = group.element(self.snippet(path, here, kind));
            labels = later;
            kind = AnnotationKind::Context;
        }
        for note in &diagnostic.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        renderer.render(&[group])
    }

    fn line(&self, label: &Label) -> u32 {
        self.index.position(label.span.start).line
    }

    /// The lines of some labels. Only these are handed over: the text may be megabytes long.
    fn snippet<'a>(&'a self, path: &'a str, labels: &'a [Label], kind: AnnotationKind) -> Snippet<'a, Annotation<'a>> {
        let limit = self.source.len();
        let start = labels.iter().map(|label| label.span.range().start).min().unwrap_or(0).min(limit);
        let end = labels.iter().map(|label| label.span.range().end).max().unwrap_or(0).clamp(start, limit);
        let first = self.source[..start].rfind('\n').map_or(0, |at| at + 1);
        let last = self.source[end..].find('\n').map_or(limit, |at| end + at);
        let annotations = labels.iter().enumerate().map(|(at, label)| {
            let kind = if at == 0 { kind } else { AnnotationKind::Context };
            let from = label.span.range().start.clamp(first, last) - first;
            let to = label.span.range().end.clamp(first, last) - first;
            let text = (!label.text.is_empty()).then_some(label.text.as_str());
            kind.span(from..to.max(from)).label(text)
        });
        let line = self.index.position(start as u32).line;
        Snippet::source(&self.source[first..last]).path(path).line_start(line as usize).annotations(annotations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    #[test]
    fn excerpts_point_at_the_place() {
        let text = ".version 8.0\n.target sm_90\n.entry k() {\n  add.u32 %r1 %r2, 3;\n  ret }\n";
        let parsed = parse(text.as_bytes());
        insta::assert_snapshot!(excerpts(text, "x.ptx", &parsed.diagnostics, false));
    }

    #[test]
    fn far_labels_get_excerpts_of_their_own() {
        use crate::diagnostic::Code;
        use crate::syntax::Span;
        let text = "first\n\n\n\n\n\n\nlast\n";
        let last = text.len() as u32;
        let diagnostic = Diagnostic::error(Code::Redeclared, Span::new(12, 16), "a second 'x'")
            .at("declared again")
            .label(Span::new(0, 5), "declared here")
            .label(Span::new(last, last), "")
            .note("a name stands for one thing");
        insta::assert_snapshot!(excerpts(text, "x.ptx", &[diagnostic], false));
    }
}
