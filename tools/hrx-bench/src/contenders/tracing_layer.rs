//! Spans of tracing, entered and left: by the bare registry, and with the layer that records them.

use std::sync::Arc;

use hrx_trace::Recorder;
use tracing::{Dispatch, Span};
use tracing_subscriber::layer::SubscriberExt;

use crate::measuring::contender::{Contender, Fields};

/// Each thread enters and leaves a span of its own.
pub struct EnterExit {
    dispatch: Dispatch,
    has_fields: bool,
}

impl EnterExit {
    pub fn registry() -> Self {
        Self {
            dispatch: tracing_subscriber::registry().into(),
            has_fields: false,
        }
    }

    pub fn layer(recorder: Recorder, has_fields: bool) -> Self {
        let layer = hrx_trace_tracing::layer(Arc::new(recorder));
        Self {
            dispatch: tracing_subscriber::registry().with(layer).into(),
            has_fields,
        }
    }
}

impl Contender for EnterExit {
    type Thread<'a> = Span;

    fn thread(&self, _: usize) -> Span {
        tracing::dispatcher::with_default(&self.dispatch, || {
            if self.has_fields {
                tracing::info_span!("native region", copied = 4096_u64, shape = "4096x4096")
            } else {
                tracing::info_span!("native region")
            }
        })
    }

    #[inline]
    fn event(&self, span: &mut Span, _: &Fields) {
        span.in_scope(|| {});
    }
}
