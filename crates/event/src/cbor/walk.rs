//! Items one after the other, borrowed from their bytes: for readers that need no tree.

use super::read::Reader;
use super::scan::{self, Rules};

/// One item; of an array, a map or a tag only what opens it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// An unsigned integer.
    Uint(u64),
    /// The negative integer −1 − n.
    Nint(u64),
    /// A byte string.
    Bytes(&'a [u8]),
    /// A text string.
    Text(&'a str),
    /// So many items follow.
    Array(u64),
    /// So many pairs of items follow.
    Map(u64),
    /// The item that follows is tagged.
    Tag(u64),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// `undefined`.
    Undefined,
    /// Any other simple value.
    Simple(u8),
    /// A float of any width.
    Float(f64),
}

/// Walks through the items of some bytes.
#[derive(Clone, Debug)]
pub struct Walk<'a>(Reader<'a>);

impl<'a> Walk<'a> {
    /// Begins at the first item.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(Reader::new(bytes))
    }

    /// Goes into the next item; `None` at the end, and before anything that is no item of definite length.
    #[inline]
    pub fn enter(&mut self) -> Option<Item<'a>> {
        let head = self.0.head().ok().filter(|head| !head.is_indefinite())?;
        let n = head.argument;
        Some(match head.major {
            0 => Item::Uint(n),
            1 => Item::Nint(n),
            2 => Item::Bytes(self.0.take(n)?),
            3 => Item::Text(std::str::from_utf8(self.0.take(n)?).ok()?),
            4 => Item::Array(n),
            5 => Item::Map(n),
            6 => Item::Tag(n),
            _ => match head.info {
                20 => Item::Bool(false),
                21 => Item::Bool(true),
                22 => Item::Null,
                23 => Item::Undefined,
                25..=27 => Item::Float(scan::float_value(head)),
                _ => Item::Simple(u8::try_from(n).ok()?),
            },
        })
    }

    /// Steps over the next item, whatever it holds, and shows its bytes.
    #[inline]
    pub fn step(&mut self) -> Option<&'a [u8]> {
        let len = scan::item_end(self.0.rest(), Rules::WELL_FORMED).ok()?;
        self.0.take(len as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbor::Value;

    #[test]
    fn items_come_in_order_and_can_be_stepped_over() {
        let value = Value::object([("a", Value::Array(vec![Value::int(-3), Value::Null])), ("b", Value::Float(0.5))]);
        let bytes = value.encode();
        let mut walk = Walk::new(&bytes);
        assert_eq!(walk.enter(), Some(Item::Map(2)));
        assert_eq!(walk.enter(), Some(Item::Text("a")));
        assert_eq!(walk.step(), Some(&[0x82, 0x22, 0xf6][..]));
        assert_eq!(walk.enter(), Some(Item::Text("b")));
        assert_eq!(walk.enter(), Some(Item::Float(0.5)));
        assert_eq!((walk.step(), walk.enter()), (None, None));
    }

    #[test]
    fn what_is_no_item_ends_the_walk() {
        for bytes in [&[0x62, b'a'][..], &[0x61, 0xff], &[0x9f, 0xff], &[0x1c], &[0xff]] {
            assert_eq!(Walk::new(bytes).enter(), None, "{bytes:x?}");
        }
    }
}
