// tune_candidates.c - what is worth trying: the device's options, passes that changed the program,
// what the caller knows; the likeliest first.
//
// How to read: hsc__tune_candidates, at the end, asks each source in turn: find_vendor_flags and
// find_jaxlib_flags for options with their values, the passes that ran, what was given on the
// command line. What the program itself points to (find_leads) weighs more, and the heaviest are
// tried first.
#include <fnmatch.h>
#include <glob.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/passes/passes_list.h"
#include "lab/tune/tune_internal.h"
#include "worker/scratch.h"

// How early what is tried: what is known to help before what is only likely to.
static const double KNOWN_WEIGHT = 4;
static const double FAMILY_WEIGHT = 2;  // times the share that the family's operations have
static const double OPTION_WEIGHT = 1;
static const double PASS_WEIGHT = 0.9;
static const double NUMBER_SHARE = 0.5;  // numbers that are halved and doubled
// Each further value of an option: time that runs out leaves out values rather than options. What
// is on is switched off first.
static const double NEXT_VALUE = 0.7;

const char *hsc__tune_kind_text(tune_kind kind) {
  static const char *const texts[] = {"option", "pass", "change", "pair", "placebo"};
  return texts[kind];
}

void hsc__tune_release_candidates(tune_run *run) {
  for (int i = 0; i < run->count; i++) {
    tune_candidate *c = &run->items[i];
    json_t *const values[] = {c->overrides, c->facts, c->numbers, c->data};
    for (size_t k = 0; k < HSC_COUNT_OF(values); k++)
      json_decref(values[k]);
    hsc_free(c->message);
  }
  hsc_free(run->items);
  run->items = NULL;
  run->count = run->capacity = 0;
}

hsc_status *hsc__tune_add(tune_run *run,
                          tune_kind kind,
                          const char *name,
                          const char *value,
                          const char *why,
                          double weight,
                          tune_candidate **out_candidate) {
  if (!HSC_GROW(run->items, run->count, run->capacity))
    return hsc_status_out_of_memory();
  tune_candidate *c = &run->items[run->count++];
  *c = (tune_candidate){.kind = kind,
                        .name = hsc_arena_strdup(run->arena, name),
                        .value = value ? hsc_arena_strdup(run->arena, value) : NULL,
                        .why = hsc_arena_strdup(run->arena, why),
                        .parts = 1,
                        .weight = weight,
                        .temp_bytes = NAN,
                        .peak_bytes = NAN,
                        .kernels = NAN,
                        .overrides = json_object(),
                        .found = {.screen = NAN}};
  if (!c->overrides)
    return hsc_status_out_of_memory();
  if (out_candidate)
    *out_candidate = c;
  return hsc_arena_status(run->arena);
}

// ---- rules --------------------------------------------------------------------------------------

static const struct {
  const char *pattern, *why;
} leaves[] =
    {
#define LEAVE(pattern, why) {pattern, why},
#define RISK(pattern, what)
#define FAMILY(ops, words)
#define OWN(name, value)
#include "lab/tune/tune_rules.def"
#undef LEAVE
#undef RISK
},
  risks[] = {
#define LEAVE(pattern, why)
#define RISK(pattern, what) {pattern, what},
#include "lab/tune/tune_rules.def"
#undef RISK
#undef FAMILY
};
static const struct {
  const char *ops, *words;
} families[] = {
#define RISK(pattern, what)
#define FAMILY(ops, words) {ops, words},
#include "lab/tune/tune_rules.def"
#undef FAMILY
#undef OWN
};
static const struct {
  const char *name, *value;
} owns[] = {
#define FAMILY(ops, words)
#define OWN(name, value) {name, value},
#include "lab/tune/tune_rules.def"
#undef LEAVE
#undef RISK
#undef FAMILY
#undef OWN
};

static bool starts(const char *text, const char *with) {
  return !strncmp(text, with, strlen(with));
}

static bool is_for(const char *device, const char *name) {
  if (starts(device, "xla-cpu") || !strcmp(device, "cpu"))
    return !starts(name, "xla_gpu_") && !starts(name, "xla_tpu_");
  if (starts(device, "cuda") || starts(device, "rocm"))
    return !starts(name, "xla_cpu_") && !starts(name, "xla_tpu_");
  if (starts(device, "tpu"))
    return !starts(name, "xla_cpu_") && !starts(name, "xla_gpu_");
  return true;
}

const char *hsc__tune_leave(const char *device, const hsc_flag *flag) {
  if (!is_for(device, flag->name))
    return "of another compiler";
  if (flag->deprecated)
    return "deprecated";
  for (size_t i = 0; i < HSC_COUNT_OF(leaves); i++)
    if (!fnmatch(leaves[i].pattern, flag->name, 0))
      return leaves[i].why;
  return NULL;
}

const char *hsc__tune_risk(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(risks); i++)
    if (!fnmatch(risks[i].pattern, name, 0))
      return risks[i].why;
  return NULL;
}

// ---- values -------------------------------------------------------------------------------------

// Names of an enumeration that choose nothing.
static bool is_no_choice(const char *name) {
  return strstr(name, "INVALID") || strstr(name, "UNSPECIFIED") || strstr(name, "UNKNOWN");
}

static void whole_numbers(const hsc_flag *flag, hsc_arena *arena, const char **values, size_t *n) {
  long long now = strtoll(flag->preset, NULL, 10);
  if (strstr(flag->name, "level")) {
    if (now > 0)
      values[(*n)++] = hsc_arena_printf(arena, "%lld", now - 1);
    values[(*n)++] = hsc_arena_printf(arena, "%lld", now + 1);
  } else if (now > 1) {
    values[(*n)++] = hsc_arena_printf(arena, "%lld", now / 2);
    values[(*n)++] = hsc_arena_printf(arena, "%lld", now * 2);
  }
}

hsc_status *hsc__tune_values(const hsc_flag *flag,
                             hsc_arena *arena,
                             const char ***out_values,
                             size_t *out_count) {
  const char **values = HSC_NEW_ARRAY(arena, const char *, flag->value_count + 4);
  size_t n = 0;
  *out_values = values;
  *out_count = 0;
  HSC_TRY(hsc_arena_status(arena));
  if (!flag->preset)
    return NULL;
  if (flag->type == HSC_FLAG_BOOL && !flag->repeated)
    values[n++] = strcmp(flag->preset, "true") ? "true" : "false";
  if (flag->type == HSC_FLAG_ENUM && flag->repeated && *flag->preset)
    values[n++] = "";
  for (size_t i = 0; flag->type == HSC_FLAG_ENUM && i < flag->value_count; i++)
    if (!is_no_choice(flag->names[i]) && strcmp(flag->preset, flag->names[i]) != 0)
      values[n++] = flag->names[i];
  if (flag->type == HSC_FLAG_INT && !flag->repeated)
    whole_numbers(flag, arena, values, &n);
  if (flag->type == HSC_FLAG_REAL && !flag->repeated) {
    double now = strtod(flag->preset, NULL);
    if (now > 0) {
      values[n++] = hsc_arena_printf(arena, "%g", now / 2);
      values[n++] = hsc_arena_printf(arena, "%g", now * 2);
    }
  }
  *out_count = n;
  return hsc_arena_status(arena);
}

// ---- what leads the program ---------------------------------------------------------------------

typedef struct leads {
  double share[HSC_COUNT_OF(families)];
} leads;

static bool has_word(const char *words, const char *word, size_t size) {
  for (const char *at = words; *at;) {
    size_t length = strcspn(at, " ");
    if (length == size && !memcmp(at, word, size))
      return true;
    at += length + (at[length] == ' ');
  }
  return false;
}

// Shares of the families by the cost model: bytes, and flops at eight to a byte.
static hsc_status *find_leads(const tune_run *run, leads *out) {
  static const double FLOPS_A_BYTE = 8;
  static const double LOOP_TRIPS = 10;  // of computations that are called
  hsc_module *module = NULL;
  double total = 0;
  *out = (leads){{0}};
  hsc_status *unread = hsc_program_read_file(run->options->program, &module);
  if (unread) {  // the device may know a program that we cannot read
    hsc_status_free(unread);
    return NULL;
  }
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_cost cost = {0};
      const char *op = hsc_op_text(instr->op);
      if (instr->called_count && instr->op != HSC_OP_REDUCE)
        continue;
      hsc_instr_cost(instr, &cost);
      double work = cost.bytes_read + cost.bytes_written +
                    (cost.flops + 8 * cost.transcendentals) / FLOPS_A_BYTE;
      if (computation != module->entry)
        work *= LOOP_TRIPS;
      total += work;
      for (size_t i = 0; i < HSC_COUNT_OF(families); i++)
        if (has_word(families[i].ops, op, strlen(op)))
          out->share[i] += work;
    }
  for (size_t i = 0; i < HSC_COUNT_OF(families) && total > 0; i++)
    out->share[i] /= total;
  for (size_t i = 0; i < HSC_COUNT_OF(families); i++)
    if (!strcmp(families[i].ops, "(compile)"))
      out->share[i] = run->options->for_compile;
  hsc_module_destroy(module);
  return NULL;
}

// The share of the family that leads among those whose words the option's name holds.
static double lead_of(const leads *l, const char *name) {
  double most = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(families); i++)
    for (const char *at = families[i].words; *at;) {
      char word[32];
      size_t size = strcspn(at, " ");
      snprintf(word, sizeof word, "%.*s", (int)size, at);
      if (strstr(name, word))
        most = fmax(most, l->share[i]);
      at += size + (at[size] == ' ');
    }
  return most;
}

// ---- the compiler's list ------------------------------------------------------------------------

static hsc_status *find_jaxlib_flags(tune_run *run) {
  return hsc_flags_of_jaxlib(run->options->device, run->scratch, run->arena, &run->flags,
                             &run->flags_from, &run->no_flags);
}

// A vendor's compiler says in its dumps what its options are set to.
static hsc_status *read_dumped_settings(tune_run *run, const char *directory) {
  static const char *const patterns[] = {"*config.pbtxt", "*tpu_comp_env.txt"};
  glob_t found = {0};
  hsc_status *status = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(patterns) && !status; i++) {
    const char *pattern = hsc_arena_printf(run->arena, "%s/%s", directory, patterns[i]);
    HSC_TRY(hsc_arena_status(run->arena));
    if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc) {
      hsc_bytes text = {0};
      status = hsc_file_read(found.gl_pathv[0], &text);
      if (!status)
        status = hsc_flags_take_text(&run->flags, hsc_bytes_view(&text), run->arena);
      hsc_flags_rest_is_zero(&run->flags);  // both files name what is not zero
      hsc_bytes_deinit(&text);
    }
    globfree(&found);
  }
  return status;
}

static hsc_status *find_vendor_flags(tune_run *run) {
  const hsc_tune_options *o = run->options;
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  const char *directory = hsc_arena_printf(run->arena, "%s/settings", run->scratch);
  HSC_TRY(hsc_arena_status(run->arena));
  hsc_status *unread = hsc_flags_read(o->device->plugin_path, run->arena, &run->flags);
  if (unread) {
    run->no_flags = "its file cannot be read";
    hsc_status_free(unread);
    return NULL;
  }
  run->flags_from = o->device->plugin_path;
  HSC_TRY(hsc_task_worker(&run->setting, &worker));
  json_t *request = hsc__tune_request(run, "compile", NULL);
  hsc_status *status = request ? NULL : hsc_status_out_of_memory();
  if (!status)
    json_object_set_new(json_object_get(request, "overrides"), "xla_dump_to",
                        json_string(directory));
  if (!status)
    status = hsc_lab_worker_call(worker, request, hsc__tune_limit(run), &answer);
  if (!status)
    status = read_dumped_settings(run, directory);
  hsc_answer_deinit(&answer);
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status;
}

hsc_status *hsc__tune_find_flags(tune_run *run) {
  switch (run->options->device->source) {
    case HSC_DEVICE_PYTHON:
      return find_jaxlib_flags(run);
    case HSC_DEVICE_VENDOR:
    case HSC_DEVICE_PATH:
      return find_vendor_flags(run);
    default:
      return NULL;
  }
}

// ---- all of them --------------------------------------------------------------------------------

static json_t *value_json(hsc_flag_type type, const char *value) {
  if (type == HSC_FLAG_BOOL)
    return json_boolean(!strcmp(value, "true"));
  if (type == HSC_FLAG_INT)
    return json_integer(strtoll(value, NULL, 10));
  if (type == HSC_FLAG_REAL)
    return json_real(strtod(value, NULL));
  return json_string(value);
}

// Without the compiler's description: by the look of the value.
static json_t *guessed_json(const char *value) {
  char *end = NULL;
  long long number = strtoll(value, &end, 10);
  if (!strcmp(value, "true") || !strcmp(value, "false"))
    return json_boolean(*value == 't');
  return *value && !*end ? json_integer(number) : json_string(value);
}

static bool has_candidate(const tune_run *run, const char *name, const char *value) {
  for (int i = 1; i < run->count; i++) {
    const tune_candidate *c = &run->items[i];
    if (c->kind == TUNE_OPTION && !strcmp(c->name, name) && !strcmp(c->value, value))
      return true;
  }
  return false;
}

static hsc_status *add_option(
    tune_run *run, const char *name, const char *value, const char *why, double weight) {
  const hsc_flag *flag = hsc_flags_find(&run->flags, name);
  tune_candidate *c = NULL;
  if (has_candidate(run, name, value))
    return NULL;
  HSC_TRY(hsc__tune_add(run, TUNE_OPTION, name, value, why, weight, &c));
  c->risk = hsc__tune_risk(name);
  json_object_set_new(c->overrides, name,
                      flag ? value_json(flag->type, value) : guessed_json(value));
  return NULL;
}

static hsc_status *add_extras(tune_run *run) {
  const hsc_tune_options *o = run->options;
  for (size_t i = 0; i < o->extra_count; i++) {
    const hsc_tune_extra *e = &o->extras[i];
    const hsc_flag *flag = hsc_flags_find(&run->flags, e->name);
    if ((run->flags.count && !flag) || !is_for(o->device->text, e->name))
      continue;  // of another compiler
    if (flag && (hsc__tune_leave(o->device->text, flag) ||
                 (flag->preset && !strcmp(flag->preset, e->value))))
      continue;
    HSC_TRY(add_option(run, e->name, e->value, e->why, KNOWN_WEIGHT));
  }
  return NULL;
}

static hsc_status *add_flags(tune_run *run, const leads *l) {
  for (size_t i = 0; i < run->flags.count; i++) {
    const hsc_flag *flag = &run->flags.items[i];
    const char **values = NULL;
    size_t count = 0;
    if (hsc__tune_leave(run->options->device->text, flag)) {
      run->left_out++;
      continue;
    }
    HSC_TRY(hsc__tune_values(flag, run->arena, &values, &count));
    double lead = lead_of(l, flag->name);
    bool number = flag->type == HSC_FLAG_INT || flag->type == HSC_FLAG_REAL;
    double weight = (OPTION_WEIGHT + FAMILY_WEIGHT * lead) * (number ? NUMBER_SHARE : 1);
    for (size_t k = 0; k < count; k++) {
      const char *why =
          hsc_arena_printf(run->arena, "the compiler's own list; set to %s%s",
                           *flag->preset ? flag->preset : "nothing",
                           lead >= 0.1 ? ", and named after what leads the program" : "");
      HSC_TRY(hsc_arena_status(run->arena));
      HSC_TRY(add_option(run, flag->name, values[k], why, weight * pow(NEXT_VALUE, (double)k)));
    }
  }
  for (size_t i = 0; run->options->device->source == HSC_DEVICE_BUILT_IN && i < HSC_COUNT_OF(owns);
       i++)
    HSC_TRY(add_option(run, owns[i].name, owns[i].value, "the compiler's own list", OPTION_WEIGHT));
  return NULL;
}

// Passes that changed the program; what changed it often first.
static hsc_status *add_passes(tune_run *run) {
  const hsc_tune_options *o = run->options;
  hsc_pass_list list = {0};
  hsc_lab_worker *worker = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_task_worker(&run->setting, &worker));
  hsc_passes_collect_options collect = {.program = o->program,
                                        .transforms = o->transforms,
                                        .transform_count = o->transform_count,
                                        .overrides = o->overrides,
                                        .scratch = run->scratch,
                                        .dumps = o->device->source != HSC_DEVICE_BUILT_IN,
                                        .bare = true,
                                        .limit_ns = hsc__tune_limit(run)};
  hsc_status *blind = hsc_passes_collect(worker, &collect, &list);
  hsc_status_free(blind);  // a device that does not tell has no passes to try
  for (size_t i = 0; i < list.row_count; i++) {
    const hsc_pass_row *row = &list.rows[i];
    if (row->nested || row->counts || row->changed != 1)
      continue;
    tune_candidate *c = NULL;
    for (int k = 1; k < run->count && !c; k++)
      if (run->items[k].kind == TUNE_PASS && !strcmp(run->items[k].name, row->pass))
        c = &run->items[k];
    if (c) {
      c->weight = fmin(c->weight + 0.05, OPTION_WEIGHT + 0.2);
      continue;
    }
    HSC_GOTO(
        hsc__tune_add(run, TUNE_PASS, row->pass, NULL, "it changed the program", PASS_WEIGHT, &c));
    json_object_set_new(c->overrides, "xla_disable_hlo_passes", json_string(c->name));
  }
done:
  hsc_lab_worker_destroy(worker);
  hsc_pass_list_deinit(&list);
  return status;
}

static int by_weight(const void *a, const void *b) {
  const tune_candidate *x = a;
  const tune_candidate *y = b;
  if (x->weight != y->weight)
    return x->weight > y->weight ? -1 : 1;
  int order = strcmp(x->name, y->name);
  if (order || !x->value || !y->value)
    return order;
  return strcmp(x->value, y->value);
}

// Of those that are there, the ones that the caller wants.
static hsc_status *choose(tune_run *run) {
  const hsc_tune_options *o = run->options;
  regex_t pattern;
  int kept = 1;
  if (o->pattern && regcomp(&pattern, o->pattern, REG_EXTENDED | REG_NOSUB))
    return hsc_status_usage(
        HSC_ERR(INVALID_ARGUMENT, "not a regular expression: '%s'", o->pattern));
  int found = run->count - 1;
  for (int i = 1; i < run->count; i++) {
    if (o->pattern && regexec(&pattern, run->items[i].name, 0, NULL, 0)) {
      json_decref(run->items[i].overrides);
      continue;
    }
    run->items[kept++] = run->items[i];
  }
  if (o->pattern)
    regfree(&pattern);
  run->count = kept;
  if (o->pattern && kept == 1)
    return hsc_status_usage(hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "no candidate's name matches '%s'", o->pattern),
        "%s has %d candidates; hloscope tune --all lists them", o->device->text, found));
  qsort(run->items + 1, (size_t)(run->count - 1), sizeof *run->items, by_weight);
  for (; o->most && run->count > 1 + o->most; run->count--)
    json_decref(run->items[run->count - 1].overrides);
  run->candidate_count = run->count - 1;
  return NULL;
}

hsc_status *hsc__tune_candidates(tune_run *run) {
  leads l;
  HSC_TRY(find_leads(run, &l));
  HSC_TRY(add_extras(run));
  HSC_TRY(add_flags(run, &l));
  HSC_TRY(add_passes(run));
  if (!run->options->no_changes)
    HSC_TRY(hsc__tune_changes(run));
  HSC_TRY(choose(run));
  for (int i = 0; i < run->options->placebos; i++) {
    tune_candidate *c = NULL;
    const char *name = hsc_arena_printf(run->arena, "hloscope-placebo-%d", i + 1);
    HSC_TRY(hsc_arena_status(run->arena));
    HSC_TRY(hsc__tune_add(run, TUNE_PLACEBO, name, NULL, "it changes nothing", 0, &c));
    json_object_set_new(c->overrides, "xla_disable_hlo_passes", json_string(name));
  }
  return NULL;
}
