# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for unisono-tool: answers from the recorded files, and writes down what it was asked."""

import json
import os
import sys
from pathlib import Path

FIXTURES = Path(os.environ["FAKE_FIXTURES"])


def check(arguments: list[str]) -> int:
    failures = json.loads(os.environ.get("FAKE_FAILURES", "[]"))
    for done in (100, 200):
        state = {"done": done, "total": 200, "operation": "bcast", "algorithm": "binomial", "failures": 0}
        print(json.dumps({"progress": state}), flush=True)
    print(json.dumps({"algorithms": 4, "cases": 200, "failures": failures, "seconds": 1.5}))
    return 1 if failures else 0


def main() -> int:
    question, *arguments = sys.argv[1:]
    with (Path(sys.argv[0]).parent / "asked").open("a") as log:
        log.write(json.dumps(sys.argv[1:]) + "\n")
    mishap = os.environ.get("FAKE_MISHAP")
    if mishap == "refuses":
        print("unisono-tool: no such thing; say another", file=sys.stderr)
        return 2
    if mishap == "dies":
        os.kill(os.getpid(), 11)
    if mishap == "babbles":
        print("hello")
        return 0
    if question in ("launch", "launchers", "run"):  # launchers' command lines are nothing to stand in for
        os.execv(os.environ["FAKE_REAL_TOOL"], ["unisono-tool", *sys.argv[1:]])
    if question == "check":
        return check(arguments)
    if question == "show":
        form = arguments[arguments.index("--format") + 1]
        print({"text": "0 --> 1", "svg": "<svg/>", "json": '{"steps": []}'}[form])
        return 0
    if question == "version":
        print('{"unisono": "0.1.0"}')
        return 0
    print((FIXTURES / f"{question}.json").read_text())
    return 0


sys.exit(main())
