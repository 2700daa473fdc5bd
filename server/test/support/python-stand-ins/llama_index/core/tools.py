"""A stand-in for the module of llama-index-core, which Debian does not package.

It has only the names that examples/llamaindex-tool.py uses, with the arguments and results of the real ones, so that the
example runs in CI. It does not show that the example works with a given release of LlamaIndex.
"""

from dataclasses import dataclass
from typing import Any, Callable


@dataclass
class ToolOutput:
    content: str
    tool_name: str


class FunctionTool:
    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    @classmethod
    def from_defaults(cls, fn: Callable[..., Any]) -> "FunctionTool":
        return cls(fn)

    def call(self, **arguments: Any) -> ToolOutput:
        return ToolOutput(content=str(self._fn(**arguments)), tool_name=self._fn.__name__)
