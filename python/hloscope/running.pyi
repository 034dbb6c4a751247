from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["run", "Run", "FallbackWarning"]

class FallbackWarning(UserWarning): ...

class Run:
    device: str
    wanted: str
    degraded: bool
    remedy: str | None
    warning: str | None
    attempts: int
    compile_seconds: float | None
    seconds: float | None
    document: dict[str, Any]
    @property
    def outputs(self) -> list[dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...

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
