"""A stand-in for the module of langchain-core. See retrievers.py."""

from dataclasses import dataclass, field
from typing import Any, Dict, Optional


@dataclass
class Document:
    page_content: str
    id: Optional[str] = None
    metadata: Dict[str, Any] = field(default_factory=dict)
