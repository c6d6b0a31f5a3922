//! Answers, one after the other.

use r1_protocol::data::SkillAuthoringDecision;

use super::answer::{self, BadAnswer};
use super::question::Question;
use super::render::Skill;

/// Whose answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A person's.
    Operator,
    /// A model's, as good as it can.
    BestJudgment,
}

impl Mode {
    /// As events name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::BestJudgment => "llm-best-judgment",
        }
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// To what.
    pub question: &'static Question,
    /// Whose it is.
    pub mode: Mode,
    /// As it was given.
    pub answer: String,
    /// As it was understood.
    pub interpretation: String,
    /// How sure whoever gave it is: 0 to 1000.
    pub confidence: u64,
    /// Whether it counts.
    pub confirmed: bool,
    /// The earlier decision that it takes the place of.
    pub revises: Option<usize>,
}

impl Decision {
    /// As an event. `revision_of` is what the revised decision is called in the receipt.
    #[must_use]
    pub fn event(&self, wizard_id: &str, step: usize, revision_of: Option<String>) -> SkillAuthoringDecision {
        SkillAuthoringDecision {
            wizard_id: wizard_id.to_owned(),
            step: step as u64,
            stage: self.question.stage.word().into(),
            question_id: self.question.id.into(),
            mode: self.mode.word().into(),
            answer: self.answer.clone(),
            interpretation: self.interpretation.clone(),
            confidence: self.confidence,
            path: self.question.path.into(),
            confirmed: self.confirmed,
            revision_of,
            ..Default::default()
        }
    }
}

/// The answers so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wizard {
    decisions: Vec<Decision>,
}

impl Wizard {
    /// Takes a person's answer. A second one to the same question corrects the first.
    pub fn answer(&mut self, question: &'static Question, answer: &str) -> Result<(), BadAnswer> {
        self.decide(question, Mode::Operator, answer, 1000, true)
    }

    /// Takes a model's answer, which counts if it is `confirmed`.
    pub fn propose(
        &mut self,
        question: &'static Question,
        answer: &str,
        confidence: u64,
        confirmed: bool,
    ) -> Result<(), BadAnswer> {
        self.decide(question, Mode::BestJudgment, answer, confidence.min(1000), confirmed)
    }

    fn decide(
        &mut self,
        question: &'static Question,
        mode: Mode,
        answer: &str,
        confidence: u64,
        confirmed: bool,
    ) -> Result<(), BadAnswer> {
        let interpretation = answer::interpret(question, answer)?;
        let revises = self.decisions.iter().rposition(|decision| decision.question == question);
        let answer = answer.to_owned();
        self.decisions.push(Decision { question, mode, answer, interpretation, confidence, confirmed, revises });
        Ok(())
    }

    /// All that was decided, in order.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// The answer that counts, if there is one.
    #[must_use]
    pub fn standing(&self, question: &Question) -> Option<&Decision> {
        let last = self.decisions.iter().rev().find(|decision| decision.question == question);
        last.filter(|decision| decision.confirmed)
    }

    /// What has no answer that counts yet, in order.
    pub fn open(&self) -> impl Iterator<Item = &'static Question> {
        Question::ALL.iter().filter(|question| self.standing(question).is_none())
    }

    /// The skill, once every question has an answer that counts.
    #[must_use]
    pub fn skill(&self) -> Option<Skill> {
        let texts = |id: &str| Some(answer::texts(&self.standing(Question::find(id)?)?.interpretation));
        let text = |id: &str| texts(id)?.pop();
        Some(Skill {
            name: text("skill.name")?,
            description: text("skill.description")?,
            when: text("skill.when")?,
            inputs: texts("skill.inputs")?,
            steps: texts("skill.steps")?,
            tools: texts("skill.tools")?,
            examples: texts("skill.examples")?,
            limits: texts("skill.limits")?,
            check: text("skill.check")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(id: &str) -> &'static Question {
        Question::find(id).unwrap()
    }

    #[test]
    fn a_correction_is_a_new_decision_that_names_the_one_before() {
        let mut wizard = Wizard::default();
        for answer in ["one", "two", "three"] {
            wizard.answer(question("skill.name"), answer).unwrap();
        }
        let revises: Vec<_> = wizard.decisions().iter().map(|decision| decision.revises).collect();
        assert_eq!(revises, [None, Some(0), Some(1)]);
        assert_eq!(wizard.standing(question("skill.name")).unwrap().answer, "three");
        assert!(wizard.answer(question("skill.name"), "No Name").is_err());
        assert_eq!(wizard.decisions().len(), 3);
    }

    #[test]
    fn stoke_27_what_nobody_confirmed_does_not_count() {
        let mut wizard = Wizard::default();
        wizard.propose(question("skill.when"), "always", 400, false).unwrap();
        assert_eq!(wizard.open().count(), 9);
        wizard.answer(question("skill.when"), "rarely").unwrap();
        assert_eq!(wizard.open().count(), 8);
        assert_eq!(wizard.skill(), None);
    }
}
