"""The nouns: sorts, and every function of the state with one sentence each.

A *frame* is one cache line of physical memory, a *block* one line of a region (one line of device address space),
a *word* the unit of access in a line.  Translation here has the granularity of a block: a page of several lines is
several blocks that happen to be mapped together, so what is proved for blocks holds for pages.
A *region* is a handle, that is an id together with its generation: a reused id is another element.
A *token* is one pending notification, an *epoch* one use of a barrier; both are taken up again when they are free.
"""

from __future__ import annotations

from typing import Protocol

from shmem_model.language import BOOL, Function, Sort

Agent = Sort("Agent")
Region = Sort("Region")
Block = Sort("Block")
Frame = Sort("Frame")
Word = Sort("Word")
Value = Sort("Value")
Slot = Sort("Slot")
Token = Sort("Token")
Team = Sort("Team")
Epoch = Sort("Epoch")
SORTS = (Agent, Region, Block, Frame, Word, Value, Slot, Token, Team, Epoch)


class _Make(Protocol):
    def __call__(self, name: str, arguments: tuple[Sort, ...], sentence: str, result: Sort = BOOL) -> Function: ...


def _makers(layer: str) -> _Make:
    def make(name: str, arguments: tuple[Sort, ...], sentence: str, result: Sort = BOOL) -> Function:
        function: Function = Function(name, arguments, result, layer, sentence)
        return function

    return make


_platform, _hardware, _software, _ghost = (_makers(layer) for layer in Function.LAYERS)

# Platform: what the hardware is, who has which right.  Never changes; in proofs any choice is possible.
cached = _platform("cached", (Agent,), "the agent has a private cache (H14: the others go to memory)")
line_write_back = _platform("line_write_back", (), "write-back is by whole lines (H3), else by dirty words")
may_discard = _platform("may_discard", (), "invalidate may throw a dirty line away (H6)")
may_write_back = _platform("may_write_back", (), "invalidate may write a dirty line back instead (H6)")
counting = _platform("counting", (), "notifications count (doorbell), else they are sticky (event register)")
multicast = _platform("multicast", (), "one message reaches all members of a global barrier")
may_read = _platform("may_read", (Agent, Region), "the region's access-control list lets the agent read")
may_write = _platform("may_write", (Agent, Region), "the region's access-control list lets the agent write")
fits = _platform("fits", (Region, Frame), "the frame lies in the region's address window")
receiver = _platform("receiver", (Slot,), "the agent to whom the notification slot belongs", Agent)
may_send = _platform("may_send", (Agent, Slot), "the agent was granted the right to send to the slot")
member = _platform("member", (Team, Agent), "the agent is a member of the team")
engine = _platform("engine", (Agent,), "a copy engine: an uncached agent that runs no program")
serves = _platform("serves", (Agent, Agent), "the engine copies on behalf of the agent")
zero = _platform("zero", (), "the value of scrubbed memory", Value)
total = _platform("total", (Value, Value), "the sum of two values", Value)

# Hardware: caches, write buffers, memory, translation caches.
valid = _hardware("valid", (Agent, Frame), "the agent's cache holds the line")
dirty = _hardware("dirty", (Agent, Frame, Word), "the cached word is newer than what was written back")
data = _hardware("data", (Agent, Frame, Word), "the cached word", Value)
posted = _hardware("posted", (Agent, Frame, Word), "the word is on its way to memory (H4)")
posted_data = _hardware("posted_data", (Agent, Frame, Word), "the word that is on its way", Value)
memory = _hardware("memory", (Frame, Word), "the word in memory", Value)
tlb = _hardware("tlb", (Agent, Block, Frame), "the translation cache maps the block to the frame (H7)")
tlb_writable = _hardware("tlb_writable", (Agent, Block, Frame), "that entry allows writing")

# Software: what driver, page tables and programs agreed on.
part_of = _software("part_of", (Block, Region), "the block is a line of the live region")
retired = _software("retired", (Region,), "the handle's generation has been freed")
at = _software("at", (Block, Frame), "the block lives in the frame")
available = _software("available", (Frame,), "the frame is scrubbed and free")
mapped = _software("mapped", (Agent, Block), "the agent's page table maps the block")
mapped_writable = _software("mapped_writable", (Agent, Block), "that mapping allows writing")
frozen = _software("frozen", (Block,), "the driver is moving the block: no new translation")
pending = _software("pending", (Token, Slot), "the notification waits in the slot (H9)")
collecting = _software("collecting", (Team, Epoch), "the barrier waits for members to arrive")
arrived = _software("arrived", (Team, Epoch, Agent), "the member has arrived")
left = _software("left", (Team, Epoch, Agent), "the member has left again")
gb_open = _software("gb_open", (Agent, Team, Region), "the writer's global barrier over the region is under way")
gb_acked = _software("gb_acked", (Agent, Agent, Block), "the member's engine has dropped its clean line for the writer")
copying = _software(
    "copying", (Agent, Block, Word, Block, Word), "the engine has still to copy the first word to the second"
)
landing = _software("landing", (Agent, Block, Word), "a copy of the engine has still to land on the word")
dead = _software("dead", (Agent,), "the agent has died (H11)")

# Ghost: the custody monitor.  Nothing above ever reads it.
last = _ghost("last", (Block, Word), "the last value written", Value)
cur = _ghost("cur", (Agent, Block, Word), "the agent's next access sees the last write")
pub = _ghost("pub", (Agent, Block, Word), "the agent knows that the last write is in memory")
unfl = _ghost("unfl", (Agent, Block, Word), "the agent wrote the word and has not flushed it since")
readby = _ghost("readby", (Agent, Block, Word), "the agent has read the word since the last write")
over = _ghost("over", (Agent, Agent, Block, Word), "the first agent knows that the second one's reads are finished")
token_pub = _ghost("token_pub", (Token, Block, Word), "the notification says that the last write is in memory")
token_over = _ghost(
    "token_over", (Token, Agent, Block, Word), "the notification says that the agent's reads are finished"
)
sender = _ghost("sender", (Token, Agent), "the agent has sent (or added to) the notification")
epoch_pub = _ghost("epoch_pub", (Epoch, Block, Word), "those who arrived know that the last write is in memory")
epoch_over = _ghost(
    "epoch_over", (Epoch, Agent, Block, Word), "those who arrived know that the agent's reads are finished"
)
brought = _ghost("brought", (Epoch, Agent, Block, Word), "the member brought that knowledge to the barrier")
atomic = _ghost("atomic", (Block, Word), "the last write was an atomic, so it is in memory")
word_pub = _ghost("word_pub", (Block, Word, Block, Word), "what atomics on the first word say of the second: published")
word_over = _ghost(
    "word_over",
    (Block, Word, Agent, Block, Word),
    "what atomics on the word say: the agent's reads are finished",
)
intact = _ghost("intact", (), "no custody rule has been broken so far")

FUNCTIONS = tuple(value for value in list(globals().values()) if isinstance(value, Function))
