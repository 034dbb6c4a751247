"""TAP of the tests of this folder: check() prints one line, end() the plan and the exit code."""

number = failed = 0


def check(fine: object, name: str, why: object = "") -> None:
    global number, failed
    number += 1
    failed += not fine
    print("ok" if fine else "not ok", number, "-", name, flush=True)
    if not fine:
        print("# " + str(why)[-2000:].replace("\n", "\n# "))


def end() -> int:
    print(f"1..{number}")
    return 1 if failed else 0
