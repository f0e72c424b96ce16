"""The machine and the reference implementation side by side, with the same actions.

`reference` drives the implementation as any adapter is driven; `calls` says which steps of the machine an adapter's
call stands for; `projection` says what is compared of the two states; `lockstep` takes the steps; `regressions` keeps
what was found, as explicit steps.
"""
