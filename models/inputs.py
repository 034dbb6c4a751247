"""hloscope.inputs, for the scripts of this folder: the numbers that every program is fed with when nobody gives it data."""
import importlib.util
import pathlib

_path = pathlib.Path(__file__).resolve().parent.parent / "python" / "hloscope" / "inputs.py"
_spec = importlib.util.spec_from_file_location("hloscope_inputs", _path)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
TYPES, HLO_NAMES, BITS, hash_bits, fill = _module.TYPES, _module.HLO_NAMES, _module.BITS, _module.hash_bits, _module.fill
