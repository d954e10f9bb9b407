//! User objects.
use warploom_abi::{CUgraph, CUhostFn, CUuserObject};
use warploom_driver::{DriverError, Handle};

use super::graph_handle;
use crate::border::{ApiResult, HostAddress, Out, callback};
use crate::process::driver;

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which must be set: nobody can wait for the destructor.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`
const MOVE: u32 = 1;

fn object_handle(object: CUuserObject) -> Handle {
    Handle::from_raw(object.0)
}

pub(crate) fn cuUserObjectCreate(
    object_out: Out<'_, CUuserObject>,
    ptr: HostAddress,
    destroy: CUhostFn,
    initialRefcount: u32,
    flags: u32,
) -> ApiResult {
    let place = object_out.required("object_out")?;
    if destroy == CUhostFn::default() {
        return Err(DriverError::invalid_value("destroy is NULL"));
    }
    if flags != NO_DESTRUCTOR_SYNC {
        return Err(DriverError::invalid_value(format!("flags is {flags}, must be {NO_DESTRUCTOR_SYNC}")));
    }
    let destructor = callback::host_function("the destructor of a user object", destroy, ptr);
    let object = driver()?.create_user_object(Box::new(move || (destructor.call)()), initialRefcount)?;
    place.set(CUuserObject(object.raw()));
    Ok(())
}

pub(crate) fn cuUserObjectRetain(object: CUuserObject, count: u32) -> ApiResult {
    driver()?.retain_user_object(object_handle(object), count)
}

pub(crate) fn cuUserObjectRelease(object: CUuserObject, count: u32) -> ApiResult {
    driver()?.release_user_object(object_handle(object), count)
}

pub(crate) fn cuGraphRetainUserObject(graph: CUgraph, object: CUuserObject, count: u32, flags: u32) -> ApiResult {
    if flags & !MOVE != 0 {
        return Err(DriverError::invalid_value(format!("flags {flags:#x} has unknown bits")));
    }
    driver()?.hold_user_object(graph_handle(graph), object_handle(object), count, flags & MOVE != 0)
}

pub(crate) fn cuGraphReleaseUserObject(graph: CUgraph, object: CUuserObject, count: u32) -> ApiResult {
    driver()?.unhold_user_object(graph_handle(graph), object_handle(object), count)
}
