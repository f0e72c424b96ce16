/* A writer of traces for `shmem trace check`: paste what stands above main() into your program.
 *
 * One file for each agent that writes at the same time, or a lock around the calls; afterwards join the files in any
 * order, with the first line in front.  Call tw_... after the action has ended.  Names and places are written as they
 * are: keep quotes, backslashes and control characters out of them.  Build: cc -std=c99 trace_writer.c -o trace_writer
 */
#include <stdint.h>
#include <stdio.h>

typedef struct { const char *name; unsigned long n; } tw_agent; /* n: its next event */

static void tw_begin(FILE *f, tw_agent *a, const char *action) {
    fprintf(f, "{\"agent\": \"%s\", \"n\": %lu, \"action\": \"%s\"", a->name, a->n++, action);
}

static void tw_end(FILE *f, const char *where) {
    if (where) fprintf(f, ", \"where\": \"%s\"", where);
    fputs("}\n", f);
}

/* fence, gb_end, copy_wait, compact, die */
static void tw_plain(FILE *f, tw_agent *a, const char *action, const char *where) {
    tw_begin(f, a, action);
    tw_end(f, where);
}

typedef struct { unsigned long number, generation; } tw_region;

static void tw_place(FILE *f, tw_region r, unsigned long offset, unsigned long length) {
    fprintf(f, ", \"region\": [%lu, %lu], \"range\": [%lu, %lu]", r.number, r.generation, offset, length);
}

/* alloc (offset 0), flush, invalidate */
static void tw_range(FILE *f, tw_agent *a, const char *action, tw_region r, unsigned long offset, unsigned long length,
                     const char *where) {
    tw_begin(f, a, action);
    tw_place(f, r, offset, length);
    tw_end(f, where);
}

/* read, write: the bytes that were found or left, in hexadecimal */
static void tw_access(FILE *f, tw_agent *a, const char *action, tw_region r, unsigned long offset, const void *bytes,
                      unsigned long length, const char *where) {
    const uint8_t *b = bytes;
    tw_begin(f, a, action);
    tw_place(f, r, offset, length);
    fputs(", \"value\": \"", f);
    for (unsigned long i = 0; i < length; i++) fprintf(f, "%02x", b[i]);
    fputs("\"", f);
    tw_end(f, where);
}

/* count: how many this agent has sent to that slot so far, this one included */
static void tw_send(FILE *f, tw_agent *a, const char *to, unsigned slot, unsigned long count, const char *where) {
    tw_begin(f, a, "send");
    fprintf(f, ", \"to\": \"%s\", \"slot\": %u, \"count\": %lu", to, slot, count);
    tw_end(f, where);
}

/* count: how many of that sender's notifications to the slot this agent has taken so far */
static void tw_wait(FILE *f, tw_agent *a, unsigned slot, const char *from, unsigned long count, const char *where) {
    tw_begin(f, a, "wait");
    fprintf(f, ", \"slot\": %u, \"upto\": {\"%s\": %lu}", slot, from, count);
    tw_end(f, where);
}

/* An example: a hand-over with every step, on standard output. */
int main(void) {
    FILE *f = stdout;
    tw_agent host = {"host", 0}, dev = {"dev0", 0};
    tw_region r = {0, 1};
    const uint8_t one[8] = {1};
    fputs("{\"shmem_trace\": 1, \"platform\": {\"write_back\": \"line\", \"invalidate\": \"discard\", "
          "\"cached\": [\"host\", \"dev0\"]}, \"agents\": [\"host\", \"dev0\"], \"complete\": [\"host\", \"dev0\"]}\n", f);
    tw_range(f, &host, "alloc", r, 0, 128, NULL);
    tw_access(f, &host, "write", r, 0, one, 8, "host.c:10");
    tw_range(f, &host, "flush", r, 0, 8, NULL);
    tw_plain(f, &host, "fence", NULL);
    tw_send(f, &host, "dev0", 7, 1, NULL);
    tw_wait(f, &dev, 7, "host", 1, NULL);
    tw_range(f, &dev, "invalidate", r, 0, 8, NULL);
    tw_access(f, &dev, "read", r, 0, one, 8, "dev.c:20");
    return fflush(f) == 0 && !ferror(f) ? 0 : 1;
}
