//! Reading CBOR heads, one after the other.

/// A cursor over bytes that yields heads. It accepts any well-formed head; callers that want
/// canonical bytes look at [`Head::shortest`] or run [`super::scan`] first.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Major type and argument of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// 0…7, RFC 8949 §3.1.
    pub(crate) major: u8,
    /// The five low bits of the first byte.
    pub(crate) info: u8,
    /// The argument; for floats their bits.
    pub(crate) argument: u64,
    /// Whether no shorter head says the same. Meaningless for floats.
    pub(crate) shortest: bool,
}

impl Head {
    /// Whether this opens an item of indefinite length, or ends one (major 7).
    pub(crate) const fn is_indefinite(self) -> bool {
        self.info == 31
    }
}

/// Why a head could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadError {
    /// The bytes end inside the head.
    Truncated,
    /// Additional information 28, 29 or 30, which no standard defines.
    Reserved,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were taken so far.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    pub(crate) const fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// What is left to read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Takes `expected` if it is next.
    pub(crate) fn literal(&mut self, expected: &[u8]) -> bool {
        let found = self.bytes[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    /// [`Self::literal`] for a constant: a comparison or two instead of a call.
    #[inline]
    pub(crate) fn constant<const N: usize>(&mut self, expected: &[u8; N]) -> Option<()> {
        let next: &[u8; N] = self.bytes.get(self.at..self.at + N)?.try_into().ok()?;
        (next == expected).then(|| self.at += N)
    }

    /// Takes the next `len` bytes.
    #[inline]
    pub(crate) fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len))?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    #[inline]
    pub(crate) fn head(&mut self) -> Result<Head, HeadError> {
        let first = self.peek().ok_or(HeadError::Truncated)?;
        self.at += 1;
        let (major, info) = (first >> 5, first & 0x1f);
        let (argument, shortest) = match info {
            0..=23 => (u64::from(info), true),
            24 => self.argument::<1>().map(|n| (n, n > 23))?,
            25 => self.argument::<2>().map(|n| (n, n > 0xff))?,
            26 => self.argument::<4>().map(|n| (n, n > 0xffff))?,
            27 => self.argument::<8>().map(|n| (n, n > 0xffff_ffff))?,
            31 => (0, false),
            _ => return Err(HeadError::Reserved),
        };
        Ok(Head { major, info, argument, shortest })
    }

    /// An unsigned integer in its shortest form.
    #[inline]
    pub(crate) fn canonical_uint(&mut self) -> Option<u64> {
        self.head().ok().filter(|head| head.major == 0 && head.shortest).map(|head| head.argument)
    }

    /// A signed integer in its shortest form.
    #[inline]
    pub(crate) fn canonical_int(&mut self) -> Option<i64> {
        let head = self.head().ok().filter(|head| head.shortest)?;
        let magnitude = i64::try_from(head.argument).ok()?;
        match head.major {
            0 => Some(magnitude),
            1 => Some(!magnitude),
            _ => None,
        }
    }

    /// A byte string with a head in its shortest form.
    #[inline]
    pub(crate) fn canonical_bytes(&mut self) -> Option<&'a [u8]> {
        let head = self.head().ok().filter(|head| head.major == 2 && head.shortest)?;
        self.take(head.argument)
    }

    /// A text string with a head in its shortest form.
    #[inline]
    pub(crate) fn canonical_text(&mut self) -> Option<&'a str> {
        let head = self.head().ok().filter(|head| head.major == 3 && head.shortest)?;
        self.take(head.argument).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// [`Self::canonical_text`] that needs not look at text which is `expected`.
    #[inline]
    pub(crate) fn canonical_text_like(&mut self, expected: &'a str) -> Option<&'a str> {
        let head = self.head().ok().filter(|head| head.major == 3 && head.shortest)?;
        let bytes = self.take(head.argument)?;
        if bytes == expected.as_bytes() { Some(expected) } else { std::str::from_utf8(bytes).ok() }
    }

    fn argument<const N: usize>(&mut self) -> Result<u64, HeadError> {
        let bytes = self.take(N as u64).ok_or(HeadError::Truncated)?;
        let mut wide = [0; 8];
        wide[8 - N..].copy_from_slice(bytes);
        Ok(u64::from_be_bytes(wide))
    }
}
