// passes_list.c - the list of passes that ran: rows, nesting, totals, the document; and how it is
// collected from a device.
#include "base/files/file_io.h"
#include "lab/passes/passes_list_internal.h"

#include <math.h>
#include <strings.h>

#include "lab/run/json_tree.h"
#include "lab/passes/passes_time.h"

// Whether a pipeline of this name ran a pass, in any of its starts.
static bool had_passes(const hsc_pass_list *list, const char *pipeline) {
  for (size_t i = 0; i < list->row_count; i++)
    if (!list->rows[i].counts && !strcmp(list->rows[i].pipeline, pipeline))
      return true;
  return false;
}

static bool seen_before(const hsc_pass_list *list, size_t row, bool pipeline) {
  for (size_t i = 0; i < row; i++) {
    if ((!pipeline && list->rows[i].nested) || list->rows[i].counts)
      continue;
    if (!strcmp(pipeline ? list->rows[i].pipeline : list->rows[i].pass,
                pipeline ? list->rows[row].pipeline : list->rows[row].pass))
      return true;
  }
  return false;
}

hsc_pass_totals hsc_pass_list_totals(const hsc_pass_list *list) {
  hsc_pass_totals t = {0};
  double known = 0;
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    if (row->counts)
      continue;
    t.pipelines += !seen_before(list, i, true);
    if (row->nested) {
      t.nested++;
      continue;
    }
    t.runs++;
    t.passes += !seen_before(list, i, false);
    t.changed += row->changed == 1;
    if (row->duration_ns >= 0) {
      known += 1;
      t.seconds += (double)row->duration_ns * 1e-9;
    }
  }
  for (int i = 0; i < list->start_count; i++) {
    const char *name = list->starts[i].name;
    bool again = false;
    for (int k = 0; k < i && !again; k++)
      again = !strcmp(list->starts[k].name, name);
    for (size_t k = 0; k < list->row_count && !again; k++)
      again = list->rows[k].counts && !strcmp(list->rows[k].pipeline, name);
    t.idle += !again && !had_passes(list, name);
  }
  t.pipelines += t.idle;
  if (known == 0)
    t.seconds = NAN;
  return t;
}

hsc_status *hsc_pass_list_names(hsc_pass_list *list,
                                bool pipelines,
                                const char ***out_names,
                                size_t *out_count) {
  const char **names = HSC_NEW_ARRAY(list->arena, const char *, 2 * list->row_count + 1);
  size_t count = 0;
  HSC_TRY(hsc_arena_status(list->arena));
  for (size_t i = 0; i < list->row_count; i++)
    for (int which = 0; which < 2; which++) {
      const char *name = which ? list->rows[i].pass : list->rows[i].pipeline;
      if (list->rows[i].counts || (!pipelines && (!which || list->rows[i].nested)))
        continue;
      bool known = false;
      for (size_t k = 0; k < count && !known; k++)
        known = !strcmp(names[k], name);
      if (!known)
        names[count++] = name;
    }
  *out_names = names;
  *out_count = count;
  return NULL;
}

// "algsimp/add-zero 3, algsimp/or-same 1": the next name and number; false at the end.
static bool next_count(const char **at, char key[64], int64_t *out_value) {
  long long value = 0;
  int used = 0;
  if (sscanf(*at, "%63s %lld%n", key, &value, &used) < 2)
    return false;
  *out_value = value;
  *at += used;
  *at += strspn(*at, ", ");
  return true;
}

hsc_status *hsc_pass_list_rules(hsc_pass_list *list, const char ***out_names, size_t *out_count) {
  const char **names = NULL;
  size_t count = 0;
  size_t capacity = 0;
  char key[64];
  int64_t value;
  for (size_t i = 0; i < list->row_count; i++)
    for (const char *at = list->rows[i].rules; at && next_count(&at, key, &value);)
      capacity++;
  names = HSC_NEW_ARRAY(list->arena, const char *, capacity + 1);
  for (size_t i = 0; names && i < list->row_count; i++)
    for (const char *at = list->rows[i].rules; at && next_count(&at, key, &value);) {
      bool known = false;
      for (size_t k = 0; k < count && !known; k++)
        known = !strcmp(names[k], key);
      if (!known)
        names[count++] = hsc_arena_strdup(list->arena, key);
      if (!known && !names[count - 1])
        return hsc_arena_status(list->arena);
    }
  *out_names = names;
  *out_count = count;
  return hsc_arena_status(list->arena);
}

int64_t hsc_pass_list_fired(const hsc_pass_list *list, const char *rule) {
  int64_t sum = 0;
  int64_t value;
  char key[64];
  for (size_t i = 0; i < list->row_count; i++)
    for (const char *at = list->rows[i].rules; at && next_count(&at, key, &value);)
      if (!strcmp(key, rule))
        sum += value;
  return sum;
}

// ---- the document -------------------------------------------------------------------------------

static json_t *number_or_null(int64_t value) {
  return value < 0 ? json_null() : json_integer((json_int_t)value);
}

static json_t *counts_json(const char *text) {
  json_t *counts = json_object();
  char key[64];
  int64_t value;
  for (const char *at = text; next_count(&at, key, &value);)
    json_object_set_new(counts, key, json_integer((json_int_t)value));
  return counts;
}

static json_t *row_json(const hsc_pass_row *row, size_t number) {
  json_t *out = json_object();
  json_object_set_new(out, "name", json_string(row->pass));
  json_object_set_new(out, "run", json_integer((json_int_t)number));
  json_object_set_new(out, "changed", row->changed < 0 ? json_null() : json_boolean(row->changed));
  json_object_set_new(
      out, "seconds",
      row->duration_ns < 0 ? json_null() : json_real((double)row->duration_ns * 1e-9));
  if (row->nested)
    json_object_set_new(out, "pipeline", json_true());
  if (row->rewrites >= 0)
    json_object_set_new(out, "rewrites", json_integer((json_int_t)row->rewrites));
  if (row->rules)
    json_object_set_new(out, "rules", counts_json(row->rules));
  if (row->counts)
    json_object_set_new(out, "counts", counts_json(row->counts));
  json_object_set_new(out, "instructions_before", number_or_null(row->instructions_before));
  json_object_set_new(out, "instructions_after", number_or_null(row->instructions_after));
  json_object_set_new(out, "fusions_before", number_or_null(row->fusions_before));
  json_object_set_new(out, "fusions_after", number_or_null(row->fusions_after));
  return out;
}

// One object a start of a pipeline, with no passes where it had none to run. The rows of a pipeline
// that goes on after a nested one are in one object with those before it.
hsc_status *hsc_pass_list_json(const hsc_pass_list *list,
                               const char *program,
                               const char *device,
                               json_t **out_document) {
  json_t *pipelines = json_array();
  hsc_pass_totals t = hsc_pass_list_totals(list);
  for (int run = 0; run < list->start_count; run++) {
    json_t *passes = json_array();
    for (size_t i = 0; i < list->row_count; i++)
      if (list->rows[i].pipeline_run == run)
        json_array_append_new(passes, row_json(&list->rows[i], i));
    json_array_append_new(pipelines, json_pack("{s:s, s:i, s:o}", "name", list->starts[run].name,
                                               "depth", list->starts[run].depth, "passes", passes));
  }
  json_t *totals =
      json_pack("{s:i, s:i, s:i, s:i, s:o}", "pipelines", t.pipelines, "passes", t.passes, "runs",
                t.runs, "changed", t.changed, "seconds", hsc_json_real(t.seconds));
  *out_document =
      json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:o, s:o}", "program", program, "device", device,
                "module", list->module, "from", list->from, "compile_seconds",
                list->compile_ns < 0 ? json_null() : json_real((double)list->compile_ns * 1e-9),
                "pipelines", pipelines, "totals", totals);
  return *out_document ? NULL : hsc_status_out_of_memory();
}

// ---- from a device ------------------------------------------------------------------------------

static hsc_status *read_source(const char *path, bool profile, hsc_pass_list *list) {
  hsc_bytes bytes = {0};
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status)
    status = profile ? hsc_pass_list_read_xspace(hsc_bytes_view(&bytes), list)
                     : hsc_pass_list_read_metadata(hsc_bytes_view(&bytes), path, list);
  hsc_bytes_deinit(&bytes);
  return status;
}

// What the built-in compiler writes beside its module metadata: "name nanoseconds" a line.
static hsc_status *read_phases(const char *directory, hsc_pass_list *list) {
  const char *path = hsc_arena_printf(list->arena, "%s/module_0000.compile_phases.txt", directory);
  hsc_bytes text = {0};
  HSC_TRY(hsc_arena_status(list->arena));
  if (!hsc_file_exists(path))
    return NULL;
  hsc_status *status = hsc_file_read(path, &text);
  for (const char *line = hsc_bytes_text(&text); !status && *line;) {
    char name[64];
    long long ns;
    if (!strncmp(line, "module ", 7))
      list->module = hsc_arena_strndup(list->arena, line + 7, strcspn(line + 7, "\n"));
    else if (sscanf(line, "%63s %lld", name, &ns) == 2)
      json_object_set_new(list->phases, name, json_integer(ns));
    line += strcspn(line, "\n");
    if (*line)
      line++;
  }
  hsc_bytes_deinit(&text);
  return status;
}

// What a profile has after the metadata's last pass.
static hsc_status *read_tail(const char *path, hsc_pass_list *list) {
  hsc_pass_list profile;
  size_t before = list->row_count;
  HSC_TRY(hsc_pass_list_init(&profile));
  hsc_status *status = read_source(path, true, &profile);
  if (!status)
    status = hsc_pass_list_append_tail(list, &profile);
  if (list->row_count > before)
    list->from = "module metadata and profile";
  hsc_pass_list_deinit(&profile);
  return status;
}

// A profile tells XLA:CPU's passes, and on XLA:GPU those after scheduling, which its metadata
// lacks. The TPU's metadata has all of them.
static hsc_status *wants_profile(hsc_lab_worker *worker,
                                 const hsc_passes_collect_options *o,
                                 bool *out_wants) {
  hsc_device_source source = hsc_lab_worker_spec(worker)->source;
  *out_wants = source == HSC_DEVICE_PYTHON || (o->profile && source != HSC_DEVICE_BUILT_IN);
  if (*out_wants || source == HSC_DEVICE_BUILT_IN)
    return NULL;
  hsc_answer start = {0};
  HSC_TRY(hsc_lab_worker_start(worker, &start));
  hsc_status *status = start.outcome == HSC_OUTCOME_OK ? NULL : hsc_answer_take_status(&start);
  hsc_answer_deinit(&start);
  const char *platform =
      json_string_value(json_object_get(hsc_lab_worker_device(worker), "platform"));
  *out_wants = platform && strcasecmp(platform, "tpu") != 0;
  return status;
}

// Notes on the status of a compile that did not come back in which pass it was, or after which, by
// its log; the status as it was when the log says neither.
static hsc_status *note_running(hsc_status *status, const char *log) {
  const char *ended = NULL;
  for (const char *at = log; at && (at = strstr(at, "HLO pass: ")); at++)
    ended = at;
  if (ended && !strstr(ended, "HLO pass "))
    return hsc_status_note(status,
                           "the compiler was past pass %.*s: between passes, or in code generation",
                           (int)strcspn(ended + 10, " \n"), ended + 10);
  char *pass = hsc_passes_running(log);
  if (pass)
    status = hsc_status_hint(
        hsc_status_note(status, "the compiler was in pass %s", pass),
        "hloscope passes list PROGRAM --disable %s shows whether it is that pass alone", pass);
  hsc_free(pass);
  return status;
}

// One collection: where its files lie, and what is asked for.
typedef struct collection {
  hsc_lab_worker *worker;
  const hsc_passes_collect_options *o;
  hsc_pass_list *list;
  const hsc_device_spec *device;
  const char *profile_path;
  bool profile;   // a profile of the compilation is asked for
  bool metadata;  // and the metadata that the compiler writes; Python's XLA has no options for it
} collection;

static void put_dump_options(const collection *c, json_t *overrides) {
  const hsc_passes_collect_options *o = c->o;
  if (c->metadata || o->dumps)
    json_object_set_new(overrides, "xla_dump_to", json_string(o->scratch));
  if (c->metadata)
    json_object_set_new(overrides, "xla_dump_module_metadata", json_true());
  if (o->dumps)
    json_object_set_new(overrides, "xla_dump_hlo_pass_re",
                        json_string(o->pass_re ? o->pass_re : ".*"));
  if (o->dumps && o->bare)
    json_object_set_new(overrides, "xla_dump_disable_metadata", json_true());
  // Without a word about the form, XLA writes text of the first and last module even where only
  // metadata is wanted.
  if (c->metadata || o->dumps)
    json_object_set_new(overrides, "xla_dump_hlo_as_text", json_boolean(o->dumps && !o->as_proto));
  if (o->dumps && o->as_proto)
    json_object_set_new(overrides, "xla_dump_hlo_as_proto", json_true());
}

static hsc_status *make_request(const collection *c, json_t **out_request) {
  const hsc_passes_collect_options *o = c->o;
  const char *optimized = hsc_arena_printf(c->list->arena, "%s/optimized.pb", o->scratch);
  HSC_TRY(hsc_arena_status(c->list->arena));
  json_t *overrides = o->overrides ? json_copy(o->overrides) : json_object();
  json_t *request = json_pack("{s:s, s:s, s:s}", "job", "compile", "program", o->program,
                              "optimized_to", optimized);
  json_t *transforms = json_array();
  if (!request || !overrides || !transforms)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < o->transform_count; i++)
    json_array_append_new(transforms, json_string(o->transforms[i]));
  json_object_set_new(request, "transforms", transforms);
  if (c->profile)
    json_object_set_new(request, "xspace_to", json_string(c->profile_path));
  put_dump_options(c, overrides);
  json_object_set_new(request, "overrides", overrides);
  *out_request = request;
  return NULL;
}

// One compilation, whose files are in the scratch directory afterwards.
static hsc_status *compile(collection *c) {
  hsc_answer answer = {0};
  json_t *request = NULL;
  HSC_TRY(make_request(c, &request));
  hsc_status *status = hsc_lab_worker_call(c->worker, request, c->o->limit_ns, &answer);
  // no profiler: the metadata must do
  if (!status && c->profile && c->metadata && answer.outcome == HSC_OUTCOME_UNSUPPORTED) {
    hsc_answer_deinit(&answer);
    json_object_del(request, "xspace_to");
    c->profile = false;
    status = hsc_lab_worker_call(c->worker, request, c->o->limit_ns, &answer);
  }
  json_decref(request);
  if (status)
    return status;
  if (answer.outcome != HSC_OUTCOME_OK) {
    status = hsc_answer_take_status(&answer);
    if (status && answer.log)
      status = note_running(status, answer.log);
    hsc_answer_deinit(&answer);
    return status;
  }
  c->list->compile_ns = json_integer_value(json_object_get(answer.body, "compile_ns"));
  c->list->phases = json_object();
  json_object_update(c->list->phases, json_object_get(answer.body, "program"));
  hsc_answer_deinit(&answer);
  return c->device->source == HSC_DEVICE_BUILT_IN ? read_phases(c->o->scratch, c->list) : NULL;
}

// The list of passes, from the first of profile, metadata and dumps that has one.
static hsc_status *read_list(const collection *c) {
  hsc_pass_list *list = c->list;
  const char *metadata = NULL;
  if (c->metadata)
    HSC_TRY(hsc__metadata_file(c->o->scratch, list->arena, &metadata));
  if (c->profile && (c->o->profile || !metadata)) {
    HSC_TRY(read_source(c->profile_path, true, list));
    list->from = "profile";
  }
  if (list->row_count == 0 && metadata) {  // or a profiler that says nothing of passes
    HSC_TRY(read_source(metadata, false, list));
    list->from = "module metadata";
    if (c->profile)
      HSC_TRY(read_tail(c->profile_path, list));
  }
  if (list->row_count == 0)
    list->from = "dumps";
  hsc_pass_list_nest(list);
  HSC_TRY(hsc_arena_status(list->arena));
  return c->o->dumps ? hsc_pass_list_read_dumps(c->o->scratch, list) : NULL;
}

hsc_status *hsc_passes_collect(hsc_lab_worker *worker,
                               const hsc_passes_collect_options *o,
                               hsc_pass_list *list) {
  const hsc_device_spec *device = hsc_lab_worker_spec(worker);
  if (device->source == HSC_DEVICE_EVALUATOR)
    return HSC_ERR(UNIMPLEMENTED,
                   "passes: the reference evaluator does not compile, so it has no passes");
  collection c = {.worker = worker,
                  .o = o,
                  .list = list,
                  .device = device,
                  .metadata = device->source != HSC_DEVICE_PYTHON};
  HSC_TRY(wants_profile(worker, o, &c.profile));
  c.profile_path = hsc_arena_printf(list->arena, "%s/compile.xspace", o->scratch);
  HSC_TRY(hsc_arena_status(list->arena));
  HSC_TRY(hsc_dir_make(o->scratch));
  HSC_TRY(compile(&c));
  HSC_TRY(read_list(&c));
  if (list->row_count == 0)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED,
                "passes: %s wrote no module metadata and no dumps, so its passes cannot be seen",
                device->text),
        "the device must honour xla_dump_to and xla_dump_module_metadata");
  return hsc_arena_status(list->arena);
}

char *hsc_passes_running(const char *log) {
  static const char *const marks[] = {"HLO pass ", ": pass "};
  const char *best = NULL;
  for (size_t i = 0; log && i < HSC_COUNT_OF(marks); i++)
    for (const char *at = log; (at = strstr(at, marks[i])); at++) {
      const char *name = at + strlen(marks[i]);
      if (!strncmp(name, "pipeline ", 9))
        continue;  // "Running HLO pass pipeline on module ..."
      if (!best || name > best)
        best = name;
    }
  if (!best)
    return NULL;
  hsc_bytes out = {0};
  hsc_bytes_append(&out, best, strcspn(best, " \n\t"));
  return hsc_bytes_take(&out);
}
