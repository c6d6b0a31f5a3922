//! `r1 demo`: the whole idea in two seconds.

mod story;
mod tamper;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use r1_event::exchange::{Encoder, Format};
use r1_event::finding::{Part, Verdict};
use r1_event::{Record, RunId, Seq, SideRecord};
use r1_runtime::control::proof::{self, Claim, Question};
use r1_runtime::control::view::Viewer;
use r1_runtime::control::{check, export};
use r1_runtime::location::{Purpose, StoreLocation};
use r1_runtime::source::{Log, Progress, StoredRun};
use r1_runtime::{Home, Keyring, RunWriter, keys, world};
use r1_store::SharedStore;

use self::tamper::Tampering;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, NAME, Stdout};
use crate::render::event;
use crate::render::text::{count, one_line};

/// See in two seconds what r1 does
///
/// Records a small run, shows it, proves one event of it and seals it. Then it tampers with copies of
/// the log, one way after the other, and shows how each is found. Nothing of yours is touched.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 demo
  r1 demo --keep ./r1-demo     # and look around in it afterwards")]
pub(crate) struct Args {
    /// Leave store, keys and exported log in this directory, which must not exist yet
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(super) async fn run(args: Args) -> Result<Exit, CliError> {
    let failed = |err| CliError::new("cannot make a directory for the demo").because(err);
    match &args.keep {
        Some(path) if path.exists() => {
            Err(CliError::new(format!("{} is there already", path.display())).hint("name a new directory"))
        }
        Some(path) => {
            std::fs::create_dir_all(path).map_err(failed)?;
            Demo::start(path, true).await?.play().await
        }
        None => {
            let directory = tempfile::Builder::new().prefix("r1-demo-").tempdir().map_err(failed)?;
            Demo::start(directory.path(), false).await?.play().await
        }
    }
}

struct Demo {
    directory: PathBuf,
    kept: bool,
    home: Home,
    store: SharedStore,
    run: RunId,
    out: Stdout,
}

impl Demo {
    async fn start(directory: &Path, kept: bool) -> Result<Self, CliError> {
        let home = Home::at(directory.join("home"));
        home.create()?;
        let store = StoreLocation::Sqlite(home.default_store()).open(Purpose::Create).await?;
        let run = world::new_run_id(world::now())?;
        Ok(Self { directory: directory.to_owned(), kept, home, store, run, out: output::stdout() })
    }

    async fn play(mut self) -> Result<Exit, CliError> {
        self.record().await?;
        self.show().await?;
        self.prove().await?;
        let verdict = self.check().await?;
        let (records, side_records) = self.copy().await?;
        let all_found = self.tamper(&records, &side_records, &verdict).await?;
        self.whats_next()?;
        self.store.close().await?;
        Ok(if all_found { Exit::Ok } else { Exit::Failed })
    }

    fn heading(&mut self, number: u32, title: &str) -> Result<(), CliError> {
        Ok(writeln!(self.out, "\n{BOLD}{number}. {title}{BOLD:#}")?)
    }

    async fn record(&mut self) -> Result<(), CliError> {
        self.heading(1, "An agent works, and everything it does goes into a log")?;
        let key = keys::agent_key(&self.home, world::now())?;
        let kid = key.secret.kid();
        let mut writer =
            RunWriter::open(Arc::clone(&self.store), self.run.clone(), "r1-demo", Some(key.secret)).await?;
        for events in story::batches(world::now()) {
            writer.append(events).await?;
        }
        let size = writer.chain().size();
        writer.close().await?;
        writeln!(self.out, "   {} of run {NAME}{}{NAME:#} are on the disk.", count(size, "event"), self.run)?;
        writeln!(self.out, "   When the run ended it was sealed with a fresh key, {DIM}{kid}{DIM:#}.")?;
        Ok(())
    }

    async fn show(&mut self) -> Result<(), CliError> {
        self.heading(2, "This is what happened")?;
        let (records, side_records) = self.copy().await?;
        let viewer = Viewer::new(records.first(), &side_records);
        for (record, position) in records.iter().zip(1..) {
            writeln!(self.out, "{}", event::line(&viewer.view(record, position)))?;
        }
        Ok(())
    }

    async fn prove(&mut self) -> Result<(), CliError> {
        self.heading(3, "One event can be proved without showing the others")?;
        let log = Log::Stored(StoredRun::open(Arc::clone(&self.store), self.run.clone()).await?);
        let seq = Seq::new(story::PROVED).unwrap_or(Seq::FIRST);
        let proof = proof::prove(log, Question::Inclusion(seq), None, &self.keyring()?).await?;
        let shown = proof::verify(proof.to_json().as_bytes(), &self.keyring()?)?;
        let (statement, hashes) = (&shown.statement, proof.path.len());
        writeln!(self.out, "   {GOOD}holds{GOOD:#}  {statement}: {hashes} hashes lead from it to the root")?;
        writeln!(self.out, "          {DIM}{}{DIM:#}", shown.root)?;
        writeln!(self.out, "          which the seal signs. The proof is {} bytes of JSON.", proof.to_json().len())?;
        let mut forged = proof;
        if let Claim::Inclusion { seq, .. } = &mut forged.claim {
            *seq += 1;
        }
        if let Err(err) = proof::verify(forged.to_json().as_bytes(), &self.keyring()?) {
            writeln!(self.out, "   {BAD}fails{BAD:#}  the same proof for the next event: {DIM}{err}{DIM:#}")?;
        }
        Ok(())
    }

    async fn check(&mut self) -> Result<Verdict, CliError> {
        self.heading(4, "The log as it is")?;
        let verdict = check::check_run(&self.store, &self.run, &self.keyring()?, Progress::default()).await?;
        let sealed = if verdict.sealed_by.is_some() { "sealed" } else { "not sealed" };
        writeln!(self.out, "   {GOOD}valid{GOOD:#}  chain, tree and order of events hold; complete and {sealed}")?;
        Ok(verdict)
    }

    async fn tamper(
        &mut self,
        records: &[Record],
        side_records: &[SideRecord],
        original: &Verdict,
    ) -> Result<bool, CliError> {
        self.heading(5, "Someone tampers with copies of it")?;
        let options = check::options(side_records, &self.keyring()?, None).await?;
        let mut all_found = !original.is_corrupt();
        for tampering in Tampering::ALL {
            let verdict = tamper::check(&tampering.apply(records, &self.run)?, options.clone());
            let of = |part| verdict.findings.iter().find(move |finding| finding.part == part);
            let finding = of(Part::Integrity).or_else(|| of(Part::Structure));
            all_found &= verdict.is_corrupt() && finding.is_some();
            writeln!(self.out, "   {}", tampering.description())?;
            match finding {
                Some(finding) => {
                    let text = one_line(&finding.message, 110);
                    writeln!(self.out, "     {BAD}found{BAD:#}  {NAME}{}{NAME:#}: {text}", finding.code)?;
                }
                None => writeln!(self.out, "     {BAD}not found{BAD:#}")?,
            }
        }
        Ok(all_found)
    }

    fn whats_next(&mut self) -> Result<(), CliError> {
        self.heading(6, "What to try next")?;
        if self.kept {
            let home = self.home.path().display().to_string();
            let log = self.directory.join(export::file_name(self.run.as_str(), Format::Cborseq));
            tokio::task::block_in_place(|| self.save(&log))?;
            let out = &mut self.out;
            writeln!(out, "   {NAME}export R1_HOME={home}{NAME:#}")?;
            writeln!(out, "   {NAME}r1 runs{NAME:#}                      the run you just saw")?;
            writeln!(out, "   {NAME}r1 log show last --seq 6{NAME:#}     one event in full")?;
            writeln!(out, "   {NAME}r1 redact last --seq 6 --reason demo && r1 log validate last{NAME:#}")?;
            writeln!(out, "   change a byte of {} and {NAME}r1 log validate{NAME:#} it", log.display())?;
        } else {
            let out = &mut self.out;
            writeln!(out, "   {NAME}r1 demo --keep ./r1-demo{NAME:#}     the same, to look around in afterwards")?;
            writeln!(out, "   {NAME}r1 log validate FILE{NAME:#}         check a log you have: R1's or Starling's")?;
            writeln!(out, "   {NAME}r1 --help{NAME:#}                    everything else")?;
        }
        Ok(self.out.flush()?)
    }

    fn save(&self, path: &Path) -> Result<(), CliError> {
        let failed = |err| CliError::new(format!("cannot write {}", path.display())).because(err);
        let mut file = std::fs::File::create(path).map_err(failed)?;
        let mut encoder = Encoder::new(Format::Cborseq);
        let log = tokio::runtime::Handle::current()
            .block_on(StoredRun::open(Arc::clone(&self.store), self.run.clone()))
            .map(Log::Stored)?;
        export::export(&log, &mut encoder, &mut file, &Progress::default())?;
        Ok(export::finish(encoder, &mut file)?)
    }

    async fn copy(&self) -> Result<(Vec<Record>, Vec<SideRecord>), CliError> {
        let records = self.store.read(&self.run, Seq::FIRST, r1_store::PageLimit::default()).await?;
        Ok((records, self.store.side_records(&self.run).await?))
    }

    fn keyring(&self) -> Result<Keyring, CliError> {
        Ok(Keyring::read(&self.home)?)
    }
}
