"""What an episode can be blamed for: each flag, its threshold, and its reason in words."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Metrics:
    """An episode's metrics by their names; None where there is nothing to measure. Units are with each definition."""

    dead_fraction: float | None = None
    ldlj: float | None = None
    sparc: float | None = None
    gripper_chatter_rate: float | None = None
    joint_path_length: float | None = None
    overall_saturation: float | None = None
    static_fraction: float | None = None
    mean_entropy: float | None = None
    psd_high_fraction: float | None = None
    state_action_consistency: float | None = None
    jitter_ratio: float | None = None


METRICS: tuple[str, ...] = tuple(field.name for field in fields(Metrics))
"""The names of the metrics, in the order in which they are told."""


@dataclass(frozen=True)
class Flag:
    """One kind of blame. `metric` and `threshold` are None for what is not measured.

    `above` says which side of the threshold is bad, `is_share` that the metric is told in percent.
    """

    name: str
    metric: str | None
    threshold: float | None
    meaning: str
    above: bool = True
    is_share: bool = False

    def raised(self, metrics: Metrics) -> bool:
        """Whether the metrics are on the bad side of the threshold."""
        value = self.value(metrics)
        if value is None or self.threshold is None:
            return False
        return value > self.threshold if self.above else value < self.threshold

    def value(self, metrics: Metrics) -> float | None:
        """The measured value that decides about the flag."""
        return getattr(metrics, self.metric) if self.metric else None

    def reason(self, metrics: Metrics) -> str:
        """Why the flag is up, in words: "ldlj −27.1 is below −25: movements are jerky"."""
        value = self.value(metrics)
        if value is None or self.threshold is None:
            return self.meaning
        side = "above" if self.above else "below"
        limit = self._shown(self.threshold, 4)
        # As many digits as it takes to see that it is beyond the limit.
        told = (self._shown(value, digits) for digits in (4, 7, 17))
        shown = next((text for text in told if text != limit), limit)
        return f"{self.metric} {shown} is {side} {limit}: {self.meaning}"

    def _shown(self, number: float, digits: int) -> str:
        text = f"{100 * number:.{digits}g} %" if self.is_share else f"{number:.{digits}g}"
        return text.replace("-", "−")


_ALL = (
    Flag("nan_in_actions", None, None, "the actions have NaN or infinite values; they were scored as 0"),
    Flag("nan_in_states", None, None, "the state has NaN or infinite values; they were scored as 0"),
    Flag("dead_actions", "dead_fraction", 0.10, "actions stay at zero or at the first one", is_share=True),
    Flag("jerky", "ldlj", -25.0, "movements are jerky", above=False),
    Flag("gripper_chatter", "gripper_chatter_rate", 2.0, "the gripper opens and closes more than twice a second"),
    Flag("timestamp_jitter", "jitter_ratio", 0.1, "frames come at uneven times"),
    Flag("saturated", "overall_saturation", 0.30, "actions are often at the ends of their range", is_share=True),
    Flag("mostly_static", "static_fraction", 0.50, "the robot is told to do next to nothing", is_share=True),
    Flag("low_entropy", "mean_entropy", 0.20, "actions repeat themselves", above=False),
    Flag("high_entropy", "mean_entropy", 0.95, "actions look random"),
    Flag("psd_high_band_chatter", "psd_high_fraction", 0.20, "actions tremble faster than 8 Hz", is_share=True),
)

FLAGS: dict[str, Flag] = {flag.name: flag for flag in _ALL}
"""Every flag by its name, in the order in which they are told."""
