"""Two connections, each heard by one thread while another speaks."""

import os
import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

WHERE = os.environ["WHERE"]


def realtime(name):
    with connect(f"{WHERE}/{name}", legacy=True) as ws:

        def hear():
            try:
                for message in ws:
                    print(name, "heard", message)
            except ConnectionClosed as closed:
                print(name, closed.rcvd.code)

        hearing = threading.Thread(target=hear)
        hearing.start()
        for text in ("slow", "a", "several", "b", "close"):
            ws.send(text)
        hearing.join()


both = [threading.Thread(target=realtime, args=(name,)) for name in ("one", "two")]
for each in both:
    each.start()
for each in both:
    each.join()
