"""Follows a run of an R1 server to its end and prints each event as one line of JSON.

    python3 tools/follow_run.py http://127.0.0.1:3948 RUN_ID

The token comes from R1_TOKEN. It shows what any client of event streams has to do: read with an ordinary
library, keep the id of the last event, come back with it when the line breaks, and stop when the server
says that there is no more.
"""

import argparse
import os
import sys
import time

import httpx
from httpx_sse import connect_sse


def follow(client, url, show, patience=60.0):
    """Shows each event of a run once, whatever happens to the connection in between."""
    last_id, retry, seen = None, 2.0, set()
    gone_since = None
    while True:
        headers = {} if last_id is None else {"Last-Event-ID": last_id}
        try:
            with connect_sse(client, "GET", url, headers=headers) as source:
                if source.response.status_code == 204:
                    return
                source.response.raise_for_status()
                gone_since = None
                for event in source.iter_sse():
                    last_id = event.id or last_id
                    retry = event.retry / 1000 if event.retry is not None else retry
                    if not event.data:
                        continue
                    envelope = event.json()
                    if envelope["event_id"] not in seen:
                        seen.add(envelope["event_id"])
                        show(event.data)
        except httpx.TransportError as error:
            gone_since = gone_since or time.monotonic()
            if time.monotonic() - gone_since > patience:
                raise SystemExit(f"the server cannot be reached: {error}") from error
        time.sleep(retry)


def main():
    parser = argparse.ArgumentParser(description="Follow a run of an R1 server.")
    parser.add_argument("server", help="for example http://127.0.0.1:3948")
    parser.add_argument("run", help="the run's id")
    parser.add_argument("--host", help="the name to call the server by, if a proxy stands before it")
    arguments = parser.parse_args()
    headers = {}
    if token := os.environ.get("R1_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    if arguments.host:
        headers["Host"] = arguments.host
    url = f"{arguments.server.rstrip('/')}/hecate/v1/runs/{arguments.run}/events"
    # The server says something at least every 15 seconds.
    with httpx.Client(headers=headers, timeout=httpx.Timeout(10.0, read=45.0), trust_env=False) as client:
        follow(client, url, lambda data: print(data, flush=True))


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
