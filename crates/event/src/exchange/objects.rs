//! Finding the objects in a stream of JSON text.

use super::ExchangeProblem;

/// Walks over JSON text byte by byte and tells where its outermost objects begin and end. It knows
/// strings and nesting, nothing else: what is inside an object is for a parser to judge.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    in_array: bool,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before everything.
    Start,
    /// Where an object may begin.
    Between,
    /// In an array, after a comma: an object must begin.
    AfterComma,
    /// In an array, after an object: a comma or the end.
    AfterObject,
    /// So deep inside an object.
    Inside { depth: usize, text: Text },
    /// After the array.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    Escaped,
}

/// What one byte means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing by itself.
    Go,
    /// The first byte of an object.
    Begin,
    /// The last byte of an object.
    Close,
}

impl Objects {
    /// Objects in one array, or one after the other.
    pub(super) const fn new(in_array: bool) -> Self {
        Self { in_array, place: Place::Start }
    }

    /// The same, when an object has just ended.
    pub(super) const fn after_an_object(in_array: bool) -> Self {
        Self { in_array, place: if in_array { Place::AfterObject } else { Place::Between } }
    }

    /// Takes the next byte.
    pub(super) fn step(&mut self, byte: u8) -> Result<Step, ExchangeProblem> {
        let (place, step) = match (self.place, byte) {
            (Place::Inside { depth, text }, byte) => return Ok(self.inside(depth, text, byte)),
            (place, b' ' | b'\t' | b'\r' | b'\n') => (place, Step::Go),
            (Place::Start, b'[') if self.in_array => (Place::Between, Step::Go),
            (Place::Start, b'{') if !self.in_array => (Place::INSIDE, Step::Begin),
            (Place::Between | Place::AfterComma, b'{') => (Place::INSIDE, Step::Begin),
            (Place::Between | Place::AfterObject, b']') if self.in_array => (Place::End, Step::Go),
            (Place::AfterObject, b',') => (Place::AfterComma, Step::Go),
            (place, byte) => {
                let expected = match (place, self.in_array) {
                    (Place::Start, true) => "`[`",
                    (Place::AfterObject, _) => "`,` or `]`",
                    (Place::End, _) => "nothing after the closing `]`",
                    _ => "`{`",
                };
                let found = format!("`{}`", char::from(byte).escape_default());
                return Err(ExchangeProblem::Unexpected { expected, found });
            }
        };
        self.place = place;
        Ok(step)
    }

    /// Whether the text may end here.
    pub(super) fn may_end(&self) -> bool {
        match self.place {
            Place::Between | Place::Start => !self.in_array,
            Place::End => true,
            Place::AfterComma | Place::AfterObject | Place::Inside { .. } => false,
        }
    }

    fn inside(&mut self, depth: usize, text: Text, byte: u8) -> Step {
        let (depth, text) = match (text, byte) {
            (Text::Escaped, _) => (depth, Text::Inside),
            (Text::Inside, b'\\') => (depth, Text::Escaped),
            (Text::Inside, b'"') => (depth, Text::Outside),
            (Text::Inside, _) => (depth, Text::Inside),
            (Text::Outside, b'"') => (depth, Text::Inside),
            (Text::Outside, b'{' | b'[') => (depth + 1, Text::Outside),
            (Text::Outside, b'}' | b']') => (depth - 1, Text::Outside),
            (Text::Outside, _) => (depth, Text::Outside),
        };
        if depth > 0 {
            self.place = Place::Inside { depth, text };
            return Step::Go;
        }
        self.place = if self.in_array { Place::AfterObject } else { Place::Between };
        Step::Close
    }
}

impl Place {
    const INSIDE: Self = Self::Inside { depth: 1, text: Text::Outside };
}
