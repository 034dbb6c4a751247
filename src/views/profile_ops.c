// profile_ops.c - one walk over the events: operators are summed up, steps and runs noted, host
// work kept as intervals.
//
// How to read: from the bottom. Planes of the host come first, then those of devices; each line is
// read by what it is (operators, steps, programs, or a mix that is told apart event by event). The
// walk allocates nothing per event: a line's events become records of 24 bytes (start, duration,
// operator), which are put in order when they are not (some writers sort by end) and are summed up
// in profile_fold.c by a stack of the open ones.
#include <stdlib.h>

#include "base/text/text.h"
#include "base/text/view_find.h"
#include "views/profile_walk.h"

typedef enum name_class {
  NAME_UNKNOWN = 0,
  NAME_PLAIN,
  NAME_CLASSED,
  NAME_TAKES_MEMORY,
  NAME_GIVES_MEMORY
} name_class;

static bool add_record(
    hsc__walk *w, const hsc_xline *line, const hsc_xevent *event, int32_t op, int32_t activity) {
  hsc__walk_record r = {hsc__profile_time(w->profile, line, event->offset_ps),
                        event->duration_ps > 0 ? event->duration_ps : 0, op, activity};
  w->sorted &=
      !w->records.count || hsc__walk_compare(&w->records.items[w->records.count - 1], &r) <= 0;
  return HSC__ADD(&w->records, r);
}

// "XLA Ops": every event is an operator.
static bool read_ops_line(hsc__walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent event; hsc_xevent_next(&at, &event);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event.metadata_id);
    int32_t op;
    if (meta) {
      int32_t position = (int32_t)(meta - w->plane->event_metas);
      op = w->first_op[position];
      if (op < 0)
        op = w->first_op[position] = hsc__walk_op_of_metadata(w, position);
    } else {
      op = hsc__walk_op_of_number(w, event.metadata_id);
    }
    lane->events++;
    if (op < 0 || !add_record(w, line, &event, op, HSC_ACTIVITY_COMPUTE))
      return false;
  }
  return true;
}

// A step's name is its number; any other name leaves the count of those before it.
static void step_number(hsc_view name, int64_t *io_number) {
  char text[24];
  size_t size = name.size < sizeof text ? name.size : sizeof text - 1;
  if (size)
    memcpy(text, name.data, size);
  text[size] = 0;
  char *end;
  long long parsed = strtoll(text, &end, 10);
  if (end != text && !*end)
    *io_number = parsed;
}

static bool read_steps_line(hsc__walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent event; hsc_xevent_next(&at, &event);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event.metadata_id);
    int64_t start = hsc__profile_time(w->profile, line, event.offset_ps);
    int64_t number = lane->events++;
    if (meta)
      step_number(meta->name, &number);
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

// "module(number)"; the number is the program's.
static int32_t module_of_line_event(hsc__walk *w, hsc_view name) {
  int64_t id = 0;
  size_t open = name.size;
  while (open > 0 && name.data[open - 1] != '(')
    open--;
  for (size_t i = open; open && i < name.size && name.data[i] >= '0' && name.data[i] <= '9'; i++)
    id = (int64_t)((uint64_t)id * 10 + (uint64_t)(name.data[i] - '0'));
  bool has_id = open && open < name.size && name.data[open] >= '0' && name.data[open] <= '9';
  return hsc__profile_module_of(w->profile, w->space, has_id ? &id : NULL,
                                open ? (hsc_view){name.data, open - 1} : name);
}

static bool read_modules_line(hsc__walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  hsc_xevent_cursor at = hsc_xline_events(line);
  for (hsc_xevent event; hsc_xevent_next(&at, &event);) {
    const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event.metadata_id);
    if (!add_record(w, line, &event, -1, HSC_ACTIVITY_IDLE))
      return false;
    lane->events++;
    if (!meta)
      continue;
    int32_t module = module_of_line_event(w, meta->name);
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

static void class_of_name(hsc__walk *w, int32_t position) {
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
}

static void read_stats(const hsc__walk *w, const hsc_xevent *event, hsc__walk_stats *out) {
  *out = (hsc__walk_stats){.ordinal = -1};
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

// "size:112 dest:4 async:0", "kind_src:pageable kind_dst:device size:112 ..." -> 112
static int64_t memcpy_bytes(const hsc__walk *w, const hsc_xevent *event) {
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

static bool add_memory_event(hsc__walk *w,
                             const hsc_xline *line,
                             const hsc_xevent *event,
                             bool gives) {
  hsc__memory_event memory = {w->plane, event->message,
                              hsc__profile_time(w->profile, line, event->offset_ps), gives};
  return HSC__ADD(&w->profile->memory, memory) && add_record(w, line, event, -1, HSC_ACTIVITY_IDLE);
}

// An operator by its stats, and the run of its program that it is of.
static bool add_stats_op(hsc__walk *w,
                         const hsc_xline *line,
                         const hsc_xevent *event,
                         const hsc__walk_stats *stats) {
  int32_t op = hsc__walk_op_of_event(w, stats);
  if (op < 0 || !add_record(w, line, event, op, HSC_ACTIVITY_COMPUTE))
    return false;
  if (!stats->has_run)
    return true;
  const hsc__walk_record *r = &w->records.items[w->records.count - 1];
  return hsc__walk_add_run(w, stats->run_id, w->profile->ops.items[op].module, r->start,
                           hsc__sat_add(r->start, r->duration));
}

static bool add_host_step(hsc__walk *w,
                          const hsc_xline *line,
                          const hsc_xevent *event,
                          const hsc__walk_stats *stats) {
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

static bool read_mixed_event(hsc__walk *w, mixed_line *m, const hsc_xevent *event) {
  const hsc_xevent_meta *meta = hsc_xplane_event_meta(w->plane, event->metadata_id);
  int32_t position = meta ? (int32_t)(meta - w->plane->event_metas) : -1;
  if (position >= 0 && w->name_class[position] == NAME_UNKNOWN)
    class_of_name(w, position);
  int class = position >= 0 ? (int)w->name_class[position] : (int)NAME_UNKNOWN;
  int32_t activity = position >= 0 ? w->name_activity[position] : HSC_ACTIVITY_HOST;
  hsc__walk_stats stats = {0};
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
      int32_t op = hsc__walk_op_of_kernel(w, event, meta->name);
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
static bool read_mixed_line(hsc__walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
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
static bool read_engine_line(hsc__walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  bool ok = read_mixed_line(w, line, lane);
  bool moves = hsc__view_contains(line->name, "Async") || hsc__view_contains(line->name, "DMA");
  if (lane->section == HSC__SECTION_CONTROL)
    lane->section = moves ? HSC__SECTION_TRANSFER : HSC__SECTION_EXECUTION;
  for (size_t i = 0; i < w->records.count; i++) {
    hsc__walk_record *r = &w->records.items[i];
    if (r->op < 0 && !(w->is_gpu && r->activity == HSC_ACTIVITY_TRANSFER))
      r->activity = HSC_ACTIVITY_IDLE;
  }
  return ok;
}

static bool read_device_line(hsc__walk *w, const hsc_xline *line, hsc_profile_lane *lane) {
  if (hsc_view_equals_text(line->name, "XLA Ops"))
    return hsc__walk_device(w) && read_ops_line(w, line, lane);
  bool steps = hsc_view_equals_text(line->name, "Steps");
  if (!steps && !hsc_view_equals_text(line->name, "XLA Modules"))
    return read_engine_line(w, line, lane);
  lane->section = HSC__SECTION_PROCESS;
  if (!hsc__walk_device(w))
    return false;
  return steps ? read_steps_line(w, line, lane) : read_modules_line(w, line, lane);
}

// The lane, or where a thread called the runtime, copied and ran operators, a lane for each.
static bool add_lanes(hsc__walk *w, hsc_profile_lane *lane, bool may_be_several) {
  int64_t parts[HSC__SECTION_COUNT] = {0};
  for (size_t i = 0; may_be_several && i < w->records.count; i++)
    parts[hsc__walk_section_of(&w->records.items[i])]++;
  int several = (parts[HSC__SECTION_CONTROL] > 0) + (parts[HSC__SECTION_EXECUTION] > 0) +
                (parts[HSC__SECTION_TRANSFER] > 0);
  if (several < 2)
    return hsc__walk_fold_line(w, lane, true) &&
           (!lane->events || HSC__ADD(&w->profile->lanes, *lane));
  for (int section = 0; section < HSC__SECTION_COUNT; section++) {
    if (!parts[section])
      continue;
    hsc_profile_lane part = *lane;
    part.section = section;
    part.events = parts[section];
    part.bytes = section == HSC__SECTION_TRANSFER ? lane->bytes : 0;
    if (!hsc__walk_fold_line(w, &part, false) || !HSC__ADD(&w->profile->lanes, part))
      return false;
  }
  return true;
}

static bool read_line(hsc__walk *w, const hsc_xline *line) {
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
static hsc_status *account(hsc__walk *w, size_t first_step) {
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
                              hsc__walk *kept) {
  if (!plane->line_count)
    return NULL;
  hsc__walk w = {.profile = profile,
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
  w.name_class = hsc_alloc(2 * names + 1);
  w.name_activity = w.name_class ? w.name_class + names : NULL;
  if (!w.first_op || !w.name_class)
    HSC_GOTO(hsc_status_out_of_memory());
  memset(w.first_op, 0xff, (handles + 1) * sizeof *w.first_op);
  HSC_GOTO(hsc_map_create(&w.texts));
  HSC_GOTO(hsc_map_create(&w.runs));
  for (int32_t l = 0; l < plane->line_count; l++)
    if (!read_line(&w, &plane->lines[l]))
      HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc__walk_name_devices(&w));
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
  hsc__walk kept = {0};
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
