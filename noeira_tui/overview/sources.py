"""Datasets on the service as addresses, for those who look at them; jobs read them too, so they are made there."""

from __future__ import annotations

from noeira_tui.jobs.addresses import DatasetResolver, RecordingResolver, resolvers

__all__ = ["DatasetResolver", "RecordingResolver", "resolvers"]
