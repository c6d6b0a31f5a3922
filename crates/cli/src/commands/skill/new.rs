use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use r1_runtime::config::Config;
use r1_runtime::control::order::{Order, Work};
use r1_runtime::control::skill::{self, Made, Proposal};
use r1_runtime::machine::Variables;
use r1_runtime::provider::{self, Scenario};
use r1_runtime::sandbox::SandboxMode;
use r1_runtime::skill::{Given, Question, Wizard};
use serde_json::json;

use super::interview::Interview;
use crate::ask;
use crate::context::Context;
use crate::environment;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print_json};
use crate::settings::{self, Flag};
use crate::workshop::{Workshop, current_directory};

/// Make a skill: answer nine questions, get a SKILL.md
///
/// Answers come from you, from a file, or from a model. Each is recorded in a run of its own, corrections too, and
/// the same answers always make the same file. A file of answers is YAML or JSON: a map from question ids to answers
/// (a list of texts is an answer of several lines), or a list of such maps, in which later ones correct earlier ones.
/// The ids are skill.name, .description, .when, .inputs, .steps, .tools, .examples, .limits and .check.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 skill new
  r1 skill new .claude/skills --answers answers.yaml
  r1 skill new skills --answers name-and-description.yaml --auto")]
pub(crate) struct Args {
    /// The directory that gets a folder with the skill's name
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    directory: PathBuf,
    /// Answers from a file, `-` for standard input
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Let the model answer what nobody answered; on a terminal you are asked whether you agree
    #[arg(long)]
    auto: bool,
    /// Who serves the model [default: as in r1.toml]
    #[arg(long, value_name = "NAME", requires = "auto")]
    provider: Option<String>,
    /// Which model [default: as in r1.toml]
    #[arg(long, value_name = "NAME", requires = "auto")]
    model: Option<String>,
    /// A script instead of a model, see docs/scripted.md
    #[arg(long, value_name = "FILE", requires = "auto")]
    scenario: Option<PathBuf>,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let here = current_directory();
    let config = settings::load(context, &here, flags(&args))?;
    let mut wizard = Wizard::default();
    if let Some(path) = &args.answers {
        let bad = |err| CliError::new(format!("the answers in {} cannot be taken", path.display())).because(err);
        let given = Given::parse(&read(path)?).map_err(bad)?;
        given.answer(&mut wizard).map_err(|err| bad(err.into()))?;
    }
    let person = std::io::stdin().is_terminal() && output::stderr_is_terminal();
    let mut interview = person.then(Interview::new);
    let proposal =
        if args.auto { Some(propose(&args, &config, &here, &mut wizard, &mut interview).await?) } else { None };
    if let Some(interview) = &mut interview {
        for question in wizard.open().collect::<Vec<_>>() {
            interview.ask(&mut wizard, question).await?;
        }
        interview.confirm(&mut wizard).await?;
    }
    let Some(skill) = wizard.skill() else {
        let open: Vec<_> = wizard.open().map(|question| question.id).collect();
        return Err(CliError::new(format!("nobody answered {}", open.join(", ")))
            .hint("answer them in the file, let the model do it with `--auto`, or use a terminal"));
    };
    let (folder, text) = (args.directory.join(&skill.name), skill.render());
    let path = folder.join("SKILL.md");
    let is_there = check_free(&path, &text)?;
    let workshop = Workshop::create(context, &config, SandboxMode::Auto).await?;
    let (workspace, shown) = (here.to_string_lossy(), path.to_string_lossy());
    let caller = ask::caller();
    let made = skill::record(&workshop.engine, &workspace, &wizard, &shown, proposal.as_ref(), &caller);
    let Made { run, artifact_id } = made.await?;
    workshop.close().await?;
    if !is_there {
        let failed = |err| CliError::new(format!("cannot write {}", path.display())).because(err);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        std::fs::write(&path, &text).map_err(failed)?;
    }
    if args.json {
        let decisions = wizard.decisions().len();
        print_json(&json!({
            "path": shown, "run_id": run.as_str(), "artifact_id": artifact_id, "decisions": decisions,
        }))?;
    } else {
        output::print_line(&shown)?;
        output::note(&format!("how it was made: `r1 log show {run}`"));
    }
    Ok(Exit::Ok)
}

fn flags(args: &Args) -> Vec<Flag> {
    let text = |key, value: &Option<String>, flag| value.clone().map(|value| Flag { key, value: value.into(), flag });
    let given = [text("run.provider", &args.provider, "--provider"), text("run.model", &args.model, "--model")];
    given.into_iter().flatten().collect()
}

/// What a model answers to all that is open, and what a person says to that.
async fn propose(
    args: &Args,
    config: &Config,
    here: &Path,
    wizard: &mut Wizard,
    interview: &mut Option<Interview>,
) -> Result<Proposal, CliError> {
    let subject = [Question::find("skill.name"), Question::find("skill.description")];
    for question in subject.into_iter().flatten() {
        match interview {
            _ if wizard.standing(question).is_some() => {}
            Some(interview) => interview.ask(wizard, question).await?,
            None => {}
        }
    }
    if wizard.decisions().is_empty() {
        return Err(CliError::new("the model does not know what the skill is for")
            .hint("say so: `--answers FILE` with skill.name or skill.description"));
    }
    let scenario = args.scenario.as_deref().map(read).transpose()?;
    let bad = |err| CliError::new("the scenario cannot be played").because(err);
    let scenario = scenario.map(|text| Scenario::parse(&text).map_err(bad)).transpose()?;
    let order = Order { scenario, ..Order::new(Work::Agent("make a skill".into()), here.to_owned()) };
    let variables: Variables = Arc::new(environment::variable);
    let (spec, model) = order.model(config, &variables)?;
    let provider = provider::open(&spec, &environment::variable)?;
    output::note("asking the model…");
    let proposal = skill::propose(provider.as_ref(), &model, wizard).await?;
    match interview {
        Some(interview) => interview.review(wizard, &proposal).await?,
        None => {
            for (question, answer, confidence) in &proposal.answers {
                let bad = |err| CliError::new("the model's answer will not do").because(err).failed();
                wizard.propose(question, answer, *confidence, true).map_err(bad)?;
            }
        }
    }
    Ok(proposal)
}

fn read(path: &Path) -> Result<String, CliError> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    std::fs::read_to_string(path).map_err(|err| CliError::new(format!("cannot read {}", path.display())).because(err))
}

/// Whether the file is there with exactly this text. One with another text is never replaced.
fn check_free(path: &Path, text: &str) -> Result<bool, CliError> {
    match std::fs::read(path) {
        Ok(found) if found == text.as_bytes() => Ok(true),
        Ok(_) => Err(CliError::new(format!("{} is there already, with another text", path.display()))
            .hint("move it away, or choose another directory or name")),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(err) => Err(CliError::new(format!("cannot look at {}", path.display())).because(err)),
    }
}
