// capture_nesting.c - which events are inside which.
//
// The recorder knows the parent of a span among the spans of its own ring and thread. Four more
// are known only here: a call of the tracer's ring inside of a label of the program's ring; events
// of profiles, which say no parents; a run on a device, which a callback told on whatever thread;
// and the outermost span around each of them.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/spill.h"
#include "trace/capture_internal.h"

enum { MAX_OPEN = UINT8_MAX };

// The spans that are open on a thread.
typedef struct open_spans {
  int64_t ends[MAX_OPEN];
  uint32_t events[MAX_OPEN];
  int depth;
} open_spans;

// Whether the span says itself what it is inside of: profiles, whose rings are no files, do not.
static bool knows_its_own(const hsc_capture *capture, const hsc_event *event) {
  return capture->rings[event->process].bytes != NULL;
}

// A span that its ring knows no parent of is inside of the span of another ring that is open on its
// thread; one of a profile inside of the innermost that ends no earlier.
static void adopt(const hsc_capture *capture, hsc_event *event, const open_spans *open) {
  if (event->parent || !event->span)
    return;
  const hsc_event *events = (const hsc_event *)capture->events.data;
  for (int depth = open->depth; depth > 0 && depth <= MAX_OPEN; depth--) {
    const hsc_event *around = &events[open->events[depth - 1]];
    if (!around->span)
      continue;
    if (around->process == event->process &&
        (knows_its_own(capture, event) ||
         around->start_ns + around->duration_ns < event->start_ns + event->duration_ns))
      continue;
    event->parent = around->span;
    return;
  }
}

static hsc_status *nest_threads(hsc_capture *capture) {
  int threads = hsc_capture_thread_count(capture);
  open_spans *all = hsc_alloc(((size_t)threads + 1) * sizeof *all);
  if (!all)
    return hsc_status_out_of_memory();
  hsc_event *events = (hsc_event *)capture->events.data;
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    hsc_event *event = &events[i];
    hsc_spill_passed(i);
    open_spans *open = &all[event->thread];
    while (open->depth > 0 && open->ends[open->depth - 1] <= event->start_ns)
      open->depth--;
    if (event->depth != open->depth)  // a page that is not written to need not go to disk again
      event->depth = (uint8_t)open->depth;
    if (!hsc_event_is_span(event))
      continue;
    adopt(capture, event, open);
    if (open->depth < MAX_OPEN) {
      open->events[open->depth] = (uint32_t)i;
      open->ends[open->depth++] = event->start_ns + event->duration_ns;
    }
  }
  hsc_free(all);
  return NULL;
}

// ---- runs on devices ----------------------------------------------------------------------------

static int64_t run_id_of(const hsc_event *event, uint32_t key) {
  for (int i = 0; key && i < event->attr_count; i++)
    if (event->attrs[i].key == key)
      return event->attrs[i].value.i;
  return 0;
}

// Attributes are in the rings: looking at those of all events in turn would bring them in whole.
static void release_sometimes(const hsc_capture *capture, size_t event) {
  hsc_spill_passed(event);
  if (event % (1 << 20) == 0)
    hsc__capture_release_pages(capture);
}

// A run of a device that ended after its call is given by a callback: its parent is the call that
// has its number.
static hsc_status *find_calls_of_runs(hsc_capture *capture, int ring) {
  uint32_t key = hsc_capture_number(capture, ring, "run_id");
  hsc_event *events = (hsc_event *)capture->events.data;
  size_t count = hsc_capture_event_count(capture);
  size_t calls = 0;
  size_t orphans = 0;
  for (size_t i = 0; key && i < count; i++) {
    const hsc_event *e = &events[i];
    if (e->process != ring || e->category != HSC_CATEGORY_EXECUTE)
      continue;
    calls += e->kind == HSC_RECORD_BEGIN;
    orphans += e->kind == HSC_RECORD_COMPLETE && run_id_of(e, key) > 0;
    release_sometimes(capture, i);
  }
  if (!orphans || !calls)
    return NULL;
  // The tracer counts from 1 on; numbers far beyond the calls that are there are of a damaged ring.
  size_t most = 4 * calls + 65536;
  uint64_t *spans = hsc_alloc(most * sizeof *spans);
  if (!spans)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++) {
    const hsc_event *e = &events[i];
    int64_t id =
        e->process == ring && e->kind == HSC_RECORD_BEGIN && e->category == HSC_CATEGORY_EXECUTE
            ? run_id_of(e, key)
            : 0;
    if (id > 0 && (uint64_t)id < most)
      spans[id] = e->span;
    release_sometimes(capture, i);
  }
  for (size_t i = 0; i < count; i++) {
    hsc_event *e = &events[i];
    if (e->process != ring || e->kind != HSC_RECORD_COMPLETE || e->category != HSC_CATEGORY_EXECUTE)
      continue;
    int64_t id = run_id_of(e, key);
    if (id > 0 && (uint64_t)id < most && spans[id] && spans[id] != e->span)
      e->parent = spans[id];
    release_sometimes(capture, i);
  }
  hsc_free(spans);
  return NULL;
}

hsc_status *hsc__capture_nest(hsc_capture *capture) {
  for (int ring = 0; ring < capture->ring_count; ring++)
    HSC_TRY(find_calls_of_runs(capture, ring));
  hsc__capture_release_pages(capture);
  return nest_threads(capture);
}

// ---- roots --------------------------------------------------------------------------------------

// Spans by process and number: open addressing, entries are event + 1.
typedef struct span_index {
  const hsc_capture *capture;
  uint32_t *slots;
  size_t mask;
} span_index;

static uint32_t *slot_of(const span_index *index, int32_t process, uint64_t span) {
  const hsc_event *events = hsc_capture_events(index->capture);
  int32_t shown = index->capture->processes[process].shown_as;
  uint64_t key[2] = {span, (uint64_t)shown};
  size_t at = hsc_hash64(key, sizeof key, 0) & index->mask;
  for (; index->slots[at]; at = (at + 1) & index->mask) {
    const hsc_event *e = &events[index->slots[at] - 1];
    if (e->span == span && index->capture->processes[e->process].shown_as == shown)
      break;
  }
  return &index->slots[at];
}

// Spans of a process are numbered as they begin, so a table by number is looked at from its
// beginning to its end. Only where numbers are far apart (a damaged ring) they are hashed.
typedef struct roots_by_number {
  uint64_t lowest, highest;  // highest 0 = no span
  uint64_t *roots;           // [highest - lowest + 1]; 0 = not met so far
} roots_by_number;

static uint64_t *root_at(roots_by_number *table, uint64_t span) {
  return table->roots && span >= table->lowest && span <= table->highest
             ? &table->roots[span - table->lowest]
             : NULL;
}

// One table for each ring. False: numbers are too far apart, or no memory.
static bool make_tables(const hsc_capture *capture, roots_by_number *tables) {
  const hsc_event *events = hsc_capture_events(capture);
  size_t count = hsc_capture_event_count(capture);
  uint64_t all = 0;
  for (size_t i = 0; i < count; i++) {
    roots_by_number *t = &tables[events[i].process];
    hsc_spill_passed(i);
    if (events[i].span && (!t->highest || events[i].span < t->lowest))
      t->lowest = events[i].span;
    if (events[i].span > t->highest)
      t->highest = events[i].span;
  }
  for (int r = 0; r < capture->ring_count; r++) {
    uint64_t size = tables[r].highest ? tables[r].highest - tables[r].lowest + 1 : 0;
    all += size < UINT64_MAX / 2 - all ? size : UINT64_MAX / 2 - all;
    if (all > 4 * (uint64_t)count + 65536)
      return false;
    tables[r].roots = size ? hsc_alloc(size * sizeof(uint64_t)) : NULL;
    if (size && !tables[r].roots)
      return false;
  }
  return true;
}

// The table that has this number: the event's ring, or another one of its process.
static uint64_t *find_root(const hsc_capture *capture,
                           roots_by_number *tables,
                           int32_t ring,
                           uint64_t span) {
  uint64_t *found = root_at(&tables[ring], span);
  int32_t shown = capture->processes[ring].shown_as;
  for (int r = 0; !found && r < capture->ring_count; r++)
    if (capture->processes[r].shown_as == shown)
      found = root_at(&tables[r], span);
  return found;
}

// Parents come before their children, but for a run on a device that outlasts its call by a clock
// that is off: then, and where two spans have one number, the hash decides. False: it is to.
static bool roots_in_order(const hsc_capture *capture, roots_by_number *tables, uint64_t *roots) {
  const hsc_event *events = hsc_capture_events(capture);
  for (size_t i = 0; i < hsc_capture_event_count(capture); i++) {
    const hsc_event *e = &events[i];
    hsc_spill_passed(i);
    uint64_t *around = e->parent ? find_root(capture, tables, e->process, e->parent) : NULL;
    uint64_t *own = e->span ? root_at(&tables[e->process], e->span) : NULL;
    if ((around && !*around) || (own && *own))
      return false;
    roots[i] = e->span;
    if (e->parent)
      roots[i] = around ? *around : e->parent;
    if (own)
      *own = roots[i];
  }
  return true;
}

static hsc_status *roots_by_hash(const hsc_capture *capture, uint64_t *roots) {
  enum { MOST_ANCESTORS = 4096 };  // a damaged ring's spans may be each other's parents
  const hsc_event *events = hsc_capture_events(capture);
  size_t count = hsc_capture_event_count(capture);
  span_index index = {.capture = capture, .mask = 1023};
  while (index.mask < 2 * count)
    index.mask = 2 * index.mask + 1;
  index.slots = hsc_alloc((index.mask + 1) * sizeof *index.slots);
  if (!index.slots)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++)
    if (events[i].span)
      *slot_of(&index, events[i].process, events[i].span) = (uint32_t)i + 1;
  for (size_t i = 0; i < count; i++) {
    uint64_t root = events[i].span;
    uint64_t parent = events[i].parent;
    for (int n = 0; parent && n < MOST_ANCESTORS; n++) {
      root = parent;
      uint32_t at = *slot_of(&index, events[i].process, parent);
      parent = at ? events[at - 1].parent : 0;
    }
    roots[i] = root;
  }
  hsc_free(index.slots);
  return NULL;
}

hsc_status *hsc_capture_roots(const hsc_capture *capture, uint64_t **out_roots) {
  size_t rings = (size_t)capture->ring_count;
  uint64_t *roots = hsc_alloc((hsc_capture_event_count(capture) + 1) * sizeof *roots);
  roots_by_number *tables = hsc_alloc((rings + 1) * sizeof *tables);
  hsc_status *status = roots && tables ? NULL : hsc_status_out_of_memory();
  if (!status && capture->processes &&
      (!make_tables(capture, tables) || !roots_in_order(capture, tables, roots)))
    status = roots_by_hash(capture, roots);
  for (size_t r = 0; tables && r < rings; r++)
    hsc_free(tables[r].roots);
  hsc_free(tables);
  if (status)
    hsc_free(roots);
  else
    *out_roots = roots;
  return status;
}

void hsc_capture_trace_id(const hsc_capture *capture,
                          int process,
                          uint64_t root,
                          char out_text[33]) {
  const hsc_capture_process *p = hsc_capture_process_at(capture, process);
  uint64_t high = p->trace_id_high;
  uint64_t low = p->trace_id_low;
  if (root) {
    uint64_t key[3] = {(uint64_t)p->pid, root, low};
    high ^= hsc_hash64(key, sizeof key, 1);
    low ^= hsc_hash64(key, sizeof key, 2);
  }
  snprintf(out_text, 33, "%016" PRIx64 "%016" PRIx64, high, low);
}
