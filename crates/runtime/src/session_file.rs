//! Where other programs find out which processes of R1 are at work, and on what.
//!
//! It is there to be found, and proves nothing: whoever wants to know what happened reads the log.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use r1_event::UnixNanos;
use r1_protocol::data::Time;
use serde::{Deserialize, Serialize};

use crate::world;

/// The directory of a project in which R1 keeps what belongs to it. R1 makes it only when it is asked to.
pub const DIRECTORY: &str = ".stoke";

/// What git is not to keep of what R1 writes into [`DIRECTORY`].
pub const IGNORED: &str = "ledger/\nr1.session*.json\n";

/// The form of these files.
pub const VERSION: &str = "1.0";

/// How often the file is written anew while the process lives.
pub const INTERVAL: Duration = Duration::from_secs(30);

/// What a process says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// [`VERSION`].
    pub version: String,
    /// The process.
    pub pid: u32,
    /// Its name in logs.
    pub instance_id: String,
    /// When it began.
    pub started_at: Time,
    /// When it said so last.
    pub updated_at: Time,
    /// The project that it works in.
    pub repo_root: PathBuf,
    /// run, record, serve, mcp or tui.
    pub mode: String,
    /// How it is doing.
    pub status: Status,
    /// The session, as lines name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its place in a trace.
    pub trace_parent: String,
    /// Where its lines are written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_file: Option<PathBuf>,
    /// Where the nodes of its receipts are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger_dir: Option<PathBuf>,
    /// Where runs are kept; never with a password.
    pub store: String,
}

/// How a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// At work.
    Running,
    /// Done.
    Completed,
    /// Done, and it did not succeed.
    Failed,
    /// Stopped.
    Cancelled,
}

/// The file of this process.
#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    session: Session,
}

impl SessionFile {
    /// Writes the file of a process: in the project's `.stoke`, if it has one, else in `home`.
    pub fn create(home: &Path, session: Session) -> io::Result<Self> {
        let file = Self { path: place(home, &session), session };
        sweep(home, file.session.updated_at.nanos().unwrap_or(UnixNanos(0)));
        ignore_own_files(&file.session.repo_root);
        file.write()?;
        Ok(file)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that the process is still there, and how it is doing.
    pub fn update(&mut self, now: UnixNanos, status: Status) -> io::Result<()> {
        self.session.updated_at = now.into();
        self.session.status = status;
        self.write()
    }

    /// Writes beside the file and puts it in place, so that nobody ever finds half of it.
    fn write(&self) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        // A temporary file is its owner's alone, and stays so.
        let mut name = tempfile::Builder::new();
        let mut temporary = name.prefix("r1.session.").suffix(".tmp.json").tempfile_in(directory)?;
        serde_json::to_writer_pretty(&mut temporary, &self.session)?;
        temporary.write_all(b"\n")?;
        temporary.as_file().sync_all()?;
        temporary.persist(&self.path)?;
        Ok(())
    }
}

/// Whether the process that wrote a file is gone: three times it has not said that it is there, and it is not.
#[must_use]
pub fn is_stale(session: &Session, now: UnixNanos) -> bool {
    let age = session.updated_at.nanos().map_or(i64::MAX, |at| now.0.saturating_sub(at.0));
    let is_late = u128::try_from(age).unwrap_or(0) > 3 * INTERVAL.as_nanos();
    is_late && world::is_gone(session.pid)
}

/// The project that a directory belongs to: of those above it, up to where its version control begins, the
/// nearest that has a [`DIRECTORY`]; without one, where its version control begins, or itself.
#[must_use]
pub fn project_of(directory: &Path) -> &Path {
    let root = directory.ancestors().find(|above| above.join(".git").exists()).unwrap_or(directory);
    let mut inside = directory.ancestors().take_while(|above| above.starts_with(root));
    inside.find(|above| above.join(DIRECTORY).is_dir()).unwrap_or(root)
}

fn place(home: &Path, session: &Session) -> PathBuf {
    let project = session.repo_root.join(DIRECTORY);
    if !project.is_dir() {
        return instances(home).join(format!("{}.json", session.instance_id));
    }
    let path = project.join("r1.session.json");
    let is_taken = read(&path).is_some_and(|owner| {
        owner.instance_id != session.instance_id && owner.status == Status::Running && !world::is_gone(owner.pid)
    });
    if is_taken { project.join(format!("r1.session.{}.json", session.instance_id)) } else { path }
}

/// Sees to it that git does not offer what R1 writes into a project whose [`DIRECTORY`] was made by hand. What is
/// there stays as it is. The file names itself too: the project's owner did not ask for it, and gates are to see
/// nothing new.
fn ignore_own_files(project: &Path) {
    let directory = project.join(DIRECTORY);
    let path = directory.join(".gitignore");
    // A link that leads nowhere is there too: `create_new` does not follow it. Where nothing can be written, nothing
    // is to be ignored either.
    if let Ok(mut file) = File::options().write(true).create_new(true).open(path) {
        let _ = file.write_all(format!("{IGNORED}.gitignore\n").as_bytes());
    }
}

fn instances(home: &Path) -> PathBuf {
    home.join("instances")
}

fn read(path: &Path) -> Option<Session> {
    serde_json::from_reader(io::BufReader::new(File::open(path).ok()?)).ok()
}

/// Takes away what gone processes left in the home: nobody else does.
fn sweep(home: &Path, now: UnixNanos) {
    let files = fs::read_dir(instances(home)).into_iter().flatten().flatten();
    for path in files.map(|file| file.path()) {
        if read(&path).is_some_and(|session| is_stale(&session, now)) {
            // Another process may have been quicker.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(repo_root: &Path, instance_id: &str) -> Session {
        Session {
            version: VERSION.into(),
            pid: std::process::id(),
            instance_id: instance_id.into(),
            started_at: UnixNanos(0).into(),
            updated_at: UnixNanos(0).into(),
            repo_root: repo_root.into(),
            mode: "run".into(),
            status: Status::Running,
            session_id: None,
            run_id: None,
            model: None,
            trace_parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
            stream_file: None,
            ledger_dir: None,
            store: "r1.db".into(),
        }
    }

    #[test]
    fn the_file_is_in_the_project_if_that_wants_it_and_one_process_does_not_take_anothers() {
        let directory = tempfile::tempdir().unwrap();
        let (home, project) = (directory.path().join("home"), directory.path().join("project"));
        fs::create_dir(&project).unwrap();
        let file = SessionFile::create(&home, session(&project, "r1-00000001")).unwrap();
        assert_eq!(file.path(), home.join("instances/r1-00000001.json"));
        fs::create_dir(project.join(".stoke")).unwrap();
        let mut first = SessionFile::create(&home, session(&project, "r1-00000001")).unwrap();
        assert_eq!(first.path(), project.join(".stoke/r1.session.json"));
        let ignored = project.join(".stoke/.gitignore");
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "ledger/\nr1.session*.json\n.gitignore\n");
        fs::write(&ignored, "mine\n").unwrap();
        let second = SessionFile::create(&home, session(&project, "r1-00000002")).unwrap();
        assert_eq!(second.path(), project.join(".stoke/r1.session.r1-00000002.json"));
        first.update(UnixNanos(1), Status::Completed).unwrap();
        let third = SessionFile::create(&home, session(&project, "r1-00000003")).unwrap();
        assert_eq!(third.path(), first.path(), "its owner is done");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(third.path()).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "mine\n", "what is there stays");
    }

    #[test]
    fn a_file_is_stale_when_its_process_is_late_and_gone() {
        let here = session(Path::new("/"), "r1-00000001");
        let gone = Session { pid: u32::MAX, ..here.clone() };
        let late = UnixNanos(91_000_000_000);
        assert!(!is_stale(&here, late) && is_stale(&gone, late) && !is_stale(&gone, UnixNanos(89_000_000_000)));
    }

    #[test]
    fn what_gone_processes_left_in_the_home_is_swept_away() {
        let home = tempfile::tempdir().unwrap();
        let late = Time::from(UnixNanos(91_000_000_000));
        let gone = Session { pid: u32::MAX, ..session(Path::new("/"), "r1-00000001") };
        let recent = Session { updated_at: late.clone(), ..session(Path::new("/"), "r1-00000002") };
        let (gone, recent) = (SessionFile::create(home.path(), gone), SessionFile::create(home.path(), recent));
        assert!(!gone.unwrap().path().exists() && recent.unwrap().path().exists());
    }

    #[test]
    fn a_project_is_what_has_the_directory_or_is_under_version_control() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(project_of(&inner), inner);
        fs::create_dir(root.path().join(".git")).unwrap();
        assert_eq!(project_of(&inner), root.path());
        fs::create_dir(root.path().join("a/.stoke")).unwrap();
        assert_eq!(project_of(&inner), root.path().join("a"));
    }
}
