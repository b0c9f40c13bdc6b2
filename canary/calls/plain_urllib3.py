"""A page through urllib3."""

import os

import urllib3

print(urllib3.PoolManager().request("GET", f"{os.environ['WORLD']}/page").json())
