#!/usr/bin/env python3
"""--inputs: the numbers of a NumPy file are the inputs of a program, or the error says what to do.

    test_inputs.py HLOSCOPE

TAP. The files are made here byte by byte, as numpy.save and numpy.savez do, so that no package is
needed; what the program gives is computed again from the numbers that went in.
"""

import array
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

# out = a - 2 b, with a column-major trap: neither dimension nor value is symmetric
PROGRAM = """HloModule m
ENTRY e {
  a.1 = f32[2,3]{1,0} parameter(0), metadata={op_name="params['a']"}
  b.1 = f32[2,3]{1,0} parameter(1), metadata={op_name="x"}
  two = f32[] constant(2)
  twos = f32[2,3]{1,0} broadcast(two), dimensions={}
  b2 = f32[2,3]{1,0} multiply(b.1, twos)
  ROOT r = f32[2,3]{1,0} subtract(a.1, b2)
}
"""
NARROW = """HloModule n
ENTRY e {
  p = bf16[2]{0} parameter(0)
  q = pred[2]{0} parameter(1)
  z = bf16[2]{0} negate(p)
  ROOT r = bf16[2]{0} select(q, z, p)
}
"""
TUPLE = """HloModule t
ENTRY e {
  p = (f32[2]{0}, f32[2]{0}) parameter(0)
  x = f32[2]{0} get-tuple-element(p), index=0
  y = f32[2]{0} get-tuple-element(p), index=1
  ROOT r = f32[2]{0} subtract(x, y)
}
"""
# As many turns as the input says: what tells whether the numbers reach the runs that are timed.
LOOP = """HloModule loop
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  less = s32[] subtract(i, one)
  y = f32[8] cosine(x)
  ROOT t = (s32[], f32[8]) tuple(less, y)
}
cond {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  zero = s32[] constant(0)
  ROOT c = pred[] compare(i, zero), direction=GT
}
ENTRY e {
  n = s32[] parameter(0)
  start = f32[8] parameter(1)
  s = (s32[], f32[8]) tuple(n, start)
  w = (s32[], f32[8]) while(s), condition=cond, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
}
"""
# A tuple and a constant that `tune` makes an argument: inputs are leaves, not parameters.
CONSTANT = """HloModule c
ENTRY e {
  p = (f32[128,128], f32[128,128]) parameter(0)
  x = f32[128,128] get-tuple-element(p), index=0
  y = f32[128,128] get-tuple-element(p), index=1
  k = f32[128,128] constant({%s})
  z = f32[128,128] dot(x, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[128,128] add(z, y)
}
""" % ",".join("{" + ",".join(str((i * j) % 7) for j in range(128)) + "}" for i in range(128))
A = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
B = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
WANTED = [a - 2 * b for a, b in zip(A, B)]
number = failed = 0


def npy(values, shape, descr="<f4", fortran=False, major=1):
    code = {"f4": "f", "f8": "d", "V2": "H", "b1": "B", "i4": "i"}.get(descr[1:], "f")
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    size = struct.pack("<H" if major == 1 else "<I", len(header))
    order = ">" if descr[0] == ">" else "<"
    data = struct.pack(f"{order}{len(values)}{code}", *values)
    return b"\x93NUMPY" + bytes([major, 0]) + size + header + data


def npz(compression=zipfile.ZIP_STORED, **arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:  # as numpy does
                entry.write(data)
    return file.getvalue()


def report(good, name, text=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print("\n".join(f"# {line}" for line in str(text).splitlines()[-8:]))


def main():
    hloscope = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hloscope-inputs-"))
    texts = {"m": PROGRAM, "n": NARROW, "t": TUPLE, "loop": LOOP, "c": CONSTANT}
    for name, text in texts.items():
        (folder / f"{name}.hlo").write_text(text)

    def run(data, *more, program="m", verb="run"):
        suffix = "npy" if data[:1] == b"\x93" else "npz"
        (folder / f"given.{suffix}").write_bytes(data)
        words = [hloscope, verb, f"{program}.hlo", "--inputs", f"given.{suffix}", *more]
        if verb == "run":
            words += ["--runs=1", "--no-store", "--format=json", "--save-outputs=out"]
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)

    def output(done, code="f"):
        if done.returncode:
            return done.stdout + done.stderr
        values = array.array(code)
        path = json.loads(done.stdout)["devices"][0]["outputs"][0]["file"]
        values.frombytes((folder / path).read_bytes())
        return list(values)

    def gives(name, data, wanted=WANTED, program="m", code="f", more=()):
        found = output(run(data, *more, program=program), code)
        report(found == wanted, name, f"{found}, not {wanted}")

    def refused(name, data, *words, program="m"):
        done = run(data, program=program)
        error = json.loads(done.stdout or "{}").get("error") or {}
        text = f"{error.get('message')} {error.get('hint')}"
        report(done.returncode == 1 and all(word in text for word in words), name, done)

    a, b = npy(A, (2, 3)), npy(B, (2, 3))
    columns = npy([10.0, 40.0, 20.0, 50.0, 30.0, 60.0], (2, 3), fortran=True)
    gives("arrays without names, in order", npz(arr_0=a, arr_1=b))
    gives("by the parameters' names, in any order", npz(**{"b.1": b, "a.1": a}))
    gives("by the framework's names", npz(**{"x": b, "params['a']": a}))
    gives("compressed", npz(zipfile.ZIP_DEFLATED, arr_0=a, arr_1=b))
    gives("column by column", npz(arr_0=a, arr_1=columns))
    gives("version 2 of the format", npz(arr_0=npy(A, (2, 3), major=2), arr_1=b))
    gives("on the evaluator", npz(arr_0=a, arr_1=b), more=["--device=reference"])
    narrow = npz(p=npy([0x3F80, 0x4000], (2,), "<V2"), q=npy([1, 0], (2,), "|b1"))
    gives("bfloat16 as NumPy keeps it, and bool", narrow, [0xBF80, 0x4000], "n", "H")
    pair = npz(**{"p.1": npy([1.0, 2.0], (2,)), "p.0": npy([5.0, 7.0], (2,))})
    gives("the elements of a tuple", pair, [4.0, 5.0], "t")

    some = run(npz(x=b))
    outputs = [output(some)]
    outputs.append(output(run(npz(x=b), "--seed=5")))
    report(
        all(isinstance(values, list) for values in outputs)
        and outputs[0] != outputs[1]
        and all(abs(v + 2 * w) < 1 for v, w in zip(outputs[0], B)),
        "inputs that are not named are made from the seed",
        outputs,
    )
    report(
        json.loads(some.stdout).get("inputs_file") == "given.npz",
        "the document names the file",
        some.stdout,
    )
    profiled = run(npz(arr_0=a, arr_1=b), "-o", "log", "--time-budget=0.05", verb="profile")
    report(profiled.returncode == 0, "profile takes them", profiled)
    error = run(npz(x=b, y=a), "--device=cpu", "--symptom=wrong", verb="reduce").stderr
    report("'y', which is no input" in error, "reduce takes them", error)

    def verb(words, data):
        (folder / "given.npz").write_bytes(data)
        words = [hloscope, *words, "m.hlo", "--inputs", "given.npz", "--format=json"]
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)

    validated = verb(["passes", "validate"], npz(arr_0=a, arr_1=b))
    coverage = json.loads(validated.stdout or "{}").get("coverage") or {}
    report(
        validated.returncode == 0 and coverage["inputs"].get("file") == "given.npz",
        "passes validate takes them and says so",
        validated,
    )
    for words in (["passes", "validate"], ["blame"]):
        refusal = verb(words, npz(x=b, y=a))
        said = refusal.stdout + refusal.stderr
        report("'y', which is no input" in said, f"{' '.join(words)} refuses other names", refusal)
    report(verb(["blame"], npz(arr_0=a, arr_1=b)).returncode == 0, "blame takes them")

    def tune(data, program, *more):
        done = run(
            data, "--format=json", "--store=store", "-q", *more, program=program, verb="tune"
        )
        return json.loads(done.stdout or "{}"), done

    eight = npy([1.0] * 8, (8,))
    seconds = []
    for turns in (10, 200000):
        data = npz(n=npy([turns], (), "<i4"), start=eight)
        answer, done = tune(data, "loop", "--only=batch", "--time-budget=4")
        seconds.append((answer.get("baseline") or {}).get("run_seconds") or 0)
    report(
        seconds[0] > 0 and seconds[1] > 20 * seconds[0],
        "tune measures on the numbers that were given",
        f"{seconds} {done}",
    )
    batch = next((row for row in answer.get("rows", []) if row["name"] == "batch"), {})
    report(
        answer.get("inputs") == {"seed": 0, "file": "given.npz"} and batch.get("message") is None,
        "and says so; a batch has them for each example",
        f"{answer.get('inputs')} {batch}",
    )
    square = npy([0.5] * 128 * 128, (128, 128))
    plain = [hloscope, "tune", "c.hlo", "--format=json", "--store=store", "--time-budget=4"]
    for name in ("given", "seeded"):
        more = ["--only=argument", *(["--inputs=given.npz"] if name == "given" else [])]
        (folder / "given.npz").write_bytes(npz(**{"p.0": square, "p.1": square}))
        done = subprocess.run([*plain, *more], cwd=folder, capture_output=True, text=True)
        answer = json.loads(done.stdout or "{}")
        rows = [row for row in answer.get("rows", []) if row["name"] == "argument"]
        report(
            len(rows) == 1 and rows[0]["message"] is None and rows[0]["outcome"] != "error",
            f"a constant as an argument beside a tuple, {name}",
            f"{rows} {done}",
        )
    for words in (["tune"], ["versions", "--from=0.7.0"]):
        refusal = verb(words, npz(x=b, y=a))
        said = refusal.stdout + refusal.stderr
        report("'y', which is no input" in said, f"{words[0]} refuses other names", refusal)
    sizes = verb(["versions", "--sizes=2=2,3"], npz(x=b))
    report("one program in one size" in sizes.stdout, "versions: not with sizes", sizes)

    wide = npz(arr_0=npy(A, (2, 3), "<f8"), arr_1=b)
    refused("another type", wide, "float64", "f32[2,3]", "astype(numpy.float32)")
    refused("another shape", npz(x=npy(B, (3, 2))), "x", "[3,2]", "f32[2,3]")
    refused("a name that is no input", npz(x=b, y=a), "'y'", "params['a'] f32[2,3]")
    refused("too few without names", npz(arr_0=a), "1 array without", "2 inputs")
    refused("one array for two inputs", a, "2 inputs")
    refused("big-endian", npz(x=npy(B, (2, 3), ">f4")), "newbyteorder")
    refused("objects", npz(x=npy(B, (2, 3), "|O")), "Python objects", "float32")
    refused("neither of the formats", b"0.5 0.25\n", "neither", "numpy.savez")
    whole = npz(zipfile.ZIP_DEFLATED, arr_0=a, arr_1=b)
    refused("cut off", whole[:-30], "is the file whole?")
    at = whole.index(b"arr_0.npy") + 40
    damaged = whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
    refused("damaged", damaged, "arr_0.npy")
    refused("an array that ends too early", npz(x=b[:-4]), "is the file whole?")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
