"""Two who follow one download, the hash and a reader: neither may take the other's wish for its own."""

from __future__ import annotations

import threading

from noeira_tui.transfer.plan import Plan

MIB = 1 << 20


def test_a_follower_far_ahead_is_not_woken_into_an_early_end_by_one_behind() -> None:
    size = 16 * MIB
    plan = Plan(size, ((0, 4 * MIB),))
    answers: dict[int, int] = {}

    def follow(offset: int) -> None:
        answers[offset] = plan.front_beyond(offset)

    ahead = threading.Thread(target=follow, args=(4 * MIB,), daemon=True)
    ahead.start()
    behind = threading.Thread(target=follow, args=(3 * MIB + MIB // 2,), daemon=True)
    behind.start()
    piece = plan.take(1)
    assert piece is not None
    plan.wrote(piece, MIB // 2)
    behind.join(5)
    assert answers.get(3 * MIB + MIB // 2) == 4 * MIB + MIB // 2
    assert 4 * MIB not in answers, "half a step is not worth waking for, and would look like the end"
    plan.wrote(piece, MIB)
    ahead.join(5)
    assert answers[4 * MIB] == 5 * MIB + MIB // 2
    plan.stop()
