//! Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5).

use crate::lane::lane_ops;

lane_ops! {
    AddF32(a: f32, b: f32) -> f32 { a + b }
    SubF32(a: f32, b: f32) -> f32 { a - b }
    MulF32(a: f32, b: f32) -> f32 { a * b }
    FmaF32(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
}
