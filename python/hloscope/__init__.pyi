from .comparing import (
    Blame as Blame,
    Claim as Claim,
    Comparison as Comparison,
    Passes as Passes,
    Report as Report,
    blame as blame,
    compare as compare,
    faster as faster,
    passes as passes,
    report as report,
    same_numbers as same_numbers,
)
from .running import FallbackWarning as FallbackWarning, Run as Run, run as run
from .tracing import (
    CATEGORIES as CATEGORIES,
    Capture as Capture,
    Error as Error,
    Table as Table,
    category as category,
    counter as counter,
    instant as instant,
    open_capture as open_capture,
    paused as paused,
    profile as profile,
    record as record,
)

__version__: str

def library_path() -> str: ...
def tracer_path() -> str: ...
