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
enum { E_SEQ = 0, E_STATE = 4, E_GENERATION = 8, E_OFFSET = 16, E_SIZE = 24, E_EXTENT = 32 };
enum { LIVE = 1, FROZEN = 2 };
enum { OK = 0, STALE = 1, RANGE = 2, NOT_MAPPED = 3, READ_ONLY = 4, IS_FROZEN = 5, TORN = 6, MOVED = 7 };
enum { RECHECK = -1, TIMED_OUT = -2 };

static PyTypeObject *words_type;

#define FAST(name, function, doc) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, doc}
#define ONE(name, function, doc) {name, function, METH_O, doc}
#define END {NULL, NULL, 0, NULL}
#define TYPE(lower, Name, doc)                                                                              \
    static PyType_Slot lower##_slots[] = {{Py_tp_new, lower##_new}, {Py_tp_dealloc, lower##_dealloc},       \
                                          {Py_tp_methods, lower##_methods}, {Py_tp_doc, doc}, {0, NULL}};   \
    static PyType_Spec lower##_spec = {"shmem._core." #Name, sizeof(Name), 0, Py_TPFLAGS_DEFAULT, lower##_slots};

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

#define WORD_METHODS(suffix, type)                                                                           \
    static PyObject *words_load##suffix(PyObject *self, PyObject *offset) {                                  \
        type *p = word_at((Words *)self, offset, sizeof(type), 0);                                           \
        return p ? PyLong_FromUnsignedLongLong(LOAD(p)) : NULL;                                              \
    }                                                                                                        \
    static PyObject *words_store##suffix(PyObject *self, PyObject *const *a, Py_ssize_t n) {                 \
        uint64_t v;                                                                                          \
        type *p = need(n, 2, 2) ? word_at((Words *)self, a[0], sizeof(type), 1) : NULL;                      \
        if (!p || !as_u64(a[1], &v)) return NULL;                                                            \
        STORE(p, (type)v);                                                                                   \
        Py_RETURN_NONE;                                                                                      \
    }                                                                                                        \
    static PyObject *words_add##suffix(PyObject *self, PyObject *const *a, Py_ssize_t n) {                   \
        uint64_t v;                                                                                          \
        type *p = need(n, 2, 2) ? word_at((Words *)self, a[0], sizeof(type), 1) : NULL;                      \
        if (!p || !as_u64(a[1], &v)) return NULL;                                                            \
        return PyLong_FromUnsignedLongLong(ADD(p, (type)v));                                                 \
    }
WORD_METHODS(, uint64_t)
WORD_METHODS(32, uint32_t)

/* publish(at, state, generation, offset, size, extent, physical, flags): a table entry under its sequence lock */
static PyObject *words_publish(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t state, field[6];
    char *entry = need(n, 8, 8) ? word_at((Words *)self, a[0], 64, 1) : NULL;
    if (!entry || !as_u64(a[1], &state)) return NULL;
    for (int i = 0; i < 6; i++)
        if (!as_u64(a[i + 2], &field[i])) return NULL;
    uint32_t *seq = (uint32_t *)(entry + E_SEQ);
    STORE(seq, LOAD(seq) + 1); /* step: publish_odd */
    STORE((uint32_t *)(entry + E_STATE), (uint32_t)state); /* step: publish_state */
    for (int i = 0; i < 6; i++) STORE((uint64_t *)(entry + E_GENERATION) + i, field[i]); /* step: publish_field */
    STORE(seq, LOAD(seq) + 1); /* step: publish_even */
    Py_RETURN_NONE;
}

static PyObject *words_cas(PyObject *self, PyObject *const *a, Py_ssize_t n) {
    uint64_t old, v;
    uint64_t *p = need(n, 3, 3) ? word_at((Words *)self, a[0], 8, 1) : NULL;
    if (!p || !as_u64(a[1], &old) || !as_u64(a[2], &v)) return NULL;
    CAS(p, &old, v);
    return PyLong_FromUnsignedLongLong(old);
}

/* zero(offset, length) */
static PyObject *words_zero(PyObject *object, PyObject *const *a, Py_ssize_t n) {
    Words *self = (Words *)object;
    if (!need(n, 2, 2)) return NULL;
    Py_ssize_t at = PyLong_AsSsize_t(a[0]), length = PyLong_AsSsize_t(a[1]);
    if (PyErr_Occurred()) return NULL;
    if (!self->writable || at < 0 || length < 0 || at > self->view.len || length > self->view.len - at) {
        PyErr_SetString(PyExc_IndexError, "no such bytes, or they are read-only");
        return NULL;
    }
    memset((char *)self->view.buf + at, 0, (size_t)length);
    Py_RETURN_NONE;
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
    ONE("load", words_load, "Load the 64-bit word at a byte offset."),
    ONE("load32", words_load32, "Load the 32-bit word at a byte offset."),
    FAST("store", words_store, "Store a 64-bit word."),
    FAST("store32", words_store32, "Store a 32-bit word."),
    FAST("add", words_add, "Add to a 64-bit word; answer the old value."),
    FAST("add32", words_add32, "Add to a 32-bit word; answer the old value."),
    FAST("cas", words_cas, "Compare and swap; answer the old value."),
    FAST("publish", words_publish, "Publish a table entry under its sequence lock."),
    FAST("zero", words_zero, "Zero a range of bytes."),
    ONE("wake", words_wake, "Wake everybody who sleeps on the 32-bit word."),
    FAST("wait", words_wait, "Spin, then sleep, while the word has a value."),
    END,
};
TYPE(words, Words, "Words(buffer, writable=True): sequentially consistent words of a shared mapping.")

/* ------------------------------------------------------------------ Access: one agent's way into one region */

typedef struct {
    PyObject_HEAD
    Words *extent, *table, *rights, *pins;
    char *entry;
    uint64_t *right, *pin, generation, number;
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

/* The end of an object whose only references are `n` Words in a row. */
static void let_go(PyObject *object, Words **held, int n) {
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < n; i++) Py_XDECREF(held[i]);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Access(extent, number, table, entry_offset, generation, rights, right_offset, pins, pin_offset) */
static PyObject *access_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *extent, *number, *table, *at, *generation, *rights, *right, *pins, *pin;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOOOOOOO", &extent, &number, &table, &at, &generation, &rights, &right, &pins, &pin))
        return NULL;
    Access *self = (Access *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    if (!(self->extent = hold(extent)) || !(self->table = hold(table)) || !(self->rights = hold(rights)) ||
        !(self->pins = hold(pins)) || !as_u64(generation, &self->generation) || !as_u64(number, &self->number) ||
        !(self->entry = word_at(self->table, at, 64, 0)) || !(self->right = word_at(self->rights, right, 8, 0)) ||
        !(self->pin = word_at(self->pins, pin, 8, 1))) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void access_dealloc(PyObject *object) { let_go(object, &((Access *)object)->extent, 4); }

/* Pin first, look afterwards: the driver freezes first and then looks at the pins, so one of the two sees the other.
 * On OK the pin is held and *start is the region's place; on anything else the pin has been given back. */
static int enter(Access *self, Py_ssize_t offset, Py_ssize_t length, int writing, char **start) {
    uint32_t seq, state;
    uint64_t generation, place, size, number;
    int code = OK, tries = 0;
    ADD(self->pin, 1); /* step: enter_pin */
    do {
        if (++tries > 1000000) {
            code = TORN;
            goto out;
        }
        seq = LOAD((uint32_t *)(self->entry + E_SEQ)); /* step: enter_seq */
        state = LOAD((uint32_t *)(self->entry + E_STATE)); /* step: enter_state */
        generation = LOAD((uint64_t *)(self->entry + E_GENERATION));
        place = LOAD((uint64_t *)(self->entry + E_OFFSET)); /* step: enter_field */
        size = LOAD((uint64_t *)(self->entry + E_SIZE));
        number = LOAD((uint64_t *)(self->entry + E_EXTENT));
    } while ((seq & 1) || seq != LOAD((uint32_t *)(self->entry + E_SEQ))); /* step: enter_again */
    uint64_t right = LOAD(self->right); /* step: accept */
    if (generation != self->generation || (state != LIVE && state != FROZEN)) code = STALE;
    else if (offset < 0 || length < 0 || (uint64_t)offset > size || (uint64_t)length > size - offset) code = RANGE;
    else if ((right >> 2) != generation || !(right & 1)) code = NOT_MAPPED;
    else if (writing && !(right & 2)) code = READ_ONLY;
    else if (state == FROZEN) code = IS_FROZEN;
    else if (number != self->number) code = MOVED;
    else if (place > (uint64_t)self->extent->view.len || size > (uint64_t)self->extent->view.len - place) code = TORN;
    else *start = (char *)self->extent->view.buf + place;
out:
    if (code != OK) ADD(self->pin, (uint64_t)-1); /* step: leave_pin */
    return code;
}

static void leave(Access *self) { ADD(self->pin, (uint64_t)-1); } /* step: leave_pin */

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
    if (out != NULL) move(PyBytes_AsString(out), start + offset, length, start + offset); /* step: inside */
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
    FAST("read", access_read, "Bytes of the region, or a code."),
    FAST("write", access_write, "Write bytes; answer a code."),
    FAST("atomic", access_atomic, "Add, swap or compare and swap a word."),
    FAST("check", access_check, "The code that an access would answer."),
    FAST("pin", access_pin, "Pin the region for a view."),
    ONE("unpin", access_unpin, "End a pin."),
    END,
};
TYPE(access, Access, "One agent's checked way into one region.")

#include "_core_slots.h"

/* ------------------------------------------------------------------ the module */

static PyObject *core_fence(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"fence", core_fence, METH_NOARGS, "A full memory fence."},
    END,
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
