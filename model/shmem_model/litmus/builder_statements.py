"""The part of the builder for the statements of a block that hold no others."""

from __future__ import annotations

from lark import Token, v_args

from . import statements as st
from . import syntax as sx
from .builder_head import HeadBuilder, agents
from .builder_names import Operand, Place, at, fail, name, number, slot_id, value
from .names import AgentName, CopyName, RegionName, RegisterName, SlotId, TeamName


@v_args(inline=True)
class StatementBuilder(HeadBuilder):
    """Accesses, maintenance, notification, barriers, life, copies."""

    # ------------------------------------------------------------ accesses

    def write(self, place: Place, source: Operand) -> st.Write:
        """`x[i] = v`"""
        return st.Write(place.region, place.index, value(source), pos=place.pos)

    def assign(self, register: Token, source: Operand) -> sx.Statement:
        """`r0 = x[i]` reads; anything else only computes."""
        target = name(register, RegisterName)
        if isinstance(source, Place):
            return st.Read(target, source.region, source.index, pos=at(register))
        return st.Set(target, value(source), pos=at(register))

    def atomic(self, register: Token, word: Token, place: Place, operand: Operand) -> sx.Statement:
        """`r0 = atomic_add x[i] v`"""
        make = st.AtomicAdd if word == "atomic_add" else st.AtomicSwap
        target = name(register, RegisterName)
        return make(target, place.region, place.index, value(operand), pos=at(register))

    def compare_swap(self, register: Token, _: Token, place: Place, old: Operand, new: Operand) -> st.CompareSwap:
        """`r0 = compare_swap x[i] old new`"""
        target = name(register, RegisterName)
        return st.CompareSwap(target, place.region, place.index, value(old), value(new), pos=at(register))

    def target(self, region: Token, first: Token | None = None, last: Token | None = None) -> sx.Target:
        """`x`, `x[2]`, `x[0..3]`"""
        if first is None:
            return sx.Target(name(region, RegionName), pos=at(region))
        low = number(first)
        high = low if last is None else number(last)
        if high < low:
            fail(low.pos, f"the range {low}..{high} runs backwards", f"write {high}..{low}")
        return sx.Target(name(region, RegionName), low, high, pos=at(region))

    # ------------------------------------------------------------ maintenance and notification

    def flush(self, word: Token, target: sx.Target, drop: Token | None) -> st.Flush:
        """`flush x [drop]`"""
        return st.Flush(target, drop is not None, pos=at(word))

    def flush_all(self, word: Token, drop: Token | None) -> st.Flush:
        """`flush * [drop]`"""
        return st.Flush(None, drop is not None, pos=at(word))

    def invalidate(self, word: Token, target: sx.Target) -> st.Invalidate:
        """`invalidate x`"""
        return st.Invalidate(target, pos=at(word))

    def invalidate_all(self, word: Token) -> st.Invalidate:
        """`invalidate *`"""
        return st.Invalidate(None, pos=at(word))

    def fence(self, word: Token) -> st.Fence:
        """`fence`"""
        return st.Fence(pos=at(word))

    def slot(self, token: Token) -> SlotId:
        """A slot of the receiver: a number or a name."""
        return slot_id(token)

    def slots(self, *slots: SlotId) -> tuple[SlotId, ...]:
        """Several slots."""
        return slots

    def send(self, word: Token, receiver: Token, slot: SlotId) -> st.Send:
        """`send dev0 n`"""
        return st.Send(name(receiver, AgentName), slot, pos=at(word))

    def send_batch(self, word: Token, receiver: Token, slots: tuple[SlotId, ...]) -> st.SendBatch:
        """`send_batch dev0 n m`"""
        return st.SendBatch(name(receiver, AgentName), slots, pos=at(word))

    def broadcast(self, word: Token, receivers: list[Token], slot: SlotId) -> st.Broadcast:
        """`broadcast {dev0 dev1} n`"""
        return st.Broadcast(agents(receivers), slot, pos=at(word))

    def wait(self, word: Token, slot: SlotId) -> st.Wait:
        """`wait n`"""
        return st.Wait(slot, pos=at(word))

    def wait_any(self, word: Token, register: Token, slots: tuple[SlotId, ...]) -> st.WaitAny:
        """`wait_any r0 n m`"""
        return st.WaitAny(name(register, RegisterName), slots, pos=at(word))

    def poll(self, word: Token, register: Token, slot: SlotId) -> st.Poll:
        """`poll r0 n`"""
        return st.Poll(name(register, RegisterName), slot, pos=at(word))

    def clear(self, word: Token, slot: SlotId) -> st.Clear:
        """`clear n`"""
        return st.Clear(slot, pos=at(word))

    # ------------------------------------------------------------ barriers

    def global_barrier(self, word: Token, region: Token, members: list[Token]) -> st.GlobalBarrier:
        """`global_barrier x {dev0 dev1}`"""
        return st.GlobalBarrier(name(region, RegionName), agents(members), pos=at(word))

    def arrive(self, word: Token, team: Token, named: list[Token] | None) -> st.Arrive:
        """`arrive g x y`"""
        return st.Arrive(name(team, TeamName), _regions(named), pos=at(word))

    def leave(self, word: Token, team: Token) -> st.Leave:
        """`leave g`"""
        return st.Leave(name(team, TeamName), pos=at(word))

    def barrier(self, word: Token, team: Token, named: list[Token] | None) -> st.Barrier:
        """`barrier g x y`"""
        return st.Barrier(name(team, TeamName), _regions(named), pos=at(word))

    # ------------------------------------------------------------ life and copies

    def map(self, word: Token, region: Token) -> st.MapRegion:
        """`map x`"""
        return st.MapRegion(name(region, RegionName), pos=at(word))

    def unmap(self, word: Token, region: Token, agent: Token | None) -> st.Unmap:
        """`unmap x [dev0]`"""
        return st.Unmap(name(region, RegionName), None if agent is None else name(agent, AgentName), pos=at(word))

    def shootdown(self, word: Token, region: Token, agent: Token) -> st.Shootdown:
        """`shootdown x dev0`"""
        return st.Shootdown(name(region, RegionName), name(agent, AgentName), pos=at(word))

    def alloc(self, word: Token, shape: sx.Region) -> st.Alloc:
        """`alloc y: …`"""
        return st.Alloc(shape, pos=at(word))

    def free(self, word: Token, region: Token) -> st.Free:
        """`free x`"""
        return st.Free(name(region, RegionName), pos=at(word))

    def compact(self, word: Token) -> st.Compact:
        """`compact`"""
        return st.Compact(pos=at(word))

    def die(self, word: Token) -> st.Die:
        """`die`"""
        return st.Die(pos=at(word))

    def copy(self, word: Token, label: Token, source: sx.Target, destination: sx.Target) -> st.Copy:
        """`copy c x[0..3] y[0..3]`"""
        return st.Copy(name(label, CopyName), source, destination, pos=at(word))

    def copy_wait(self, word: Token, label: Token) -> st.CopyWait:
        """`copy_wait c`"""
        return st.CopyWait(name(label, CopyName), pos=at(word))


def _regions(tokens: list[Token] | None) -> tuple[RegionName, ...]:
    """The regions that a barrier flushes, each once."""
    found: dict[str, RegionName] = {}
    for token in tokens or ():
        if token in found:
            fail(at(token), f"region '{token}' is named twice", "name it once")
        found[str(token)] = name(token, RegionName)
    return tuple(found.values())
