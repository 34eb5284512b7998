//! At a terminal everything is as without hrx-run: keys, job control, pipelines, the terminal's own state.

mod support;

use std::fs;
use std::process::Command;

use support::terminal::{CTRL_BACKSLASH, CTRL_C, CTRL_D, CTRL_Z, Terminal};
use support::ways::{Way, both_ways, until};

/// A program that says which signals it gets, until it gets SIGUSR2.
const LISTENER: &str = r#"
import os, signal, sys
def said(number, frame):
    os.write(1, f"got {signal.Signals(number).name}\n".encode())
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), said)
os.write(1, b"ready\n")
while True:
    signal.pause()
"#;

/// A program that puts the terminal in order before it stops, as editors do.
const EDITOR: &str = r#"
import os, signal, time
def stop(number, frame):
    os.write(1, b"putting in order\n")
    time.sleep(0.2)
    os.write(1, b"in order\n")
    os.kill(os.getpid(), signal.SIGSTOP)
    os.write(1, b"back\n")
signal.signal(signal.SIGTSTP, stop)
signal.signal(signal.SIGUSR1, lambda number, frame: os._exit(3))
os.write(1, b"ready\n")
while True:
    signal.pause()
"#;

/// The program's text in a variable of the shell, so that a command is one short line.
fn terminal_with(way: Way, program: &str) -> Terminal {
    let mut terminal = Terminal::open(way);
    terminal.run(&format!("P='{}'", program.replace('\n', "'$'\\n''")));
    terminal
}

#[test]
fn ctrl_c_and_ctrl_backslash() {
    let shown = both_ways(|way| {
        let mut terminal = Terminal::open(way);
        for key in [CTRL_C, CTRL_BACKSLASH] {
            terminal.line("$RUN sh -c 'echo ready; exec sleep 100'");
            terminal.until("ready");
            terminal.key_to_shell(key);
            terminal.run("echo code $?");
        }
        terminal.shown()
    });
    assert!(shown.contains("code 130"), "{shown}");
    assert!(shown.contains("code 131"), "{shown}");
}

/// Whatever the terminal sends, the program gets it once.
#[test]
fn keys_that_the_program_handles() {
    let shown = both_ways(|way| {
        let mut terminal = terminal_with(way, LISTENER);
        terminal.line("$RUN python3 -c \"$P\" SIGINT SIGQUIT SIGWINCH");
        terminal.until("ready");
        terminal.keys(CTRL_C);
        terminal.until("got SIGINT");
        terminal.keys(CTRL_BACKSLASH);
        terminal.until("got SIGQUIT");
        terminal.resize(50, 132);
        terminal.until("got SIGWINCH");
        // By then a second copy of any would have come.
        std::thread::sleep(std::time::Duration::from_millis(300));
        terminal.key_to_shell(CTRL_Z);
        terminal.run("kill -USR2 %1; fg; echo code $?; stty size");
        terminal.shown()
    });
    for signal in ["got SIGINT", "got SIGQUIT", "got SIGWINCH"] {
        assert_eq!(shown.matches(signal).count(), 1, "{shown}");
    }
    assert!(shown.contains("code 140\n50 132"), "{shown}");
}

#[test]
fn ctrl_z_and_fg() {
    let shown = both_ways(|way| {
        let mut terminal = Terminal::open(way);
        terminal.line("$RUN sh -c 'echo ready; read line; echo read $line; exit 9'");
        terminal.until("ready");
        terminal.key_to_shell(CTRL_Z);
        terminal.run("echo code $?; jobs");
        terminal.line("fg");
        terminal.line("hello");
        terminal.run("echo code $?; jobs");
        terminal.shown()
    });
    assert!(shown.contains("Stopped"), "{shown}");
    assert!(shown.contains("code 148"), "{shown}");
    assert!(shown.contains("read hello\ncode 9"), "{shown}");
}

/// The bug: a launcher that stops at once gives the shell the terminal while the program still puts it in order.
#[test]
fn a_program_that_takes_its_time_to_stop() {
    let shown = both_ways(|way| {
        let mut terminal = terminal_with(way, EDITOR);
        terminal.line("$RUN python3 -c \"$P\"");
        terminal.until("ready");
        terminal.key_to_shell(CTRL_Z);
        terminal.run("echo code $?; bg; sleep 0.2; kill -USR1 %1; wait %1; echo code $?");
        terminal.shown()
    });
    let order = [
        "putting in order",
        "in order",
        "Stopped",
        "code 147",
        "back",
        "code 3",
    ];
    let places = order.map(|text| shown.find(text));
    assert!(places.is_sorted() && !places.contains(&None), "{shown}");
}

#[test]
fn in_the_background() {
    let shown = both_ways(|way| {
        let mut terminal = Terminal::open(way);
        terminal.run("$RUN sh -c 'sleep 0.1; echo done; exit 4' & wait $!; echo code $?");
        // It may not read, and is stopped.
        terminal.run("$RUN cat & sleep 0.3; jobs");
        terminal.line("fg");
        terminal.line("hello");
        terminal.keys(CTRL_D);
        terminal.run("echo code $?");
        terminal.shown()
    });
    assert!(shown.contains("done\n"), "{shown}");
    assert!(shown.contains("code 4\n"), "{shown}");
    assert!(shown.contains("Stopped"), "{shown}");
    assert!(shown.contains("hello\ncode 0\n"), "{shown}");
}

/// The shell signals the job's whole process group.
#[test]
fn a_job_that_is_killed() {
    let shown = both_ways(|way| {
        let mut terminal = terminal_with(way, LISTENER);
        terminal.line("$RUN python3 -c \"$P\" SIGTERM SIGHUP SIGUSR1 &");
        terminal.until("ready");
        for name in ["TERM", "HUP", "USR1"] {
            terminal.line(&format!("kill -{name} %1"));
            terminal.until(&format!("got SIG{name}"));
        }
        terminal.run("sleep 0.3; kill -USR2 %1; wait %1; echo code $?");
        terminal.shown()
    });
    for name in ["got SIGTERM", "got SIGHUP", "got SIGUSR1"] {
        assert_eq!(shown.matches(name).count(), 1, "{shown}");
    }
    assert!(shown.contains("code 140"), "{shown}");
}

#[test]
fn pipelines() {
    let shown = both_ways(|way| {
        let mut terminal = Terminal::open(way);
        terminal.run("echo hello | $RUN tr a-z A-Z | cat; echo ${PIPESTATUS[*]}");
        terminal.run("$RUN yes | head -1; echo ${PIPESTATUS[*]}");
        terminal.line("$RUN sh -c 'echo ready >&2; exec sleep 100' | cat");
        terminal.until("ready");
        terminal.key_to_shell(CTRL_C);
        terminal.run("echo code $?");
        terminal.shown()
    });
    assert!(shown.contains("HELLO\n0 0 0\n"), "{shown}");
    assert!(shown.contains("y\n141 0\n"), "{shown}");
}

#[test]
fn a_shell_in_the_shell() {
    let shown = both_ways(|way| {
        let mut terminal = Terminal::open(way);
        terminal.run("$RUN bash --norc --noprofile --noediting -i");
        terminal.run("sleep 100 & jobs; kill %1; wait %1; echo code $?");
        terminal.line("sh -c 'echo ready; exec sleep 100'");
        terminal.until("ready");
        terminal.key_to_shell(CTRL_C);
        terminal.run("echo code $?");
        terminal.line("exit 7");
        terminal.run("echo code $?; tty -s && echo terminal");
        terminal.shown()
    });
    assert!(shown.contains("code 7\nterminal"), "{shown}");
}

#[test]
fn the_terminal_s_own_state() {
    let shown = both_ways(|way| {
        let mut terminal = Terminal::open(way);
        terminal.run("$RUN stty rows 33 -icanon; stty -a");
        // Of a job that a signal killed, the shell takes the terminal back as it was before.
        terminal.run("stty icanon; $RUN sh -c 'stty -isig; kill -9 $$'; stty -a");
        terminal.shown()
    });
    assert!(shown.contains("rows 33"), "{shown}");
    assert!(shown.contains(" -icanon"), "{shown}");
}

#[test]
fn nohup_and_a_terminal_that_goes_away() {
    let survivors = both_ways(|way| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut terminal = Terminal::open(way);
        let start = |name: &str, before: &str| {
            let path = folder.path().join(name);
            let path = path.display();
            // Ends when the test removes its folder.
            format!(
                "{before} $RUN sh -c 'echo $$ > {path}; while test -e {path}; do sleep 0.05; done' >/dev/null 2>&1 </dev/null &"
            )
        };
        terminal.run(&start("kept", "nohup"));
        terminal.run(&start("lost", ""));
        let process = |name: &str| {
            let path = folder.path().join(name);
            let read = || fs::read_to_string(&path).unwrap_or_default();
            until("its process id", || read().ends_with('\n'));
            read().trim().to_owned()
        };
        let processes = ["kept", "lost"].map(process);
        let runs = |id: &String| fs::exists(format!("/proc/{id}")).expect("/proc");
        assert!(processes.iter().all(runs));
        drop(terminal);
        until("SIGHUP", || !runs(&processes[1]));
        let survivors = processes.each_ref().map(runs);
        fs::remove_file(folder.path().join("kept")).expect("its file");
        until("its end", || !runs(&processes[0]));
        survivors
    });
    assert_eq!(survivors, [true, false]);
}

/// The terminal goes away from a program that is its session's leader: only the leader is told.
#[test]
fn a_session_leader_whose_terminal_goes_away() {
    let told = both_ways(|way| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("told");
        let script = format!(
            "trap 'echo SIGHUP >> {0}; exit' HUP; echo ready > {0}; while test -e {0}; do sleep 0.05; done",
            path.display()
        );
        let (pty, pts) = pty_process::blocking::open().expect("a terminal");
        let command: Command = way.command("sh");
        let mut child = pty_process::blocking::Command::from(command)
            .args(["-c", &script])
            .spawn(pts)
            .expect("sh");
        let read = || fs::read_to_string(&path).unwrap_or_default();
        until("ready", || read() == "ready\n");
        drop(pty);
        let status = child.wait().expect("its status");
        (read(), status.code())
    });
    assert_eq!(told, ("ready\nSIGHUP\n".to_owned(), Some(0)));
}
