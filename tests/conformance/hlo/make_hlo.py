"""Fills in what XLA infers, counts and prints: shapes.txt, costs.txt, printed/*.hlo.

    python tests/conformance/hlo/make_hlo.py     # needs models/requirements.txt

shapes.txt    SNIPPET => SHAPE, or => rejected: XLA's reason. XLA's parser infers the shape of an
              instruction that has none.
costs.txt     SHAPE SNIPPET => flops transcendentals bytes_accessed bytes_written, of
              HloCostAnalysis with XLA:CPU's sizes.
mixed_dots.txt  TYPE TYPE => the type of a dot of the two that states none.
printed/      whole modules as XLA prints them. They say is_scheduled=true, so that XLA keeps the
              order of instructions.

A snippet is an instruction over the values and computations of prelude.hlo. To add one, write its
left side (a line without "=>" is fine, so is a module that is not yet printed XLA's way) and run
this. What XLA cannot infer from the text, or aborts on, has no place here.
"""

import pathlib
import re

import jax
from jaxlib import _hlo, _jax

FOLDER = pathlib.Path(__file__).parent
PRELUDE = (FOLDER / "prelude.hlo").read_text()


def program(instruction):
    return f"{PRELUDE}  ROOT %result = {instruction}\n}}\n"


def reason(error):
    """The part of XLA's message that says what is wrong, without where."""
    for line in str(error).splitlines():
        if "error: " in line:
            return " ".join(line.rsplit("error: ", 1)[1].replace("goo.gle/debugonly", "").split())
    return str(error).splitlines()[0]


def result_shape(text):
    """What is before the first space outside of brackets."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == " " and depth == 0:
            return text[:i]
    raise ValueError(text)


def shape(snippet):
    try:
        module = _hlo.hlo_module_from_text(program(snippet))
    except Exception as error:
        if "cannot infer" in str(error):
            raise ValueError(f"XLA does not infer the shape of {snippet}") from error
        return "rejected: " + reason(error)
    options = _hlo.HloPrintOptions()
    options.include_layout_in_shapes = False
    start = "  ROOT %result = "
    return next(
        result_shape(line.removeprefix(start))
        for line in module.to_string(options).splitlines()
        if line.startswith(start)
    )


def cost(instruction):
    module = _hlo.hlo_module_from_text(program(instruction))
    counts = _jax.hlo_module_cost_analysis(jax.devices("cpu")[0].client, module)
    return " ".join(
        f"{counts.get(key, 0):.17g}"
        for key in ("flops", "transcendentals", "bytes accessed", "bytes accessedout{}")
    )


def dot_type(types):
    """Of the types of both sides: the element type of their product."""
    left, right = types.split()
    module = _hlo.hlo_module_from_text(
        f"HloModule m\nENTRY %e {{\n  %a = {left}[2,3] parameter(0)\n"
        f"  %b = {right}[3,4] parameter(1)\n"
        "  ROOT %result = dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
    )
    return re.search(r"ROOT %result = (\w+)\[", module.to_string()).group(1)


def fill(name, answer):
    path = FOLDER / name
    questions = [line.split(" => ")[0] for line in path.read_text().splitlines()]
    path.write_text("".join(f"{question} => {answer(question)}\n" for question in questions))


def main():
    jax.config.update("jax_platforms", "cpu")
    fill("shapes.txt", shape)
    fill("costs.txt", cost)
    fill("mixed_dots.txt", dot_type)
    for path in sorted((FOLDER / "printed").glob("*.hlo")):
        options = _hlo.HloPrintOptions()
        options.print_large_constants = True
        path.write_text(_hlo.hlo_module_from_text(path.read_text()).to_string(options))


if __name__ == "__main__":
    main()
