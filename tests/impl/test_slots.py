"""Notifications: nothing lost, nothing invented, typed answers, and every form of waiting."""

from __future__ import annotations

import select
import threading
import time

import pytest

import shmem
from tests.impl import programs


def dev(s: shmem.System, i: int = 0) -> shmem.Agent:
    """The agent of a device that is a thread."""
    return s.devices[i].agent  # type: ignore[attr-defined, no-any-return]


def test_send_counts_on_a_counting_platform(threads: shmem.System) -> None:
    for _ in range(3):
        threads.host.send("dev0", 5)
    assert dev(threads).pending(5) == 3
    assert [dev(threads).poll(5) for _ in range(4)] == [True, True, True, False]


def test_send_coalesces_on_a_sticky_platform() -> None:
    with shmem.System(platform="soc", devices=2, agents="threads") as s:
        for _ in range(3):
            s.host.send("dev0", 5)
        dev(s, 1).send("dev0", 5)
        assert dev(s).pending(5) == 1
        assert [dev(s).poll(5) for _ in range(2)] == [True, False]


def test_wait_names_the_sender(threads: shmem.System) -> None:
    dev(threads).send("host", 1)
    assert threads.host.wait(1, timeout=5) == "dev0"


def test_wait_ends_when_the_time_is_over_and_takes_nothing(threads: shmem.System) -> None:
    with pytest.raises(shmem.TimedOut, match="nothing was taken"):
        threads.host.wait(1, timeout=0.01)
    dev(threads).send("host", 1)
    threads.host.wait(1, timeout=0)


def test_wait_any_and_wait_all(threads: shmem.System) -> None:
    d = dev(threads)
    d.send("host", 2)
    assert threads.host.wait_any([1, 2, 3], timeout=5) == 2
    d.send_batch("host", [1, 2])
    with pytest.raises(shmem.TimedOut, match=r"slots \[3\]"):
        threads.host.wait_all([1, 2, 3], timeout=0.01)
    d.send_batch("host", [1, 2, 3])
    threads.host.wait_all([1, 2, 3], timeout=5)


def test_send_batch_is_all_or_nothing(threads: shmem.System) -> None:
    dev(threads).grant(2, ["dev1"])
    with pytest.raises(shmem.NotPermitted):
        threads.host.send_batch("dev0", [1, 2])
    assert dev(threads).pending(1) == 0
    threads.host.send_batch("dev0", [1, 1, 3])
    assert [dev(threads).pending(i) for i in (1, 2, 3)] == [2, 0, 1]


def test_broadcast_reaches_everybody(threads: shmem.System) -> None:
    threads.host.broadcast(["dev0", "dev1"], 8)
    assert [dev(threads, i).poll(8) for i in (0, 1)] == [True, True]


def test_send_needs_the_right_to_the_slot(threads: shmem.System) -> None:
    dev(threads).grant(4, ["dev1"])
    with pytest.raises(shmem.NotPermitted, match="slot 4 of dev0"):
        threads.host.send("dev0", 4)
    dev(threads, 1).send("dev0", 4)
    assert dev(threads).wait(4, timeout=5) == "dev1"
    # A sender that ignores the library and bumps its counter all the same is not heard.
    threads.host.peer("dev0").pair.add(4 * 8, 1)
    assert not dev(threads).poll(4)


@pytest.mark.parametrize("slot", [-1, 256, 10**9])
def test_slots_that_do_not_exist(threads: shmem.System, slot: int) -> None:
    for call in (
        lambda: threads.host.send("dev0", slot),
        lambda: threads.host.wait(slot, timeout=0),
        lambda: threads.host.poll(slot),
        lambda: threads.host.grant(slot, []),
    ):
        with pytest.raises(shmem.InvalidArgument):
            call()


def test_wait_lets_other_threads_of_the_process_run(system: shmem.System) -> None:
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.raises(shmem.TimedOut):
        system.host.wait(1, timeout=0.3)
    stop.set()
    thread.join()
    assert len(ticks) > 10


def test_a_round_trip_of_many_notifications_is_exact(system: shmem.System) -> None:
    task = system.devices[0].run(programs.echo, 3000)
    for _ in range(3000):
        system.host.send("dev0", 1)
        system.host.wait(2, timeout=20)
    task.result(10)
    assert not system.host.poll(2)


def test_no_notification_is_lost_under_contention(system: shmem.System) -> None:
    count = 20_000
    tasks = [d.run(programs.send_many, "host", 3, count) for d in system.devices]
    for k in range(2 * count):
        try:
            system.host.wait(3, timeout=0.0001 if k % 7 == 0 else 20)
        except shmem.TimedOut:
            system.host.wait(3, timeout=20)
    for task in tasks:
        task.result(10)
    assert not system.host.poll(3)


def test_a_callback_fires_for_each_notification_also_for_earlier_ones(threads: shmem.System) -> None:
    heard: list[str] = []
    done = threading.Event()
    dev(threads).send("host", 6)

    def hear(sender: str) -> None:
        heard.append(sender)
        if len(heard) == 3:
            done.set()

    threads.host.on(6, hear)
    dev(threads).send("host", 6)
    dev(threads, 1).send("host", 6)
    assert done.wait(10)
    assert sorted(heard) == ["dev0", "dev0", "dev1"]


def test_an_error_in_a_callback_is_raised_at_the_next_call(threads: shmem.System) -> None:
    def bad(sender: str) -> None:
        raise KeyError("on purpose")

    threads.host.on(6, bad)
    dev(threads).send("host", 6)
    with pytest.raises(shmem.DeviceError, match="on purpose"):
        threads.host.wait(1, timeout=10)


def test_fileno_is_readable_while_the_slot_holds_something(threads: shmem.System) -> None:
    dev(threads).send("host", 6, 2)
    fd = threads.host.fileno(6)

    def readable(seconds: float) -> bool:
        return bool(select.select([fd], [], [], seconds)[0])

    assert readable(10)
    assert threads.host.poll(6)
    assert readable(0)
    threads.host.wait(6, timeout=1)
    assert not readable(0.05)
    for _ in range(50):
        dev(threads).send("host", 6)
        assert readable(10)
        threads.host.wait(6, timeout=1)
        assert not readable(0)


def test_an_error_on_a_device_is_never_lost(system: shmem.System) -> None:
    task = system.devices[0].run(programs.fail)
    with pytest.raises(shmem.DeviceError, match="on purpose"):
        system.host.wait(1, timeout=10)
    with pytest.raises(LookupError, match="on purpose"):
        task.result(10)
    assert system.devices[0].run(programs.nothing).result(10) == "dev0"


def test_an_error_that_nobody_asked_for_is_raised_at_the_end() -> None:
    with pytest.raises(shmem.DeviceError, match="on purpose"), shmem.System(devices=1) as s:  # noqa: PT012
        task = s.devices[0].run(programs.fail)
        while not task.done():
            time.sleep(0.01)
