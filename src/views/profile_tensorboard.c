// profile_tensorboard.c - profiles for TensorBoard.
//
// xprof fills its tables of operators from planes named /device:TPU:N alone
// (docs/formats/xspace.md): line "XLA Ops" whose events' metadata have program_id and symbol_id,
// line "Steps", plane stats with the peaks. A profile of XLA:CPU has its operators on the threads
// of the host; here its device is given such a plane beside, with a line "XLA Ops" for each thread,
// so that events of a line still nest and self times stay what they are. xprof takes the operators
// of its steps from the last such line of a plane alone and leaves out steps that have none on it:
// the busiest thread's comes last. (A plane for each thread would be no way out: of several planes
// xprof shows the steps that all of them have.)
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "views/profile_tensorboard.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "views/profile_internal.h"

typedef struct writer {
  hsc_profile *profile;
  const hsc_xspace *space;
  hsc_xwriter w;
  hsc_arena *arena;
  int64_t *metas;  // [op_count] of the plane that is written; 0 = none yet
  int plane_number;
  bool traced_only;  // without transfers of inputs
} writer;

static const char *text_of(writer *t, hsc_view view) {
  return hsc_arena_strndup(t->arena, view.data ? view.data : "", view.size);
}

static int64_t op_meta(writer *t, int32_t index) {
  const hsc_profile_op *op = &t->profile->ops.items[index];
  if (t->metas[index])
    return t->metas[index];
  hsc_bytes text = {0};
  if (op->instr) {
    hsc_print_options options = {
        .no_metadata = true, .elide_large_constants = true, .no_backend_config = true};
    hsc_instr_print(op->instr, &options, &text);
  } else if (op->text.size) {
    hsc_bytes_append(&text, op->text.data, op->text.size);
  } else {
    hsc_bytes_printf(&text, "%%%.*s", (int)op->name.size, op->name.data);
  }
  t->metas[index] =
      hsc_xwriter_begin_event_meta(&t->w, 0, hsc_bytes_text(&text), text_of(t, op->name));
  hsc_bytes_deinit(&text);
  int64_t program = op->module >= 0 ? t->profile->modules.items[op->module].program_id : 0;
  hsc_xwriter_stat_uint(&t->w, "program_id", (uint64_t)program);
  hsc_xwriter_stat_uint(&t->w, "symbol_id", (uint64_t)index + 1);
  hsc_xwriter_stat_ref(&t->w, "hlo_category",
                       op->category.size ? op->category : HSC_VIEW("unknown"));
  if (!isnan(op->flops) && op->flops >= 0)
    hsc_xwriter_stat_uint(&t->w, "flops", (uint64_t)op->flops);
  if (!isnan(op->bytes) && op->bytes >= 0)
    hsc_xwriter_stat_uint(&t->w, "bytes_accessed", (uint64_t)op->bytes);
  if (op->op_name.size) {
    bool has_type = op->op_name.data[op->op_name.size - 1] == ':';
    const char *name = hsc_arena_printf(t->arena, "%.*s%s", (int)op->op_name.size, op->op_name.data,
                                        has_type ? "" : ":");
    if (name)
      hsc_xwriter_stat_ref(&t->w, "tf_op", hsc_view_of(name));
  }
  if (op->source.size)
    hsc_xwriter_stat_ref(&t->w, "source", op->source);
  hsc_xwriter_end_event_meta(&t->w);
  return t->metas[index];
}

// The lines of a plane start at nanoseconds; the profile's own first moment is the start of all
// that is written here.
static void write_steps(writer *t, int32_t device) {
  hsc_profile *profile = t->profile;
  hsc_xwriter_begin_line(&t->w, 1, "Steps", profile->base_ns);
  for (size_t i = 0; i < profile->steps.count; i++) {
    const hsc_profile_step *step = &profile->steps.items[i];
    if (step->device != device)
      continue;
    int64_t meta = hsc_xwriter_begin_event_meta(
        &t->w, 0, hsc_arena_printf(t->arena, "%lld", (long long)step->number), NULL);
    hsc_xwriter_end_event_meta(&t->w);
    hsc_xwriter_begin_event(&t->w, meta, step->start_ps, step->end_ps - step->start_ps);
    hsc_xwriter_end_event(&t->w);
  }
  hsc_xwriter_end_line(&t->w);
}

static void write_modules(writer *t, int32_t device) {
  hsc_profile *profile = t->profile;
  int64_t *metas = HSC_NEW_ARRAY(t->arena, int64_t, profile->modules.count + 1);
  int64_t last_end = INT64_MIN;
  hsc_xwriter_begin_line(&t->w, 2, "XLA Modules", profile->base_ns);
  for (size_t i = 0; metas && i < profile->runs.count; i++) {
    const hsc__run *run = &profile->runs.items[i];
    // runs that overlap do not fit on one line
    if (run->device != device || run->module < 0 || run->start_ps < last_end)
      continue;
    const hsc_profile_module *module = &profile->modules.items[run->module];
    if (!metas[run->module]) {
      const char *name = hsc_arena_printf(t->arena, "%.*s(%lld)", (int)module->name.size,
                                          module->name.data ? module->name.data : "",
                                          (long long)module->program_id);
      metas[run->module] = hsc_xwriter_begin_event_meta(&t->w, 0, name, NULL);
      hsc_xwriter_stat_uint(&t->w, "program_id", (uint64_t)module->program_id);
      hsc_xwriter_end_event_meta(&t->w);
    }
    hsc_xwriter_begin_event(&t->w, metas[run->module], run->start_ps, run->end_ps - run->start_ps);
    hsc_xwriter_stat_int(&t->w, "run_id", run->id);
    hsc_xwriter_end_event(&t->w);
    last_end = run->end_ps;
  }
  hsc_xwriter_end_line(&t->w);
}

// ---- events of a thread as operators ------------------------------------------------------------

typedef struct op_event {
  int64_t start, duration;
  int32_t op;
} op_event;

static int by_start(const void *a, const void *b) {
  const op_event *x = a;
  const op_event *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->duration > y->duration ? -1 : x->duration < y->duration;
}

// Numbers of the stats of a plane's events: looked up once a line, not once an event.
typedef struct stat_ids {
  int64_t hlo_op, program_id, hlo_module;
} stat_ids;

// Operators by what an event says of them: (name, program).
static int32_t find_op(const writer *t,
                       const hsc_map *by_key,
                       int32_t device,
                       const hsc_xplane *plane,
                       const stat_ids *ids,
                       const hsc_xevent *event) {
  hsc_xstat stat;
  if (!hsc_xstat_find(event->message, HSC_XEVENT_STATS, ids->hlo_op, &stat))
    return -1;
  if (!hsc__profile_is_of(&t->profile->devices.items[device], event))
    return -1;
  hsc_view name = hsc_xstat_text(plane, &stat);
  hsc_view module = {0};
  int64_t program = 0;
  if (hsc_xstat_find(event->message, HSC_XEVENT_STATS, ids->program_id, &stat))
    program = hsc_xstat_int(&stat);
  else if (hsc_xstat_find(event->message, HSC_XEVENT_STATS, ids->hlo_module, &stat))
    module = hsc_xstat_text(plane, &stat);
  char key[512];
  int size = snprintf(key, sizeof key, "%d/%lld/%.*s/%.*s", device, (long long)program,
                      hsc_view_shown(module, 100), module.data ? module.data : "",
                      hsc_view_shown(name, 300), name.data ? name.data : "");
  int32_t *found = hsc_map_get(by_key, (hsc_view){key, (size_t)size});
  return found ? *found : -1;
}

static hsc_status *index_ops(writer *t, hsc_map *by_key) {
  for (size_t i = 0; i < t->profile->ops.count; i++) {
    const hsc_profile_op *op = &t->profile->ops.items[i];
    const hsc_profile_module *m = op->module >= 0 ? &t->profile->modules.items[op->module] : NULL;
    hsc_view module = m && !m->has_id ? m->name : (hsc_view){0};
    char *key = hsc_arena_printf(t->arena, "%d/%lld/%.*s/%.*s", op->device,
                                 (long long)(m ? m->program_id : 0), hsc_view_shown(module, 100),
                                 module.data ? module.data : "", hsc_view_shown(op->name, 300),
                                 op->name.data ? op->name.data : "");
    int32_t *value = HSC_NEW(t->arena, int32_t);
    if (!key || !value)
      return hsc_status_out_of_memory();
    *value = (int32_t)i;
    HSC_TRY(hsc_map_put(by_key, hsc_view_of(key), value));
  }
  return NULL;
}

static hsc_status *write_thread(
    writer *t, const hsc_map *by_key, int32_t device, const hsc_profile_lane *lane, size_t number) {
  hsc_profile *profile = t->profile;
  HSC__LIST(op_event) events = {0};
  hsc_status *status = NULL;
  bool sorted = true;
  stat_ids ids = {hsc_xplane_stat_id(lane->plane, "hlo_op"),
                  hsc_xplane_stat_id(lane->plane, "program_id"),
                  hsc_xplane_stat_id(lane->plane, "hlo_module")};
  hsc_xevent_cursor at = hsc_xline_events(lane->line);
  for (hsc_xevent e; hsc_xevent_next(&at, &e);) {
    int32_t op = e.has_stats ? find_op(t, by_key, device, lane->plane, &ids, &e) : -1;
    if (op < 0)
      continue;
    op_event event = {hsc__profile_time(profile, lane->line, e.offset_ps),
                      e.duration_ps > 0 ? e.duration_ps : 0, op};
    sorted &= !events.count || by_start(&events.items[events.count - 1], &event) <= 0;
    if (!HSC__ADD(&events, event))
      HSC_GOTO(hsc_status_out_of_memory());
  }
  if (!events.count)
    goto done;
  if (!sorted)
    qsort(events.items, events.count, sizeof *events.items, by_start);
  hsc_xwriter_begin_line(&t->w, 3 + 10 * (int64_t)number, "XLA Ops", profile->base_ns);
  if (number)
    hsc_xwriter_line_display(&t->w, hsc_arena_printf(t->arena, "XLA Ops, %s", lane->name));
  int64_t ends[64];
  int depth = 0;
  for (size_t i = 0; i < events.count; i++) {
    int64_t start = events.items[i].start;
    int64_t end = hsc__sat_add(start, events.items[i].duration);
    while (depth > 0 && ends[depth - 1] <= start)
      depth--;
    // events of a line nest, or viewers drop them
    if (depth > 0 && end > ends[depth - 1])
      end = ends[depth - 1];
    hsc_xwriter_begin_event(&t->w, op_meta(t, events.items[i].op), start, end - start);
    hsc_xwriter_end_event(&t->w);
    if (depth < 64)
      ends[depth++] = end;
  }
  hsc_xwriter_end_line(&t->w);
done:
  hsc_free(events.items);
  return status;
}

// The device whose operators are on these threads of the host, as a plane of its own.
static hsc_status *write_device(writer *t,
                                const hsc_map *by_key,
                                int32_t device,
                                const hsc_profile_lane *const *lanes,
                                size_t count) {
  const hsc_profile_device *d = &t->profile->devices.items[device];
  hsc_status *status = NULL;
  memset(t->metas, 0, t->profile->ops.count * sizeof *t->metas);
  hsc_xwriter_begin_plane(&t->w, 1000 + t->plane_number,
                          hsc_arena_printf(t->arena, "/device:TPU:%d", t->plane_number));
  t->plane_number++;
  if (d->peak_flops > 0 && d->peak_bytes > 0) {
    hsc_xwriter_stat_double(&t->w, "peak_teraflops_per_second", d->peak_flops * 1e-12);
    hsc_xwriter_stat_double(&t->w, "peak_hbm_bw_gigabytes_per_second", d->peak_bytes * 1e-9);
  }
  const char *type =
      *d->type ? d->type : hsc_arena_printf(t->arena, "XLA:%s threads, shown by hloscope", d->name);
  hsc_xwriter_stat_text(&t->w, "device_type_string", hsc_view_of(type));
  hsc_xwriter_stat_text(&t->w, "hloscope_device", hsc_view_of(d->name));
  hsc_xwriter_stat_text(&t->w, "hloscope_thread", hsc_view_of(lanes[0]->name));
  write_steps(t, device);
  write_modules(t, device);
  for (size_t l = count; l-- > 0 && !status;)
    status = write_thread(t, by_key, device, lanes[l], l);
  hsc_xwriter_end_plane(&t->w);
  return status;
}

// ---- all of it ----------------------------------------------------------------------------------

static bool has_line(const hsc_xplane *plane, const char *name) {
  for (int32_t i = 0; i < plane->line_count; i++)
    if (hsc_view_equals_text(plane->lines[i].name, name))
      return true;
  return false;
}

static int by_busy(const void *a, const void *b) {
  const hsc_profile_lane *x = *(const hsc_profile_lane *const *)a;
  const hsc_profile_lane *y = *(const hsc_profile_lane *const *)b;
  return x->busy_ps > y->busy_ps ? -1 : x->busy_ps < y->busy_ps;
}

static bool is_no_transfer(void *plane, const hsc_xevent *event) {
  const hsc_xevent_meta *meta = hsc_xplane_event_meta(plane, event->metadata_id);
  const hsc__host_name *name = meta ? hsc__host_name_of(meta->name) : NULL;
  return !name || name->activity != HSC_ACTIVITY_TRANSFER;
}

// A device's own lines stay whole: only the host's (and a runtime's about itself) tell of staging.
static void copy_plane(writer *t, const hsc_xplane *plane) {
  bool of_host = plane->name.size >= 6 &&
                 (!memcmp(plane->name.data, "/host:", 6) ||
                  (plane->name.size > 15 && !memcmp(plane->name.data, "/device:CUSTOM:", 15)));
  if (t->traced_only && of_host)
    hsc_xwriter_copy_events(&t->w, plane, is_no_transfer, (void *)(uintptr_t)plane);
  else
    hsc_xwriter_copy_plane(&t->w, plane, NULL, NULL);
}

static bool has_memory(const hsc_xplane *plane) {
  for (int32_t i = 0; i < plane->event_meta_count; i++)
    if (hsc_view_equals_text(plane->event_metas[i].name, "MemoryAllocation"))
      return true;
  return false;
}

// xprof looks for memory on the first plane called /host:CPU alone: what other planes recorded of
// it is shown there.
static void write_memory(writer *t, const hsc_xplane *host) {
  hsc_profile *profile = t->profile;
  const hsc_xplane *source = NULL;
  if (host && has_memory(host)) {
    copy_plane(t, host);
    return;
  }
  for (int32_t p = 0; p < t->space->plane_count && !source; p++)
    if (has_memory(&t->space->planes[p]))
      source = &t->space->planes[p];
  if (host && !source)
    copy_plane(t, host);
  if (!source)
    return;
  if (host)
    hsc_xwriter_extend_plane(&t->w, host, t->traced_only ? is_no_transfer : NULL,
                             (void *)(uintptr_t)host);
  else
    hsc_xwriter_begin_plane(&t->w, 999, "/host:CPU");
  int64_t metas[2];
  for (int i = 0; i < 2; i++) {
    metas[i] =
        hsc_xwriter_begin_event_meta(&t->w, 0, i ? "MemoryDeallocation" : "MemoryAllocation", NULL);
    hsc_xwriter_end_event_meta(&t->w);
  }
  const char **names = HSC_NEW_ARRAY(t->arena, const char *, source->stat_meta_count + 1);
  hsc_xwriter_begin_line(&t->w, 999, "memory, shown by hloscope", profile->base_ns);
  for (size_t i = 0; names && i < profile->memory.count; i++) {
    const hsc__memory_event *event = &profile->memory.items[i];
    if (event->plane != source)
      continue;
    hsc_xwriter_begin_event(&t->w, metas[event->gives_back], event->at_ps, 0);
    hsc_xstat_cursor at = hsc_xstats_of(event->message, HSC_XEVENT_STATS);
    for (hsc_xstat stat; hsc_xstat_next(&at, &stat);) {
      const hsc_xstat_meta *what = hsc_xplane_stat_meta(source, stat.metadata_id);
      const char **known = what ? &names[what - source->stat_metas] : NULL;
      const char *name;
      if (known) {
        if (*known)
          name = *known;
        else
          name = *known = text_of(t, what->name);
      } else
        name = NULL;
      if (!name)
        continue;
      if (stat.kind == HSC_XSTAT_DOUBLE)
        hsc_xwriter_stat_double(&t->w, name, hsc_xstat_number(&stat));
      else if (stat.kind == HSC_XSTAT_UINT || stat.kind == HSC_XSTAT_INT)
        hsc_xwriter_stat_int(&t->w, name, hsc_xstat_int(&stat));
      else if (hsc_xstat_text(source, &stat).size)
        hsc_xwriter_stat_ref(&t->w, name, hsc_xstat_text(source, &stat));
    }
    hsc_xwriter_end_event(&t->w);
  }
  hsc_xwriter_end_line(&t->w);
  hsc_xwriter_end_plane(&t->w);
}

static bool is_outside(void *line, const hsc_xevent *event) {
  hsc_view steps = ((const hsc_xline *)line)->message;
  return event->message.data < steps.data || event->message.data >= steps.data + steps.size;
}

// hloscope's device guessed its steps, and the host's program marked them: the plane gets those.
static bool put_marked_steps(writer *t, const hsc_xplane *plane) {
  hsc_profile *profile = t->profile;
  for (size_t d = 0; d < profile->devices.count; d++) {
    if (profile->devices.items[d].plane != plane || !profile->host_steps.count ||
        !hsc__profile_steps_are_guessed(profile, (int32_t)d))
      continue;
    for (int32_t l = 0; l < plane->line_count; l++) {
      if (!hsc_view_equals_text(plane->lines[l].name, "Steps"))
        continue;
      hsc_xwriter_extend_plane(&t->w, plane, is_outside, &plane->lines[l]);
      write_steps(t, (int32_t)d);
      hsc_xwriter_end_plane(&t->w);
      return true;
    }
  }
  return false;
}

static hsc_status *write_space(writer *t) {
  hsc_profile *profile = t->profile;
  const hsc_xplane *host = NULL;
  for (int32_t p = 0; p < t->space->plane_count && !host; p++)
    if (hsc_view_equals_text(t->space->planes[p].name, "/host:CPU"))
      host = &t->space->planes[p];
  write_memory(t, host);
  for (int32_t p = 0; p < t->space->plane_count; p++) {
    const hsc_xplane *plane = &t->space->planes[p];
    if (plane == host)
      continue;
    if (!put_marked_steps(t, plane))
      copy_plane(t, plane);
    if (plane->name.size > 12 && !memcmp(plane->name.data, "/device:TPU:", 12)) {
      int number = 0;
      for (size_t i = 12; i < plane->name.size && plane->name.data[i] >= '0' &&
                          plane->name.data[i] <= '9' && number < 100000;
           i++)
        number = 10 * number + plane->name.data[i] - '0';
      if (number >= t->plane_number)
        t->plane_number = number + 1;
    }
  }
  hsc_map *by_key = NULL;
  HSC_TRY(hsc_map_create(&by_key));
  hsc_status *status = NULL;
  HSC_GOTO(index_ops(t, by_key));
  const hsc_profile_lane **lanes =
      HSC_NEW_ARRAY(t->arena, const hsc_profile_lane *, profile->lanes.count + 1);
  if (!lanes)
    HSC_GOTO(hsc_status_out_of_memory());
  for (size_t d = 0; d < profile->devices.count; d++) {
    const hsc_profile_device *device = &profile->devices.items[d];
    if (device->space != t->space || has_line(device->plane, "XLA Ops"))
      continue;
    size_t count = 0;
    for (size_t l = 0; l < profile->lanes.count; l++)
      if (profile->lanes.items[l].plane == device->plane &&
          profile->lanes.items[l].section == HSC__SECTION_EXECUTION)
        lanes[count++] = &profile->lanes.items[l];
    if (count)
      qsort(lanes, count, sizeof *lanes, by_busy);
    if (count)
      HSC_GOTO(write_device(t, by_key, (int32_t)d, lanes, count));
  }
  hsc_xwriter_copy_rest(&t->w, t->space);
  HSC_GOTO(hsc_arena_status(t->arena));
done:
  hsc_map_destroy(by_key);
  return status;
}

hsc_status *hsc_profile_write_tensorboard(hsc_profile *profile,
                                          int space,
                                          bool traced_only,
                                          hsc_bytes *out) {
  writer t = {
      .profile = profile, .traced_only = traced_only, .space = profile->spaces.items[space]};
  hsc_status *status = NULL;
  HSC_TRY(hsc__profile_join(profile));
  HSC_TRY(hsc_arena_create(&t.arena));
  t.metas = hsc_alloc((profile->ops.count + 1) * sizeof *t.metas);
  if (!t.metas)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_xwriter_init(&t.w, out));
  HSC_GOTO(write_space(&t));
  HSC_GOTO(hsc_bytes_status(out));
done:
  hsc_xwriter_deinit(&t.w);
  hsc_free(t.metas);
  hsc_arena_destroy(t.arena);
  return status;
}

// Viewers keep what they computed beside the profile and serve it again, whatever the profile says
// now.
static void remove_caches(const char *directory, hsc_arena *arena) {
  DIR *d = opendir(directory);
  if (!d)
    return;
  for (struct dirent *entry; (entry = readdir(d));) {
    const char *name = entry->d_name;
    bool cache = hsc_ends_with(name, ".op_stats_v2.pb") || hsc_ends_with(name, ".op_stats.pb") ||
                 hsc_ends_with(name, ".SSTABLE") || hsc_ends_with(name, ".hlo_proto.pb") ||
                 !strcmp(name, ".cached_tools.json") || !strcmp(name, "cache_version.txt");
    const char *path = cache ? hsc_arena_printf(arena, "%s/%s", directory, name) : NULL;
    if (path)
      unlink(path);
  }
  closedir(d);
}

// Several processes of one host are distinguished by what their profiles were called.
static const char *process_name(const hsc_xspace *space, const char *host, hsc_arena *arena) {
  const char *stem = hsc__space_stem(space, arena);
  return strncmp(stem, host, strlen(host)) ? hsc_arena_printf(arena, "%s_%s", host, stem) : stem;
}

hsc_status *hsc_profile_write_logdir(hsc_profile *profile,
                                     const char *logdir,
                                     const char *run,
                                     bool traced_only,
                                     char **out_directory) {
  hsc_arena *arena = NULL;
  hsc_bytes out = {0};
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  char stamp[32];
  char host[128] = "localhost";
  time_t now = time(NULL);
  struct tm parts;
  gmtime_r(&now, &parts);
  strftime(stamp, sizeof stamp, "%Y_%m_%d_%H_%M_%S", &parts);
  gethostname(host, sizeof host - 1);
  const char *directory =
      hsc_arena_printf(arena, "%s/plugins/profile/%s", logdir, run ? run : stamp);
  // a run is one profile: one that was written in the same second keeps its folder
  for (int again = 2; !run && directory && hsc_file_exists(directory); again++)
    directory = hsc_arena_printf(arena, "%s/plugins/profile/%s_%d", logdir, stamp, again);
  HSC_GOTO(hsc_arena_status(arena));
  HSC_GOTO(hsc_dir_make(directory));
  remove_caches(directory, arena);
  for (size_t i = 0; i < profile->spaces.count; i++) {
    const hsc_xspace *space = profile->spaces.items[i];
    hsc_bytes_reset(&out);
    HSC_GOTO(hsc_profile_write_tensorboard(profile, (int)i, traced_only, &out));
    char *name = space->hostname_count
                     ? hsc_arena_strndup(arena, space->hostnames[0].data, space->hostnames[0].size)
                     : host;
    for (char *c = name; c && *c; c++)  // foreign bytes do not choose directories
      if (*c == '/' || *c == '\\' || (unsigned char)*c < ' ')
        *c = '_';
    // Several processes of one host are distinguished by what their profiles were called.
    const char *path =
        hsc_arena_printf(arena, "%s/%s.xplane.pb", directory,
                         profile->spaces.count > 1 ? process_name(space, name, arena) : name);
    HSC_GOTO(hsc_arena_status(arena));
    HSC_GOTO(hsc_file_write_atomic(path, out.data ? out.data : "", out.size));
  }
  if (out_directory && !(*out_directory = hsc_strdup(directory)))
    HSC_GOTO(hsc_status_out_of_memory());
done:
  hsc_bytes_deinit(&out);
  hsc_arena_destroy(arena);
  return status;
}
