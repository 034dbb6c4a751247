// view_profile_allocations.c - memory over time as the runtime took it and gave it back: events
// MemoryAllocation and MemoryDeallocation.
//
// Source: tsl/framework/bfc_allocator.cc writes them, one for each call, with the allocator's name
// and what it has in use after it; hloscope's device does the same. What was taken before the
// profile began is known by its sum alone.
#include <stdlib.h>

#include "views/profile_memory.h"

typedef struct allocation {
  hsc_view allocator, region, op_name, shape;
  // bytes: taken; given back when negative
  int64_t at_ps, bytes, requested, in_use, peak, address;
  int32_t order;  // in the file
} allocation;

static int by_allocator(const void *a, const void *b) {
  const allocation *x = a;
  const allocation *y = b;
  size_t size = x->allocator.size < y->allocator.size ? x->allocator.size : y->allocator.size;
  int order = size ? memcmp(x->allocator.data, y->allocator.data, size) : 0;
  if (order)
    return order;
  if (x->allocator.size != y->allocator.size)
    return x->allocator.size < y->allocator.size ? -1 : 1;
  if (x->at_ps != y->at_ps)
    return x->at_ps < y->at_ps ? -1 : 1;
  return x->order - y->order;
}

static void decode(const hsc__memory_event *event, int32_t order, allocation *out) {
  *out = (allocation){.at_ps = event->at_ps, .order = order, .allocator = HSC_VIEW("device")};
  hsc_xstat_cursor at = hsc_xstats_of(event->message, HSC_XEVENT_STATS);
  int64_t reserved = 0;
  for (hsc_xstat stat; hsc_xstat_next(&at, &stat);) {
    const hsc_xstat_meta *what = hsc_xplane_stat_meta(event->plane, stat.metadata_id);
    if (!what)
      continue;
    if (hsc_view_equals_text(what->name, "allocator_name"))
      out->allocator = hsc_xstat_text(event->plane, &stat);
    else if (hsc_view_equals_text(what->name, "allocation_bytes"))
      out->bytes = hsc_xstat_int(&stat);
    else if (hsc_view_equals_text(what->name, "requested_bytes"))
      out->requested = hsc_xstat_int(&stat);
    else if (hsc_view_equals_text(what->name, "bytes_allocated"))
      out->in_use = hsc_xstat_int(&stat);
    else if (hsc_view_equals_text(what->name, "bytes_reserved"))
      reserved = hsc_xstat_int(&stat);
    else if (hsc_view_equals_text(what->name, "peak_bytes_in_use"))
      out->peak = hsc_xstat_int(&stat);
    else if (hsc_view_equals_text(what->name, "addr"))
      out->address = hsc_xstat_int(&stat);
    else if (hsc_view_equals_text(what->name, "region_type"))
      out->region = hsc_xstat_text(event->plane, &stat);
    else if (hsc_view_equals_text(what->name, "tf_op"))
      out->op_name = hsc_xstat_text(event->plane, &stat);
    else if (hsc_view_equals_text(what->name, "shape") ||
             hsc_view_equals_text(what->name, "tensor_shapes"))
      out->shape = hsc_xstat_text(event->plane, &stat);
  }
  if (out->bytes < 0)
    out->bytes = 0;
  if (event->gives_back)
    out->bytes = -out->bytes;
  out->in_use = hsc__sat_add(out->in_use, reserved);
}

static hsc_status *decode_all(hsc__profile_view *cx, allocation **out, size_t *out_count) {
  size_t count = cx->profile->memory.count;
  allocation *all = HSC_NEW_ARRAY(cx->arena, allocation, count + 1);
  if (!all)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++)
    decode(&cx->profile->memory.items[i], (int32_t)i, &all[i]);
  if (count)
    qsort(all, count, sizeof *all, by_allocator);
  *out = all;
  *out_count = count;
  return NULL;
}

hsc_status *hsc__profile_view_allocations(hsc__profile_view *cx) {
  allocation *all = NULL;
  size_t count = 0;
  HSC_TRY(decode_all(cx, &all, &count));
  hsc_table_column(cx->table, "allocator", "");
  hsc_table_column(cx->table, "at", "ns");
  hsc_table_column(cx->table, "does", "");
  hsc_table_column(cx->table, "size", "bytes");
  hsc_table_column(cx->table, "in_use", "bytes");
  hsc_table_column(cx->table, "peak", "bytes");
  hsc_table_column(cx->table, "region", "");
  hsc_table_column(cx->table, "op_name", "");
  hsc_table_column(cx->table, "shape", "");
  hsc_table_column(cx->table, "address", "");
  for (size_t i = 0; i < count && hsc__profile_room(cx); i++) {
    const allocation *a = &all[i];
    if (!hsc__view_contains(a->allocator, cx->options->where) &&
        !hsc__view_contains(a->op_name, cx->options->where))
      continue;
    hsc_table_row(cx->table);
    hsc__table_view(cx->table, a->allocator);
    hsc_table_double(cx->table, (double)a->at_ps / 1000);
    hsc_table_text(cx->table, a->bytes < 0 || cx->profile->memory.items[a->order].gives_back
                                  ? "gives back"
                                  : "takes");
    hsc_table_int(cx->table, a->bytes < 0 ? -a->bytes : a->bytes);
    hsc_table_int(cx->table, a->in_use);
    hsc_table_int(cx->table, a->peak);
    hsc__table_view(cx->table, a->region);
    hsc__table_view(cx->table, a->op_name);
    hsc__table_view(cx->table, a->shape);
    hsc_table_printf(cx->table, "0x%llx", (unsigned long long)a->address);
  }
  if (!count)
    hsc_table_note(cx->table,
                   "the runtime recorded no allocations (MemoryAllocation, MemoryDeallocation): "
                   "XLA:CPU records none; the view 'memory-timeline' shows what was planned");
  return NULL;
}

// ---- what the view 'memory' says of it ----------------------------------------------------------

static int by_size(const void *a, const void *b) {
  const allocation *x = *(const allocation *const *)a;
  const allocation *y = *(const allocation *const *)b;
  if (x->bytes != y->bytes) {
    if (x->bytes > y->bytes)
      return -1;
    return 1;
  }
  return x->order - y->order;
}

static hsc_status *allocator_rows(hsc__profile_view *cx, const allocation *all, size_t count) {
  enum { SHOWN = 10 };
  char *name = hsc_arena_strndup(cx->arena, all->allocator.data ? all->allocator.data : "",
                                 all->allocator.size);
  const allocation **alive = HSC_NEW_ARRAY(cx->arena, const allocation *, count + 1);
  if (!name || !alive)
    return hsc_status_out_of_memory();
  size_t peak = 0;
  size_t alive_count = 0;
  for (size_t i = 1; i < count; i++)
    if (all[i].in_use > all[peak].in_use)
      peak = i;
  hsc__memory_row(cx, name, "in use at the start", (hsc_view){0},
                  hsc__sat_add(all[0].in_use, -all[0].bytes), all[0].at_ps);
  hsc__memory_row(cx, name, "peak in use", all[peak].op_name, all[peak].in_use, all[peak].at_ps);
  hsc__memory_row(cx, name, "in use at the end", (hsc_view){0}, all[count - 1].in_use,
                  all[count - 1].at_ps);
  hsc_map *by_address = NULL;
  HSC_TRY(hsc_map_create(&by_address));
  hsc_status *status = NULL;
  for (size_t i = 0; i <= peak; i++) {  // the last that took an address has it
    hsc_view key = {(const char *)&all[i].address, sizeof all[i].address};
    const allocation **slot = hsc_map_get(by_address, key);
    if (slot)
      *slot = all[i].bytes > 0 ? &all[i] : NULL;
    else if (all[i].bytes > 0) {
      slot = &alive[alive_count++];
      *slot = &all[i];
      HSC_GOTO(hsc_map_put(by_address, key, (void *)(uintptr_t)slot));
    }
  }
  int64_t rest = all[peak].in_use;
  size_t kept = 0;
  for (size_t i = 0; i < alive_count; i++)
    if (alive[i]) {
      rest = hsc__sat_add(rest, -alive[i]->bytes);
      alive[kept++] = alive[i];
    }
  if (kept)
    qsort(alive, kept, sizeof *alive, by_size);
  for (size_t i = 0; i < kept && i < SHOWN; i++)
    hsc__memory_row(cx, name, "buffer at the peak",
                    alive[i]->op_name.size ? alive[i]->op_name : alive[i]->region, alive[i]->bytes,
                    alive[i]->at_ps);
  if (kept > SHOWN)
    hsc_table_note(cx->table, "%s: the %d biggest of %zu buffers at the peak", name, SHOWN, kept);
  if (rest > 0)
    hsc__memory_row(cx, name, "taken before the profile", (hsc_view){0}, rest, all[0].at_ps);
done:
  hsc_map_destroy(by_address);
  return status;
}

void hsc__memory_row(hsc__profile_view *cx,
                     const char *holder,
                     const char *what,
                     hsc_view instr,
                     int64_t bytes,
                     int64_t at_ps) {
  if (!hsc__profile_room(cx))
    return;
  hsc_table_row(cx->table);
  hsc_table_text(cx->table, holder);
  hsc_table_text(cx->table, what);
  hsc__table_view(cx->table, instr);
  hsc_table_int(cx->table, bytes);
  if (at_ps < 0)
    hsc_table_missing(cx->table);
  else
    hsc_table_double(cx->table, (double)at_ps / 1000);
}

hsc_status *hsc__profile_allocator_rows(hsc__profile_view *cx) {
  allocation *all = NULL;
  size_t count = 0;
  HSC_TRY(decode_all(cx, &all, &count));
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && hsc_view_equals(all[end].allocator, all[first].allocator);)
      end++;
    if (hsc__view_contains(all[first].allocator, cx->options->where))
      HSC_TRY(allocator_rows(cx, &all[first], end - first));
  }
  return NULL;
}
