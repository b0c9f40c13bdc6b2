"""A page through the standard library."""

import os
from urllib.request import urlopen

with urlopen(f"{os.environ['WORLD']}/page") as response:
    print(response.read())
