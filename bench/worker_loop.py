"""What the workers of the benchmarks have in common: one JSON job per line on standard input, one
JSON answer per line on standard output."""

import json
import sys


def serve(answer):
    """Calls answer(job), which gives a dict or raises, for each line until the end of the input."""
    for line in sys.stdin:
        try:
            reply = {"ok": True, **answer(json.loads(line))}
        except Exception as error:  # the asker decides what a failed program means
            reply = {"ok": False, "message": f"{type(error).__name__}: {error}"[:2000]}
        print(json.dumps(reply), flush=True)
