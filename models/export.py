"""Exports every program of this folder as HLO text (before optimisation) and StableHLO text, and writes manifest.json.

  python models/export.py            all programs
  python models/export.py tiny_scan  these only (the manifest keeps the others' rows)

Needs the versions that requirements.txt pins. The same versions give the same bytes on any machine.
"""
import argparse
import gzip
import json
import pathlib

import jax
from jax._src import source_info_util
from jaxlib import xla_client

import graphs
import laplace
import program as program_module
import resnet50
import transformer

FOLDER = pathlib.Path(__file__).resolve().parent
COMPRESS_OVER_BYTES = 100_000


def programs():
    """All programs, in the manifest's order."""
    return graphs.programs() + resnet50.programs() + laplace.programs() + transformer.programs()


def hlo_text(lowered):
    """What XLA gets to compile, complete: metadata and all constants."""
    options = xla_client.hlo.HloPrintOptions()
    options.print_large_constants = True
    options.print_metadata = True
    return lowered.compiler_ir("hlo").as_hlo_module().to_string(options)


def write(stem, suffix, text):
    """Writes FOLDER/stem.suffix, with .gz when it is large. Returns the name of the file, relative to FOLDER."""
    data = text.encode()
    plain, packed = FOLDER / f"{stem}.{suffix}", FOLDER / f"{stem}.{suffix}.gz"
    target, stale = (packed, plain) if len(data) > COMPRESS_OVER_BYTES else (plain, packed)
    stale.unlink(missing_ok=True)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.compress(data, 9, mtime=0) if target is packed else data)
    return target.relative_to(FOLDER).as_posix()


def export(program):
    """Writes the program's two files; returns its row of the manifest."""
    lowered = program.lower()
    stem = f"patterns/{program.name}" if program.pattern in graphs.PATTERNS else program.name
    cost = lowered.cost_analysis()
    arguments = []
    for name, role, leaf in program.leaves():
        init = {"kind": leaf.init}
        if leaf.init not in ("zeros", "ones"):
            init["scale"] = leaf.scale
        arguments.append({"name": name, "role": role, "shape": list(leaf.shape), "dtype": leaf.dtype, "init": init})
    outputs = [{"name": "result" + jax.tree_util.keystr(path), "shape": list(leaf.shape), "dtype": str(leaf.dtype)}
               for path, leaf in jax.tree_util.tree_flatten_with_path(lowered.out_info)[0]]
    return {
        "name": program.name,
        "graph": program.graph,
        "pattern": program.pattern,
        "about": program.about,
        "hlo": write(stem, "hlo", hlo_text(lowered)),
        "stablehlo": write(stem, "mlir", lowered.as_text(debug_info=True)),
        "runs": program.runs,
        "layer_count": program.layer_count,
        "parameter_count": program.parameter_count(),
        "flops": cost["flops"],
        "transcendentals": cost.get("transcendentals", 0.0),
        "bytes_accessed": cost["bytes accessed"],
        "arguments": arguments,
        "outputs": outputs,
    }


def print_manifest(rows):
    """JSON with one line for each argument and output: a change of one shows as one line."""
    text = json.dumps({"jax": jax.__version__, "programs": "ROWS"}, indent=1)
    blocks = []
    for row in rows:
        lines = []
        for key, value in row.items():
            if isinstance(value, list):
                lines.append(f'   "{key}": [\n    ' + ",\n    ".join(json.dumps(item) for item in value) + "\n   ]")
            else:
                lines.append(f'   "{key}": {json.dumps(value)}')
        blocks.append("  {\n" + ",\n".join(lines) + "\n  }")
    return text.replace('"ROWS"', "[\n" + ",\n".join(blocks) + "\n ]") + "\n"


def main():
    parser = argparse.ArgumentParser(description="Export the programs that hloscope is measured on.")
    parser.add_argument("names", nargs="*", help="programs to export; none means all")
    options = parser.parse_args()
    everything = programs()
    unknown = set(options.names) - {program.name for program in everything}
    if unknown:
        parser.error("no such program: " + ", ".join(sorted(unknown)))

    # Source locations name the models' files, without folders: an export depends neither on where the repository is nor on this script.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    for file in (__file__, program_module.__file__):
        source_info_util.register_exclusion(file)
    manifest = FOLDER / "manifest.json"
    rows = {row["name"]: row for row in json.loads(manifest.read_text())["programs"]} if manifest.exists() else {}
    for program in everything:
        if not options.names or program.name in options.names:
            rows[program.name] = export(program)
            print(program.name, flush=True)
    manifest.write_text(print_manifest([rows[program.name] for program in everything if program.name in rows]))


if __name__ == "__main__":
    main()
