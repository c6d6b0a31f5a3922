//! What a reader that is too slow does not get.

use r1_protocol::stoke::{Line, LineKind};

/// So many events may wait for a reader before pieces of answers are left out.
const MAX_BEHIND: u64 = 1_024;

/// Lines that were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// How many.
    pub count: u64,
    /// The event of the first.
    pub first_seq: u64,
    /// The event of the last.
    pub last_seq: u64,
}

/// Decides which lines are left out: only `stream_event` ones, whose content comes again in `assistant`, and
/// up to the next message whole messages at a time.
#[derive(Clone, Debug, Default)]
pub struct Pressure {
    dropping: bool,
    dropped: Option<Dropped>,
}

impl Pressure {
    /// Whether a line is to be printed when `behind` events wait. If it is, what was dropped is told first:
    /// see [`Self::take`].
    pub fn admits(&mut self, line: &Line, behind: u64) -> bool {
        if behind > MAX_BEHIND {
            self.dropping = true;
        } else if line.kind == LineKind::MessageStart {
            self.dropping = false;
        }
        if !(self.dropping && line.kind.is_droppable()) {
            return true;
        }
        let dropped = self.dropped.get_or_insert(Dropped { count: 0, first_seq: line.seq, last_seq: line.seq });
        dropped.count += 1;
        dropped.last_seq = line.seq;
        false
    }

    /// What was left out since this was asked last.
    pub const fn take(&mut self) -> Option<Dropped> {
        self.dropped.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: LineKind, seq: u64) -> Line {
        Line { kind, seq, bytes: Vec::new() }
    }

    #[test]
    fn stoke_07_only_pieces_of_answers_are_left_out_and_all_are_counted() {
        let mut pressure = Pressure::default();
        assert!(pressure.admits(&line(LineKind::Partial, 1), 1_024));
        assert!(!pressure.admits(&line(LineKind::Partial, 2), 1_025));
        assert!(!pressure.admits(&line(LineKind::Partial, 3), 9), "up to the next message");
        assert!(!pressure.admits(&line(LineKind::Partial, 3), 9));
        assert!(pressure.admits(&line(LineKind::Approval, 4), 5_000));
        assert_eq!(pressure.take(), Some(Dropped { count: 3, first_seq: 2, last_seq: 3 }));
        assert_eq!(pressure.take(), None);
        assert!(!pressure.admits(&line(LineKind::MessageStart, 5), 5_000), "still too slow");
        assert!(!pressure.admits(&line(LineKind::Partial, 6), 0));
        assert!(pressure.admits(&line(LineKind::MessageStart, 7), 0));
        assert!(pressure.admits(&line(LineKind::Partial, 8), 0));
        assert_eq!(pressure.take(), Some(Dropped { count: 2, first_seq: 5, last_seq: 6 }));
    }
}
