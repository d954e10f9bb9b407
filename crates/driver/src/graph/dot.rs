//! Graphs as text in the language of Graphviz, for people.
use std::fmt::Write as _;
use std::path::Path;

use super::{Driver, DriverError, DriverResult, Graph, Handle, Work};
use crate::ErrorCode;
use crate::stream::SemaphoreAction;

/// What is written beside kind and number of a node (`CUgraphDebugDot_flags`).
mod flags {
    pub(super) const VERBOSE: u32 = 1;
    pub(super) const KERNEL: u32 = 4;
    pub(super) const COPY: u32 = 8;
    pub(super) const FILL: u32 = 16;
    pub(super) const HOST: u32 = 32;
    pub(super) const EVENT: u32 = 64;
    pub(super) const SIGNALS: u32 = 128;
    pub(super) const WAITS: u32 = 256;
    pub(super) const HANDLES: u32 = 1024;
    pub(super) const ALLOC: u32 = 2048;
    pub(super) const FREE: u32 = 4096;
    pub(super) const BATCH: u32 = 8192;
    pub(super) const COPIES: u32 = 1 << 16;
}

impl Driver {
    /// Writes a graph to a file.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles; `OperatingSystem` if the file cannot be written.
    pub fn print_graph(&self, graph: Handle, path: &Path, flags: u32) -> DriverResult {
        let graph = self.graphs.lookup(graph)?;
        let mut text = String::from("digraph dot {\n");
        print(&graph, &mut text, flags);
        text.push_str("}\n");
        std::fs::write(path, text).map_err(|error| {
            DriverError::new(ErrorCode::OperatingSystem, format!("{} cannot be written: {error}", path.display()))
        })
    }
}

/// Appends a graph, then those of its nodes.
fn print(graph: &Graph, text: &mut String, flags: u32) {
    let state = graph.state.lock();
    let id = graph.id;
    // Writing to a string does not fail.
    let _ = writeln!(text, "subgraph cluster_{id} {{\nlabel=\"graph_{id}\" graph[style=\"dashed\"];");
    for (local, node) in &state.nodes {
        let kind = node.work.kind();
        let _ = write!(text, "\"graph_{id}_node_{local}\"[style=\"solid\" shape=\"rectangle\" label=\"{local}\\n");
        let _ = write!(text, "{}", escaped(&format!("{kind:?}")));
        let detail = detail(&node.work, flags);
        if !detail.is_empty() {
            let _ = write!(text, "\\n{}", escaped(&detail));
        }
        if flags & (flags::HANDLES | flags::VERBOSE) != 0 {
            let _ = write!(text, "\\nnode handle {:?}", node.handle);
        }
        text.push_str("\"];\n");
    }
    for (local, node) in &state.nodes {
        for dependency in &node.dependencies {
            let _ = writeln!(
                text,
                "\"graph_{id}_node_{}\" -> \"graph_{id}_node_{local}\" [headlabel={}];",
                dependency.node, dependency.edge.kind
            );
        }
    }
    text.push_str("}\n");
    for (local, node) in &state.nodes {
        for inner in node.work.graphs() {
            print(inner, text, flags);
            let _ = writeln!(text, "// graph_{} belongs to graph_{id}_node_{local}", inner.id);
        }
    }
}

/// The parameters of a node, if they are asked for.
fn detail(work: &Work, flags: u32) -> String {
    let wanted = |flag: u32| flags & (flag | flags::VERBOSE) != 0;
    match work {
        Work::Kernel(kernel) => {
            let mut text = kernel.function.name().to_string_lossy().into_owned();
            if wanted(flags::KERNEL) {
                let shape = kernel.shape();
                let _ = write!(text, "\ngrid {:?} CTA {:?} shared {}", shape.grid, shape.cta, shape.dynamic_shared);
            }
            text
        }
        Work::Copy(copy) if wanted(flags::COPY) => format!("{:?}", copy.transfer.size),
        Work::Copies(batch) if wanted(flags::COPIES) => format!("{} copies", batch.copies.len()),
        Work::Fill(fill) if wanted(flags::FILL) => {
            format!("{:#x} value {:#x} {} x {}", fill.address, fill.value, fill.width, fill.height)
        }
        Work::Host(host) if wanted(flags::HOST) => format!("{:#x}({:#x})", host.function, host.data),
        Work::WaitEvent(event) | Work::RecordEvent(event) if wanted(flags::EVENT) => format!("{:?}", event.handle()),
        Work::Semaphores(work) => {
            let asked = if work.action == SemaphoreAction::Signal { flags::SIGNALS } else { flags::WAITS };
            if wanted(asked) { format!("{} semaphores", work.len()) } else { String::new() }
        }
        Work::Batch(batch) if wanted(flags::BATCH) => format!("{} operations", batch.operations.len()),
        Work::Alloc(alloc) if wanted(flags::ALLOC) => format!("{:#x}, {} bytes", alloc.address(), alloc.size),
        Work::Free(free) if wanted(flags::FREE) => format!("{:#x}", free.address),
        Work::Graph(graph) => format!("graph_{}", graph.id),
        _ => String::new(),
    }
}

/// Text inside quotes of the language.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
