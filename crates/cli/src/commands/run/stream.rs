//! A run as lines of JSON on standard output, steered by lines on standard input.
//!
//! The last line is always `complete`: without it the process died.

mod alarm;
mod desk;
mod said;
mod stdin;

use std::pin::pin;

use r1_event::{Kind, RunId};
use r1_protocol::stoke::Cause;
use r1_protocol::stoke::process::{Completion, ErrorKind, complete, error};
use r1_runtime::agent::RunState;
use r1_runtime::control::stoke::{Family, Outlet, OutletError, Pace, PrintError, Printer, Wanted, moment};
use r1_runtime::engine::{Claim, Outcome as Worked};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use self::alarm::Alarm;
use self::desk::Desk;
use self::said::{Said, parse};
use self::stdin::{Input, Stdin};
use super::order::{Order, Ready, prompt_meanwhile};
use super::{Args, sign};
use crate::ask;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::{cancel_for, cancel_on, ending, exit_of, is_claim, is_failed_check};
use crate::lines::LineFormat;
use crate::output;
use crate::presence::Presence;
use crate::workshop::Workshop;

/// Where lines go that tell of the process, and whose.
struct Stage {
    outlet: Outlet,
    session_id: Option<String>,
}

/// How it ended.
struct Ended {
    exit: Exit,
    check_failed: bool,
    receipt_digest: Option<String>,
}

impl From<Exit> for Ended {
    fn from(exit: Exit) -> Self {
        Self { exit, check_failed: false, receipt_digest: None }
    }
}

pub(super) async fn run(args: Args, context: &Context) -> Result<Exit, CliError> {
    let detach = args.detach;
    // From here on the process ends in order, and says so.
    let mut alarm = Alarm::set()?;
    let mut stage = Stage { outlet: Outlet::new(std::io::stdout()), session_id: None };
    let played = play(args, context, &mut stage, &mut alarm).await;
    let (ended, result) = match played {
        Ok(ended) => {
            let exit = ended.exit;
            (ended, Ok(exit))
        }
        Err(err) => {
            stage.error(kind_of(&err), &err.to_string()).await?;
            (err.exit().into(), Err(err))
        }
    };
    let Ended { exit, check_failed, receipt_digest } = ended;
    let completion = Completion { exit_code: exit.code(), check_failed, receipt_digest };
    let told = stage.outlet.print(vec![complete(moment(stage.session_id)?, completion)]).await;
    match (result, told.and(stage.outlet.close().await)) {
        // With nobody to tell, the exit code is all that can be said.
        (Ok(Exit::Ok), Err(OutletError::Closed)) if !detach => Ok(Exit::PipeClosed),
        (Ok(Exit::Ok | Exit::Usage), Err(err @ OutletError::Broken(_))) => Err(err.into()),
        (Ok(exit), Err(err @ OutletError::Broken(_))) => {
            output::print_error(&err.into());
            Ok(exit)
        }
        (result, _) => result,
    }
}

impl Stage {
    async fn error(&self, kind: ErrorKind, message: &str) -> Result<(), CliError> {
        let line = self.error_line(kind, message)?;
        // That nobody reads is noticed where the run's lines are printed.
        let _ = self.outlet.print(vec![line]).await;
        Ok(())
    }

    fn error_line(&self, kind: ErrorKind, message: &str) -> Result<Vec<u8>, CliError> {
        Ok(error(moment(self.session_id.clone())?, kind, message))
    }
}

/// What a program is told of a failure that is in no log.
fn kind_of(err: &CliError) -> ErrorKind {
    if err.is_of_the_store() {
        ErrorKind::Store
    } else if err.exit() == Exit::Usage {
        ErrorKind::Usage
    } else {
        ErrorKind::Internal
    }
}

async fn play(args: Args, context: &Context, stage: &mut Stage, alarm: &mut Alarm) -> Result<Ended, CliError> {
    let mut input = (args.input_format == Some(LineFormat::StreamJson)).then(Stdin::open);
    let (workshop, ready) = tokio::select! {
        prepared = prepare(&args, context, &mut input, stage) => prepared?,
        exit = alarm.next() => return Ok(exit.into()),
    };
    let run = ready.place(&workshop).await?;
    let presence = Presence::of_run(context, workshop.engine.store(), &run).await;
    let ended = Play { workshop: &workshop, run: &run, context, args: &args, stage }.carry_out(input, alarm).await;
    if let Some(presence) = presence {
        presence.end(ended.as_ref().map_or(Exit::Failed, |ended| ended.exit)).await;
    }
    let receipt_digest = sign(context, &workshop, &run).await?;
    workshop.close().await?;
    Ok(Ended { receipt_digest, ..ended? })
}

/// Everything that comes before the run. May be dropped at any point: nothing is made yet that lasts.
async fn prepare(
    args: &Args,
    context: &Context,
    input: &mut Option<Stdin>,
    stage: &Stage,
) -> Result<(Workshop, Ready), CliError> {
    let task = match (&args.prompt, &mut *input) {
        (Some(given), Some(_)) if given == "-" => {
            return Err(CliError::new("standard input cannot be both the prompt and lines")
                .hint("leave the prompt out: the first message is taken for it"));
        }
        (Some(given), _) => prompt_meanwhile(given).await?,
        (None, Some(input)) => first_message(input, stage).await?,
        (None, None) => return Err(CliError::new("there is nothing to do").hint("say what: `r1 run PROMPT`")),
    };
    let order = Order::read(args, task, input.is_none(), context)?;
    let workshop = Workshop::create(context, &order.config, order.sandbox).await?;
    let ready = order.ready(&workshop).await?;
    Ok((workshop, ready))
}

/// The first message is what to do.
async fn first_message(input: &mut Stdin, stage: &Stage) -> Result<String, CliError> {
    loop {
        let why = match input.next().await {
            None => {
                return Err(CliError::new("standard input ended before it said what to do")
                    .hint(r#"write {"type":"user","message":{"role":"user","content":"…"}}"#));
            }
            Some(Input::TooLong) => "the line is longer than 1 MiB".to_owned(),
            Some(Input::Line(line)) => match parse(&line) {
                Ok(Said::Message(text)) => return Ok(text),
                Ok(Said::Reply(_)) => "nothing was asked yet".to_owned(),
                Err(why) => why,
            },
        };
        stage.error(ErrorKind::MalformedReply, &why).await?;
    }
}

/// One run, its lines, and whoever steers it.
struct Play<'a> {
    workshop: &'a Workshop,
    run: &'a RunId,
    context: &'a Context,
    args: &'a Args,
    stage: &'a mut Stage,
}

impl Play<'_> {
    async fn carry_out(self, mut input: Option<Stdin>, alarm: &mut Alarm) -> Result<Ended, CliError> {
        let Self { workshop, run, context, args, stage } = self;
        let store = workshop.engine.store().clone();
        let wanted = Wanted { pace: Pace::Live, ..args.lines.wanted() };
        let printer = Printer::open(store.clone(), run.clone(), wanted).await?;
        stage.session_id = Some(printer.session_id().to_owned());
        let stage = &*stage;
        let mut printing = pin!(printer.print(&stage.outlet));
        let mut worker = {
            let (engine, run) = (workshop.engine.clone(), run.clone());
            let claim = Claim { by_operator: true, message: None, caller: ask::caller() };
            tokio::spawn(async move { engine.work(&run, claim, CancellationToken::new()).await })
        };
        let mut events = Family::of(store, run.clone());
        let mut desk = Desk::new(workshop, run, &context.home);
        let mut watch = Watch::default();
        let mut asked_to_end = None;
        let (mut at_work, mut printed, mut over, mut unheard) = (true, false, false, false);
        while !(printed && over && desk.errors.is_empty()) {
            if watch.begun && std::mem::take(&mut unheard) {
                desk.ask(cancel_for(Cause::StdoutClosed));
            }
            tokio::select! {
                done = &mut printing, if !printed => {
                    printed = true;
                    match done {
                        Ok(()) => {}
                        Err(PrintError::Outlet(_)) if args.detach => {}
                        Err(PrintError::Outlet(err)) => {
                            asked_to_end = asked_to_end.or(Some(exit_without(&err)));
                            unheard = true;
                        }
                        Err(err) => return Err(err.into()),
                    }
                }
                event = events.next(), if !over => match event {
                    Some((whose, record)) => {
                        if let Ok((_, payload)) = RunState::read(&record?) {
                            if whose == *run {
                                watch.begun |= is_claim(&payload);
                                watch.ended = ending(&payload).or_else(|| watch.ended.take());
                            }
                            desk.hear(&whose, &payload);
                        }
                    }
                    None => over = true,
                },
                done = &mut worker, if at_work => {
                    at_work = false;
                    match done.map_err(broke_down)?? {
                        Worked::Ended(_) => {}
                        Worked::HandedOver | Worked::Idle => break,
                    }
                }
                // A copy each time: what is not handed over yet is not lost when something else comes first.
                _ = stage.outlet.print(desk.errors.clone()), if !desk.errors.is_empty() => desk.errors.clear(),
                line = next_line(&mut input), if watch.begun && input.is_some() && desk.is_free() => match line {
                    Some(line) => desk.take(line, stage).await?,
                    None => {
                        input = None;
                        desk.close();
                    }
                },
                answered = desk.answered(), if desk.is_asking() => desk.settle(answered, stage)?,
                // A signal that comes earlier is not lost: it is taken then.
                exit = alarm.next(), if watch.begun => {
                    asked_to_end = asked_to_end.or(Some(exit));
                    desk.ask(cancel_on(exit));
                }
            }
        }
        if at_work {
            // The run is over; what is left is to seal it and to give the lease back.
            worker.await.map_err(broke_down)??;
        }
        let exit = exit_of(watch.ended.as_ref(), asked_to_end);
        let check_failed = exit == Exit::Failed && is_failed_check(watch.ended.as_ref());
        Ok(Ended { check_failed, ..exit.into() })
    }
}

/// The exit of a run that is cancelled because its lines go nowhere.
const fn exit_without(outlet: &OutletError) -> Exit {
    match outlet {
        OutletError::Closed => Exit::PipeClosed,
        OutletError::Broken(_) => Exit::Usage,
    }
}

/// The agent itself crashed: its run failed, whatever its log says so far.
fn broke_down(err: JoinError) -> CliError {
    CliError::new("the worker broke down").because(err).failed()
}

/// How far the run is.
#[derive(Default)]
struct Watch {
    /// Whether our worker has it. A word to the run before that would take the lease from under it.
    begun: bool,
    ended: Option<(Kind, String)>,
}

async fn next_line(input: &mut Option<Stdin>) -> Option<Input> {
    match input {
        Some(input) => input.next().await,
        None => None,
    }
}
