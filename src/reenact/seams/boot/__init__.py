"""The start of a process: the instructions of its parent, and the work before its first line.

The parent (``parent``) starts any program with a directory of ours first on ``PYTHONPATH``. The directory has a
``sitecustomize`` module, which every Python interpreter imports while it starts. That module calls ``child.activate``,
which begins the recording or the replay and then removes every trace. The program sees the same environment and import
path as without us, and its own ``sitecustomize`` runs as always.

``REENACT_BOOT`` names a private directory with the files: ``instructions.json`` from the parent; ``claimed``, ``ready``
or ``failed`` from the child, so that the parent can report when nothing was recorded; ``result`` from the session, if
it has one.
"""
