/* A tiny runtime with caches of its own: what somebody else's implementation might look like.
 *
 * Two agents, one region of one word, private write-back caches, a write buffer that a fence empties, and slots
 * that are sticky.  -DBUG=1..3 plants a bug:
 *   1  fence does not wait: what was flushed stays in the write buffer (a forgotten drain)
 *   2  wait returns although nothing was sent (an early wake-up)
 *   3  read does not look whether the agent may: the right is checked at map only (a missing refusal)
 */
#include <stdint.h>
#include <stdlib.h>

#ifndef BUG
#define BUG 0
#endif
#define AGENTS 4
#define SLOTS 4

enum { OK = 0, WOULD_BLOCK = -1, NOT_PERMITTED = -2, NOT_MAPPED = -3, READ_ONLY = -4, INVALID = -5 };

typedef struct {
    int mapped, writable;        /* page table */
    int valid, dirty, data;      /* cache */
    int posted, posted_data;     /* write buffer */
} side;

typedef struct {
    int memory;
    side agent[AGENTS];
    int may_read[AGENTS], may_write[AGENTS];
    int receiver[SLOTS], senders[SLOTS], pending[SLOTS];
} tiny;

tiny *tiny_new(void) { return calloc(1, sizeof(tiny)); }
void tiny_delete(tiny *t) { free(t); }

void tiny_rights(tiny *t, int a, int may_read, int may_write) {
    t->may_read[a] = may_read;
    t->may_write[a] = may_write;
}
void tiny_slot(tiny *t, int s, int receiver, int senders) {
    t->receiver[s] = receiver;
    t->senders[s] = senders;
}

int tiny_map(tiny *t, int a, int writable) {
    if (!t->may_read[a] || (writable && !t->may_write[a])) return NOT_PERMITTED;
    t->agent[a].mapped = 1;
    t->agent[a].writable = writable;
    return OK;
}
int tiny_unmap(tiny *t, int a, int of) {
    if (!t->agent[of].mapped) return INVALID;
    if (a != of && !t->may_write[a]) return NOT_PERMITTED;
    t->agent[of].mapped = t->agent[of].writable = 0;
    return OK;
}

static void drain(tiny *t, side *s) {
    if (s->posted) t->memory = s->posted_data;
    s->posted = 0;
}
static int enter(tiny *t, int a, int writing) {
    side *s = &t->agent[a];
    int unchecked = BUG == 3 && !writing;
    if (!s->mapped && !unchecked) return NOT_MAPPED;
    if (writing && !s->writable) return READ_ONLY;
    return OK;
}
static void fill(tiny *t, side *s) {
    if (s->valid) return;
    drain(t, s); /* never past the agent's own posted words */
    s->valid = 1;
    s->data = t->memory;
}

int tiny_read(tiny *t, int a) {
    int code = enter(t, a, 0);
    if (code) return code;
    fill(t, &t->agent[a]);
    return t->agent[a].data;
}
int tiny_write(tiny *t, int a, int value) {
    int code = enter(t, a, 1);
    if (code) return code;
    fill(t, &t->agent[a]);
    t->agent[a].dirty = 1;
    t->agent[a].data = value;
    return OK;
}
int tiny_flush(tiny *t, int a, int drop) {
    side *s = &t->agent[a];
    int code = enter(t, a, 0);
    if (code) return code;
    if (s->valid && s->dirty) {
        drain(t, s); /* in order */
        s->posted = 1;
        s->posted_data = s->data;
        s->dirty = 0;
    }
    if (drop) s->valid = 0;
    return OK;
}
int tiny_invalidate(tiny *t, int a) {
    int code = enter(t, a, 0);
    if (code) return code;
    t->agent[a].valid = t->agent[a].dirty = 0;
    return OK;
}
int tiny_fence(tiny *t, int a) {
    if (BUG != 1) drain(t, &t->agent[a]);
    return OK;
}

int tiny_send(tiny *t, int a, int s) {
    if (!(t->senders[s] >> a & 1)) return NOT_PERMITTED;
    t->pending[s] = 1;
    return OK;
}
int tiny_poll(tiny *t, int a, int s) {
    int got = t->pending[s];
    if (t->receiver[s] != a) return NOT_PERMITTED;
    t->pending[s] = 0;
    return got;
}
int tiny_wait(tiny *t, int a, int s) {
    if (t->receiver[s] != a) return NOT_PERMITTED;
    if (!t->pending[s] && BUG != 2) return WOULD_BLOCK;
    t->pending[s] = 0;
    return OK;
}
