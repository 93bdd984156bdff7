"""Synthetic episodes that resemble real ones: smooth joint trajectories of an arm with a gripper, seen by cameras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Picture = NDArray[np.uint8]

HEIGHT, WIDTH = 96, 128

_STATE_FOLLOWS = 0.35
_ENCODER_NOISE = 0.05
_HOME_GRIPPER = 2.0


@dataclass(frozen=True)
class Robot:
    """What is recorded: joint names, cameras and the task, and how an episode of it moves and looks.

    `waypoints` gives the joint positions an episode passes, shape (waypoints, joints); `draw` one camera's picture for
    a state, shape (96, 128, 3).
    """

    type: str
    joints: tuple[str, ...]
    cameras: tuple[str, ...]
    task: str
    waypoints: Callable[[np.random.Generator], Vector]
    draw: Callable[[str, Vector], Picture]


@dataclass(frozen=True)
class Motion:
    """One episode's joints over time: `states` and `actions` of shape (frames, joints), float32."""

    states: Vector
    actions: Vector


def make_motion(robot: Robot, frames: int, seed: int) -> Motion:
    """Minimum-jerk moves between the robot's waypoints; the state follows the action as a servo does.

    The position along a move is 10 t^3 - 15 t^4 + 6 t^5 (Flash and Hogan, J. Neurosci. 5(7), 1985).
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    points = robot.waypoints(rng).astype(np.float64)
    along = np.linspace(0, len(points) - 1, frames)
    leg = np.minimum(along.astype(np.int64), len(points) - 2)
    t = (along - leg)[:, None]
    actions = points[leg] + (points[leg + 1] - points[leg]) * (10 * t**3 - 15 * t**4 + 6 * t**5)
    states = np.empty_like(actions)
    state = actions[0]
    for frame, action in enumerate(actions):
        state = state + _STATE_FOLLOWS * (action - state)
        states[frame] = state
    states += rng.normal(0, _ENCODER_NOISE, states.shape)
    return Motion(states.astype(np.float32), actions.astype(np.float32))


def _reach_and_place(rng: np.random.Generator) -> Vector:
    """Home, above the cube, down, grasp, lift, above the bowl, release, home; degrees, the gripper in percent."""
    import numpy as np

    cube, bowl = rng.uniform(-45, -10), rng.uniform(15, 50)
    depth = rng.uniform(20, 40)
    home = [0.0, -60.0, 70.0, 20.0, 0.0, _HOME_GRIPPER]
    points = [
        home,
        [cube, -20, 50, 35, cube / 2, 60],
        [cube, depth, 25, 60, cube / 2, 60],
        [cube, depth, 25, 60, cube / 2, 12],
        [cube, -25, 55, 35, 0, 12],
        [bowl, -15, 50, 40, bowl / 3, 12],
        [bowl, -15, 50, 40, bowl / 3, 65],
        home,
    ]
    return np.asarray(points, np.float32) + rng.normal(0, 1.5, (len(points), 6)).astype(np.float32)


def _push_to_target(rng: np.random.Generator) -> Vector:
    """Where the pusher goes, in the 512 by 512 plane of PushT: round the block, then towards the target."""
    import numpy as np

    start = rng.uniform(100, 400, 2)
    around = start + rng.normal(0, 60, (4, 2))
    points = np.vstack([rng.uniform(40, 470, 2), around, [256, 300]])
    inside: Vector = np.clip(points, 15, 497).astype(np.float32)
    return inside


def _disc(picture: Picture, x: float, y: float, radius: float, colour: tuple[int, int, int]) -> None:
    import numpy as np

    rows, columns = np.ogrid[:HEIGHT, :WIDTH]
    picture[(columns - x) ** 2 + (rows - y) ** 2 <= radius**2] = colour


def _box(picture: Picture, x: float, y: float, half: float, colour: tuple[int, int, int], tall: float = 1) -> None:
    """A box `half` to each side of (x, y) and `tall` times that up and down."""
    top, left = max(0, int(y - half * tall)), max(0, int(x - half))
    picture[top : max(top, int(y + half * tall)), left : max(left, int(x + half))] = colour


def _table() -> Picture:
    import numpy as np

    shade = np.linspace(90, 200, HEIGHT)[:, None] + np.linspace(-20, 20, WIDTH)[None, :]
    return np.stack([shade, shade * 0.9, shade * 0.75], axis=-1).clip(0, 255).astype(np.uint8)


def _draw_arm(camera: str, state: Vector) -> Picture:
    pan, lift, elbow, _, roll, gripper = (float(value) for value in state)
    picture = _table()
    if camera.endswith("wrist"):
        gap = 6 + gripper * 0.45
        _box(picture, WIDTH / 2 + roll, HEIGHT * 0.4 + (60 - elbow) * 0.4, 9 + (90 - elbow) * 0.15, (200, 60, 50))
        _box(picture, WIDTH / 2 - gap, HEIGHT - 12, 8, (40, 40, 45))
        _box(picture, WIDTH / 2 + gap, HEIGHT - 12, 8, (40, 40, 45))
        return picture
    x, y = WIDTH / 2 + pan * 0.9, HEIGHT * 0.45 + lift * 0.7
    _disc(picture, WIDTH * 0.78, HEIGHT * 0.72, 11, (70, 110, 170))
    # One state does not tell where a free cube lies: over the bowl it has just been dropped, else it waits.
    is_held = _HOME_GRIPPER + 4 < gripper < 30
    free_x, free_y = (WIDTH * 0.78, HEIGHT * 0.72) if pan > 10 else (WIDTH * 0.3, HEIGHT * 0.78)
    _box(picture, x if is_held else free_x, y + 8 if is_held else free_y, 6, (200, 60, 50))
    _disc(picture, x, y, 5 + gripper * 0.05, (40, 40, 45))
    return picture


def _draw_push(camera: str, state: Vector) -> Picture:
    picture = _table()
    x, y = float(state[0]) / 512 * WIDTH, float(state[1]) / 512 * HEIGHT
    _box(picture, WIDTH / 2, HEIGHT * 0.45, 16, (120, 170, 120), tall=0.25)
    _box(picture, WIDTH / 2, HEIGHT * 0.58, 4, (120, 170, 120), tall=2.5)
    _disc(picture, x, y, 4, (60, 90, 200))
    return picture


SO101 = Robot(
    "so101_follower",
    tuple(
        f"{joint}.pos"
        for joint in ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
    ),
    ("observation.images.front", "observation.images.wrist"),
    "put the red cube into the bowl",
    _reach_and_place,
    _draw_arm,
)
PUSHT = Robot("pusht", ("x", "y"), ("observation.image",), "push the T onto the target", _push_to_target, _draw_push)
