"""Which test and which page stand behind each feature; the page docs/reference/features.md is made from this.

`python -m tests.impl.features` rewrites the page.
"""

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "features.md"
IMPLEMENTATION, DRIVER = "implementation.md", "../how-to/run-a-driver.md"
PLATFORMS, BEST = "platforms-and-hazards.md", "../how-to/best-practice.md"

# feature: test file and test, page
FEATURES: dict[str, tuple[str, str, str]] = {
    "alloc with size, alignment, flags": (
        "test_regions",
        "test_alloc_gives_zeroed_aligned_memory",
        IMPLEMENTATION,
    ),
    "address windows": ("test_regions", "test_alloc_respects_windows_of_the_platform", IMPLEMENTATION),
    "access-control list at map time": (
        "test_regions",
        "test_map_follows_the_access_control_list",
        IMPLEMENTATION,
    ),
    "exclusive and broadcast regions": (
        "test_regions",
        "test_atomics_lose_nothing_between_processes",
        IMPLEMENTATION,
    ),
    "free, reuse, scrub": ("test_regions", "test_a_stale_handle_never_reaches_another", IMPLEMENTATION),
    "free by force, quarantine": ("test_regions", "test_free_by_force_closes_the_handle", IMPLEMENTATION),
    "pooling, coalescing": (
        "test_allocator",
        "test_alloc_and_free_agree_with_an_independent",
        IMPLEMENTATION,
    ),
    "pool of freed regions by size": ("test_pool", "test_the_next_alloc_of_a_size", IMPLEMENTATION),
    "handles carry no type or meaning": ("test_features", "test_a_handle_says_nothing_of", IMPLEMENTATION),
    "several devices": ("test_slots", "test_broadcast_reaches_everybody", IMPLEMENTATION),
    "PCIe and SoC profiles": ("test_emulated", "test_write_back_by_line_overwrites", PLATFORMS),
    "best-practice page": ("test_emulated", "test_the_wrong_protocol_fails", BEST),
    "odd numbers, closed systems": ("test_odd", "test_a_number_that_makes_no_sense", IMPLEMENTATION),
    "typed public API": ("test_client_types", "test_a_client_is_typed", IMPLEMENTATION),
    "quick import, NumPy alone": ("test_features", "test_import_is_quick_and_pulls", IMPLEMENTATION),
    "fragmentation figure": ("test_allocator", "test_fragmentation_is_one_minus_largest", IMPLEMENTATION),
    "compaction when idle, threshold": ("test_regions", "test_an_idle_driver_compacts_above", IMPLEMENTATION),
    "compaction under readers, pins": (
        "test_regions",
        "test_compact_moves_regions_and_keeps",
        IMPLEMENTATION,
    ),
    "three addresses": ("test_regions", "test_alloc_gives_zeroed_aligned_memory", IMPLEMENTATION),
    "device faults": ("test_regions", "test_faults_reach_the_host_by_name", IMPLEMENTATION),
    "unmap": ("test_regions", "test_unmap_is_refused_while_a_view_is_open", IMPLEMENTATION),
    "flush, invalidate on ranges": ("test_regions", "test_flush_of_a_part_of_a_line_names", IMPLEMENTATION),
    "flush, invalidate, fence with caches": (
        "test_emulated",
        "test_write_stays_in_the_cache",
        IMPLEMENTATION,
    ),
    "global barrier, software and multicast": (
        "test_teams",
        "test_global_barrier_is_answered",
        IMPLEMENTATION,
    ),
    "barriers of teams": ("test_teams", "test_barrier_separates_rounds", IMPLEMENTATION),
    "send, wait": ("test_slots", "test_a_round_trip_of_many_notifications_is_exact", IMPLEMENTATION),
    "broadcast": ("test_slots", "test_broadcast_reaches_everybody", IMPLEMENTATION),
    "batch": ("test_slots", "test_send_batch_is_all_or_nothing", IMPLEMENTATION),
    "callbacks (interrupt form)": ("test_slots", "test_a_callback_fires_for_each", IMPLEMENTATION),
    "fileno (polling form)": ("test_slots", "test_fileno_is_readable_while", IMPLEMENTATION),
    "doorbell flavour": ("test_slots", "test_send_counts_on_a_counting_platform", IMPLEMENTATION),
    "event-register flavour": ("test_slots", "test_send_coalesces_on_a_sticky_platform", IMPLEMENTATION),
    "rights on slots": ("test_slots", "test_send_needs_the_right_to_the_slot", IMPLEMENTATION),
    "copy mode, shared mode": ("test_transfer", "test_both_modes_give_the_same_bytes", IMPLEMENTATION),
    "auto by link-cost model": ("test_transfer", "test_auto_follows_the_stated_model", IMPLEMENTATION),
    "copy buffers from the same pool": ("test_transfer", "test_copy_buffers_are_seen", IMPLEMENTATION),
    "request/response channel": ("test_transfer", "test_channel_between_processes", IMPLEMENTATION),
    "several host processes": ("test_kills", "test_kill_of_host_processes", DRIVER),
    "real identity": ("test_hostile", "test_a_stranger_of_another_uid", DRIVER),
    "secure memory: own arena, not dumped": (
        "test_regions",
        "test_secure_memory_has_an_arena",
        IMPLEMENTATION,
    ),
    "secure memory: typed error at the limit": (
        "test_soak",
        "test_secure_memory_above_the_limit",
        IMPLEMENTATION,
    ),
    "flag SECURE": ("test_flags", "test_secure_memory_is_locked_and_dumped", IMPLEMENTATION),
    "flag NO_COMPACT": ("test_flags", "test_no_compact_keeps_a_region", IMPLEMENTATION),
    "flag UNCACHED": ("test_flags", "test_uncached_memory_is_in_no_cache", IMPLEMENTATION),
    "death of a device, told in time": ("test_survivors", "test_death_of_a_device_is_told_in_time", DRIVER),
    "death of the daemon, told in time": ("test_survivors", "test_death_of_the_daemon_is_told", DRIVER),
    "death of a host process": ("test_kills", "test_kill_of_host_processes", DRIVER),
    "waiting without CPU": ("test_waiting", "test_nobody_uses_cpu_while_all_wait", IMPLEMENTATION),
    "emulated memory, seeds and replays": ("test_emulated", "test_the_wrong_protocol_fails", IMPLEMENTATION),
    "article's steps, model loading, inference": ("test_examples", "test_an_example_answers", IMPLEMENTATION),
    "before/after figures": ("test_examples", "test_demo_measures_both_modes", DRIVER),
    "sanitizer: a recorded run is checked by custody": (
        "test_tracing",
        "test_a_broken_rule_of_a_recorded_run_names_both_sides",
        "traces.md",
    ),
    "tracing": ("test_tracing", "test_a_trace_covers_batches_teams", IMPLEMENTATION),
    "inspection commands": ("test_commands", "test_ls_and_show_tell", DRIVER),
}

# What is demanded of the whole, in the words of the design: part of some feature's name.
DEMANDED = (
    "alloc with size, alignment, flags", "address window", "access-control list", "exclusive and broadcast",
    "free, reuse, scrub", "pooling", "coalescing", "fragmentation figure", "threshold", "compaction when idle",
    "three addresses", "unmap", "device faults", "flush, invalidate", "fence", "global barrier", "multicast",
    "software", "send, wait", "broadcast", "batch", "callbacks", "fileno", "doorbell", "event-register", "copy mode",
    "shared mode", "auto", "several devices", "several host processes", "real identity", "secure memory",
    "own arena", "not dumped", "typed error at the limit", "PCIe and SoC profiles", "link-cost model",
    "article's steps", "model loading", "inference", "before/after figures", "copy buffers from the same pool",
    "no type or meaning", "best-practice page", "tracing", "sanitizer", "inspection commands",
)  # fmt: skip


def page() -> str:
    """The text of the page."""
    rows = [
        f"| {feature} | [{test}.py](../../tests/impl/{test}.py) `{name}…` | [{Path(doc).stem}]({doc}) |"
        for feature, (test, name, doc) in FEATURES.items()
    ]
    head = "# Features\n\nEvery feature of the reference implementation, its test and its page. Generated by\n"
    head += "`python -m tests.impl.features`; a test compares.\n\n| feature | test | page |\n|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
