//! libnvidia-ml.so.1: what devices there are and what processes do with them, as NVIDIA's management library answers it. What is answered stands in
//! `warploom-monitor`; here is the C border.
//!
//! `border` takes a call in, `library` says whether the library is initialised and which device a handle means, `api` has the handlers, one file for each topic.

mod api;
mod border;
mod generated;
mod library;
