"""A stand-in for the module of langchain-core, which Debian does not package.

It has only the names that examples/langchain-retriever.py uses, with the arguments and results of the real ones, so that
the example runs in CI. It does not show that the example works with a given release of LangChain.
"""

from typing import Any, List

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document


class BaseRetriever:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def invoke(self, input: str) -> List[Document]:
        return self._get_relevant_documents(input, run_manager=CallbackManagerForRetrieverRun())

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> List[Document]:
        raise NotImplementedError
