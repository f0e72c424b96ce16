/* The data plane of `shmem`: sequentially consistent words, futex waits, slots and guarded accesses.
 *
 * Why C: a flag in shared memory needs one indivisible, ordered access, and sleeping needs the futex system call.
 * Python has neither.  `fallback.py` has the same four types for machines without a compiler; it is slower.
 *
 * Ordering: all shared words are accessed sequentially consistent.  The sender stores its counter and then loads
 * `waiting`; the receiver stores `waiting` and then loads the counter.  With anything weaker both may read the old
 * value (store-load reordering, which even x86 does) and a wake-up is lost.
 *
 * The interpreter lock is held while spinning (tens of microseconds at most) and released while sleeping.
 * Only the stable ABI is used, so one build serves every later Python.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOAD(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define ADD(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define CAS(p, old, v) __atomic_compare_exchange_n((p), (old), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* Must agree with layout.py; a test compares them. */
enum { SLOTS = 256, MAX_AGENTS = 32, OWN_WAITING = 0, OWN_CONSUMED = 4096, BELL = 0, BOARD_GRANTS = 4096 };
enum { E_SEQ = 0, E_STATE = 4, E_GENERATION = 8, E_OFFSET = 16, E_SIZE = 24 };
enum { LIVE = 1, FROZEN = 2 };
enum { OK = 0, STALE = 1, RANGE = 2, NOT_MAPPED = 3, READ_ONLY = 4, IS_FROZEN = 5, TORN = 6 };
enum { RECHECK = -1, TIMED_OUT = -2 };

static PyTypeObject *words_type;

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Sleep while *word == seen.  0: woken, changed or spurious; 1: timed out; 2: interrupted by a signal. */
static int futex_wait(uint32_t *word, uint32_t seen, int64_t timeout_ns) {
    struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    if (syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns < 0 ? NULL : &t, NULL, 0) == 0) return 0;
    return errno == ETIMEDOUT ? 1 : errno == EINTR ? 2 : 0;
}

static void futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }

static int need(Py_ssize_t given, Py_ssize_t least, Py_ssize_t most) {
    if (given >= least && given <= most) return 1;
    PyErr_Format(PyExc_TypeError, "expected %zd to %zd arguments, got %zd", least, most, given);
    return 0;
}

/* ------------------------------------------------------------------ Words: a mapping seen as atomic words */

typedef struct {
    PyObject_HEAD
    Py_buffer view;
    int writable;
} Words;

static PyObject *words_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *source;
    int writable = 1;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O|p", &source, &writable)) return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Words *self = (Words *)alloc(type, 0);
    if (self == NULL) return NULL;
    self->writable = writable;
    if (PyObject_GetBuffer(source, &self->view, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0) {
        self->view.obj = NULL;
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void words_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyBuffer_Release(&((Words *)object)->view);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The address of an aligned word inside the mapping, or NULL with an exception. */
static void *word_at(Words *self, PyObject *offset, Py_ssize_t width, int writing) {
    Py_ssize_t at = PyLong_AsSsize_t(offset);
    if (at == -1 && PyErr_Occurred()) return NULL;
    if (at < 0 || at % width || at > self->view.len - width) {
        PyErr_Format(PyExc_IndexError, "no %zd byte word at %zd of %zd", width, at, self->view.len);
        return NULL;
    }
    if (writing && !self->writable) {
        PyErr_SetString(PyExc_TypeError, "these words are read-only");
        return NULL;
    }
    return (char *)self->view.buf + at;
}

static int as_u64(PyObject *value, uint64_t *out) {
    *out = PyLong_AsUnsignedLongLongMask(value);
    return !(*out == (uint64_t)-1 && PyErr_Occurred());
}

static PyObject *words_load(PyObject *self, PyObject *offset) {
    uint64_t *p = word_at((Words *)self, offset, 8, 0);
    return p ? PyLong_FromUnsignedLongLong(LOAD(p)) : NULL;
}

static PyObject *words_load32(PyObject *self, PyObject *offset) {
    uint32_t *p = word_at((Words *)self, offset, 4, 0);
    return p ? PyLong_FromUnsignedLong(LOAD(p)) : NULL;
}

static PyObject *words_store(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t v;
    uint64_t *p = need(n, 2, 2) ? word_at((Words *)self, a[0], 8, 1) : NULL;
    if (!p || !as_u64(a[1], &v)) return NULL;
    STORE(p, v);
    Py_RETURN_NONE;
}

static PyObject *words_store32(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t v;
    uint32_t *p = need(n, 2, 2) ? word_at((Words *)self, a[0], 4, 1) : NULL;
    if (!p || !as_u64(a[1], &v)) return NULL;
    STORE(p, (uint32_t)v);
    Py_RETURN_NONE;
}

static PyObject *words_add(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t v;
    uint64_t *p = need(n, 2, 2) ? word_at((Words *)self, a[0], 8, 1) : NULL;
    if (!p || !as_u64(a[1], &v)) return NULL;
    return PyLong_FromUnsignedLongLong(ADD(p, v));
}

static PyObject *words_add32(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t v;
    uint32_t *p = need(n, 2, 2) ? word_at((Words *)self, a[0], 4, 1) : NULL;
    if (!p || !as_u64(a[1], &v)) return NULL;
    return PyLong_FromUnsignedLong(ADD(p, (uint32_t)v));
}

static PyObject *words_cas(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t old, v;
    uint64_t *p = need(n, 3, 3) ? word_at((Words *)self, a[0], 8, 1) : NULL;
    if (!p || !as_u64(a[1], &old) || !as_u64(a[2], &v)) return NULL;
    CAS(p, &old, v);
    return PyLong_FromUnsignedLongLong(old);
}

static PyObject *words_wake(PyObject *self, PyObject *offset) {
    uint32_t *p = word_at((Words *)self, offset, 4, 0);
    if (!p) return NULL;
    futex_wake(p);
    Py_RETURN_NONE;
}

/* wait(offset, seen, timeout_ns, spin_ns) -> False if the time is over.  Spins first, then sleeps without the GIL. */
static PyObject *words_wait(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t seen;
    uint32_t *p = need(n, 4, 4) ? word_at((Words *)self, a[0], 4, 0) : NULL;
    if (!p || !as_u64(a[1], &seen)) return NULL;
    int64_t timeout = PyLong_AsLongLong(a[2]), spin = PyLong_AsLongLong(a[3]);
    if (PyErr_Occurred()) return NULL;
    if (spin > 0) {
        int64_t until = now_ns() + spin;
        do {
            for (int i = 0; i < 32; i++) {
                if (LOAD(p) != (uint32_t)seen) Py_RETURN_TRUE;
                relax();
            }
        } while (now_ns() < until);
    }
    if (LOAD(p) != (uint32_t)seen) Py_RETURN_TRUE;
    int how;
    Py_BEGIN_ALLOW_THREADS
    how = futex_wait(p, (uint32_t)seen, timeout);
    Py_END_ALLOW_THREADS
    if (how == 2 && PyErr_CheckSignals() < 0) return NULL;
    return PyBool_FromLong(how != 1);
}

static PyMethodDef words_methods[] = {
    {"load", words_load, METH_O, "Load the 64-bit word at a byte offset."},
    {"load32", words_load32, METH_O, "Load the 32-bit word at a byte offset."},
    {"store", (PyCFunction)(void (*)(void))words_store, METH_FASTCALL, "Store a 64-bit word."},
    {"store32", (PyCFunction)(void (*)(void))words_store32, METH_FASTCALL, "Store a 32-bit word."},
    {"add", (PyCFunction)(void (*)(void))words_add, METH_FASTCALL, "Add to a 64-bit word; answer the old value."},
    {"add32", (PyCFunction)(void (*)(void))words_add32, METH_FASTCALL, "Add to a 32-bit word; answer the old value."},
    {"cas", (PyCFunction)(void (*)(void))words_cas, METH_FASTCALL, "Compare and swap; answer the old value."},
    {"wake", words_wake, METH_O, "Wake everybody who sleeps on the 32-bit word."},
    {"wait", (PyCFunction)(void (*)(void))words_wait, METH_FASTCALL, "Spin, then sleep, while the word has a value."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot words_slots[] = {
    {Py_tp_new, words_new}, {Py_tp_dealloc, words_dealloc}, {Py_tp_methods, words_methods},
    {Py_tp_doc, "Words(buffer, writable=True): sequentially consistent words of a shared mapping."}, {0, NULL},
};
static PyType_Spec words_spec = {"shmem._core.Words", sizeof(Words), 0, Py_TPFLAGS_DEFAULT, words_slots};

/* ------------------------------------------------------------------ Access: one agent's way into one region */

typedef struct {
    PyObject_HEAD
    Words *extent, *table, *rights, *pins;
    char *entry;
    uint64_t *right, *pin, generation;
} Access;

/* Take a new reference to a Words object, or fail. */
static Words *hold(PyObject *object) {
    if (!PyObject_TypeCheck(object, words_type)) {
        PyErr_SetString(PyExc_TypeError, "expected Words");
        return NULL;
    }
    Py_INCREF(object);
    return (Words *)object;
}

/* Access(extent, table, entry_offset, generation, rights, right_offset, pins, pin_offset) */
static PyObject *access_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *extent, *table, *at, *generation, *rights, *right_at, *pins, *pin_at;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOOOOOO", &extent, &table, &at, &generation, &rights, &right_at, &pins, &pin_at))
        return NULL;
    Access *self = (Access *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    if (!(self->extent = hold(extent)) || !(self->table = hold(table)) || !(self->rights = hold(rights)) ||
        !(self->pins = hold(pins)) || !as_u64(generation, &self->generation) ||
        !(self->entry = word_at(self->table, at, 8, 0)) || !(self->right = word_at(self->rights, right_at, 8, 0)) ||
        !(self->pin = word_at(self->pins, pin_at, 8, 1)) || self->entry + 64 > (char *)self->table->view.buf + self->table->view.len) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "entry outside of the table");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void access_dealloc(PyObject *object) {
    Access *self = (Access *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->extent);
    Py_XDECREF(self->table);
    Py_XDECREF(self->rights);
    Py_XDECREF(self->pins);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Pin first, look afterwards: the driver freezes first and then looks at the pins, so one of the two sees the other.
 * On OK the pin is held and *start is the region's place; on anything else the pin has been given back. */
static int enter(Access *self, Py_ssize_t offset, Py_ssize_t length, int writing, char **start) {
    uint32_t seq, state;
    uint64_t generation, place, size;
    int code = OK, tries = 0;
    ADD(self->pin, 1);
    do {
        if (++tries > 1000000) {
            code = TORN;
            goto out;
        }
        seq = LOAD((uint32_t *)(self->entry + E_SEQ));
        state = LOAD((uint32_t *)(self->entry + E_STATE));
        generation = LOAD((uint64_t *)(self->entry + E_GENERATION));
        place = LOAD((uint64_t *)(self->entry + E_OFFSET));
        size = LOAD((uint64_t *)(self->entry + E_SIZE));
    } while ((seq & 1) || seq != LOAD((uint32_t *)(self->entry + E_SEQ)));
    uint64_t right = LOAD(self->right);
    if (generation != self->generation || (state != LIVE && state != FROZEN)) code = STALE;
    else if (offset < 0 || length < 0 || (uint64_t)offset > size || (uint64_t)length > size - (uint64_t)offset) code = RANGE;
    else if ((right >> 2) != generation || !(right & 1)) code = NOT_MAPPED;
    else if (writing && !(right & 2)) code = READ_ONLY;
    else if (state == FROZEN) code = IS_FROZEN;
    else if (place > (uint64_t)self->extent->view.len || size > (uint64_t)self->extent->view.len - place) code = TORN;
    else *start = (char *)self->extent->view.buf + place;
out:
    if (code != OK) ADD(self->pin, (uint64_t)-1);
    return code;
}

static void leave(Access *self) { ADD(self->pin, (uint64_t)-1); }

/* One aligned word moves as one; anything longer may be seen in parts. */
static void move(char *to, const char *from, Py_ssize_t n, const char *shared) {
    if (n == 8 && ((uintptr_t)shared & 7) == 0) {
        uint64_t v;
        if (shared == from) {
            v = __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED);
            memcpy(to, &v, 8);
        } else {
            memcpy(&v, from, 8);
            __atomic_store_n((uint64_t *)to, v, __ATOMIC_RELAXED);
        }
    } else if (n > 65536) {
        Py_BEGIN_ALLOW_THREADS
        memcpy(to, from, (size_t)n);
        Py_END_ALLOW_THREADS
    } else {
        memcpy(to, from, (size_t)n);
    }
}

/* read(offset, length) -> bytes, or a code */
static PyObject *access_read(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Access *self = (Access *)object;
    char *start;
    if (!need(n, 2, 2)) return NULL;
    Py_ssize_t offset = PyLong_AsSsize_t(a[0]), length = PyLong_AsSsize_t(a[1]);
    if (PyErr_Occurred()) return NULL;
    int code = enter(self, offset, length, 0, &start);
    if (code != OK) return PyLong_FromLong(code);
    PyObject *out = PyBytes_FromStringAndSize(NULL, length);
    if (out != NULL) move(PyBytes_AsString(out), start + offset, length, start + offset);
    leave(self);
    return out;
}

/* write(offset, data) -> code */
static PyObject *access_write(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Access *self = (Access *)object;
    Py_buffer data;
    char *start;
    if (!need(n, 2, 2)) return NULL;
    Py_ssize_t offset = PyLong_AsSsize_t(a[0]);
    if (PyErr_Occurred() || PyObject_GetBuffer(a[1], &data, PyBUF_SIMPLE) < 0) return NULL;
    int code = enter(self, offset, data.len, 1, &start);
    if (code == OK) {
        move(start + offset, data.buf, data.len, start + offset);
        leave(self);
    }
    PyBuffer_Release(&data);
    return PyLong_FromLong(code);
}

/* atomic(op, offset, value, old) -> the old value, or a negative code; op 0 add, 1 swap, 2 compare and swap */
static PyObject *access_atomic(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Access *self = (Access *)object;
    uint64_t value, old;
    char *start;
    if (!need(n, 4, 4) || !as_u64(a[2], &value) || !as_u64(a[3], &old)) return NULL;
    long op = PyLong_AsLong(a[0]);
    Py_ssize_t offset = PyLong_AsSsize_t(a[1]);
    if (PyErr_Occurred()) return NULL;
    int code = offset % 8 ? RANGE : enter(self, offset, 8, 1, &start);
    if (code != OK) return PyLong_FromLong(-code);
    uint64_t *word = (uint64_t *)(start + offset);
    if (op == 0) old = ADD(word, value);
    else if (op == 1) old = __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    else CAS(word, &old, value);
    leave(self);
    return PyLong_FromUnsignedLongLong(old);
}

/* check(offset, length, writing) -> code: what an access would answer, without one */
static PyObject *access_check(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    char *start;
    if (!need(n, 3, 3)) return NULL;
    Py_ssize_t offset = PyLong_AsSsize_t(a[0]), length = PyLong_AsSsize_t(a[1]);
    int writing = PyObject_IsTrue(a[2]);
    if (PyErr_Occurred()) return NULL;
    int code = enter((Access *)object, offset, length, writing, &start);
    if (code == OK) leave((Access *)object);
    return PyLong_FromLong(code);
}

/* pin(offset, length, writing) -> the place of the region in its extent, pinned; or a negative code */
static PyObject *access_pin(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Access *self = (Access *)object;
    char *start;
    if (!need(n, 3, 3)) return NULL;
    Py_ssize_t offset = PyLong_AsSsize_t(a[0]), length = PyLong_AsSsize_t(a[1]);
    int writing = PyObject_IsTrue(a[2]);
    if (PyErr_Occurred()) return NULL;
    int code = enter(self, offset, length, writing, &start);
    return code != OK ? PyLong_FromLong(-code) : PyLong_FromSsize_t(start - (char *)self->extent->view.buf);
}

/* unpin(by): give the pin back (1), turn it into a lingering one (1 - 2**32) or end a lingering one (2**32) */
static PyObject *access_unpin(PyObject *object, PyObject *by) {
    uint64_t amount;
    if (!as_u64(by, &amount)) return NULL;
    __atomic_fetch_sub(((Access *)object)->pin, amount, __ATOMIC_SEQ_CST);
    Py_RETURN_NONE;
}

static PyMethodDef access_methods[] = {
    {"read", (PyCFunction)(void (*)(void))access_read, METH_FASTCALL, "Bytes of the region, or a code."},
    {"write", (PyCFunction)(void (*)(void))access_write, METH_FASTCALL, "Write bytes; answer a code."},
    {"atomic", (PyCFunction)(void (*)(void))access_atomic, METH_FASTCALL, "Add, swap or compare and swap a word."},
    {"check", (PyCFunction)(void (*)(void))access_check, METH_FASTCALL, "The code that an access would answer."},
    {"pin", (PyCFunction)(void (*)(void))access_pin, METH_FASTCALL, "Pin the region for a view."},
    {"unpin", access_unpin, METH_O, "End a pin."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot access_slots[] = {
    {Py_tp_new, access_new}, {Py_tp_dealloc, access_dealloc}, {Py_tp_methods, access_methods},
    {Py_tp_doc, "One agent's checked way into one region."}, {0, NULL},
};
static PyType_Spec access_spec = {"shmem._core.Access", sizeof(Access), 0, Py_TPFLAGS_DEFAULT, access_slots};

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

static void port_dealloc(PyObject *object) {
    Port *self = (Port *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->pair);
    Py_XDECREF(self->own);
    Py_XDECREF(self->bell);
    Py_XDECREF(self->board);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static int granted(const uint64_t *grants, long slot) { return (LOAD(&grants[slot / 64]) >> (slot % 64)) & 1; }

/* A waiter announces itself before it looks; so a sender that sees none has been seen. */
static void ring(Port *self) {
    if (LOAD(self->waiting) == 0) return;
    ADD(self->ring, 1);
    futex_wake(self->ring);
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
    ADD(&self->counters[slot], by);
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
        __atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ring(self);
    return PyLong_FromLong(-1);
}

static PyMethodDef port_methods[] = {
    {"send", (PyCFunction)(void (*)(void))port_send, METH_FASTCALL, "Notify a slot n times."},
    {"send_many", port_send_many, METH_O, "Notify several slots with one wake-up."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot port_slots[] = {
    {Py_tp_new, port_new}, {Py_tp_dealloc, port_dealloc}, {Py_tp_methods, port_methods},
    {Py_tp_doc, "Where one agent sends to another."}, {0, NULL},
};
static PyType_Spec port_spec = {"shmem._core.Port", sizeof(Port), 0, Py_TPFLAGS_DEFAULT, port_slots};

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

static void inbox_dealloc(PyObject *object) {
    Inbox *self = (Inbox *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->own);
    Py_XDECREF(self->bell);
    Py_XDECREF(self->board);
    for (int i = 0; i < MAX_AGENTS; i++) Py_XDECREF(self->pages[i]);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

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
    *sent = LOAD((uint64_t *)self->pages[sender]->view.buf + slot);
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
            if (!CAS(consumed, &had, sticky ? sent : had + 1)) continue;
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
    ADD(waiting, 1);
    int got = take_any(self, at, count, sticky), how = 0;
    if (got < 0) {
        Py_BEGIN_ALLOW_THREADS
        how = futex_wait(bell, (uint32_t)seen, timeout);
        Py_END_ALLOW_THREADS
        got = take_any(self, at, count, sticky);
    }
    ADD(waiting, (uint32_t)-1);
    if (got >= 0) return PyLong_FromLong(got);
    if (how == 2 && PyErr_CheckSignals() < 0) return NULL;
    return PyLong_FromLong(how == 1 ? TIMED_OUT : RECHECK);
}

static PyMethodDef inbox_methods[] = {
    {"connect", (PyCFunction)(void (*)(void))inbox_connect, METH_FASTCALL, "Set the page of a sender."},
    {"pending", inbox_pending, METH_O, "How many notifications are pending."},
    {"spin", (PyCFunction)(void (*)(void))inbox_spin, METH_FASTCALL, "Take a notification, spinning for a while."},
    {"sleep", (PyCFunction)(void (*)(void))inbox_sleep, METH_FASTCALL, "Take a notification, or sleep once."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot inbox_slots[] = {
    {Py_tp_new, inbox_new}, {Py_tp_dealloc, inbox_dealloc}, {Py_tp_methods, inbox_methods},
    {Py_tp_doc, "The slots of a receiver."}, {0, NULL},
};
static PyType_Spec inbox_spec = {"shmem._core.Inbox", sizeof(Inbox), 0, Py_TPFLAGS_DEFAULT, inbox_slots};

/* ------------------------------------------------------------------ the module */

static PyObject *core_fence(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"fence", core_fence, METH_NOARGS, "A full memory fence."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "shmem._core", "The data plane of shmem.", -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *module = PyModule_Create(&definition);
    PyType_Spec *specs[] = {&words_spec, &access_spec, &port_spec, &inbox_spec};
    const char *names[] = {"Words", "Access", "Port", "Inbox"};
    for (int i = 0; module && i < 4; i++) {
        PyObject *type = PyType_FromSpec(specs[i]);
        if (type == NULL || PyModule_AddObjectRef(module, names[i], type) < 0) return NULL;
        if (i == 0) words_type = (PyTypeObject *)type;
    }
    if (module) PyModule_AddIntConstant(module, "LAYOUT", SLOTS * 1000 + MAX_AGENTS);
    return module;
}
