// release_diff.c - what two neighbouring releases make of one program.
//
// Each release is asked for everything that it tells: counts of the final program, the program
// after each pass that changed it, the passes that ran, options that are not as they are by
// default, phases of the compile, operators by profile. What one of the two does not tell is not
// compared, and the document says so.
#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "formats/common/formats.h"
#include "lab/devices/device_version.h"
#include "lab/passes/passes_list.h"
#include "lab/run/json_tree.h"
#include "lab/versions/release_search_internal.h"
#include "views/profile.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"

typedef struct made {  // by one release; objects are {what: value}
  json_t *facts;
  json_t *passes;     // {pass: times that it changed the program}
  json_t *idle;       // {pass: true} that ran and changed nothing
  const char *from;   // what told the passes: dumps have no idle ones
  json_t *stages;     // [{"pass", "sum"}] after each pass that changed the program
  json_t *options;    // {option: value}, of those that are not as by default
  json_t *phases;     // {phase of the compile: seconds}
  json_t *operators;  // {operator: seconds of its own in a run}
  json_t *untold;     // {one of the above: why it is not told}
} made;

static void deinit(made *m) {
  json_t *parts[] = {m->facts,   m->passes, m->idle,      m->stages,
                     m->options, m->phases, m->operators, m->untold};
  for (size_t i = 0; i < HSC_COUNT_OF(parts); i++)
    json_decref(parts[i]);
}

static void take_reason(made *m, const char *what, hsc_status *why) {
  if (why)
    json_object_set_new(m->untold, what, json_string(hsc_status_message(why)));
  hsc_status_free(why);
}

// ---- what one release makes ---------------------------------------------------------------------

static json_t *request_of(const hsc__versions *v, const char *job) {
  json_t *request = json_pack("{s:s, s:s, s:I}", "job", job, "program", v->program, "seed",
                              (json_int_t)v->options->seed);
  if (request && v->options->overrides)
    json_object_set(request, "overrides", v->options->overrides);
  return request;
}

static hsc_status *read_facts(hsc__versions *v, hsc_lab_worker *worker, made *out) {
  static const char *const kept[] = {"instructions", "fusions",    "flops",
                                     "bytes",        "temp_bytes", "code_bytes"};
  hsc_answer answer = {0};
  json_t *request = request_of(v, "compile");
  hsc_status *status = hsc_lab_worker_call(worker, request, hsc__version_limit_ns(v), &answer);
  json_decref(request);
  if (!status && answer.outcome != HSC_OUTCOME_OK)
    take_reason(out, "counts", hsc_answer_take_status(&answer));
  for (size_t i = 0; !status && i < HSC_COUNT_OF(kept); i++) {
    json_t *value = json_object_get(answer.body, kept[i]);
    json_object_set(out->facts, kept[i], value ? value : json_null());
  }
  hsc_answer_deinit(&answer);
  return status;
}

// "name: value" a line, as XLA prints the options that differ from their defaults. Those that name
// the dumps are ours.
static hsc_status *read_options(const char *directory, made *out) {
  hsc_bytes text = {0};
  char path[4200] = "";
  DIR *open = opendir(directory);
  for (struct dirent *e; open && (e = readdir(open));)
    if (hsc_ends_with(e->d_name, ".debug_options"))
      snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
  if (open)
    closedir(open);
  if (!*path)
    return HSC_ERR(UNIMPLEMENTED, "it writes no debug_options beside its dumps");
  HSC_TRY(hsc_file_read(path, &text));
  for (char *line = text.size ? (char *)hsc_bytes_text(&text) : NULL; line;) {
    char *end = strchr(line, '\n');
    if (end)
      *end = '\0';
    char *colon = strstr(line, ": ");
    if (colon && !hsc_starts_with(line, "xla_dump_")) {
      *colon = '\0';
      json_object_set_new(out->options, line, json_string(colon + 2));
    }
    line = end ? end + 1 : NULL;
  }
  hsc_bytes_deinit(&text);
  return NULL;
}

static hsc_status *add_stage(const hsc_pass_row *row, made *out) {
  hsc_module *module = NULL;
  char sum[33];
  HSC_TRY(hsc_program_read_file(row->dump, &module));
  hsc_hash128_hex(hsc_module_fingerprint(module), sum);
  hsc_module_destroy(module);
  json_array_append_new(out->stages, json_pack("{s:s, s:s}", "pass", row->pass, "sum", sum));
  return NULL;
}

static hsc_status *read_rows(const hsc_pass_list *list, made *out) {
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    int64_t changes = json_integer_value(json_object_get(out->passes, row->pass));
    bool pass = !row->nested && !row->counts;
    if (pass && row->changed == 1) {
      json_object_set_new(out->passes, row->pass, json_integer(changes + 1));
      json_object_del(out->idle, row->pass);
    } else if (pass && !changes) {
      json_object_set_new(out->idle, row->pass, json_true());
    }
    if (row->changed == 1 && row->dump)
      HSC_TRY(add_stage(row, out));
  }
  return NULL;
}

static void read_phases(const hsc_pass_list *list, made *out) {
  for (size_t i = 0; list->flame && i < hsc_map_count(list->flame->phases); i++) {
    hsc_view name;
    const int64_t *ns = hsc_map_at(list->flame->phases, i, &name);
    json_object_setn_new(out->phases, name.data, name.size, hsc_json_real((double)*ns / 1e9));
  }
  if (!json_object_size(out->phases))
    json_object_set_new(out->untold, "compile phases", json_string("its profiler tells none"));
}

static hsc_status *read_passes(hsc__versions *v, hsc_lab_worker *worker, made *out) {
  hsc_pass_list list = {0};
  char *dumps = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_pass_list_want_flame(&list));
  HSC_GOTO(hsc_scratch_create_for_dumps(&dumps));
  hsc_passes_collect_options o = {.program = v->program,
                                  .overrides = v->options->overrides,
                                  .scratch = dumps,
                                  .dumps = true,
                                  .as_proto = true,
                                  .profile = true,
                                  .limit_ns = hsc__version_limit_ns(v)};
  take_reason(out, "passes", hsc_passes_collect(worker, &o, &list));
  if (!json_object_get(out->untold, "passes")) {
    out->from = hsc_arena_strdup(v->arena, list.from);
    take_reason(out, "stages", read_rows(&list, out));
    take_reason(out, "options", read_options(dumps, out));
    read_phases(&list, out);
  }
done:
  hsc_pass_list_deinit(&list);
  hsc_scratch_destroy(dumps);
  return status;
}

// Of several sizes the smallest: a profile of every operator of a long loop takes minutes.
static hsc_status *read_operators(hsc__versions *v, hsc_lab_worker *worker, made *out) {
  enum { RUNS = 3 };
  hsc_profile *profile = NULL;
  hsc_answer answer = {0};
  const char *path = hsc_arena_printf(v->arena, "%s/profile.xplane.pb", v->scratch);
  HSC_TRY(hsc_arena_status(v->arena));
  json_t *request = request_of(v, "run");
  json_object_set_new(request, "series", json_integer(RUNS));
  json_object_set_new(request, "xspace_to", json_string(path));
  if (v->size_count)
    json_object_set_new(request, "program", json_string(v->sizes[0].path));
  else if (v->options->data)
    json_object_set(request, "data", v->options->data);
  hsc_status *status = hsc_lab_worker_call(worker, request, hsc__version_limit_ns(v), &answer);
  json_decref(request);
  if (status)
    return status;
  if (answer.outcome == HSC_OUTCOME_OK)
    take_reason(out, "operators", hsc_profile_open(path, &profile));
  else
    take_reason(out, "operators", hsc_answer_take_status(&answer));
  for (int i = 0; profile && i < hsc_profile_op_count(profile); i++) {
    const hsc_profile_op *op = &hsc_profile_ops(profile)[i];
    if (op->self_ps > 0)
      json_object_setn_new(out->operators, op->name.data, op->name.size,
                           hsc_json_real((double)op->self_ps / 1e12 / RUNS));
  }
  if (profile && !json_object_size(out->operators))
    json_object_set_new(out->untold, "operators", json_string("its profile has none"));
  hsc_profile_close(profile);
  hsc_answer_deinit(&answer);
  return NULL;
}

static hsc_status *describe(hsc__versions *v, const char *version, made *out) {
  hsc_device_spec spec;
  hsc_lab_worker *worker = NULL;
  hsc_status *status = NULL;
  *out = (made){.facts = json_object(),
                .passes = json_object(),
                .idle = json_object(),
                .stages = json_array(),
                .options = json_object(),
                .phases = json_object(),
                .operators = json_object(),
                .untold = json_object()};
  HSC_GOTO(hsc__version_spec(v, version, &spec));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &spec,
                                                           .executable = v->options->executable,
                                                           .no_disk_cache = true,
                                                           .stop = v->options->stop},
                                 &worker));
  HSC_GOTO(read_facts(v, worker, out));
  HSC_GOTO(read_passes(v, worker, out));
  if (spec.topology)
    json_object_set_new(out->untold, "operators", json_string("the device only compiles"));
  else
    HSC_GOTO(read_operators(v, worker, out));
done:
  hsc_lab_worker_destroy(worker);
  return status;
}

// ---- what differs -------------------------------------------------------------------------------

static void add_difference(json_t *out, const char *what, json_t *before, json_t *after) {
  if (!json_equal(before, after))
    json_array_append_new(
        out, json_pack("{s:s, s:O, s:O}", "what", what, "before", before, "after", after));
  json_decref(before);
  json_decref(after);
}

// Keys of one alone have null on the other side.
static void diff_objects(json_t *out, const char *prefix, json_t *before, json_t *after) {
  const char *key;
  json_t *value;
  char what[200];
  json_object_foreach (before, key, value) {
    json_t *other = json_object_get(after, key);
    snprintf(what, sizeof what, "%s%s", prefix, key);
    add_difference(out, what, json_incref(value), other ? json_incref(other) : json_null());
  }
  json_object_foreach (after, key, value) {
    if (json_object_get(before, key))
      continue;
    snprintf(what, sizeof what, "%s%s", prefix, key);
    add_difference(out, what, json_null(), json_incref(value));
  }
}

static double sum_of(json_t *object) {
  const char *key;
  json_t *value;
  double sum = 0;
  json_object_foreach (object, key, value)
    sum += json_number_value(value);
  return sum;
}

// Times are never equal: those that went up or down by half of the smaller, and by a tenth of all
// the time that the slower of the two takes. What one alone has is a difference of operators; a
// phase it only does not tell.
static void diff_times(
    json_t *out, const char *prefix, json_t *before, json_t *after, bool both_only) {
  json_t *kept[] = {json_object(), json_object()};
  json_t *sides[] = {before, after};
  double least = fmax(sum_of(before), sum_of(after)) / 10;
  const char *key;
  json_t *value;
  for (int k = 0; k < 2; k++)
    json_object_foreach (sides[k], key, value) {
      double here = json_number_value(value);
      json_t *there = json_object_get(sides[1 - k], key);
      double other = there ? json_number_value(there) : 0;
      if (fabs(here - other) < least || fmax(here, other) < 1.5 * fmin(here, other) ||
          (both_only && !there))
        continue;
      json_object_set(kept[k], key, value);
      if (there)
        json_object_set(kept[1 - k], key, there);
    }
  diff_objects(out, prefix, kept[0], kept[1]);
  json_decref(kept[0]);
  json_decref(kept[1]);
}

// The first stage that is not the same program: after which pass, and how many are alike before it.
static void diff_stages(json_t *out, json_t *before, json_t *after) {
  size_t same = 0;
  json_t *sides[] = {before, after};
  json_t *at[2];
  while (same < json_array_size(before) && same < json_array_size(after) &&
         json_equal(json_array_get(before, same), json_array_get(after, same)))
    same++;
  for (int k = 0; k < 2; k++) {
    json_t *row = json_array_get(sides[k], same);
    at[k] = row ? json_sprintf("stage %d, after %s", (int)same + 1,
                               json_string_value(json_object_get(row, "pass")))
                : json_string("the end of the passes");
  }
  add_difference(out, "first stage that differs", at[0], at[1]);
}

static json_t *keys_without(json_t *object, json_t *of, json_t *or_of) {
  json_t *keys = json_array();
  const char *key;
  json_t *value;
  json_object_foreach (object, key, value)
    if (!json_object_get(of, key) && !json_object_get(or_of, key))
      json_array_append_new(keys, json_string(key));
  return keys;
}

// Which of the passes run in one release alone, of those that change nothing; those that change
// something are compared by how often.
static void diff_idle(json_t *out, json_t *not_compared, const made *before, const made *after) {
  if (strcmp(before->from, after->from) != 0) {
    json_array_append_new(not_compared,
                          json_sprintf("passes that change nothing: %s tell of the one release, "
                                       "%s of the other",
                                       before->from, after->from));
    return;
  }
  add_difference(out, "passes that change nothing and only one of the two runs",
                 keys_without(before->idle, after->idle, after->passes),
                 keys_without(after->idle, before->idle, before->passes));
}

static void say_untold(json_t *out, const char *version, json_t *untold) {
  const char *key;
  json_t *why;
  json_object_foreach (untold, key, why)
    json_array_append_new(out, json_sprintf("%s of %s: %s", key, version, json_string_value(why)));
}

static bool both_tell(const made *a, const made *b, const char *what) {
  return !json_object_get(a->untold, what) && !json_object_get(b->untold, what);
}

hsc_status *hsc__version_differences(hsc__versions *v,
                                     const hsc__try *good,
                                     const hsc__try *bad,
                                     json_t *out_differences,
                                     json_t *out_not_compared) {
  made before = {0};
  made after = {0};
  hsc__version_say(v, bad->version, "what differs");
  HSC_TRY(hsc__version_defaults(v, good, bad, out_differences, out_not_compared));
  hsc_status *status = describe(v, good->version, &before);
  if (!status)
    status = describe(v, bad->version, &after);
  if (!status) {
    if (both_tell(&before, &after, "counts"))
      diff_objects(out_differences, "", before.facts, after.facts);
    if (both_tell(&before, &after, "passes")) {
      diff_objects(out_differences, "changes by pass ", before.passes, after.passes);
      diff_idle(out_differences, out_not_compared, &before, &after);
      diff_times(out_differences, "compile phase ", before.phases, after.phases, true);
      if (both_tell(&before, &after, "stages"))
        diff_stages(out_differences, before.stages, after.stages);
      if (both_tell(&before, &after, "options"))
        diff_objects(out_differences, "option ", before.options, after.options);
    }
    if (both_tell(&before, &after, "operators"))
      diff_times(out_differences, "operator ", before.operators, after.operators, false);
    say_untold(out_not_compared, good->version, before.untold);
    say_untold(out_not_compared, bad->version, after.untold);
    json_array_append_new(out_not_compared, json_string("what the back end makes: machine code"));
  }
  deinit(&before);
  deinit(&after);
  return status;
}
