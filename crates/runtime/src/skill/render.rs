//! The file.

use std::fmt::Write as _;

/// All that SKILL.md says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    /// Its name, and that of its folder.
    pub name: String,
    /// What it does, in a line.
    pub description: String,
    /// When it is used.
    pub when: String,
    /// What must be known before.
    pub inputs: Vec<String>,
    /// What to do.
    pub steps: Vec<String>,
    /// What it may use.
    pub tools: Vec<String>,
    /// How it looks.
    pub examples: Vec<String>,
    /// What it must not do.
    pub limits: Vec<String>,
    /// How one sees that it worked.
    pub check: String,
}

impl Skill {
    /// The bytes of SKILL.md.
    #[must_use]
    pub fn render(&self) -> String {
        let Self { name, description, when, inputs, steps, tools, examples, limits, check } = self;
        let mut out = String::new();
        // A JSON text is a YAML text, whatever stands in it. Writing to a text cannot fail.
        let _ = write!(out, "---\nname: {name}\ndescription: {}\n", quoted(description));
        if !tools.is_empty() {
            let _ = writeln!(out, "allowed-tools: {}", quoted(&tools.join(" ")));
        }
        let _ = write!(out, "---\n\n# {name}\n\n{description}\n\n## When to use\n\n{when}\n");
        let bullets = |out: &mut String, title: &str, items: &[String]| {
            if !items.is_empty() {
                let _ = write!(out, "\n## {title}\n\n");
                for item in items {
                    let _ = writeln!(out, "- {item}");
                }
            }
        };
        bullets(&mut out, "Inputs", inputs);
        out.push_str("\n## Steps\n\n");
        for (number, step) in (1..).zip(steps) {
            let _ = writeln!(out, "{number}. {step}");
        }
        bullets(&mut out, "Examples", examples);
        bullets(&mut out, "Limits", limits);
        let _ = write!(out, "\n## Check\n\n{check}\n");
        out
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_made_from_one_template() {
        let skill = Skill {
            name: "fix-tests".into(),
            description: "Fixes \"red\" tests: one at a time".into(),
            when: "A test fails.".into(),
            steps: vec!["Run it.".into(), "Fix it.".into()],
            tools: vec!["shell".into(), "edit".into()],
            limits: vec!["Never delete a test.".into()],
            check: "All tests pass.".into(),
            ..Skill::default()
        };
        let wanted = "---\nname: fix-tests\ndescription: \"Fixes \\\"red\\\" tests: one at a time\"\n\
            allowed-tools: \"shell edit\"\n---\n\n# fix-tests\n\nFixes \"red\" tests: one at a time\n\n\
            ## When to use\n\nA test fails.\n\n## Steps\n\n1. Run it.\n2. Fix it.\n\n\
            ## Limits\n\n- Never delete a test.\n\n## Check\n\nAll tests pass.\n";
        assert_eq!(skill.render(), wanted);
        let front: serde_json::Value = serde_saphyr::from_str(wanted.split("---\n").nth(1).unwrap()).unwrap();
        assert_eq!(front["description"], skill.description);
    }
}
