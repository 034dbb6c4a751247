// symptom_look.c - one look at a program: each symptom's own question.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/process/child.h"
#include "lab/passes/optimized.h"
#include "lab/passes/passes_list.h"
#include "lab/reduce/symptom_internal.h"
#include "lab/run/json_tree.h"
#include "worker/scratch.h"

static char *text_of(hsc_bytes *bytes) {
  char *text = hsc_strdup(bytes->size ? hsc_bytes_text(bytes) : "");
  hsc_bytes_deinit(bytes);
  return text;
}

char *hsc__outcome_words(const hsc_answer *answer) {
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%s", hsc_outcome_text(answer->outcome));
  if (answer->last_words && *answer->last_words)
    hsc_bytes_printf(&text, ": %s", answer->last_words);
  else if (answer->status)
    hsc_bytes_printf(&text, ": %s", hsc_status_message(answer->status));
  return text_of(&text);
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

// A hang needs not be waited for to the limit each time: once some programs have ended, one that
// takes this many times as long for its size hangs. What is written in the end is run to the limit.
static const double HANG_TIMES = 5;
static const int64_t HANG_LEAST_NS = HSC_SECOND_NS / 2;
static const int64_t SIZE_OF_NOTHING = 50;  // instructions that a job costs at least

static int64_t hang_limit(const hsc_observer *o, const hsc_looked_at *program) {
  int64_t most = o->options.limit_ns;
  if (program->instructions < 1 || o->ns_per_instruction <= 0)
    return most;
  double size = (double)(program->instructions + SIZE_OF_NOTHING);
  double limit = fmax(HANG_TIMES * o->ns_per_instruction * size, (double)HANG_LEAST_NS);
  return limit < (double)most ? (int64_t)limit : most;
}

static hsc_status *look_end(hsc_observer *o,
                            const hsc_symptom *symptom,
                            const hsc_looked_at *program,
                            hsc_observation *out) {
  hsc_answer answer = {0};
  if (symptom->kind == HSC_SYMPTOM_HANG && !hsc_lab_worker_pid(o->device)) {
    HSC_TRY(hsc_lab_worker_start(o->device, &answer));  // its time is not the program's
    hsc_answer_deinit(&answer);
  }
  int64_t start_ns = hsc_now_ns();
  int64_t limit_ns = symptom->kind == HSC_SYMPTOM_HANG ? hang_limit(o, program) : 0;
  HSC_TRY(hsc__observer_run(o, o->device, &(hsc__run){.program = program, .limit_ns = limit_ns},
                            &answer));
  if (answer.outcome != HSC_OUTCOME_TIMEOUT)
    o->ns_per_instruction =
        fmax(o->ns_per_instruction,
             (double)(hsc_now_ns() - start_ns) / (double)(program->instructions + SIZE_OF_NOTHING));
  out->known = true;
  out->text = answer.outcome == HSC_OUTCOME_OK ? hsc_strdup("runs") : hsc__outcome_words(&answer);
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

// Of the looks that measured one thing. Other work of the machine moves a median; the quickest run
// it moves only where it lasted as long as all of them.
typedef struct cost {
  double median, least;
} cost;
static const cost NO_COST = {NAN, NAN};

static cost cost_of(json_t *series) {
  size_t count = 0;
  double *values = hsc_json_doubles(series, &count);
  cost found = NO_COST;
  for (size_t i = 1; i < count; i++)
    for (size_t j = i; j > 0 && values[j - 1] > values[j]; j--) {
      double swap = values[j];
      values[j] = values[j - 1];
      values[j - 1] = swap;
    }
  if (count)
    found = (cost){values[count / 2] / 1e9, values[0] / 1e9};
  hsc_free(values);
  return found;
}

// The "compile" job; the optimised program goes to a file where that is wanted.
static hsc_status *compile_only(hsc_observer *o,
                                hsc_lab_worker *worker,
                                const hsc_looked_at *program,
                                const char *optimized_to,
                                hsc_answer *out_answer) {
  json_t *request = json_pack("{s:s, s:s, s:s*}", "job", "compile", "program", program->path,
                              "optimized_to", optimized_to);
  if (!request)
    return hsc_status_out_of_memory();
  if (worker == o->device && o->options.overrides)
    json_object_set(request, "overrides", o->options.overrides);
  hsc_status *status = hsc_lab_worker_call(worker, request, o->options.limit_ns, out_answer);
  json_decref(request);
  return status;
}

// Seconds of a run or a compile, or bytes; NO_COST when it cannot be determined.
static hsc_status *measure(hsc_observer *o,
                           hsc_lab_worker *worker,
                           const hsc_symptom *symptom,
                           const hsc_looked_at *program,
                           cost *out_cost,
                           char **out_why) {
  hsc_answer answer = {0};
  double value = NAN;
  *out_cost = NO_COST;
  if (symptom->kind == HSC_SYMPTOM_SLOW) {
    HSC_TRY(hsc__observer_run(o, worker, &(hsc__run){.program = program, .series = 64}, &answer));
    if (answer.outcome == HSC_OUTCOME_OK)
      *out_cost = cost_of(hsc_json_path(answer.body, "series", "run_ns", NULL));
  } else {
    HSC_TRY(compile_only(o, worker, program, NULL, &answer));
    bool memory = symptom->kind == HSC_SYMPTOM_MEMORY;
    if (answer.outcome == HSC_OUTCOME_OK && memory)
      value = hsc_json_number(hsc_json_path(answer.body, "memory", "temp_bytes", NULL));
    else if (answer.outcome == HSC_OUTCOME_OK)
      value = hsc_json_number(json_object_get(answer.body, "compile_ns")) / 1e9;
    *out_cost = (cost){value, value};
  }
  if (answer.outcome != HSC_OUTCOME_OK)
    *out_why = hsc__outcome_words(&answer);
  hsc_answer_deinit(&answer);
  return NULL;
}

hsc_status *hsc_observer_cost(hsc_observer *observer,
                              const hsc_symptom *symptom,
                              const hsc_looked_at *program,
                              bool on_reference,
                              double *out_cost) {
  char *why = NULL;
  cost measured = NO_COST;
  hsc_lab_worker *worker = on_reference ? observer->reference : observer->device;
  hsc_status *status = measure(observer, worker, symptom, program, &measured, &why);
  *out_cost = measured.median;
  hsc_free(why);
  return status ? status : hsc__observer_forget(observer);
}

enum { REPEATS = 3 };  // looks that must all say so, where time is what is looked at

// How many times the cost of the reference; 0 below the floor, where there is nothing to tell.
static double times(double here, double there, double floor_value, double factor) {
  double ratio = here / fmax(there, floor_value / factor);
  return here >= floor_value && !isnan(ratio) ? ratio : 0;
}

static hsc_status *look_cost(hsc_observer *o,
                             const hsc_symptom *symptom,
                             const hsc_looked_at *program,
                             hsc_observation *out) {
  static const char *const units[] = {"s a run", "s of compilation", "bytes"};
  // below: nothing to tell
  static const double floors[] = {2e-5, 1e-3, 4096};
  double floor_value = floors[symptom->kind - HSC_SYMPTOM_SLOW];
  double least = INFINITY;
  cost here = NO_COST;
  cost there = NO_COST;
  hsc_bytes text = {0};
  int repeats = symptom->kind == HSC_SYMPTOM_MEMORY ? 1 : REPEATS;
  out->known = true;
  for (int i = 0; i < repeats && !out->text; i++) {
    HSC_TRY(measure(o, o->device, symptom, program, &here, &out->text));
    if (!out->text)
      HSC_TRY(measure(o, o->reference, symptom, program, &there, &out->text));
    least = fmin(least, times(here.median, there.median, floor_value, symptom->factor));
    least = fmin(least, times(here.least, there.least, floor_value, symptom->factor));
    if (least < symptom->factor)
      break;
  }
  if (out->text) {
    out->known = false;
    return NULL;
  }
  out->value = least;
  out->shows = least >= symptom->factor;
  hsc_bytes_printf(&text, "%.3g against %.3g %s: %.2f times", here.median, there.median,
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

// The program after all passes, as the device's compiler gives it; NULL where it gives none.
static hsc_status *optimized_of(hsc_observer *o,
                                const hsc_looked_at *program,
                                hsc_module **out_module,
                                char **out_why) {
  hsc_answer answer = {0};
  hsc_bytes path = {0};
  hsc_status *unread = NULL;
  hsc_status *status = NULL;
  *out_module = NULL;
  hsc_bytes_printf(&path, "%s/optimized", o->scratch);
  HSC_GOTO(hsc_bytes_status(&path));
  HSC_GOTO(compile_only(o, o->device, program, hsc_bytes_text(&path), &answer));
  if (answer.outcome != HSC_OUTCOME_OK)
    *out_why = hsc__outcome_words(&answer);
  else
    unread = hsc_optimized_module(hsc_bytes_text(&path), out_module);
  if (unread)
    *out_why = hsc_strdup(hsc_status_message(unread));
  hsc_status_free(unread);
done:
  hsc_answer_deinit(&answer);
  hsc_bytes_deinit(&path);
  return status;
}

static hsc_status *look_unfused(hsc_observer *o,
                                const hsc_symptom *symptom,
                                const hsc_looked_at *program,
                                hsc_observation *out) {
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  int64_t fusions = 0;
  int64_t computing = 0;
  HSC_TRY(optimized_of(o, program, &module, &out->text));
  if (!module)
    return NULL;
  out->known = true;
  HSC_FOR_EACH_INSTR_IN (module->entry, instr)
    computing += instr->operand_count > 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      fusions += instr->op == HSC_OP_FUSION;
  if (symptom->op) {
    hsc_op op;
    int64_t alone =
        hsc_op_parse(hsc_view_of(symptom->op), &op) ? hsc_optimized_alone(module, op) : 0;
    out->shows = alone > 0;
    out->value = (double)alone;
    hsc_bytes_printf(&text, "%s outside of fusions: %lld", symptom->op, (long long)alone);
  } else {
    out->shows = fusions == 0 && computing > 1;
    out->value = (double)fusions;
    hsc_bytes_printf(&text, "%lld fusions", (long long)fusions);
  }
  out->text = text_of(&text);
  hsc_module_destroy(module);
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
      [HSC_SYMPTOM_WRONG] = hsc__look_wrong, [HSC_SYMPTOM_CRASH] = look_end,
      [HSC_SYMPTOM_ERROR] = look_end,        [HSC_SYMPTOM_HANG] = look_end,
      [HSC_SYMPTOM_SLOW] = look_cost,        [HSC_SYMPTOM_COMPILE] = look_cost,
      [HSC_SYMPTOM_MEMORY] = look_cost,      [HSC_SYMPTOM_FIRES] = look_fires,
      [HSC_SYMPTOM_UNFUSED] = look_unfused,  [HSC_SYMPTOM_COMMAND] = look_command};
  *out_observation = (hsc_observation){.value = NAN};
  if (!observer->device && symptom->kind != HSC_SYMPTOM_COMMAND)
    return HSC_ERR(INVALID_ARGUMENT, "symptom '%s' needs a device", symptom->text);
  HSC_TRY(looks[symptom->kind](observer, symptom, program, out_observation));
  return hsc__observer_forget(observer);
}
