//! Rounds: every case gives one sample per round, in an order that rotates, so that none always follows the same neighbour.

use std::time::Duration;

use anyhow::{Context, Result};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Samples of each contender.
    pub rounds: usize,
    /// About how long one sample takes.
    pub sample: Duration,
}

/// What one turn of a case gave.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Nanoseconds per event, as one thread sees it.
    pub event_ns: f64,
    /// How long the whole loop took.
    pub took: Duration,
}

/// One contender in one situation.
pub struct Case<'a> {
    pub name: String,
    /// Records this many events.
    measure: Box<dyn FnMut(u64) -> Result<Sample> + 'a>,
}

impl<'a> Case<'a> {
    pub fn new(name: impl Into<String>, measure: impl FnMut(u64) -> Result<Sample> + 'a) -> Self {
        Self {
            name: name.into(),
            measure: Box::new(measure),
        }
    }

    fn sample(&mut self, events: u64) -> Result<Sample> {
        (self.measure)(events).with_context(|| self.name.clone())
    }

    /// How many events take as long as `sample`. Also warms up.
    fn events_of(&mut self, sample: Duration) -> Result<u64> {
        let mut events = 256;
        loop {
            let took = self.sample(events)?.took;
            if took * 8 >= sample {
                let share = sample.as_secs_f64() / took.as_secs_f64();
                return Ok(((events as f64 * share) as u64).max(1));
            }
            events *= 8;
        }
    }
}

/// The samples of each case, one per round.
pub fn interleave(cases: &mut [Case<'_>], plan: Plan) -> Result<Vec<Vec<f64>>> {
    let counts = cases
        .iter_mut()
        .map(|case| case.events_of(plan.sample))
        .collect::<Result<Vec<u64>>>()?;
    let mut samples = vec![Vec::with_capacity(plan.rounds); cases.len()];
    for round in 0..plan.rounds {
        for turn in 0..cases.len() {
            let index = (round + turn) % cases.len();
            samples[index].push(cases[index].sample(counts[index])?.event_ns);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use super::{Case, Plan, Sample, interleave};

    /// The sample of events that take `event_ns` each.
    fn sample(event_ns: f64, events: u64) -> Sample {
        Sample {
            event_ns,
            took: Duration::from_secs_f64(event_ns * events as f64 / 1e9),
        }
    }

    #[test]
    fn every_case_has_one_sample_per_round_and_the_order_rotates() -> anyhow::Result<()> {
        let order = RefCell::new(String::new());
        let mut cases: Vec<Case<'_>> = ["a", "b", "c"]
            .into_iter()
            .map(|name| {
                let order = &order;
                Case::new(name, move |events| {
                    // Calibration begins with 256 events; at 1 ms each, that is more than a sample.
                    if events < 256 {
                        order.borrow_mut().push_str(name);
                    }
                    Ok(sample(1e6, events))
                })
            })
            .collect();
        let plan = Plan {
            rounds: 3,
            sample: Duration::from_millis(10),
        };
        let samples = interleave(&mut cases, plan)?;
        drop(cases);
        assert_eq!(order.into_inner(), "abcbcacab");
        assert_eq!(samples, vec![vec![1e6; 3]; 3]);
        Ok(())
    }

    #[test]
    fn a_sample_has_as_many_events_as_fit_its_time() -> anyhow::Result<()> {
        let counts = RefCell::new(Vec::new());
        let mut case = [Case::new("20 ns", |events| {
            counts.borrow_mut().push(events);
            Ok(sample(20.0, events))
        })];
        let plan = Plan {
            rounds: 1,
            sample: Duration::from_millis(50),
        };
        interleave(&mut case, plan)?;
        drop(case);
        assert_eq!(counts.into_inner().last(), Some(&2_500_000));
        Ok(())
    }

    /// The bug: the number of events was computed from the cost of one, and a contender that costs nothing (0 or less, by a subtraction) ran for hours.
    #[test]
    fn a_contender_that_costs_nothing_runs_no_longer_than_others() -> anyhow::Result<()> {
        let mut most = 0;
        let mut case = [Case::new("free", |events| {
            most = most.max(events);
            Ok(Sample {
                event_ns: -0.5,
                took: Duration::from_micros(20 * events),
            })
        })];
        let plan = Plan {
            rounds: 1,
            sample: Duration::from_millis(50),
        };
        interleave(&mut case, plan)?;
        drop(case);
        assert_eq!(most, 2_500);
        Ok(())
    }

    #[test]
    fn a_failure_names_the_contender() {
        let mut case = [Case::new("broken", |_| anyhow::bail!("no"))];
        let plan = Plan {
            rounds: 1,
            sample: Duration::from_millis(1),
        };
        let error = interleave(&mut case, plan).expect_err("it failed");
        assert_eq!(format!("{error:#}"), "broken: no");
    }
}
