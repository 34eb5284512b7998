//! Which region follows which under the same correlation id, for arrows in viewers.
//!
//! Regions of one id form a chain in the order of completion, as long as each begins no earlier than the one before. A region that began earlier
//! starts a new chain, because an arrow cannot go back in time. No two chains have the same number. Memory is fixed: the latest [`WAYS`] ids in each of
//! [`SETS`] sets are remembered, which is nearly all of them while fewer than some ten thousand are in progress. A forgotten id starts a new chain:
//! one arrow is missing, and none is wrong. The ids of regions that were running when the capture was opened are never forgotten, because the arrow
//! to a region that hangs is the one that is wanted.

use std::collections::BTreeMap;

use crate::input::captures::{Capture, Captures};
use crate::tracks::mix::mixed;

/// A power of two.
const SETS: usize = 1 << 13;
const WAYS: usize = 4;

/// A region's place in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The chain's number, from 1.
    pub chain: u64,
    /// The end that an arrow comes from, if one does.
    pub before: Option<FlowEnd>,
}

/// An end of an arrow: the beginning of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowEnd {
    pub start_ns: u64,
    /// The thread id of the region's track, for outputs that identify tracks by it.
    pub tid: u32,
}

/// Half a cache line, so that a set takes two lines.
#[derive(Clone, Copy, Default)]
struct Chain {
    correlation_id: u64,
    /// 0: none.
    chain: u64,
    start_ns: u64,
    tid: u32,
    /// The capture's index.
    capture: u32,
}

impl Chain {
    fn last(&self) -> FlowEnd {
        FlowEnd {
            start_ns: self.start_ns,
            tid: self.tid,
        }
    }
}

/// The chains of a set, the latest first.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Set([Chain; WAYS]);

/// The chains in progress.
pub struct Flows {
    sets: Vec<Set>,
    chains: u64,
    /// The ids of running regions, each with its capture's index. The chain, if the sets have no room for it.
    running: BTreeMap<(u64, u32), Option<Chain>>,
}

impl Flows {
    pub fn new(captures: &Captures) -> Self {
        let running = captures.iter().flat_map(|capture| {
            let regions = capture.trace.perhaps_running().into_iter();
            regions.map(|region| ((region.correlation_id, capture.index as u32), None))
        });
        Self {
            sets: vec![Set::default(); SETS],
            chains: 0,
            running: running.filter(|((id, _), _)| *id != 0).collect(),
        }
    }

    /// The place of a region in a chain; None: it has no correlation id.
    #[inline]
    pub fn link(&mut self, capture: &Capture, correlation_id: u64, end: FlowEnd) -> Option<Link> {
        if correlation_id == 0 {
            return None;
        }
        let capture = capture.index as u32;
        let Set(set) = &mut self.sets[set_of(correlation_id, capture)];
        let is_known =
            |known: &Chain| known.correlation_id == correlation_id && known.capture == capture;
        let mut known = set.iter().position(is_known);
        let way = known.unwrap_or(WAYS - 1);
        if known.is_none() && !self.running.is_empty() {
            let replaced = set[way];
            if let Some(kept) = self
                .running
                .get_mut(&(replaced.correlation_id, replaced.capture))
            {
                *kept = Some(replaced);
            }
            if let Some(kept) = self.running.get_mut(&(correlation_id, capture))
                && let Some(chain) = kept.take()
            {
                set[way] = chain;
                known = Some(way);
            }
        }
        // Most regions continue the latest chain of their set, which is first already.
        if way > 0 {
            set[..=way].rotate_right(1);
        }
        let latest = &mut set[0];
        let before = known
            .map(|_| latest.last())
            .filter(|before| before.start_ns <= end.start_ns);
        if before.is_none() {
            self.chains += 1;
            latest.chain = self.chains;
        }
        latest.correlation_id = correlation_id;
        latest.start_ns = end.start_ns;
        latest.tid = end.tid;
        latest.capture = capture;
        Some(Link {
            chain: latest.chain,
            before,
        })
    }
}

/// Consecutive ids, as most are, get consecutive sets, so the next set is in the cache or being fetched. Other ids are scattered.
fn set_of(correlation_id: u64, capture: u32) -> usize {
    const NEIGHBOURS: u64 = 16;
    let block = mixed((correlation_id / NEIGHBOURS) ^ (u64::from(capture) << 48));
    block.wrapping_add(correlation_id % NEIGHBOURS) as usize % SETS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use hrx_trace_format::OpenRecord;
    use hrx_trace_tests::capture::{Capture as Made, running};

    fn links(
        captures: &Captures,
        regions: impl IntoIterator<Item = (usize, u64, u64)>,
    ) -> Vec<(u64, bool)> {
        let mut flows = Flows::new(captures);
        let link = |(index, id, start_ns): (usize, u64, u64)| {
            let end = FlowEnd {
                start_ns,
                ..FlowEnd::default()
            };
            flows.link(&captures[index], id, end)
        };
        let links = regions.into_iter().filter_map(link);
        links
            .map(|link| (link.chain, link.before.is_some()))
            .collect()
    }

    #[test]
    fn chains() {
        let captures = Captures::of_bytes([Made::new(1).bytes(), Made::new(1).bytes()]);
        let links = links(
            &captures,
            // No id; two regions of one id; another id; the first id in another capture; back in time; an equal beginning.
            [
                (0, 0, 1),
                (0, 7, 1),
                (0, 7, 5),
                (0, 8, 6),
                (1, 7, 7),
                (0, 7, 4),
                (0, 7, 4),
            ],
        );
        assert_eq!(
            links,
            [
                (1, false),
                (1, true),
                (2, false),
                (3, false),
                (4, false),
                (4, true)
            ]
        );
    }

    /// The bug: no arrow led to a region that hung if some 30,000 other ids had completed after the last region of its own.
    #[test]
    fn an_id_that_runs_is_never_forgotten() {
        let mut made = Made::new(1);
        for slot in 0..64 {
            let open = OpenRecord {
                correlation_id: 1 + 1_000 * u64::from(slot),
                ..running(1, 1 << 40)
            };
            made.open(slot, open);
        }
        let captures = Captures::of_bytes([made.bytes(), Made::new(1).bytes()]);
        let ids = || (0..64).map(|slot| (0, 1 + 1_000 * slot, 1 << 30));
        // The same ids of a capture in which nothing runs are others.
        let others = (0..200_000).map(|id| (1, 1 + id, 1));
        let links = links(&captures, ids().chain(others).chain(ids()));
        let (before, after) = (&links[..64], &links[links.len() - 64..]);
        for ((chain, _), link) in before.iter().zip(after) {
            assert_eq!(*link, (*chain, true));
        }
    }

    #[test]
    fn ten_thousand_at_once_are_told_apart() {
        let captures = Captures::of_bytes([Made::new(1).bytes()]);
        for stride in [1, 3, 8, 15, 16, 64, 4_096, 1 << 32] {
            let ids = (1..=10_000).map(|id| (0, id * stride, id));
            let links = links(&captures, ids.clone().chain(ids));
            let continued = links.iter().filter(|link| link.1).count();
            assert!(continued > 9_500, "{continued} of stride {stride}");
        }
    }
}
