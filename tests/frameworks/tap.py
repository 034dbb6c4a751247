"""Tests as functions: @test collects them, main() runs them one by one and speaks TAP."""

import traceback

tests = []


def test(function):
    tests.append(function)
    return function


def main():
    failed = 0
    print(f"1..{len(tests)}")
    for number, function in enumerate(tests, 1):
        try:
            function()
            print(f"ok {number} - {function.__name__}", flush=True)
        except Exception as error:  # noqa: BLE001
            failed += 1
            print(f"not ok {number} - {function.__name__}")
            print(
                "".join(
                    "# " + line + "\n"
                    for line in "".join(traceback.format_exception(error)).rstrip().split("\n")
                )[-3000:],
                flush=True,
            )
    return failed > 0
