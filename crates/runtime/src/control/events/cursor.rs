//! From what a client says it has to the first event that it gets.

/// A place in a run's events, as a client gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    first: u64,
    after: Option<u64>,
    again: bool,
}

impl Cursor {
    /// The place that a request names.
    ///
    /// Of a header and a parameter the later place wins: a browser that reconnects repeats its first URL.
    pub fn new(
        from_sequence: Option<i64>,
        after_sequence: Option<i64>,
        last_event_id: Option<u64>,
    ) -> Result<Self, CursorError> {
        let given = match (from_sequence, after_sequence) {
            (Some(_), Some(_)) => return Err(CursorError::Both),
            (Some(from), None) => Self::from_sequence(u64::try_from(from).map_err(|_| CursorError::Negative { from })?),
            (None, Some(after)) => Self::after_parameter(after)?,
            (None, None) => Self::default(),
        };
        Ok(match last_event_id.map(Self::after) {
            Some(header) if header.first > given.first => header,
            _ => given,
        })
    }

    /// From this event on.
    #[must_use]
    pub const fn from_sequence(sequence: u64) -> Self {
        Self { first: sequence, after: sequence.checked_sub(1), again: false }
    }

    /// Behind this event.
    #[must_use]
    pub const fn after(sequence: u64) -> Self {
        Self { first: sequence.saturating_add(1), after: Some(sequence), again: false }
    }

    /// As a parameter, 0 means everything: whoever means "I have event 0" gets that one event again and drops
    /// it by its id; whoever means "from the beginning" loses nothing.
    fn after_parameter(after: i64) -> Result<Self, CursorError> {
        match u64::try_from(after) {
            Ok(0) => Ok(Self { first: 0, after: Some(0), again: true }),
            Ok(after) => Ok(Self::after(after)),
            Err(_) if after == -1 => Ok(Self::default()),
            Err(_) => Err(CursorError::TooSmall { after }),
        }
    }

    /// The first event to serve.
    #[must_use]
    pub const fn first(self) -> u64 {
        self.first
    }

    /// The place as `after_sequence` has it; `None` before everything.
    #[must_use]
    pub const fn as_after_sequence(self) -> Option<u64> {
        self.after
    }

    /// Whether event 0 comes although the client may have it. It then takes no place on the page, so that even
    /// pages of one event lead on.
    pub(super) const fn gives_the_first_again(self) -> bool {
        self.again
    }

    /// The same cursor after everything before `next` was looked at.
    pub(super) fn moved_to(self, next: u64) -> Self {
        if next > self.first { Self { first: next, again: false, ..self } } else { self }
    }
}

/// A request names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Which of the two is meant?
    #[error("`from_sequence` and `after_sequence` cannot be given together")]
    Both,
    /// There is nothing before event 0.
    #[error("`from_sequence` is {from}, but events are counted from 0")]
    Negative {
        /// What was given.
        from: i64,
    },
    /// Nor before the beginning.
    #[error("`after_sequence` is {after}; the smallest is -1, which stands before everything")]
    TooSmall {
        /// What was given.
        after: i64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(from: Option<i64>, after: Option<i64>, header: Option<u64>) -> Result<u64, CursorError> {
        Cursor::new(from, after, header).map(Cursor::first)
    }

    #[test]
    fn each_row_of_the_table() {
        assert_eq!(first(None, None, None), Ok(0));
        assert_eq!(first(None, Some(-1), None), Ok(0));
        assert_eq!(first(Some(7), None, None), Ok(7));
        assert_eq!(first(Some(0), None, None), Ok(0));
        assert_eq!(first(None, None, Some(0)), Ok(1), "a header means what it says");
        assert_eq!(first(None, None, Some(7)), Ok(8));
        assert_eq!(first(None, Some(1), None), Ok(2));
        assert_eq!(first(None, Some(0), None), Ok(0), "the one inclusive value");
        assert_eq!(first(Some(3), Some(2), None), Err(CursorError::Both));
        assert_eq!(first(None, Some(-2), None), Err(CursorError::TooSmall { after: -2 }));
        assert_eq!(first(Some(-1), None, None), Err(CursorError::Negative { from: -1 }));
    }

    #[test]
    fn the_later_of_header_and_parameter_wins() {
        assert_eq!(first(Some(3), None, Some(7)), Ok(8));
        assert_eq!(first(Some(9), None, Some(7)), Ok(9));
        assert_eq!(first(None, Some(0), Some(0)), Ok(1));
        assert_eq!(first(None, Some(9), Some(7)), Ok(10));
        assert!(!Cursor::new(None, Some(0), Some(0)).unwrap().gives_the_first_again());
    }

    #[test]
    fn no_number_overflows() {
        assert_eq!(first(None, Some(i64::MAX), Some(u64::MAX)), Ok(u64::MAX));
    }
}
