"""How a process is entered: what its parent hands down, and what happens in it before its first line.

The parent (``parent``) starts any program with a directory of ours in front on ``PYTHONPATH``; in it lies a
``sitecustomize`` module, which every Python interpreter imports while it starts. That module calls ``child.activate``,
which begins the recording or the replay and then removes every trace: the program sees the environment and the import
path that it would have seen, and its own ``sitecustomize`` runs as always.

What is handed down lies in a private directory that ``REENACT_BOOT`` names: ``instructions.json`` from the parent;
``claimed``, ``ready`` or ``failed`` from the child, so that the parent can say when nothing was recorded; ``result``
from whoever was begun, if there is one.
"""
