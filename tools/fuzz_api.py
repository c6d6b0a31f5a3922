#!/usr/bin/env python3
"""Lets schemathesis loose on a server of our own.

usage: fuzz_api.py R1 SCHEMATHESIS SECONDS

Starts `r1 serve` in a home of its own, has a scripted task done there so that there is something to ask for, and
feeds the server's OpenAPI document to schemathesis. Fails on a server error, on an answer that the document does
not tell of, and if the server does not survive.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
# Ends the server; never ends by itself; sets a cookie for a ticket that nobody has.
LEFT_OUT = "daemon/shutdown|events/stream|/login"

CONFIG = """
[run]
provider = "script"
model = "scripted"
approve = "read-only"
[providers.script]
wire = "scripted"
scenario = "scenario.yaml"
"""
SCENARIO = """
turns:
  - {text: I look around., tool_calls: [{tool: glob, input: {pattern: '*'}}]}
  - {text: It is all there.}
"""


def main(r1: str, schemathesis: str, seconds: str) -> int:
    with tempfile.TemporaryDirectory() as place:
        home, work = pathlib.Path(place, "home"), pathlib.Path(place, "work")
        home.mkdir(mode=0o700)
        work.mkdir()
        home.joinpath("scenario.yaml").write_text(SCENARIO)
        home.joinpath("config.toml").write_text(CONFIG.replace("scenario.yaml", str(home / "scenario.yaml")))
        with open(home / "serve.log", "w+") as log:
            server = subprocess.Popen(
                [r1, "serve", "--addr", "127.0.0.1:0", "--no-unix", "--json"],
                cwd=work, env={**os.environ, "R1_HOME": str(home)}, stdout=subprocess.PIPE, stderr=log, text=True,
            )
            try:
                return attack(server, schemathesis, seconds, log)
            finally:
                server.terminate()
                server.wait(30)


def attack(server: subprocess.Popen, schemathesis: str, seconds: str, log) -> int:
    said = json.loads(server.stdout.readline())
    url, token = said["url"], said["token"]
    request = urllib.request.Request(
        f"{url}/hecate/v1/tasks", data=b'{"prompt": "look around"}',
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=30).read()
    code = subprocess.run(
        [
            schemathesis, "run", f"{url}/hecate/v1/openapi.json", "--header", f"Authorization: Bearer {token}",
            "--checks", CHECKS, "--exclude-path-regex", LEFT_OUT, "--phases", "coverage,fuzzing",
            "--max-time", seconds, "--request-timeout", "30", "--continue-on-failure", "--warnings", "off", "--no-color",
        ],
    ).returncode
    if server.poll() is not None:
        print("the server did not survive")
        code = code or 1
    log.seek(0)
    panics = [line for line in log if "panicked" in line]
    for line in panics:
        print(line, end="")
    return code or bool(panics)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
