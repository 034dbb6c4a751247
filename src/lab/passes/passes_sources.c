// passes_sources.c - readers of what compilers leave about their passes: module metadata, XSpace,
// numbered dumps.
//
// How to read: one section a source, each ends in a reader that adds rows to the list. Metadata is
// protobuf as text, read by a small lexer. XSpace holds a line a pipeline with an event a pass, and
// the flame of the compile. Dumps have names with numbers: modules before and after a pass are
// found by them.
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/core/log.h"
#include "base/text/text.h"
#include "base/text/view_find.h"
#include "base/wire/wire.h"
#include "lab/passes/optimized.h"
#include "lab/passes/passes_list_internal.h"

// ---- module metadata as text --------------------------------------------------------------------

// The fields of one pass_metadata block.
typedef struct metadata_block {
  char *pass, *pipeline;
  int64_t start_us, end_us, duration_ns, rewrites, instructions, fusions;
  bool changed;
  hsc_bytes rules;   // of the pass that fired, "algsimp/add-zero 3, algsimp/or-same 1"
  hsc_bytes counts;  // metrics that passes do not have, "values 12, allocations 4"
} metadata_block;

typedef struct text_reader {
  const char *at, *end, *path;
  int line;
} text_reader;

static hsc_status *text_error(const text_reader *r, const char *what) {
  return hsc_status_at(HSC_ERR(DATA_LOSS, "module metadata: %s", what), r->path, r->line, 0, NULL);
}

static void skip_space(text_reader *r) {
  while (r->at < r->end) {
    if (*r->at == '#')
      while (r->at < r->end && *r->at != '\n')
        r->at++;
    if (r->at < r->end && *r->at == '\n')
      r->line++;
    if (r->at < r->end && !strchr(" \t\r\n,;", *r->at))
      return;
    if (r->at < r->end)
      r->at++;
  }
}

// A name, a number or a quoted text (without its quotes). False at the end and at a brace.
static bool next_token(text_reader *r, hsc_view *out) {
  skip_space(r);
  if (r->at >= r->end || *r->at == '{' || *r->at == '}' || *r->at == ':')
    return false;
  if (*r->at == '"' || *r->at == '\'') {
    char quote = *r->at++;
    out->data = r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\n')
      r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
    out->size = (size_t)(r->at - out->data);
    if (r->at < r->end)
      r->at++;
    return true;
  }
  out->data = r->at;
  while (r->at < r->end && !strchr(" \t\r\n,;{}:\"<>[]", *r->at))
    r->at++;
  out->size = (size_t)(r->at - out->data);
  if (out->size == 0)
    r->at++;  // a stray sign
  return out->size > 0;
}

static bool next_is(text_reader *r, char c) {
  skip_space(r);
  if (r->at >= r->end || *r->at != c)
    return false;
  r->at++;
  return true;
}

static int64_t view_int(hsc_view v) {
  char text[32];
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(v, 31), v.data);
  return strtoll(text, NULL, 10);
}

static hsc_status *skip_block(text_reader *r) {
  for (int depth = 1; depth > 0;) {
    hsc_view ignored;
    skip_space(r);
    if (r->at >= r->end)
      return text_error(r, "the file ends inside a block");
    if (next_is(r, '{'))
      depth++;
    else if (next_is(r, '}'))
      depth--;
    else if (!next_is(r, ':'))
      next_token(r, &ignored);
  }
  return NULL;
}

static hsc_status *read_metric(text_reader *r, metadata_block *block) {
  hsc_view key = {0};
  hsc_view name;
  hsc_view value = {0};
  while (!next_is(r, '}')) {
    hsc_view v;
    if (!next_token(r, &name) || !next_is(r, ':') || !next_token(r, &v))
      return text_error(r, "expected key and value of a metric");
    if (hsc_view_equals_text(name, "key"))
      key = v;
    if (hsc_view_equals_text(name, "value"))
      value = v;
  }
  if (hsc_view_equals_text(key, "duration_ns"))
    block->duration_ns = view_int(value);
  else if (hsc_view_equals_text(key, "rewrites"))
    block->rewrites = view_int(value);
  else if (hsc_view_equals_text(key, "instructions"))
    block->instructions = view_int(value);
  else if (hsc_view_equals_text(key, "fusions"))
    block->fusions = view_int(value);
  else if (memchr(key.data, '/', key.size))
    hsc_bytes_printf(&block->rules, "%s%.*s %lld", block->rules.size ? ", " : "", (int)key.size,
                     key.data, (long long)view_int(value));
  else
    hsc_bytes_printf(&block->counts, "%s%.*s %lld", block->counts.size ? ", " : "", (int)key.size,
                     key.data, (long long)view_int(value));
  return NULL;
}

static hsc_status *read_block(text_reader *r, hsc_arena *arena, metadata_block *block) {
  while (!next_is(r, '}')) {
    hsc_view name, value;
    if (r->at >= r->end)
      return text_error(r, "the file ends inside a block");
    if (!next_token(r, &name))
      return text_error(r, "expected the name of a field");
    next_is(r, ':');
    if (next_is(r, '{')) {
      HSC_TRY(hsc_view_equals_text(name, "kv_metrics") ? read_metric(r, block) : skip_block(r));
      continue;
    }
    if (next_is(r, '[')) {  // a list in short form
      while (r->at < r->end && *r->at != ']')
        r->at++;
      if (r->at < r->end)
        r->at++;
      continue;
    }
    if (!next_token(r, &value))
      return text_error(r, "expected a value");
    if (hsc_view_equals_text(name, "pass_name"))
      block->pass = hsc_arena_strndup(arena, value.data, value.size);
    if (hsc_view_equals_text(name, "pipeline_name"))
      block->pipeline = hsc_arena_strndup(arena, value.data, value.size);
    if (hsc_view_equals_text(name, "module_changed"))
      block->changed = hsc_view_equals_text(value, "true") || hsc_view_equals_text(value, "1");
    if (hsc_view_equals_text(name, "start_timestamp_usec"))
      block->start_us = view_int(value);
    if (hsc_view_equals_text(name, "end_timestamp_usec"))
      block->end_us = view_int(value);
  }
  return NULL;
}

hsc_status *hsc_pass_list_read_metadata(hsc_view text, const char *path, hsc_pass_list *list) {
  text_reader r = {text.data, text.data + text.size, path, 1};
  int64_t instructions = -1;
  int64_t fusions = -1;
  for (hsc_view name; next_token(&r, &name);) {
    next_is(&r, ':');
    if (!next_is(&r, '{')) {
      hsc_view ignored;
      if (!next_token(&r, &ignored))
        return text_error(&r, "expected a value");
      continue;
    }
    if (!hsc_view_equals_text(name, "pass_metadata")) {
      HSC_TRY(skip_block(&r));
      continue;
    }
    metadata_block b = {.duration_ns = -1, .rewrites = -1, .instructions = -1, .fusions = -1};
    hsc_status *status = read_block(&r, list->arena, &b);
    // XLA's own passes may have metrics, too; a phase is what has its pipeline's name.
    bool phase = !status && b.pass && b.pipeline && b.counts.size && !strcmp(b.pass, b.pipeline);
    const char *counts = phase ? hsc_arena_strdup(list->arena, hsc_bytes_text(&b.counts)) : NULL;
    const char *rules =
        b.rules.size ? hsc_arena_strdup(list->arena, hsc_bytes_text(&b.rules)) : NULL;
    hsc_bytes_deinit(&b.counts);
    hsc_bytes_deinit(&b.rules);
    if (status)
      return status;
    if (!b.pass || !b.pipeline)
      continue;
    hsc_pass_row *row = hsc_pass_list_add(list, b.pipeline, b.pass);
    if (!row)
      return hsc_status_out_of_memory();
    row->changed = phase ? -1 : b.changed;
    row->counts = counts;
    row->rules = rules;
    row->start_ns = b.start_us * 1000;
    if (b.duration_ns >= 0)
      row->duration_ns = b.duration_ns;
    else if (b.end_us >= b.start_us)
      row->duration_ns = (b.end_us - b.start_us) * 1000;
    else
      row->duration_ns = -1;
    row->rewrites = b.rewrites;
    row->instructions_before = instructions;
    row->fusions_before = fusions;
    row->instructions_after = b.instructions;
    row->fusions_after = b.fusions;
    if (b.instructions >= 0) {
      instructions = b.instructions;
      fusions = b.fusions;
    }
  }
  skip_space(&r);
  if (r.at < r.end)
    return text_error(&r, "expected the name of a field");
  return hsc_arena_status(list->arena);
}

hsc_status *hsc__metadata_file(const char *directory, hsc_arena *arena, const char **out_path) {
  DIR *dir = opendir(directory);
  off_t largest = -1;
  *out_path = NULL;
  if (!dir)
    return NULL;
  for (struct dirent *entry; (entry = readdir(dir));) {
    struct stat file;
    if (!hsc_ends_with(entry->d_name, ".metadata.textproto"))
      continue;
    const char *path = hsc_arena_printf(arena, "%s/%s", directory, entry->d_name);
    if (hsc_arena_status(arena) || stat(path, &file) || file.st_size <= largest)
      continue;
    largest = file.st_size;
    *out_path = path;
  }
  closedir(dir);
  return hsc_arena_status(arena);
}

// ---- XSpace -------------------------------------------------------------------------------------
// tsl/profiler/protobuf/xplane.proto: XSpace.planes 1; XPlane.lines 3, event_metadata 4,
// stat_metadata 5; XLine.timestamp_ns 3, events 4; XEvent.metadata_id 1, offset_ps 2, duration_ps
// 3, stats 4; XStat.metadata_id 1, str_value 5, ref_value 7; the maps' entries: key 1, value 2 {id
// 1, name 2}.

typedef struct name_entry {
  int64_t id;
  hsc_view name;
} name_entry;

typedef struct name_table {
  name_entry *entries;  // sorted by id
  size_t count;
} name_table;

static int by_id(const void *a, const void *b) {
  int64_t x = ((const name_entry *)a)->id;
  int64_t y = ((const name_entry *)b)->id;
  return (x > y) - (x < y);
}

static hsc_status *read_names(hsc_view plane, uint32_t field, hsc_arena *arena, name_table *out) {
  hsc_wire in = hsc_wire_of(plane);
  hsc_wire_field f;
  size_t count = 0;
  while (hsc_wire_next(&in, &f))
    count += f.number == field && f.type == HSC_WIRE_BYTES;
  HSC_TRY(hsc_wire_status(&in, "XPlane"));
  *out = (name_table){HSC_NEW_ARRAY(arena, name_entry, count + 1), 0};
  HSC_TRY(hsc_arena_status(arena));
  in = hsc_wire_of(plane);
  while (hsc_wire_next(&in, &f)) {
    if (f.number != field || f.type != HSC_WIRE_BYTES)
      continue;
    hsc_wire entry = hsc_wire_of(f.bytes);
    name_entry *e = &out->entries[out->count];
    for (hsc_wire_field g; hsc_wire_next(&entry, &g);) {
      if (g.number == 1 && g.type == HSC_WIRE_VARINT)
        e->id = (int64_t)g.value;
      if (g.number != 2 || g.type != HSC_WIRE_BYTES)
        continue;
      hsc_wire value = hsc_wire_of(g.bytes);
      for (hsc_wire_field h; hsc_wire_next(&value, &h);)
        if (h.number == 2 && h.type == HSC_WIRE_BYTES)
          e->name = h.bytes;
      HSC_TRY(hsc_wire_status(&value, "XEventMetadata"));
    }
    HSC_TRY(hsc_wire_status(&entry, "XPlane map entry"));
    out->count++;
  }
  qsort(out->entries, out->count, sizeof *out->entries, by_id);
  return NULL;
}

static hsc_view name_of(const name_table *table, int64_t id) {
  name_entry key = {.id = id};
  name_entry *found = bsearch(&key, table->entries, table->count, sizeof key, by_id);
  return found ? found->name : (hsc_view){"", 0};
}

static hsc_status *read_event(hsc_view bytes,
                              const name_table *events,
                              const name_table *stats,
                              compile_event *out) {
  hsc_wire in = hsc_wire_of(bytes);
  *out = (compile_event){0};
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 1 && f.type == HSC_WIRE_VARINT)
      out->name = name_of(events, (int64_t)f.value);
    if (f.number == 2 && f.type == HSC_WIRE_VARINT)
      out->start_ps = (int64_t)f.value;
    if (f.number == 3 && f.type == HSC_WIRE_VARINT)
      out->duration_ps = (int64_t)f.value;
    if (f.number != 4 || f.type != HSC_WIRE_BYTES)
      continue;
    hsc_wire stat = hsc_wire_of(f.bytes);
    for (hsc_wire_field g; hsc_wire_next(&stat, &g);) {
      if (g.number == 5 && g.type == HSC_WIRE_BYTES && hsc_view_find(g.bytes, "hlo_pass_pipeline"))
        out->pipeline = true;
      if (g.number == 7 && hsc_view_find(name_of(stats, (int64_t)g.value), "hlo_pass_pipeline"))
        out->pipeline = true;
    }
    HSC_TRY(hsc_wire_status(&stat, "XStat"));
  }
  return hsc_wire_status(&in, "XEvent");
}

static int by_start(const void *a, const void *b) {
  const compile_event *x = a;
  const compile_event *y = b;
  if (x->start_ps != y->start_ps)
    return x->start_ps < y->start_ps ? -1 : 1;
  return (x->duration_ps < y->duration_ps) - (x->duration_ps > y->duration_ps);
}

// "simplification (jit_f)" -> "simplification"; the module's name comes out when asked for.
static const char *pipeline_name(hsc_view name, hsc_arena *arena, const char **out_module) {
  size_t cut = name.size;
  for (size_t i = name.size; i > 2 && cut == name.size; i--)
    if (name.data[i - 2] == ' ' && name.data[i - 1] == '(')
      cut = i - 2;
  *out_module =
      cut < name.size ? hsc_arena_strndup(arena, name.data + cut + 2, name.size - cut - 3) : NULL;
  return hsc_arena_strndup(arena, name.data, cut);
}

// Events of one thread, sorted: a stack of what is open; what is directly in a pipeline is a
// pass.
static hsc_status *add_line(const compile_event *events, size_t count, hsc_pass_list *list) {
  enum { DEEPEST = 64 };
  const compile_event *open[DEEPEST];
  const char *pipelines[DEEPEST] = {0};
  const char *modules[DEEPEST] = {0};
  int depth = 0;
  int line = list->row_count ? list->rows[list->row_count - 1].line + 1 : 0;
  for (size_t i = 0; i < count; i++) {
    const compile_event *e = &events[i];
    while (depth > 0 && e->start_ps >= open[depth - 1]->start_ps + open[depth - 1]->duration_ps)
      depth--;
    const char *parent = depth > 0 ? pipelines[depth - 1] : NULL;
    hsc_pass_row *row = NULL;
    if (e->pipeline) {
      const char *module;
      const char *name = pipeline_name(e->name, list->arena, &module);
      if (!list->module)
        list->module = module;
      row = hsc_pass_list_add(list, name, "pipeline-start");
      if (depth < DEEPEST) {
        pipelines[depth] = name;
        modules[depth] = module;
      }
      if (!row)
        return hsc_status_out_of_memory();
      row->module = module;
    } else {
      if (parent && !hsc_view_equals_text(e->name, "RunInvariantCheckers")) {
        row = hsc_pass_list_add(list, parent,
                                hsc_arena_strndup(list->arena, e->name.data, e->name.size));
        if (!row)
          return hsc_status_out_of_memory();
        row->start_ns = e->start_ps / 1000;
        row->duration_ns = e->duration_ps / 1000;
        row->module = modules[depth - 1];
      }
      if (depth < DEEPEST)
        pipelines[depth] = modules[depth] = NULL;
    }
    if (row)
      row->line = line;
    if (depth < DEEPEST)
      open[depth++] = e;
  }
  return NULL;
}

// ---- the flame of a compile ----

// Names in folded stacks: no separators, no module names.
static void append_name(hsc_bytes *out, hsc_view name, bool pipeline) {
  size_t cut = name.size;
  for (size_t i = 2; pipeline && i < name.size; i++)
    if (name.data[i - 1] == '(' && name.data[i - 2] == ' ')
      cut = i - 2;
  for (size_t i = 0; i < cut && i < 120; i++)
    hsc_bytes_append_char(out, strchr("; \n\t", name.data[i]) ? '_' : name.data[i]);
}

static hsc_status *add_flame(const compile_event *events,
                             size_t count,
                             hsc_view line_name,
                             hsc_pass_list *list) {
  enum { DEEPEST = 64 };
  struct {
    const compile_event *event;
    size_t path;     // size of the stack's text before it
    int64_t inside;  // of its children
  } open[DEEPEST];
  int depth = 0;
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  const char *slash = memchr(line_name.data, '/', line_name.size);
  hsc_view thread = {line_name.data, slash ? (size_t)(slash - line_name.data) : line_name.size};
  append_name(&path, thread.size ? thread : HSC_VIEW("thread"), false);
  char name[160];
  snprintf(name, sizeof name, "%s", hsc_bytes_text(&path));
  int64_t busy = 0;
  for (size_t i = 0; i <= count && !status; i++) {
    const compile_event *e = i < count ? &events[i] : NULL;
    while (depth > 0 && (!e || e->start_ps >= open[depth - 1].event->start_ps +
                                                  open[depth - 1].event->duration_ps)) {
      depth--;
      int64_t own = open[depth].event->duration_ps - open[depth].inside;
      if (own > 0 && !status)
        status = hsc__add_time(list->flame->stacks, hsc_bytes_text(&path), own / 1000, list->arena);
      path.size = open[depth].path;
      if (path.data)
        path.data[path.size] = 0;
    }
    if (!e || depth == DEEPEST)
      continue;
    if (depth > 0)
      open[depth - 1].inside += e->duration_ps;
    else
      busy += e->duration_ps;
    open[depth].event = e;
    open[depth].path = path.size;
    open[depth++].inside = 0;
    hsc_bytes_append_char(&path, ';');
    append_name(&path, e->name, e->pipeline);
  }
  if (!status)
    status = hsc__add_time(list->flame->threads, name, busy / 1000, list->arena);
  hsc_bytes_deinit(&path);
  return status;
}

// What an XLine says beside its events.
typedef struct line_head {
  hsc_view name;
  int64_t origin_ns;  // what the times of events count from
  size_t event_count;
} line_head;

static hsc_status *read_line_head(hsc_view line, line_head *out) {
  hsc_wire in = hsc_wire_of(line);
  hsc_wire_field f;
  *out = (line_head){.name = {"", 0}};
  while (hsc_wire_next(&in, &f)) {
    if (f.number == 4 && f.type == HSC_WIRE_BYTES)
      out->event_count++;
    else if (f.number == 3 && f.type == HSC_WIRE_VARINT)
      out->origin_ns = (int64_t)f.value;
    else if (f.number == 2 && f.type == HSC_WIRE_BYTES)
      out->name = f.bytes;
  }
  return hsc_wire_status(&in, "XLine");
}

// Times that a compile can have: a damaged profile may hold any.
static bool is_plausible(const compile_event *e) {
  const int64_t most = INT64_C(1) << 60;  // 13 days
  return e->duration_ps > 0 && e->duration_ps < most && e->start_ps >= 0 && e->start_ps < most;
}

// The events of a line with plausible times, at most as many as its head counted.
static hsc_status *read_events(hsc_view line,
                               const name_table *events,
                               const name_table *stats,
                               compile_event *all,
                               size_t *out_count,
                               bool *out_pipelines) {
  hsc_wire in = hsc_wire_of(line);
  hsc_wire_field f;
  size_t at = 0;
  *out_pipelines = false;
  while (hsc_wire_next(&in, &f)) {
    if (f.number != 4 || f.type != HSC_WIRE_BYTES)
      continue;
    HSC_TRY(read_event(f.bytes, events, stats, &all[at]));
    *out_pipelines |= all[at].pipeline;
    at += is_plausible(&all[at]);
  }
  *out_count = at;
  return NULL;
}

static hsc_status *read_line(hsc_view line,
                             const name_table *events,
                             const name_table *stats,
                             hsc_phase_stretches *stretches,
                             hsc_pass_list *list) {
  line_head head;
  HSC_TRY(read_line_head(line, &head));
  if (head.event_count == 0)
    return NULL;
  compile_event *all = hsc_alloc(head.event_count * sizeof *all);
  if (!all)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  size_t count = 0;
  bool pipelines;
  HSC_GOTO(read_events(line, events, stats, all, &count, &pipelines));
  if (pipelines || list->flame)
    qsort(all, count, sizeof *all, by_start);
  if (pipelines)
    HSC_GOTO(add_line(all, count, list));
  if (stretches && count) {
    HSC_GOTO(add_flame(all, count, head.name, list));
    HSC_GOTO(hsc__phase_stretches_add_line(stretches, all, count, head.origin_ns));
  }
done:
  hsc_free(all);
  return status;
}

static hsc_status *read_planes(hsc_view bytes,
                               hsc_phase_stretches *stretches,
                               hsc_pass_list *list) {
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1 || f.type != HSC_WIRE_BYTES)
      continue;
    name_table events, stats;
    HSC_TRY(read_names(f.bytes, 4, list->arena, &events));
    HSC_TRY(read_names(f.bytes, 5, list->arena, &stats));
    hsc_wire plane = hsc_wire_of(f.bytes);
    for (hsc_wire_field g; hsc_wire_next(&plane, &g);)
      if (g.number == 3 && g.type == HSC_WIRE_BYTES)
        HSC_TRY(read_line(g.bytes, &events, &stats, stretches, list));
    HSC_TRY(hsc_wire_status(&plane, "XPlane"));
  }
  HSC_TRY(hsc_wire_status(&in, "XSpace"));
  return hsc_arena_status(list->arena);
}

hsc_status *hsc_pass_list_read_xspace(hsc_view bytes, hsc_pass_list *list) {
  hsc_phase_stretches *stretches = NULL;
  if (list->flame)
    HSC_TRY(hsc__phase_stretches_create(&stretches));
  hsc_status *status = read_planes(bytes, stretches, list);
  if (!status && stretches)
    status = hsc__phase_stretches_sum(stretches, list->flame->phases, list->arena);
  hsc__phase_stretches_destroy(stretches);
  return status;
}

// ---- both ---------------------------------------------------------------------------------------

static bool same_run(const hsc_pass_row *a, const hsc_pass_row *b) {
  return !strcmp(a->pass, b->pass) && !strcmp(a->pipeline, b->pipeline);
}

hsc_status *hsc_pass_list_append_tail(hsc_pass_list *list, const hsc_pass_list *profile) {
  if (list->row_count == 0)
    return NULL;
  hsc_pass_row last = list->rows[list->row_count - 1];
  size_t at = profile->row_count;
  while (at > 0 && !same_run(&profile->rows[at - 1], &last))
    at--;
  if (at == 0)
    return NULL;
  const hsc_pass_row *end = &profile->rows[at - 1];
  for (; at < profile->row_count; at++) {
    const hsc_pass_row *r = &profile->rows[at];
    if (r->line != end->line || !r->module || !end->module || strcmp(r->module, end->module) != 0)
      continue;
    hsc_pass_row *row = hsc_pass_list_add(list, r->pipeline, r->pass);
    if (!row)
      return hsc_status_out_of_memory();
    // two clocks, put together where they name the same run
    row->start_ns = last.start_ns + (r->start_ns - end->start_ns);
    row->duration_ns = r->duration_ns;
  }
  return hsc_arena_status(list->arena);
}

// ---- numbered dumps -----------------------------------------------------------------------------

typedef struct dump_file {
  // module: "module_0006.jit_f", what the files of one module begin with
  const char *path, *module;
  char *pipeline, *after;  // spaces as underscores
  int number;
} dump_file;

// module_0006.jit_f.0004.HLO_passes.after_a.before_b.txt; the module's name may hold dots, the
// pipeline's may not.
static bool parse_dump_name(const char *name, hsc_arena *arena, dump_file *out) {
  const char *after = strstr(name, ".after_");
  if (!hsc_starts_with(name, "module_") || !after)
    return false;
  const char *pipeline = after;
  while (pipeline > name && pipeline[-1] != '.')
    pipeline--;
  if (pipeline - name < 6 || pipeline[-6] != '.')
    return false;
  for (int i = -5; i < -1; i++)
    if (pipeline[i] < '0' || pipeline[i] > '9')
      return false;
  const char *end = strstr(after, ".before_");
  if (!end) {
    end = after + strlen(after);
    static const char *const suffixes[] = {".txt", ".hlo.pb"};
    for (size_t i = 0; i < HSC_COUNT_OF(suffixes); i++)
      if (hsc_ends_with(after, suffixes[i]))
        end = after + strlen(after) - strlen(suffixes[i]);
  }
  out->module = hsc_arena_strndup(arena, name, (size_t)(pipeline - 6 - name));
  out->number = atoi(pipeline - 5);
  out->pipeline = hsc_arena_strndup(arena, pipeline, (size_t)(after - pipeline));
  out->after = hsc_arena_strndup(arena, after + 7, end > after + 7 ? (size_t)(end - after - 7) : 0);
  return true;
}

static int by_number(const void *a, const void *b) {
  const dump_file *x = a;
  const dump_file *y = b;
  int module = strcmp(x->module, y->module);
  return module ? module : x->number - y->number;
}

// XLA's file names have underscores for what is no letter, digit, dot or dash.
static bool same_file_name(const char *name, const char *in_file) {
  for (; *name && *in_file; name++, in_file++) {
    if (*name == *in_file)
      continue;
    if (*in_file != '_' ||
        strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *name))
      return false;
  }
  return !*name && !*in_file;
}

static hsc_status *list_dumps(const char *directory,
                              hsc_arena *arena,
                              dump_file **out_files,
                              size_t *out_count) {
  DIR *dir = opendir(directory);
  size_t count = 0;
  size_t capacity = 0;
  dump_file *files = NULL;
  *out_files = NULL;
  *out_count = 0;
  if (!dir)
    return NULL;
  for (struct dirent *entry; (entry = readdir(dir));) {
    dump_file file = {0};
    if (!hsc_ends_with(entry->d_name, ".txt") && !hsc_ends_with(entry->d_name, ".hlo.pb"))
      continue;
    if (!parse_dump_name(entry->d_name, arena, &file))
      continue;
    file.path = hsc_arena_printf(arena, "%s/%s", directory, entry->d_name);
    if (!HSC_GROW(files, count, capacity)) {
      hsc_free(files);
      closedir(dir);
      return hsc_status_out_of_memory();
    }
    files[count++] = file;
  }
  closedir(dir);
  if (count)
    qsort(files, count, sizeof *files, by_number);
  // Of several modules (an autotuner compiles small ones beside) the one with the most files is the
  // program.
  size_t best = 0;
  size_t best_count = 0;
  for (size_t i = 0, n; i < count; i += n) {
    for (n = 1; i + n < count && !strcmp(files[i + n].module, files[i].module);)
      n++;
    if (n > best_count) {
      best = i;
      best_count = n;
    }
  }
  memmove(files, files + best, best_count * sizeof *files);
  *out_files = files;
  *out_count = best_count;
  return hsc_arena_status(arena);
}

static void count_dump(const char *path, int64_t *instructions, int64_t *fusions) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_optimized_module(path, &module);
  *instructions = *fusions = -1;
  if (!status) {
    *instructions = hsc_module_instr_count(module);
    *fusions = 0;
    HSC_FOR_EACH_COMPUTATION (module, computation)
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        *fusions += instr->op == HSC_OP_FUSION;
  } else {
    hsc_log("passes", 1, "%s cannot be read: %s", path, hsc_status_message(status));
  }
  hsc_module_destroy(module);
  hsc_status_free(status);
}

// Rows of what was dumped, where nothing else told.
static hsc_status *rows_of_dumps(const dump_file *files, size_t count, hsc_pass_list *list) {
  for (size_t i = 0; i < count; i++)
    if (!hsc_pass_list_add(list, files[i].pipeline, files[i].after))
      return hsc_status_out_of_memory();
  hsc_pass_list_nest(list);
  return NULL;
}

// Size of the program at a place in the pipeline; -1 where its dump cannot be read.
typedef struct program_size {
  int64_t instructions;
  int64_t fusions;
} program_size;

// XLA writes a dump after the passes that changed the program only: rows in [first, end) that have
// none left it as it was.
static void leave_unchanged(hsc_pass_list *list, size_t first, size_t end, program_size size) {
  for (size_t i = first; i < end; i++) {
    hsc_pass_row *row = &list->rows[i];
    row->instructions_before = row->instructions_after = size.instructions;
    row->fusions_before = row->fusions_after = size.fusions;
    if (row->changed < 0 && !row->nested && !row->counts)
      row->changed = 0;
  }
}

// The row that a dump belongs to, from row `at` on; row_count where there is none.
static size_t row_of_dump(const hsc_pass_list *list, size_t at, const dump_file *file) {
  while (at < list->row_count && !(same_file_name(list->rows[at].pass, file->after) &&
                                   same_file_name(list->rows[at].pipeline, file->pipeline)))
    at++;
  return at;
}

// What a nested pipeline changed is what its passes changed; its counts are those around them.
static void count_nested(hsc_pass_list *list) {
  for (size_t i = 0; i < list->row_count; i++) {
    hsc_pass_row *outer = &list->rows[i];
    if (!outer->nested)
      continue;
    size_t last = i;
    bool unknown = outer->changed < 0;
    while (last + 1 < list->row_count && list->rows[last + 1].depth > outer->depth)
      last++;
    if (last == i)
      continue;
    outer->instructions_before = list->rows[i + 1].instructions_before;
    outer->fusions_before = list->rows[i + 1].fusions_before;
    outer->instructions_after = list->rows[last].instructions_after;
    outer->fusions_after = list->rows[last].fusions_after;
    for (size_t k = i + 1; unknown && k <= last; k++)
      outer->changed = outer->changed == 1 || list->rows[k].changed == 1;
  }
}

hsc_status *hsc_pass_list_read_dumps(const char *directory, hsc_pass_list *list) {
  dump_file *files = NULL;
  size_t count = 0;
  size_t at = 0;
  hsc_status *status = NULL;
  HSC_GOTO(list_dumps(directory, list->arena, &files, &count));
  if (count == 0)
    goto done;
  if (list->row_count == 0)
    HSC_GOTO(rows_of_dumps(files, count, list));
  program_size size;
  list->first_dump = files[0].path;
  count_dump(files[0].path, &size.instructions, &size.fusions);
  for (size_t k = 0; k < count; k++) {
    if (!strcmp(files[k].after, "pipeline-start"))
      continue;
    size_t found = row_of_dump(list, at, &files[k]);
    if (found == list->row_count)
      continue;  // a stage inside a pass
    leave_unchanged(list, at, found, size);
    hsc_pass_row *row = &list->rows[found];
    row->dump = files[k].path;
    row->changed = 1;
    row->instructions_before = size.instructions;
    row->fusions_before = size.fusions;
    count_dump(files[k].path, &size.instructions, &size.fusions);
    row->instructions_after = size.instructions;
    row->fusions_after = size.fusions;
    at = found + 1;
  }
  leave_unchanged(list, at, list->row_count, size);
  count_nested(list);
done:
  hsc_free(files);
  return status ? status : hsc_arena_status(list->arena);
}
