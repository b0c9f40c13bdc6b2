"""Marked tests whose bodies and fixtures connect to a server."""

import os
import socket
import subprocess
import sys

import pytest

HOST, PORT = os.environ["WORLD"].removeprefix("http://").split(":")


def reach():
    socket.create_connection((HOST, int(PORT)), timeout=5).close()


@pytest.fixture
def prepared():
    reach()


@pytest.mark.reenact("refund-loop")
def test_reaches(prepared):
    reach()


@pytest.mark.reenact("refund-loop")
def test_reaches_and_does_not_tell():
    try:
        reach()
    except OSError:
        pytest.skip("no network")


@pytest.mark.reenact("refund-loop")
def test_reaches_nothing():
    left, right = socket.socketpair()
    left.close(), right.close()
    assert subprocess.run([sys.executable, "-c", ""]).returncode == 0


def test_afterwards():
    reach()
