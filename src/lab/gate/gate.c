// gate.c - programs against a baseline file: what is looked at, what follows, and the file itself.
//
// A program's verdict, the worst first: wrong (numbers differ, or it fails), slower (run time,
// compile time or memory beyond the margin), unknown (something that was to be compared was not, or
// a time cannot be distinguished from noise), faster, same.
#include "base/text/text.h"
#include "lab/gate/gate_internal.h"

#include <math.h>

#include "base/files/file_io.h"
#include "lab/run/json_tree.h"
#include "lab/store/environment.h"
#include "worker/scratch.h"

static const double DRIFT = 0.03;  // two sessions of one machine: measured by A/A (docs/commands)
static const double COMPILE_MARGIN = 2;   // times the margin of runs: compiles vary more
static const double MEMORY_SLACK = 4096;  // bytes of padding that are no change
enum { FORMAT_VERSION = 1 };

typedef struct gate {
  const hsc_gate_options *o;
  hsc_arena *arena;
  hsc_device_spec spec, against;
  json_t *machine, *baseline, *programs;
  const char *revision;  // the baseline is one; NULL = a file
  char *scratch;         // of files as they were
  bool same_machine;
} gate;

// ---- the file -----------------------------------------------------------------------------------

static json_t *doubles_json(const double *values, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, json_real(values[i]));
  return list;
}

// What makes times comparable.
static json_t *machine_of(json_t *environment) {
  json_t *machine = json_object();
  static const char *const keys[] = {"cpu", "cores", "memory_bytes"};
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    json_object_set(machine, keys[i], json_object_get(environment, keys[i]));
  return machine;
}

static json_t *entry_of(const char *program, const hsc__gate_seen *seen) {
  return json_pack("{s:s, s:s, s:o, s:o, s:o, s:O, s:O?}", "program", program, "fingerprint",
                   seen->fingerprint, "run_seconds", doubles_json(seen->run_s, seen->run_count),
                   "compile_seconds", doubles_json(seen->compile_s, seen->compile_count),
                   "memory_bytes", hsc_json_real(seen->memory_bytes), "structure", seen->structure,
                   "outputs", seen->outputs);
}

static bool is_numbers(json_t *list) {
  json_t *item;
  size_t i;
  json_array_foreach (list, i, item)
    if (!json_is_number(item))
      return false;
  return json_is_array(list);
}

// What an entry of the file lacks to be compared with; NULL = nothing.
static const char *missing_in(json_t *entry) {
  const char *kind = json_string_value(json_object_get(entry, "kind"));
  json_t *outputs = json_object_get(entry, "outputs");
  if (!json_is_object(entry) || !json_is_string(json_object_get(entry, "program")))
    return "the name of its program";
  if (!is_numbers(json_object_get(entry, "run_seconds")))
    return "run_seconds";
  if (kind && !strcmp(kind, "command"))
    return NULL;
  if (!is_numbers(json_object_get(entry, "compile_seconds")))
    return "compile_seconds";
  return json_is_array(outputs) || json_is_null(outputs) ? NULL : "outputs";
}

// What was taken out of a file by hand, or by a merge, is not found missing program by program.
static hsc_status *check_entries(json_t *baseline, const char *path, const char *make) {
  json_t *entry;
  size_t i;
  json_array_foreach (json_object_get(baseline, "programs"), i, entry) {
    const char *missing = missing_in(entry);
    const char *program = json_string_value(json_object_get(entry, "program"));
    if (missing)
      return hsc_status_usage(hsc_status_hint(
          HSC_ERR(DATA_LOSS, "%s is damaged: entry %zu%s%s%s lacks %s", path, i,
                  program ? " (" : "", program ? program : "", program ? ")" : "", missing),
          make, path));
  }
  return NULL;
}

static hsc_status *read_baseline(gate *g) {
  json_error_t error;
  const char *path = g->o->baseline;
  static const char *const make = "hloscope gate --baseline %s --update PROGRAM... writes one";
  if (!hsc_file_exists(path) && hsc__gate_is_revision(path, g->arena)) {
    g->revision = path;
    g->same_machine = true;
    return hsc_scratch_create(&g->scratch);
  }
  g->baseline = json_load_file(path, 0, &error);
  if (!g->baseline && json_error_code(&error) == json_error_cannot_open_file)
    return hsc_status_usage(hsc_status_hint(
        HSC_ERR(NOT_FOUND, "there is no baseline %s, neither file nor revision", path), make,
        path));
  bool ours = json_is_integer(json_object_get(g->baseline, "gate")) &&
              json_is_array(json_object_get(g->baseline, "programs")) &&
              json_is_string(json_object_get(g->baseline, "device"));
  if (!ours)
    return hsc_status_usage(
        hsc_status_hint(HSC_ERR(DATA_LOSS, "%s is not a baseline%s%s", path,
                                g->baseline ? "" : ": ", g->baseline ? "" : error.text),
                        make, path));
  if (json_integer_value(json_object_get(g->baseline, "gate")) != FORMAT_VERSION)
    return hsc_status_usage(hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s has version %lld of the format, not %d", path,
                json_integer_value(json_object_get(g->baseline, "gate")), FORMAT_VERSION),
        make, path));
  HSC_TRY(check_entries(g->baseline, path, make));
  const char *device = json_string_value(json_object_get(g->baseline, "device"));
  if (strcmp(device, g->o->device) != 0)
    return hsc_status_usage(hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s is of device %s, not %s", path, device, g->o->device),
        "a device has its own baseline: --device %s, or another file", device));
  g->same_machine = json_equal(json_object_get(g->baseline, "machine"), g->machine);
  return NULL;
}

// ---- a program against its entry ----------------------------------------------------------------

typedef struct findings {
  bool wrong, slower, faster, unknown;
  hsc_bytes text;  // what decided, in words
} findings;

static void say(findings *f, bool *flag, const char *format, ...) HSC_PRINTF(3, 4);
static void say(findings *f, bool *flag, const char *format, ...) {
  va_list args;
  *flag = true;
  if (f->text.size)
    hsc_bytes_append_text(&f->text, "; ");
  va_start(args, format);
  hsc_bytes_printf_v(&f->text, format, args);
  va_end(args);
}

static json_t *change_json(const hsc_gate_change *c) {
  return json_pack("{s:o, s:o, s:o, s:s}", "ratio", hsc_json_real(c->ratio.estimate), "low",
                   hsc_json_real(c->ratio.low), "high", hsc_json_real(c->ratio.high), "verdict",
                   hsc_verdict_text(c->verdict));
}

static void take_change(findings *f, bool turns, const char *what, const hsc_gate_change *c) {
  double percent = 100 * (c->ratio.estimate - 1);
  if (c->verdict == HSC_VERDICT_SLOWER)
    say(f, &f->slower, "%s %+.1f %% [%+.1f, %+.1f]", what, percent, 100 * (c->ratio.low - 1),
        100 * (c->ratio.high - 1));
  if (c->verdict == HSC_VERDICT_FASTER)
    say(f, &f->faster, "%s %+.1f %% [%+.1f, %+.1f]", what, percent, 100 * (c->ratio.low - 1),
        100 * (c->ratio.high - 1));
  if (c->verdict == HSC_VERDICT_CANNOT_TELL)
    say(f, &f->unknown, "%s cannot be distinguished from noise [%+.1f, %+.1f] %%%s", what,
        100 * (c->ratio.low - 1), 100 * (c->ratio.high - 1),
        turns ? "" : " (--against takes turns, which can tell)");
}

static bool takes_turns(const gate *g) {
  return g->o->against || g->revision;
}

static hsc_gate_change compare_times(const gate *g,
                                     const double *now,
                                     size_t count,
                                     const double *turn,
                                     size_t turn_count,
                                     json_t *kept,
                                     double margin) {
  if (takes_turns(g))
    return hsc_gate_compare(now, count, turn, turn_count, true, 0, margin);
  size_t kept_count = 0;
  double *before = hsc_json_doubles(kept, &kept_count);
  hsc_gate_change change = hsc_gate_compare(now, count, before, kept_count, false, DRIFT, margin);
  hsc_free(before);
  // What else the machine does changes processor time too, by more than half between sessions:
  // only turns tell a slower program from a busier machine.
  if (change.verdict != HSC_VERDICT_SAME)
    change.verdict = HSC_VERDICT_CANNOT_TELL;
  return change;
}

static void compare_memory(
    const gate *g, json_t *entry, const hsc__gate_seen *now, findings *f, json_t *row) {
  double before = hsc_json_number(json_object_get(entry, "memory_bytes"));
  double ratio = now->memory_bytes / before;
  const char *verdict = "unknown";
  if (ratio > 1 + g->o->margin && now->memory_bytes - before > MEMORY_SLACK) {
    verdict = "slower";
    say(f, &f->slower, "memory %.0f bytes, was %.0f", now->memory_bytes, before);
  } else if (ratio < 1 - g->o->margin) {
    verdict = "faster";
    say(f, &f->faster, "memory %.0f bytes, was %.0f", now->memory_bytes, before);
  } else if (ratio > 0) {
    verdict = "same";
  }
  json_object_set_new(row, "memory",
                      json_pack("{s:o, s:o, s:s}", "now", hsc_json_real(now->memory_bytes),
                                "before", hsc_json_real(before), "verdict", verdict));
}

static hsc_status *compare_numbers(
    const gate *g, json_t *entry, const hsc__gate_seen *now, findings *f, json_t *row) {
  hsc_agreement *agreement = NULL;
  hsc_bytes sentence = {0};
  json_t *numbers = json_object();
  json_t *before = json_object_get(entry, "outputs");
  HSC_TRY(hsc_agreement_create("output", &agreement));
  hsc_status *status = NULL;
  if (g->spec.topology || !json_is_array(before))
    hsc_agreement_gap(agreement, json_object(), "outputs", "the device only compiles");
  else
    HSC_GOTO(hsc__gate_compare_outputs(before, now->outputs, now->moved, agreement));
  HSC_GOTO(hsc_agreement_into(agreement, numbers));
  hsc_agreement_sentence(agreement, &sentence);
  hsc_agreement_verdict verdict = hsc_agreement_verdict_of(agreement);
  if (verdict == HSC_AGREEMENT_DIFFERENT)
    say(f, &f->wrong, "numbers %s", hsc_bytes_text(&sentence));
  else if (verdict != HSC_AGREEMENT_EQUAL && verdict != HSC_AGREEMENT_CLOSE)
    say(f, &f->unknown, "numbers %s", hsc_bytes_text(&sentence));
done:
  json_object_set_new(row, "numbers", numbers);
  hsc_bytes_deinit(&sentence);
  hsc_agreement_destroy(agreement);
  return status;
}

static void compare_all_times(const gate *g,
                              json_t *entry,
                              const hsc__gate_seen *now,
                              const hsc__gate_seen *turn,
                              findings *f,
                              json_t *row) {
  const char *cpu = json_string_value(hsc_json_path(g->baseline, "machine", "cpu", NULL));
  if (!takes_turns(g) && !g->same_machine) {
    say(f, &f->unknown,
        "time: the baseline is of another machine (%s): update it here, or take turns with "
        "--against",
        cpu ? cpu : "not named");
    return;
  }
  hsc_gate_change compile =
      compare_times(g, now->compile_s, now->compile_count, turn->compile_s, turn->compile_count,
                    json_object_get(entry, "compile_seconds"), COMPILE_MARGIN * g->o->margin);
  take_change(f, takes_turns(g), "compile time", &compile);
  json_object_set_new(row, "compile", change_json(&compile));
  if (g->spec.topology)
    return;
  hsc_gate_change runs = compare_times(g, now->run_s, now->run_count, turn->run_s, turn->run_count,
                                       json_object_get(entry, "run_seconds"), g->o->margin);
  take_change(f, takes_turns(g), "run time", &runs);
  json_object_set_new(row, "run", change_json(&runs));
}

static const char *verdict_of(const findings *f) {
  if (f->wrong)
    return "wrong";
  if (f->slower)
    return "slower";
  if (f->unknown)
    return "unknown";
  return f->faster ? "faster" : "same";
}

static hsc_status *judge(const gate *g,
                         json_t *entry,
                         const hsc__gate_seen *now,
                         const hsc__gate_seen *turn,
                         json_t *row) {
  findings f = {0};
  hsc_status *status = NULL;
  const char *before = json_string_value(json_object_get(entry, "fingerprint"));
  if (now->failure) {
    say(&f, &f.wrong, "it fails: %s", now->failure);
  } else if (turn->failure) {
    say(&f, &f.unknown, "it failed before: %s", turn->failure);
  } else if (!entry && g->revision) {
    say(&f, &f.unknown, "it is not in %s", g->revision);
  } else if (!entry) {
    say(&f, &f.unknown, "it is not in the baseline: --update adds it");
  } else if (!g->revision && (!before || strcmp(before, now->fingerprint) != 0)) {
    say(&f, &f.unknown, "the program is another one than in the baseline: --update takes it over");
  } else {
    status = compare_numbers(g, entry, now, &f, row);
    compare_memory(g, entry, now, &f, row);
    compare_all_times(g, entry, now, turn, &f, row);
    json_object_set_new(row, "structure",
                        json_pack("{s:O, s:O}", "now", now->structure, "before",
                                  json_object_get(entry, "structure")));
  }
  json_object_set_new(row, "verdict", json_string(verdict_of(&f)));
  json_object_set_new(row, "because",
                      json_string(f.text.size ? hsc_bytes_text(&f.text)
                                              : "numbers, time and memory are as "
                                                "they were"));
  json_object_set_new(row, "processes", json_integer((json_int_t)now->compile_count));
  hsc_bytes_deinit(&f.text);
  return status;
}

// The program as it was in the revision; *out_path NULL where it was not there.
static hsc_status *program_before(const gate *g, const char *program, const char **out_path) {
  const char *to = hsc_arena_printf(g->arena, "%s/%s", g->scratch, hsc_path_file(program));
  HSC_TRY(hsc_arena_status(g->arena));
  *out_path = hsc__gate_file_at(g->revision, program, to, g->arena) ? to : NULL;
  return hsc_arena_status(g->arena);
}

// What was seen of a program: now, and in turns with it, of what it is compared with.
typedef struct looks {
  const char *program;
  const char *theirs;  // the program as it was; NULL = it was not there
  hsc__gate_seen now, turn;
} looks;

// One round: each side once a turn, in alternating order.
static hsc_status *look_once(const gate *g, looks *l) {
  const hsc_device_spec *their_device = g->o->against ? &g->against : &g->spec;
  int turns = (g->o->update ? 2 : 1) * g->o->turns;
  for (int i = 0; i < turns && !l->now.failure; i++) {
    bool both = takes_turns(g) && l->theirs && !l->turn.failure;
    bool theirs_first = i % 2;
    if (both && theirs_first)
      HSC_TRY(hsc__gate_look(g->o, their_device, l->theirs, &l->turn));
    HSC_TRY(hsc__gate_look(g->o, &g->spec, l->program, &l->now));
    if (both && !theirs_first)
      HSC_TRY(hsc__gate_look(g->o, their_device, l->theirs, &l->turn));
  }
  return NULL;
}

// Whether another look may settle what the row does not know yet.
static bool is_open(const json_t *row) {
  const char *verdict = hsc_json_text(row, "verdict");
  return verdict && !strcmp(verdict, "unknown") &&
         (json_object_get(row, "run") || json_object_get(row, "compile"));
}

static hsc_status *look_and_judge(const gate *g, looks *l, json_t **in_out_entry, json_t *row) {
  HSC_TRY(look_once(g, l));
  if (g->revision && l->theirs && !l->turn.failure && !*in_out_entry)
    *in_out_entry = entry_of(l->program, &l->turn);
  return g->o->update ? NULL : judge(g, *in_out_entry, &l->now, &l->turn, row);
}

static hsc_status *update_entry(const gate *g, const looks *l) {
  if (l->now.failure)
    return hsc_status_hint(HSC_ERR(FAILED_PRECONDITION, "%s: %s", l->program, l->now.failure),
                           "a baseline holds programs that work");
  json_array_append_new(g->programs, entry_of(l->program, &l->now));
  return NULL;
}

// Looks until nothing is open, or three times.
static hsc_status *look_at(const gate *g, const char *program, json_t *row) {
  looks l = {.program = program,
             .theirs = program,
             .now = {.memory_bytes = NAN},
             .turn = {.memory_bytes = NAN}};
  json_t *entry = g->baseline ? json_incref(hsc__gate_entry_of(g->baseline, program)) : NULL;
  hsc_status *status = g->revision ? program_before(g, program, &l.theirs) : NULL;
  bool open = true;
  for (int look = 0; look < HSC__GATE_LOOKS && open && !status; look++) {
    status = look_and_judge(g, &l, &entry, row);
    open = !g->o->update && !l.now.failure && is_open(row);
  }
  if (!status && g->o->update)
    status = update_entry(g, &l);
  json_decref(entry);
  hsc__gate_seen_deinit(&l.now);
  hsc__gate_seen_deinit(&l.turn);
  return status;
}

static hsc_status *look_at_command(const gate *g, json_t *row) {
  const char *text = json_string_value(json_object_get(row, "program"));
  json_t *made = NULL;
  if (g->revision)
    return hsc__gate_command_in_turns(g->o, g->revision, g->arena, row);
  json_t *entry = g->baseline ? hsc__gate_entry_named(g->baseline, text) : NULL;
  HSC_TRY(hsc__gate_command_now(g->o, entry, g->same_machine, g->arena, row, &made));
  if (made)
    json_array_append_new(g->programs, made);
  return NULL;
}

// What the file holds of other programs stays, where it was measured here too.
static void keep_others(const gate *g) {
  json_t *old = json_load_file(g->o->baseline, 0, NULL);
  const char *device = json_string_value(json_object_get(old, "device"));
  bool alike = json_integer_value(json_object_get(old, "gate")) == FORMAT_VERSION && device &&
               !strcmp(device, g->o->device) &&
               json_equal(json_object_get(old, "machine"), g->machine);
  json_t *entry;
  size_t i;
  json_array_foreach (json_object_get(old, "programs"), i, entry) {
    const char *name = json_string_value(json_object_get(entry, "program"));
    bool named = !name;
    for (size_t p = 0; p < g->o->program_count && !named; p++)
      named = hsc__gate_same_file(name, g->o->programs[p]);
    if (g->o->command && !named)
      named = !strcmp(name, hsc__gate_command_text(g->o, g->arena));
    if (alike && !named)
      json_array_append(g->programs, entry);
  }
  json_decref(old);
}

static hsc_status *write_baseline(const gate *g) {
  keep_others(g);
  json_t *document = json_pack("{s:i, s:s, s:s, s:O, s:i, s:O}", "gate", FORMAT_VERSION, "hloscope",
                               HSC_VERSION, "device", g->o->device, "machine", g->machine, "turns",
                               g->o->turns, "programs", g->programs);
  hsc_status *status =
      document ? hsc_json_tree_save(g->o->baseline, document) : hsc_status_out_of_memory();
  json_decref(document);
  return status;
}

// A program that is named twice, as dir/*.hlo and by itself, is measured once.
static bool is_given_before(const hsc_gate_options *o, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (hsc__gate_same_file(o->programs[i], o->programs[at]))
      return true;
  return false;
}

hsc_status *hsc_gate_run(const hsc_gate_options *o, json_t **out_document) {
  gate g = {.o = o, .programs = json_array()};
  json_t *environment = NULL;
  json_t *rows = json_array();
  HSC_TRY(hsc_arena_create(&g.arena));
  hsc_status *status = NULL;
  HSC_GOTO(hsc_environment_capture(false, &environment));
  g.machine = machine_of(environment);
  if (!o->update)
    HSC_GOTO(read_baseline(&g));
  HSC_GOTO(hsc_device_spec_parse(o->device, g.arena, &g.spec));
  if (o->against)
    HSC_GOTO(hsc_device_spec_parse(o->against, g.arena, &g.against));
  if (o->command) {
    const char *text = hsc__gate_command_text(o, g.arena);
    json_t *row = json_pack("{s:s}", "program", text ? text : "");
    json_array_append_new(rows, row);
    HSC_GOTO(look_at_command(&g, row));
  }
  for (size_t i = 0; i < o->program_count; i++) {
    if (is_given_before(o, i))
      continue;
    json_t *row = json_pack("{s:s}", "program", o->programs[i]);
    json_array_append_new(rows, row);
    if (o->progress)
      o->progress(o->user, (int64_t)i, (int64_t)o->program_count, o->programs[i]);
    HSC_GOTO(look_at(&g, o->programs[i], row));
  }
  if (o->update)
    HSC_GOTO(write_baseline(&g));
  *out_document = json_pack("{s:s, s:s, s:s?, s:b, s:o, s:f, s:O}", "baseline", o->baseline,
                            "device", o->device, "against", o->against, "updated", o->update,
                            "same_machine", o->update ? json_true() : json_boolean(g.same_machine),
                            "margin", o->margin, "programs", rows);
  if (!*out_document)
    status = hsc_status_out_of_memory();
done:
  hsc_scratch_destroy(g.scratch);
  json_decref(environment);
  json_decref(rows);
  json_decref(g.machine);
  json_decref(g.baseline);
  json_decref(g.programs);
  hsc_arena_destroy(g.arena);
  return status;
}

int hsc_gate_exit_code(const json_t *document) {
  json_t *row;
  size_t i;
  int code = 0;
  json_array_foreach (json_object_get(document, "programs"), i, row) {
    const char *verdict = json_string_value(json_object_get(row, "verdict"));
    if (!verdict)
      continue;
    if (!strcmp(verdict, "slower") || !strcmp(verdict, "wrong"))
      return 1;
    if (!strcmp(verdict, "unknown"))
      code = 3;
  }
  return code;
}
