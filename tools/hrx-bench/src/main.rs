//! quick
use hrx_trace::*;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::*;
#[derive(Clone)]
struct Seed { _s: f64, _d: f64, _l: usize, _b: usize, _f: bool }
struct Base { epoch: Instant, cap: usize, q: Mutex<Option<(VecDeque<Seed>, u64)>> , en: std::sync::atomic::AtomicBool}
impl Base {
    fn record(&self, start: Instant, el: Duration, lane: usize, b: usize, f: bool) {
        if !self.en.load(std::sync::atomic::Ordering::Acquire) { return; }
        let mut g = self.q.lock().unwrap();
        let Some((q, d)) = g.as_mut() else { return };
        let Some(o) = start.checked_duration_since(self.epoch) else { return };
        if q.len() == self.cap { q.pop_front(); *d += 1; }
        q.push_back(Seed { _s: o.as_secs_f64() * 1e6, _d: el.as_secs_f64() * 1e6, _l: lane, _b: b, _f: f });
    }
}
fn main() {
    let n = 100_000u32; let mut all: Vec<[f64;4]> = vec![];
    let cap = 1u64 << 13;
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let r = Recorder::create(dir.path().join("a"), cap).unwrap();
    let base = Base { epoch: Instant::now(), cap: cap as usize, q: Mutex::new(Some((VecDeque::new(), 0))), en: true.into() };
    let start = Instant::now();
    let l = r.label("gemm");
    for _ in 0..100 {
        let t = Instant::now();
        for i in 0..n { base.record(std::hint::black_box(start), Duration::from_nanos(i as u64), 1, i as usize, false); }
        let a = t.elapsed().as_nanos() as f64 / n as f64;
        let t = Instant::now();
        for i in 0..n { r.record(std::hint::black_box(start), Duration::from_nanos(i as u64), Event::new(1).label(l).copied_bytes(i as u64).correlation_id(i as u64)); }
        let b = t.elapsed().as_nanos() as f64 / n as f64;
        let t = Instant::now();
        for i in 0..n { r.begin(Event::new(1).label(l).copied_bytes(i as u64)).finish(); }
        let c = t.elapsed().as_nanos() as f64 / n as f64;
        let t = Instant::now();
        for _ in 0..n { std::hint::black_box(Instant::now()); }
        let d = t.elapsed().as_nanos() as f64 / n as f64;
        all.push([a,b,c,d]);
    }
    for k in 0..4 { all.sort_by(|x,y| x[k].total_cmp(&y[k])); print!("{} min {:.1} med {:.1}; ", ["seed","record","begin+finish","clock"][k], all[0][k], all[50][k]); }
    let mut r: Vec<f64> = all.iter().map(|x| x[1]/x[0]).collect(); r.sort_by(f64::total_cmp); println!("ratio med {:.2}", r[50]);
}
