//! Who can tell whether a file is well formed.

use std::path::Path;

use serde::de::IgnoredAny;

/// Whoever parses a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Parser {
    Json,
    Toml,
    Yaml,
    /// A program of the language's own toolchain, if the machine has it.
    Program(&'static Program),
}

/// A program that says by its exit code whether a file parses. It reads the file as its standard input and runs
/// nothing of it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Program {
    /// Its name.
    pub(super) name: &'static str,
    /// What bash runs; `$1` is the name of the file, `$2` the edition of its language.
    pub(super) line: &'static str,
    /// What parses for sure. If it says no to that, it does not work here, and the files are not judged.
    pub(super) sample: &'static str,
}

const PYTHON: Program = Program {
    name: "python3",
    line: r#"python3 -I -c 'import ast, sys; ast.parse(sys.stdin.buffer.read(), sys.argv[1])' "$1""#,
    sample: "pass",
};
const RUST: Program = Program {
    name: "rustfmt",
    line: r#"rustfmt --edition "$2" --config-path /dev/null --emit stdout"#,
    sample: "fn f() {}",
};
const SHELL: Program = Program { name: "bash", line: "bash -n", sample: "true" };
const GO: Program = Program { name: "gofmt", line: "gofmt -e", sample: "package p" };
const SCRIPT: Program = Program { name: "node", line: "node --check --input-type=commonjs -", sample: "0" };
const MODULE: Program = Program { name: "node", line: "node --check --input-type=module -", sample: "export {}" };

impl Parser {
    /// Who parses this file; `None` if nobody here does.
    pub(super) fn of(path: &str, text: &[u8]) -> Option<Self> {
        let path = Path::new(path);
        let name = path.file_name()?.to_str()?;
        let contains = |needle: &[u8]| text.windows(needle.len()).any(|window| window == needle);
        match path.extension()?.to_str()? {
            // Some are JSON with comments by custom, whatever their names say.
            "json" if !is_relaxed_json(path, name) => Some(Self::Json),
            "toml" => Some(Self::Toml),
            // Templates become YAML only when they are filled in.
            "yaml" | "yml" if !contains(b"{{") && !contains(b"{%") => Some(Self::Yaml),
            "py" | "pyi" => Some(Self::Program(&PYTHON)),
            "rs" => Some(Self::Program(&RUST)),
            "sh" | "bash" => Some(Self::Program(&SHELL)),
            "go" => Some(Self::Program(&GO)),
            "cjs" => Some(Self::Program(&SCRIPT)),
            "mjs" => Some(Self::Program(&MODULE)),
            _ => None,
        }
    }
}

/// Parses what R1 parses itself; says what is wrong.
pub(super) fn parse(parser: Parser, bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|err| err.to_string())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match parser {
        Parser::Json => serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|err| err.to_string()),
        Parser::Toml => text.parse::<toml::Table>().map(drop).map_err(|err| err.to_string()),
        Parser::Yaml => {
            let mut events = serde_saphyr::granit_parser::Parser::new_from_str(text);
            events.find_map(Result::err).map_or(Ok(()), |err| Err(err.to_string()))
        }
        Parser::Program(program) => Err(format!("`{}` parses these", program.name)),
    }
}

fn is_relaxed_json(path: &Path, name: &str) -> bool {
    let relaxed = ["tsconfig", "jsconfig", "devcontainer", ".eslintrc", ".swcrc", "api-extractor"];
    relaxed.iter().any(|start| name.starts_with(start))
        || path.components().any(|part| matches!(part.as_os_str().to_str(), Some(".vscode" | ".devcontainer" | ".zed")))
}

/// The edition that the nearest manifest gives, for a file of Rust.
pub(super) fn rust_edition(workspace: &Path, path: &str) -> String {
    let editions = Path::new(path).ancestors().skip(1).filter_map(|directory| {
        let manifest = std::fs::read_to_string(workspace.join(directory).join("Cargo.toml")).ok()?;
        let manifest: toml::Table = manifest.parse().ok()?;
        let edition = |table: &toml::Table| Some(table.get("package")?.get("edition")?.as_str()?.to_owned());
        edition(&manifest).or_else(|| edition(manifest.get("workspace")?.as_table()?))
    });
    editions.into_iter().find(|edition| edition.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or("2021".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_judged_by_whoever_parses_them() {
        let judged =
            |path: &str, text: &str| Parser::of(path, text.as_bytes()).map(|with| parse(with, text.as_bytes()));
        assert_eq!(judged("a.json", "{\"a\": [1]}"), Some(Ok(())));
        assert!(judged("a.json", "{\"a\": }").unwrap().is_err());
        assert_eq!(judged("tsconfig.base.json", "{ // a comment\n}"), None);
        assert_eq!(judged(".vscode/settings.json", "{ // a comment\n}"), None);
        assert_eq!(judged("Cargo.toml", "[package]\nname = \"x\""), Some(Ok(())));
        assert!(judged("Cargo.toml", "[package\n").unwrap().is_err());
        assert_eq!(judged("a.yaml", "a: !Ref b\n---\nc: [1]\n"), Some(Ok(())));
        assert!(judged("a.yml", "a: [1\nb: ]]").unwrap().is_err());
        assert_eq!(judged("chart.yaml", "a: {{ .Values.a }}\n{{ if }}"), None);
        assert_eq!(judged("picture.png", ""), None);
        assert_eq!(judged("LICENSE", ""), None);
    }

    #[test]
    fn the_nearest_manifest_gives_the_edition() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/src")).unwrap();
        std::fs::write(dir.path().join("Cargo.toml"), "[workspace.package]\nedition = \"2024\"").unwrap();
        std::fs::write(dir.path().join("a/Cargo.toml"), "[package]\nedition.workspace = true").unwrap();
        assert_eq!(rust_edition(dir.path(), "a/src/lib.rs"), "2024");
        std::fs::write(dir.path().join("a/Cargo.toml"), "[package]\nedition = \"2018\"").unwrap();
        assert_eq!(rust_edition(dir.path(), "a/src/lib.rs"), "2018");
        assert_eq!(rust_edition(&dir.path().join("a/src"), "lib.rs"), "2021");
    }
}
