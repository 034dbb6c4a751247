#!/usr/bin/env python3
"""Does what docs/howto says on a scratch copy of the tree, so that a checklist that has gone stale
fails (TAP on stdout).

    tools/check_howto.py            takes about half a minute: the copy is built

add-a-command.md: a row, a file, a page and a golden case make a command.   add-a-fuzz-target.md: a
file, a corpus and a row make a target. add-an-op.md: a row makes an operation that is read, printed
and refused by name, the op coverage test says what it lacks, and no fingerprint changes.
add-an-algsimp-rule.md: its row and its function make a rule that explains itself.
write-a-pjrt-plugin.md: its commands, as they stand on the page, and the row that it adds.
FOLLOWED: pages whose blocks go where the text before them says, and whose commands are run.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

COMMAND = """// cmd_greet.c - hloscope greet: a command made by the checklist.
#include "cli/command.h"

typedef struct greet_args {
  const char *name;
  int64_t count;
} greet_args;

static const hsc_option options[] = {
    HSC_POSITIONAL(greet_args, name, "NAME", HSC_REQUIRED, "whom to greet"),
    HSC_OPTION_INT_FROM(greet_args, count, "count|n", "N", 1, 1, "how often"),
    HSC_OPTION_END,
};

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const greet_args *args = args_of_command;
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("greetings", &table));
  hsc_table_column(table, "text", "");
  for (int64_t i = 0; i < args->count; i++) {
    hsc_table_row(table);
    hsc_table_printf(table, "hello %s", args->name);
  }
  return hsc_cli_table(cli, table);
}

const hsc_command_body hsc_command_greet = {.options = options, .args_bytes = sizeof(greet_args), .run = run};
"""

FUZZ = """// fuzz_greet.c - a target made by the checklist: texts of any bytes have a width.
#include <stdlib.h>

#include "base/json/json_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 0);
  hsc_json_string_n(&json, (const char *)data, size);
  hsc_status *status = hsc_bytes_status(&out);  // memory may run out: the replay makes it
  if (!status && out.size < 2) abort();
  hsc_status_free(status);
  hsc_bytes_deinit(&out);
  return 0;
}
"""


class Scratch:
    def __init__(self, folder: pathlib.Path):
        self.root = folder / "hloscope"
        self.number = 0
        self.failed = 0
        files = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
        for name in files:
            source = ROOT / name
            if not name or not source.is_file():
                continue
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def insert(self, name: str, before: str, line: str) -> None:
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert before in text, f"{name}: no {before}"
        path.write_text(text.replace(before, line + before, 1), encoding="utf-8")

    def check(self, rule: str, command: list[str], pattern: str = "", code: int = 0) -> None:
        """The command ends with the code, and what it prints matches."""
        done = subprocess.run(
            ["sh", "-c", '"$0" "$@" 2>&1', *command],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        output = done.stdout + done.stderr
        good = done.returncode == code and re.search(pattern, output)
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {rule}", flush=True)
        if not good:
            print(
                f"# {' '.join(command)} ended with {done.returncode}; wanted {code} and {pattern!r}"
            )
            for line in output.splitlines()[-40:]:
                print(f"# {line}", flush=True)


def write_a_plugin(tree: Scratch) -> None:
    """The blocks of the page line by line; the row of step 2 goes in before the second block."""
    page = (ROOT / "docs/howto/write-a-pjrt-plugin.md").read_text(encoding="utf-8")
    steps = re.findall(r"^   ```\n(.*?)^   ```", page, re.S | re.M)
    row = re.search(r"Add `(OP\(.*?\))`", page)
    assert len(steps) == 3 and row, "the page has other blocks than it had"
    wanted = [r"(\d+) of \1 checks pass, 0 fail", r"pass op/cosine-f32", r"(\d+) of \1 checks pass"]
    build = steps[0].splitlines()[1].strip()
    path = f'PATH="{tree.root}/build:$PATH"; '
    tree.check("a_copy_of_the_plugin_passes", ["sh", "-ec", path + steps[0]], wanted[0])
    tree.check("what_is_lacking_is_told", ["sh", "-ec", path + steps[1]], "not_offered op/cosine")
    tree.insert("my_plugin/toy_ops.def", "OP(tanh,", row[1] + "\n")
    tree.check("a_row_is_an_operation", ["sh", "-ec", path + build + "\n" + steps[1]], wanted[1])
    tree.check("a_run_with_reproducers_ends_well", ["sh", "-ec", path + steps[2]], wanted[2])


# Pages whose steps are done as they are written. A block of code goes to the place that its step
# names: "The file `PATH`", "in `PATH`, before `TEXT`", "at the end of `PATH`", in their order.
FOLLOWED = (
    "add-a-check",
    "add-a-knowledge-entry",
    "add-a-sink",
    "add-a-target",
    "add-a-thunk",
    "add-a-view",
)
PLACE = re.compile(
    r"The file `(?P<file>[^`]+)`|in `(?P<path>[^`]+)`, before `(?P<before>[^`]+)`|"
    r"at the end of `(?P<end>[^`]+)`"
)
COMMAND_LINE = re.compile(r"^(?:[A-Z_]+=\S+ )?(?:build/hloscope|sed) ", re.M)


def follow(tree: Scratch, page: str) -> str:
    """Does what the steps of a page say about files; gives the commands of its blocks."""
    text = (ROOT / f"docs/howto/{page}.md").read_text(encoding="utf-8")
    commands = []
    for step in re.split(r"^\d+\. ", text, flags=re.M)[1:]:
        blocks = [
            re.sub(r"^   ", "", block, flags=re.M)
            for block in re.findall(r"^   ```\w*\n(.*?)^   ```", step, re.S | re.M)
        ]
        prose = " ".join(re.sub(r"^   ```.*?^   ```", "", step, flags=re.S | re.M).split())
        places = list(PLACE.finditer(prose))
        for block in blocks:
            if COMMAND_LINE.match(block):
                commands.append(block)
                continue
            assert places, f"{page}: a block of code without a place"
            place = places.pop(0)
            if place["file"]:
                tree.write(place["file"], block)
            elif place["end"]:
                old = (tree.root / place["end"]).read_text(encoding="utf-8")
                tree.write(place["end"], old + "\n" + block)
            else:
                tree.insert(place["path"], place["before"], block)
    return "".join(commands)


def follow_all(tree: Scratch) -> dict[str, str]:
    """All pages of FOLLOWED, and the files that their commands are tried on; the commands."""
    tree.write(
        "machine/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 9 0 -2\n"
    )
    tree.write("train.log", "accel 0: fan tachometer reads zero, throttling\n")
    tree.write(
        "turn.hlo",
        "HloModule turn\nENTRY main {\n  x = s8[1000] parameter(0)\n"
        "  ROOT r = s8[1000] reverse(x), dimensions={0}\n}\n",
    )
    return {page: follow(tree, page) for page in FOLLOWED}


def try_followed(tree: Scratch, commands: dict[str, str]) -> None:
    """What the pages of FOLLOWED promise, once it is built."""

    def shell(page: str, more: str = "") -> list[str]:
        return ["sh", "-ec", commands[page] + more]

    tree.check("a_check_speaks", shell("add-a-check"), r"warn +swap +swap is on(.|\n)*swapoff -a")
    tree.check(
        "an_entry_proves_itself", shell("add-a-knowledge-entry"), r"0 problems|no problem|ok"
    )
    tree.check(
        "an_entry_is_found",
        ["build/hloscope", "explain", "--knowledge", "knowledge", "train.log"],
        "fan has stopped",
    )
    tree.check("a_target_is_a_device", shell("add-a-target"), "h100-half")
    tree.check("a_thunk_computes", shell("add-a-thunk"), "equal")
    capture = "build/hloscope trace -q -o t.hsc -- build/hloscope run -q turn.hlo >/dev/null; "
    tree.check(
        "a_view_is_a_table",
        ["sh", "-ec", capture + "build/hloscope tables t.hsc processes --format csv"],
        r"process,events\r?\n\d+,\d+",
    )
    tree.check(
        "a_sink_writes",
        ["sh", "-ec", "build/hloscope export t.hsc --to=names -o names.txt; cat names.txt"],
        r"(?m)^execute$",
    )


def add_a_rule(tree: Scratch) -> None:
    """The row and the function of the page, in the places that the page names."""
    page = (ROOT / "docs/howto/add-an-algsimp-rule.md").read_text(encoding="utf-8")
    blocks = [
        re.sub(r"^   ", "", block, flags=re.M)
        for block in re.findall(r"```c\n(.*?)   ```", page, re.S)
    ]
    assert len(blocks) == 2, "the page has other blocks than it had"
    tree.insert("src/passes/algsimp/rules.def", 'RULE("abs-of-abs"', blocks[0])
    tree.insert("src/passes/algsimp/algsimp_values.c", "HSC_RULE(abs_of_abs)", blocks[1] + "\n")


def main() -> int:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        print("1..0 # SKIP needs git and a checkout")
        return 0
    print("1..25", flush=True)
    with tempfile.TemporaryDirectory(prefix="hloscope-howto-") as folder:
        tree = Scratch(pathlib.Path(folder))
        tree.insert(
            "src/cli/commands.def",
            "// clang-format on",
            'COMMAND(greet, HOUSE, TEXT | JSON, "Greets")\n',
        )
        tree.write("src/cli/cmd_greet.c", COMMAND)
        tree.write("tests/golden/greet/greets-as-often-as-told/cmd", "greet -n 2 you\n")
        tree.write("tests/fuzz/fuzz_greet.c", FUZZ)
        tree.write("tests/fuzz/corpus/greet/plain", "hello")
        tree.insert("tests/fuzz/meson.build", "}\nif ", "  'greet': [base_dep],\n")
        tree.insert(
            "src/hlo/ir/ops.def",
            "OP(ABS,",
            'OP(TWICE, "aaa-twice", 1, ELEMENTWISE, none, same, "Twice the operand.")\n',
        )  # before all others
        tree.write(
            "twice.hlo",
            "HloModule twice\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4]"
            " aaa-twice(x)\n}\n",
        )
        add_a_rule(tree)
        commands = follow_all(tree)
        tree.check(
            "the_build_finds_a_new_command_by_its_row",
            ["meson", "setup", "build", "--buildtype=plain", "-Doptimization=0"],
        )
        tree.check(
            "it_builds",
            [
                "ninja",
                "-C",
                "build",
                "hloscope",
                "libhloscope_cpu_pjrt.so",
                "libhloscope_pjrt_tracer.so",
                "tests/fuzz/fuzz_replay_greet",
            ],
        )
        tree.check("it_runs", ["build/hloscope", "greet", "you"], "hello you")
        tree.check(
            "a_rule_explains_itself",
            ["build/hloscope", "passes", "explain", "algsimp/sign-twice"],
            r"of a sign: gone(.|\n)*sign\(a\)(.|\n)*negate\(a\)",
        )
        tree.check(
            "the_missing_page_is_told",
            ["python3", "tools/command_pages.py", "build/hloscope", "--check"],
            r"greet\.md: missing",
            1,
        )
        subprocess.run(
            ["python3", "tools/command_pages.py", "build/hloscope"],
            cwd=tree.root,
            check=False,
            capture_output=True,
        )
        tree.check(
            "the_page_is_made", ["grep", "-e", "--count N", "docs/commands/greet.md"], "how often"
        )
        tree.check(
            "the_golden_case_is_written",
            ["python3", "tools/golden.py", "build/hloscope", "--update", "greet"],
            r"\+hello you",
        )
        tree.check(
            "the_golden_case_holds",
            ["python3", "tools/golden.py", "build/hloscope", "greet"],
            "ok 1 - greet/greets-as-often-as-told",
        )
        tree.check(
            "an_op_is_read_and_printed_by_its_row",
            ["build/hloscope", "convert", "twice.hlo", "--to", "hlo"],
            r"aaa-twice\(",
        )
        tree.check(
            "the_coverage_test_names_what_an_op_lacks",
            ["python3", "tools/check_ops.py"],
            r"aaa-twice: nothing for it in evaluator(.|\n)*aaa-twice: nothing for it in stablehlo",
            1,
        )
        subprocess.run(
            ["python3", "tools/reference_pages.py"], cwd=tree.root, check=False, capture_output=True
        )
        tree.check(
            "make_docs_writes_an_op_into_the_reference",
            ["grep", "aaa-twice", "docs/reference/ops.md"],
            "Twice the operand",
        )
        tree.check(
            "make_docs_writes_a_rule_into_the_reference",
            ["grep", "sign-twice", "docs/reference/algsimp_rules.md"],
            "of a sign: gone",
        )
        tree.check(
            "a_new_op_changes_no_fingerprint",
            ["python3", "tools/golden.py", "build/hloscope", "cache/why-neuron-compiled-again"],
            "ok 1 - ",
        )
        tree.check(
            "the_corpus_is_replayed",
            ["build/tests/fuzz/fuzz_replay_greet", "tests/fuzz/corpus/greet"],
            "ok 1 - plain",
        )
        try_followed(tree, commands)
        write_a_plugin(tree)
        return 1 if tree.failed else 0


if __name__ == "__main__":
    sys.exit(main())
