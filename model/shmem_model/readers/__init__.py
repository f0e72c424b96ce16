"""Readers of the machine: run it, explore it, print it.

Ask the explorer first; it needs nothing but the standard library for small spaces::

    from shmem_model.readers.explorer import explore

    found = explore(scope, properties=[...], goals=[...], observe=None, deadlocks=False, keep_graph=False, limit=None)

`scope` is a `readers.scope.Scope`.  `properties` are `Property`s of kind invariant or step, `goals` of kind state.
`observe=None` explores the full state.  With `observe=[terms or properties]` everything on which these (and properties
and goals) cannot depend is left out: functions, bits and actions (outcome questions lose the custody monitor that
way).  An action that changes no needed function is no transition then, so deadlocks and counts are those of the slice.

`found.states, .transitions, .depth, .seconds, .compile_seconds, .engine, .complete, .per_action, .deadlocks` and
`found.findings[name].verdict` ("holds", "fails", "unknown"), `found.goals[name].verdict` ("reached", "unreachable",
"unknown"), both with `.trace` (shortest; `.steps[i].action/.arguments/.shown/.changes`, `.states`; `str(trace)`).
`found.trace_to(packed state)` is the shortest run to any state that was found.  `found.levels` lists packed states.

`found.packed.ground` knows what a packed state means: `ground.value(state, function, indices)` -> int,
`ground.actions[number]` -> `.action` (the language's Action), `.arguments`; `ground.label(...)`.
`found.packed.holds(found.packed.states_where(term), state)` evaluates a closed formula; `found.where(term)` lists the
states in which it holds (fast).  With `keep_graph=True`: `found.graph.states` (packed, by number), `.edges`
(source number, ground action number, target number), and
`found.graph.backward_reachable(target_numbers, allowed=set of action numbers or predicate)` -> set of numbers.
"""
