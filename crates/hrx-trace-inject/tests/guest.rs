//! Proves: the program comes first. Whatever it does, and whatever it lacks, it runs on as if no one listened; and what it announced is in the file.
//!
//! How: the program `guest` does in each way what harmed a host, or might. It checks itself, and its capture is checked here.

mod support;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use hrx_trace_reader::{Ending, Trace};
use support::{
    Bed, assert_finished, assert_whole, compiled, completed, full_name, run, running, succeed,
};

/// A bed, and the command that runs the program in that way. None: its headers are not installed.
fn guest(way: &str) -> Option<(Bed, Command)> {
    let bed = Bed::new();
    let program = compiled(bed.path(), "guest.c", &[])?;
    let mut command = bed.heard(program);
    command.arg(way);
    Some((bed, command))
}

macro_rules! guest {
    ($way:literal) => {
        match guest($way) {
            Some(found) => found,
            None => return,
        }
    };
}

fn count(names: &[String], name: &str) -> usize {
    names.iter().filter(|found| *found == name).count()
}

/// The bug: the prototype made an empty file for each process that never announced anything.
#[test]
fn no_event_no_file() {
    let (bed, mut command) = guest!("silent");
    assert_eq!(succeed(&mut command), "done\n");
    assert!(bed.traces().is_empty());
}

/// The bug: the prototype aborted a program that announced something in an exit handler, when thread-locals were destroyed. And: regions of a clean exit became failed.
#[test]
fn exit_handlers_and_destructors() {
    let (bed, mut command) = guest!("ends");
    assert_eq!(succeed(&mut command), "done\n");
    let trace = bed.trace();
    assert_whole(&trace);
    assert_finished(&trace);
    assert_eq!(
        completed(&trace),
        [
            "in a thread",
            "in a thread's destructor",
            "in an exit handler",
            "in a destructor"
        ]
    );
    assert_eq!(running(&trace), ["unfinished"]);
}

/// The bug: forked children hung on a lock that another thread held at the fork, and were lost silently.
#[test]
fn forked_children_have_files_of_their_own() {
    let (bed, mut command) = guest!("forks");
    assert_eq!(succeed(&mut command), "done\n");
    let traces = bed.traces();
    assert_eq!(traces.len(), 101, "{:?}", traces.keys());
    let mut children = 0;
    for (name, trace) in &traces {
        assert_finished(trace);
        let names = completed(trace);
        if names == ["in the child", "running in the child"] {
            children += 1;
            assert_whole(trace);
        } else {
            assert_eq!(count(&names, "in the child"), 0, "{name}");
            assert!(trace.account().balances());
        }
        assert!(running(trace).is_empty(), "{name}");
    }
    assert_eq!(children, 100);
}

/// The bug: a program that was replaced by exec, and spawned ones, failed on the name of the file.
#[test]
fn exec_and_spawn() {
    let (bed, mut command) = guest!("execs");
    assert_eq!(succeed(&mut command), "done\n");
    let traces: Vec<Trace> = bed.traces().into_values().collect();
    assert_eq!(
        traces.iter().map(completed).collect::<Vec<_>>(),
        [["before exec"], ["one"]]
    );
    assert_eq!(traces[1].ending(), Ending::Finished);
    assert_ne!(traces[0].ending(), Ending::Finished);

    // One name for all: the first takes it, and the others go beside it.
    let (bed, mut command) = guest!("spawns");
    command.env("HRX_TRACE_FILE", bed.captures().join("all.hrxt"));
    assert_eq!(succeed(&mut command), "done\ndone\ndone\n");
    let traces = bed.traces();
    let names: BTreeMap<&str, Vec<String>> = traces
        .iter()
        .map(|(name, trace)| (name.as_str(), completed(trace)))
        .collect();
    assert_eq!(names["all.hrxt"], ["in the parent"]);
    assert_eq!(
        names.values().filter(|names| names[..] == ["one"]).count(),
        2,
        "{names:?}"
    );
}

/// A child of vfork shares the memory, and must not make a capture that its parent then takes for its own.
#[test]
fn vfork() {
    let (bed, mut command) = guest!("vforks");
    assert_eq!(succeed(&mut command), "done\n");
    let trace = bed.trace();
    assert_finished(&trace);
    assert_eq!(count(&completed(&trace), "in the parent"), 2);
}

/// The bug: names by the hundred thousand filled the table, the hung region was unnamed, and the cache took 36 MiB.
#[test]
fn names_by_the_hundred_thousand() {
    let (bed, mut command) = guest!("names");
    let (status, output, complaint) = run(&mut command);
    assert_eq!(
        (status.signal(), output.as_str(), complaint.as_str()),
        (Some(9), "done\n", "")
    );
    let trace = bed.trace();
    let report = trace.report();
    assert!(
        report.account.balances() && report.names_refused == 0,
        "{report:?}"
    );
    let open: Vec<(String, String)> = report
        .open_regions
        .iter()
        .map(|region| {
            let name = support::argument(&trace, &region.arguments, "name");
            (full_name(&trace, region.label_id), format!("{name:?}"))
        })
        .collect();
    let named = |label: &str, name: &str| (label.to_owned(), format!("Some(Text({name:?}))"));
    assert_eq!(
        open,
        [
            named("iteration # of #", "iteration 100000 of 5"),
            named("other names", "the region that hangs")
        ]
    );
}

/// The bug: regions of a thread that ended became failed.
#[test]
fn threads_by_the_thousand() {
    let (bed, mut command) = guest!("threads");
    assert_eq!(succeed(&mut command), "done\n");
    let trace = bed.trace();
    assert_finished(&trace);
    let report = trace.report();
    assert!(
        report.account.balances() && report.account.torn == 0,
        "{report:?}"
    );
    assert_eq!(count(&completed(&trace), "in a thread"), 3000);
    assert_eq!(
        count(&running(&trace), "left open") as u64 + report.hidden_now,
        3000
    );
    assert!(trace.events().all(|event| !event.failed));
}

/// A thread that is cancelled inside a system call unwinds, and Rust's functions abort where something unwinds through them.
#[test]
fn cancelled_threads() {
    let (_bed, mut command) = guest!("cancels");
    assert_eq!(succeed(&mut command), "done\n");
}

#[test]
fn stacks_of_any_depth() {
    let (bed, mut command) = guest!("deep");
    assert_eq!(succeed(&mut command), "done\n");
    let trace = bed.trace();
    assert_finished(&trace);
    assert_eq!(count(&completed(&trace), "after it"), 1);
    assert!(running(&trace).is_empty());
}

/// A handler comes in between any two instructions: of `malloc`, and of this library while it interns a name.
#[test]
fn signal_handlers() {
    let (bed, mut command) = guest!("signals");
    assert_eq!(succeed(&mut command), "done\n");
    let trace = bed.trace();
    assert_finished(&trace);
    assert!(running(&trace).is_empty());
    assert!(trace.account().balances());

    let (bed, mut command) = guest!("first_in_handler");
    assert_eq!(succeed(&mut command), "done\n");
    assert_eq!(completed(&bed.trace()), ["in a handler aaa", "after it"]);
}

#[test]
fn errno_is_kept() {
    let (_bed, mut command) = guest!("keeps_errno");
    assert_eq!(succeed(&mut command), "done\n");
}

/// Each object has a table of its own, and clients load the listener again and again: one of them, 29 times.
#[test]
fn clients_that_come_and_go() {
    let (bed, mut command) = guest!("loads");
    let client =
        compiled(bed.path(), "client.c", &["-shared", "-fPIC"]).expect("its headers are there");
    assert_eq!(succeed(command.arg(client)), "done\n");
    let trace = bed.trace();
    assert_finished(&trace);
    assert_whole(&trace);
    assert_eq!(count(&completed(&trace), "announced"), 300);
}

/// Nothing to be had: the program runs on, and one line says why if it is asked for.
#[test]
fn without_what_a_capture_needs() {
    for (way, why) in [
        ("no_descriptors", "Too many open files"),
        ("no_room", "no room"),
        ("no_memory", "no address space"),
    ] {
        let Some((bed, mut command)) = guest(way) else {
            return;
        };
        assert_eq!(succeed(&mut command), "done\n", "{way}");
        assert!(bed.traces().is_empty(), "{way}");
        let (status, output, complaint) = run(command.env("HRX_TRACE_VERBOSE", "1"));
        assert!(
            status.success() && output == "done\n",
            "{way}: {status} {output}{complaint}"
        );
        assert_eq!(complaint.lines().count(), 1, "{way}: {complaint}");
        assert!(complaint.contains(why), "{way}: {complaint}");
    }
}

#[test]
fn a_folder_that_takes_no_file() {
    let (bed, mut command) = guest!("one");
    let folder = bed.path().join("absent");
    for folder in [folder, PathBuf::from("/proc")] {
        assert_eq!(succeed(command.env("HRX_TRACE_DIR", &folder)), "done\n");
        let (_, _, complaint) = run(command.env("HRX_TRACE_VERBOSE", "1"));
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        command.env_remove("HRX_TRACE_VERBOSE");
    }
}

/// Without permission, as another user than root.
#[test]
fn a_folder_without_permission() {
    let (bed, _) = guest!("one");
    fs::set_permissions(bed.path(), Permissions::from_mode(0o755)).expect("a mode");
    fs::set_permissions(bed.captures(), Permissions::from_mode(0o500)).expect("a mode");
    let mut command = bed.heard("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(bed.path().join("guest"))
        .arg("one");
    let (status, output, complaint) = run(&mut command);
    if complaint.contains("setpriv") {
        return hrx_trace_tests::skip::skip("only root can become another user");
    }
    assert!(
        status.success() && output == "done\n" && complaint.is_empty(),
        "{output}{complaint}"
    );
    assert!(bed.traces().is_empty());
}

/// In a set-user-ID program the variables are a stranger's: this library must not do for it what the caller may not.
#[test]
fn set_user_id() {
    let (bed, mut command) = guest!("one");
    let program = bed.path().join("guest");
    if chown(&program, Some(65534), None).is_err() {
        return hrx_trace_tests::skip::skip("only root can give a program away");
    }
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).expect("a mode");
    fs::set_permissions(bed.path(), Permissions::from_mode(0o755)).expect("a mode");
    fs::set_permissions(bed.captures(), Permissions::from_mode(0o777)).expect("a mode");
    assert_eq!(succeed(&mut command), "done\n");
    assert!(bed.traces().is_empty());
}
