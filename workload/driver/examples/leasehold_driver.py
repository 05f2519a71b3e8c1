"""The pipe between leasehold and a lock in Python: PROTOCOL.md says what goes through it.

A driver hands serve() a description and functions; serve() reads requests and answers.
"""

import json
import sys


class No(Exception):
    """A refusal. definite: it did not happen, and will not."""

    def __init__(self, err, text="", definite=True):
        super().__init__(text)
        self.err, self.text, self.definite = err, text, definite


def serve(description, operations):
    """Answers until standard input ends. operations maps each to a function of a request."""
    out = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints is not for leasehold
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"id": request["id"], "ok": True}
        try:
            if request["op"] == "describe":
                answer.update(description)
            elif request["op"] == "shutdown":
                pass
            elif request["op"] in operations:
                answer.update(operations[request["op"]](request) or {})
            else:
                raise No("not-supported", request["op"])
        except No as no:
            answer.update(ok=False, err=no.err, text=no.text, definite=no.definite)
        except Exception as problem:  # nobody knows what it did before it failed
            answer.update(ok=False, err="unavailable", text=repr(problem), definite=False)
        out.write(json.dumps(answer) + "\n")
        out.flush()
        if request["op"] == "shutdown":
            return
