// sweep_plan.c - makes the folder of a plan: inputs by their content, tasks, expected times.
//
// Read from the bottom: hsc_sweep_plan goes through devices and programs, plan_pair says which
// tasks a kind makes of one program on one device, add_task writes one of them down.
#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "lab/sweep/sweep_internal.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/random.h"
#include "formats/common/formats.h"
#include "lab/devices/devices.h"
#include "lab/passes/optimized.h"
#include "lab/passes/passes_list.h"
#include "lab/run/json_tree.h"
#include "lab/store/environment.h"
#include "transform/mutate/mutate.h"
#include "worker/program_spec.h"
#include "worker/scratch.h"

static const hsc_sweep_kind kinds[] = {
#define KIND(name, job, command, about) {#name, job, command, about},
#include "lab/sweep/sweep_kinds.def"
#undef KIND
};

static hsc_status *find_kind(const char *name, const hsc_sweep_kind **out) {
  const char *names[HSC_COUNT_OF(kinds)];
  for (size_t i = 0; i < HSC_COUNT_OF(kinds); i++) {
    names[i] = kinds[i].name;
    *out = &kinds[i];
    if (!strcmp(kinds[i].name, name))
      return NULL;
  }
  const char *near = hsc_did_you_mean(name, names, HSC_COUNT_OF(names));
  hsc_status *status = hsc_status_usage(HSC_ERR(INVALID_ARGUMENT, "no kind of task '%s'", name));
  return near ? hsc_status_hint(status, "did you mean '%s'?", near)
              : hsc_status_hint(status, "hloscope sweep --help lists the kinds");
}

// Whether the kind is a command with that word.
static bool is_of(const hsc_sweep_kind *kind, const char *word) {
  return kind->command && strstr(kind->command, word);
}

typedef struct planning {
  const hsc_sweep_plan_options *options;
  const hsc_sweep_kind *kind;
  hsc_arena *arena;
  hsc_bytes lines;  // tasks.jsonl
  int64_t count;
  int64_t *instructions;  // of each program as it was written
  hsc_map *ids;           // of the tasks so far: one that is there already is left out
  hsc_map *known;         // names that ran on some program: of them --off may be
  char *scratch;
} planning;

// ---- inputs -------------------------------------------------------------------------------------

// "model.hlo.gz" -> ".hlo.gz": readers go by it, hashes do not tell it.
static const char *extension_of(const char *path) {
  const char *dot = strchr(hsc_path_file(path), '.');
  return dot ? dot : "";
}

// Writes bytes to inputs/<their hash><ending>, once.
static hsc_status *keep_input(planning *p,
                              const hsc_bytes *bytes,
                              const char *ending,
                              const char **out_name) {
  const char *data = bytes->data ? bytes->data : "";
  char hash[33];
  hsc_hash128_hex(hsc_hash128_of(data, bytes->size, 0), hash);
  *out_name = hsc_arena_printf(p->arena, "inputs/%s%s", hash, ending);
  const char *to = hsc_arena_printf(p->arena, "%s/%s", p->options->folder, *out_name);
  const char *inputs = hsc_arena_printf(p->arena, "%s/inputs", p->options->folder);
  HSC_TRY(hsc_arena_status(p->arena));
  HSC_TRY(hsc_dir_make(inputs));
  return hsc_file_exists(to) ? NULL : hsc_file_write_atomic(to, data, bytes->size);
}

static hsc_status *copy_input(planning *p, const char *path, const char **out_name) {
  hsc_bytes bytes = {0};
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status)
    status = keep_input(p, &bytes, extension_of(path), out_name);
  hsc_bytes_deinit(&bytes);
  return status;
}

// Of the program as it was written; also says whether it can be read at all.
static hsc_status *count_instructions(const char *path, int64_t *out_count) {
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_open(path, NULL, 0, &module));
  *out_count = hsc_module_instr_count(module);
  hsc_module_destroy(module);
  return NULL;
}

// ---- expected times -----------------------------------------------------------------------------

// Seconds of a compile, from a fit over models/ (bench/sweep/costs.py): what the order of tasks
// needs, and corrected by what the first tasks of a program take.
static double compile_cost(const hsc_device_spec *device, int64_t instructions) {
  double slow = device->source == HSC_DEVICE_BUILT_IN ? 1 : 20;
  return slow * (0.002 + 4e-5 * (double)instructions);
}

// ---- tasks --------------------------------------------------------------------------------------

typedef struct pair {
  const char *program, *device, *input;
  double cost_s;
} pair;

// Writes a task down; `does` ({"job": ...} or {"argv": ...}) is stolen.
static hsc_status *add_task(
    planning *p, const pair *of, const char *off, int64_t repeat, json_t *does, double cost_s) {
  char id[33];
  bool added = false;
  hsc_status *status = NULL;
  char *text = does ? json_dumps(does, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  hsc_bytes all = {0};
  hsc_bytes_printf(&all, "sweep %d|%s|%s|%s|%s|%s|%lld|%s", HSC_SWEEP_FORMAT, p->kind->name,
                   of->program, of->input ? of->input : "", of->device, off, (long long)repeat,
                   text ? text : "");
  if (!text)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_bytes_status(&all));
  hsc_hash128_hex(hsc_hash128_of(all.data, all.size, 0), id);
  HSC_GOTO(hsc_map_add(p->ids, hsc_view_of(id), p, &added));
  if (!added)
    goto done;
  json_t *line =
      json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o?, s:f, s:f, s:O}", "id", id, "kind",
                p->kind->name, "program", of->program, "device", of->device, "off", off, "repeat",
                (json_int_t)repeat, "input", of->input ? json_string(of->input) : NULL, "cost_s",
                cost_s, "limit_s", p->options->limit_s, "do", does);
  char *written = line ? json_dumps(line, JSON_COMPACT) : NULL;
  if (written)
    hsc_bytes_printf(&p->lines, "%s\n", written);
  status = written ? hsc_bytes_status(&p->lines) : hsc_status_out_of_memory();
  free(written);
  json_decref(line);
  p->count++;
done:
  free(text);
  json_decref(does);
  hsc_bytes_deinit(&all);
  return status;
}

// "a+b" -> "a,b", after what --option switched off already.
static hsc_status *overrides_without(const planning *p, const char *off, json_t **out) {
  json_t *given = p->options->overrides;
  json_t *overrides = given ? json_deep_copy(given) : json_object();
  const char *before = json_string_value(json_object_get(overrides, "xla_disable_hlo_passes"));
  hsc_bytes list = {0};
  hsc_bytes_printf(&list, "%s%s", before ? before : "", before && *before && *off ? "," : "");
  for (; *off; off++)
    hsc_bytes_append_char(&list, *off == '+' ? ',' : *off);
  if (list.size)
    json_object_set_new(overrides, "xla_disable_hlo_passes", json_string(hsc_bytes_text(&list)));
  hsc_status *status = hsc_bytes_status(&list);
  hsc_bytes_deinit(&list);
  if (!status && !overrides)
    status = hsc_status_out_of_memory();
  if (status)
    json_decref(overrides);
  *out = status ? NULL : overrides;
  return status;
}

static hsc_status *add_job(planning *p, const pair *of, const char *off, int64_t repeat) {
  json_t *overrides = NULL;
  HSC_TRY(overrides_without(p, off, &overrides));
  json_t *job = json_pack("{s:s, s:o, s:I}", "job", p->kind->job, "overrides", overrides, "seed",
                          (json_int_t)p->options->seed);
  if (!strcmp(p->kind->job, "run"))
    json_object_set_new(job, "series", json_integer(p->options->series));
  return add_task(p, of, off, repeat, json_pack("{s:o}", "job", job), of->cost_s);
}

// All variants of a timed task take turns in one process of one host: a ratio never crosses hosts.
static hsc_status *add_timing(planning *p, const pair *of, const char *const *off, size_t count) {
  enum { MOST_TOGETHER = 8 };
  hsc_status *status = NULL;
  for (size_t from = 0; from < count && !status; from += MOST_TOGETHER)
    for (int64_t repeat = 0; repeat < p->options->repeats && !status; repeat++) {
      json_t *variants = json_array();
      json_t *names = json_array();
      hsc_bytes title = {0};
      json_t *overrides = NULL;
      for (int i = -1 - p->options->placebo_count; i < MOST_TOGETHER && !status; i++) {
        const char *name = "";
        if (i >= 0 && from + (size_t)i >= count)
          break;
        if (i >= 0)
          name = off[from + (size_t)i];
        else if (i > -1 - p->options->placebo_count)
          name = hsc_arena_printf(p->arena, "hloscope-placebo-%d", -i);
        status = overrides_without(p, name, &overrides);
        json_array_append_new(variants, overrides);
        json_array_append_new(names, json_string(name));
        if (i >= 0)
          hsc_bytes_printf(&title, "%s%s", title.size ? " " : "", name);
      }
      json_t *job = json_pack("{s:s, s:o, s:i, s:i, s:I, s:I}", "job", "interleave", "variants",
                              variants, "blocks", 8, "iterations", 3, "shuffle_seed",
                              (json_int_t)(p->options->seed + (uint64_t)repeat + 1), "seed",
                              (json_int_t)p->options->seed);
      if (!status)
        status = add_task(p, of, hsc_bytes_text(&title), repeat,
                          json_pack("{s:o, s:o}", "job", job, "names", names),
                          of->cost_s * (double)(from + 4));
      hsc_bytes_deinit(&title);
    }
  return status;
}

// Of a task's limit, for commands that end by themselves.
static const double BUDGET_SHARE = 0.8;

static const char *replaced(planning *p, const char *word, const pair *of, const char *baseline) {
  if (!strcmp(word, "{program}") || !strcmp(word, "{mutant}"))
    return of->input;
  if (!strcmp(word, "{budget}"))  // what ends by itself says what it found
    return hsc_arena_printf(p->arena, "%.6g", BUDGET_SHARE * p->options->limit_s);
  if (!strcmp(word, "{device}"))
    return of->device;
  if (!strcmp(word, "{baseline}"))
    return baseline;
  return word;
}

// Words of a command, as so many tasks from `repeat` on; what lies in inputs/ is written as
// {folder}/inputs/...
static hsc_status *add_command(planning *p, const pair *of, int64_t repeat, int64_t count) {
  const char *baseline = NULL;
  json_t *words = json_array();
  hsc_status *status = NULL;
  char *copy = hsc_arena_strdup(p->arena, p->kind->command);
  char *rest = copy;
  HSC_TRY(hsc_arena_status(p->arena));
  if (strstr(p->kind->command, "{baseline}")) {
    if (!p->options->baseline)
      status = hsc_status_usage(
          HSC_ERR(INVALID_ARGUMENT, "a sweep of %s needs --baseline FILE", p->kind->name));
    else
      status = copy_input(p, p->options->baseline, &baseline);
  }
  for (char *word; !status && (word = strsep(&rest, " "));) {
    const char *text = replaced(p, word, of, baseline);
    if (text && hsc_starts_with(text, "inputs/"))
      text = hsc_arena_printf(p->arena, "{folder}/%s", text);
    json_array_append_new(words, json_string(text ? text : ""));
  }
  for (size_t i = 0; i < p->options->more_count; i++)
    json_array_append_new(words, json_string(p->options->more[i]));
  if (!status)
    for (int64_t i = repeat; i < repeat + count && !status; i++)
      status = add_task(p, of, "", i, json_pack("{s:O}", "argv", words), 50 * of->cost_s + 1);
  json_decref(words);
  return status;
}

// ---- mutants ------------------------------------------------------------------------------------

// Into inputs/ by its content: as StableHLO, which is what frameworks hand to compilers, and as HLO
// where StableHLO has no words for it.
static hsc_status *write_mutant(planning *p,
                                const hsc_module *module,
                                uint64_t seed,
                                const char **out_name) {
  const char *ending = ".mlir";
  hsc_random random;
  hsc_bytes text = {0};
  hsc_module *mutant = NULL;
  hsc_random_init(&random, seed);
  hsc_status *status = hsc_module_clone(module, &mutant);
  if (!status)
    status = hsc_transform_mutate(mutant, &random);
  if (!status)
    status = hsc_program_write(mutant, HSC_FORMAT_MLIR_TEXT, &text);
  if (hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    hsc_status_free(status);
    hsc_bytes_reset(&text);
    hsc_module_print(mutant, NULL, &text);
    status = hsc_bytes_status(&text);
    ending = ".hlo";
  }
  if (!status)
    status = keep_input(p, &text, ending, out_name);
  hsc_bytes_deinit(&text);
  hsc_module_destroy(mutant);
  return status;
}

// Mutant number r of a program has the seed --seed + r, whatever else is in the plan.
static hsc_status *add_mutants(planning *p, const pair *of) {
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_open(of->program, NULL, 0, &module));
  hsc_status *status = NULL;
  for (int64_t i = 0; i < p->options->repeats && !status; i++) {
    pair mutant = *of;
    status = write_mutant(p, module, p->options->seed + (uint64_t)i, &mutant.input);
    if (!status)
      status = add_command(p, &mutant, i, 1);
  }
  hsc_module_destroy(module);
  return status ? hsc_status_note(status, "making a mutant of %s", of->program) : NULL;
}

// ---- which passes -------------------------------------------------------------------------------

// Names of the passes that ran, in the arena; all are added to p->known.
static hsc_status *passes_of(planning *p,
                             const pair *of,
                             const hsc_device_spec *device,
                             const char ***out_names,
                             size_t *out_count) {
  const hsc_sweep_plan_options *o = p->options;
  hsc_pass_list list = {0};
  hsc_lab_worker *worker = NULL;
  const char **names = NULL;
  hsc_status *status = NULL;
  const char *path = hsc_arena_printf(p->arena, "%s/%s", o->folder, of->input);
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){
          .device = device, .executable = o->executable, .no_disk_cache = true},
      &worker));
  HSC_GOTO(
      hsc_passes_collect(worker,
                         &(hsc_passes_collect_options){.program = path,
                                                       .overrides = o->overrides,
                                                       .scratch = p->scratch,
                                                       .bare = true,
                                                       .limit_ns = (int64_t)(o->limit_s * 1e9)},
                         &list));
  hsc_scratch_empty(p->scratch);
  HSC_GOTO(hsc_pass_list_names(&list, false, &names, out_count));
  *out_names = HSC_NEW_ARRAY(p->arena, const char *, *out_count + 1);
  HSC_GOTO(hsc_arena_status(p->arena));
  for (size_t i = 0; i < *out_count && !status; i++) {
    (*out_names)[i] = hsc_arena_strdup(p->arena, names[i]);
    status = hsc_map_put(p->known, hsc_view_of(names[i]), p);
  }
done:
  hsc_lab_worker_destroy(worker);
  hsc_pass_list_deinit(&list);
  return status ? hsc_status_note(status, "finding the passes of %s on %s", of->program, of->device)
                : NULL;
}

// Calls `use` for each name of each --off until it says that it has seen enough. NULL = all fine.
static const char *unknown_name(planning *p) {
  for (size_t i = 0; i < p->options->off_count; i++) {
    char *copy = hsc_arena_strdup(p->arena, p->options->off[i]);
    for (char *name; (name = strsep(&copy, "+"));)
      if (*name && !hsc_map_get(p->known, hsc_view_of(name)))
        return name;
  }
  return NULL;
}

// A name that no compiler of the plan knows would be accepted by it in silence, and measure
// nothing.
static hsc_status *check_off(planning *p) {
  const char *name = unknown_name(p);
  size_t count = hsc_map_count(p->known);
  if (!name)
    return NULL;
  const char **names = HSC_NEW_ARRAY(p->arena, const char *, count + 1);
  HSC_TRY(hsc_arena_status(p->arena));
  for (size_t i = 0; i < count; i++) {
    hsc_view key;
    hsc_map_at(p->known, i, &key);
    names[i] = key.data;
  }
  const char *near = hsc_did_you_mean(name, names, count);
  hsc_status *status = hsc_status_usage(
      HSC_ERR(INVALID_ARGUMENT, "no pass '%s' ran on any of these programs and devices", name));
  return near ? hsc_status_hint(status, "did you mean '%s'?", near)
              : hsc_status_hint(status,
                                "hloscope passes list PROGRAM --device DEVICE shows the names");
}

static hsc_status *plan_pair(planning *p, const pair *of, const hsc_device_spec *device) {
  const hsc_sweep_plan_options *o = p->options;
  const char **names = NULL;
  size_t count = 0;
  bool every = !strcmp(p->kind->name, "ablate");
  if (is_of(p->kind, "{mutant}"))
    return add_mutants(p, of);
  if (p->kind->command)
    return add_command(p, of, 0, o->repeats);
  if (every || unknown_name(p))
    HSC_TRY(passes_of(p, of, device, &names, &count));
  if (!strcmp(p->kind->job, "interleave"))
    return add_timing(p, of, o->off_count ? o->off : names, o->off_count ? o->off_count : count);
  for (int64_t repeat = 0; repeat < o->repeats; repeat++) {
    HSC_TRY(add_job(p, of, "", repeat));
    for (int i = 0; i < o->placebo_count; i++) {
      const char *name = hsc_arena_printf(p->arena, "hloscope-placebo-%d", i + 1);
      HSC_TRY(hsc_arena_status(p->arena));
      HSC_TRY(add_job(p, of, name, repeat));
    }
    for (size_t i = 0; every && i < count; i++)
      HSC_TRY(add_job(p, of, names[i], repeat));
    for (size_t i = 0; i < o->off_count; i++)
      HSC_TRY(add_job(p, of, o->off[i], repeat));
  }
  return NULL;
}

// ---- the folder ---------------------------------------------------------------------------------

// What tasks that only compile are compiled for, wherever they are done: $HLOSCOPE_THREADS, else
// the cores that this process may use.
static hsc_status *count_cores(int *out_cores) {
  const char *asked = getenv("HLOSCOPE_THREADS");
  json_t *environment = NULL;
  *out_cores = asked ? atoi(asked) : 0;
  if (*out_cores > 0)
    return NULL;
  HSC_TRY(hsc_environment_capture(false, &environment));
  const json_t *cores = json_object_get(environment, "cores");
  double allowed = hsc_json_number(json_object_get(cores, "allowed"));
  double quota = hsc_json_number(json_object_get(cores, "quota"));
  *out_cores = (int)fmax(1, quota > 0 ? fmin(allowed, ceil(quota)) : allowed);
  json_decref(environment);
  return NULL;
}

static hsc_status *write_folder(planning *p) {
  const hsc_sweep_plan_options *o = p->options;
  char hash[33];
  const char *tasks = hsc_arena_printf(p->arena, "%s/tasks.jsonl", o->folder);
  const char *plan = hsc_arena_printf(p->arena, "%s/plan.json", o->folder);
  const char *results = hsc_arena_printf(p->arena, "%s/results", o->folder);
  HSC_TRY(hsc_arena_status(p->arena));
  hsc_hash128_hex(hsc_hash128_of(p->lines.data ? p->lines.data : "", p->lines.size, 0), hash);
  if (hsc_file_exists(plan)) {
    hsc_sweep *there = NULL;
    HSC_TRY(hsc_sweep_open(o->folder, &there));
    bool same = !strcmp(there->id, hash);
    hsc_sweep_close(there);
    return same ? NULL
                : hsc_status_hint(HSC_ERR(ALREADY_EXISTS, "%s holds another plan", o->folder),
                                  "give -o a folder that does not exist yet");
  }
  HSC_TRY(hsc_dir_make(results));
  HSC_TRY(hsc_file_write_atomic(tasks, p->lines.data ? p->lines.data : "", p->lines.size));
  int cores = 0;
  HSC_TRY(count_cores(&cores));
  json_t *document =
      json_pack("{s:i, s:s, s:s, s:I, s:i, s:s, s:s}", "format", HSC_SWEEP_FORMAT, "id", hash,
                "kind", p->kind->name, "tasks", (json_int_t)p->count, "cores", cores, "hloscope",
                HSC_VERSION, "command", o->command ? o->command : "");
  hsc_status *status = document ? hsc_json_tree_save(plan, document) : hsc_status_out_of_memory();
  json_decref(document);
  return status;
}

// Whether tasks of this kind are made without programs.
static bool is_alone(const hsc_sweep_kind *kind) {
  return kind->command && !is_of(kind, "{program}") && !is_of(kind, "{mutant}");
}

static hsc_status *plan_device(planning *p, const char *text) {
  const hsc_sweep_plan_options *o = p->options;
  hsc_device_spec device;
  HSC_TRY(hsc_device_spec_parse(text, p->arena, &device));
  if (is_alone(p->kind))
    return plan_pair(p, &(pair){.program = "", .device = text, .cost_s = 1}, &device);
  for (size_t i = 0; i < o->program_count; i++) {
    pair of = {.program = o->programs[i], .device = text};
    if (!is_of(p->kind, "{mutant}"))
      HSC_TRY(copy_input(p, of.program, &of.input));
    of.cost_s = compile_cost(&device, p->instructions[i]);
    HSC_TRY(plan_pair(p, &of, &device));
  }
  return NULL;
}

// Every program is read before the folder begins to be: one that cannot be leaves none behind.
static hsc_status *read_programs(planning *p) {
  const hsc_sweep_plan_options *o = p->options;
  p->instructions = hsc_arena_alloc(p->arena, (o->program_count + 1) * sizeof *p->instructions);
  HSC_TRY(hsc_arena_status(p->arena));
  for (size_t i = 0; i < o->program_count && !is_alone(p->kind); i++) {
    if (o->progress)
      o->progress(o->user, (int64_t)i, (int64_t)o->program_count, o->programs[i]);
    HSC_TRY(count_instructions(o->programs[i], &p->instructions[i]));
  }
  return NULL;
}

static hsc_status *plan_all(planning *p) {
  const hsc_sweep_plan_options *o = p->options;
  HSC_TRY(read_programs(p));
  for (size_t d = 0; d < o->device_count; d++) {
    if (!o->release_count)
      HSC_TRY(plan_device(p, o->devices[d]));
    for (size_t r = 0; r < o->release_count; r++) {
      const char *text = hsc_arena_printf(p->arena, "%s@%s", o->devices[d], o->releases[r]);
      HSC_TRY(hsc_arena_status(p->arena));
      HSC_TRY(plan_device(p, text));
    }
  }
  if (!p->count)
    return hsc_status_usage(
        HSC_ERR(INVALID_ARGUMENT, "a sweep of %s needs programs", p->kind->name));
  if (!p->kind->command)
    HSC_TRY(check_off(p));
  return write_folder(p);
}

hsc_status *hsc_sweep_plan(const hsc_sweep_plan_options *options) {
  planning p = {.options = options};
  hsc_status *status = NULL;
  HSC_TRY(find_kind(options->kind, &p.kind));
  HSC_GOTO(hsc_arena_create(&p.arena));
  HSC_GOTO(hsc_map_create(&p.ids));
  HSC_GOTO(hsc_map_create(&p.known));
  HSC_GOTO(hsc_scratch_create(&p.scratch));
  status = plan_all(&p);
done:
  hsc_bytes_deinit(&p.lines);
  hsc_map_destroy(p.ids);
  hsc_map_destroy(p.known);
  hsc_scratch_destroy(p.scratch);
  hsc_arena_destroy(p.arena);
  return status;
}
