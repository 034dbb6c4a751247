from collections.abc import Iterable, Mapping
from typing import Any

from .running import FallbackWarning as FallbackWarning, Run as Run
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

class Comparison:
    verdict: str
    ratio: float
    low: float
    high: float
    first_seconds: float
    second_seconds: float
    rounds: int
    more_runs: int | None
    def _repr_html_(self) -> str: ...

class Blame:
    verdict: str
    culprit: str | None
    headline: str
    document: dict[str, Any]
    def __bool__(self) -> bool: ...
    def _repr_html_(self) -> str: ...

class Claim:
    holds: bool
    reason: str
    def __bool__(self) -> bool: ...

class Passes(dict[str, Any]):
    def changed(self) -> list[dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...

class Report:
    html: str
    def save(self, path: str) -> None: ...
    def _repr_html_(self) -> str: ...

def library_path() -> str: ...
def tracer_path() -> str: ...
def run(
    program: Any,
    *arguments: Any,
    device: str | None = ...,
    fallback: str | Iterable[str] = ...,
    options: Mapping[str, Any] | None = ...,
    seed: int = ...,
    runs: int = ...,
    limit: float | None = ...,
    save_outputs: str | None = ...,
) -> Run: ...
def compare(
    first: Any,
    second: Any,
    *arguments: Any,
    device: str | None = ...,
    rounds: int = ...,
    seed: int = ...,
    margin: float | None = ...,
) -> Comparison: ...
def faster(
    first: Any,
    second: Any,
    *arguments: Any,
    device: str | None = ...,
    rounds: int = ...,
    seed: int = ...,
    margin: float | None = ...,
) -> Claim: ...
def same_numbers(
    first: Any,
    second: Any,
    *arguments: Any,
    device: str | None = ...,
    seed: int = ...,
    tolerance: float = ...,
) -> Claim: ...
def passes(program: Any, *arguments: Any, device: str | None = ...) -> Passes: ...
def blame(
    program: Any,
    *arguments: Any,
    device: str | None = ...,
    symptom: str | None = ...,
    seed: int = ...,
    report: str | None = ...,
) -> Blame: ...
def report(program: Any, *arguments: Any, device: str | None = ...) -> Report: ...
