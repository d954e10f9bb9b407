//! Why a kernel cannot be loaded.

/// A kernel that the interpreter does not take. The text is for people: it names the instruction and its PTX line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// An instruction that the interpreter lacks (CUDA_ERROR_NOT_SUPPORTED).
    #[error("{function}, line {line}: instruction {instruction} is not supported yet")]
    Unsupported {
        /// The function that contains it.
        function: String,
        /// Opcode with modifiers.
        instruction: String,
        /// PTX line, from 1.
        line: u32,
    },
    /// A variable without an address.
    #[error("{function}, line {line}: variable {variable} has no address")]
    Unresolved {
        /// The function that refers to it.
        function: String,
        /// Its name.
        variable: String,
        /// PTX line, from 1.
        line: u32,
    },
    /// A function that is declared and called, but defined nowhere.
    #[error("function {function} is declared but not defined")]
    Undefined {
        /// Its name.
        function: String,
    },
}
