use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use r1_event::merkle::TreeHash as _;
use r1_receipt::export::Checkpoint;
use r1_receipt::key::SecretKey;

use super::*;

const NAME: &str = "example.org/r1";

fn secret() -> SecretKey {
    SecretKey::from_seed([7; 32])
}

/// Files in memory that outlive whoever writes them, and a machine that goes down after so many steps.
#[derive(Clone, Debug, Default)]
struct Disk {
    files: Rc<RefCell<(Vec<u8>, Option<String>)>>,
    /// Steps that are still done; `None` for all.
    steps: Option<u32>,
}

impl Disk {
    /// Whether the machine goes down at this step.
    fn goes_down(&mut self) -> bool {
        match &mut self.steps {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    fn gone() -> io::Error {
        io::Error::other("the machine went down")
    }
}

impl Medium for Disk {
    fn entries(&self) -> io::Result<Vec<u8>> {
        Ok(self.files.borrow().0.clone())
    }

    fn checkpoint(&self) -> io::Result<Option<String>> {
        Ok(self.files.borrow().1.clone())
    }

    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let down = self.goes_down();
        let written = if down { &record[..record.len() / 2] } else { record };
        self.files.borrow_mut().0.extend(written);
        if down { Err(Self::gone()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.goes_down() { Err(Self::gone()) } else { Ok(()) }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.goes_down() {
            return Err(Self::gone());
        }
        self.files.borrow_mut().0.truncate(length as usize);
        Ok(())
    }

    fn replace_checkpoint(&mut self, checkpoint: &str) -> io::Result<()> {
        if self.goes_down() {
            return Err(Self::gone());
        }
        self.files.borrow_mut().1 = Some(checkpoint.into());
        // Down right behind it: written, but nobody was told.
        if self.goes_down() { Err(Self::gone()) } else { Ok(()) }
    }
}

fn log(disk: &Disk, steps: Option<u32>) -> Log<Disk> {
    Log { directory: PathBuf::new(), medium: Disk { steps, ..disk.clone() } }
}

#[test]
fn stoke_28_checkpoints_agree_across_a_thousand_appends_and_a_crash_between_each_step() {
    let secret = secret();
    let key = NoteKey::new(NAME, &secret).unwrap();
    let disk = Disk::default();
    let mut signed: Vec<Checkpoint> = Vec::new();
    let mut crashes = 0;
    let note = |signed: &mut Vec<Checkpoint>| {
        let last = disk.files.borrow().1.clone();
        signed.extend(last.map(|note| key.read_checkpoint(&note).unwrap()));
    };
    for entry in 0..1_000_u32 {
        // Down at another step each time, and again while the last crash is being cleared up.
        for steps in [entry % 5, entry % 3] {
            crashes += u32::from(log(&disk, Some(steps)).append(&entry.to_be_bytes(), &key).is_err());
            note(&mut signed);
        }
        let logged = log(&disk, None).append(&entry.to_be_bytes(), &key).unwrap();
        assert_eq!((logged.inclusion.index, logged.inclusion.size), (u64::from(entry), u64::from(entry) + 1));
        note(&mut signed);
    }
    assert!(crashes > 1_000, "{crashes}");

    // Somebody else's code says that each extends the one before, so any two do.
    let leaves: Vec<Digest> = (0..1_000_u32).map(|entry| Sha256::leaf(&entry.to_be_bytes())).collect();
    signed.dedup();
    assert_eq!(signed.len(), 1_000, "one for each entry, whatever went down");
    for pair in signed.windows(2) {
        let [older, newer] = pair else { unreachable!() };
        let mut proof = ProofBuilder::<Sha256>::consistency(older.size, newer.size).unwrap();
        leaves[..newer.size as usize].iter().for_each(|leaf| proof.push(*leaf));
        let proof = proof.finish().unwrap().iter().map(hash).collect();
        tlog_tiles::check_tree(&proof, newer.size, hash(&newer.root), older.size, hash(&older.root)).unwrap();
    }
}

fn hash(digest: &Digest) -> tlog_tiles::Hash {
    tlog_tiles::Hash(*digest.as_bytes())
}

#[test]
fn stoke_28_nothing_is_signed_over_a_log_that_lost_or_changed_what_was_signed() {
    let secret = secret();
    let key = NoteKey::new(NAME, &secret).unwrap();
    let disk = Disk::default();
    for entry in [b"one", b"two"] {
        log(&disk, None).append(entry, &key).unwrap();
    }
    let sound = disk.files.borrow().0.clone();
    let refused = |bytes: Vec<u8>| {
        disk.files.borrow_mut().0 = bytes.clone();
        let outcome = log(&disk, None).append(b"three", &key);
        assert!(matches!(outcome, Err(LogError::Corrupt { .. })), "{outcome:?}");
        assert_eq!(disk.files.borrow().0, bytes, "nothing is cut off or added");
    };
    refused(sound[..sound.len() - 1].to_vec());
    let mut changed = sound.clone();
    changed[40] ^= 1;
    refused(changed);
    refused(Vec::new());
    let other = NoteKey::new("example.org/other", &secret).unwrap();
    disk.files.borrow_mut().0 = sound;
    assert!(log(&disk, None).append(b"three", &other).is_err(), "another name is another log");
    assert_eq!(log(&disk, None).append(b"one", &key).unwrap().inclusion.index, 0, "what is there is not added again");
}

#[test]
fn stoke_28_tiles_of_the_log_are_read_and_proved_by_tlog_tiles() {
    let directory = tempfile::tempdir().unwrap();
    let secret = secret();
    let key = NoteKey::new(NAME, &secret).unwrap();
    let mut log = InstanceLog::open(directory.path()).unwrap();
    let entries: Vec<String> = (0..300).map(|number| format!("entry {number}")).collect();
    let mut last = None;
    for entry in &entries {
        let logged = log.append(entry.as_bytes(), &key).unwrap();
        let Inclusion { index, size, root, path } = &logged.inclusion;
        let path = path.iter().map(hash).collect();
        tlog_tiles::check_record(&path, *size, hash(root), *index, tlog_tiles::record_hash(entry.as_bytes())).unwrap();
        last = Some(logged);
    }
    let files: Tiles = Tiles(log.to_tiles(&key).unwrap().into_iter().collect());
    let checkpoint = key.read_checkpoint(str::from_utf8(&files.0["checkpoint"]).unwrap()).unwrap();
    assert_eq!(Some(&checkpoint.root), last.as_ref().map(|logged| &logged.inclusion.root));
    let reader = tlog_tiles::TileHashReader::new(300, hash(&checkpoint.root), &files);
    for index in [0, 255, 256, 299] {
        let proof = tlog_tiles::prove_record(300, index, &reader).unwrap();
        let leaf = tlog_tiles::record_hash(entries[index as usize].as_bytes());
        tlog_tiles::check_record(&proof, 300, hash(&checkpoint.root), index, leaf).unwrap();
        let wrong = tlog_tiles::record_hash(b"another entry");
        assert!(tlog_tiles::check_record(&proof, 300, hash(&checkpoint.root), index, wrong).is_err());
    }
    let mut bundle = &files.0["tile/entries/001.p/44"][..];
    for entry in &entries[256..] {
        let (length, rest) = bundle.split_first_chunk::<2>().unwrap();
        let (found, rest) = rest.split_at(u16::from_be_bytes(*length).into());
        assert_eq!(found, entry.as_bytes());
        bundle = rest;
    }
    assert!(bundle.is_empty());
}

/// Tiles as a server would have them.
struct Tiles(HashMap<String, Vec<u8>>);

impl tlog_tiles::TileReader for Tiles {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[tlog_tiles::Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        // The crate writes the height into its paths, as its model does; the standard has only 8.
        Ok(tiles.iter().map(|tile| self.0[&tile.path().replacen("tile/8/", "tile/", 1)].clone()).collect())
    }

    fn save_tiles(&self, _: &[tlog_tiles::Tile], _: &[Vec<u8>]) {}
}
