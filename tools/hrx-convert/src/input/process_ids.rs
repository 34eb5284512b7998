//! Process ids that tell captures apart: viewers take equal ids for one process.

use std::collections::BTreeSet;

/// Linux assigns process ids up to 2^22. Substitutes lie above them.
const SUBSTITUTES_FROM: u32 = (1 << 22) + 1;

/// One id for each capture, no two alike: the real one for the first capture that has it, a substitute for the others and for 0.
pub fn distinct_pids(real: impl Iterator<Item = u32> + Clone) -> Vec<u32> {
    let every: BTreeSet<u32> = real.clone().collect();
    let mut taken = BTreeSet::from([0]);
    let mut substitutes = (SUBSTITUTES_FROM..).filter(|pid| !every.contains(pid));
    real.map(|pid| match taken.insert(pid) {
        true => pid,
        false => substitutes.next().unwrap_or(pid),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_are_distinct_and_real_where_they_can_be() {
        let substitute = SUBSTITUTES_FROM;
        assert_eq!(
            distinct_pids([1, 1, 7, 0, substitute, 7].into_iter()),
            [
                1,
                substitute + 1,
                7,
                substitute + 2,
                substitute,
                substitute + 3
            ]
        );
    }
}
