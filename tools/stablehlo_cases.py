#!/usr/bin/env python3
"""stablehlo_cases.py - what becomes of the programs in StableHLO's own tests.

    tools/stablehlo_cases.py build/hloscope path/to/stablehlo [--show] [FILE-PART...]

Takes the path of a checkout of openxla/stablehlo (nothing of it is kept here). Every function of every stablehlo/tests/**/*.mlir is made the entry of its
module and converted to HLO text, which is converted once more. A case is
  taken       imported, and its HLO text reads back the same
  refused     bad input by the test itself ("expected-error"), and an error here
  unsupported UNIMPLEMENTED by name: dynamic shapes, quantised types, other dialects, what needs more than one device, ...
  lenient     bad input by the test itself, but imported here: what is wrong with it does not matter to what it computes, as a rule
  WRONG       refused as bad, though the test takes it; or what was written does not read back
*.mlir.bc files (portable artifacts of every version) are only read: `container` says how many were.
Exit code 1 when there are WRONG ones."""
import argparse
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FUNCTION = re.compile(r'(?m)^[ \t]*(func\.func|"func\.func"|"vhlo\.func_v1"|vhlo\.func_v1)(\s+(?:public|private|nested))?\s+@("[^"]*"|[\w$.-]+)')


CHECK = re.compile(r'^[ \t]*"?check\.(?:[^:]|:(?!\s*(?:tensor|\()))*:[^\n]*\n', re.M)
TOKEN = re.compile(r'//[^\n]*|"(?:[^"\\\\]|\\\\.)*"|[{}()]')


def end_of_function(text, at):
    """Where the function that starts at `at` ends: after its body, or after its line when it has none."""
    depth, parens = 0, 0
    for m in TOKEN.finditer(text, at):
        token = m.group()
        parens += (token == '(') - (token == ')')
        if token in '{}':
            depth += 1 if token == '{' else -1
            # The attributes in "attributes {...} {" and of arguments are braces before the body's.
            if depth == 0 and parens == 0 and not re.match(r'\s*[{>,]', text[m.end():]):
                return m.end()
    return len(text)


def functions_of(piece):
    """[(name, begin, end)] and the aliases that the piece defines."""
    found, at = [], 0
    for m in FUNCTION.finditer(piece):
        if m.start() < at:
            continue
        at = end_of_function(piece, m.start())
        found.append((m.group(3), m.start(), at, m))
    outside = ''.join(piece[a:b] + '\n' for a, b in zip([0] + [f[2] for f in found], [f[1] for f in found] + [len(piece)]))
    aliases, is_open = [], False
    for line in outside.split('\n'):
        if is_open or re.match(r'[#!]\w', line):
            aliases.append(line)
            is_open = '\n'.join(aliases).count('<{') > '\n'.join(aliases).count('}>')
    return found, '\n'.join(aliases)


def module_of(functions, aliases, piece, index):
    """The function and what it calls, as a module whose @main it is."""
    names = {name: i for i, (name, *_) in enumerate(functions)}
    needed, todo = {index}, [index]
    while todo:
        _, begin, end, _ = functions[todo.pop()]
        for name in re.findall(r'@("[^"]*"|[\w$.-]+)', piece[begin:end]):
            if name in names and names[name] not in needed:
                needed.add(names[name])
                todo.append(names[name])
    texts = []
    for i in sorted(needed):
        name, begin, end, m = functions[i]
        # The interpreter's tests compare in the program itself, with operations of another dialect; the numbers are not looked at here.
        text = piece[begin:end]
        if i == index:
            text = piece[begin:m.start(3)] + '@main' + piece[m.end(3):end] if name != 'main' else text
            text = text.replace('@@main', '@main')
        texts.append(CHECK.sub('', text))
    return aliases + '\n' + '\n'.join(texts) + '\n'


def convert(hloscope, path, out):
    return subprocess.run([hloscope, 'convert', str(path), '-o', str(out), '--to', 'hlo', '-q'], capture_output=True, text=True, errors='replace')


def verdict_of(hloscope, text, bad, folder):
    first, second, third = (folder / n for n in ('a.mlir', 'b.hlo', 'c.hlo'))
    first.write_text(text)
    result = convert(hloscope, first, second)
    reason = ' '.join(result.stderr.split()).replace(str(folder) + '/', '')
    if result.returncode < 0:
        return 'CRASH', str(result.returncode)
    if result.returncode == 3:
        return 'unsupported', reason
    if result.returncode:
        return ('refused' if bad else 'WRONG'), reason
    again = convert(hloscope, second, third)
    if again.returncode or second.read_text() != third.read_text():
        return 'WRONG', 'does not read back: ' + ' '.join(again.stderr.split())
    return ('lenient' if bad else 'taken'), ''


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('hloscope')
    arguments.add_argument('checkout')
    arguments.add_argument('parts', nargs='*')
    arguments.add_argument('--show', action='store_true', help='print each case that is WRONG or unsupported')
    options = arguments.parse_args()
    counts, reasons = collections.Counter(), collections.Counter()
    tests = Path(options.checkout) / 'stablehlo' / 'tests'
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in sorted(tests.rglob('*.mlir')):
            relative = str(path.relative_to(tests))
            if options.parts and not any(part in relative for part in options.parts):
                continue
            for piece in re.split(r'^// -----.*$', path.read_text(errors='replace'), flags=re.M):
                functions, aliases = functions_of(piece)
                for at, (name, begin, end, _) in enumerate(functions):
                    before = piece[functions[at - 1][2] if at else 0:begin]
                    bad = 'expected-error' in piece[begin:end] or 'expected-error' in before
                    text = module_of(functions, aliases, piece, at)
                    verdict, reason = verdict_of(options.hloscope, text, bad, folder)
                    counts[verdict] += 1
                    if verdict in ('WRONG', 'CRASH', 'unsupported'):
                        if options.show or verdict == 'CRASH':
                            print(f'{verdict:11} {relative} @{name}: {reason[:260]}', flush=True)
                        if verdict == 'unsupported':
                            reasons[re.sub(r' -->.*', '', reason)[:100]] += 1
        for path in sorted(tests.rglob('*.mlir.bc')):
            if options.parts and not any(part in str(path) for part in options.parts):
                continue
            result = convert(options.hloscope, path, folder / 'out')
            read = result.returncode == 0 or 'no function @main' in result.stderr
            bad = 'invalid' in path.name
            counts['container' if read else 'refused' if bad and result.returncode > 0 else 'CONTAINER'] += 1
            if not read and not bad:
                print(f'CONTAINER   {path.relative_to(tests)}: {" ".join(result.stderr.split())[:300]}', flush=True)
    for reason, count in reasons.most_common(40):
        print(f'{count:6}  {reason}')
    print(', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items())))
    return 1 if counts['WRONG'] or counts['CRASH'] or counts['CONTAINER'] else 0


if __name__ == '__main__':
    sys.exit(main())
