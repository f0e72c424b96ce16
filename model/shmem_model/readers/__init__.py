"""Readers of the machine: run it, explore it, print it.

**Explore** a `scope.Scope` (or a `setting.Setting`, or one of `shmem_model.scopes`)::

    from shmem_model.readers.explorer import explore

    found = explore(scope, properties=[...], goals=[...], observe=None, stop_at_violation=True, limit=None,
                    engine="auto", deadlocks=False, keep_graph=False)

`properties` are of kind invariant, axiom or step, `goals` of kind state.  `observe=None` explores the full state.  With
`observe=[formulas]` everything on which these (and properties and goals) cannot depend is left out: functions, bits and
actions (outcome questions lose the custody monitor that way).  An action that changes no needed function is no
transition then, so deadlocks and counts are those of the slice.

`found` has `states, transitions, depth, seconds, compile_seconds, engine, complete, per_action, deadlocks`, and
`found.findings[name]` (verdict "holds", "fails", "unknown"), `found.goals[name]` ("reached", "unreachable",
"unknown"), both with `.depth` and `.trace`: the shortest run, the same one from every engine.  `found.trace_to(state)`
is the shortest run to any packed state, `found.where(formula)` lists the packed states in which a formula holds.
Engines: "python" (ints of any width, ready at once), "numpy", "compiled" (numba; keeps no graph), "auto" by size.

A packed state is an int.  `found.packed.ground.value(state, function, indices)` reads it,
`found.packed.unpack(state, base)` turns it into a state of the concrete reader, and
`found.packed.ground.actions[number]` has `.action` and `.arguments`.

With `keep_graph=True`: `found.graph.states` (packed, by number), `.edges` (source, number of the ground action,
target), `.backward_reachable(targets, allowed)`, `.fair_cycle(done, weak, strong)`.

**Run** it: `concrete.Concrete(scope)` is the oracle (`initial, answer, step, returns, enabled, holds, holds_step`);
`quick.Quick(scope)` gives the same answers fast, also in scopes that nobody could explore.

From the machine to engines: `bits` (Boolean functions), `cells` and `partial` (terms as closures), `effects`,
`instances`, `ground` (ground actions), `packed`, then `pycode` or `tree` and `wordcode` print the code that
`engine_python`, `engine_numpy` and `engine_compiled` run.
"""
