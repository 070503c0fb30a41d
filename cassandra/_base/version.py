"""The one place that states the version of the distribution."""

__version__ = "4.0.0a1"
