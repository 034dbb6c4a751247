// symptom_look.c - one look at a program: each symptom's own question.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/process/child.h"
#include "formats/common/formats.h"
#include "lab/passes/passes_list.h"
#include "lab/reduce/symptom_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/outputs.h"
#include "lab/run/rounding.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"

// How many times its type's tolerance an output must be off before it is looked at: a reduction
// must not slide from a wrong answer into rounding.
static const double TOLERANCE_FACTOR = 8;

static char *text_of(hsc_bytes *bytes) {
  char *text = hsc_strdup(bytes->size ? hsc_bytes_text(bytes) : "");
  hsc_bytes_deinit(bytes);
  return text;
}

static char *words_of(const hsc_answer *answer) {
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%s", hsc_outcome_text(answer->outcome));
  if (answer->last_words && *answer->last_words)
    hsc_bytes_printf(&text, ": %s", answer->last_words);
  else if (answer->status)
    hsc_bytes_printf(&text, ": %s", hsc_status_message(answer->status));
  return text_of(&text);
}

// ---- wrong --------------------------------------------------------------------------------------

static bool is_off(json_t *row) {
  double limit = TOLERANCE_FACTOR * hsc_json_number(json_object_get(row, "tolerance")) *
                 hsc_json_number(json_object_get(row, "largest_value"));
  return !strcmp(json_string_value(json_object_get(row, "verdict")), "different") &&
         (json_integer_value(json_object_get(row, "nan_mismatches")) > 0 ||
          !(hsc_json_number(json_object_get(row, "max_abs")) <= limit));
}

// What a last place of the inputs makes of the outputs; NULL when it cannot be determined.
static hsc_status *measure_rounding(hsc_observer *o,
                                    const hsc_looked_at *program,
                                    json_t *outputs,
                                    json_t **out_moved) {
  hsc_answer answer = {0};
  double perturbation = 0;
  char *directory = NULL;
  json_t *rows = json_array();
  hsc_status *status = NULL;
  *out_moved = NULL;
  HSC_GOTO(hsc_program_perturbation(program->path, &perturbation));
  HSC_GOTO(hsc_scratch_create(&directory));
  HSC_GOTO(hsc__observer_reference(
      o, &(hsc__run){.program = program, .save_to = directory, .perturbation = perturbation},
      &answer));
  if (answer.outcome != HSC_OUTCOME_OK)
    goto done;
  HSC_GOTO(hsc_compare_outputs(outputs, json_object_get(answer.body, "outputs"), "inputs",
                               "inputs moved by a last place", rows));
  *out_moved = json_incref(rows);
done:
  hsc_answer_deinit(&answer);
  hsc_scratch_destroy(directory);
  json_decref(rows);
  return status;
}

static hsc_status *judge(hsc_observer *o,
                         const hsc_looked_at *program,
                         json_t *right,
                         json_t *seen,
                         hsc_observation *out) {
  json_t *rows = json_array();
  json_t *moved = NULL;
  json_t *row;
  size_t i;
  bool asked = false;
  hsc_bytes text = {0};
  hsc_status *status = hsc_compare_outputs(right, seen, "reference", "device", rows);
  out->known = true;
  if (!status && json_array_size(right) != json_array_size(seen))
    out->known = false;
  json_array_foreach (rows, i, row) {
    if (status || !is_off(row))
      continue;
    bool exact = hsc_json_number(json_object_get(row, "tolerance")) == 0 ||
                 json_integer_value(json_object_get(row, "nan_mismatches")) > 0;
    if (!exact && !asked)
      status = measure_rounding(o, program, right, &moved);
    asked |= !exact;
    if (status || (!exact && (!moved || hsc_is_rounding(moved, row, i))))
      continue;
    double max_abs = hsc_json_number(json_object_get(row, "max_abs"));
    if (!out->shows)
      hsc_bytes_printf(&text, "output %zu %s differs from the reference by up to %.9g", i,
                       json_string_value(json_object_get(row, "shape")), max_abs);
    out->shows = true;
    out->value = fmax(out->value, max_abs);
  }
  if (!out->shows)
    hsc_bytes_printf(&text, "outputs agree with the reference within rounding");
  out->text = text_of(&text);
  json_decref(rows);
  json_decref(moved);
  return status;
}

static hsc_status *look_wrong(hsc_observer *o,
                              const hsc_symptom *symptom,
                              const hsc_looked_at *program,
                              hsc_observation *out) {
  hsc_answer device = {0};
  hsc_answer right = {0};
  char *mine = NULL;
  char *theirs = NULL;
  hsc_status *status = NULL;
  (void)symptom;
  HSC_GOTO(hsc_scratch_create(&mine));
  HSC_GOTO(hsc_scratch_create(&theirs));
  HSC_GOTO(
      hsc__observer_run(o, o->device, &(hsc__run){.program = program, .save_to = theirs}, &device));
  if (device.outcome != HSC_OUTCOME_OK) {
    out->text = words_of(&device);
    goto done;
  }
  HSC_GOTO(hsc__observer_reference(o, &(hsc__run){.program = program, .save_to = mine}, &right));
  if (right.outcome != HSC_OUTCOME_OK) {
    out->text = words_of(&right);
    goto done;
  }
  status = judge(o, program, json_object_get(right.body, "outputs"),
                 json_object_get(device.body, "outputs"), out);
done:
  hsc_answer_deinit(&device);
  hsc_answer_deinit(&right);
  hsc_scratch_destroy(mine);
  hsc_scratch_destroy(theirs);
  return status;
}

// ---- crash, error, hang -------------------------------------------------------------------------

// "Check failed: a == b (3 vs. 4) (file.cc:12)" and "F0101 12:00:00.1 file.cc:12] Check failed":
// the place when there is one, else the text with its numbers and quoted names left out.
static char *signature_of(const char *prefix, const char *text) {
  hsc_bytes out = {0};
  hsc_bytes_printf(&out, "%s", prefix);
  static const char *const endings[] = {".cc:", ".cpp:", ".c:", ".h:"};
  const char *place = NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(endings) && !place; i++)
    place = strstr(text, endings[i]);
  if (place) {
    const char *start = place;
    while (start > text && (isalnum((unsigned char)start[-1]) || strchr("_-", start[-1])))
      start--;
    const char *end = place + strcspn(place, ":") + 1;
    while (isdigit((unsigned char)*end))
      end++;
    hsc_bytes_printf(&out, " %.*s", (int)(end - start), start);
    return text_of(&out);
  }
  hsc_bytes_append_char(&out, ' ');
  bool quoted = false;
  for (const char *c = text; *c && *c != '\n' && out.size < 160; c++) {
    if (strchr("'\"`", *c))
      quoted = !quoted;
    if (!quoted && !isdigit((unsigned char)*c) && *c != '%' && *c != '.')
      hsc_bytes_append_char(&out, *c);
  }
  return text_of(&out);
}

static char *death_signature(const hsc_answer *answer) {
  char prefix[48];
  const char *words = answer->last_words ? answer->last_words : "";
  snprintf(prefix, sizeof prefix, "signal %d", answer->exit.signal);
  return strstr(words, "heck failed") || strstr(words, ".cc:") ? signature_of("check", words)
                                                               : signature_of(prefix, "");
}

static hsc_status *look_end(hsc_observer *o,
                            const hsc_symptom *symptom,
                            const hsc_looked_at *program,
                            hsc_observation *out) {
  hsc_answer answer = {0};
  HSC_TRY(hsc__observer_run(o, o->device, &(hsc__run){.program = program}, &answer));
  out->known = true;
  out->text = answer.outcome == HSC_OUTCOME_OK ? hsc_strdup("runs") : words_of(&answer);
  if (symptom->kind == HSC_SYMPTOM_HANG)
    out->shows = answer.outcome == HSC_OUTCOME_TIMEOUT;
  if (symptom->kind == HSC_SYMPTOM_CRASH && answer.outcome == HSC_OUTCOME_ABORT) {
    out->signature = death_signature(&answer);
    out->shows = true;
  }
  if (symptom->kind == HSC_SYMPTOM_ERROR &&
      (answer.outcome == HSC_OUTCOME_ERROR || answer.outcome == HSC_OUTCOME_UNSUPPORTED ||
       answer.outcome == HSC_OUTCOME_OUT_OF_MEMORY)) {
    out->signature = signature_of(hsc_outcome_text(answer.outcome),
                                  answer.status ? hsc_status_message(answer.status) : "");
    out->shows = true;
  }
  if (out->shows && symptom->signature && out->signature &&
      strcmp(symptom->signature, out->signature) != 0)
    out->shows = false;
  hsc_answer_deinit(&answer);
  return NULL;
}

// ---- slow, compile, memory ----------------------------------------------------------------------

static double median_of(json_t *series) {
  size_t count = 0;
  double *values = hsc_json_doubles(series, &count);
  double median = NAN;
  for (size_t i = 1; i < count; i++)
    for (size_t j = i; j > 0 && values[j - 1] > values[j]; j--) {
      double swap = values[j];
      values[j] = values[j - 1];
      values[j - 1] = swap;
    }
  if (count)
    median = values[count / 2];
  hsc_free(values);
  return median;
}

// Seconds of a run or a compile, or bytes; NaN when it cannot be determined.
static hsc_status *measure(hsc_observer *o,
                           hsc_lab_worker *worker,
                           const hsc_symptom *symptom,
                           const hsc_looked_at *program,
                           double *out_value,
                           char **out_why) {
  hsc_answer answer = {0};
  *out_value = NAN;
  if (symptom->kind == HSC_SYMPTOM_SLOW) {
    HSC_TRY(hsc__observer_run(o, worker, &(hsc__run){.program = program, .series = 64}, &answer));
    if (answer.outcome == HSC_OUTCOME_OK)
      *out_value = median_of(hsc_json_path(answer.body, "series", "run_ns", NULL)) / 1e9;
  } else {
    json_t *request = json_pack("{s:s, s:s}", "job", "compile", "program", program->path);
    if (worker == o->device && o->options.overrides)
      json_object_set(request, "overrides", o->options.overrides);
    hsc_status *status = hsc_lab_worker_call(worker, request, o->options.limit_ns, &answer);
    json_decref(request);
    HSC_TRY(status);
    bool memory = symptom->kind == HSC_SYMPTOM_MEMORY;
    if (answer.outcome == HSC_OUTCOME_OK && memory)
      *out_value = hsc_json_number(hsc_json_path(answer.body, "memory", "temp_bytes", NULL));
    else if (answer.outcome == HSC_OUTCOME_OK)
      *out_value = hsc_json_number(json_object_get(answer.body, "compile_ns")) / 1e9;
  }
  if (answer.outcome != HSC_OUTCOME_OK)
    *out_why = words_of(&answer);
  hsc_answer_deinit(&answer);
  return NULL;
}

hsc_status *hsc_observer_cost(hsc_observer *observer,
                              const hsc_symptom *symptom,
                              const hsc_looked_at *program,
                              bool on_reference,
                              double *out_cost) {
  char *why = NULL;
  hsc_lab_worker *worker = on_reference ? observer->reference : observer->device;
  hsc_status *status = measure(observer, worker, symptom, program, out_cost, &why);
  hsc_free(why);
  return status;
}

enum { REPEATS = 3 };  // looks that must all say so, where time is what is looked at

static hsc_status *look_cost(hsc_observer *o,
                             const hsc_symptom *symptom,
                             const hsc_looked_at *program,
                             hsc_observation *out) {
  static const char *const units[] = {"s a run", "s of compilation", "bytes"};
  double floor_value = symptom->kind == HSC_SYMPTOM_MEMORY ? 4096 : 2e-5;  // below: nothing to tell
  double least = INFINITY;
  double here = NAN;
  double there = NAN;
  hsc_bytes text = {0};
  int repeats = symptom->kind == HSC_SYMPTOM_MEMORY ? 1 : REPEATS;
  out->known = true;
  for (int i = 0; i < repeats && !out->text; i++) {
    HSC_TRY(measure(o, o->device, symptom, program, &here, &out->text));
    if (!out->text)
      HSC_TRY(measure(o, o->reference, symptom, program, &there, &out->text));
    double ratio = here / fmax(there, floor_value / symptom->factor);
    least = fmin(least, here >= floor_value && !isnan(ratio) ? ratio : 0);
    if (least < symptom->factor)
      break;
  }
  if (out->text) {
    out->known = false;
    return NULL;
  }
  out->value = least;
  out->shows = least >= symptom->factor;
  hsc_bytes_printf(&text, "%.3g against %.3g %s: %.2f times", here, there,
                   units[symptom->kind - HSC_SYMPTOM_SLOW], least);
  out->text = text_of(&text);
  return NULL;
}

// ---- passes -------------------------------------------------------------------------------------

static hsc_status *look_fires(hsc_observer *o,
                              const hsc_symptom *symptom,
                              const hsc_looked_at *program,
                              hsc_observation *out) {
  hsc_pass_list list = {0};
  char *dumps = NULL;
  int runs = 0;
  int changed = 0;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_scratch_create_for_dumps(&dumps));
  hsc_status *failed =
      hsc_passes_collect(o->device,
                         &(hsc_passes_collect_options){.program = program->path,
                                                       .overrides = o->options.overrides,
                                                       .scratch = dumps,
                                                       .dumps = true,
                                                       .bare = true,
                                                       .limit_ns = o->options.limit_ns},
                         &list);
  if (failed) {
    out->text = hsc_strdup(hsc_status_message(failed));
    hsc_status_free(failed);
    goto done;
  }
  for (size_t i = 0; i < list.row_count; i++)
    if (!strcmp(list.rows[i].pass, symptom->pass)) {
      runs++;
      changed += list.rows[i].changed == 1;
    }
  out->known = true;
  out->shows = changed > 0;
  out->value = changed;
  hsc_bytes_printf(&text, "%s ran %d times and changed the program %d times", symptom->pass, runs,
                   changed);
  out->text = text_of(&text);
done:
  hsc_scratch_destroy(dumps);
  hsc_pass_list_deinit(&list);
  return status;
}

static hsc_status *look_unfused(hsc_observer *o,
                                const hsc_symptom *symptom,
                                const hsc_looked_at *program,
                                hsc_observation *out) {
  hsc_compiled compiled = {0};
  hsc_bytes text = {0};
  (void)symptom;
  HSC_TRY(hsc_lab_compile(
      o->device, &(hsc_compile_request){.program = program->path, .limit_ns = o->options.limit_ns},
      &compiled));
  out->known = compiled.outcome == HSC_OUTCOME_OK && compiled.fusions >= 0;
  out->shows = out->known && compiled.fusions == 0 && compiled.instructions > 2;
  if (out->known)
    hsc_bytes_printf(&text, "%lld fusions", (long long)compiled.fusions);
  else
    hsc_bytes_printf(&text, "%s", hsc_outcome_text(compiled.outcome));
  out->text = text_of(&text);
  hsc_compiled_deinit(&compiled);
  return NULL;
}

// ---- a command ----------------------------------------------------------------------------------

// The command with {} replaced by the file's name.
static hsc_status *command_text(const char *command, const char *path, hsc_bytes *out) {
  for (const char *c = command; *c; c++) {
    if (c[0] == '{' && c[1] == '}') {
      hsc_bytes_append_text(out, path);
      c++;
    } else {
      hsc_bytes_append_char(out, *c);
    }
  }
  return hsc_bytes_status(out);
}

static hsc_status *look_command(hsc_observer *o,
                                const hsc_symptom *symptom,
                                const hsc_looked_at *program,
                                hsc_observation *out) {
  hsc_bytes line = {0};
  hsc_bytes variable = {0};
  hsc_bytes text = {0};
  hsc_child *child = NULL;
  hsc_child_exit end = {0};
  hsc_status *status = NULL;
  HSC_GOTO(command_text(symptom->command, program->path, &line));
  hsc_bytes_printf(&variable, "HLOSCOPE_CANDIDATE=%s", program->path);
  HSC_GOTO(hsc_bytes_status(&variable));
  const char *const argv[] = {"/bin/sh", "-c", hsc_bytes_text(&line), NULL};
  const char *const environment[] = {hsc_bytes_text(&variable), NULL};
  HSC_GOTO(
      hsc_child_start(&(hsc_child_options){.argv = argv,
                                           .extra_env = environment,
                                           .memory_limit_bytes = o->options.memory_limit_bytes},
                      &child));
  hsc_child_close_input(child);
  HSC_GOTO(hsc_child_wait(child, o->options.limit_ns, &end));
  out->known = end.exited;
  out->shows = end.exited && end.exit_code == 0;
  if (!end.exited)
    hsc_bytes_printf(&text, "the command took longer than its limit");
  else if (end.signal)
    hsc_bytes_printf(&text, "the command was ended by signal %d", end.signal);
  else
    hsc_bytes_printf(&text, "the command ended with exit code %d", end.exit_code);
  if (!end.exited)
    hsc_child_kill(child);
  out->text = text_of(&text);
done:
  hsc_child_destroy(child);
  hsc_bytes_deinit(&line);
  hsc_bytes_deinit(&variable);
  return status;
}

hsc_status *hsc_observer_look(hsc_observer *observer,
                              const hsc_symptom *symptom,
                              const hsc_looked_at *program,
                              hsc_observation *out_observation) {
  static hsc_status *(*const looks[])(hsc_observer *, const hsc_symptom *, const hsc_looked_at *,
                                      hsc_observation *) = {
      [HSC_SYMPTOM_WRONG] = look_wrong,     [HSC_SYMPTOM_CRASH] = look_end,
      [HSC_SYMPTOM_ERROR] = look_end,       [HSC_SYMPTOM_HANG] = look_end,
      [HSC_SYMPTOM_SLOW] = look_cost,       [HSC_SYMPTOM_COMPILE] = look_cost,
      [HSC_SYMPTOM_MEMORY] = look_cost,     [HSC_SYMPTOM_FIRES] = look_fires,
      [HSC_SYMPTOM_UNFUSED] = look_unfused, [HSC_SYMPTOM_COMMAND] = look_command};
  *out_observation = (hsc_observation){.value = NAN};
  if (!observer->device && symptom->kind != HSC_SYMPTOM_COMMAND)
    return HSC_ERR(INVALID_ARGUMENT, "symptom '%s' needs a device", symptom->text);
  return looks[symptom->kind](observer, symptom, program, out_observation);
}
