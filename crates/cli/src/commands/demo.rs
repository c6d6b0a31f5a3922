//! `r1 demo`: the whole idea in a few seconds, with no key and no network.

mod project;
mod tamper;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use r1_event::finding::{Finding, Part};
use r1_event::{Record, RunId, SideRecord};
use r1_receipt::{Options, Receipt, Verdict, verify};
use r1_runtime::agent::{RunSpec, RunState, Toolset};
use r1_runtime::control::check;
use r1_runtime::control::create::{NewRun, create};
use r1_runtime::control::order::usual_prompt;
use r1_runtime::control::view::Viewer;
use r1_runtime::engine::Claim;
use r1_runtime::machine::Machine;
use r1_runtime::policy::{Action, Approver, Policy, Rule};
use r1_runtime::provider::{ProviderSpec, Scenario};
use r1_runtime::replay::replay;
use r1_runtime::sandbox::SandboxMode;
use r1_runtime::source::Progress;
use r1_store::{Pages, SharedStore};

use self::tamper::Tampering;
use crate::ask::{self, Attendance};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::output::{self, BAD, BOLD, DIM, GOOD, NAME, Stdout};
use crate::render::event::EventLines;
use crate::render::receipt::{counts, story, verdict_line};
use crate::render::text::{count, visible, wrapped};
use crate::settings;
use crate::workshop::Workshop;

/// See in a few seconds what r1 does
///
/// Makes a small project with a failing test and lets an agent mend it: it reads files, runs the test,
/// proposes an edit that you approve, and runs the test again. What the agent says is written down in
/// advance, so no key and no network are needed; files, programs and diff are real. Then the log of all
/// that is shown, checked, sealed and replayed, copies of it are tampered with, and a receipt is signed.
///
/// The run is kept with your others, the project in a temporary directory.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 demo
  r1 demo --dir ./leap         # make the project here
  r1 demo --pace fast          # no pauses")]
pub(crate) struct Args {
    /// Make the project in this directory, which must not exist yet
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How fast it goes [default: human on a terminal, fast otherwise]
    #[arg(long, value_name = "PACE")]
    pace: Option<Pace>,
}

/// How fast the demo goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Pace {
    /// So that one can read along
    Human,
    /// Without any pause
    Fast,
}

impl Pace {
    fn usual() -> Self {
        if std::io::stdout().is_terminal() { Self::Human } else { Self::Fast }
    }
}

/// What the agent is asked.
const GOAL: &str = "The test of leap.sh fails. Find out why, and mend it.";

/// The model's name in the log: tells a demo from other scripted runs.
const MODEL: &str = "demo";

/// How long the demo waits for an answer before it takes yes for one.
const HASTE: Duration = Duration::from_secs(6);

/// How a run of the demo is attended when it is resumed; `None` for other runs.
pub(super) fn attendance(state: &RunState) -> Option<Attendance> {
    let is_demo = state.provider == "scripted" && state.model == MODEL && state.goal == GOAL;
    is_demo.then(|| hasty(Pace::usual()))
}

fn hasty(pace: Pace) -> Attendance {
    let asks = pace == Pace::Human && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    Attendance::Hasty(if asks { HASTE } else { Duration::ZERO })
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let pace = args.pace.unwrap_or_else(Pace::usual);
    let directory = project::make(args.dir.as_deref())?;
    let config = settings::load(context, &directory, Vec::new())?;
    let workshop = Workshop::create(context, &config, SandboxMode::Auto).await?;
    let mut stage = Stage { out: output::stdout(), pace, acts: 0 };
    stage.line(&format!("{DIM}A small project with a failing test is in {}.{DIM:#}", directory.display()))?;
    stage.prose(
        "An agent is to mend it. It follows a script, so no key and no network are needed; its tools, the files and \
         the programs are real.",
    )?;
    stage.heading("The agent works, and every step goes into a log").await?;
    let new = new_run(&directory, &workshop.machine, pace).await?;
    let run = create(&workshop.engine, new, true, &ask::caller()).await?;
    let claim = Claim { by_operator: true, message: None, caller: ask::caller() };
    let follow = Follow::new(Some(follow::look(false, false)), hasty(pace));
    let followed = follow::work(&workshop, &run, claim, follow).await?;
    let all_well = if followed.exit == Exit::Ok {
        Show { workshop: &workshop, context, run: &run, stage: &mut stage }.play().await?
    } else {
        false
    };
    if followed.exit != Exit::PipeClosed {
        stage.whats_next(&directory, followed.exit)?;
    }
    workshop.close().await?;
    Ok(match followed.exit {
        Exit::Ok if !all_well => Exit::Failed,
        exit => exit,
    })
}

async fn new_run(directory: &Path, machine: &Machine, pace: Pace) -> Result<NewRun, CliError> {
    let mut scenario = Scenario::parse(include_str!("demo/scenario.yaml"))
        .map_err(|err| CliError::new("the demo's own scenario cannot be read").because(err))?;
    if pace == Pace::Fast {
        scenario.turns.iter_mut().for_each(|turn| turn.delay_ms = 0);
    }
    let rule = Rule {
        id: "run-the-test".into(),
        action: Action::Allow,
        tool: Some("shell".into()),
        command: vec!["sh".into(), "test.sh".into()],
        path: None,
        host: None,
        mcp: None,
        approver: Approver::Any,
        reason: Some("the project's test may always run".into()),
    };
    let (tools, _) = machine.tool_specs(directory, &[]).await?;
    let spec = RunSpec {
        provider: ProviderSpec::scripted(scenario),
        policy: Policy { rules: vec![rule], ..Policy::default() },
        tools,
        // The demo's log is short: one checkpoint right after the first turns makes it a good one to fork.
        checkpoint_events: 12,
        ..RunSpec::default()
    };
    Ok(NewRun {
        prompt: GOAL.into(),
        title: Some("r1 demo".into()),
        system_prompt: usual_prompt(directory, directory, &spec),
        spec,
        model: MODEL.into(),
        workspace_path: directory.to_string_lossy().into_owned(),
        workspace_mode: "in_place".into(),
        ..NewRun::default()
    })
}

/// Where it is shown.
struct Stage {
    out: Stdout,
    pace: Pace,
    acts: u32,
}

impl Stage {
    fn line(&mut self, text: &str) -> Result<(), CliError> {
        Ok(writeln!(self.out, "{text}")?)
    }

    fn prose(&mut self, text: &str) -> Result<(), CliError> {
        wrapped(text, room()).iter().try_for_each(|line| self.line(&format!("{DIM}{line}{DIM:#}")))
    }

    async fn heading(&mut self, title: &str) -> Result<(), CliError> {
        self.pause(500).await?;
        self.acts += 1;
        writeln!(self.out, "\n{BOLD}── {} · {title} ──{BOLD:#}\n", self.acts)?;
        self.pause(300).await
    }

    /// Gives the eye some time.
    async fn pause(&mut self, ms: u64) -> Result<(), CliError> {
        self.out.flush()?;
        if self.pace == Pace::Human {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        Ok(())
    }

    fn whats_next(&mut self, directory: &Path, exit: Exit) -> Result<(), CliError> {
        writeln!(self.out, "\n{BOLD}What to try next{BOLD:#}")?;
        let mut hint =
            |command: &str, meaning: &str| writeln!(self.out, "  {NAME}{command:<44}{NAME:#}  {DIM}{meaning}{DIM:#}");
        if exit != Exit::Ok {
            hint("r1 resume last", "go on where the agent stopped")?;
        }
        hint("r1 log show last", "every event of the run")?;
        hint("r1 replay last", "every decision once more")?;
        hint("r1 log proof last --seq 7", "prove one event by itself")?;
        hint("r1 log export last -o run.cborseq", "take it elsewhere, byte for byte")?;
        hint("r1 receipt show FILE", "all that a receipt says")?;
        hint("r1 run \"…\" --provider anthropic --model NAME", "a real task in your own project")?;
        writeln!(self.out, "{DIM}  The project stays in {}.{DIM:#}", directory.display())?;
        Ok(self.out.flush()?)
    }
}

/// The columns that prose has.
fn room() -> usize {
    follow::look(false, false).width.unwrap_or(100)
}

/// What is shown of the log once the agent is done.
struct Show<'a> {
    workshop: &'a Workshop,
    context: &'a Context,
    run: &'a RunId,
    stage: &'a mut Stage,
}

/// Event types that tell the story; the others are pieces of them.
const TOLD: [&str; 9] = [
    "user.message",
    "turn.completed",
    "assistant.tool_call_proposed",
    "tool.completed",
    "tool.failed",
    "approval.requested",
    "approval.resolved",
    "artifact.created",
    "run.finished",
];

impl Show<'_> {
    async fn play(mut self) -> Result<bool, CliError> {
        let (records, side_records) = self.copy().await?;
        self.log(&records, &side_records).await?;
        let is_sound = self.validate().await?;
        let replays = self.replay().await?;
        let all_found = self.tamper(&records, &side_records).await?;
        let verifies = self.receipt().await?;
        Ok(is_sound && replays && all_found && verifies)
    }

    fn store(&self) -> &SharedStore {
        self.workshop.engine.store()
    }

    async fn log(&mut self, records: &[Record], side_records: &[SideRecord]) -> Result<(), CliError> {
        self.stage.heading("All of it is in the log").await?;
        let viewer = Viewer::new(records.first(), side_records);
        let views: Vec<_> = records.iter().zip(1..).map(|(record, position)| viewer.view(record, position)).collect();
        let told: Vec<_> = views.iter().filter(|view| TOLD.contains(&view.type_name.as_str())).collect();
        let lines = EventLines::here_of(&TOLD);
        for view in &told {
            self.stage.line(&lines.line(view))?;
            self.stage.pause(30).await?;
        }
        let others = count((views.len() - told.len()) as u64, "other event");
        self.stage.line(&format!("{DIM}        … and {others}: pieces of text and output, costs, files, leases{DIM:#}"))
    }

    async fn validate(&mut self) -> Result<bool, CliError> {
        self.stage.heading("The log is sound, sealed, and replays").await?;
        let keyring = self.context.keyring()?;
        let verdict = check::check_run(self.store(), self.run, &keyring, Progress::default()).await?;
        let is_sound = !verdict.is_corrupt() && verdict.sealed_by.is_some();
        let (style, word) = if is_sound { (GOOD, "valid") } else { (BAD, "corrupt") };
        let events = count(verdict.events, "event");
        self.stage.line(&format!("{style}{word}{style:#}     {events}: hash chain, Merkle tree and order hold"))?;
        if let (Some(key), Some(root)) = (&verdict.sealed_by, &verdict.merkle_root) {
            self.stage.line(&format!("{GOOD}sealed{GOOD:#}    by {DIM}{key}{DIM:#}"))?;
            self.stage.line(&format!("          over the root {DIM}{}…{DIM:#}", &root.to_string()[..24]))?;
        }
        self.stage.pause(300).await?;
        Ok(is_sound)
    }

    async fn replay(&mut self) -> Result<bool, CliError> {
        let report = replay(self.store(), self.run, Toolset::recorded).await?;
        match &report.divergence {
            None => self.stage.line(&format!(
                "{GOOD}replayed{GOOD:#}  {} decisions of the loop came out the same, byte for byte",
                report.compared
            ))?,
            Some(_) => self.stage.line(&super::replay::text(self.run.as_str(), &report, None))?,
        }
        Ok(report.divergence.is_none())
    }

    async fn tamper(&mut self, records: &[Record], side_records: &[SideRecord]) -> Result<bool, CliError> {
        self.stage.heading("Someone tampers with copies of it").await?;
        let options = check::options(side_records, &self.context.keyring()?, None).await?;
        let mut all_found = true;
        for tampering in Tampering::ALL {
            let verdict = tamper::check(&tampering.apply(records, self.run)?, options.clone());
            let of = |part| verdict.findings.iter().find(move |finding| finding.part == part);
            let finding = of(Part::Integrity).or_else(|| of(Part::Structure));
            all_found &= verdict.is_corrupt() && finding.is_some();
            self.stage.line(tampering.description())?;
            match finding {
                Some(found) => self.found(found)?,
                None => self.stage.line(&format!("  {BAD}not found{BAD:#}"))?,
            }
            self.stage.pause(200).await?;
        }
        Ok(all_found)
    }

    fn found(&mut self, found: &Finding) -> Result<(), CliError> {
        const INDENT: &str = "         ";
        let text = visible(&format!("{}: {}", found.code, found.message));
        let lines = wrapped(&text, room().saturating_sub(INDENT.len()));
        for (line, at) in lines.iter().zip(0..) {
            match line.split_once(':').filter(|_| at == 0) {
                Some((code, rest)) => {
                    self.stage.line(&format!("  {BAD}found{BAD:#}  {NAME}{code}{NAME:#}:{rest}"))?;
                }
                None => self.stage.line(&format!("{INDENT}{line}"))?,
            }
        }
        Ok(())
    }

    async fn receipt(&mut self) -> Result<bool, CliError> {
        self.stage.heading("What the run did, signed for anyone to check").await?;
        let (path, digest) = super::receipt::keep(self.context, self.workshop, self.run).await?;
        let bytes = r1_runtime::control::receipt::read_file(&path)?;
        let keys = r1_runtime::keys::known_keys(&self.context.home.keyring())?.keys;
        let report = verify(&bytes, &Options { keys: &keys, ..Options::default() });
        self.stage.line(&verdict_line(report.verdict()))?;
        if let Ok(receipt) = Receipt::read(&bytes) {
            for line in story(&receipt, Some(room())) {
                self.stage.line(&line)?;
            }
        }
        self.stage.line(&format!("  {DIM}{:<9}{DIM:#} {}", "nodes", counts(report.events, &report.types)))?;
        self.stage.line(&format!("  {DIM}{:<9}{DIM:#} {digest}", "digest"))?;
        self.stage.line(&format!("{DIM}Anyone can check it with the file and your public key alone:{DIM:#}"))?;
        self.stage.line(&format!("  {NAME}r1 key export {}{NAME:#} > key.json", &report.key.kid[..12]))?;
        self.stage.line(&format!("  {NAME}r1 receipt verify --key key.json \\{NAME:#}"))?;
        self.stage.line(&format!("    {NAME}{}{NAME:#}", path.display()))?;
        Ok(report.verdict() == Verdict::Valid)
    }

    async fn copy(&self) -> Result<(Vec<Record>, Vec<SideRecord>), CliError> {
        let store = Arc::clone(self.store());
        Ok((Pages::of_all(&*store, self.run).to_end().await?, store.side_records(self.run).await?))
    }
}
