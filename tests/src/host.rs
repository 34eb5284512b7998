//! Drives the program `host`, directly or in its own namespaces, where disks can be full, process ids begin at 1, and mounts vanish with the program.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::LazyLock;

use super::skip::skip;

/// The running program.
#[derive(Debug)]
pub struct Host {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The lines it has printed so far.
    pub lines: Vec<String>,
}

impl Host {
    /// Starts `command`, which is or becomes the program.
    ///
    /// # Panics
    /// If it cannot be run.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            output,
            lines: Vec::new(),
        }
    }

    /// Its process id as seen from here. In a PID namespace: that of `unshare`.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that begins with `start`, and returns the rest of that line.
    ///
    /// # Panics
    /// If the program ends first.
    #[track_caller]
    pub fn wait_for(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).expect("text");
            assert!(
                length > 0,
                "it ended before it printed {start:?}: {:?}",
                self.lines
            );
            let line = line.trim_end().to_owned();
            let rest = line.strip_prefix(start).map(str::to_owned);
            self.lines.push(line);
            if let Some(rest) = rest {
                return rest;
            }
        }
    }

    /// Lets it continue after a `pause`.
    ///
    /// # Panics
    /// If it has ended.
    pub fn go_on(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        stdin.write_all(b"\n").expect("it waits");
    }

    /// Kills it.
    ///
    /// # Panics
    /// Never: the process is our child.
    pub fn kill(&mut self) {
        self.child.kill().expect("our child");
    }

    /// Waits for it to end, but not for its children.
    ///
    /// # Panics
    /// Never: the process is our child.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("our child")
    }

    /// Waits for it to print "done" and exit with 0; returns the lines before that.
    ///
    /// # Panics
    /// If it ends in any other way.
    #[must_use]
    #[track_caller]
    pub fn ends_well(mut self) -> Vec<String> {
        for line in (&mut self.output).lines() {
            self.lines.push(line.expect("text"));
        }
        let status = self.wait();
        assert!(status.success(), "{status}: {:?}", self.lines);
        assert_eq!(
            self.lines.pop().as_deref(),
            Some("done"),
            "{:?}",
            self.lines
        );
        std::mem::take(&mut self.lines)
    }
}

impl Drop for Host {
    /// A failing test leaves no process running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell in its own mount namespace, and in those that `flags` ask for (see unshare(1)). It runs `script` with `arguments` as $1, $2 …; `$HOST` is the program.
/// Where namespaces are not allowed: None, and a line that says why.
///
/// # Panics
/// Where CI is set and namespaces are not allowed.
#[must_use]
pub fn in_namespaces(
    program: &Path,
    flags: &[&str],
    script: &str,
    arguments: &[&OsStr],
) -> Option<Command> {
    let unshare = UNSHARE.as_ref().or_else(|| {
        skip("namespaces cannot be created here, neither as root nor as a user");
        None
    })?;
    let mut command = Command::new("unshare");
    command
        .args(*unshare)
        .args(flags)
        .args(["bash", "-euc", script, "bash"])
        .args(arguments)
        .env("HOST", program);
    Some(command)
}

/// The flags of `unshare` that allow mounting: as root, or as a user who becomes root in a user namespace.
static UNSHARE: LazyLock<Option<&[&str]>> = LazyLock::new(|| {
    const WAYS: [&[&str]; 2] = [&["--mount"], &["--map-root-user", "--mount"]];
    WAYS.into_iter().find(|flags| {
        let mount = ["mount", "-t", "tmpfs", "none", "/tmp"];
        let tried = Command::new("unshare")
            .args(*flags)
            .args(mount)
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    })
});

/// Whether the lock on the file `path` is free.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn lock_is_free(path: &Path) -> bool {
    let file = std::fs::File::open(path).expect("the file is there");
    file.try_lock_shared().is_ok()
}
