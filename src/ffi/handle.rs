//! The handle of an attached graph, and what may be asked of it with and without the GPU.

use std::ffi::c_void;
#[cfg(feature = "cuda")]
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::attach::{self, Flips};
use crate::chain::Dependency;
#[cfg(not(feature = "cuda"))]
use crate::error::Kind;
use crate::error::{Error, Result};

/// `pdl_lab_graph`.
pub struct AttachedGraph {
    #[cfg(feature = "cuda")]
    pub(super) graph: Mutex<crate::gpu::user_graph::Embedded>,
    /// What the last run was made from.
    #[cfg(feature = "cuda")]
    pub(super) last: Mutex<Option<attach::Attributed>>,
}

#[cfg(feature = "cuda")]
impl AttachedGraph {
    /// A panic while it was held left the handle usable: every call starts from fresh memory.
    fn lock(&self) -> MutexGuard<'_, crate::gpu::user_graph::Embedded> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(not(feature = "cuda"))]
pub(super) fn no_gpu() -> Error {
    Error::new(Kind::NoGpu, "attach the graph", "this library was built without the GPU")
}

pub(super) fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::failed("write the result", error))
}

#[cfg(feature = "cuda")]
impl AttachedGraph {
    pub(super) fn listing(&self) -> attach::Listing {
        self.lock().listing().clone()
    }

    pub(super) fn verify(&self, flips: &Flips) -> Result<String> {
        let dependency = Dependency::Programmatic;
        let found = self.lock().with(|graph| graph.verify(flips, dependency))?;
        let (region, offset) = found.first.unwrap_or_default();
        json(&serde_json::json!({
            "bytes": found.bytes,
            "wrong_bytes": found.wrong_bytes,
            "region": region,
            "offset": offset,
        }))
    }

    /// # Safety
    /// `graph` is live.
    pub(super) unsafe fn apply(
        &self,
        graph: *mut c_void,
        flips: &Flips,
        to: Dependency,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        self.lock().with(|attached| unsafe { attached.apply(graph, flips, to) })
    }

    pub(super) fn race(&self, edge: u32, options: &attach::Options) -> Result<attach::Race> {
        self.lock().with(|graph| graph.race(edge, options))
    }

    pub(super) fn run(
        &self,
        options: &attach::Options,
        watch: &mut dyn FnMut(&attach::Progress) -> bool,
    ) -> Result<attach::Report> {
        let (report, attributed) =
            self.lock().with(|graph| graph.attribute_recorded(options, watch))?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(attributed);
        Ok(report)
    }

    pub(super) fn trials(&self) -> Result<String> {
        match &*self.last.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(last) => json(last),
            None => Err(Error::usage("give the trials out", "nothing was run yet")),
        }
    }
}

/// Without the GPU there are no handles.
#[cfg(not(feature = "cuda"))]
impl AttachedGraph {
    pub(super) fn listing(&self) -> attach::Listing {
        attach::Listing::default()
    }

    pub(super) fn verify(&self, _: &Flips) -> Result<String> {
        Err(no_gpu())
    }

    /// # Safety
    /// None is needed.
    pub(super) unsafe fn apply(&self, _: *mut c_void, _: &Flips, _: Dependency) -> Result<()> {
        Err(no_gpu())
    }

    pub(super) fn race(&self, _: u32, _: &attach::Options) -> Result<attach::Race> {
        Err(no_gpu())
    }

    pub(super) fn trials(&self) -> Result<String> {
        Err(no_gpu())
    }

    pub(super) fn run(
        &self,
        _: &attach::Options,
        _: &mut dyn FnMut(&attach::Progress) -> bool,
    ) -> Result<attach::Report> {
        Err(no_gpu())
    }
}
