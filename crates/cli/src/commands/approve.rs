//! `r1 approve`: answering what runs wait for, from any terminal.

mod here;
mod office;
mod there;

use std::io::{IsTerminal as _, Write as _};

use r1_event::RunId;
use r1_protocol::data::{ApprovalKind, ApprovalRequested};
use r1_runtime::agent::command::{Command, Decision, Scope};
use serde_json::json;

use self::office::Office;
use crate::ask::{self, Attendance, Desk, Reply};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::keyboard::Keyboard;
use crate::output::{self, BOLD, DIM, Stdout, print_json};
use crate::remote::At;
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
  r1 approve appr_01K0E8 --scope session
  r1 approve --url http://127.0.0.1:3948        # of a daemon
  r1 approve appr_01K0E8 --reject --comment \"not on this branch\"
  r1 approve appr_01K0E8 --comment \"a known flaky test\"   # overrides a gate
  r1 approve --json | jq '.approvals[].summary'")]
pub(crate) struct Args {
    /// Which request: any unique beginning of its id
    #[arg(value_name = "APPROVAL")]
    approval: Option<String>,
    /// Say no
    #[arg(long, requires = "approval")]
    reject: bool,
    /// Have the gates look again, instead of overriding one
    #[arg(long, requires = "approval", conflicts_with = "reject")]
    retry: bool,
    /// What the model hears with a no; why a gate is overridden
    #[arg(long, value_name = "TEXT", requires = "approval")]
    comment: Option<String>,
    /// For how long a yes holds
    #[arg(long, value_name = "SCOPE", requires = "approval", conflicts_with = "reject", default_value = "once")]
    scope: Holds,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
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
    let office = match args.at.open(context)? {
        Some(remote) => Office::There(remote),
        None => Office::Here(Box::new(Workshop::here(context).await?)),
    };
    let pending = office.pending().await?;
    let exit = match &args.approval {
        Some(given) => answer(&args, given, pending, &office).await?,
        None if args.json => {
            print_json(&json!({ "approvals": pending.iter().map(as_json).collect::<Vec<_>>() }))?;
            Exit::Ok
        }
        None => ask_all(pending, &office).await?,
    };
    office.close().await?;
    Ok(exit)
}

async fn answer(args: &Args, given: &str, pending: Vec<Pending>, office: &Office) -> Result<Exit, CliError> {
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
    if args.retry && found.request.kind != ApprovalKind::Gate {
        return Err(CliError::new("only gates can look again").hint("leave out --retry to approve the call"));
    }
    let again = args.retry.then(|| json!({ "action": "retry" }));
    let answer = ask::resolve(&found.request, decision, comment, scope, again);
    office.answer(&found.run, answer).await?;
    let word = if args.reject { "rejected" } else { "approved" };
    if args.json {
        print_json(&json!({
            "approval_id": found.request.approval_id,
            "run_id": found.run.as_str(),
            "decision": word,
            "status": office.status(&found.run).await?,
        }))?;
    } else {
        output::note(&format!("{word}: {}", one_line(&found.request.summary, 100)));
        office.hint_to_resume(&found.run).await?;
    }
    Ok(Exit::Ok)
}

async fn ask_all(pending: Vec<Pending>, office: &Office) -> Result<Exit, CliError> {
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
                    office.answer(&run, answer).await?;
                    office.hint_to_resume(&run).await?;
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

fn fits(approval_id: &str, given: &str) -> bool {
    approval_id.starts_with(given) || approval_id.split_once('_').is_some_and(|(_, id)| id.starts_with(given))
}

fn as_json(pending: &Pending) -> serde_json::Value {
    let mut value = serde_json::to_value(&pending.request).unwrap_or_default();
    value["run_id"] = pending.run.as_str().into();
    value
}
