//! Which form of events a client prefers.

use axum::http::{HeaderValue, StatusCode};

use crate::error::ApiError;
use crate::query::{Param, Query, Shape};

/// `format`, which counts more than `Accept`.
pub(crate) const FORMAT: Param =
    Param::new("format", Shape::Word(&["sse", "json", "ndjson"]), "The form of the answer, whatever Accept says.");

/// A form of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A page.
    Json,
    /// A live stream.
    Sse,
    /// Lines.
    Ndjson,
}

impl Format {
    /// In the order in which a client gets them that does not mind.
    const ALL: [Self; 3] = [Self::Json, Self::Sse, Self::Ndjson];

    /// The form that a request prefers.
    pub(crate) fn of<'a>(query: &Query, accept: impl IntoIterator<Item = &'a HeaderValue>) -> Result<Self, ApiError> {
        match query.text("format") {
            Some("sse") => Ok(Self::Sse),
            Some("json") => Ok(Self::Json),
            Some("ndjson") => Ok(Self::Ndjson),
            _ => Self::accepted(accept).ok_or_else(|| {
                ApiError::validation("events can be had in none of the forms that Accept names")
                    .with_status(StatusCode::NOT_ACCEPTABLE)
                    .hint("ask for application/json, text/event-stream or application/x-ndjson")
            }),
        }
    }

    fn accepted<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>) -> Option<Self> {
        let given: Vec<_> = accept.into_iter().filter_map(|value| value.to_str().ok()).collect();
        let ranges: Vec<Range<'_>> = given.iter().flat_map(|value| value.split(',')).filter_map(Range::parse).collect();
        if given.iter().all(|value| value.trim().is_empty()) {
            return Some(Self::Json);
        }
        let wish = |format: Self| {
            // The closest range tells how much a form is wanted, even if a wider one would want it more.
            let closest = ranges.iter().enumerate().filter(|(_, range)| range.fits(format));
            closest.max_by_key(|(at, range)| (range.closeness(), std::cmp::Reverse(*at)))
        };
        let wanted = Self::ALL.into_iter().enumerate().filter_map(|(at, format)| Some((at, format, wish(format)?)));
        wanted
            .filter(|(_, _, (_, range))| range.quality > 0)
            // Named is more than not excluded; then whoever is named first; then our own order.
            .max_by_key(|(at, _, (place, range))| {
                let reversed = std::cmp::Reverse;
                (range.quality, range.closeness(), reversed(*place), reversed(*at))
            })
            .map(|(_, format, _)| format)
    }

    const fn media_type(self) -> (&'static str, &'static str) {
        match self {
            Self::Json => ("application", "json"),
            Self::Sse => ("text", "event-stream"),
            Self::Ndjson => ("application", "x-ndjson"),
        }
    }
}

/// One entry of an `Accept` header.
#[derive(Debug)]
struct Range<'a> {
    kind: &'a str,
    subkind: &'a str,
    /// In thousandths.
    quality: u16,
}

impl<'a> Range<'a> {
    /// `None` for an entry that is none: whoever writes one cannot mean us.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subkind) = parts.next()?.split_once('/')?;
        let mut quality = 1000;
        for parameter in parts {
            if let Some((name, value)) = parameter.split_once('=')
                && name.trim().eq_ignore_ascii_case("q")
            {
                quality = thousandths(value.trim())?;
            }
        }
        Some(Self { kind, subkind, quality })
    }

    fn fits(&self, format: Format) -> bool {
        let (kind, subkind) = format.media_type();
        let is = |given: &str, meant: &str| given == "*" || given.eq_ignore_ascii_case(meant);
        is(self.kind, kind) && is(self.subkind, subkind) && !(self.kind == "*" && self.subkind != "*")
    }

    fn closeness(&self) -> u8 {
        u8::from(self.kind != "*") + u8::from(self.subkind != "*")
    }
}

/// A quality: `0`, `1`, or one of both with up to three digits behind the point.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    if !matches!(whole, "0" | "1") || rest.len() > 3 || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{whole}{rest:0<3}").parse().ok().filter(|quality| *quality <= 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(header: &'static str) -> Option<Format> {
        Format::accepted([&HeaderValue::from_static(header)])
    }

    #[test]
    fn each_row_of_the_table() {
        assert_eq!(Format::accepted([]), Some(Format::Json));
        assert_eq!(accepted(""), Some(Format::Json));
        assert_eq!(accepted("*/*"), Some(Format::Json));
        assert_eq!(accepted("application/json"), Some(Format::Json));
        assert_eq!(accepted("Application/JSON; charset=utf-8"), Some(Format::Json));
        assert_eq!(accepted("text/event-stream"), Some(Format::Sse));
        assert_eq!(accepted("application/x-ndjson"), Some(Format::Ndjson));
        assert_eq!(accepted("text/html"), None);
        assert_eq!(accepted("image/*, text/plain"), None);
    }

    #[test]
    fn preference_is_by_quality_then_by_closeness_then_by_order() {
        assert_eq!(accepted("text/event-stream, application/json"), Some(Format::Sse));
        assert_eq!(accepted("application/json, text/event-stream"), Some(Format::Json));
        assert_eq!(accepted("application/json;q=0.5, text/event-stream;q=0.9"), Some(Format::Sse));
        assert_eq!(accepted("text/event-stream;q=0.5, */*;q=0.1"), Some(Format::Sse));
        assert_eq!(accepted("*/*, text/event-stream"), Some(Format::Sse));
        assert_eq!(accepted("text/html, application/xhtml+xml, */*;q=0.8"), Some(Format::Json));
        assert_eq!(accepted("text/*"), Some(Format::Sse));
        assert_eq!(accepted("application/*"), Some(Format::Json));
    }

    #[test]
    fn what_is_excluded_is_not_given() {
        assert_eq!(accepted("application/json;q=0, */*"), Some(Format::Sse));
        assert_eq!(accepted("application/json;q=0"), None);
        assert_eq!(accepted("*/*;q=0"), None);
        assert_eq!(accepted("text/event-stream;q=0.000, application/x-ndjson;q=0.001"), Some(Format::Ndjson));
    }

    #[test]
    fn an_entry_that_cannot_be_read_counts_for_nothing() {
        assert_eq!(accepted("application/json;q=2, text/event-stream;q=0.1"), Some(Format::Sse));
        assert_eq!(accepted("json"), None);
    }
}
