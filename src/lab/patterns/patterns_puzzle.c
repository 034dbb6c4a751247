// patterns_puzzle.c - why a first run can be slow although the program was compiled before: the
// experiment.
//
// A framework that traces lazily puts an input that was made on the device (`ones(...)`) into the
// program as a constant expression. After the first synchronisation the same tensor is device data,
// that is, a parameter: another program with another fingerprint, so the second run, which
// everybody calls cached, compiles again. Here both are run on purpose: in one case run 0 has the
// input as a constant and the others have it as a parameter, in the control all have it as a
// parameter. Each case starts with a new client and is done three times.
#include "lab/patterns/patterns_internal.h"

enum { REPEATS = 3, RUNS = 4 };

static pattern_config *find(patterns_run *run, const char *graph, const char *pattern) {
  for (size_t i = 0; i < run->config_count; i++)
    if ((!graph || !strcmp(run->configs[i].graph, graph)) &&
        !strcmp(run->configs[i].pattern->name, pattern))
      return &run->configs[i];
  return NULL;
}

// The argument that becomes a constant: what the pattern carries. -1 = this program has none.
static int64_t constant_argument(const pattern_config *config, json_t **out_facts) {
  json_t *inputs = json_object_get(config->describe, "inputs");
  json_t *arguments = json_object_get(config->manifest, "arguments");
  json_t *output = json_array_get(json_object_get(config->describe, "outputs"), 0);
  for (size_t i = json_array_size(inputs); i-- > 0;) {
    json_t *input = json_array_get(inputs, i);
    const char *role = json_string_value(json_object_get(json_array_get(arguments, i), "role"));
    bool is_data = arguments ? role && !strcmp(role, "input")
                             : json_equal(json_object_get(input, "shape"), output);
    if (!is_data)
      continue;
    *out_facts = input;
    return (int64_t)i;
  }
  return -1;
}

static void add_transform(json_t *request, const char *transform) {
  json_t *list = json_object_get(request, "transforms");
  if (!list) {
    list = json_array();
    json_object_set_new(request, "transforms", list);
  }
  json_array_append_new(list, json_string(transform));
}

// Appends the records of one task to `runs`.
static hsc_status *do_runs(patterns_run *run,
                           const pattern_config *config,
                           const char *key,
                           const char *constant,
                           int records,
                           json_t *runs) {
  json_t *request = hsc__patterns_request(config, "run");
  json_t *body = NULL;
  if (constant) {
    add_transform(request, constant);
    json_object_del(request, "feed");
  }
  json_object_set_new(request, "records", json_integer(records));
  json_object_set_new(request, "cache", json_pack("[s]", "memory"));
  json_object_set_new(request, "fetch", json_false());
  HSC_TRY(hsc__patterns_task(run, NULL, key, request, &body));
  json_array_extend(runs, json_object_get(body, "records"));
  json_decref(body);
  return NULL;
}

static hsc_status *new_client(patterns_run *run, const char *key) {
  json_t *body = NULL;
  HSC_TRY(hsc__patterns_task(run, NULL, key, json_pack("{s:s}", "job", "reinit"), &body));
  json_decref(body);
  return NULL;
}

static hsc_status *one_config(patterns_run *run, const pattern_config *config) {
  json_t *facts = NULL;
  int64_t argument = constant_argument(config, &facts);
  if (argument < 0 || config->outcome)
    return NULL;
  char constant[64], key[512];
  snprintf(constant, sizeof constant, "constant:%lld=1", (long long)argument);
  json_t *cases[2] = {json_array(), json_array()};
  hsc_status *status = NULL;
  for (int repeat = 0; repeat < REPEATS && !status; repeat++) {
    for (int c = 0; c < 2 && !status; c++) {
      const char *name = c == 0 ? "constant" : "control";
      json_t *runs = json_array();
      snprintf(key, sizeof key, "puzzle/%s/%s/%d/reinit", config->key, name, repeat + 1);
      status = new_client(run, key);
      snprintf(key, sizeof key, "puzzle/%s/%s/%d/first", config->key, name, repeat + 1);
      if (!status)
        status = do_runs(run, config, key, c == 0 ? constant : NULL, c == 0 ? 1 : RUNS, runs);
      snprintf(key, sizeof key, "puzzle/%s/%s/%d/then", config->key, name, repeat + 1);
      if (!status && c == 0)
        status = do_runs(run, config, key, NULL, RUNS - 1, runs);
      if (json_array_size(runs) == RUNS)
        json_array_append(cases[c], runs);
      json_decref(runs);
    }
  }
  if (!status && json_array_size(cases[0]) && json_array_size(cases[1]))
    json_array_append_new(run->puzzle, json_pack("{s:s, s:I, s:O, s:O, s:O}", "key", config->key,
                                                 "argument", (json_int_t)argument, "input", facts,
                                                 "constant", cases[0], "control", cases[1]));
  json_decref(cases[0]);
  json_decref(cases[1]);
  return status;
}

hsc_status *hsc__patterns_puzzle(patterns_run *run) {
  static const char *const patterns[] = {"natural", "vmap"};
  run->puzzle = json_array();
  for (size_t i = 0; i < HSC_COUNT_OF(patterns); i++) {
    pattern_config *config = find(run, "small", patterns[i]);
    if (!config)
      config = find(run, NULL, patterns[i]);
    if (config)
      HSC_TRY(one_config(run, config));
  }
  return NULL;
}
