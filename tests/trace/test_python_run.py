"""hloscope.run: results, fallback with its warning, programs that are no files, errors; with the
standard library alone."""

import os
import sys
import tempfile
import warnings

number = 0
failed = 0
PROGRAM = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n"


def check(name, holds, more=""):
    global number, failed
    number += 1
    failed += not holds
    print(("ok" if holds else "not ok"), number, "-", name)
    if not holds:
        print("#", str(more).replace("\n", "\n# "))


def fails(*arguments, **options):
    import hloscope

    try:
        return f"no error: {hloscope.run(*arguments, **options)}"
    except hloscope.Error as error:
        return str(error)


class Lowered:
    """As jax.jit(f).lower(x) gives it."""

    def as_text(self):
        return (
            "module @m {\n  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n    %y ="
            " stablehlo.add %x, %x : tensor<4xf32>\n    return %y : tensor<4xf32>\n  }\n}\n"
        )


def main():
    os.environ["HLOSCOPE_PROGRAM"], package, fake = sys.argv[1], sys.argv[2], sys.argv[3]
    sys.path.insert(0, package)
    import hloscope

    with (
        tempfile.TemporaryDirectory(prefix="hsc-run-") as directory,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        path = os.path.join(directory, "m.hlo")
        with open(path, "w") as file:
            file.write(PROGRAM)
        plain = hloscope.run(path, device="cpu", runs=3)
        check(
            "a run that works says where and how fast",
            plain.device == "cpu" and plain.seconds > 0 and not plain.degraded and not caught,
            plain,
        )
        text = hloscope.run(PROGRAM, runs=1)
        lowered = hloscope.run(Lowered(), runs=1)
        check(
            "text, bytes and lowered programs run as files do",
            text.outputs[0]["digest"]
            == lowered.outputs[0]["digest"]
            == hloscope.run(PROGRAM.encode(), runs=1).outputs[0]["digest"]
            == plain.outputs[0]["digest"],
            (text, lowered),
        )
        hloscope.run(path, runs=1, save_outputs=os.path.join(directory, "out"), seed=3)
        check(
            "outputs are kept where they are wanted",
            os.path.getsize(os.path.join(directory, "out", "output_0.bin")) == 16,
        )
        os.environ["HLOSCOPE_FAKE"] = "fail=Client_Compile:13:the compiler is tired"
        fallen = hloscope.run(path, device=fake, fallback=["./none.so", "cpu"])
        check(
            "a device that fails gives way to the next",
            (fallen.device, fallen.wanted, fallen.attempts) == ("cpu", fake, 3) and fallen.degraded,
            fallen,
        )
        check(
            "a warning tells of it",
            [w.category for w in caught] == [hloscope.FallbackWarning]
            and "the compiler is tired" in str(caught[0].message),
            caught,
        )
        check(
            "every attempt is in the document",
            [a["status"] for a in fallen.document["fallback"]["attempts"]]
            == ["INTERNAL", "NOT_FOUND", "ok"],
            fallen.document["fallback"],
        )
        message = fails(path, device=fake, fallback="./none.so,./other.so")
        check("when nothing works the last error is raised", "./other.so" in message, message)
        del os.environ["HLOSCOPE_FAKE"]
        message = fails(PROGRAM.replace("add", "ad"), fallback=["reference"])
        check(
            "a malformed program is an error with its place",
            "did you mean" in message and ":4:" in message,
            message,
        )
        message = fails(path, options={"xla_disable_hlo_passes": "fusion", "no_such_option": 1})
        check("an option that does not exist is named", "no_such_option" in message, message)
        os.environ["HLOSCOPE_PROGRAM"] = "/nonexistent/hloscope"
        message = fails(path)
        check("a missing program hloscope is named", "/nonexistent/hloscope" in message, message)
    print(f"1..{number}")
    return failed > 0


sys.exit(main())
