"""A stand-in for the module of langchain-core. See retrievers.py."""


class CallbackManagerForRetrieverRun:
    pass
