"""python -m hloscope: the command hloscope."""

from ._program import main

main()
