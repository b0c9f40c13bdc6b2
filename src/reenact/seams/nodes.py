"""Nodes: which node of a graph (LangGraph) is at work; the names of its strands are those of the framework's own code.

The node is noted for readers of the run only: it takes no part in names of lanes or in comparisons.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from reenact.facts.interruptions import let_through

_LONGEST = 80


def node_now() -> str:
    """The name of the node whose code runs; empty without one. Some 0.2 µs where no graph has been imported.

    LangGraph passes the name to a node's calls in a context variable of langchain-core.
    """
    module = sys.modules.get("langchain_core.runnables.config")
    if module is None:
        return ""
    try:
        config = module.var_child_runnable_config.get()
        about = config.get("metadata") if isinstance(config, Mapping) else None
        node = about.get("langgraph_node") if isinstance(about, Mapping) else None
    except Exception as error:  # another version of LangGraph: the strand keeps its own name
        let_through(error)
        return ""
    return node[:_LONGEST] if isinstance(node, str) else ""
