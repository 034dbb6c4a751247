// blame_pass.c - from a symptom to the part of the compiler that makes it.
//
// Wrong numbers: the program before the first pass is evaluated (the front end's work), then every
// stage, then the executable (validate). Whatever the symptom, each pass is switched off in turn:
// the absence of some repairs it. On the built-in compiler the guilty pass is then given fewer
// rewrites, until the first that matters is found; both ends of that search are looked at.
#include <dirent.h>

#include <math.h>

#include "base/text/text.h"
#include "base/files/file_io.h"
#include "lab/blame/blame_internal.h"
#include "lab/passes/validate.h"
#include "lab/run/json_tree.h"
#include "worker/scratch.h"

static bool must_stop(const hsc_status *status) {
  return status && (hsc_status_code(status) == HSC_CANCELLED ||
                    hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED);
}

void hsc__blame_gap(hsc__blame *b, const char *name, const char *reason) {
  hsc_agreement_gap(b->agreement, json_pack("{s:s}", "check", name), name, reason);
}

// ---- the passes of the compile ------------------------------------------------------------------

static hsc_status *collect(hsc__blame *b, const char *program, const char *directory) {
  return hsc_passes_collect(b->device,
                            &(hsc_passes_collect_options){.program = program,
                                                          .overrides = b->options->overrides,
                                                          .scratch = directory,
                                                          .dumps = true,
                                                          .as_proto = true,
                                                          .limit_ns = b->options->limit_ns},
                            &b->list);
}

// A program that every compiler gets through: it tells the names of a compiler's passes where the
// program itself cannot be compiled.
static const char canary[] =
    "HloModule canary\n\nENTRY main {\n  p = f32[8] parameter(0)\n"
    "  ROOT s = f32[8] add(p, p)\n}\n";

static hsc_status *collect_names(hsc__blame *b) {
  const char *path = hsc_arena_printf(b->arena, "%s/canary.hlo", b->scratch);
  HSC_TRY(hsc_arena_status(b->arena));
  HSC_TRY(hsc_file_write_atomic(path, canary, strlen(canary)));
  return collect(b, path, hsc_arena_printf(b->arena, "%s/canary", b->scratch));
}

hsc_status *hsc__blame_list_passes(hsc__blame *b) {
  if (b->options->progress)
    b->options->progress(b->options->user, 0, 1, "the passes of the compile");
  hsc_status *failed =
      collect(b, b->options->program, hsc_arena_printf(b->arena, "%s/dumps", b->scratch));
  b->listed = !failed;
  if (must_stop(failed))
    return failed;
  if (!failed)
    return NULL;
  const char *why = hsc_arena_strdup(b->arena, hsc_status_message(failed));
  hsc_status_free(failed);
  hsc_pass_list_deinit(&b->list);
  HSC_TRY(hsc_pass_list_init(&b->list));
  failed = collect_names(b);
  if (must_stop(failed))
    return failed;
  if (failed)
    hsc__blame_gap(b, "the passes of the compile", why ? why : "they are not reported");
  hsc_status_free(failed);
  return hsc_arena_status(b->arena);
}

// ---- each pass switched off ---------------------------------------------------------------------

hsc_status *hsc__blame_overrides_with(
    const hsc__blame *b, const char *key, const char *value, bool append, json_t **out) {
  json_t *overrides = b->options->overrides ? json_deep_copy(b->options->overrides) : json_object();
  const char *had = append ? hsc_json_text(overrides, key) : NULL;
  const char *text = had && *had ? hsc_arena_printf(b->arena, "%s,%s", had, value) : value;
  *out = overrides;
  if (!overrides || !text || json_object_set_new(overrides, key, json_string(text)))
    return hsc_status_out_of_memory();
  return NULL;
}

bool hsc__blame_may_matter(const hsc__blame *b, const char *name) {
  if (!b->listed)
    return true;
  for (size_t i = 0; i < b->list.row_count; i++)
    if (!strcmp(b->list.rows[i].pass, name) && !b->list.rows[i].counts &&
        b->list.rows[i].changed != 0)
      return true;
  return false;
}

hsc_status *hsc__blame_without(hsc__blame *b,
                               const char *name,
                               bool *out_repaired,
                               bool *out_known) {
  json_t *overrides = NULL;
  bool shows = false;
  hsc_status *status =
      hsc__blame_overrides_with(b, "xla_disable_hlo_passes", name, true, &overrides);
  if (!status)
    status = hsc__blame_shows(b, overrides, &shows, out_known);
  *out_repaired = *out_known && !shows;
  json_decref(overrides);
  return status;
}

// Fills repaired_by with every pass whose absence the symptom does not survive.
static hsc_status *try_without_each(hsc__blame *b) {
  const char **names = NULL;
  size_t count = 0;
  size_t asked = 0;
  HSC_TRY(hsc_pass_list_names(&b->list, false, &names, &count));
  for (size_t i = 0; i < count; i++) {
    bool repaired = false;
    bool known = false;
    if (!hsc__blame_may_matter(b, names[i]))
      continue;
    const char *check = hsc_arena_printf(b->arena, "without %s", names[i]);
    HSC_TRY(hsc_arena_status(b->arena));
    if (hsc__blame_is_late(b)) {
      hsc__blame_gap(b, check, "the time budget was over");
      continue;
    }
    if (b->options->progress)
      b->options->progress(b->options->user, (int64_t)i, (int64_t)count, check);
    HSC_TRY(hsc__blame_without(b, names[i], &repaired, &known));
    asked++;
    if (!known)
      hsc__blame_gap(b, check, "the device cannot do the program without it");
    else
      hsc_agreement_compared(b->agreement, check,
                             repaired ? HSC_FINDING_EQUAL : HSC_FINDING_DIFFERENT);
    if (repaired)
      json_array_append_new(b->repaired_by, json_string(names[i]));
  }
  hsc_bytes all = {0};
  json_t *name;
  size_t i;
  json_array_foreach (b->repaired_by, i, name)
    hsc_bytes_printf(&all, "%s%s", i ? ", " : "", json_string_value(name));
  hsc__blame_tell(b, "which pass's absence repairs it?", "%s of %zu that were switched off",
                  all.size ? hsc_bytes_text(&all) : "none", asked);
  hsc_bytes_deinit(&all);
  return NULL;
}

bool hsc__blame_is_repaired_by(const hsc__blame *b, const char *pass) {
  json_t *name;
  size_t i;
  json_array_foreach (b->repaired_by, i, name)
    if (pass && !strcmp(json_string_value(name), pass))
      return true;
  return false;
}

// ---- the built-in compiler's rewrites -----------------------------------------------------------

static int64_t rewrites_of(const hsc__blame *b, const char *pass) {
  int64_t sum = 0;
  for (size_t i = 0; i < b->list.row_count; i++)
    if (!strcmp(b->list.rows[i].pass, pass) && b->list.rows[i].rewrites > 0)
      sum += b->list.rows[i].rewrites;
  return sum;
}

static hsc_status *shows_with_fuel(hsc__blame *b, int64_t fuel, bool *out_shows, bool *out_known) {
  json_t *overrides = NULL;
  const char *value = hsc_arena_printf(b->arena, "%s=%lld", b->pass, (long long)fuel);
  HSC_TRY(hsc_arena_status(b->arena));
  hsc_status *status = hsc__blame_overrides_with(b, "xla_fuel", value, true, &overrides);
  if (!status)
    status = hsc__blame_shows(b, overrides, out_shows, out_known);
  json_decref(overrides);
  return status;
}

static bool is_built_in(const hsc__blame *b) {
  json_t *device = hsc_lab_worker_device(b->device);
  const char *platform = hsc_json_text(device, "platform");
  return platform && !strcmp(platform, "hloscope");
}

// The compile with so many rewrites of the pass, as a list.
static hsc_status *list_with_fuel(hsc__blame *b, int64_t fuel, hsc_pass_list *list) {
  json_t *overrides = NULL;
  const char *value = hsc_arena_printf(b->arena, "%s=%lld", b->pass, (long long)fuel);
  const char *directory = hsc_arena_printf(b->arena, "%s/fuel-%lld", b->scratch, (long long)fuel);
  HSC_TRY(hsc_pass_list_init(list));
  HSC_TRY(hsc_arena_status(b->arena));
  hsc_status *status = hsc__blame_overrides_with(b, "xla_fuel", value, true, &overrides);
  if (!status)
    status = hsc_passes_collect(b->device,
                                &(hsc_passes_collect_options){.program = b->options->program,
                                                              .overrides = overrides,
                                                              .scratch = directory,
                                                              .limit_ns = b->options->limit_ns},
                                list);
  json_decref(overrides);
  return status;
}

// The rule that the last of so many rewrites was by, where the pass has rules: the one that fired
// less often with one rewrite fewer.
static hsc_status *find_rule(hsc__blame *b, int64_t rewrite) {
  hsc_pass_list with = {0};
  hsc_pass_list without = {0};
  const char **names = NULL;
  size_t count = 0;
  hsc_status *status = list_with_fuel(b, rewrite, &with);
  if (!status)
    status = list_with_fuel(b, rewrite - 1, &without);
  if (!status)
    status = hsc_pass_list_rules(&with, &names, &count);
  for (size_t i = 0; i < count && !status; i++)
    if (hsc_pass_list_fired(&with, names[i]) > hsc_pass_list_fired(&without, names[i]))
      b->rule = hsc_arena_strdup(b->arena, names[i]);
  hsc_pass_list_deinit(&with);
  hsc_pass_list_deinit(&without);
  if (must_stop(status))
    return status;
  if (status)
    hsc__blame_gap(b, "the rule of the rewrite", hsc_status_message(status));
  hsc_status_free(status);
  if (b->rule)
    hsc__blame_tell(b, "by which rule?", "%s; hloscope passes explain %s shows what it does",
                    b->rule, b->rule);
  return NULL;
}

hsc_status *hsc__blame_find_rewrite(hsc__blame *b) {
  int64_t most = rewrites_of(b, b->pass);
  int64_t without = 0;  // rewrites with which it does not show
  bool shows = false;
  bool known = false;
  if (!is_built_in(b) || most < 1)
    return NULL;
  HSC_TRY(shows_with_fuel(b, 0, &shows, &known));
  if (shows || !known)
    return NULL;
  HSC_TRY(shows_with_fuel(b, most, &shows, &known));
  if (!shows || !known)
    return NULL;
  int64_t with = most;
  while (with - without > 1 && !hsc__blame_is_late(b)) {
    int64_t middle = without + (with - without) / 2;
    HSC_TRY(shows_with_fuel(b, middle, &shows, &known));
    if (!known)
      return NULL;
    if (shows)
      with = middle;
    else
      without = middle;
  }
  if (with - without > 1) {
    hsc__blame_gap(b, "the rewrite of the pass", "the time budget was over");
    return NULL;
  }
  b->rewrite = with;
  hsc__blame_tell(b, "with which of its rewrites?",
                  "rewrite %lld of %lld of %s; with %lld it does not show, with %lld it does",
                  (long long)with, (long long)most, b->pass, (long long)without, (long long)with);
  return find_rule(b, with);
}

// ---- wrong numbers ------------------------------------------------------------------------------

// What the compiler holds before its first pass, on the evaluator.
static hsc_status *look_at_front_end(hsc__blame *b, bool *out_guilty) {
  hsc_answer answer = {0};
  hsc__distance d = {0};
  const char *name = "the program before the first pass";
  *out_guilty = false;
  if (!b->list.first_dump || !b->listed) {
    hsc__blame_gap(b, name, "the compiler does not show it");
    return NULL;
  }
  hsc_status *status = hsc__blame_run(
      b, b->reference,
      &(hsc__trial){.program = b->list.first_dump, .save_to = hsc__blame_directory(b)}, &answer);
  if (!status && answer.outcome == HSC_OUTCOME_OK && b->right.outputs)
    status = hsc__blame_distance(b, b->right.outputs, json_object_get(answer.body, "outputs"), &d);
  if (!status && !d.known)
    hsc__blame_gap(b, name,
                   answer.status ? hsc_status_message(answer.status) : "it cannot be compared");
  if (!status && d.known) {
    hsc_agreement_compared(b->agreement, name, d.wrong ? HSC_FINDING_DIFFERENT : HSC_FINDING_EQUAL);
    hsc__blame_tell(b, "is it the same program before the first pass?", "%s",
                    d.wrong ? "no: the evaluator finds other numbers" : "yes");
    *out_guilty = d.wrong;
  }
  hsc_answer_deinit(&answer);
  return status;
}

static hsc_status *run_stages(hsc__blame *b) {
  static const hsc_device_spec evaluator = {.text = "reference", .source = HSC_DEVICE_EVALUATOR};
  const hsc_blame_options *o = b->options;
  if (hsc__blame_is_late(b)) {
    hsc__blame_gap(b, "the stages of the compile", "the time budget was over");
    return NULL;
  }
  int64_t deadline_ns = o->budget_s > 0 ? b->start_ns + (int64_t)(o->budget_s * 1e9) : 0;
  const char *stages = o->journal ? hsc_arena_printf(b->arena, "%s/stages", b->scratch) : NULL;
  HSC_TRY(hsc_arena_status(b->arena));
  hsc_status *failed =
      hsc_validate(&(hsc_validate_options){.program = o->program,
                                           .device = o->device,
                                           .runner = &evaluator,
                                           .second_runner = o->substitute,
                                           .overrides = o->overrides,
                                           .bounded = b->right.bounded,
                                           .data = b->data,
                                           .seed = o->seed,
                                           .tolerance = 1,
                                           .limit_ns = o->limit_ns,
                                           .deadline_ns = deadline_ns,
                                           .executable = o->executable,
                                           .memory = hsc__journal_memory(o->journal),
                                           .scratch = stages,
                                           .progress = o->progress,
                                           .user = o->user,
                                           .stop = o->stop},
                   &b->stages);
  if (!failed || must_stop(failed))
    return failed;
  hsc__blame_gap(b, "the stages of the compile", hsc_status_message(failed));
  hsc_status_free(failed);
  return NULL;
}

void hsc__blame_take_pass(hsc__blame *b, const char *pass, const char *pipeline, int64_t run) {
  b->verdict = HSC__BLAME_PASS;
  b->pass = hsc_arena_strdup(b->arena, pass);
  b->pipeline = pipeline ? hsc_arena_strdup(b->arena, pipeline) : NULL;
  b->run = run;
}

// What the stages say: a pass, or the code after the last one.
static void read_stages(hsc__blame *b) {
  json_t *first = json_object_get(b->stages, "first");
  if (b->stages) {
    const char *headline = hsc_json_text(b->stages, "headline");
    hsc__blame_tell(b, "after which stage are the numbers others?", "%s", headline ? headline : "");
  }
  if (!json_is_object(first))
    return;
  if (json_is_integer(json_object_get(first, "run"))) {
    hsc__blame_take_pass(b, hsc_json_text(first, "pass"), hsc_json_text(first, "pipeline"),
                         json_integer_value(json_object_get(first, "run")));
    json_t *instruction = json_object_get(first, "instruction");
    if (json_is_object(instruction))
      b->instruction = json_incref(instruction);
  } else if (json_is_true(json_object_get(first, "front_end"))) {
    b->verdict = HSC__BLAME_FRONT_END;
  } else if (json_is_true(json_object_get(first, "below_hlo"))) {
    b->verdict = HSC__BLAME_BELOW_HLO;
  }
  const char *op_name = hsc_json_text(b->instruction, "op_name");
  if (op_name)
    b->source = hsc_arena_strdup(b->arena, op_name);
}

hsc_status *hsc__blame_say(hsc__blame *b, const char *what) {
  const char *device = b->options->device->text;
  switch (b->verdict) {
    case HSC__BLAME_FRONT_END:
      hsc_bytes_printf(&b->headline, "front end of %s, before its first pass: %s", device, what);
      break;
    case HSC__BLAME_PASS:
      hsc_bytes_printf(&b->headline, "pass %s of %s", b->pass, device);
      if (b->run >= 0)
        hsc_bytes_printf(&b->headline, ", run %lld of pipeline %s", (long long)b->run, b->pipeline);
      if (b->rewrite >= 0)
        hsc_bytes_printf(&b->headline, ", rewrite %lld", (long long)b->rewrite);
      if (b->rule)
        hsc_bytes_printf(&b->headline, " by rule %s", b->rule);
      hsc_bytes_printf(&b->headline, ": %s", what);
      break;
    case HSC__BLAME_BELOW_HLO:
      hsc_bytes_printf(&b->headline, "below HLO, in code generation or a library of %s: %s", device,
                       what);
      break;
    default:
      hsc_bytes_printf(&b->headline, "it is unknown who is at fault: %s", what);
  }
  return hsc_bytes_status(&b->headline);
}

// Outputs of another number or shape: no numbers to follow, but the stages have shapes as well.
static hsc_status *follow_shapes(hsc__blame *b) {
  hsc__broken_stage broken = {0};
  HSC_TRY(hsc__blame_first_broken(b, &b->list, &broken));
  hsc__blame_tell(b, "after which stage is the result another?", "%s%s%s",
                  broken.pass ? broken.pass : "none", broken.pass ? ": " : "",
                  broken.pass ? broken.why : "");
  HSC_TRY(try_without_each(b));
  if (broken.pass)
    hsc__blame_take_pass(b, broken.pass, broken.pipeline, broken.run);
  else if (b->listed && b->list.first_dump)
    b->verdict = HSC__BLAME_BELOW_HLO;
  return hsc__blame_say(b, "the outputs are not of the reference's number or shapes");
}

// Stages of HLO alone: the executable of a device that only compiles is among what validate did not
// compare, and is a check of its own here.
static void say_stages(hsc__blame *b) {
  const json_t *stages = json_object_get(b->stages, "stages");
  hsc_finding worst = HSC_FINDING_EQUAL;
  int wanted = 0;
  int compared = 0;
  const json_t *stage;
  size_t i;
  json_array_foreach (stages, i, stage) {
    hsc_finding finding = HSC_FINDING_EQUAL;
    const char *pipeline = hsc_json_text(stage, "pipeline");
    if (pipeline && !strcmp(pipeline, "below HLO"))
      continue;
    wanted++;
    if (!hsc_finding_parse(hsc_json_text(stage, "verdict"), &finding))
      continue;
    compared++;
    if (finding > worst)
      worst = finding;
  }
  if (!wanted)
    hsc_bytes_printf(&b->headline, "the stages could not be compared");
  else if (compared == wanted)
    hsc_bytes_printf(&b->headline, "every stage agrees with the reference");
  else
    hsc_bytes_printf(&b->headline,
                     "%d of %d stages agree with the reference, the others could not be compared",
                     compared, wanted);
  if (wanted && compared == wanted)
    hsc_agreement_compared(b->agreement, "the stages", worst);
  else if (wanted)
    hsc__blame_gap(b, "the stages", "not all of them could be compared");
}

hsc_status *hsc__blame_wrong(hsc__blame *b) {
  bool front_end = false;
  bool only_compiles = b->options->device->topology != NULL;
  HSC_TRY(hsc__blame_list_passes(b));
  if (b->other_shapes)
    return follow_shapes(b);
  HSC_TRY(look_at_front_end(b, &front_end));
  if (front_end)
    b->verdict = HSC__BLAME_FRONT_END;
  else
    HSC_TRY(run_stages(b));
  read_stages(b);
  if (only_compiles && !front_end && b->verdict != HSC__BLAME_PASS) {
    hsc__blame_gap(b, "the executable",
                   "the device only compiles: what its code computes was not seen");
    b->has_symptom = false;
    say_stages(b);
    hsc_bytes_printf(&b->headline, "; the code after them was not run, the device only compiles");
    return hsc_bytes_status(&b->headline);
  }
  if (!only_compiles)
    HSC_TRY(try_without_each(b));
  if (!only_compiles)
    HSC_TRY(hsc__blame_untold(b));
  if (b->verdict == HSC__BLAME_PASS && !only_compiles)
    HSC_TRY(hsc__blame_find_rewrite(b));
  const char *what =
      hsc_arena_printf(b->arena, "output differs from the reference %s", hsc__blame_by_how_much(b));
  if (b->inputs)
    what = hsc_arena_printf(b->arena, "on other inputs than the seed's (%s) %s", b->inputs, what);
  HSC_TRY(hsc_arena_status(b->arena));
  if (b->verdict == HSC__BLAME_FRONT_END)
    what = "what is there is not the program that it was given";
  if (only_compiles)
    what = "the stage after it computes other numbers";
  return hsc__blame_say(b, what);
}

// ---- crash, error, hang -------------------------------------------------------------------------

// Where a pass was the only one, or the last to run, of those whose absence repairs it.
static const hsc_pass_row *last_that_repairs(const hsc__blame *b) {
  const hsc_pass_row *last = NULL;
  for (size_t k = 0; k < json_array_size(b->repaired_by); k++) {
    const char *name = json_string_value(json_array_get(b->repaired_by, k));
    for (size_t i = 0; i < b->list.row_count; i++)
      if (!strcmp(b->list.rows[i].pass, name)) {
        if (!last || &b->list.rows[i] > last)
          last = &b->list.rows[i];
        break;
      }
  }
  return last;
}

// How far a compile got that does not come to its end.
typedef struct progress_of_compile {
  bool in_compile;      // it ends while compiling, not while running
  bool before_passes;   // no pass had begun
  bool behind_passes;   // the optimised program was written
  const char *running;  // the pass that it ended in; NULL = nothing tells
  hsc__broken_stage broken;
} progress_of_compile;

// Compilers write the optimised program, or what their passes did, when those are through, before
// any code is made.
static bool has_optimised(const char *directory) {
  DIR *open = opendir(directory);
  bool found = false;
  for (struct dirent *entry; open && !found && (entry = readdir(open));)
    found = strstr(entry->d_name, "after_optimizations") ||
            hsc_ends_with(entry->d_name, ".metadata.textproto");
  if (open)
    closedir(open);
  return found;
}

static hsc_status *watch_compile(hsc__blame *b, progress_of_compile *out) {
  hsc_answer answer = {0};
  hsc_pass_list list = {0};
  json_t *overrides = NULL;
  const char *directory = hsc_arena_printf(b->arena, "%s/dying", b->scratch);
  hsc_status *status = hsc_arena_status(b->arena);
  if (!status)
    status = hsc__blame_overrides_with(b, "xla_dump_to", directory, false, &overrides);
  if (!status) {
    json_object_set_new(overrides, "xla_dump_hlo_pass_re", json_string(".*"));
    if (b->options->device->source != HSC_DEVICE_PYTHON)
      json_object_set_new(overrides, "xla_dump_module_metadata", json_true());
    unsigned logged = hsc__blame_log_passes(b);
    status = hsc__blame_run(b, b->device, &(hsc__trial){.compile = true, .overrides = overrides},
                            &answer);
    hsc__blame_log_no_more(b, logged);
  }
  out->in_compile = !status && answer.outcome != HSC_OUTCOME_OK;
  if (!status)
    status = hsc_pass_list_init(&list);
  if (!status) {
    hsc_status *failed = hsc_pass_list_read_dumps(directory, &list);
    out->before_passes = out->in_compile && !failed && !list.first_dump && !list.row_count;
    hsc_status_free(failed);
    out->behind_passes = out->in_compile && has_optimised(directory);
    if (out->in_compile && !out->behind_passes)
      out->running = hsc__blame_running_pass(b, &answer);
  }
  if (!status && out->in_compile)
    status = hsc__blame_first_broken(b, &list, &out->broken);
  hsc_pass_list_deinit(&list);
  hsc_answer_deinit(&answer);
  json_decref(overrides);
  return status;
}

static const char *where_of(hsc__blame *b, const progress_of_compile *at) {
  if (!at->in_compile)
    return "when it runs, not when it is compiled";
  if (at->running)
    return hsc_arena_printf(b->arena, "when it is compiled, in pass %s", at->running);
  if (at->before_passes)
    return "when it is compiled, before the first pass";
  return at->behind_passes ? "when it is compiled, after the last pass" : "when it is compiled";
}

// Whether what the device does with the program is no fault of the program: another computes it. A
// program that is only too slow for the reference cannot crash a process by itself; one that we do
// not understand may call code that does, and one that hangs may have no end.
static bool is_sound(const hsc__blame *b) {
  return b->right.outputs || (b->right.is_late && b->symptom.kind == HSC_SYMPTOM_CRASH);
}

static const char *what_ends(const hsc__blame *b, const progress_of_compile *at) {
  const char *beside = "";
  if (b->verdict == HSC__BLAME_UNKNOWN && !is_sound(b))
    beside = hsc_arena_printf(b->arena, "; the reference does not compute it either: %s",
                              b->right.why ? b->right.why : "it was not asked");
  else if (b->verdict == HSC__BLAME_UNKNOWN)
    beside = ", and no single pass's absence changes it";
  return hsc_arena_printf(b->arena, "%s in %d of %d runs%s%s", hsc_symptom_name(b->symptom.kind),
                          b->shows, b->runs, at->in_compile ? " when compiled" : " when run",
                          beside ? beside : "");
}

// The pass that a compile ended in, where its absence repairs it or nothing else's does: of a pass
// that a compiler cannot do without, its log is all there is. Else the last whose absence repairs.
static const hsc_pass_row *guilty_row(const hsc__blame *b, const progress_of_compile *at) {
  const hsc_pass_row *last = last_that_repairs(b);
  bool stands = hsc__blame_is_repaired_by(b, at->running) || (!last && is_sound(b));
  for (size_t i = 0; at->running && stands && i < b->list.row_count; i++)
    if (!strcmp(b->list.rows[i].pass, at->running))
      return &b->list.rows[i];
  return last;
}

hsc_status *hsc__blame_end(hsc__blame *b) {
  progress_of_compile at = {0};
  HSC_TRY(watch_compile(b, &at));
  hsc__blame_tell(b, "where does it end?", "%s", where_of(b, &at));
  HSC_TRY(hsc__blame_list_passes(b));
  hsc__blame_list_running(b, at.running);
  HSC_TRY(try_without_each(b));
  const hsc_pass_row *guilty = guilty_row(b, &at);
  hsc_agreement_compared(b->agreement, "the compile", HSC_FINDING_DIFFERENT);
  const char *broken = "";
  if (at.broken.pass)
    hsc__blame_tell(b, "is every stage a program?", "after %s not: %s", at.broken.pass,
                    at.broken.why);
  // a pass whose absence keeps the back end from what it fails on is not guilty of that
  if (hsc__blame_is_repaired_by(b, at.broken.pass)) {
    hsc__blame_take_pass(b, at.broken.pass, at.broken.pipeline, -1);
    broken = "; what it leaves is no program";
    HSC_TRY(hsc__blame_find_rewrite(b));
  } else if (guilty && at.in_compile && !at.behind_passes) {
    hsc__blame_take_pass(b, guilty->pass, *guilty->pipeline ? guilty->pipeline : NULL, -1);
    HSC_TRY(hsc__blame_find_rewrite(b));
  } else if ((!at.in_compile || at.behind_passes) && is_sound(b)) {
    b->verdict = HSC__BLAME_BELOW_HLO;
  } else if (b->symptom.kind == HSC_SYMPTOM_ERROR && b->right.why && !b->right.is_late &&
             !b->right.is_unknown) {
    b->verdict = HSC__BLAME_PROGRAM;
    hsc_bytes_printf(&b->headline, "the program's own fault: the reference refuses it too: %s",
                     b->right.why ? b->right.why : "");
    return hsc_bytes_status(&b->headline);
  } else if (at.before_passes && b->right.outputs) {
    b->verdict = HSC__BLAME_FRONT_END;
  }
  const char *what = hsc_arena_printf(b->arena, "%s%s", what_ends(b, &at), broken);
  HSC_TRY(hsc_arena_status(b->arena));
  return hsc__blame_say(b, what);
}
