//! What a daemon knows us by. Never on the command line, where every user of the machine could read it.

use std::fs;
use std::io;
use std::path::Path;

use crate::context::Context;
use crate::environment;
use crate::error::CliError;

/// A token, and where it was found.
pub(crate) struct Token {
    /// None if there was none to be found.
    pub(crate) text: Option<String>,
    /// In words.
    pub(crate) origin: String,
}

/// The token in the file that was named, in `R1_TOKEN`, or in R1's home.
pub(crate) fn find(file: Option<&Path>, context: &Context) -> Result<Token, CliError> {
    if let Some(path) = file {
        let text = fs::read_to_string(path)
            .map_err(|err| CliError::new(format!("cannot read the token in {}", path.display())).because(err))?;
        return Ok(Token { text: Some(text.trim().into()), origin: format!("in {}", path.display()) });
    }
    if let Some(text) = environment::variable("R1_TOKEN").filter(|text| !text.trim().is_empty()) {
        return Ok(Token { text: Some(text.trim().into()), origin: "in R1_TOKEN".into() });
    }
    let path = context.home.path().join("token");
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Token { text: Some(text.trim().into()), origin: format!("in {}", path.display()) }),
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            Ok(Token { text: None, origin: format!("there is none in {}", path.display()) })
        }
        Err(err) => Err(CliError::new(format!("cannot read the token in {}", path.display())).because(err)),
    }
}
