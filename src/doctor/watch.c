// watch.c - rules, and what is counted for them.
#include "base/core/clock.h"
#include "base/core/map.h"
#include "base/text/text.h"
#include "doctor/watch.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { ALERTS_MAX = 200, OPEN_MAX = 64 };

typedef enum rule_kind {
#define RULE(id, name, unit, doc) RULE_##id,
#include "doctor/watch_rules.def"
#undef RULE
  RULE_COUNT
} rule_kind;
typedef enum rule_unit { NONE, COUNT, SECONDS, BYTES, TEXT } rule_unit;

static const struct {
  const char *name;
  rule_unit unit;
} kinds[] = {
#define RULE(id, name, unit, doc) {name, unit},
#include "doctor/watch_rules.def"
#undef RULE
};

typedef struct rule {
  rule_kind kind;
  const char *text;   // as written
  const char *value;  // after the '='
  double limit;
  hsc_severity severity;
  uint64_t alerts;
  bool passed;  // a limit raises one alert
} rule;

typedef struct open_compile {
  const char *module;  // in the arena
  int64_t begin_ns;
  bool told;
} open_compile;

struct hsc_watch {
  hsc_arena *arena;
  rule *rules;
  size_t rule_count;
  void (*on_alert)(void *user, const hsc_alert *alert);
  void *user;
  hsc_map *seen;  // "rule NUL entry or module": reported already
  open_compile open[OPEN_MAX];
  size_t open_count;
  uint64_t started, ended, recompiles, misses, alerts;
  int64_t heard_ns;
  const hsc_entry *worst;  // the error that names the cause most directly
};

static hsc_status *parse_size(const char *text, double *out_bytes) {
  char *end;
  double value = strtod(text, &end);
  static const char units[] = "KMGT";
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  double factor = 1;
  if (unit) {
    for (const char *u = units; u <= unit; u++)
      factor *= 1024;
    end++;
    if (*end == 'i')
      end++;
  }
  if (*end == 'B')
    end++;
  if (end == text || *end || !(value > 0))
    return HSC_ERR(INVALID_ARGUMENT, "'%s' is no size; write 64MiB or 16GiB", text);
  *out_bytes = value * factor;
  return NULL;
}

static hsc_status *parse_rule(const char *text, hsc_arena *arena, rule *out) {
  size_t name = strcspn(text, "=");
  const char *names[RULE_COUNT];
  *out = (rule){.text = text, .value = text[name] ? text + name + 1 : ""};
  size_t kind = 0;
  for (size_t i = 0; i < RULE_COUNT; i++)
    names[i] = kinds[i].name;
  while (kind < RULE_COUNT &&
         (strlen(names[kind]) != name || strncmp(names[kind], text, name) != 0))
    kind++;
  if (kind == RULE_COUNT) {
    const char *near = hsc_did_you_mean(hsc_arena_strndup(arena, text, name), names, RULE_COUNT);
    return near ? HSC_ERR(INVALID_ARGUMENT, "there is no rule '%.*s'; did you mean '%s'?",
                          (int)name, text, near)
                : HSC_ERR(INVALID_ARGUMENT, "there is no rule '%.*s'", (int)name, text);
  }
  out->kind = (rule_kind)kind;
  if (kinds[kind].unit == NONE)
    return text[name] ? HSC_ERR(INVALID_ARGUMENT, "the rule '%s' takes no value", kinds[kind].name)
                      : NULL;
  if (!*out->value)
    return HSC_ERR(INVALID_ARGUMENT, "the rule '%s' is written %s=VALUE", kinds[kind].name,
                   kinds[kind].name);
  if (kinds[kind].unit == BYTES)
    return parse_size(out->value, &out->limit);
  if (kinds[kind].unit == TEXT) {
    if (out->kind == RULE_SEVERITY && !hsc_severity_of_name(out->value, &out->severity))
      return HSC_ERR(INVALID_ARGUMENT, "severity is info, warning or error, not '%s'", out->value);
    return NULL;
  }
  char *end;
  out->limit = strtod(out->value, &end);
  if (end == out->value || *end || !(out->limit >= 0))
    return HSC_ERR(INVALID_ARGUMENT, "'%s' is no number", out->value);
  return NULL;
}

hsc_status *hsc_watch_create(const char *const *rules,
                             size_t rule_count,
                             void (*on_alert)(void *user, const hsc_alert *alert),
                             void *user,
                             hsc_watch **out_watch) {
  hsc_watch *w = hsc_alloc(sizeof *w);
  if (!w)
    return hsc_status_out_of_memory();
  *w = (hsc_watch){
      .rule_count = rule_count, .on_alert = on_alert, .user = user, .heard_ns = hsc_now_ns()};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&w->arena));
  HSC_GOTO(hsc_map_create(&w->seen));
  w->rules = HSC_NEW_ARRAY(w->arena, rule, rule_count + 1);
  if (!w->rules)
    HSC_GOTO(hsc_status_out_of_memory());
  for (size_t i = 0; i < rule_count; i++)
    HSC_GOTO(parse_rule(rules[i], w->arena, &w->rules[i]));
  *out_watch = w;
  return NULL;
done:
  hsc_watch_destroy(w);
  return status;
}

void hsc_watch_destroy(hsc_watch *w) {
  if (!w)
    return;
  hsc_map_destroy(w->seen);
  hsc_arena_destroy(w->arena);
  hsc_free(w);
}

uint64_t hsc_watch_alert_count(const hsc_watch *w) {
  return w->alerts;
}
const hsc_entry *hsc_watch_transient(const hsc_watch *w) {
  return w->worst && w->worst->transient ? w->worst : NULL;
}

static void raise_alert(hsc_watch *w, rule *r, hsc_alert alert) {
  if (r->alerts++ >= ALERTS_MAX)
    return;
  w->alerts++;
  alert.rule = r->text;
  if (!alert.module)
    alert.module = "";
  if (w->on_alert)
    w->on_alert(w->user, &alert);
}

// Whether this rule has spoken of `what` before; remembers it.
static bool told_before(hsc_watch *w, size_t rule_index, const char *what) {
  char *key = hsc_arena_printf(w->arena, "%zu %s", rule_index, what);
  bool added = false;
  if (!key)
    return true;
  hsc_status *status = hsc_map_add(w->seen, hsc_view_of(key), w, &added);
  if (status)
    hsc_status_free(status);
  return !added;
}

static const char *line_text(hsc_watch *w, hsc_view line) {
  while (line.size && isspace((unsigned char)line.data[0])) {
    line.data++;
    line.size--;
  }
  char *text = hsc_arena_strndup(w->arena, line.data, line.size < 300 ? line.size : 300);
  for (char *c = text; c && *c; c++)
    if ((unsigned char)*c < 32)
      *c = ' ';
  return text ? text : "";
}

static void compile_began(hsc_watch *w, const char *module) {
  if (w->open_count == OPEN_MAX)
    memmove(w->open, w->open + 1, --w->open_count * sizeof *w->open);
  w->open[w->open_count++] =
      (open_compile){hsc_arena_strdup(w->arena, module), hsc_now_ns(), false};
}

// The compilation that ended; without a name the last one that began.
static open_compile compile_ended(hsc_watch *w, const char *module) {
  open_compile found = {0};
  for (size_t i = w->open_count; i-- > 0;) {
    if (*module && strcmp(w->open[i].module, module) != 0)
      continue;
    found = w->open[i];
    memmove(w->open + i, w->open + i + 1, (--w->open_count - i) * sizeof *w->open);
    break;
  }
  return found;
}

static void too_long(hsc_watch *w, const char *module, double seconds, uint64_t line, bool still) {
  for (size_t i = 0; i < w->rule_count; i++) {
    rule *r = &w->rules[i];
    if (r->kind != RULE_COMPILE_OVER || !(seconds > r->limit) || told_before(w, i, module))
      continue;
    char text[200];
    snprintf(text, sizeof text,
             still ? "compiling %.100s takes %.1f s already" : "compiling %.100s took %.1f s",
             *module ? module : "a program", seconds);
    raise_alert(w, r, (hsc_alert){.text = text, .module = module, .line = line, .value = seconds});
  }
}

static void count_over(
    hsc_watch *w, rule_kind kind, uint64_t count, const char *what, uint64_t line) {
  for (size_t i = 0; i < w->rule_count; i++) {
    rule *r = &w->rules[i];
    if (r->kind != kind || r->passed || !((double)count > r->limit))
      continue;
    r->passed = true;
    char text[120];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)count, what);
    raise_alert(w, r, (hsc_alert){.text = text, .line = line, .value = (double)count});
  }
}

// Rules about a line itself; those about counts and durations are looked at where these are kept.
static bool fires(const rule *r, const hsc_entry *entry) {
  switch (r->kind) {
    case RULE_COMPILE_FAILED:
      return entry->event == HSC_EVENT_COMPILE_FAILED || entry->event == HSC_EVENT_CACHED_FAILURE;
    case RULE_CRASH:
      return entry->event == HSC_EVENT_CRASH;
    case RULE_SEVERITY:
      return entry->severity >= r->severity;
    case RULE_ENTRY:
      return !strcmp(entry->id, r->value);
    default:
      return false;
  }
}

void hsc_watch_on_line(void *user,
                       const hsc_entry *entry,
                       hsc_view line,
                       uint64_t line_number,
                       const hsc_log_module *module,
                       double seconds) {
  hsc_watch *w = user;
  const char *name = module ? module->name : "";
  if (entry->severity == HSC_SEVERITY_ERROR && (!w->worst || entry->rank > w->worst->rank))
    w->worst = entry;
  if (entry->event == HSC_EVENT_COMPILE_START)
    compile_began(w, name);
  if (entry->event == HSC_EVENT_COMPILE_DONE || entry->event == HSC_EVENT_COMPILE_FAILED) {
    open_compile ended = compile_ended(w, name);
    if (!*name && ended.module)
      name = ended.module;
    if (seconds >= 0)
      too_long(w, name, seconds, line_number, false);
  }
  // A log may tell of beginnings, of ends, or of both.
  w->started += entry->event == HSC_EVENT_COMPILE_START;
  w->ended += entry->event == HSC_EVENT_COMPILE_DONE || entry->event == HSC_EVENT_COMPILE_FAILED;
  count_over(w, RULE_COMPILES_OVER, w->started > w->ended ? w->started : w->ended, "compilations",
             line_number);
  if (entry->event == HSC_EVENT_RECOMPILE)
    count_over(w, RULE_RECOMPILES_OVER, ++w->recompiles, "recompilations", line_number);
  if (entry->event == HSC_EVENT_CACHE_MISS)
    count_over(w, RULE_MISSES_OVER, ++w->misses, "cache misses", line_number);
  for (size_t i = 0; i < w->rule_count; i++) {
    rule *r = &w->rules[i];
    if (!fires(r, entry))
      continue;
    const char *what = entry->by_text ? line_text(w, line) : entry->id;
    if (r->kind == RULE_COMPILE_FAILED && *name)
      what = name;
    if (told_before(w, i, what))
      continue;
    raise_alert(w, r,
                (hsc_alert){.text = line_text(w, line),
                            .entry = entry,
                            .module = name,
                            .line = line_number,
                            .value = NAN});
  }
}

void hsc_watch_heard(hsc_watch *w, int64_t now_ns) {
  w->heard_ns = now_ns;
  for (size_t i = 0; i < w->rule_count; i++)
    if (w->rules[i].kind == RULE_SILENT_OVER)
      w->rules[i].passed = false;
}

void hsc_watch_tick(hsc_watch *w, int64_t now_ns, int64_t memory_bytes) {
  for (size_t i = 0; i < w->open_count; i++)
    too_long(w, w->open[i].module, (double)(now_ns - w->open[i].begin_ns) / 1e9, 0, true);
  for (size_t i = 0; i < w->rule_count; i++) {
    rule *r = &w->rules[i];
    double silent = (double)(now_ns - w->heard_ns) / 1e9;
    char text[120];
    if (r->passed)
      continue;
    if (r->kind == RULE_MEMORY_OVER && (double)memory_bytes > r->limit) {
      r->passed = true;
      snprintf(text, sizeof text, "the command holds %.1f MiB", (double)memory_bytes / (1 << 20));
      raise_alert(w, r, (hsc_alert){.text = text, .value = (double)memory_bytes});
    } else if (r->kind == RULE_SILENT_OVER && silent > r->limit) {
      r->passed = true;
      snprintf(text, sizeof text, "nothing was printed for %.1f s", silent);
      raise_alert(w, r, (hsc_alert){.text = text, .value = silent});
    }
  }
}

void hsc_watch_signal(hsc_watch *w, int signal_number) {
  for (size_t i = 0; i < w->rule_count; i++) {
    if (w->rules[i].kind != RULE_CRASH)
      continue;
    char text[120];
    snprintf(text, sizeof text, "the command was ended by signal %d (%s)", signal_number,
             strsignal(signal_number));
    raise_alert(w, &w->rules[i], (hsc_alert){.text = text, .value = signal_number});
  }
}

void hsc_alert_json(const hsc_alert *alert, const char *job, hsc_json *json) {
  hsc_json_begin_object(json);
  hsc_json_kv_double(json, "time", (double)(hsc_wall_ns() / 1000000) / 1e3);
  hsc_json_kv_string(json, "job", job);
  hsc_json_kv_string(json, "rule", alert->rule);
  hsc_json_kv_string(json, "text", alert->text);
  hsc_json_kv_string(json, "entry", alert->entry ? alert->entry->id : NULL);
  hsc_json_kv_string(json, "severity",
                     alert->entry ? hsc_severity_name(alert->entry->severity) : NULL);
  hsc_json_kv_string(json, "module", *alert->module ? alert->module : NULL);
  hsc_json_key(json, "line");
  if (alert->line)
    hsc_json_int(json, (int64_t)alert->line);
  else
    hsc_json_null(json);
  hsc_json_kv_double(json, "value", alert->value);
  hsc_json_kv_string(json, "workaround",
                     alert->entry && *alert->entry->workaround ? alert->entry->workaround : NULL);
  hsc_json_end_object(json);
}

static void metric(hsc_bytes *out,
                   const char *name,
                   const char *type,
                   const char *help,
                   const char *job,
                   double value) {
  char number[32];
  int length = hsc_format_double(value, number);
  hsc_bytes_printf(out, "# HELP hloscope_%s %s\n# TYPE hloscope_%s %s\nhloscope_%s{job=\"", name,
                   help, name, type, name);
  for (; *job; job++) {
    if (*job == '"' || *job == '\\')
      hsc_bytes_append_char(out, '\\');
    if (*job != '\n')
      hsc_bytes_append_char(out, *job);
  }
  hsc_bytes_printf(out, "\"} %.*s\n", length, number);
}

void hsc_watch_prometheus(const hsc_watch *w,
                          const hsc_log_report *report,
                          const char *job,
                          int64_t memory_bytes,
                          hsc_bytes *out) {
  static const struct {
    hsc_event event;
    const char *name, *help;
  } counters[] = {
      {HSC_EVENT_COMPILE_START, "compiles_started_total", "Compilations that began."},
      {HSC_EVENT_COMPILE_DONE, "compiles_done_total", "Compilations that ended well."},
      {HSC_EVENT_COMPILE_FAILED, "compiles_failed_total", "Compilations that failed."},
      {HSC_EVENT_CACHE_HIT, "cache_hits_total", "Compiled programs found in a cache."},
      {HSC_EVENT_CACHE_MISS, "cache_misses_total", "Compiled programs not found in a cache."},
      {HSC_EVENT_RECOMPILE, "recompiles_total", "Functions traced and compiled again."},
      {HSC_EVENT_OUT_OF_MEMORY, "out_of_memory_total", "Messages that memory ran out."},
      {HSC_EVENT_CRASH, "crashes_total", "Messages of crashes."}};
  for (size_t i = 0; i < HSC_COUNT_OF(counters); i++)
    metric(out, counters[i].name, "counter", counters[i].help, job,
           (double)report->events[counters[i].event]);
  metric(out, "alerts_total", "counter", "Alerts that were raised.", job, (double)w->alerts);
  metric(out, "compiles_open", "gauge", "Compilations under way.", job, (double)w->open_count);
  metric(out, "memory_bytes", "gauge", "Memory of the command and what it started.", job,
         (double)memory_bytes);
}
