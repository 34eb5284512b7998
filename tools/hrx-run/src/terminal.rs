//! Job control: when the program stops, hrx-run stops as it did, so that the shell sees its job stopped; one SIGCONT to the group continues both.
//!
//! hrx-run does not stop on its own: an editor that is sent SIGTSTP first puts the terminal in order, and a shell that saw hrx-run stopped by
//! then would take the terminal away.

use std::io;

use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::inherited::stop_by;
use crate::launch::Program;

/// What a look at the program found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    /// Stopped since the last look, by this signal.
    Stopped(i32),
    /// Ended, its status not yet taken.
    Ended,
}

/// Looks at the program, without waiting.
pub fn look(program: &Program) -> io::Result<State> {
    let id = WaitId::Pid(program.pid);
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(id.clone(), ended)?.is_some() {
        return Ok(State::Ended);
    }
    let stopped = waitid(id, WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
    let signal = stopped.and_then(|status| status.stopping_signal());
    Ok(signal.map_or(State::Running, State::Stopped))
}

/// Stops hrx-run until a signal continues it.
pub fn stop_too(signal: i32) {
    stop_by(signal);
}
