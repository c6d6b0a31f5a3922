//! Money, counts and spans of time as people write them.

/// Dollars, with as many digits as the amount is worth: `$12.30`, `$0.0123`, `$0`.
pub(crate) fn usd(micros: u64) -> String {
    let exact = exact_usd(micros);
    match (micros, exact.split_once('.')) {
        (0, _) => "$0".into(),
        (10_000_000.., Some((whole, fraction))) => format!("${whole}.{:0<2}", &fraction[..fraction.len().min(2)]),
        (_, None) => format!("${exact}.00"),
        (_, Some((whole, fraction))) => format!("${whole}.{fraction:0<2}"),
    }
}

/// Dollars as a decimal number without loss and without an exponent.
pub(crate) fn exact_usd(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let text = format!("{whole}.{rest:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `1,234,567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `7 ms`, `1.2 s`, `3 min 5 s`, `2 h 4 min`.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_keep_their_digits_and_large_ones_are_cents() {
        let shown = [0, 1, 12_300, 100_000, 1_000_000, 1_250_000, 12_345_678].map(usd);
        assert_eq!(shown, ["$0", "$0.000001", "$0.0123", "$0.10", "$1.00", "$1.25", "$12.34"]);
        assert_eq!(exact_usd(12_345_678), "12.345678");
    }

    #[test]
    fn counts_and_spans_are_easy_to_read() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let spans = [7, 1_250, 185_000, 7_440_000].map(duration);
        assert_eq!(spans, ["7 ms", "1.2 s", "3 min 5 s", "2 h 4 min"]);
    }
}
