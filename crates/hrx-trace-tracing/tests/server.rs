//! Proves: a server on axum, with the middleware that most have, is killed under load, and each time the requests in flight are in its file, with method and path: the
//! one that computes as running, on the lane of the thread that it blocks, those that wait as waiting.
//!
//! How: the example `server` serves requests over loopback. Some are to take minutes: they are in flight at the kill, and their paths are all different. Others come
//! and go until then.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use hrx_trace_reader::{ArgumentValue, Ending, OpenRegion, Trace};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::scale::repetitions;
use hrx_trace_tests::seeds;

/// Threads of the server.
const THREADS: usize = 2;
/// Requests that wait until the server is killed.
const WAITING: usize = 20;
/// The paths of those are `/orders/` and a number from this on, in milliseconds.
const MINUTES: usize = 1_000_000;

fn request(port: u16, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("the server reads");
    stream
}

/// Sends short requests, one after the other, until `over`.
fn load(port: u16, over: &AtomicBool, mut random: fastrand::Rng) -> u64 {
    let mut answers = 0;
    while !over.load(Ordering::SeqCst) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
            break;
        };
        let kind = if random.bool() { "orders" } else { "report" };
        let milliseconds = random.u32(0..2);
        let path = format!("/{kind}/{milliseconds}");
        let sent = write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        );
        let mut answer = String::new();
        if sent.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.contains("200 OK") {
            answers += 1;
        }
    }
    answers
}

/// The argument `key` of `region`.
fn argument(trace: &Trace, region: &OpenRegion, key: &str) -> Option<String> {
    let is_it = |id: u32| trace.key(id).into_text(id) == key;
    let argument = region.arguments.iter().find(|argument| is_it(argument.key));
    match &argument?.value {
        ArgumentValue::Text(text) => Some(text.clone()),
        other => panic!("{other:?}"),
    }
}

/// Runs the server, kills it `after` the requests that stay are in flight, and looks at its file. Returns how many requests were answered.
fn killed(file: &Path, after: Duration, random: &mut fastrand::Rng) -> u64 {
    let mut server = Command::new(&PROGRAMS.server)
        .arg(file)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut port = String::new();
    let output = server.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut port).expect("a port");
    let port = port.trim().parse().expect("a port");

    let over = AtomicBool::new(false);
    let (answers, streams) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|_| (random.fork(), &over))
            .map(|(random, over)| scope.spawn(move || load(port, over, random)))
            .collect();
        let mut streams: Vec<TcpStream> = (0..WAITING)
            .map(|number| request(port, &format!("/orders/{}", MINUTES + number)))
            .collect();
        // They have come as far as where they wait.
        until(|| {
            open(file)
                .iter()
                .filter(|(_, path)| is_minutes(path))
                .count()
                == WAITING
        });
        streams.push(request(port, &format!("/report/{MINUTES}")));
        until(|| {
            open(file)
                .iter()
                .any(|(waiting, path)| !waiting && path.starts_with("/report/1000"))
        });
        sleep(after);
        server.kill().expect("it is killed");
        over.store(true, Ordering::SeqCst);
        let answers = clients
            .into_iter()
            .map(|client| client.join().expect("no panic"));
        (answers.sum(), streams)
    });
    assert_eq!(server.wait().expect("a child").signal(), Some(9));
    drop(streams);

    let trace = Trace::open(file).expect("the header is intact");
    let report = trace.report();
    assert_eq!(report.ending, Ending::WriterDied);
    let account = &report.account;
    assert_eq!(
        account.claimed,
        account.recovered + account.overwritten + account.torn
    );
    let requests: Vec<&OpenRegion> = report
        .open_regions
        .iter()
        .filter(|region| trace.name(region.label_id) == "request")
        .collect();
    // Each thread may have died between the beginning of a region and its arguments: of a new request, or of one that is still shown as it was before.
    let method =
        |region: &&&OpenRegion| argument(&trace, region, "method").as_deref() == Some("GET");
    let without = requests.len() - requests.iter().filter(method).count();
    assert!(without <= THREADS, "{without} without a method");
    let of = |path: &str| {
        let found = requests
            .iter()
            .filter(|region| argument(&trace, region, "uri").as_deref() == Some(path));
        found.map(|region| region.waiting).collect::<Vec<_>>()
    };
    for number in 0..WAITING {
        assert_eq!(of(&format!("/orders/{}", MINUTES + number)), [true]);
    }
    assert_eq!(of(&format!("/report/{MINUTES}")), [false]);
    answers
}

/// Whether each request in the open table waits, and its path.
fn open(file: &Path) -> Vec<(bool, String)> {
    let trace = Trace::open(file).expect("the header is intact");
    let regions = trace.open_regions();
    let requests = regions
        .iter()
        .filter(|region| trace.name(region.label_id) == "request");
    requests
        .filter_map(|region| Some((region.waiting, argument(&trace, region, "uri")?)))
        .collect()
}

fn is_minutes(path: &str) -> bool {
    path.starts_with("/orders/1000")
}

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn requests_in_flight_are_in_the_file_of_a_killed_server() {
    let mut random = seeds::rng("requests_in_flight_are_in_the_file_of_a_killed_server");
    let runs = repetitions(30, 300);
    let mut answered = 0;
    for _ in 0..runs {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("run.hrxt");
        let after = Duration::from_micros(random.u64(0..30_000));
        answered += killed(&file, after, &mut random);
    }
    assert!(answered > 0);
    println!(
        "{runs} kills, {answered} requests answered before: the {WAITING} that waited and the one that computed were in the file each time"
    );
}

/// What the person who looks for the fault sees.
#[test]
fn the_summary_tells_what_runs_from_what_waits() {
    let mut random = seeds::rng("the_summary_tells_what_runs_from_what_waits");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.hrxt");
    killed(&file, Duration::ZERO, &mut random);
    let summary = Command::new(&PROGRAMS.convert)
        .arg("--summary")
        .arg(&file)
        .env("COLUMNS", "200")
        .output()
        .expect("it starts");
    assert!(summary.status.success(), "{summary:?}");
    let summary = String::from_utf8(summary.stdout).expect("UTF-8");
    let line = |wanted: fn(&str) -> bool| {
        let mut lines = summary.lines();
        lines
            .find(|line| wanted(line))
            .unwrap_or_else(|| panic!("{summary}"))
    };
    let computing = line(|line| line.contains("uri=\"/report/1000000\""));
    assert!(computing.starts_with("tokio-rt-worker"), "{computing}");
    assert!(computing.contains("method=\"GET\""), "{computing}");
    assert!(!computing.ends_with("waiting"), "{computing}");
    let waits = line(|line| line.contains("uri=\"/orders/1000"));
    assert!(waits.starts_with("waiting "), "{waits}");
    assert!(waits.ends_with("waiting"), "{waits}");
}
