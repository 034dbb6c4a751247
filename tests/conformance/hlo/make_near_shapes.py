"""Asks XLA about the near misses of what shapes.txt has: near_shapes.txt.

    python tests/conformance/hlo/make_near_shapes.py     # needs models/requirements.txt

near_shapes.txt    SNIPPET => SHAPE, or => rejected. A snippet differs from one that XLA takes in
                   one thing: a number one more or one less, negative or large, two numbers
                   swapped, an operand another value, one operand fewer or twice, an attribute left
                   out. What XLA cannot infer from the text, or aborts on, is not asked about, nor
                   are more than SAMPLE near misses of a snippet. XLA's inference looks at less
                   than its verifier does, which refuses such programs (LAX): of that, what it
                   refuses is kept, and what it takes is not.
"""

import multiprocessing
import pathlib
import random
import re

import make_hlo

FOLDER = pathlib.Path(__file__).parent
SAMPLE = 14
ENTRY = make_hlo.PRELUDE.split("ENTRY")[1]
TYPES = dict(re.findall(r"^  (%\w+) = (\w+|\().* parameter", ENTRY, re.MULTILINE))
NUMBER = re.compile(r"(?<![\w%.])-?\d+(?![\w.])|(?<=[x_=:\[{,])\d+(?=[x_:\]},])")

# Sizes of transforms, comparators, batches and types of operands are the verifier's.
LAX = ("sort", "fft", "gather", "scatter", "map", "triangular-solve")
# What hloscope takes on purpose: StableHLO's cbrt of complex numbers; no transposition unless said.
OWN = ("cbrt(%cx)", "triangular-solve(%sq, %sq), left_side=true, lower=true")
ELEMENTWISE = (
    "add power remainder maximum and atan2 complex compare select clamp subtract multiply divide"
    " minimum or xor shift-left shift-right-logical shift-right-arithmetic"
).split()


def inference_decides(near: str, snippet: str) -> bool:
    """Whether a program that XLA's inference takes is one that its verifier takes too."""
    op = near.split("(")[0]
    before, after = (re.findall(r"%\w+", text[: text.index(")")]) for text in (snippet, near))
    return op not in LAX and (
        before == after
        or len(before) == len(after)
        and op not in ELEMENTWISE
        and all(TYPES.get(a) == TYPES.get(b) for a, b in zip(before, after))
    )


def near_misses(snippet: str, values: list[str]) -> list[str]:
    found = []
    numbers = list(NUMBER.finditer(snippet))
    for at in numbers:
        number = int(at[0])
        for other in (number - 1, number + 1, -1, number + 1000):
            found.append(snippet[: at.start()] + str(other) + snippet[at.end() :])
    for a, b in zip(numbers, numbers[1:]):
        found.append(
            snippet[: a.start()] + b[0] + snippet[a.end() : b.start()] + a[0] + snippet[b.end() :]
        )
    end = snippet.index(")") if ")" in snippet else len(snippet)
    for at in re.finditer(r"%\w+", snippet[:end]):
        for other in values:
            found.append(snippet[: at.start()] + other + snippet[at.end() :])
        found.append(snippet[: at.start()] + f"{at[0]}, {at[0]}" + snippet[at.end() :])
        found.append(re.sub(r"\(, ", "(", snippet[: at.start()].rstrip(", ") + snippet[at.end() :]))
    for at in re.finditer(r", \w+=(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|[^,]+)", snippet[end:]):
        found.append(snippet[: end + at.start()] + snippet[end + at.end() :])
    return [text for text in dict.fromkeys(found) if text != snippet]


def ask(snippet: str, out) -> None:
    try:
        out.send(make_hlo.shape(snippet))
    except Exception:
        out.send(None)


def answer(snippet: str) -> str | None:
    """What XLA says, from a child that may abort; None: nothing."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=ask, args=(snippet, sender))
    child.start()
    sender.close()
    try:
        said = receiver.recv() if receiver.poll(20) else None
    except EOFError:
        said = None
    child.kill()
    child.join()
    if said and said.startswith("rejected"):
        return "rejected"
    return said


def main() -> None:
    chance = random.Random(22)
    rows = (FOLDER / "shapes.txt").read_text().splitlines()
    known = {row.split(" => ")[0] for row in rows}
    asked = {}
    for row in rows:
        snippet, said = row.split(" => ")
        if said.startswith("rejected"):
            continue
        misses = near_misses(snippet, list(TYPES))
        for near in chance.sample(misses, min(SAMPLE, len(misses))):
            if near not in known and near not in asked and near not in OWN:
                said = answer(near)
                if said == "rejected" or (said and inference_decides(near, snippet)):
                    asked[near] = said
    (FOLDER / "near_shapes.txt").write_text(
        "".join(f"{near} => {said}\n" for near, said in asked.items())
    )


if __name__ == "__main__":
    main()
