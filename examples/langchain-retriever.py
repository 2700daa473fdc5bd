"""A retriever for LangChain. Requires langchain-core and pennyblack."""

import sys
from typing import List

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from pennyblack import Pennyblack


class PennyblackRetriever(BaseRetriever):
    """Raises when the search fails. A chain that continued without documents would answer from memory."""

    client: Pennyblack
    n: int = 5

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> List[Document]:
        answer = self.client.search(query, n=self.n)
        return [
            Document(
                id=result.url,
                page_content=result.snippet,
                metadata={"title": result.title, "source": result.url, "request_id": answer.meta.request_id},
            )
            for result in answer.results
        ]


if __name__ == "__main__":
    # The key and the base URL come from the environment.
    retriever = PennyblackRetriever(client=Pennyblack())
    for document in retriever.invoke(sys.argv[1] if len(sys.argv) > 1 else "postgresql advisory locks"):
        print(document.metadata["title"], document.metadata["source"], sep="\n  ")
