//! The tickets that a follower has passed while their records were being written, and asks for again in every round.

/// More late tickets than this are damage: each thread inside `record` can hold back only one.
const LATE_MAX: usize = 4096;

/// Late tickets of one ring.
#[derive(Debug, Default)]
pub(crate) struct Late {
    /// To be asked for in this round, the oldest last.
    now: Vec<u64>,
    /// To be asked for in the next round.
    next: Vec<u64>,
}

impl Late {
    /// The oldest ticket that has not been asked for in this round.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        self.now.pop()
    }

    /// Whether `ticket` will be asked for in the next round; false: there are too many.
    pub(crate) fn push(&mut self, ticket: u64) -> bool {
        let has_room = self.next.len() < LATE_MAX;
        if has_room {
            self.next.push(ticket);
        }
        has_room
    }

    /// Starts the next round.
    pub(crate) fn begin_round(&mut self) {
        self.now.append(&mut self.next);
        self.now.reverse();
    }

    /// Tickets that never came.
    pub(crate) fn count(&self) -> u64 {
        self.now.len().saturating_add(self.next.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_first_and_no_more_than_there_are_threads() {
        let mut late = Late::default();
        for ticket in 1..=LATE_MAX as u64 {
            assert!(late.push(ticket));
        }
        assert!(!late.push(5000));
        assert_eq!(late.pop(), None);
        late.begin_round();
        assert_eq!(late.pop(), Some(1));
        assert_eq!(late.pop(), Some(2));
        assert!(late.push(1));
        assert_eq!(late.count(), LATE_MAX as u64 - 1);
    }
}
