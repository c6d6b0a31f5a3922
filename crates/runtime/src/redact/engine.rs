//! One pass over a text that finds every place where a secret may stand, and a closer look at each.

use std::fmt;

use super::anchor::Anchors;
use super::assignment::{self, GivenAway, Named};
use super::custom::Custom;
use super::key::{Mark, RedactionKey};
use super::known::{self, Form, Secrets};
use super::look::{Look, NeedMore, Reached};
use super::{Finding, RedactorError, token};

/// Who found a secret; of several, the first here gives the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detector {
    Known,
    Token,
    Custom,
    Assignment,
    Entropy,
}

impl Detector {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Token => "token",
            Self::Custom => "custom",
            Self::Assignment => "assignment",
            Self::Entropy => "entropy",
        }
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A secret in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) place: Reached,
    pub(super) detector: Detector,
    /// The secret's mark, where it is not that of the text itself.
    pub(super) mark: Option<Mark>,
}

impl Span {
    const fn new(detector: Detector, place: Reached) -> Self {
        Self { place, detector, mark: None }
    }
}

/// What a scan found.
#[derive(Debug)]
pub(super) struct Scan {
    /// They may overlap.
    pub(super) spans: Vec<Span>,
    /// Before this place everything is decided.
    pub(super) undecided: usize,
    /// How far the secrets reach that were found so far.
    pub(super) covered: usize,
}

/// So far inside of a secret nothing else is looked for: text made of nothing but beginnings of secrets
/// would else be looked at again and again.
const DEEP: usize = 256;

/// Which detectors look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// All of them.
    All,
    /// Those that find in a piece of a text only what they find in the whole: for pieces of a stream
    /// that was redacted before it was cut, where no mark may appear that the stream does not have.
    ContextFree,
}

/// A place that deserves a closer look.
#[derive(Clone, Copy)]
enum Anchor {
    Known(usize),
    Shape(usize),
    Jwt,
    Pem,
    Name,
    Authorization,
    Bearer,
    Cookie,
    UserInfo,
}

impl Anchor {
    fn is_context_free(self) -> bool {
        match self {
            Self::Known(_) | Self::Pem => true,
            Self::Shape(at) => token::SHAPES[at].is_context_free(),
            Self::Jwt | Self::Name | Self::Authorization | Self::Bearer | Self::Cookie | Self::UserInfo => false,
        }
    }
}

/// All detectors.
pub(super) struct Engine {
    pub(super) key: RedactionKey,
    custom: Custom,
    forms: Vec<Form>,
    /// What the finder's places mean.
    anchors: Vec<Anchor>,
    finder: Anchors,
}

impl Engine {
    pub(super) fn new(key: RedactionKey, secrets: &Secrets) -> Result<Self, RedactorError> {
        let forms = known::forms(&secrets.known, &key);
        let mut table: Vec<(&[u8], Anchor)> = Vec::new();
        table.extend(forms.iter().enumerate().map(|(at, form)| (form.anchor(), Anchor::Known(at))));
        table.extend(token::SHAPES.iter().enumerate().map(|(at, shape)| (shape.prefix.as_bytes(), Anchor::Shape(at))));
        table.extend(assignment::NAME_ANCHORS.iter().map(|name| (name.as_bytes(), Anchor::Name)));
        table.extend([
            (token::JWT.as_bytes(), Anchor::Jwt),
            (token::PEM.as_bytes(), Anchor::Pem),
            (assignment::AUTHORIZATION.as_bytes(), Anchor::Authorization),
            (assignment::BEARER.as_bytes(), Anchor::Bearer),
            (assignment::COOKIE.as_bytes(), Anchor::Cookie),
            (assignment::SCHEME_END.as_bytes(), Anchor::UserInfo),
        ]);
        let finder = Anchors::new(table.iter().map(|(text, _)| *text));
        let anchors = table.iter().map(|(_, anchor)| *anchor).collect();
        let custom = Custom::new(&secrets.custom)?;
        Ok(Self { key, custom, forms, anchors, finder })
    }

    /// Finds the secrets whose anchors stand at `from` or later; up to `covered`, earlier ones reach. If
    /// the text is not `complete`, what begins at the result's `undecided` or later is to be looked for
    /// again when there is more.
    pub(super) fn scan(&self, bytes: &[u8], from: usize, covered: usize, complete: bool, which: Which) -> Scan {
        let end = if complete { bytes.len() } else { self.finder.partial(bytes, from) };
        let mut scan = Scan { spans: Vec::new(), undecided: end, covered };
        self.finder.find(bytes, from, |start, len, index| {
            if start >= end {
                return false;
            }
            let anchor = self.anchors[index];
            let is_skipped = which == Which::ContextFree && !anchor.is_context_free()
                || scan.covered > start + DEEP && !matches!(anchor, Anchor::Known(_));
            if is_skipped {
                return true;
            }
            match self.look_closer(anchor, Look::new(bytes, start, complete), len) {
                Ok(Some(span)) => {
                    scan.covered = scan.covered.max(span.place.end);
                    scan.spans.push(span);
                }
                Ok(None) => {}
                Err(NeedMore) => {
                    scan.undecided = start;
                    return false;
                }
            }
            true
        });
        scan
    }

    /// Does the same with the operator's expressions, by lines: returns where the first line begins that
    /// is not complete.
    pub(super) fn scan_lines(
        &self,
        bytes: &[u8],
        from: usize,
        complete: bool,
        which: Which,
        found: impl FnMut(Reached),
    ) -> usize {
        match which {
            Which::All => self.custom.scan(bytes, from, complete, found),
            Which::ContextFree => bytes.len(),
        }
    }

    /// Whether anything is found in a whole text.
    pub(super) fn finds(&self, bytes: &[u8], which: Which) -> bool {
        let mut is_found = !self.scan(bytes, 0, 0, true, which).spans.is_empty();
        if !is_found {
            self.scan_lines(bytes, 0, true, which, |_| is_found = true);
        }
        is_found
    }

    /// What is found in a whole text, in the order of its places.
    pub(super) fn findings(&self, bytes: &[u8]) -> Vec<Finding> {
        let mut spans = self.scan(bytes, 0, 0, true, Which::All).spans;
        self.scan_lines(bytes, 0, true, Which::All, |place| spans.push(Span::new(Detector::Custom, place)));
        spans.sort_by_key(|span| (span.place.start, span.detector));
        let mut findings: Vec<Finding> = Vec::new();
        for Span { place, detector, mark: _ } in spans {
            let rest = bytes.get(place.end..).unwrap_or_default();
            let more = place.goes_on.map_or(0, |class| rest.iter().take_while(|byte| class.contains(**byte)).count());
            let end = place.end + more;
            match findings.last_mut() {
                Some(last) if place.start < last.place.end => last.place.end = last.place.end.max(end),
                _ => findings.push(Finding { place: place.start..end, detector: detector.as_str() }),
            }
        }
        findings
    }

    fn look_closer(&self, anchor: Anchor, look: Look<'_>, anchor_len: usize) -> Result<Option<Span>, NeedMore> {
        let named = |detector, place: Option<Reached>| place.map(|place| Span::new(detector, place));
        Ok(match anchor {
            Anchor::Known(at) => {
                let form = &self.forms[at];
                form.find(look)?.map(|place| Span { mark: Some(form.mark), ..Span::new(Detector::Known, place) })
            }
            Anchor::Shape(at) => named(Detector::Token, token::SHAPES[at].find(look)?),
            Anchor::Jwt => named(Detector::Token, token::find_jwt(look)?),
            Anchor::Pem => named(Detector::Token, token::find_pem(look)?),
            Anchor::Name => Named::around(look, anchor_len)?.find()?.map(|given_away| match given_away {
                GivenAway::Value(place) => Span::new(Detector::Assignment, place),
                GivenAway::Nearby(place) => Span::new(Detector::Entropy, place),
            }),
            Anchor::Authorization => named(Detector::Assignment, assignment::find_authorization(look)?),
            Anchor::Bearer => named(Detector::Assignment, assignment::find_bearer(look)?),
            Anchor::Cookie => named(Detector::Assignment, assignment::find_cookie(look)?),
            Anchor::UserInfo => named(Detector::Assignment, assignment::find_userinfo(look)?),
        })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("known_forms", &self.forms.len()).field("custom", &self.custom).finish()
    }
}
