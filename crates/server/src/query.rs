//! Query parameters: strict, so that a typing error is not taken for no wish at all.

use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use url::form_urlencoded;

use crate::error::ApiError;

/// A query parameter that a route takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    /// Its name.
    pub(crate) name: &'static str,
    /// What may stand there.
    pub(crate) shape: Shape,
    /// What it is for.
    pub(crate) about: &'static str,
}

/// What a parameter may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// A whole number in these bounds.
    Integer(i64, i64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Texts with commas between; may be given several times.
    List,
    /// Some of these words, with commas between; may be given several times.
    Words(&'static [&'static str]),
}

impl Param {
    pub(crate) const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self { name, shape, about }
    }
}

/// `cursor`, as every list takes it.
pub(crate) const CURSOR: Param =
    Param::new("cursor", Shape::Text, "Where to go on: the next_cursor of the page before.");

/// `limit`, as lists of objects take it.
pub(crate) const LIMIT: Param =
    Param::new("limit", Shape::Integer(1, 200), "How many at most; 50 if not given, more than 200 counts as 200.");

/// The parameters of a request. That each is known to the route was checked before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        Self(form_urlencoded::parse(query.unwrap_or("").as_bytes()).into_owned().collect())
    }

    /// Refuses parameters that `known` does not have, that are given twice, or that hold what they may not.
    pub(crate) fn check(&self, known: &[Param]) -> Result<(), ApiError> {
        for (at, (name, value)) in self.0.iter().enumerate() {
            let Some(param) = known.iter().find(|param| param.name == name) else {
                return Err(unknown(name, known));
            };
            param.check(value)?;
            let repeatable = matches!(param.shape, Shape::List | Shape::Words(_));
            if !repeatable && self.0[..at].iter().any(|(before, _)| before == name) {
                return Err(ApiError::invalid(format!("?{name}"), "is given more than once"));
            }
        }
        Ok(())
    }

    /// The text of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The number in a parameter.
    pub(crate) fn integer<T: FromStr>(&self, name: &str) -> Result<Option<T>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let not = || ApiError::invalid(format!("?{name}"), "must be a whole number in decimal digits");
        // `+1` and the like are numbers to Rust, but not to anyone who reads a URL.
        if text.starts_with('+') {
            return Err(not());
        }
        text.parse().map(Some).map_err(|_| not())
    }

    /// `limit`: too little is refused, too much is cut.
    pub(crate) fn limit(&self, default: usize, most: usize) -> Result<usize, ApiError> {
        match self.integer::<i64>("limit")? {
            None => Ok(default),
            Some(given) if given < 1 => Err(ApiError::invalid("?limit", "must be at least 1")),
            Some(given) => Ok(usize::try_from(given).unwrap_or(most).min(most)),
        }
    }

    /// Whether a flag is set; false if it is not given.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::invalid(format!("?{name}"), "must be true or false")),
        }
    }

    /// The texts of a list, in the order given, from all its occurrences.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let values = self.0.iter().filter(|(key, _)| key == name).flat_map(|(_, value)| value.split(','));
        values.filter(|value| !value.is_empty()).collect()
    }

    /// Names that are there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self::parse(parts.uri.query()))
    }
}

impl Param {
    fn check(&self, value: &str) -> Result<(), ApiError> {
        let one_of = |words: &[&str], value: &str| {
            if words.contains(&value) {
                return Ok(());
            }
            Err(ApiError::invalid(format!("?{}", self.name), format!("must be one of: {}", words.join(", "))))
        };
        match self.shape {
            Shape::Word(words) => one_of(words, value),
            Shape::Words(words) => {
                value.split(',').filter(|value| !value.is_empty()).try_for_each(|value| one_of(words, value))
            }
            // Numbers and flags are checked where they are read: what is out of bounds is sometimes cut, not refused.
            Shape::Text | Shape::Integer(..) | Shape::Flag | Shape::List => Ok(()),
        }
    }
}

fn unknown(name: &str, known: &[Param]) -> ApiError {
    let error = ApiError::invalid(format!("?{name}"), "is not a parameter of this route");
    match known {
        [] => error.hint("this route takes no query parameters"),
        known => {
            let names: Vec<_> = known.iter().map(|param| param.name).collect();
            error.hint(format!("it takes: {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Param; 4] = [
        LIMIT,
        Param::new("types", Shape::List, ""),
        Param::new("format", Shape::Word(&["json", "sse"]), ""),
        Param::new("follow", Shape::Flag, ""),
    ];

    fn details(error: &ApiError) -> String {
        format!("{error:?}")
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        let error = Query::parse(Some("limit=1&limitt=2")).check(&KNOWN).unwrap_err();
        assert!(details(&error).contains("\"?limitt\""), "{error:?}");
    }

    #[test]
    fn only_lists_may_be_given_twice() {
        assert!(Query::parse(Some("types=a&types=b,c")).check(&KNOWN).is_ok());
        assert!(Query::parse(Some("limit=1&limit=2")).check(&KNOWN).is_err());
        assert_eq!(Query::parse(Some("types=a&types=b,c")).list("types"), ["a", "b", "c"]);
    }

    #[test]
    fn a_word_must_be_one_of_those_known() {
        assert!(Query::parse(Some("format=json")).check(&KNOWN).is_ok());
        assert!(Query::parse(Some("format=xml")).check(&KNOWN).is_err());
    }

    #[test]
    fn a_limit_is_cut_above_and_refused_below() {
        let limit = |query| Query::parse(Some(query)).limit(50, 200);
        assert_eq!(limit("").unwrap(), 50);
        assert_eq!(limit("limit=1000").unwrap(), 200);
        assert_eq!(limit("limit=7").unwrap(), 7);
        for bad in ["limit=0", "limit=-1", "limit=x", "limit=1.5", "limit=", "limit=%2B3"] {
            assert!(limit(bad).is_err(), "{bad}");
        }
    }
}
