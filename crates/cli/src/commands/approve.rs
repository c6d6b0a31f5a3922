//! `r1 approve`: answering what runs wait for, from any terminal.

use std::io::{IsTerminal as _, Write as _};

use r1_event::{Payload, RunId, Seq};
use r1_protocol::data::{ApprovalRequested, EventData as _};
use r1_runtime::agent::RunState;
use r1_runtime::agent::command::{Command, Decision, Scope};
use r1_runtime::control::command::command;
use r1_runtime::{artifact, history};
use r1_store::{PageLimit, RunFilter, SharedStore};
use serde_json::json;

use crate::ask::{self, Attendance, Desk, Reply};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow;
use crate::keyboard::Keyboard;
use crate::output::{self, BOLD, DIM, Stdout, print_json};
use crate::render::live::Live;
use crate::render::text::one_line;
use crate::workshop::Workshop;

/// Answer a request for approval
///
/// Shows exactly what would run, whichever process works on the run. Without an id all pending requests
/// are listed and, on a terminal, asked one after the other.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  r1 approve                                    # what waits? asks on a terminal
  r1 approve apr_01K0E8 --scope session
  r1 approve apr_01K0E8 --reject --comment \"not on this branch\"
  r1 approve --json | jq '.approvals[].summary'")]
pub(crate) struct Args {
    /// Which request: any unique beginning of its id
    #[arg(value_name = "APPROVAL")]
    approval: Option<String>,
    /// Say no
    #[arg(long, requires = "approval")]
    reject: bool,
    /// What the model hears with a no
    #[arg(long, value_name = "TEXT", requires = "approval")]
    comment: Option<String>,
    /// For how long a yes holds
    #[arg(long, value_name = "SCOPE", requires = "approval", conflicts_with = "reject", default_value = "once")]
    scope: Holds,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// For how long a yes holds.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Holds {
    /// For this call
    Once,
    /// For the same call again, until the session ends
    Session,
}

/// A request that waits.
struct Pending {
    run: RunId,
    request: ApprovalRequested,
    shown: String,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let workshop = Workshop::here(context).await?;
    let pending = pending(workshop.engine.store()).await?;
    let exit = match &args.approval {
        Some(given) => answer(&args, given, pending, &workshop).await?,
        None if args.json => {
            print_json(&json!({ "approvals": pending.iter().map(as_json).collect::<Vec<_>>() }))?;
            Exit::Ok
        }
        None => ask_all(pending, &workshop).await?,
    };
    workshop.close().await?;
    Ok(exit)
}

async fn answer(args: &Args, given: &str, pending: Vec<Pending>, workshop: &Workshop) -> Result<Exit, CliError> {
    let mut fitting: Vec<_> = pending.iter().filter(|pending| fits(&pending.request.approval_id, given)).collect();
    let (Some(found), true) = (fitting.pop(), fitting.is_empty()) else {
        let what = if pending.is_empty() { "nothing waits for approval" } else { "see what waits with `r1 approve`" };
        let many = if fitting.is_empty() { "no pending request matches" } else { "several requests match" };
        return Err(CliError::new(format!("{many} `{given}`")).hint(what));
    };
    let decision = if args.reject { Decision::Reject } else { Decision::Approve };
    let scope = match args.scope {
        Holds::Once => Scope::Once,
        Holds::Session => Scope::Session,
    };
    let comment = args.comment.as_deref().unwrap_or_default();
    let answer = ask::resolve(&found.request, decision, comment, scope, None);
    command(&workshop.engine, &found.run, answer, &ask::caller()).await?;
    let state = history::load(workshop.engine.store(), &found.run).await?;
    let word = if args.reject { "rejected" } else { "approved" };
    if args.json {
        print_json(&json!({
            "approval_id": found.request.approval_id,
            "run_id": found.run.as_str(),
            "decision": word,
            "status": state.status().as_str(),
        }))?;
    } else {
        output::note(&format!("{word}: {}", one_line(&found.request.summary, 100)));
        hint_to_resume(workshop, &found.run).await?;
    }
    Ok(Exit::Ok)
}

async fn ask_all(pending: Vec<Pending>, workshop: &Workshop) -> Result<Exit, CliError> {
    let mut out = output::stdout();
    if pending.is_empty() {
        output::note("nothing waits for approval");
        return Ok(Exit::Ok);
    }
    let asks = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut keyboard = Keyboard::new();
    for Pending { run, request, shown } in pending {
        writeln!(out, "{BOLD}{}{BOLD:#}  {DIM}of {run}{DIM:#}", request.approval_id)?;
        out.write_all(shown.as_bytes())?;
        if asks {
            match ask(request, &mut keyboard, &mut out).await? {
                Some(answer) => {
                    command(&workshop.engine, &run, answer, &ask::caller()).await?;
                    hint_to_resume(workshop, &run).await?;
                }
                None => return Ok(Exit::Ok),
            }
        }
        writeln!(out)?;
    }
    out.flush()?;
    if !asks {
        output::note("answer with `r1 approve APPROVAL`, or `r1 approve APPROVAL --reject --comment TEXT`");
    }
    Ok(Exit::Ok)
}

async fn ask(
    request: ApprovalRequested,
    keyboard: &mut Keyboard,
    out: &mut Stdout,
) -> Result<Option<Command>, CliError> {
    let input = request.input.clone().unwrap_or_default();
    let mut desk = Desk::new(Attendance::Person);
    desk.ask(request, String::new());
    loop {
        out.write_all(desk.prompt(false).unwrap_or_default().as_bytes())?;
        out.flush()?;
        let Some(line) = keyboard.line().await else { return Ok(None) };
        match desk.reply(&line) {
            Some(Reply::Answer(answer)) => return Ok(Some(*answer)),
            Some(Reply::Again(why)) if !why.is_empty() => writeln!(out, "{why}")?,
            Some(Reply::Again(_)) => {}
            Some(Reply::Edit) => match tokio::task::block_in_place(|| ask::edit(&input.clone().into())) {
                Ok(input) => return Ok(desk.edited(input)),
                Err(why) => writeln!(out, "{why}")?,
            },
            None => return Ok(None),
        }
    }
}

/// An answer alone moves nothing: somebody must work on the run.
async fn hint_to_resume(workshop: &Workshop, run: &RunId) -> Result<(), CliError> {
    if !follow::is_held(workshop.engine.store(), run).await? {
        output::note(&format!("nobody works on the run now: go on with `r1 resume {run}`"));
    }
    Ok(())
}

/// Every request of every open run, oldest run first.
async fn pending(store: &SharedStore) -> Result<Vec<Pending>, CliError> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(RunFilter { finished: Some(false), after, limit: 200, ..RunFilter::default() }).await?;
        for run in &page.runs {
            // A log of another agent, or one that cannot be folded, has no questions for us.
            let Ok(state) = history::load(store, &run.run_id).await else { continue };
            if state.approvals().next().is_some() {
                found.extend(requests(store, &state).await?);
            }
        }
        match page.next {
            Some(next) if !page.runs.is_empty() => after = Some(next),
            _ => break,
        }
    }
    found.reverse();
    Ok(found)
}

/// The requests of a run as they were shown when they were made.
async fn requests(store: &SharedStore, state: &RunState) -> Result<Vec<Pending>, CliError> {
    let waiting: Vec<_> = state.approvals().map(|(id, _)| id.to_owned()).collect();
    let mut live = Live::new(state.run.clone(), follow::look(false, false));
    let (mut found, mut next) = (Vec::new(), Seq::FIRST);
    loop {
        let page = store.read(&state.run, next, PageLimit::BULK).await?;
        if page.is_empty() {
            return Ok(found);
        }
        for record in &page {
            let Ok((place, payload)) = RunState::read(record) else { continue };
            next = place.seq.next();
            if let Some((id, digest)) = follow::patch(&payload)
                && let Ok(diff) = artifact::read(store, digest).await
            {
                live.learn_patch(id, String::from_utf8_lossy(&diff).into_owned());
            }
            let shown = live.take(place.ts, &payload);
            if let Payload::Typed(typed) = &payload
                && let Some(request) = ApprovalRequested::read(typed)
                && waiting.contains(&request.approval_id)
            {
                found.push(Pending { run: state.run.clone(), request, shown: shown.trim_start_matches('\n').into() });
            }
        }
    }
}

fn fits(approval_id: &str, given: &str) -> bool {
    approval_id.starts_with(given) || approval_id.split_once('_').is_some_and(|(_, id)| id.starts_with(given))
}

fn as_json(pending: &Pending) -> serde_json::Value {
    let mut value = serde_json::to_value(&pending.request).unwrap_or_default();
    value["run_id"] = pending.run.as_str().into();
    value
}
