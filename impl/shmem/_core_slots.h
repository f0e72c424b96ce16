/* The second chapter of _core.c, which includes it once: ports and inboxes, that is sending and waiting.
 *
 * A counter has one writer.  The receiver announces itself in `waiting` before it looks, and the sender looks at
 * `waiting` after it has counted; both sequentially consistent, so one of the two sees the other.
 */
/* ------------------------------------------------------------------ Port: where one agent sends to another */

typedef struct {
    PyObject_HEAD
    Words *pair, *own, *bell, *board;
    uint64_t *counters, *grants;
    uint32_t *waiting, *ring;
} Port;

/* Port(pair, receiver_own, receiver_bell, board, receiver, sender) */
static PyObject *port_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *pair, *own, *bell, *board;
    int receiver, sender;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOOii", &pair, &own, &bell, &board, &receiver, &sender)) return NULL;
    Port *self = (Port *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    Py_ssize_t row = BOARD_GRANTS + ((Py_ssize_t)receiver * MAX_AGENTS + sender) * (SLOTS / 8);
    if (!(self->pair = hold(pair)) || !(self->own = hold(own)) || !(self->bell = hold(bell)) ||
        !(self->board = hold(board)) || self->pair->view.len < SLOTS * 8 || self->own->view.len < 64 ||
        self->bell->view.len < 64 || receiver < 0 || sender < 0 || self->board->view.len < row + SLOTS / 8 ||
        !self->pair->writable || !self->bell->writable) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "pages of a port are too small");
        Py_DECREF(self);
        return NULL;
    }
    self->counters = self->pair->view.buf;
    self->waiting = (uint32_t *)((char *)self->own->view.buf + OWN_WAITING);
    self->ring = (uint32_t *)((char *)self->bell->view.buf + BELL);
    self->grants = (uint64_t *)((char *)self->board->view.buf + row);
    return (PyObject *)self;
}

static void port_dealloc(PyObject *object) { let_go(object, &((Port *)object)->pair, 4); }

static int granted(const uint64_t *grants, long slot) { return (LOAD(&grants[slot / 64]) >> (slot % 64)) & 1; }

/* A waiter announces itself before it looks; so a sender that sees none has been seen. */
static void ring(Port *self) {
    if (LOAD(self->waiting) == 0) return; /* step: send_look_for_waiter */
    ADD(self->ring, 1); /* step: send_ring */
    futex_wake(self->ring); /* step: send_wake */
}

static int slot_of(PyObject *value, long *slot) {
    *slot = PyLong_AsLong(value);
    if (*slot == -1 && PyErr_Occurred()) return 0;
    if (*slot >= 0 && *slot < SLOTS) return 1;
    PyErr_Format(PyExc_IndexError, "no slot %ld", *slot);
    return 0;
}

/* send(slot, n) -> whether the agent may */
static PyObject *port_send(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Port *self = (Port *)object;
    long slot;
    uint64_t by;
    if (!need(n, 2, 2) || !slot_of(a[0], &slot) || !as_u64(a[1], &by)) return NULL;
    if (!granted(self->grants, slot)) Py_RETURN_FALSE;
    ADD(&self->counters[slot], by); /* step: send_count */
    ring(self);
    Py_RETURN_TRUE;
}

/* send_many(slots) -> -1, or the first slot that the agent may not send to (then nothing was sent) */
static PyObject *port_send_many(PyObject *object, PyObject *slots) {
    Port *self = (Port *)object;
    long at[1024];
    Py_ssize_t n = PyTuple_Size(slots);
    if (n < 0) return NULL;
    if (n > 1024) {
        PyErr_SetString(PyExc_ValueError, "a batch has at most 1024 slots");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!slot_of(PyTuple_GetItem(slots, i), &at[i])) return NULL;
        if (!granted(self->grants, at[i])) return PyLong_FromLong(at[i]);
    }
    /* One writer per page (the binding serialises its threads), so ordered plain stores and one full fence do. */
    for (Py_ssize_t i = 0; i < n; i++) {
        uint64_t *c = &self->counters[at[i]];
        __atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE); /* step: batch_count */
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* step: batch_fence */
    ring(self);
    return PyLong_FromLong(-1);
}

static PyMethodDef port_methods[] = {
    FAST("send", port_send, "Notify a slot n times."),
    ONE("send_many", port_send_many, "Notify several slots with one wake-up."),
    END,
};
TYPE(port, Port, "Where one agent sends to another.")

/* ------------------------------------------------------------------ Inbox: the slots of a receiver */

typedef struct {
    PyObject_HEAD
    Words *own, *bell, *board, *pages[MAX_AGENTS];
    int receiver;
} Inbox;

/* Inbox(own, bell, board, receiver) */
static PyObject *inbox_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *own, *bell, *board;
    int receiver;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOi", &own, &bell, &board, &receiver)) return NULL;
    Inbox *self = (Inbox *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    self->receiver = receiver;
    if (!(self->own = hold(own)) || !(self->bell = hold(bell)) || !(self->board = hold(board)) || receiver < 0 ||
        receiver >= MAX_AGENTS || self->own->view.len < OWN_CONSUMED + MAX_AGENTS * SLOTS * 8 || !self->own->writable ||
        self->bell->view.len < 64 || self->board->view.len < BOARD_GRANTS + MAX_AGENTS * MAX_AGENTS * (SLOTS / 8)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "pages of an inbox are too small");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void inbox_dealloc(PyObject *object) { let_go(object, &((Inbox *)object)->own, 3 + MAX_AGENTS); }

/* connect(sender, page or None) */
static PyObject *inbox_connect(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Inbox *self = (Inbox *)object;
    if (!need(n, 2, 2)) return NULL;
    long sender = PyLong_AsLong(a[0]);
    Words *page = NULL;
    if (PyErr_Occurred()) return NULL;
    if (sender < 0 || sender >= MAX_AGENTS || (a[1] != Py_None && !(page = hold(a[1])))) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "no such sender");
        return NULL;
    }
    Words *old = self->pages[sender];
    self->pages[sender] = page;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/* How many notifications of a sender to a slot are pending; what it had no right to send does not count. */
static int64_t pending(Inbox *self, int sender, long slot, uint64_t **consumed, uint64_t *had, uint64_t *sent) {
    Py_ssize_t row = BOARD_GRANTS + ((Py_ssize_t)self->receiver * MAX_AGENTS + sender) * (SLOTS / 8);
    if (self->pages[sender] == NULL || !granted((uint64_t *)((char *)self->board->view.buf + row), slot)) return 0;
    *sent = LOAD((uint64_t *)self->pages[sender]->view.buf + slot); /* step: take_look */
    *consumed = (uint64_t *)((char *)self->own->view.buf + OWN_CONSUMED) + sender * SLOTS + slot;
    *had = LOAD(*consumed);
    return (int64_t)(*sent - *had);
}

/* Take one notification of a slot (sticky: all of them, as one).  Answers the sender, or -1. */
static int take(Inbox *self, long slot, int sticky) {
    int from = -1;
    for (int s = 0; s < MAX_AGENTS; s++) {
        uint64_t *consumed, had, sent;
        while (pending(self, s, slot, &consumed, &had, &sent) > 0) {
            if (!CAS(consumed, &had, sticky ? sent : had + 1)) continue; /* step: take_claim */
            if (from < 0) from = s;
            break;
        }
        if (from >= 0 && !sticky) break;
    }
    return from;
}

static int take_any(Inbox *self, const long *slots, Py_ssize_t n, int sticky) {
    for (Py_ssize_t i = 0; i < n; i++) {
        int from = take(self, slots[i], sticky);
        if (from >= 0) return (int)(i * MAX_AGENTS) + from;
    }
    return -1;
}

/* pending(slot) -> number */
static PyObject *inbox_pending(PyObject *object, PyObject *value) {
    long slot;
    int64_t total = 0, k;
    uint64_t *c, h, t;
    if (!slot_of(value, &slot)) return NULL;
    for (int s = 0; s < MAX_AGENTS; s++)
        if ((k = pending((Inbox *)object, s, slot, &c, &h, &t)) > 0) total += k;
    return PyLong_FromLongLong(total);
}

static int parse_slots(PyObject *tuple, long *at, Py_ssize_t *n) {
    *n = PyTuple_Size(tuple);
    if (*n < 0) return 0;
    if (*n > SLOTS) {
        PyErr_SetString(PyExc_ValueError, "too many slots");
        return 0;
    }
    for (Py_ssize_t i = 0; i < *n; i++)
        if (!slot_of(PyTuple_GetItem(tuple, i), &at[i])) return 0;
    return 1;
}

/* spin(slots, sticky, spin_ns) -> position * MAX_AGENTS + sender, or -1 */
static PyObject *inbox_spin(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    long at[SLOTS];
    Py_ssize_t count;
    if (!need(n, 3, 3) || !parse_slots(a[0], at, &count)) return NULL;
    int sticky = PyObject_IsTrue(a[1]);
    int64_t spin = PyLong_AsLongLong(a[2]);
    if (PyErr_Occurred()) return NULL;
    int got = take_any((Inbox *)object, at, count, sticky);
    if (got >= 0 || spin <= 0) return PyLong_FromLong(got);
    int64_t until = now_ns() + spin;
    do {
        for (int i = 0; i < 32; i++) {
            got = take_any((Inbox *)object, at, count, sticky);
            if (got >= 0) return PyLong_FromLong(got);
            relax();
        }
    } while (now_ns() < until);
    return PyLong_FromLong(-1);
}

/* sleep(slots, sticky, seen_bell, timeout_ns) -> as spin, or RECHECK, or TIMED_OUT */
static PyObject *inbox_sleep(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Inbox *self = (Inbox *)object;
    long at[SLOTS];
    Py_ssize_t count;
    uint64_t seen;
    if (!need(n, 4, 4) || !parse_slots(a[0], at, &count) || !as_u64(a[2], &seen)) return NULL;
    int sticky = PyObject_IsTrue(a[1]);
    int64_t timeout = PyLong_AsLongLong(a[3]);
    if (PyErr_Occurred()) return NULL;
    uint32_t *waiting = (uint32_t *)((char *)self->own->view.buf + OWN_WAITING);
    uint32_t *bell = (uint32_t *)((char *)self->bell->view.buf + BELL);
    ADD(waiting, 1); /* step: wait_announce */
    int got = take_any(self, at, count, sticky), how = 0;
    if (got < 0) {
        Py_BEGIN_ALLOW_THREADS
        how = futex_wait(bell, (uint32_t)seen, timeout); /* step: wait_sleep */
        Py_END_ALLOW_THREADS
        got = take_any(self, at, count, sticky);
    }
    ADD(waiting, (uint32_t)-1); /* step: wait_withdraw */
    if (got >= 0) return PyLong_FromLong(got);
    if (how == 2 && PyErr_CheckSignals() < 0) return NULL;
    return PyLong_FromLong(how == 1 ? TIMED_OUT : RECHECK);
}

static PyMethodDef inbox_methods[] = {
    FAST("connect", inbox_connect, "Set the page of a sender."),
    ONE("pending", inbox_pending, "How many notifications are pending."),
    FAST("spin", inbox_spin, "Take a notification, spinning for a while."),
    FAST("sleep", inbox_sleep, "Take a notification, or sleep once."),
    END,
};
TYPE(inbox, Inbox, "The slots of a receiver.")
