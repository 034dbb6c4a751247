// profile_ops.c - one walk over the events: operators are summed up, steps and runs noted, host
// work kept as intervals.
//
// The walk allocates nothing per event. A line's events become records of 24 bytes (start,
// duration, operator), are put in order when they are not (some writers sort by end), and give self
// time by a stack of the open ones. Which operator an event is, is looked up by small numbers: the
// position of its metadata on a device's line of operators, or of the text that its stat hlo_op
// refers to.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "base/text/view_find.h"
#include "views/profile_internal.h"

typedef struct record {
  int64_t start, duration;
  int32_t op;        // index of the operator; -1 = none
  int32_t activity;  // of what is no operator
} record;

typedef enum name_class {
  NAME_UNKNOWN = 0,
  NAME_PLAIN,
  NAME_CLASSED,
  NAME_TAKES_MEMORY,
  NAME_GIVES_MEMORY
} name_class;

typedef struct walk {
  hsc_profile *profile;
  hsc_xspace *space;
  const hsc_xplane *plane;
  int32_t device;        // index, of the operator that is read; -1 until the first
  int32_t first_device;  // of the plane; those after it are its too
  bool is_device_plane, is_gpu;
  // [handle_count] by metadata position, then by position of the stat's metadata; -1 = none
  int32_t *first_op;
  uint8_t *name_class, *name_activity, *name_section;  // [event_meta_count]
  int64_t id_hlo_op, id_program_id, id_hlo_module, id_run_id, id_step_num, id_ordinal, id_bytes,
      id_tf_op, id_level_0, id_memcpy;
  HSC__LIST(record) records;
  bool sorted;                    // the records so far
  HSC__LIST(hsc__interval) busy;  // of operators, outermost ones; what: their device
  HSC__LIST(int64_t) stack_end;
  HSC__LIST(int32_t) stack_op;
  HSC__LIST(size_t) stack_event;  // in profile->events, where those are kept
  hsc_map *texts;                 // names of operators that are given as text, not by number
  hsc_map *runs;                  // (run id, module, device) -> index of the run
  int32_t last_run;
} walk;

// ---- devices ------------------------------------------------------------------------------------

static double plane_number(const hsc_xplane *plane, const char *name) {
  hsc_xstat stat;
  return hsc_xstat_find(plane->message, HSC_XPLANE_STATS, hsc_xplane_stat_id(plane, name), &stat)
             ? hsc_xstat_number(&stat)
             : NAN;
}

// The file's name without its extensions.
const char *hsc__space_stem(const hsc_xspace *space, hsc_arena *arena) {
  const char *name = hsc_path_file(space->path ? space->path : "");
  const char *end = strstr(name, ".xplane.pb");
  const char *stem = hsc_arena_strndup(arena, name, end ? (size_t)(end - name) : strlen(name));
  return stem ? stem : "";
}

// Which of several files an event is of: the host, where they are of as many hosts; else the file,
// which is named after its process.
static const char *space_label(const hsc_profile *profile, const hsc_xspace *space) {
  bool alone = space->hostname_count > 0;
  for (size_t i = 0; i < profile->spaces.count && alone; i++) {
    const hsc_xspace *other = profile->spaces.items[i];
    alone = other == space || !other->hostname_count ||
            !hsc_view_equals(other->hostnames[0], space->hostnames[0]);
  }
  if (alone)
    return hsc_arena_strndup(profile->arena, space->hostnames[0].data, space->hostnames[0].size);
  const char *stem = hsc__space_stem(space, profile->arena);
  return strspn(stem, "0123456789") == strlen(stem)
             ? hsc_arena_printf(profile->arena, "process %s", stem)
             : stem;
}

// The device that ran an operator becomes w->device. ordinal: on the host's plane, where operators
// tell it, else -1.
static bool add_device_of(walk *w, int64_t ordinal) {
  hsc_profile *profile = w->profile;
  if (w->device >= 0 && profile->devices.items[w->device].ordinal == ordinal)
    return true;
  for (size_t d = (size_t)w->first_device; d < profile->devices.count; d++)
    if (profile->devices.items[d].ordinal == ordinal) {
      w->device = (int32_t)d;
      return true;
    }
  hsc_xstat stat;
  hsc_view name = hsc_xplane_shown_name(w->plane);
  if (name.size > 8 && !memcmp(name.data, "/device:", 8)) {
    name.data += 8;
    name.size -= 8;
  } else if (name.size > 6 && !memcmp(name.data, "/host:", 6)) {
    name.data += 6;
    name.size -= 6;
  }
  const char *text = hsc_arena_strndup(profile->arena, name.data, name.size);
  if (profile->spaces.count > 1 && text)
    text = hsc_arena_printf(profile->arena, "%s/%s", space_label(profile, w->space), text);
  const char *type = "";
  if (hsc_xstat_find(w->plane->message, HSC_XPLANE_STATS,
                     hsc_xplane_stat_id(w->plane, "device_type_string"), &stat)) {
    hsc_view value = hsc_xstat_text(w->plane, &stat);
    type = hsc_arena_strndup(profile->arena, value.data, value.size);
  }
  hsc_profile_device device = {
      .plane = w->plane,
      .space = w->space,
      .name = text,
      .type = type,
      .ordinal = ordinal,
      .ordinal_id = hsc_xplane_stat_id(w->plane, "device_ordinal"),
      .first_ps = INT64_MAX,
      .last_ps = 0,
      .peak_flops = plane_number(w->plane, "peak_teraflops_per_second") * 1e12,
      .peak_bytes = plane_number(w->plane, "peak_hbm_bw_gigabytes_per_second") * 1e9};
  w->device = (int32_t)profile->devices.count;
  return text && type && HSC__ADD(&profile->devices, device);
}

static bool add_device(walk *w) {
  return w->device >= 0 || add_device_of(w, -1);
}

// A plane with one device, the first, is called by the platform alone; several by their ordinals.
static hsc_status *name_devices(walk *w) {
  hsc_profile *profile = w->profile;
  size_t first = (size_t)w->first_device;
  bool alone = profile->devices.count == first + 1 && profile->devices.items[first].ordinal <= 0;
  for (size_t d = first; d < profile->devices.count && !alone; d++) {
    hsc_profile_device *device = &profile->devices.items[d];
    if (device->ordinal >= 0)
      device->name =
          hsc_arena_printf(profile->arena, "%s:%lld", device->name, (long long)device->ordinal);
  }
  return hsc_arena_status(profile->arena);
}

bool hsc__profile_is_of(const hsc_profile_device *device, const hsc_xevent *event) {
  hsc_xstat stat;
  int64_t id = device->ordinal < 0 ? -1 : device->ordinal_id;
  return id < 0 || !hsc_xstat_find(event->message, HSC_XEVENT_STATS, id, &stat) ||
         hsc_xstat_int(&stat) == device->ordinal;
}

// ---- operators ----------------------------------------------------------------------------------

static hsc_profile_op blank_op(const walk *w, int32_t module) {
  return (hsc_profile_op){.device = w->device,
                          .module = module,
                          .flops = NAN,
                          .bytes = NAN,
                          .min_ps = INT64_MAX,
                          .next = -1};
}

// "scope/name:" of XLA's writers: the type that would follow is the name's last part anyway.
static hsc_view without_colon(hsc_view name) {
  if (name.size && name.data[name.size - 1] == ':')
    name.size--;
  return name;
}

// Of a device's line of operators: everything is given by the event's metadata.
static int32_t op_of_metadata(walk *w, int32_t position) {
  const hsc_xevent_meta *meta = &w->plane->event_metas[position];
  int64_t program_id = 0;
  hsc_profile_op op = blank_op(w, -1);
  hsc_view short_name = meta->display_name.size ? meta->display_name : meta->name;
  op.name = short_name;
  if (meta->display_name.size || (meta->name.size && meta->name.data[0] == '%'))
    op.text = meta->name;
  // the whole instruction: its name is the first word
  if (op.name.size && op.name.data[0] == '%') {
    size_t end = 1;
    while (end < op.name.size && op.name.data[end] != ' ')
      end++;
    op.name = (hsc_view){op.name.data + 1, end - 1};
  }
  hsc_view module_name = {0};
  bool has_program = false;
  hsc_xstat_cursor at = hsc_xstats_of(meta->message, HSC_XEVENT_META_STATS);
  for (hsc_xstat stat; hsc_xstat_next(&at, &stat);) {
    const hsc_xstat_meta *what = hsc_xplane_stat_meta(w->plane, stat.metadata_id);
    if (!what)
      continue;
    if (hsc_view_equals_text(what->name, "program_id")) {
      program_id = hsc_xstat_int(&stat);
      has_program = true;
    } else if (hsc_view_equals_text(what->name, "hlo_category"))
      op.category = hsc_xstat_text(w->plane, &stat);
    else if (hsc_view_equals_text(what->name, "flops"))
      op.flops = hsc_xstat_number(&stat);
    else if (hsc_view_equals_text(what->name, "bytes_accessed"))
      op.bytes = hsc_xstat_number(&stat);
    else if (hsc_view_equals_text(what->name, "tf_op"))
      op.op_name = without_colon(hsc_xstat_text(w->plane, &stat));
    else if (hsc_view_equals_text(what->name, "source"))
      op.source = hsc_xstat_text(w->plane, &stat);
    else if (hsc_view_equals_text(what->name, "hlo_module"))
      module_name = hsc_xstat_text(w->plane, &stat);
  }
  if (has_program || module_name.size)
    op.module =
        hsc__profile_module_of(w->profile, w->space, has_program ? &program_id : NULL, module_name);
  op.activity = hsc__activity_of_category(op.category.size ? op.category : op.name);
  if (!HSC__ADD(&w->profile->ops, op))
    return -1;
  return (int32_t)w->profile->ops.count - 1;
}

// Of an event with a stat hlo_op: by the operator's name and the program's number.
static int32_t op_of_stats(walk *w,
                           hsc_view name,
                           hsc_view module_name,
                           int64_t program_id,
                           bool has_program,
                           int32_t *first) {
  hsc_profile *profile = w->profile;
  for (int32_t i = *first; i >= 0; i = profile->ops.items[i].next) {
    const hsc_profile_op *op = &profile->ops.items[i];
    const hsc_profile_module *module = op->module >= 0 ? &profile->modules.items[op->module] : NULL;
    if (op->device != w->device)
      continue;
    bool same;
    if (!module)
      same = !has_program && !module_name.size;
    else if (has_program)
      same = module->program_id == program_id;
    else
      same = hsc_view_equals(module->name, module_name);
    if (same)
      return i;
  }
  hsc_profile_op op = blank_op(w, -1);
  op.name = name;
  if (has_program || module_name.size)
    op.module =
        hsc__profile_module_of(profile, w->space, has_program ? &program_id : NULL, module_name);
  // What frontends call an instruction (psum.3) does not tell what it is; its program does.
  const hsc_instr *instr = hsc__profile_instr(profile, &op);
  op.activity = hsc__activity_of_category(instr ? hsc_view_of(hsc_op_text(instr->op)) : name);
  op.next = *first;
  if (!HSC__ADD(&profile->ops, op))
    return -1;
  return *first = (int32_t)profile->ops.count - 1;
}

// Threads of a device work on a run at the same time: it lasts from the first of its operators to
// the end of the last.
static bool add_run(walk *w, int64_t id, int32_t module, int64_t start, int64_t end) {
  hsc_profile *profile = w->profile;
  if (w->last_run < 0 || profile->runs.items[w->last_run].id != id ||
      profile->runs.items[w->last_run].device != w->device ||
      profile->runs.items[w->last_run].module != module) {
    int64_t key[3] = {id, module, w->device};
    int32_t *at = hsc_map_get(w->runs, (hsc_view){(const char *)key, sizeof key});
    if (!at) {
      at = HSC_NEW(profile->arena, int32_t);
      const char *kept = hsc_arena_copy(profile->arena, key, sizeof key);
      if (!at || !kept || !HSC__ADD(&profile->runs, (hsc__run){w->device, module, id, start, end}))
        return false;
      *at = (int32_t)profile->runs.count - 1;
      hsc_status *status = hsc_map_put(w->runs, (hsc_view){kept, sizeof key}, at);
      if (status) {
        hsc_status_free(status);
        return false;
      }
    }
    w->last_run = *at;
  }
  hsc__run *run = &profile->runs.items[w->last_run];
  if (start < run->start_ps)
    run->start_ps = start;
  if (end > run->end_ps)
    run->end_ps = end;
  return true;
}

// ---- lines --------------------------------------------------------------------------------------

static int compare_records(const void *a, const void *b) {
  const record *x = a;
  const record *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  // what encloses is before what it encloses
  return x->duration > y->duration ? -1 : x->duration < y->duration;
}

static int section_of(const record *r) {
  if (r->op >= 0)
    return HSC__SECTION_EXECUTION;
  if (r->activity == HSC_ACTIVITY_TRANSFER)
    return HSC__SECTION_TRANSFER;
  return HSC__SECTION_CONTROL;
}

// Counts a record's time to its lane: what is busy, once, and the longest gap.
static void fold_into_lane(hsc_profile_lane *lane, const record *r, int64_t *last_end) {
  int64_t end = hsc__sat_add(r->start, r->duration);
  bool first = *last_end == INT64_MIN;
  if (first)
    lane->first_ps = r->start;
  if (!first && r->start > *last_end && r->start - *last_end > lane->gap_ps) {
    lane->gap_ps = r->start - *last_end;
    lane->gap_start_ps = *last_end;
  }
  if (!first && end <= *last_end)
    return;
  int64_t more = first || r->start > *last_end ? r->duration : end - *last_end;
  lane->busy_ps = hsc__sat_add(lane->busy_ps, more);
  *last_end = end;
}

static void fold_into_op(hsc_profile_op *op, int64_t duration) {
  op->count++;
  op->total_ps = hsc__sat_add(op->total_ps, duration);
  op->self_ps = hsc__sat_add(op->self_ps, duration);
  if (duration < op->min_ps)
    op->min_ps = duration;
  if (duration > op->max_ps)
    op->max_ps = duration;
}

// What is inside of another operator is not that one's own time.
static void take_from_outer(walk *w, const record *r) {
  hsc_profile_op *ops = w->profile->ops.items;
  int64_t outer_end = w->stack_end.items[w->stack_end.count - 1];
  hsc_profile_op *outer = &ops[w->stack_op.items[w->stack_op.count - 1]];
  bool ends_inside = hsc__sat_add(r->start, r->duration) < outer_end;
  int64_t inside = ends_inside ? r->duration : outer_end - r->start;
  outer->self_ps = outer->self_ps > inside ? outer->self_ps - inside : 0;
  if (w->profile->keep_events)
    w->profile->events.items[w->stack_event.items[w->stack_event.count - 1]].self_ps -= inside;
}

// An outermost operator makes its device busy; intervals of one kind without a gap become one.
static bool add_busy(walk *w, const record *r, const hsc_profile_op *op) {
  int64_t end = hsc__sat_add(r->start, r->duration);
  hsc__interval *last = w->busy.count ? &w->busy.items[w->busy.count - 1] : NULL;
  if (last && last->activity == (int32_t)op->activity && last->what == op->device &&
      last->end == r->start) {
    last->end = end;
    return true;
  }
  return HSC__ADD(&w->busy, (hsc__interval){r->start, end, (int32_t)op->activity, op->device});
}

// Operators of a lane nest: a stack holds those that are open.
static bool fold_op(walk *w, const record *r) {
  hsc_profile_op *op = &w->profile->ops.items[r->op];
  bool keep = w->profile->keep_events;
  fold_into_op(op, r->duration);
  if (keep && !HSC__ADD(&w->profile->events, (hsc__op_event){r->start, r->duration, r->op}))
    return false;
  while (w->stack_end.count && w->stack_end.items[w->stack_end.count - 1] <= r->start) {
    w->stack_end.count--;
    w->stack_op.count--;
    w->stack_event.count -= keep;
  }
  if (w->stack_end.count)
    take_from_outer(w, r);
  else if (!add_busy(w, r, op))
    return false;
  if (r->duration <= 0)
    return true;
  if (!HSC__ADD(&w->stack_end, hsc__sat_add(r->start, r->duration)) ||
      !HSC__ADD(&w->stack_op, r->op))
    return false;
  return !keep || HSC__ADD(&w->stack_event, w->profile->events.count - 1);
}

// Self times and outermost intervals of the records of one line, all of them or those of one
// section.
static bool fold_line(walk *w, hsc_profile_lane *lane, bool all) {
  record *records = w->records.items;
  size_t count = w->records.count;
  if (!w->sorted)
    qsort(records, count, sizeof *records, compare_records);
  w->sorted = true;
  w->stack_end.count = w->stack_op.count = w->stack_event.count = 0;
  int64_t last_end = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    const record *r = &records[i];
    if (!all && section_of(r) != lane->section)
      continue;
    fold_into_lane(lane, r, &last_end);
    if (r->op >= 0) {
      if (!fold_op(w, r))
        return false;
    } else if (r->activity != HSC_ACTIVITY_IDLE) {
      hsc__interval host = {r->start, hsc__sat_add(r->start, r->duration), r->activity, -1};
      if (!HSC__ADD(&w->profile->host, host))
        return false;
    }
  }
  lane->last_ps = last_end == INT64_MIN ? 0 : last_end;
  if (lane->last_ps > w->profile->span_ps)
    w->profile->span_ps = lane->last_ps;
  return true;
}

static bool add_record(
    walk *w, const hsc_xline *line, const hsc_xevent *event, int32_t op, int32_t activity) {
  record r = {hsc__profile_time(w->profile, line, event->offset_ps),
              event->duration_ps > 0 ? event->duration_ps : 0, op, activity};
  w->sorted &=
      !w->records.count || compare_records(&w->records.items[w->records.count - 1], &r) <= 0;
  return HSC__ADD(&w->records, r);
}

// "XLA Ops": every event is an operator.
static bool read_ops_line(walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent event; hsc_xevent_next(&at, &event);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event.metadata_id);
    int32_t op;
    if (meta) {
      int32_t position = (int32_t)(meta - w->plane->event_metas);
      op = w->first_op[position];
      if (op < 0)
        op = w->first_op[position] = op_of_metadata(w, position);
    } else {  // a file that was cut: its metadata are gone
      const char *name =
          hsc_arena_printf(w->profile->arena, "event %lld", (long long)event.metadata_id);
      int32_t *slot = hsc_map_get(w->texts, hsc_view_of(name));
      if (!slot) {
        slot = HSC_NEW(w->profile->arena, int32_t);
        if (!slot || !name)
          return false;
        *slot = -1;
        hsc_status *status = hsc_map_put(w->texts, hsc_view_of(name), slot);
        if (status) {
          hsc_status_free(status);
          return false;
        }
      }
      op = op_of_stats(w, hsc_view_of(name), (hsc_view){0}, 0, false, slot);
    }
    lane->events++;
    if (op < 0 || !add_record(w, line, &event, op, HSC_ACTIVITY_COMPUTE))
      return false;
  }
  return true;
}

static bool read_steps_line(walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent event; hsc_xevent_next(&at, &event);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event.metadata_id);
    int64_t start = hsc__profile_time(w->profile, line, event.offset_ps);
    int64_t number = lane->events++;
    char text[24];
    size_t size;
    if (meta) {
      if (meta->name.size < sizeof text)
        size = meta->name.size;
      else
        size = sizeof text - 1;
    } else
      size = 0;
    if (size) {
      memcpy(text, meta->name.data, size);
      text[size] = 0;
      char *end;
      long long parsed = strtoll(text, &end, 10);
      if (end != text && !*end)
        number = parsed;
    }
    hsc_profile_step step = {
        .device = w->device,
        .number = number,
        .start_ps = start,
        .end_ps = hsc__sat_add(start, event.duration_ps > 0 ? event.duration_ps : 0)};
    if (!HSC__ADD(&w->profile->steps, step) || !add_record(w, line, &event, -1, HSC_ACTIVITY_IDLE))
      return false;
  }
  return true;
}

static bool read_modules_line(walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent event; hsc_xevent_next(&at, &event);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event.metadata_id);
    if (!add_record(w, line, &event, -1, HSC_ACTIVITY_IDLE))
      return false;
    lane->events++;
    if (!meta)
      continue;
    // "module(number)"
    hsc_view name = meta->name;
    int64_t id = 0;
    size_t open = name.size;
    while (open > 0 && name.data[open - 1] != '(')
      open--;
    for (size_t i = open; open && i < name.size && name.data[i] >= '0' && name.data[i] <= '9'; i++)
      id = (int64_t)((uint64_t)id * 10 + (uint64_t)(name.data[i] - '0'));
    bool has_id = open && open < name.size && name.data[open] >= '0' && name.data[open] <= '9';
    int32_t module = hsc__profile_module_of(w->profile, w->space, has_id ? &id : NULL,
                                            open ? (hsc_view){name.data, open - 1} : name);
    if (module < 0)
      return false;
    hsc_profile_module *m = &w->profile->modules.items[module];
    m->run_count++;
    m->run_ps = hsc__sat_add(m->run_ps, event.duration_ps > 0 ? event.duration_ps : 0);
    int64_t start = hsc__profile_time(w->profile, line, event.offset_ps);
    if (!HSC__ADD(&w->profile->runs,
                  (hsc__run){w->device, module, lane->events, start,
                             hsc__sat_add(start, event.duration_ps > 0 ? event.duration_ps : 0)}))
      return false;
  }
  return true;
}

const hsc__host_name *hsc__host_name_of(hsc_view name) {
  static const hsc__host_name rows[] = {
#define HOST_EVENT(part, activity, section) {part, HSC_ACTIVITY_##activity, HSC__SECTION_##section},
#include "trace/host_events.def"
#undef HOST_EVENT
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++)
    if (hsc__view_contains(name, rows[i].part))
      return &rows[i];
  return NULL;
}

static void class_of_name(walk *w, int32_t position) {
  hsc_view name = w->plane->event_metas[position].name;
  const hsc__host_name *row = hsc__host_name_of(name);
  if (row)
    w->name_class[position] = NAME_CLASSED;
  else if (hsc_view_equals_text(name, "MemoryAllocation"))
    w->name_class[position] = NAME_TAKES_MEMORY;
  else if (hsc_view_equals_text(name, "MemoryDeallocation"))
    w->name_class[position] = NAME_GIVES_MEMORY;
  else
    w->name_class[position] = NAME_PLAIN;
  w->name_activity[position] = row ? row->activity : HSC_ACTIVITY_HOST;
  w->name_section[position] = row ? row->section : HSC__SECTION_CONTROL;
}

typedef struct event_stats {
  hsc_xstat hlo_op, hlo_module;
  int64_t program_id, run_id, step_num, bytes;
  int64_t ordinal;  // -1 = not reported
  bool has_program, has_run, has_step;
} event_stats;

static void read_stats(const walk *w, const hsc_xevent *event, event_stats *out) {
  *out = (event_stats){.ordinal = -1};
  hsc_xstat_cursor at = hsc_xstats_of(event->message, HSC_XEVENT_STATS);
  for (hsc_xstat stat; hsc_xstat_next(&at, &stat);) {
    int64_t id = stat.metadata_id;
    if (id == w->id_hlo_op && !out->hlo_op.kind)
      out->hlo_op = stat;
    else if (id == w->id_program_id && !out->has_program) {
      out->program_id = hsc_xstat_int(&stat);
      out->has_program = true;
    } else if (id == w->id_hlo_module && !out->hlo_module.kind)
      out->hlo_module = stat;
    else if (id == w->id_run_id && !out->has_run) {
      out->run_id = hsc_xstat_int(&stat);
      out->has_run = true;
    } else if (id == w->id_step_num && !out->has_step) {
      out->step_num = hsc_xstat_int(&stat);
      out->has_step = true;
    } else if (id == w->id_ordinal && out->ordinal < 0)
      out->ordinal = hsc_xstat_int(&stat);
    else if (id == w->id_bytes && !out->bytes)
      out->bytes = hsc_xstat_int(&stat);
  }
}

static int32_t op_of_event(walk *w, const event_stats *stats) {
  if (w->is_device_plane ? !add_device(w) : !add_device_of(w, stats->ordinal))
    return -1;
  hsc_view module_name =
      stats->hlo_module.kind ? hsc_xstat_text(w->plane, &stats->hlo_module) : (hsc_view){0};
  if (stats->hlo_op.kind == HSC_XSTAT_REF) {
    const hsc_xstat_meta *name = hsc_xplane_stat_meta(w->plane, (int64_t)stats->hlo_op.u);
    if (name)
      return op_of_stats(w, name->name, module_name, stats->program_id, stats->has_program,
                         &w->first_op[w->plane->event_meta_count + (name - w->plane->stat_metas)]);
  }
  hsc_view text = hsc_xstat_text(w->plane, &stats->hlo_op);
  int32_t *slot = hsc_map_get(w->texts, text);
  if (!slot) {
    slot = HSC_NEW(w->profile->arena, int32_t);
    if (!slot)
      return -1;
    *slot = -1;
    hsc_status *status = hsc_map_put(w->texts, text, slot);
    if (status) {
      hsc_status_free(status);
      return -1;
    }
  }
  return op_of_stats(w, text, module_name, stats->program_id, stats->has_program, slot);
}

// A kernel of a GPU's stream that no HLO instruction stands behind (TensorFlow without XLA): one
// operator for each name of the framework.
static int32_t op_of_kernel(walk *w, const hsc_xevent *event, hsc_view kernel) {
  if (!add_device(w))
    return -1;
  hsc_xstat stat;
  hsc_view op_name = {0};
  if (hsc_xstat_find(event->message, HSC_XEVENT_STATS, w->id_tf_op, &stat) ||
      hsc_xstat_find(event->message, HSC_XEVENT_STATS, w->id_level_0, &stat))
    op_name = without_colon(hsc_xstat_text(w->plane, &stat));
  // both are the file's own bytes, at places of their own: what they say is compared, not where
  hsc_view parts[2] = {kernel, op_name};
  hsc_bytes key = {0};
  hsc_bytes_append(&key, parts[0].data ? parts[0].data : "", parts[0].size);
  hsc_bytes_append_char(&key, '\0');
  hsc_bytes_append(&key, parts[1].data ? parts[1].data : "", parts[1].size);
  int32_t *slot = key.failed ? NULL : hsc_map_get(w->texts, hsc_bytes_view(&key));
  if (slot || key.failed) {
    hsc_bytes_deinit(&key);
    return slot ? *slot : -1;
  }
  hsc_profile_op op = blank_op(w, -1);
  op.name = kernel;
  op.op_name = op_name;
  op.category = HSC_VIEW("kernel");
  op.activity = hsc__activity_of_category(kernel);
  slot = HSC_NEW(w->profile->arena, int32_t);
  const char *kept = hsc_arena_copy(w->profile->arena, key.data, key.size);
  hsc_view kept_key = {kept, key.size};
  hsc_bytes_deinit(&key);
  if (!slot || !kept || !HSC__ADD(&w->profile->ops, op))
    return -1;
  hsc_status *status = hsc_map_put(w->texts, kept_key, slot);
  if (status) {
    hsc_status_free(status);
    return -1;
  }
  return *slot = (int32_t)w->profile->ops.count - 1;
}

// "size:112 dest:4 async:0", "kind_src:pageable kind_dst:device size:112 ..." -> 112
static int64_t memcpy_bytes(const walk *w, const hsc_xevent *event) {
  hsc_xstat stat;
  if (!hsc_xstat_find(event->message, HSC_XEVENT_STATS, w->id_memcpy, &stat))
    return -1;
  hsc_view text = hsc_xstat_text(w->plane, &stat);
  const char *at = hsc_view_find(text, "size:");
  int64_t bytes = 0;
  for (at = at ? at + 5 : NULL;
       at && at < text.data + text.size && *at >= '0' && *at <= '9' && bytes < (int64_t)1 << 56;
       at++)
    bytes = 10 * bytes + (*at - '0');
  return bytes;
}

static bool add_memory_event(walk *w, const hsc_xline *line, const hsc_xevent *event, bool gives) {
  hsc__memory_event memory = {w->plane, event->message,
                              hsc__profile_time(w->profile, line, event->offset_ps), gives};
  return HSC__ADD(&w->profile->memory, memory) && add_record(w, line, event, -1, HSC_ACTIVITY_IDLE);
}

// An operator by its stats, and the run of its program that it is of.
static bool add_stats_op(walk *w,
                         const hsc_xline *line,
                         const hsc_xevent *event,
                         const event_stats *stats) {
  int32_t op = op_of_event(w, stats);
  if (op < 0 || !add_record(w, line, event, op, HSC_ACTIVITY_COMPUTE))
    return false;
  if (!stats->has_run)
    return true;
  const record *r = &w->records.items[w->records.count - 1];
  return add_run(w, stats->run_id, w->profile->ops.items[op].module, r->start,
                 hsc__sat_add(r->start, r->duration));
}

static bool add_host_step(walk *w,
                          const hsc_xline *line,
                          const hsc_xevent *event,
                          const event_stats *stats) {
  int64_t start = hsc__profile_time(w->profile, line, event->offset_ps);
  hsc_profile_step step = {
      .device = -1,
      .number = stats->step_num,
      .start_ps = start,
      .end_ps = hsc__sat_add(start, event->duration_ps > 0 ? event->duration_ps : 0)};
  return HSC__ADD(&w->profile->host_steps, step);
}

// What a line holds, event by event, for the choice of its section.
typedef struct mixed_line {
  const hsc_xline *line;
  hsc_profile_lane *lane;
  size_t transfers, ops;  // events
  bool may_have_stats;
  bool may_be_kernels;  // a stream of a GPU: kernels by name, copies by size
} mixed_line;

static bool read_mixed_event(walk *w, mixed_line *m, const hsc_xevent *event) {
  const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event->metadata_id);
  int32_t position = meta ? (int32_t)(meta - w->plane->event_metas) : -1;
  if (position >= 0 && w->name_class[position] == NAME_UNKNOWN)
    class_of_name(w, position);
  int class = position >= 0 ? (int)w->name_class[position] : (int)NAME_UNKNOWN;
  int32_t activity = position >= 0 ? w->name_activity[position] : HSC_ACTIVITY_HOST;
  event_stats stats = {0};
  m->lane->events++;
  if (position >= 0 && class >= (int)NAME_TAKES_MEMORY)
    return add_memory_event(w, m->line, event, class == (int)NAME_GIVES_MEMORY);
  bool is_idle = class == (int)NAME_CLASSED && activity == HSC_ACTIVITY_IDLE;
  if (event->has_stats && m->may_have_stats && !is_idle)
    read_stats(w, event, &stats);
  if (stats.hlo_op.kind) {
    m->ops++;
    return add_stats_op(w, m->line, event, &stats);
  }
  if (stats.has_step && !add_host_step(w, m->line, event, &stats))
    return false;
  if (m->may_be_kernels && meta) {
    int64_t copied = memcpy_bytes(w, event);
    if (copied < 0) {
      int32_t op = op_of_kernel(w, event, meta->name);
      m->ops++;
      return op >= 0 && add_record(w, m->line, event, op, HSC_ACTIVITY_COMPUTE);
    }
    activity = HSC_ACTIVITY_TRANSFER;
    stats.bytes = copied;
  }
  if (activity == HSC_ACTIVITY_TRANSFER) {
    m->transfers++;
    m->lane->bytes = hsc__sat_add(m->lane->bytes, stats.bytes);
  }
  return add_record(w, m->line, event, -1, activity);
}

// Any other line: operators where a stat says so, steps where a stat counts them, host work by
// name. A line that has operators is one of execution.
static bool read_mixed_line(walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  mixed_line m = {
      .line = line,
      .lane = lane,
      .may_have_stats = w->id_hlo_op >= 0 || w->id_step_num >= 0 || w->id_bytes >= 0,
      .may_be_kernels = w->is_gpu && line->name.size > 7 && !memcmp(line->name.data, "Stream ", 7)};
  w->last_run = -1;
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent event; hsc_xevent_next(&at, &event);)
    if (!read_mixed_event(w, &m, &event))
      return false;
  if (m.ops)
    lane->section = HSC__SECTION_EXECUTION;
  else if (2 * m.transfers > (size_t)lane->events)
    lane->section = HSC__SECTION_TRANSFER;
  else
    lane->section = HSC__SECTION_CONTROL;
  return true;
}

static bool is_derived(hsc_view name) {  // made by viewers from other lines
  return hsc_view_equals_text(name, "Framework Name Scope") ||
         hsc_view_equals_text(name, "Framework Ops") || hsc_view_equals_text(name, "Source code") ||
         hsc_view_equals_text(name, "TensorFlow Name Scope") ||
         hsc_view_equals_text(name, "TensorFlow Ops");
}

// A line of a device that is none of XLA's: engines, streams, asynchronous copies. What is no
// operator there makes a lane, but is no work of the host.
static bool read_engine_line(walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  bool ok = read_mixed_line(w, line, lane);
  bool moves = hsc__view_contains(line->name, "Async") || hsc__view_contains(line->name, "DMA");
  if (lane->section == HSC__SECTION_CONTROL)
    lane->section = moves ? HSC__SECTION_TRANSFER : HSC__SECTION_EXECUTION;
  for (size_t i = 0; i < w->records.count; i++) {
    record *r = &w->records.items[i];
    if (r->op < 0 && !(w->is_gpu && r->activity == HSC_ACTIVITY_TRANSFER))
      r->activity = HSC_ACTIVITY_IDLE;
  }
  return ok;
}

static bool read_device_line(walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  if (hsc_view_equals_text(line->name, "XLA Ops"))
    return add_device(w) && read_ops_line(w, line, lane);
  bool steps = hsc_view_equals_text(line->name, "Steps");
  if (!steps && !hsc_view_equals_text(line->name, "XLA Modules"))
    return read_engine_line(w, line, lane);
  lane->section = HSC__SECTION_PROCESS;
  if (!add_device(w))
    return false;
  return steps ? read_steps_line(w, line, lane) : read_modules_line(w, line, lane);
}

// The lane, or where a thread called the runtime, copied and ran operators, a lane for each.
static bool add_lanes(walk *w, hsc_profile_lane *lane, bool may_be_several) {
  int64_t parts[HSC__SECTION_COUNT] = {0};
  for (size_t i = 0; may_be_several && i < w->records.count; i++)
    parts[section_of(&w->records.items[i])]++;
  int several = (parts[HSC__SECTION_CONTROL] > 0) + (parts[HSC__SECTION_EXECUTION] > 0) +
                (parts[HSC__SECTION_TRANSFER] > 0);
  if (several < 2)
    return fold_line(w, lane, true) && (!lane->events || HSC__ADD(&w->profile->lanes, *lane));
  for (int section = 0; section < HSC__SECTION_COUNT; section++) {
    if (!parts[section])
      continue;
    hsc_profile_lane part = *lane;
    part.section = section;
    part.events = parts[section];
    part.bytes = section == HSC__SECTION_TRANSFER ? lane->bytes : 0;
    if (!fold_line(w, &part, false) || !HSC__ADD(&w->profile->lanes, part))
      return false;
  }
  return true;
}

static bool read_line(walk *w, const hsc_xline *line) {
  hsc_profile_lane lane = {
      .space = w->space, .plane = w->plane, .line = line, .section = HSC__SECTION_EXECUTION};
  hsc_view name = line->display_name.size ? line->display_name : line->name;
  if (is_derived(name) || hsc_view_equals_text(name, "memory, shown by hloscope"))
    return true;
  w->records.count = 0;
  w->sorted = true;
  hsc_xspace_need(w->space, line->message);
  bool ok = w->is_device_plane ? read_device_line(w, line, &lane) : read_mixed_line(w, line, &lane);
  lane.name = hsc_arena_strndup(w->profile->arena, name.data ? name.data : "", name.size);
  hsc_view shown = hsc_xplane_shown_name(w->plane);
  lane.device = hsc_arena_strndup(w->profile->arena, shown.data ? shown.data : "", shown.size);
  ok = ok && add_lanes(w, &lane, !w->is_device_plane);
  hsc_xspace_done_with(w->space, line->message);
  return ok;
}

// Custom planes are what a runtime says about itself: its threads count as the host's.
static bool is_device(const hsc_xplane *plane) {
  return plane->name.size > 8 && !memcmp(plane->name.data, "/device:", 8) &&
         !(plane->name.size > 15 && !memcmp(plane->name.data, "/device:CUSTOM:", 15));
}

static int by_device(const void *a, const void *b) {
  const hsc__interval *x = a;
  const hsc__interval *y = b;
  return (x->what > y->what) - (x->what < y->what);
}

// The busy time of each device of the plane, and its steps.
static hsc_status *account(walk *w, size_t first_step) {
  hsc_profile *profile = w->profile;
  hsc__interval *all = w->busy.items;
  size_t devices = profile->devices.count - (size_t)w->first_device;
  size_t at = 0;
  if (devices > 1 && w->busy.count)
    qsort(all, w->busy.count, sizeof *all, by_device);
  for (size_t d = (size_t)w->first_device; d < profile->devices.count; d++) {
    size_t count = 0;
    for (; at + count < w->busy.count && all[at + count].what == (int32_t)d; count++)
      all[at + count].what = -1;
    size_t from = d == (size_t)w->first_device ? first_step : profile->steps.count;
    HSC_TRY(hsc__profile_account(profile, (int32_t)d, all + at, count, from));
    at += count;
  }
  return NULL;
}

// `kept` holds the lists of the planes before: their memory is used again.
static hsc_status *read_plane(hsc_profile *profile,
                              hsc_xspace *space,
                              const hsc_xplane *plane,
                              walk *kept) {
  if (!plane->line_count)
    return NULL;
  walk w = {.profile = profile,
            .space = space,
            .plane = plane,
            .device = -1,
            .first_device = (int32_t)profile->devices.count,
            .last_run = -1,
            .is_device_plane = is_device(plane)};
  w.records.items = kept->records.items;
  w.records.capacity = kept->records.capacity;
  w.busy.items = kept->busy.items;
  w.busy.capacity = kept->busy.capacity;
  size_t handles = (size_t)plane->event_meta_count + (size_t)plane->stat_meta_count;
  size_t names = (size_t)plane->event_meta_count;
  hsc_status *status = NULL;
  size_t first_step = profile->steps.count;
  w.id_hlo_op = hsc_xplane_stat_id(plane, "hlo_op");
  w.id_program_id = hsc_xplane_stat_id(plane, "program_id");
  w.id_hlo_module = hsc_xplane_stat_id(plane, "hlo_module");
  w.id_run_id = hsc_xplane_stat_id(plane, "run_id");
  w.id_step_num = hsc_xplane_stat_id(plane, "step_num");
  w.id_bytes = hsc_xplane_stat_id(plane, "bytes");
  w.id_ordinal = hsc_xplane_stat_id(plane, "device_ordinal");
  w.is_gpu = plane->name.size > 12 && !memcmp(plane->name.data, "/device:GPU:", 12);
  w.id_tf_op = hsc_xplane_stat_id(plane, "tf_op");
  w.id_level_0 = hsc_xplane_stat_id(plane, "level 0");
  w.id_memcpy = hsc_xplane_stat_id(plane, "memcpy_details");
  w.first_op = hsc_alloc((handles + 1) * sizeof *w.first_op);
  w.name_class = hsc_alloc(3 * names + 1);
  w.name_activity = w.name_class ? w.name_class + names : NULL;
  w.name_section = w.name_class ? w.name_class + 2 * names : NULL;
  if (!w.first_op || !w.name_class)
    HSC_GOTO(hsc_status_out_of_memory());
  memset(w.first_op, 0xff, (handles + 1) * sizeof *w.first_op);
  HSC_GOTO(hsc_map_create(&w.texts));
  HSC_GOTO(hsc_map_create(&w.runs));
  for (int32_t l = 0; l < plane->line_count; l++)
    if (!read_line(&w, &plane->lines[l]))
      HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(name_devices(&w));
  HSC_GOTO(account(&w, first_step));
done:
  hsc_free(w.first_op);
  hsc_free(w.name_class);
  kept->records.items = w.records.items;
  kept->records.capacity = w.records.capacity;
  kept->busy.items = w.busy.items;
  kept->busy.capacity = w.busy.capacity;
  hsc_free(w.stack_end.items);
  hsc_free(w.stack_op.items);
  hsc_free(w.stack_event.items);
  hsc_map_destroy(w.texts);
  hsc_map_destroy(w.runs);
  return status;
}

// Host planes come first: their steps stand in for those that devices do not have, and what the
// host did fills the devices' idle time.
hsc_status *hsc__profile_read_space(hsc_profile *profile, hsc_xspace *space) {
  walk kept = {0};
  hsc_status *status = NULL;
  for (int32_t pass = 0; pass < 2 && !status; pass++)
    for (int32_t p = 0; p < space->plane_count && !status; p++) {
      const hsc_xplane *plane = &space->planes[p];
      // made from other planes of this file, for TensorBoard
      if (hsc_xplane_stat_id(plane, "hloscope_thread") >= 0)
        continue;
      if (is_device(plane) == (pass == 1))
        status = read_plane(profile, space, plane, &kept);
    }
  hsc_free(kept.records.items);
  hsc_free(kept.busy.items);
  return status;
}
