"""Travels of time_machine in a recording: within it, before it, and beyond its end."""

import sys
import time
import uuid
from datetime import datetime

sys.path.append("TESTS")
from ambient.fakes import Recorder, listening, twice

assert "time_machine" not in sys.modules
recorder = Recorder()
with listening(recorder):
    import time_machine

    assert not time_machine.escape_hatch.is_travelling()
    with time_machine.travel(0, tick=False):
        assert time_machine.escape_hatch.is_travelling()
        assert time.time() == 0.0 and datetime.now().year == 1970
        assert uuid.uuid1().time == 0x01B21DD213814000
        reads = len(recorder.read)
    assert datetime.now().year > 2000
    assert not time_machine.escape_hatch.is_travelling()
assert uuid._generate_time_safe is not None  # type: ignore[attr-defined]
assert not time_machine.traveller_stack


def ticking():
    with time_machine.travel(1_000_000, tick=True):
        first = datetime.now()
        for _ in range(1000):
            pass
        return first, datetime.now(), time.time_ns()


recorded, played, _, player = twice(ticking)
assert recorded == played, (recorded, played)
assert recorded[0] < recorded[1] and recorded[0].year == 1970

traveller = time_machine.travel(5, tick=False)
traveller.start()
with listening(Recorder()):
    assert time.time() == 5.0
assert time.time() == 5.0, "a travel that was there before stays"
traveller.stop()
assert datetime.now().year > 2000
session = listening(recorder)
session.__enter__()
traveller = time_machine.travel(5, tick=False)
traveller.start()
session.__exit__(None, None, None)
assert time.time() == 5.0, "one that began inside outlives the session"
traveller.stop()
assert datetime.now().year > 2000
print("fine")
