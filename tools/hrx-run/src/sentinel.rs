//! A process in the program's place: in its process group and cgroup, with its arguments, and nothing else to do than report which signals it is sent.
//!
//! It is this very executable under another name, so that `pkill hrx-run` does not find it, and with the program's command line behind
//! that name, so that `pkill -f train.py` finds it as it finds the program. It holds none of the streams, and ends with hrx-run.
//!
//! Its protocol, a byte each: on its standard input a question; on its standard output the number of a signal, or 0, the answer to a question,
//! which says that every signal it had got by then has been reported.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::thread::set_name;

use crate::signals::Signals;

const NAME: &str = "hrx-sentinel";
const QUESTION: u8 = 0;
const ANSWER: u8 = 0;

/// Whether this process is meant to be one.
pub fn is_meant() -> bool {
    env::args_os().next().is_some_and(|name| name == NAME)
}

/// What it reports.
pub enum Report {
    /// It was sent this signal.
    Signal(i32),
    /// It has ended, and reports no more.
    Gone,
}

/// hrx-run's end of it.
pub struct Sentinel {
    child: Child,
    questions: ChildStdin,
    reports: ChildStdout,
    asked: u64,
    answered: u64,
}

impl Sentinel {
    /// Starts one for that command line. Every signal has to be blocked already.
    pub fn start(command: &[OsString]) -> io::Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .arg0(NAME)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (questions, reports) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        fcntl_setfl(&reports, fcntl_getfl(&reports)? | OFlags::NONBLOCK)?;
        Ok(Self {
            child,
            questions,
            reports,
            asked: 0,
            answered: 0,
        })
    }

    /// What becomes readable when it reports.
    pub fn reports(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }

    /// Asks it whether it has reported everything, and gives the number of that question.
    pub fn ask(&mut self) -> u64 {
        self.asked += 1;
        // One that has ended is noticed where its reports are read.
        let _ = self.questions.write_all(&[QUESTION]);
        self.asked
    }

    /// The number of the last question that it has answered.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// What it has reported since.
    pub fn listen(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        let mut bytes = [0; 64];
        loop {
            match self.reports.read(&mut bytes) {
                Ok(0) => reports.push(Report::Gone),
                Ok(count) => {
                    for byte in &bytes[..count] {
                        match *byte {
                            ANSWER => self.answered += 1,
                            signal => reports.push(Report::Signal(signal.into())),
                        }
                    }
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => reports.push(Report::Gone),
            }
            return reports;
        }
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        // It may have been stopped, and then nothing else ends it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sentinel itself. Every signal is blocked: hrx-run had them blocked when it started this process.
pub fn run() -> ExitCode {
    // Where the kernel does not know names of threads, it goes by the name of its executable.
    let _ = set_name(c"hrx-sentinel");
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        // hrx-run notices that it has ended.
        Err(_) => ExitCode::FAILURE,
    }
}

fn report() -> io::Result<()> {
    let signals = Signals::open()?;
    let mut questions = io::stdin().lock();
    let mut reports = io::stdout().lock();
    loop {
        let mut ready = [
            PollFd::new(&signals, PollFlags::IN),
            PollFd::new(&questions, PollFlags::IN),
        ];
        match poll(&mut ready, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_asked = !ready[1].revents().is_empty();
        let mut answer = Vec::new();
        if is_asked {
            let mut bytes = [0; 64];
            match questions.read(&mut bytes)? {
                // hrx-run has ended.
                0 => return Ok(()),
                count => answer.resize(count, ANSWER),
            }
        }
        // After the question was read, so that the answer holds for what came before it.
        while let Some(received) = signals.next()? {
            let number = u8::try_from(received.signal).map_err(io::Error::other)?;
            reports.write_all(&[number])?;
        }
        reports.write_all(&answer)?;
        reports.flush()?;
    }
}
