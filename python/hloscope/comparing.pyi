from typing import Any

__all__ = [
    "compare",
    "faster",
    "same_numbers",
    "passes",
    "blame",
    "report",
    "Comparison",
    "Blame",
    "Report",
]

class Comparison:
    verdict: str
    ratio: float
    low: float | None
    high: float | None
    first_seconds: float
    second_seconds: float
    rounds: int
    more_runs: int | None
    def _repr_html_(self) -> str: ...

class Claim:
    holds: bool
    reason: str
    def __bool__(self) -> bool: ...

class Passes(dict[str, Any]):
    def changed(self) -> list[dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...

class Blame:
    verdict: str
    culprit: str | None
    headline: str
    document: dict[str, Any]
    def __bool__(self) -> bool: ...
    def _repr_html_(self) -> str: ...

class Report:
    html: str
    def save(self, path: str) -> None: ...
    def _repr_html_(self) -> str: ...

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
