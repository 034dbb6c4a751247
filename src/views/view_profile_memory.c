// view_profile_memory.c - memory of programs as it was planned, from the buffer assignment in the
// HLO that a profile carries.
//
// Source: xla/service/hlo.proto: HloProto.buffer_assignment (3) has logical buffers (1),
// allocations (3) with the buffers assigned to them, and traces of the heap (4): which buffer is
// taken and given back at which instruction. Read from the wire in place; nothing is trusted but
// lengths that were checked.
#include <stdlib.h>

#include "base/wire/wire.h"
#include "views/profile_memory.h"

typedef struct buffer {
  int64_t id, bytes, instr_id;
  // whose memory it lies in: its own index, or that of the buffer it shares with
  int32_t holder;
  int32_t users;   // of its memory that are alive, while the trace is walked
  hsc_view instr;  // name; empty = only the number is known
} buffer;

typedef struct instr_name {
  int64_t id;
  hsc_view name;
} instr_name;

typedef struct heap_event {
  int64_t kind, id, with;  // 0 takes, 1 gives back, 2 shares with another one
  int64_t change;          // bytes in use
  hsc_view instr;
} heap_event;

typedef struct assignment {
  HSC__LIST(buffer) buffers;     // by id
  HSC__LIST(instr_name) names;   // by id
  HSC__LIST(heap_event) events;  // of all traces, in order
  int64_t argument_bytes, result_bytes, constant_bytes, temp_bytes;
} assignment;

static void clear(assignment *a) {
  hsc_free(a->buffers.items);
  hsc_free(a->names.items);
  hsc_free(a->events.items);
  *a = (assignment){0};
}

static int compare_buffers(const void *a, const void *b) {
  const buffer *x = a;
  const buffer *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_names(const void *a, const void *b) {
  const instr_name *x = a;
  const instr_name *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

static buffer *find_buffer(const assignment *a, int64_t id) {
  buffer key = {.id = id};
  return a->buffers.count
             ? bsearch(&key, a->buffers.items, a->buffers.count, sizeof key, compare_buffers)
             : NULL;
}

static bool read_logical(assignment *a, hsc_view message) {
  buffer b = {0};
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1)
      b.id = (int64_t)f.value;
    else if (f.number == 2)
      b.bytes = (int64_t)f.value;
    else if (f.number == 3 && f.type == HSC_WIRE_BYTES) {
      hsc_wire at = hsc_wire_of(f.bytes);
      for (hsc_wire_field g; hsc_wire_next(&at, &g);) {
        if (g.number == 2 && g.type == HSC_WIRE_BYTES)
          b.instr = g.bytes;
        else if (g.number == 4)
          b.instr_id = (int64_t)g.value;
      }
    }
  }
  if (b.bytes < 0)
    b.bytes = 0;
  return HSC__ADD(&a->buffers, b);
}

static void read_allocation(assignment *a, hsc_view message) {
  int64_t bytes = 0;
  bool parameter = false;
  bool result = false;
  bool constant = false;
  bool local = false;
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.type != HSC_WIRE_VARINT)
      continue;
    if (f.number == 2)
      bytes = (int64_t)f.value;
    else if (f.number == 3)
      local = f.value;
    else if (f.number == 5)
      parameter = f.value;
    else if (f.number == 7)
      result = f.value;
    else if (f.number == 12)
      constant = f.value;
  }
  if (bytes < 0 || local)
    return;
  int64_t *sum;
  if (parameter)
    sum = &a->argument_bytes;
  else if (constant)
    sum = &a->constant_bytes;
  else if (result)
    sum = &a->result_bytes;
  else
    sum = &a->temp_bytes;
  *sum = hsc__sat_add(*sum, bytes);
}

static bool read_trace(assignment *a, hsc_view message) {
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1 || f.type != HSC_WIRE_BYTES)
      continue;
    heap_event e = {0};
    hsc_wire at = hsc_wire_of(f.bytes);
    for (hsc_wire_field g; hsc_wire_next(&at, &g);) {
      if (g.number == 1)
        e.kind = (int64_t)g.value;
      else if (g.number == 2)
        e.id = (int64_t)g.value;
      else if (g.number == 4 && g.type == HSC_WIRE_BYTES)
        e.instr = g.bytes;
      else if (g.number == 5)
        e.with = (int64_t)g.value;
    }
    if (!HSC__ADD(&a->events, e))
      return false;
  }
  return true;
}

// HloModuleProto: computations (3), their instructions (2): name (1), id (35).
static bool read_names(assignment *a, hsc_view module) {
  hsc_wire in = hsc_wire_of(module);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 3 || f.type != HSC_WIRE_BYTES)
      continue;
    hsc_wire computation = hsc_wire_of(f.bytes);
    for (hsc_wire_field g; hsc_wire_next(&computation, &g);) {
      if (g.number != 2 || g.type != HSC_WIRE_BYTES)
        continue;
      instr_name n = {0};
      hsc_wire instr = hsc_wire_of(g.bytes);
      for (hsc_wire_field h; hsc_wire_next(&instr, &h);) {
        if (h.number == 1 && h.type == HSC_WIRE_BYTES)
          n.name = h.bytes;
        else if (h.number == 35 && h.type == HSC_WIRE_VARINT)
          n.id = (int64_t)h.value;
      }
      if (!HSC__ADD(&a->names, n))
        return false;
    }
  }
  if (a->names.count)
    qsort(a->names.items, a->names.count, sizeof *a->names.items, compare_names);
  return true;
}

static bool read_assignment(assignment *a, hsc_view message) {
  hsc_wire in = hsc_wire_of(message);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.type != HSC_WIRE_BYTES)
      continue;
    if (f.number == 1 && !read_logical(a, f.bytes))
      return false;
    if (f.number == 3)
      read_allocation(a, f.bytes);
    if (f.number == 4 && !read_trace(a, f.bytes))
      return false;
  }
  return true;
}

static hsc_status *read_module(const hsc_profile_module *module, assignment *a) {
  bool ok = true;
  hsc_wire in = hsc_wire_of(module->hlo);
  for (hsc_wire_field f; ok && hsc_wire_next(&in, &f);) {
    if (f.type != HSC_WIRE_BYTES)
      continue;
    if (f.number == 1)
      ok = read_names(a, f.bytes);
    if (f.number == 3)
      ok = read_assignment(a, f.bytes);
  }
  if (!ok)
    return hsc_status_out_of_memory();
  if (a->buffers.count)
    qsort(a->buffers.items, a->buffers.count, sizeof *a->buffers.items, compare_buffers);
  for (size_t i = 0; i < a->buffers.count; i++) {
    buffer *b = &a->buffers.items[i];
    instr_name key = {.id = b->instr_id};
    const instr_name *n =
        b->instr.size || !a->names.count
            ? NULL
            : bsearch(&key, a->names.items, a->names.count, sizeof key, compare_names);
    if (n)
      b->instr = n->name;
  }
  return NULL;
}

// Walks the first `count` events: memory is in use from its holder's begin until the last of those
// that share it is given back.
static void walk_heap(assignment *a, size_t count) {
  for (size_t i = 0; i < a->buffers.count; i++) {
    a->buffers.items[i].holder = (int32_t)i;
    a->buffers.items[i].users = 0;
  }
  for (size_t i = 0; i < count; i++) {
    heap_event *e = &a->events.items[i];
    buffer *b = find_buffer(a, e->id);
    e->change = 0;
    if (!b)
      continue;
    if (e->kind == 2) {
      buffer *other = find_buffer(a, e->with);
      if (!other)
        continue;
      b->holder = other->holder;
      // given back already, and taken again
      if (a->buffers.items[b->holder].users++ == 0)
        e->change = a->buffers.items[b->holder].bytes;
      continue;
    }
    buffer *holder = &a->buffers.items[b->holder];
    if (e->kind == 0 && holder->users++ == 0)
      e->change = holder->bytes;
    if (e->kind == 1 && holder->users > 0 && --holder->users == 0)
      e->change = -holder->bytes;
  }
}

static const char *title_of(hsc__profile_view *cx, const hsc_profile_module *m) {
  return hsc_arena_printf(cx->arena, m->has_id ? "%.*s(%lld)" : "%.*s", (int)m->name.size,
                          m->name.data ? m->name.data : "", (long long)m->program_id);
}

static void put_row(
    hsc__profile_view *cx, const char *program, const char *kind, hsc_view instr, int64_t bytes) {
  hsc__memory_row(cx, program, kind, instr, bytes, -1);
}

static int by_bytes(const void *a, const void *b) {
  const buffer *x = a;
  const buffer *y = b;
  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return compare_buffers(a, b);
}

static hsc_status *rows_of(hsc__profile_view *cx, const char *program, assignment *a) {
  enum { SHOWN = 10 };
  static const hsc_view none = {0};
  put_row(cx, program, "arguments", none, a->argument_bytes);
  put_row(cx, program, "results", none, a->result_bytes);
  put_row(cx, program, "constants", none, a->constant_bytes);
  put_row(cx, program, "temporaries", none, a->temp_bytes);
  int64_t live = 0;
  int64_t peak = 0;
  walk_heap(a, a->events.count);
  size_t peak_at = 0;
  for (size_t i = 0; i < a->events.count; i++) {
    live = hsc__sat_add(live, a->events.items[i].change);
    if (live > peak) {
      peak = live;
      peak_at = i + 1;
    }
  }
  if (!a->events.count)
    return NULL;
  put_row(cx, program, "peak in use", peak_at ? a->events.items[peak_at - 1].instr : none, peak);
  walk_heap(a, peak_at);
  HSC__LIST(buffer) alive = {0};
  hsc_status *status = NULL;
  for (size_t i = 0; i < a->buffers.count; i++) {
    if (a->buffers.items[i].users > 0 && !HSC__ADD(&alive, a->buffers.items[i])) {
      status = hsc_status_out_of_memory();
      goto done;
    }
  }
  if (alive.count)
    qsort(alive.items, alive.count, sizeof *alive.items, by_bytes);
  for (size_t i = 0; i < alive.count && i < SHOWN; i++)
    put_row(cx, program, "buffer at the peak", alive.items[i].instr, alive.items[i].bytes);
  if (alive.count > SHOWN)
    hsc_table_note(cx->table, "%s: the %d biggest of %zu buffers at the peak", program, SHOWN,
                   alive.count);
done:
  hsc_free(alive.items);
  return status;
}

static hsc_status *for_programs(hsc__profile_view *cx,
                                hsc_status *(*rows)(hsc__profile_view *cx,
                                                    const char *program,
                                                    assignment *a)) {
  hsc_profile *profile = cx->profile;
  size_t shown = 0;
  for (size_t m = 0; m < profile->modules.count; m++) {
    const hsc_profile_module *module = &profile->modules.items[m];
    if (!module->hlo.size || (cx->program >= 0 && cx->program != (int32_t)m) ||
        !hsc__view_contains(module->name, cx->options->where))
      continue;
    assignment a = {0};
    hsc_status *status = read_module(module, &a);
    bool has = a.buffers.count > 0;
    if (!status && has)
      status = rows(cx, title_of(cx, module), &a);
    clear(&a);
    if (status)
      return status;
    shown += has;
  }
  if (!shown)
    hsc_table_note(cx->table,
                   "no program of the profile carries its buffers (stat 'Hlo Proto' with a buffer "
                   "assignment)");
  return NULL;
}

hsc_status *hsc__profile_view_memory(hsc__profile_view *cx) {
  hsc_table_column(cx->table, "program", "");
  hsc_table_column(cx->table, "what", "");
  hsc_table_column(cx->table, "instruction", "");
  hsc_table_column(cx->table, "size", "bytes");
  hsc_table_column(cx->table, "at", "ns");
  if (cx->program < 0)
    HSC_TRY(hsc__profile_allocator_rows(cx));
  return for_programs(cx, rows_of);
}

static const char *kind_text(int64_t kind) {
  if (kind == 0)
    return "takes";
  return kind == 1 ? "gives back" : "shares";
}

static hsc_status *timeline_of(hsc__profile_view *cx, const char *program, assignment *a) {
  int64_t live = 0;
  walk_heap(a, a->events.count);
  for (size_t i = 0; i < a->events.count && hsc__profile_room(cx); i++) {
    const heap_event *e = &a->events.items[i];
    const buffer *b = find_buffer(a, e->id);
    live = hsc__sat_add(live, e->change);
    hsc_table_row(cx->table);
    hsc_table_text(cx->table, program);
    hsc_table_int(cx->table, (int64_t)i);
    hsc__table_view(cx->table, e->instr);
    hsc_table_text(cx->table, kind_text(e->kind));
    hsc__table_view(cx->table, b ? b->instr : (hsc_view){0});
    hsc_table_int(cx->table, e->change);
    hsc_table_int(cx->table, live);
  }
  return NULL;
}

hsc_status *hsc__profile_view_memory_timeline(hsc__profile_view *cx) {
  hsc_table_column(cx->table, "program", "");
  hsc_table_column(cx->table, "event", "");
  hsc_table_column(cx->table, "at_instruction", "");
  hsc_table_column(cx->table, "does", "");
  hsc_table_column(cx->table, "buffer_of", "");
  hsc_table_column(cx->table, "change", "bytes");
  hsc_table_column(cx->table, "in_use", "bytes");
  return for_programs(cx, timeline_of);
}
