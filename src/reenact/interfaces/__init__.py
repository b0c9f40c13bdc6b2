"""Clients of the public interface, which people and other programs use: the command line and its completion."""
