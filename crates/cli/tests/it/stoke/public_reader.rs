//! Somebody else's reader.

use std::process::Command;

/// Runs where `R1_TEST_PYTHON` names a Python that has what `tools/requirements.txt` lists; `./test python` does.
#[test]
fn stoke_04_every_line_is_read_by_a_public_reader_of_claude_codes_stream() {
    let Some(python) = std::env::var_os("R1_TEST_PYTHON") else {
        eprintln!("skipped: R1_TEST_PYTHON is not set");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/test_stoke_stream.py");
    let output = Command::new(python).args(["-B", script, env!("CARGO_BIN_EXE_r1")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
