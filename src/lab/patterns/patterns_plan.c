// patterns_plan.c - which configurations are measured, on which files.
#include <stdlib.h>

#include "base/files/file_io.h"
#include "base/files/places.h"
#include "base/text/text.h"
#include "lab/patterns/patterns_internal.h"
#include "worker/program_spec.h"

const pattern_row hsc__pattern_rows[] = {
#define PATTERN(row_name, row_key, row_transform, execution_count, sync_count, does_feed, \
                row_about) \
  {.name = row_name, \
   .key = row_key, \
   .transform = row_transform, \
   .about = row_about, \
   .executions = execution_count, \
   .syncs = sync_count, \
   .feeds = does_feed},
#include "lab/patterns/patterns.def"
#undef PATTERN
};
const size_t hsc__pattern_row_count = HSC_COUNT_OF(hsc__pattern_rows);

// The folder of the checked-in programs: $HLOSCOPE_MODELS, else ../models or
// ../share/hloscope/models seen from the executable. NOT_FOUND lists them.
static hsc_status *models_dir(hsc_arena *arena, const char **out_path) {
  return hsc_place_find_data("HLOSCOPE_MODELS", "models", "built-in graphs", arena, out_path);
}

static bool chosen(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(names[i], name))
      return true;
  return count == 0;
}

// Every name of a list must be known.
static hsc_status *check_names(const char *what,
                               const char *const *names,
                               size_t count,
                               const char *const *known,
                               size_t known_count) {
  for (size_t i = 0; i < count; i++) {
    if (chosen(names[i], known, known_count) && known_count)
      continue;
    const char *near = hsc_did_you_mean(names[i], known, known_count);
    hsc_status *status = near ? HSC_ERR(INVALID_ARGUMENT, "unknown %s '%s'; did you mean '%s'?",
                                        what, names[i], near)
                              : HSC_ERR(INVALID_ARGUMENT, "unknown %s '%s'", what, names[i]);
    hsc_bytes list = {0};
    for (size_t k = 0; k < known_count; k++)
      hsc_bytes_printf(&list, "%s%s", k ? ", " : "", known[k]);
    status = hsc_status_usage(hsc_status_hint(status, "known: %s", hsc_bytes_text(&list)));
    hsc_bytes_deinit(&list);
    return status;
  }
  return NULL;
}

static hsc_status *add_config(patterns_run *run,
                              const pattern_row *row,
                              const char *graph,
                              const char *program,
                              pattern_config **out_config) {
  size_t trials = (size_t)run->trials;
  pattern_config *config = &run->configs[run->config_count++];
  *config = (pattern_config){.pattern = row};
  config->key = hsc_arena_printf(run->arena, "%s_%s", row->key, graph);
  config->graph = hsc_arena_strdup(run->arena, graph);
  config->program = hsc_arena_strdup(run->arena, program);
  config->trials = HSC_NEW_ARRAY(run->arena, json_t *, trials + 1);
  config->colds = HSC_NEW_ARRAY(run->arena, json_t *, trials + 1);
  *out_config = config;
  return hsc_arena_status(run->arena);
}

static json_t *graph_facts(json_t *row) {
  return json_pack("{s:O?, s:O?, s:O?}", "about", json_object_get(row, "about"), "layer_count",
                   json_object_get(row, "layer_count"), "parameter_count",
                   json_object_get(row, "parameter_count"));
}

// The last argument with role "input": what is carried through the pattern.
static int64_t input_argument(json_t *row) {
  json_t *arguments = json_object_get(row, "arguments");
  for (size_t i = json_array_size(arguments); i-- > 0;) {
    const char *role = json_string_value(json_object_get(json_array_get(arguments, i), "role"));
    if (role && !strcmp(role, "input"))
      return (int64_t)i;
  }
  return -1;
}

static hsc_status *plan_models(patterns_run *run) {
  const hsc_patterns_options *o = run->options;
  const char *models = NULL;
  HSC_TRY(models_dir(run->arena, &models));
  const char *path = hsc_arena_printf(run->arena, "%s/manifest.json", models);
  json_error_t error;
  json_t *manifest = json_load_file(path, 0, &error);
  json_t *row;
  if (!manifest)
    return hsc_status_at(
        HSC_ERR(DATA_LOSS, "the manifest of the models cannot be read: %s", error.text), path,
        error.line, error.column, NULL);
  json_t *programs = json_object_get(manifest, "programs");
  hsc_status *status = NULL;
  const char *known[256];
  size_t known_count = 0;
  size_t i;
  run->configs = HSC_NEW_ARRAY(run->arena, pattern_config, json_array_size(programs) + 1);
  HSC_GOTO(hsc_arena_status(run->arena));
  for (size_t p = 0; p < hsc__pattern_row_count; p++) {
    json_array_foreach (programs, i, row) {
      const char *graph = json_string_value(json_object_get(row, "graph"));
      const char *pattern = json_string_value(json_object_get(row, "pattern"));
      const char *hlo = json_string_value(json_object_get(row, "hlo"));
      if (!graph || !pattern || !hlo || strcmp(pattern, hsc__pattern_rows[p].name) != 0)
        continue;
      if (known_count < HSC_COUNT_OF(known) && !(known_count && chosen(graph, known, known_count)))
        known[known_count++] = hsc_arena_strdup(run->arena, graph);
      if (!chosen(graph, o->graphs, o->graph_count) ||
          !chosen(pattern, o->patterns, o->pattern_count))
        continue;
      pattern_config *config;
      HSC_GOTO(add_config(run, &hsc__pattern_rows[p], graph,
                          hsc_arena_printf(run->arena, "%s/%s", models, hlo), &config));
      config->manifest = json_incref(row);
      if (config->pattern->feeds)
        config->feed = json_pack("[[i, I]]", 0, (json_int_t)input_argument(row));
      if (!json_object_get(run->graphs, graph))
        json_object_set_new(run->graphs, graph, graph_facts(row));
    }
  }
  HSC_GOTO(check_names("graph", o->graphs, o->graph_count, known, known_count));
done:
  json_decref(manifest);
  return status;
}

// "some/dir/my model.hlo.gz" -> "my model"
static const char *program_name(hsc_arena *arena, const char *path) {
  const char *base = hsc_path_file(path);
  size_t length = strcspn(base, ".");
  return hsc_arena_strndup(arena, base, length ? length : strlen(base));
}

// Facts of the user's program, and what its results feed: a program that does not parse is refused
// before anything is measured.
static hsc_status *look_at_program(patterns_run *run, json_t **out_feed) {
  const char *path = run->options->program;
  hsc_module *module = NULL;
  hsc_bytes words = {0};
  int32_t *pairs = NULL;
  int count = 0;
  HSC_TRY(hsc_program_open(path, NULL, 0, &module));
  hsc_status *status = hsc_program_feeds(module, run->arena, &pairs, &count);
  if (!status)
    status = hsc_transform_describe(module, NULL, &words);
  // no argument at all: the patterns that need one say so
  if (hsc_status_code(status) == HSC_INVALID_ARGUMENT && count == 0) {
    hsc_status_free(status);
    status = NULL;
  }
  if (!status) {
    json_t *feed = json_array();
    for (int i = 0; i < count; i++)
      json_array_append_new(feed, json_pack("[i, i]", pairs[2 * i], pairs[2 * i + 1]));
    json_object_set_new(
        run->graphs, program_name(run->arena, path),
        json_pack("{s:s, s:s, s:I, s:s}", "about", "a program of the user", "program", path,
                  "instruction_count", (json_int_t)hsc_module_instr_count(module), "feeds",
                  hsc_bytes_text(&words)));
    *out_feed = feed;
  }
  hsc_bytes_deinit(&words);
  hsc_module_destroy(module);
  return status;
}

static hsc_status *plan_program(patterns_run *run) {
  const hsc_patterns_options *o = run->options;
  if (o->graph_count)
    return HSC_ERR(INVALID_ARGUMENT,
                   "graphs are chosen among the built-in ones; a program is measured alone");
  json_t *feed = NULL;
  HSC_TRY(look_at_program(run, &feed));
  char *absolute = realpath(o->program, NULL);
  const char *path = hsc_arena_strdup(run->arena, absolute ? absolute : o->program);
  free(absolute);
  run->configs = HSC_NEW_ARRAY(run->arena, pattern_config, hsc__pattern_row_count);
  HSC_TRY(hsc_arena_status(run->arena));
  for (size_t p = 0; p < hsc__pattern_row_count; p++) {
    const pattern_row *row = &hsc__pattern_rows[p];
    if (!chosen(row->name, o->patterns, o->pattern_count))
      continue;
    pattern_config *config;
    HSC_TRY(add_config(run, row, program_name(run->arena, o->program), path, &config));
    config->transform = *row->transform ? row->transform : NULL;
    if (o->randomness && !strcmp(row->name, "vmap"))
      config->transform = hsc_arena_printf(run->arena, "%s:%s", row->transform, o->randomness);
    if (row->feeds && json_array_size(feed))
      config->feed = json_incref(feed);
    else if (row->feeds)
      config->fed_note =
          "no result has the shape of a parameter, so each of the three runs gets the same inputs; "
          "in the other patterns each application has data of its own";
  }
  json_decref(feed);
  return NULL;
}

hsc_status *hsc__patterns_plan(patterns_run *run) {
  const hsc_patterns_options *o = run->options;
  const char *names[8];
  for (size_t p = 0; p < hsc__pattern_row_count; p++)
    names[p] = hsc__pattern_rows[p].name;
  HSC_TRY(check_names("pattern", o->patterns, o->pattern_count, names, hsc__pattern_row_count));
  run->graphs = json_object();
  if (o->program)
    return plan_program(run);
  return plan_models(run);
}

json_t *hsc__patterns_configuration(const patterns_run *run) {
  const hsc_patterns_options *o = run->options;
  json_t *configurations = json_array();
  for (size_t i = 0; i < run->config_count; i++)
    json_array_append_new(configurations, json_string(run->configs[i].key));
  return json_pack(
      "{s:I, s:I, s:b, s:b, s:s, s:s?, s:s?, s:I, s:o}", "warmup_iterations",
      (json_int_t)o->warmup_iterations, "measurement_trials",
      (json_int_t)(o->measurement_trials ? o->measurement_trials : HSC_PATTERNS_TRIALS),
      "exclude_first_trial", o->exclude_first_trial, "enable_device_reinit",
      o->enable_device_reinit, "device", o->device->text, "program", o->program, "randomness",
      o->randomness, "seed", (json_int_t)o->seed, "configurations", configurations);
}

void hsc__patterns_plan_hash(const patterns_run *run, char out_text[33]) {
  json_t *configuration = hsc__patterns_configuration(run);
  char *text = json_dumps(configuration, JSON_COMPACT | JSON_SORT_KEYS);
  hsc_bytes all = {0};
  hsc_bytes_printf(&all, "patterns %s %s", HSC_VERSION, text ? text : "");
  for (size_t i = 0; i < run->config_count; i++) {  // a file that changed is another experiment
    hsc_bytes file = {0};
    hsc_status *status = hsc_file_read(run->configs[i].program, &file);
    hsc_bytes_printf(&all, " %s %016llx", run->configs[i].program,
                     status ? 0ull : (unsigned long long)hsc_hash64(file.data, file.size, 0));
    hsc_status_free(status);
    hsc_bytes_deinit(&file);
  }
  hsc_hash128_hex(hsc_hash128_of(all.data, all.size, 0), out_text);
  hsc_bytes_deinit(&all);
  free(text);
  json_decref(configuration);
}
