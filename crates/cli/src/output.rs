//! Data goes to stdout, everything else to stderr; colour only where a terminal shows it.

use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::error::CliError;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const NOTICE: Style = AnsiColor::Yellow.on_default();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();

/// Standard output for text: colours are removed where they would be noise.
pub(crate) type Stdout = io::BufWriter<anstream::AutoStream<io::Stdout>>;

/// Buffered standard output for text.
pub(crate) fn stdout() -> Stdout {
    io::BufWriter::new(anstream::AutoStream::auto(io::stdout()))
}

/// Prints one value as a line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write_json(&mut out, value)?;
    Ok(out.flush()?)
}

/// Prints one line that is not to be coloured or changed.
pub(crate) fn print_line(line: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    // One write: a reader never sees half of it.
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}

/// Writes one value as a line of JSON.
pub(crate) fn write_json(out: &mut impl io::Write, value: &impl Serialize) -> Result<(), CliError> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

/// Tells the user something that is not data.
pub(crate) fn note(text: &str) {
    // Whoever closed stderr does not want to hear it.
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Whether a person looks at stderr.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Prints a failure: what, why, and what to do next.
pub(crate) fn print_error(err: &CliError) {
    let mut text = format!("{BAD}error:{BAD:#} {}", crate::render::text::visible(&err.to_string()));
    for cause in err.causes() {
        let lines: Vec<_> = cause.lines().map(crate::render::text::visible).collect();
        text.push_str(&format!("\n  {DIM}because:{DIM:#} {}", lines.join("\n           ")));
    }
    if let Some(hint) = err.hint_text() {
        text.push_str(&format!("\n{NOTICE}hint:{NOTICE:#} {}", crate::render::text::visible(hint)));
    }
    note(&text);
}
