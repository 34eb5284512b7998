//! What changes about a region while it runs: the file shows the new state at once, and at no instant neither the old nor the new.
//!
//! An amendment holds everything that can change. It is a record of the region's ring, then a copy next to the open record, where no other thread's records
//! overwrite it. The open record itself stays as it is: to rewrite it would hide the region for an instant, and forever if the process died in it.

use std::ops::Deref;

use hrx_trace_format::Amendment;
use hrx_trace_format::amendment::KIND_AMENDMENT;
use hrx_trace_format::line::LINE_AMENDMENT;
use hrx_trace_format::record::{FLAG_SATURATED, FLAG_WAITING};

use crate::event::{Event, Label};
use crate::region::{Destination, Region, write_with_line};

/// While it runs. Each call takes a record of the ring and costs about as much as [`crate::Recorder::record`] and half of it again; it makes no system call.
/// A region that is not shown, because the table was full, has the new state when it completes; the call counts as refused.
impl<To: Deref<Target: Destination>> Region<To> {
    /// Names it.
    #[inline(always)]
    pub fn set_label(&mut self, label: Label) {
        self.amend(self.state.event.label(label));
    }

    /// Sets the submission or graph it belongs to; 0: none.
    #[inline(always)]
    pub fn set_correlation_id(&mut self, correlation_id: u64) {
        self.amend(self.state.event.correlation_id(correlation_id));
    }

    /// Sets how many bytes it has copied, for a copy that may hang on its way. If they are known only at the end, [`Region::finish_with`] says so at no cost.
    #[inline(always)]
    pub fn set_copied_bytes(&mut self, copied_bytes: u64) {
        self.amend(self.state.event.copied_bytes(copied_bytes));
    }

    /// Sets the caller's error code, of a region that goes on; 0: none.
    #[inline(always)]
    pub fn set_status(&mut self, status: u32) {
        self.amend(self.state.event.status(status));
    }

    /// Says that it waits, as a task does that is not being run, until [`Region::running`] or its end.
    #[inline(always)]
    pub fn waiting(&mut self) {
        self.state.flags |= FLAG_WAITING;
        self.amend(self.state.event);
    }

    /// Says that it does not wait any more.
    #[inline(always)]
    pub fn running(&mut self) {
        self.state.flags &= !FLAG_WAITING;
        self.amend(self.state.event);
    }

    /// Takes it out of the file, as if it had not begun: it is neither shown any more nor recorded. For a state, such as waiting, that another region continues: begin
    /// that one first, and the file shows one of them at every instant, and for a moment both.
    ///
    /// The arguments that it had are counted as orphaned.
    #[inline(always)]
    pub fn withdraw(mut self) {
        let state = self.end();
        if let Some(to) = self.to() {
            state.withdraw(to);
        }
    }

    /// Its state is what `event` and the flags say.
    #[inline(always)]
    fn amend(&mut self, event: Event) {
        self.state.event = event;
        let Some((to, open_slot)) = self.shown() else {
            return;
        };
        let described = to.recorder().describe(event);
        let amendment = Amendment {
            sequence: 0,
            start_ns: self.state.start_ns,
            unused_16: 0,
            copied_bytes: described.copied_bytes,
            correlation_id: described.correlation_id,
            lane: described.lane,
            label_id: described.label_id,
            owner: self.state.tenancy.owner,
            status: described.status,
            flags: described.flags & FLAG_SATURATED | self.state.flags,
            kind: KIND_AMENDMENT,
            open_slot,
            crc32: 0,
        };
        write_with_line(
            to,
            self.state.ring,
            open_slot,
            Some(LINE_AMENDMENT),
            bytemuck::cast(amendment),
        );
    }
}
