//! Asking a person.

use r1_runtime::control::skill::Proposal;
use r1_runtime::skill::{Question, Wizard};

use crate::error::CliError;
use crate::keyboard::Keyboard;
use crate::output::{self, BOLD, DIM, NOTICE};
use crate::render::text::visible;

/// A person at the terminal, who is asked one question at a time.
pub(super) struct Interview {
    keyboard: Keyboard,
}

impl Interview {
    pub(super) fn new() -> Self {
        Self { keyboard: Keyboard::new() }
    }

    /// Asks one question until the answer will do.
    pub(super) async fn ask(&mut self, wizard: &mut Wizard, question: &'static Question) -> Result<(), CliError> {
        loop {
            let more = if question.many { " (end with an empty line)" } else { "" };
            output::note(&format!("{BOLD}{}{BOLD:#}{DIM}{more}{DIM:#}", question.text));
            let answer = if question.many { self.lines().await? } else { self.line().await? };
            match wizard.answer(question, &answer) {
                Ok(()) => return Ok(()),
                Err(bad) => output::note(&format!("{NOTICE}{}{NOTICE:#}", bad.reason)),
            }
        }
    }

    /// Shows what a model proposes, one answer at a time; what the person says instead is a correction.
    pub(super) async fn review(&mut self, wizard: &mut Wizard, proposal: &Proposal) -> Result<(), CliError> {
        for (question, answer, confidence) in &proposal.answers {
            output::note(&format!("{BOLD}{}{BOLD:#}", question.text));
            answer.lines().for_each(|line| output::note(&format!("  {}", visible(line))));
            output::note(&format!("{DIM}sure by {confidence} of 1000; Enter takes it, n asks you{DIM:#}"));
            let taken = matches!(self.line().await?.to_lowercase().as_str(), "" | "y" | "yes");
            let proposed = wizard.propose(question, answer, *confidence, taken);
            if let Err(bad) = &proposed {
                output::note(&format!("{NOTICE}{}{NOTICE:#}", bad.reason));
            }
            if !taken || proposed.is_err() {
                self.ask(wizard, question).await?;
            }
        }
        Ok(())
    }

    /// Shows the whole file, and lets the person answer again until it is as they want it.
    pub(super) async fn confirm(&mut self, wizard: &mut Wizard) -> Result<(), CliError> {
        loop {
            if let Some(skill) = wizard.skill() {
                skill.render().lines().for_each(|line| output::note(&format!("{DIM}│{DIM:#} {}", visible(line))));
            }
            for (number, question) in (1..).zip(Question::ALL) {
                output::note(&format!("{BOLD}{number}{BOLD:#} {DIM}{}{DIM:#}", question.id));
            }
            output::note(&format!("{BOLD}Enter{BOLD:#} writes it; a number answers that question again"));
            let line = self.line().await?;
            match line.parse::<usize>() {
                _ if matches!(line.to_lowercase().as_str(), "" | "y" | "yes") => return Ok(()),
                Ok(number @ 1..) if number <= Question::ALL.len() => {
                    self.ask(wizard, &Question::ALL[number - 1]).await?;
                }
                _ => output::note("type nothing, or one of the numbers"),
            }
        }
    }

    async fn line(&mut self) -> Result<String, CliError> {
        let ended = || CliError::new("the answers ended too early; nothing was written");
        self.keyboard.line().await.ok_or_else(ended)
    }

    async fn lines(&mut self) -> Result<String, CliError> {
        let mut lines = Vec::new();
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                return Ok(lines.join("\n"));
            }
            lines.push(line);
        }
    }
}
