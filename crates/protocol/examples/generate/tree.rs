//! The generated files, and those that are there.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use r1_protocol::generated::{self, SCHEMAS};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Writes every file, and removes schemas of types that are gone.
#[allow(dead_code, reason = "the test only looks")]
pub(crate) fn write() -> io::Result<()> {
    for (path, text) in generated::files() {
        let path = root().join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    leftovers().iter().try_for_each(|path| fs::remove_file(root().join(path)))
}

/// The files that are not what would be written today.
pub(crate) fn stale() -> Vec<String> {
    let differs = |path: &str, text: &str| fs::read_to_string(root().join(path)).ok().as_deref() != Some(text);
    let changed = generated::files().into_iter().filter(|(path, text)| differs(path, text)).map(|(path, _)| path);
    changed.chain(leftovers()).collect()
}

/// Schemas that nothing would write.
fn leftovers() -> Vec<String> {
    let wanted: BTreeSet<_> = generated::files().into_iter().map(|(path, _)| path).collect();
    let names = |folder: String| {
        let entries = fs::read_dir(root().join(&folder)).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        files.map(move |entry| format!("{folder}/{}", entry.file_name().to_string_lossy())).collect::<Vec<_>>()
    };
    let found = [SCHEMAS.to_owned(), format!("{SCHEMAS}/strict")].into_iter().flat_map(names);
    found.filter(|path| !wanted.contains(path)).collect()
}
