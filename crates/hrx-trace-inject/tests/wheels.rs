//! Proves: stock packages that know nothing of us leave a capture when they are killed, whole, with what was running and its stack.
//!
//! How: OpenVINO and OpenCV, as their makers ship them, and scripts that announce their steps by the packages nvtx and ittapi, killed at random moments.

mod support;

use std::thread::sleep;
use std::time::Duration;

use support::{Bed, begun, is_big, package, running};

const OPENVINO: &str = "
import numpy, openvino
from openvino import opset13
x = opset13.parameter([1, 16, 256, 256], numpy.float32)
y = x
for _ in range(6):
    weights = opset13.constant(numpy.ones((16, 16, 3, 3), numpy.float32) / 144)
    y = opset13.convolution(y, weights, [1, 1], [1, 1], [1, 1], [1, 1])
request = openvino.compile_model(openvino.Model([y], [x]), 'CPU').create_infer_request()
image = numpy.zeros((1, 16, 256, 256), numpy.float32)
request.infer({0: image})
print('begun', flush=True)
while True: request.infer({0: image})
";

const OPENCV: &str = "
import cv2, numpy
image = numpy.zeros((512, 512, 3), numpy.uint8)
cv2.bilateralFilter(image, 9, 75, 75)
print('begun', flush=True)
while True: cv2.bilateralFilter(image, 9, 75, 75)
";

const NVTX: &str = "
import nvtx, threading
def train(begun):
    while True:
        with nvtx.annotate('step', domain='trainer'):
            with nvtx.annotate('forward', domain='trainer'): sum(range(5000))
            with nvtx.annotate('backward', domain='trainer'): sum(range(5000))
        begun.set()
begun = threading.Event()
for _ in range(2): threading.Thread(target=train, args=[begun], daemon=True).start()
begun.wait()
print('begun', flush=True)
train(begun)
";

const ITTAPI: &str = "
import ittapi
with ittapi.task('first'): pass
print('begun', flush=True)
while True:
    with ittapi.task('epoch'):
        for _ in range(100):
            with ittapi.task('batch'): sum(range(5000))
";

/// Kills the script again and again. Of what was running, `part` must have been seen most times: between two calls, nothing runs.
fn kill_often(name: &str, script: &str, part: &str) {
    let Some(packages) = package(name) else {
        return;
    };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (times, mut seen) = (if is_big() { 100 } else { 10 }, 0);
    for _ in 0..times {
        let bed = Bed::new();
        let mut command = bed.heard("python3");
        let mut child = begun(command.env("PYTHONPATH", &packages).args(["-c", script]));
        sleep(Duration::from_micros(random.u64(0..100_000)));
        child.kill().expect("a program");
        child.wait().expect("its end");
        let trace = bed.trace();
        let report = trace.report();
        assert!(
            report.account.balances() && report.damages.is_empty() && report.hidden_now == 0,
            "{report:?}"
        );
        assert!(report.account.torn <= 4, "{report:?}");
        assert!(trace.events().all(|event| !event.failed), "{report:?}");
        let running = running(&trace);
        seen += usize::from(running.iter().any(|name| name.contains(part)));
        println!("{running:?}");
    }
    assert!(2 * seen > times, "{part} was seen {seen} times of {times}");
}

#[test]
fn openvino() {
    kill_often("openvino", OPENVINO, "infer");
}

#[test]
fn opencv() {
    kill_often("cv2", OPENCV, "bilateralFilter");
}

#[test]
fn nvtx() {
    kill_often("nvtx", NVTX, "step");
}

#[test]
fn ittapi() {
    kill_often("ittapi", ITTAPI, "epoch");
}
