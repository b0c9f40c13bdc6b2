"""A writer without a thread, for runs that are not read from a disk while they last: it writes when a caller waits for
it.

For a run that is judged and thrown away, a thread costs more than all its writing.
"""

from __future__ import annotations

import _thread

from reenact.recording.writer import QUEUE_BYTES, Receipt, Writer
from reenact.seams import lanes


class UnthreadedWriter(Writer):
    """Drains the queue in the calling thread: at a receipt, at a flush, when the queue is long, and at the end."""

    def _start(self) -> None:
        self._turn = _thread.RLock()  # a signal handler may ask for a receipt while its own thread writes
        self._writing = False

    def receipt(self, *, durable: bool = False, in_place: bool = False) -> Receipt:
        """See ``Writer``. The receipt is settled when this returns. A signal handler that has interrupted the
        writer gets a receipt that says *not kept*, because the handler would wait for its own thread."""
        receipt = super().receipt(durable=durable, in_place=in_place)
        self._write_up()
        if not receipt.done:
            receipt.settle(False)
        return receipt

    def flush(self, timeout_s: float = 10.0, *, durable: bool = False) -> bool:
        """See ``Writer``. Idle work is done here too: this writer is never idle."""
        receipt = self.receipt(durable=durable)
        while self._some_idle_work():
            self._write_up()
        return receipt.kept

    def close(self, timeout_s: float = 30.0) -> None:
        """Write the rest, and release the log."""
        self._closing = True
        with self._turn, lanes.inside(None):
            self._finish()

    def _ring(self) -> None:
        """Do nothing: there is no thread to wake."""

    def _account(self, size: int) -> None:
        with self._bytes_lock:
            self._bytes += size
            full = self._bytes > QUEUE_BYTES
        if full:
            self._write_up()

    def _write_up(self) -> None:
        """Write all queued records, unless a caller on this thread's stack is already doing so."""
        with self._turn:
            if self._writing or self._over:
                return
            self._writing = True
            try:
                with lanes.inside(None):
                    while self._queue and self._drain():
                        pass
            finally:
                self._writing = False
