//! From a web page to text that a model reads well.

use std::thread;

use htmd::HtmlToMarkdown;
use tokio::sync::oneshot;

/// The deepest nesting that is converted: the converter calls itself for each level.
const MAX_DEPTH: usize = 512;
/// Enough for that depth, also in a build that is not optimised.
const STACK: usize = 32 << 20;

/// Elements that hold nothing for the reader.
const SKIPPED: [&str; 7] = ["script", "style", "noscript", "svg", "iframe", "template", "head"];

/// Elements that need no end tag, and so do not nest by being left open.
const SELF_ENDING: [&str; 30] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "p",
    "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "rp", "rt", "!",
];

/// The page as Markdown; `None` if it cannot be converted.
pub(super) async fn from_html(html: String) -> Option<String> {
    if depth(&html) > MAX_DEPTH {
        return None;
    }
    let (sender, converted) = oneshot::channel();
    let converter = move || {
        let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
        let _nobody_waits = sender.send(converter.convert(&html).ok());
    };
    thread::Builder::new().name("r1-markdown".into()).stack_size(STACK).spawn(converter).ok()?;
    converted.await.ok()?
}

/// What the page is called.
pub(super) fn title(html: &str) -> Option<&str> {
    let start = find_ignoring_case(html, "<title")?;
    let text = html.get(start..)?.split_once('>')?.1;
    let end = find_ignoring_case(text, "</title")?;
    Some(text.get(..end)?.trim()).filter(|title| !title.is_empty())
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// How deep elements nest at most, counted by their tags.
fn depth(html: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        let closes = tag.starts_with('/');
        let name = tag.trim_start_matches('/');
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric() && c != '!').unwrap_or(name.len())];
        if name.is_empty() || SELF_ENDING.iter().any(|known| name.eq_ignore_ascii_case(known)) || name.starts_with('!')
        {
            continue;
        }
        if closes {
            depth = depth.saturating_sub(1);
        } else {
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_becomes_markdown_without_its_machinery() {
        let html = "<html><head><title> A page </title><style>p{}</style></head><body><script>evil()</script>\
            <h1>Title</h1><p>Some <b>bold</b> text and <a href=\"/x\">a link</a>.</p><ul><li>one<li>two</ul></body></html>";
        assert_eq!(title(html), Some("A page"));
        let markdown = from_html(html.to_owned()).await.unwrap();
        assert!(markdown.contains("# Title") && markdown.contains("**bold**") && markdown.contains("[a link](/x)"));
        assert!(!markdown.contains("evil") && !markdown.contains("p{}"), "{markdown}");
    }

    #[tokio::test]
    async fn a_page_that_nests_without_end_is_not_converted() {
        assert_eq!(from_html("<div>".repeat(200_000)).await, None);
        assert!(from_html("<p>".repeat(10_000)).await.is_some(), "paragraphs do not nest");
    }

    #[tokio::test]
    async fn the_deepest_page_that_is_converted_fits_the_stack() {
        assert!(from_html("<div>".repeat(MAX_DEPTH)).await.is_some());
        assert!(from_html("<blockquote>".repeat(MAX_DEPTH)).await.is_some());
    }
}
