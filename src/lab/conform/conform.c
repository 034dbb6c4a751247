// conform.c - the parent: starts children that do the checks, one after the other, and outlives
// each of them.
#include <jansson.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/process/child.h"
#include "base/text/text.h"
#include "lab/conform/conform_internal.h"
#include "lab/devices/devices.h"

const conform_check hsc__conform_checks[] = {
#define CHECK(id, area, rule, source, function) \
  {id, area, rule, source, hsc__conform_##function, NULL, NULL},
#define FAMILY(id, area, rule, source, function) \
  {id, \
   area, \
   rule, \
   source, \
   hsc__conform_##function, \
   hsc__conform_##function##_count, \
   hsc__conform_##function##_name},
#include "lab/conform/conform.def"
#undef CHECK
#undef FAMILY
};
const size_t hsc__conform_check_count = HSC_COUNT_OF(hsc__conform_checks);

const char *hsc_conform_outcome_text(hsc_conform_outcome outcome) {
  static const char *const texts[] = {"pass", "fail", "crash", "hang", "not_offered"};
  return texts[outcome];
}

static int members(const conform_check *check) {
  return check->count ? check->count() : 1;
}

// How many checks there are.
static size_t conform_count(void) {
  size_t count = 0;
  for (size_t i = 0; i < hsc__conform_check_count; i++)
    count += (size_t)members(&hsc__conform_checks[i]);
  return count;
}

static bool is_wanted(const char *only, const char *area, const char *id) {
  return !only || !strcmp(only, area) || hsc_starts_with(id, only);
}

// The checks that are wanted, in order: their results, still to be filled.
static hsc_status *list_results(const char *only, hsc_arena *arena, hsc_conform_report *report) {
  report->results = HSC_NEW_ARRAY(arena, hsc_conform_result, conform_count() + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < hsc__conform_check_count; i++) {
    const conform_check *check = &hsc__conform_checks[i];
    for (int m = 0; m < members(check); m++) {
      char name[64] = "";
      if (check->name)
        check->name(m, name);
      const char *id = hsc_arena_printf(arena, "%s%s%s", check->id, *name ? "/" : "", name);
      if (is_wanted(only, check->area, id))
        report->results[report->count++] = (hsc_conform_result){.id = id,
                                                                .area = check->area,
                                                                .rule = check->rule,
                                                                .source = check->source,
                                                                .seen = "",
                                                                .repro = ""};
    }
  }
  if (report->count == 0)
    return hsc_status_usage(
        hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "no check and no area is called %s", only),
                        "an area: table, struct_size, getters, client, buffer, events, compile, "
                        "executable, execute, "
                        "threads, topology, ops"));
  return hsc_arena_status(arena);
}

static const char *text_of(json_t *line, const char *key, hsc_arena *arena) {
  const char *text = json_string_value(json_object_get(line, key));
  return text ? hsc_arena_strdup(arena, text) : "";
}

typedef struct session {
  const hsc_conform_options *options;
  hsc_conform_report *report;
  hsc_arena *arena;
  size_t next;      // the first check that has no result
  hsc_bytes steps;  // of that check, the calls so far
} session;

// Everything has its result, or enough is wrong.
static bool is_over(const session *s) {
  const size_t *totals = s->report->totals;
  size_t wrong = totals[HSC_CONFORM_FAIL] + totals[HSC_CONFORM_CRASH] + totals[HSC_CONFORM_HANG];
  return s->next == s->report->count || (s->options->stop_after && wrong >= s->options->stop_after);
}

static void conclude(
    session *s, size_t at, hsc_conform_outcome outcome, const char *seen, const char *repro) {
  hsc_conform_result *result = &s->report->results[at];
  result->outcome = outcome;
  result->seen = seen;
  result->repro = repro;
  s->report->totals[outcome]++;
  s->next = at + 1;
  hsc_bytes_reset(&s->steps);
  if (s->options->progress)
    s->options->progress(s->options->user, s->next, s->report->count, result);
}

static void take_line(session *s, json_t *line) {
  json_t *at = json_object_get(line, "check");
  const char *steps = json_string_value(json_object_get(line, "steps"));
  if (steps) {
    hsc_bytes_append_text(&s->steps, steps);
    return;
  }
  if (!at) {
    s->report->platform = text_of(line, "platform", s->arena);
    s->report->api_version = text_of(line, "version", s->arena);
    return;
  }
  const char *outcome = json_string_value(json_object_get(line, "outcome"));
  for (int o = 0; o < HSC_CONFORM_OUTCOME_COUNT; o++)
    if (outcome && !strcmp(outcome, hsc_conform_outcome_text((hsc_conform_outcome)o)))
      conclude(s, (size_t)json_integer_value(at), (hsc_conform_outcome)o,
               text_of(line, "seen", s->arena), text_of(line, "repro", s->arena));
}

// The reproducer of a check whose process is gone: its last call is the one that did it.
static const char *last_calls(session *s, hsc_conform_outcome outcome, const char *seen) {
  const hsc_conform_result *result = &s->report->results[s->next];
  hsc_conform gone = {.outcome = outcome, .steps = s->steps, .call_count = s->steps.size > 0};
  hsc_bytes text = {0};
  hsc_bytes_append_text(&gone.seen, seen);
  hsc__conform_repro(&gone, result->id, result->rule, &text);
  const char *kept = hsc_arena_strndup(s->arena, hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&gone.seen);
  hsc_bytes_deinit(&text);
  return kept ? kept : "";
}

// Why the child is gone, for the check that it was at.
static void conclude_death(session *s, hsc_child *child, bool timed_out) {
  hsc_child_exit how = {0};
  if (timed_out)
    hsc_child_kill(child);
  hsc_status_free(hsc_child_wait(child, INT64_C(5000000000), &how));
  const char *seen =
      hsc_arena_printf(s->arena, "%s%s", timed_out ? "no answer within the time limit" : "",
                       !timed_out && how.signal == 0 ? "the process ended by itself" : "");
  if (!timed_out && how.signal)
    seen = hsc_arena_printf(s->arena, "signal %d (%s)", how.signal, strsignal(how.signal));
  hsc_conform_outcome outcome = timed_out ? HSC_CONFORM_HANG : HSC_CONFORM_CRASH;
  conclude(s, s->next, outcome, seen, last_calls(s, outcome, seen));
}

// One child, from the first check without a result until it has done them all or dies.
static hsc_status *run_child(session *s) {
  const hsc_conform_options *o = s->options;
  char first[24];
  snprintf(first, sizeof first, "%zu", s->next);
  const char *argv[10] = {o->executable, "conform", "--serve", first, o->device};
  if (o->only) {
    argv[5] = "--only";
    argv[6] = o->only;
  }
  hsc_child *child = NULL;
  hsc_bytes line = {0};
  hsc_status *status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
  size_t before = s->next;
  bool greeted = false;
  while (!status && !is_over(s)) {
    hsc_bytes_reset(&line);
    int64_t limit = o->timeout_ns > 0 ? o->timeout_ns : INT64_C(20000000000);
    hsc_status *end = hsc_child_read_line(child, limit, &line);
    if (end) {
      bool timed_out = hsc_status_code(end) == HSC_DEADLINE_EXCEEDED;
      hsc_status_free(end);
      if (!greeted) {
        status = HSC_ERR(FAILED_PRECONDITION, "%s cannot be loaded: %s", o->device,
                         hsc_child_stderr(child));
        break;
      }
      conclude_death(s, child, timed_out);
      break;
    }
    json_t *object = json_loadb(line.data, line.size, 0, NULL);
    greeted = greeted || object;
    if (object)
      take_line(s, object);
    json_decref(object);
  }
  if (!status && s->next == before && s->next < s->report->count)
    status = HSC_ERR(INTERNAL, "the child did no check");
  hsc_child_destroy(child);
  hsc_bytes_deinit(&line);
  return status;
}

hsc_status *hsc_conform_run(const hsc_conform_options *options,
                            hsc_arena *arena,
                            hsc_conform_report *out_report) {
  hsc_device_spec spec;
  *out_report = (hsc_conform_report){.platform = "", .api_version = ""};
  HSC_TRY(hsc_device_spec_parse(options->device, arena, &spec));
  if (!spec.plugin_path || spec.source == HSC_DEVICE_PYTHON)
    return hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s is no PJRT plugin that a program can load", options->device),
        "the path of a plugin's .so, or cpu, cuda:h100, tpu:v5e");
  out_report->plugin = spec.plugin_path;
  HSC_TRY(list_results(options->only, arena, out_report));
  hsc_conform_options own = *options;
  if (!own.executable) {
    char *directory = NULL;
    HSC_TRY(hsc_self_dir((const void *)(uintptr_t)hsc_conform_run, &directory));
    own.executable = hsc_arena_printf(arena, "%s/hloscope", directory);
    hsc_free(directory);
  }
  session s = {.options = &own, .report = out_report, .arena = arena};
  hsc_status *status = NULL;
  while (!status && !is_over(&s))
    status = run_child(&s);
  hsc_bytes_deinit(&s.steps);
  HSC_TRY(status);
  out_report->count = s.next;  // what was not checked is not in the report
  return hsc_arena_status(arena);
}
