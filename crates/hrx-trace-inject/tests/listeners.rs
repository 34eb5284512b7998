//! Proves: a listener that was configured before hears all that ours hears, with its own handles; ITT and ROCTX are heard as NVTX is.
//!
//! How: a collector of the tests' own, Python's `ittapi`, and a C program that is linked against ROCTX's name or loads it.

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use hrx_trace_reader::{Event, Kind};
use support::{
    Bed, argument, assert_finished, assert_whole, compiled, completed, label, listener, marks,
    package, running, succeed,
};

#[test]
fn another_listener_of_nvtx() {
    let bed = Bed::new();
    let Some(program) = compiled(bed.path(), "chained.c", &[]) else {
        return;
    };
    let collector = compiled(bed.path(), "collector.c", &["-shared", "-fPIC"]).expect("a library");
    let heard = bed.path().join("heard");
    let mut command = bed.heard(program);
    command
        .env("HRX_TRACE_NEXT_NVTX", &collector)
        .env("COLLECTED", &heard);
    // Its levels and its number.
    assert_eq!(succeed(&mut command), "100 101 101 100 4242\n");
    let heard = fs::read_to_string(heard).expect("what it heard");
    let expected = "push plain\ndomain net\nnet registered\npop net\npop \nstart range\nend 4242\n";
    assert_eq!(heard, expected);
    let trace = bed.trace();
    assert_whole(&trace);
    assert_finished(&trace);
    assert_eq!(completed(&trace), ["net/registered", "plain", "range"]);
    assert_eq!(marks(&trace), ["mark"]);
}

/// One that cannot be loaded is said, if asked, and no more.
#[test]
fn another_listener_that_is_not_there() {
    let bed = Bed::new();
    let Some(program) = compiled(bed.path(), "chained.c", &[]) else {
        return;
    };
    let mut command = bed.heard(program);
    for next in ["/no/such/library.so", "", &listener().to_string_lossy()] {
        assert_eq!(
            succeed(command.env("HRX_TRACE_NEXT_NVTX", next)),
            "0 0 0 0 1\n",
            "{next}"
        );
    }
    assert_eq!(bed.traces().len(), 3);
}

const TASKS: &str = "
import ittapi, os, sys
domain = ittapi.domain('domain')
with ittapi.task('outer', domain=domain):
    with ittapi.task('inner', domain=domain): pass
other = ittapi.domain('other')
running = ittapi.task('running', domain=other); running.begin()
event = ittapi.event('event'); event.begin()
again = ittapi.event('again'); again.begin(); again.end()
region = ittapi.task('overlapped', domain=domain, overlapped=True); region.begin(); region.end()
print('done', flush=True)
if len(sys.argv) > 1: os.kill(os.getpid(), int(sys.argv[1]))
";

#[test]
fn itt() {
    let bed = Bed::new();
    let Some(packages) = package("ittapi") else {
        return;
    };
    for signal in [None, Some("9"), Some("11")] {
        let mut command = bed.heard("python3");
        command
            .env("PYTHONPATH", &packages)
            .args(["-c", TASKS])
            .args(signal);
        let (_, output, complaint) = support::run(&mut command);
        assert_eq!((output.as_str(), complaint.as_str()), ("done\n", ""));
        let trace = bed.trace();
        assert_whole(&trace);
        assert_eq!(
            completed(&trace),
            ["domain/inner", "domain/outer", "again", "domain/overlapped"]
        );
        assert_eq!(running(&trace), ["other/running", "event"]);
        if signal.is_none() {
            assert_finished(&trace);
        }
        fs::remove_dir_all(bed.captures()).expect("a folder");
    }
}

#[test]
fn another_listener_of_itt() {
    let bed = Bed::new();
    let Some(packages) = package("ittapi") else {
        return;
    };
    let Some(collector) = compiled(bed.path(), "collector.c", &["-shared", "-fPIC"]) else {
        return;
    };
    let heard = bed.path().join("heard");
    let script = "
import ittapi
domain = ittapi.domain('domain')
with ittapi.task('outer', domain=domain):
    with ittapi.task('inner', domain=domain): pass
";
    let mut command = bed.heard("python3");
    command.env("PYTHONPATH", &packages).args(["-c", script]);
    command
        .env("HRX_TRACE_NEXT_ITT", &collector)
        .env("COLLECTED", &heard);
    succeed(&mut command);
    let heard = fs::read_to_string(heard).expect("what it heard");
    assert_eq!(
        heard,
        "task outer\ntask inner\nend of task domain\nend of task domain\n"
    );
    let trace = bed.trace();
    assert_whole(&trace);
    assert_eq!(completed(&trace), ["domain/inner", "domain/outer"]);
}

#[test]
fn roctx() {
    let bed = Bed::new();
    let folder = bed.path().join("hrx-trace");
    fs::create_dir(&folder).expect("a folder");
    let library = folder.join("libroctx64.so.4");
    symlink(listener(), &library).expect("a link");
    let library = library.to_str().expect("UTF-8");
    for options in [&[][..], &["-DLINKED", library]] {
        let Some(program) = compiled(bed.path(), "roctx.c", options) else {
            return;
        };
        let mut command = bed.heard(program);
        command.env("LD_LIBRARY_PATH", &folder);
        assert_eq!(succeed(&mut command), "0 1 1 1 0 -1\n");
        let trace = bed.trace();
        assert_whole(&trace);
        assert_finished(&trace);
        assert_eq!(completed(&trace), ["inner", "first", "outer"]);
        assert_eq!(marks(&trace), ["mark"]);
        assert_eq!(running(&trace), ["second"]);
        fs::remove_dir_all(bed.captures()).expect("a folder");
    }
}

/// Python's `nvtx`, with ranges that end on other threads, in several domains.
#[test]
fn python_nvtx() {
    let bed = Bed::new();
    let Some(packages) = package("nvtx") else {
        return;
    };
    let script = "
import nvtx, threading
def work(number):
    rest = nvtx.start_range('handed over', domain='a')
    for index in range(50):
        with nvtx.annotate('outer', domain='a', category='phase'):
            with nvtx.annotate('inner', domain='b', payload=index): pass
    handed.append(rest)
handed = []
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for rest in handed[1:]: nvtx.end_range(rest)
";
    let mut command = bed.heard("python3");
    command.env("PYTHONPATH", &packages).args(["-c", script]);
    succeed(&mut command);
    let trace = bed.trace();
    assert_whole(&trace);
    assert_finished(&trace);
    let names = completed(&trace);
    let count = |name: &str| names.iter().filter(|found| *found == name).count();
    assert_eq!(
        (count("a/outer"), count("b/inner"), count("a/handed over")),
        (400, 400, 7)
    );
    assert_eq!(running(&trace), ["a/handed over"]);
    let events: Vec<Event> = trace
        .events()
        .filter(|event| event.kind == Kind::Region)
        .collect();
    for event in &events {
        match label(&trace, event.label_id).0.as_str() {
            "inner" => assert!(
                argument(&trace, &event.arguments, "payload").is_some(),
                "{event:?}"
            ),
            "outer" => {
                let category = format!("{:?}", argument(&trace, &event.arguments, "category"));
                assert_eq!(category, "Some(Text(\"phase\"))");
            }
            _ => {}
        }
    }
}
