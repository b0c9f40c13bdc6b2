"""Clients of the public interface: what people and other programs touch."""
