//! A log as static files, as C2SP's tlog-tiles lays them out.

use r1_event::Digest;
use r1_event::merkle::{Frontier, Sha256, TreeHash as _};

/// Hashes in a full tile.
pub const TILE_WIDTH: usize = 256;

/// The files of a log with these leaves, all but its checkpoint: path and content.
///
/// Leaves of 64 KiB and more have no form there; such a log has no tiles.
#[must_use]
pub fn tiles(leaves: &[impl AsRef<[u8]>]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for (index, bundle) in leaves.chunks(TILE_WIDTH).enumerate() {
        let mut content = Vec::new();
        for leaf in bundle {
            content.extend(u16::try_from(leaf.as_ref().len()).ok()?.to_be_bytes());
            content.extend(leaf.as_ref());
        }
        files.push((path("entries", index, bundle.len()), content));
    }
    let mut level = 0;
    let mut hashes: Vec<Digest> = leaves.iter().map(|leaf| Sha256::leaf(leaf.as_ref())).collect();
    while !hashes.is_empty() {
        let mut above = Vec::new();
        for (index, tile) in hashes.chunks(TILE_WIDTH).enumerate() {
            let content = tile.iter().flat_map(|hash| *hash.as_bytes()).collect();
            files.push((path(&level.to_string(), index, tile.len()), content));
            // Only what is whole has a hash in the level above.
            if tile.len() == TILE_WIDTH {
                above.push(subtree(tile));
            }
        }
        hashes = above;
        level += 1;
    }
    Some(files)
}

fn subtree(hashes: &[Digest]) -> Digest {
    let mut tree = Frontier::<Sha256>::default();
    hashes.iter().for_each(|hash| tree.push(*hash));
    tree.root()
}

/// `tile/0/x001/x234/067.p/12`: three digits per directory, so that no file is in the way of a directory.
fn path(level: &str, index: usize, width: usize) -> String {
    let mut name = format!("{:03}", index % 1000);
    let mut rest = index / 1000;
    while rest > 0 {
        name = format!("x{:03}/{name}", rest % 1000);
        rest /= 1000;
    }
    let partial = if width < TILE_WIDTH { format!(".p/{width}") } else { String::new() };
    format!("tile/{level}/{name}{partial}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_threes_and_say_how_wide_a_tile_is() {
        assert_eq!(path("0", 1_234_067, TILE_WIDTH), "tile/0/x001/x234/067");
        assert_eq!(path("entries", 0, 12), "tile/entries/000.p/12");
    }

    #[test]
    fn a_log_of_256_leaves_has_a_full_tile_and_one_hash_above_it() {
        let names = |count: usize| -> Vec<String> {
            tiles(&vec![b"leaf"; count]).unwrap().into_iter().map(|(path, _)| path).collect()
        };
        assert_eq!(names(0), [""; 0]);
        assert_eq!(names(256), ["tile/entries/000", "tile/0/000", "tile/1/000.p/1"]);
        assert_eq!(
            names(257),
            ["tile/entries/000", "tile/entries/001.p/1", "tile/0/000", "tile/0/001.p/1", "tile/1/000.p/1"]
        );
        assert!(tiles(&[vec![0; 65_536]]).is_none());
    }
}
