//! A terminal with a shell in it, as a person at a keyboard has them.

use std::io::{Read, Write};
use std::process::Child;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ways::{HRX_RUN, PATIENCE, SILENT, Way};

/// What the shell shows when it is ready.
const PROMPT: &str = "bash> ";

pub const CTRL_C: &str = "\x03";
pub const CTRL_D: &str = "\x04";
pub const CTRL_Z: &str = "\x1a";
pub const CTRL_BACKSLASH: &str = "\x1c";

/// The shell, and what it has shown.
pub struct Terminal {
    pty: Pty,
    pub shell: Child,
    shown: String,
    /// How much of it has been waited for.
    awaited: usize,
    /// How many commands have been typed.
    commands: usize,
    way: Way,
}

impl Terminal {
    /// An interactive bash without an echo. In it, `$RUN` stands before a program.
    pub fn open(way: Way) -> Self {
        let (pty, pts) = open().expect("a terminal");
        pty.resize(Size::new(24, 80)).expect("a size");
        let run = match way {
            Way::Plain => "env".to_owned(),
            Way::Run => format!("{HRX_RUN} {}", SILENT.join(" ")),
        };
        // With no signal ignored, as under nohup SIGHUP is.
        let shell = Command::new("env")
            .args(["--default-signal", "bash"])
            .args(["--norc", "--noprofile", "--noediting", "-i"])
            .env("RUN", run)
            .env("PS1", PROMPT)
            .env("LC_ALL", "C")
            .env_remove("HRX_TRACE_DIR")
            .spawn(pts)
            .expect("bash");
        let mut terminal = Self {
            pty,
            shell,
            shown: String::new(),
            awaited: 0,
            commands: 0,
            way,
        };
        terminal.run("stty -echo; ulimit -c 0");
        terminal.shown.clear();
        terminal.awaited = 0;
        terminal
    }

    /// Types keys.
    pub fn keys(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).expect("a terminal");
    }

    /// Types a line.
    pub fn line(&mut self, line: &str) {
        self.keys(line);
        self.keys("\n");
    }

    /// Types a command, and waits until the shell is ready for the next.
    pub fn run(&mut self, command: &str) {
        self.line(command);
        self.until_ready();
    }

    /// Waits until the shell has done everything that was typed.
    pub fn until_ready(&mut self) {
        self.commands += 1;
        let mark = format!("<{}>", self.commands);
        self.line(&format!("echo '<'{}'>'", self.commands));
        self.until(&mark);
        self.until(PROMPT);
    }

    /// Types a key that the program does not survive or stops at, and waits for the shell: the terminal drops what was typed before such a key.
    pub fn key_to_shell(&mut self, key: &str) {
        self.keys(key);
        self.until(PROMPT);
    }

    /// Waits until that is shown, after what was waited for before.
    pub fn until(&mut self, text: &str) {
        let began = Instant::now();
        loop {
            if let Some(at) = self.shown[self.awaited..].find(text) {
                self.awaited += at + text.len();
                return;
            }
            let left = PATIENCE.saturating_sub(began.elapsed());
            let read = self.read(left);
            assert!(read, "{:?}: no {text:?} in {:?}", self.way, self.shown);
        }
    }

    /// Waits for something to be shown. False: nothing was, or the terminal is closed.
    fn read(&mut self, patience: Duration) -> bool {
        let timeout = Timespec::try_from(patience).expect("a time");
        let mut ready = [PollFd::new(&self.pty, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).expect("a terminal") == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        // The last one to close the other end makes an error of it.
        let count = self.pty.read(&mut bytes).unwrap_or(0);
        self.shown
            .push_str(&String::from_utf8_lossy(&bytes[..count]));
        count > 0
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.pty.resize(Size::new(rows, columns)).expect("a size");
    }

    /// Everything that was shown, without the marks and the process ids of jobs that began.
    pub fn shown(mut self) -> String {
        self.line("exit");
        while self.read(PATIENCE) {}
        self.shell.wait().expect("its status");
        let is_mark = |line: &str| line.starts_with('<') && line.ends_with('>');
        let is_beginning = |line: &str| {
            let id = line
                .strip_prefix('[')
                .and_then(|line| line.split_once("] "));
            id.is_some_and(|(_, id)| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let shown = self.shown.replace(PROMPT, "");
        let lines = shown.lines().map(str::trim_end);
        lines
            .filter(|line| !is_mark(line) && !is_beginning(line))
            .map(|line| format!("{line}\n"))
            .collect()
    }
}
