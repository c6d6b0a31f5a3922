//! Writing canonical CBOR into a growing buffer, which cannot fail.

use crate::id::Digest;

/// Major types of RFC 8949 §3.1, already in place in the first byte.
mod major {
    pub(super) const UINT: u8 = 0x00;
    pub(super) const NINT: u8 = 0x20;
    pub(super) const BYTES: u8 = 0x40;
    pub(super) const TEXT: u8 = 0x60;
    pub(super) const ARRAY: u8 = 0x80;
    pub(super) const MAP: u8 = 0xa0;
    pub(super) const TAG: u8 = 0xc0;
}

/// `null`.
pub const NULL: u8 = 0xf6;
/// `undefined`.
pub const UNDEFINED: u8 = 0xf7;

/// An unsigned integer.
pub fn uint(out: &mut Vec<u8>, n: u64) {
    head(out, major::UINT, n);
}

/// The negative integer −1 − `n`.
pub fn nint(out: &mut Vec<u8>, n: u64) {
    head(out, major::NINT, n);
}

/// A signed integer.
pub fn int(out: &mut Vec<u8>, n: i64) {
    match u64::try_from(n) {
        Ok(n) => uint(out, n),
        // −1 − n is the complement: it cannot overflow where −n could.
        Err(_) => nint(out, (!n).cast_unsigned()),
    }
}

/// A byte string.
pub fn bytes(out: &mut Vec<u8>, content: &[u8]) {
    head(out, major::BYTES, content.len() as u64);
    out.extend_from_slice(content);
}

/// A digest as a byte string.
pub(crate) fn digest(out: &mut Vec<u8>, digest: &Digest) {
    let mut item = [0; 34];
    item[0] = major::BYTES | 24;
    item[1] = 32;
    item[2..].copy_from_slice(digest.as_bytes());
    out.extend_from_slice(&item);
}

/// A text string.
pub fn text(out: &mut Vec<u8>, content: &str) {
    head(out, major::TEXT, content.len() as u64);
    out.extend_from_slice(content.as_bytes());
}

/// The head of an array; its `len` items follow.
pub fn array(out: &mut Vec<u8>, len: usize) {
    head(out, major::ARRAY, len as u64);
}

/// The head of a map; its `len` pairs follow, in canonical order.
pub fn map(out: &mut Vec<u8>, len: usize) {
    head(out, major::MAP, len as u64);
}

/// A tag; the tagged item follows.
pub fn tag(out: &mut Vec<u8>, number: u64) {
    head(out, major::TAG, number);
}

/// `true` or `false`.
pub fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xf5 } else { 0xf4 });
}

/// `null`.
pub fn null(out: &mut Vec<u8>) {
    out.push(NULL);
}

/// A float in the shortest of the three widths that keeps its value; every NaN is the same NaN.
pub fn float(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        out.extend_from_slice(&[0xf9, 0x7e, 0x00]);
        return;
    }
    match narrowed(value) {
        Narrowed::Half(bits) => {
            out.push(0xf9);
            out.extend_from_slice(&bits.to_be_bytes());
        }
        Narrowed::Single(single) => {
            out.push(0xfa);
            out.extend_from_slice(&single.to_be_bytes());
        }
        Narrowed::Double => {
            out.push(0xfb);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// The additional information (25, 26 or 27) of the head that [`float`] writes for a number.
pub(super) fn float_width(value: f64) -> u8 {
    match narrowed(value) {
        Narrowed::Half(_) => 25,
        Narrowed::Single(_) => 26,
        Narrowed::Double => 27,
    }
}

/// How many bytes [`float`] writes.
pub(crate) fn float_len(value: f64) -> usize {
    match narrowed(value) {
        _ if value.is_nan() => 3,
        Narrowed::Half(_) => 3,
        Narrowed::Single(_) => 5,
        Narrowed::Double => 9,
    }
}

/// A number (no NaN) in the narrowest width that keeps it.
enum Narrowed {
    Half(u16),
    Single(f32),
    Double,
}

fn narrowed(value: f64) -> Narrowed {
    #[expect(clippy::cast_possible_truncation, reason = "the next line asks whether anything was lost")]
    let single = value as f32;
    if f64::from(single).to_bits() != value.to_bits() {
        return Narrowed::Double;
    }
    half_bits(single).map_or(Narrowed::Single(single), Narrowed::Half)
}

/// How many bytes a head with this argument takes.
pub(crate) const fn head_len(n: u64) -> usize {
    match n {
        0..=23 => 1,
        24..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// A head: major type and argument, in the shortest form.
#[inline]
fn head(out: &mut Vec<u8>, major: u8, n: u64) {
    let [a, b, c, d, e, f, g, h] = n.to_be_bytes();
    match n {
        0..=23 => out.push(major | h),
        24..=0xff => out.extend_from_slice(&[major | 24, h]),
        0x100..=0xffff => out.extend_from_slice(&[major | 25, g, h]),
        0x1_0000..=0xffff_ffff => out.extend_from_slice(&[major | 26, e, f, g, h]),
        _ => out.extend_from_slice(&[major | 27, a, b, c, d, e, f, g, h]),
    }
}

/// The binary16 pattern that has exactly the value of `single` (not a NaN), if there is one.
#[expect(clippy::cast_possible_truncation, reason = "exponent and mantissa are masked to their widths")]
pub(super) fn half_bits(single: f32) -> Option<u16> {
    let bits = single.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let exponent = i32::try_from((bits >> 23) & 0xff).ok()? - 127;
    let mantissa = bits & 0x007f_ffff;
    if bits << 1 == 0 {
        return Some(sign);
    }
    match exponent {
        128 => Some(sign | 0x7c00),
        // Normal in binary16: ten bits of mantissa remain.
        -14..=15 if mantissa.trailing_zeros() >= 13 => {
            Some(sign | (((exponent + 15) as u16) << 10) | (mantissa >> 13) as u16)
        }
        // Subnormal in binary16: the implicit one becomes explicit and moves right.
        -24..=-15 => {
            let shift = (-exponent - 1) as u32;
            let whole = mantissa | 0x0080_0000;
            (whole.trailing_zeros() >= shift).then(|| sign | (whole >> shift) as u16)
        }
        _ => None,
    }
}

/// The value of a binary16 pattern.
pub(super) fn half_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let mantissa = f64::from(bits & 0x03ff);
    match (bits >> 10) & 0x1f {
        0 => sign * mantissa * (-24f64).exp2(),
        31 if mantissa == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        exponent => sign * (mantissa + 1024.0) * (f64::from(exponent) - 25.0).exp2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_float_is_written_as_itself() {
        for bits in 0..=u16::MAX {
            let value = half_value(bits);
            let mut out = Vec::new();
            float(&mut out, value);
            let expected = if value.is_nan() { 0x7e00 } else { bits };
            assert_eq!(out, [&[0xf9][..], &expected.to_be_bytes()].concat(), "{bits:04x}");
        }
    }

    #[test]
    fn integers_take_the_shortest_head() {
        let written = |n: i64| {
            let mut out = Vec::new();
            int(&mut out, n);
            out
        };
        assert_eq!(written(23), [0x17]);
        assert_eq!(written(24), [0x18, 24]);
        assert_eq!(written(-24), [0x37]);
        assert_eq!(written(-25), [0x38, 24]);
        assert_eq!(written(65_536), [0x1a, 0, 1, 0, 0]);
        assert_eq!(written(i64::MIN), [0x3b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }
}
