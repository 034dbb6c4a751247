// conform.c - the parent: starts children that do the checks, one after the other, and outlives
// each of them.
//
// A check that does not come back within its time is a hang, and its child is killed. Where the
// call that it is in has taken the whole time before, less is waited, and after so many hangs the
// run is over: a plugin whose events never come would take hours.
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

static hsc_status *no_such_area(const char *only, hsc_arena *arena) {
  const char *names = "";
  for (size_t i = 0; i < hsc__conform_check_count; i++) {
    const char *area = hsc__conform_checks[i].area;
    if (i == 0 || strcmp(area, hsc__conform_checks[i - 1].area) != 0)
      names = hsc_arena_printf(arena, "%s%s%s", names, *names ? ", " : "", area);
  }
  HSC_TRY(hsc_arena_status(arena));
  return hsc_status_usage(hsc_status_hint(
      HSC_ERR(INVALID_ARGUMENT, "no check and no area is called %s", only), "an area: %s", names));
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
  return report->count > 0 ? hsc_arena_status(arena) : no_such_area(only, arena);
}

static const char *text_of(json_t *line, const char *key, hsc_arena *arena) {
  const char *text = json_string_value(json_object_get(line, key));
  return text ? hsc_arena_strdup(arena, text) : "";
}

enum { HUNG_MAX = 16, HANGS_MAX = 25, PATIENCE = 5 };
static const int64_t default_limit_ns = INT64_C(20000000000);
// For a call of a function that has hung before: it comes back at once, if it does.
static const int64_t known_hang_ns = INT64_C(2000000000);

typedef struct session {
  const hsc_conform_options *options;
  hsc_conform_report *report;
  hsc_arena *arena;
  size_t next;                 // the first check that has no result
  hsc_bytes steps;             // of that check, the calls so far
  const char *hung[HUNG_MAX];  // functions that did not come back within the whole limit
  size_t hung_count;
} session;

// Everything has its result, or enough is wrong.
static bool is_over(const session *s) {
  const hsc_conform_options *o = s->options;
  const size_t *totals = s->report->totals;
  size_t hangs = totals[HSC_CONFORM_HANG];
  size_t wrong = totals[HSC_CONFORM_FAIL] + totals[HSC_CONFORM_CRASH] + hangs;
  return s->next == s->report->count || (o->stop_after && wrong >= o->stop_after) ||
         hangs >= (o->hangs_max ? o->hangs_max : HANGS_MAX);
}

// The function that the check which runs has called last; "" where it has called none.
static const char *last_function(session *s) {
  static const char call[] = "CALL(a";
  const char *text = hsc_bytes_text(&s->steps);
  const char *last = NULL;
  for (const char *at = text; (at = strstr(at, call)); at++)
    last = at;
  const char *name = last ? strchr(last, ' ') : NULL;
  return name ? hsc_arena_strndup(s->arena, name + 1, strcspn(name + 1, ",")) : "";
}

// What it waits for, where its last call is a wait; "" where that is not known.
static const char *last_wait(session *s) {
  const char *last = "";
  for (const char *at = hsc_bytes_text(&s->steps); (at = strstr(at, HSC_CONFORM_AWAITS));)
    last = at += strlen(HSC_CONFORM_AWAITS);
  return hsc_arena_strndup(s->arena, last, strcspn(last, "\n"));
}

static bool has_hung(const session *s, const char *function) {
  for (size_t i = 0; i < s->hung_count; i++)
    if (!strcmp(s->hung[i], function))
      return true;
  return false;
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

// Checks whose answer could not be read have none.
static void conclude_unread(session *s, size_t before) {
  while (s->next < before && s->next < s->report->count)
    conclude(s, s->next, HSC_CONFORM_CRASH, "the answer of the check's process is damaged", "");
}

static void take_line(session *s, json_t *line) {
  json_t *at = json_object_get(line, "check");
  const char *steps = json_string_value(json_object_get(line, "steps"));
  if (steps) {
    hsc_bytes_append_text(&s->steps, steps);
    return;
  }
  if (json_object_get(line, "version"))
    s->report->api_version = text_of(line, "version", s->arena);
  if (json_object_get(line, "platform"))
    s->report->platform = text_of(line, "platform", s->arena);
  if (!at)
    return;
  conclude_unread(s, (size_t)json_integer_value(at));
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

// How the child ended, in words; it is killed where it was waited for in vain.
static const char *death_of(session *s, hsc_child *child, bool timed_out) {
  hsc_child_exit how = {0};
  if (timed_out)
    hsc_child_kill(child);
  hsc_status_free(hsc_child_wait(child, INT64_C(5000000000), &how));
  if (timed_out)
    return "no answer within the time limit";
  if (how.signal)
    return hsc_arena_printf(s->arena, "signal %d (%s)", how.signal, strsignal(how.signal));
  return "the process ended by itself";
}

// Why the child is gone, for the check that it was at.
static void conclude_death(session *s, hsc_child *child, bool timed_out) {
  hsc_conform_outcome outcome = timed_out ? HSC_CONFORM_HANG : HSC_CONFORM_CRASH;
  const char *function = last_function(s);
  const char *seen = death_of(s, child, timed_out);
  bool waits = !strcmp(function, hsc_pjrt_function_get(HSC_FN_PJRT_Event_Await)->name);
  const char *event = waits ? last_wait(s) : "";
  const char *of = *event ? hsc_arena_printf(s->arena, "%s, for %s", function, event) : function;
  if (timed_out && *function)
    seen = hsc_arena_printf(s->arena, "no answer of %s %s", of,
                            has_hung(s, function) ? "either" : "within the time limit");
  if (timed_out && *function && !has_hung(s, function) && s->hung_count < HUNG_MAX)
    s->hung[s->hung_count++] = function;
  conclude(s, s->next, outcome, seen, last_calls(s, outcome, seen));
}

// A child that never greeted. Before the first result there is nothing to report; later, what the
// plugin left behind keeps it from being loaded again.
static hsc_status *conclude_unloaded(session *s, hsc_child *child, bool timed_out) {
  const char *how = death_of(s, child, timed_out);
  const char *said = hsc_child_stderr(child);
  if (s->next == 0)
    return HSC_ERR(FAILED_PRECONDITION, "%s cannot be loaded: %s", s->options->device,
                   *said ? said : how);
  const char *seen =
      hsc_arena_printf(s->arena, "the plugin could not be loaded again after the check before: %s",
                       *said ? said : how);
  conclude(s, s->next, timed_out ? HSC_CONFORM_HANG : HSC_CONFORM_CRASH, seen, "");
  return NULL;
}

// The processor time of a process, in ticks of the kernel; 0 where it is not told.
static long long ticks_of(int pid) {
  char path[64];
  long long user = 0;
  long long system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  if (file && fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld",
                     &user, &system) != 2)
    user = system = 0;
  if (file)
    fclose(file);
  return user + system;
}

// A line within the limit; a child that computes meanwhile, on a machine with other work to do, has
// PATIENCE times as long.
static hsc_status *read_patiently(hsc_child *child, int64_t limit_ns, hsc_bytes *line) {
  enum { BUSY_TICKS = 10 };
  hsc_status *status = NULL;
  for (int i = 0; i < PATIENCE; i++) {
    long long before = ticks_of(hsc_child_pid(child));
    hsc_status_free(status);
    status = hsc_child_read_line(child, limit_ns, line);
    if (hsc_status_code(status) != HSC_DEADLINE_EXCEEDED ||
        ticks_of(hsc_child_pid(child)) - before < BUSY_TICKS)
      break;
  }
  return status;
}

// One line of the child's; a call that is known to hang is waited for less long.
static hsc_status *read_line(session *s, hsc_child *child, hsc_bytes *line) {
  int64_t limit = s->options->timeout_ns > 0 ? s->options->timeout_ns : default_limit_ns;
  if (s->hung_count == 0 || limit <= known_hang_ns)
    return read_patiently(child, limit, line);
  // a compiler that was too slow once is not one that hangs
  long long before = ticks_of(hsc_child_pid(child));
  hsc_status *status = hsc_child_read_line(child, known_hang_ns, line);
  bool is_idle = ticks_of(hsc_child_pid(child)) - before < 2;
  if (hsc_status_code(status) != HSC_DEADLINE_EXCEEDED ||
      (is_idle && has_hung(s, last_function(s))))
    return status;
  hsc_status_free(status);
  return read_patiently(child, limit - known_hang_ns, line);
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
    hsc_status *end = read_line(s, child, &line);
    if (end) {
      bool timed_out = hsc_status_code(end) == HSC_DEADLINE_EXCEEDED;
      hsc_status_free(end);
      if (greeted)
        conclude_death(s, child, timed_out);
      else
        status = conclude_unloaded(s, child, timed_out);
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
  out_report->not_done = out_report->count - s.next;
  out_report->count = s.next;  // what was not checked is not in the report
  return hsc_arena_status(arena);
}
