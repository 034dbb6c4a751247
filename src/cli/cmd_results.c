// cmd_results.c - hloscope results: what the store holds.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/command.h"

#include <math.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "lab/run/json_tree.h"
#include "lab/patterns/patterns.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"
#include "lab/store/store.h"

typedef struct results_args {
  int verb;
  hsc_list ids;
  const char *store;
  int64_t limit;
  bool samples;
} results_args;

enum { VERB_LIST, VERB_SHOW, VERB_COMPARE };
static const char *const verbs[] = {"list", "show", "compare", NULL};
static const hsc_option options[] = {
    HSC_POSITIONAL_CHOICE(
        results_args,
        verb,
        "VERB",
        verbs,
        HSC_OPTIONAL,
        VERB_LIST,
        "list: all experiments; show ID: one; compare ID ID: the second against the first"),
    HSC_POSITIONAL_REST(results_args, ids, "ID", HSC_OPTIONAL, "numbers of experiments"),
    HSC_OPTION_STRING(results_args,
                      store,
                      "store",
                      "FILE",
                      NULL,
                      "the result store; default: results.sqlite in the cache directory"),
    HSC_OPTION_INT(results_args,
                   limit,
                   "limit",
                   "N",
                   20,
                   "at most N experiments, newest first; 0: all",
                   .verbs = "list"),
    HSC_OPTION_FLAG(results_args,
                    samples,
                    "samples",
                    "every raw sample instead of the report",
                    .verbs = "show"),
    HSC_OPTION_END,
};

static hsc_status *read_id(hsc_cli *cli, const char *text, int64_t *out_id) {
  char *end;
  errno = 0;
  *out_id = strtoll(text, &end, 10);
  if (*text && !*end && !errno && *out_id > 0)
    return NULL;
  return hsc_cli_usage(cli, "'%s' is not the number of an experiment", text);
}

static const char *time_text(int64_t wall_ns, char out[32]) {
  time_t seconds = (time_t)(wall_ns / 1000000000);
  struct tm local;
  localtime_r(&seconds, &local);
  strftime(out, 32, "%Y-%m-%d %H:%M:%S", &local);
  return out;
}

// ---- list ---------------------------------------------------------------------------------------

static hsc_status *list(const results_args *args, hsc_cli *cli, hsc_store *store) {
  hsc_experiment_list found = {0};
  hsc_table *table = NULL;
  HSC_TRY(hsc_store_list(store, (size_t)args->limit, &found));
  hsc_status *status = hsc_table_create("results", &table);
  if (!status) {
    static const char *const columns[][2] = {{"id", ""},     {"started", ""}, {"kind", ""},
                                             {"device", ""}, {"subject", ""}, {"status", ""},
                                             {"took", "s"},  {"tasks", ""},   {"samples", ""}};
    for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
      hsc_table_column(table, columns[i][0], columns[i][1]);
    for (size_t i = 0; i < found.count; i++) {
      const hsc_experiment *e = &found.items[i];
      char started[32];
      hsc_table_row(table);
      hsc_table_int(table, e->id);
      hsc_table_text(table, time_text(e->started_ns, started));
      hsc_table_text(table, e->kind);
      hsc_table_text(table, e->device);
      hsc_table_text(table, e->subject);
      hsc_table_text(table, e->status);
      if (e->finished_ns)
        hsc_table_double(table, (double)(e->finished_ns - e->started_ns) / 1e9);
      else
        hsc_table_missing(table);
      hsc_table_int(table, e->task_count);
      hsc_table_int(table, e->sample_count);
    }
    hsc_table_note(table, "%s", hsc_store_path(store));
    status = hsc_cli_table(cli, table);
  }
  hsc_experiment_list_deinit(&found);
  return status;
}

// ---- show ---------------------------------------------------------------------------------------

static hsc_status *print_json(hsc_cli *cli, const json_t *tree) {
  hsc_bytes text = {0};
  hsc_json json;
  hsc_json_init(&json, &text, 1);
  hsc_json_tree(&json, tree);
  hsc_cli_print(cli, "%s\n", hsc_bytes_text(&text));
  hsc_status *status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  return status;
}

static json_t *experiment_json(const hsc_experiment *e) {
  return json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:I, s:I, s:O?, s:O?, s:O?}",
                   "id", (json_int_t)e->id, "kind", e->kind, "command", e->command, "device",
                   e->device, "subject", e->subject, "status", e->status, "seed",
                   (json_int_t)e->seed, "started_ns", (json_int_t)e->started_ns, "finished_ns",
                   e->finished_ns ? json_integer((json_int_t)e->finished_ns) : json_null(),
                   "task_count", (json_int_t)e->task_count, "sample_count",
                   (json_int_t)e->sample_count, "configuration", e->configuration, "environment",
                   e->environment, "result", e->result);
}

// "vmap_small/trial/3" -> "vmap_small", "cpu/series" and "cpu/process/2" -> "cpu"; other keys stay
// whole.
static const char *group_of(hsc_arena *arena, const char *key) {
  const char *mark = strstr(key, "/trial/");
  if (!mark)
    mark = strstr(key, "/process/");
  if (!mark && hsc_ends_with(key, "/series"))
    mark = key + strlen(key) - strlen("/series");
  return mark ? hsc_arena_strndup(arena, key, (size_t)(mark - key)) : hsc_arena_strdup(arena, key);
}

static hsc_status *show_samples(hsc_cli *cli, hsc_store *store, const hsc_experiment *e) {
  json_t *tasks = NULL;
  json_t *task;
  json_t *values;
  json_t *value;
  hsc_table *table = NULL;
  HSC_TRY(hsc_store_tasks(store, e->id, &tasks));
  hsc_status *status = NULL;
  if (cli->format == HSC_FORMAT_JSON) {
    json_t *document = experiment_json(e);
    json_object_del(document, "result");
    json_object_set(document, "tasks", tasks);
    status = print_json(cli, document);
    json_decref(document);
  } else if (!(status = hsc_table_create("samples", &table))) {
    static const char *const columns[] = {"task", "status", "series", "position", "value", "what"};
    for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
      hsc_table_column(table, columns[i], "");
    size_t t, i;
    json_array_foreach (tasks, t, task) {
      const char *name;
      const char *key = json_string_value(json_object_get(task, "key"));
      const char *group = group_of(cli->arena, key);
      json_object_foreach (hsc_json_path(task, "answer", "series", NULL), name, values) {
        const char *what = hsc_arena_printf(cli->arena, "%s/%s", group, name);
        json_array_foreach (values, i, value) {
          hsc_table_row(table);
          hsc_table_text(table, key);
          hsc_table_text(table, json_string_value(json_object_get(task, "status")));
          hsc_table_text(table, name);
          hsc_table_int(table, (int64_t)i);
          hsc_table_double(table, json_number_value(value));
          hsc_table_text(table, what);
        }
      }
    }
    if (!(status = hsc_arena_status(cli->arena)))
      status = hsc_cli_table(cli, table);
  }
  json_decref(tasks);
  return status;
}

// The times of an experiment's tasks: one row for each series of times.
static hsc_status *show_times(hsc_cli *cli, const json_t *tasks) {
  hsc_table *table = NULL;
  HSC_TRY(hsc_table_create("times", &table));
  static const char *const columns[][2] = {{"task", ""},    {"series", ""}, {"n", ""},
                                           {"median", "s"}, {"min", "s"},   {"max", "s"}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  json_t *task;
  size_t t;
  json_array_foreach (tasks, t, task) {
    const char *name;
    json_t *values;
    json_object_foreach (hsc_json_path(task, "answer", "series", NULL), name, values) {
      size_t n = 0;
      size_t length = strlen(name);
      if (length < 4 || strcmp(name + length - 3, "_ns") != 0)
        continue;
      double *x = hsc_json_doubles(values, &n);
      if (n) {
        hsc_table_row(table);
        hsc_table_text(table, json_string_value(json_object_get(task, "key")));
        hsc_table_printf(table, "%.*s", (int)length - 3, name);
        hsc_table_int(table, (int64_t)n);
        const double cells[] = {hsc_stats_median(x, n), hsc_stats_min(x, n), hsc_stats_max(x, n)};
        for (size_t i = 0; i < HSC_COUNT_OF(cells); i++)
          hsc_table_double(table, cells[i] / 1e9);
      }
      hsc_free(x);
    }
  }
  if (!hsc_table_row_count(table)) {
    hsc_table_destroy(table);
    return NULL;
  }
  hsc_cli_print(cli, "\n");
  return hsc_cli_table(cli, table);
}

static hsc_status *show_tasks(hsc_cli *cli, hsc_store *store, const hsc_experiment *e) {
  json_t *tasks = NULL;
  json_t *task;
  hsc_table *table = NULL;
  HSC_TRY(hsc_store_tasks(store, e->id, &tasks));
  hsc_status *status = hsc_table_create("tasks", &table);
  if (!status) {
    hsc_table_column(table, "task", "");
    hsc_table_column(table, "status", "");
    hsc_table_column(table, "message", "");
    size_t i;
    json_array_foreach (tasks, i, task) {
      hsc_table_row(table);
      hsc_table_text(table, json_string_value(json_object_get(task, "key")));
      hsc_table_text(table, json_string_value(json_object_get(task, "status")));
      hsc_table_text(table, json_string_value(json_object_get(task, "message")));
    }
    status = hsc_cli_table(cli, table);
  }
  if (!status && cli->format == HSC_FORMAT_TEXT)
    status = show_times(cli, tasks);
  json_decref(tasks);
  return status;
}

static hsc_status *show(const results_args *args, hsc_cli *cli, hsc_store *store) {
  hsc_experiment_list found = {0};
  int64_t id;
  if (args->ids.count != 1)
    return hsc_cli_usage(cli, "show needs the number of one experiment");
  HSC_TRY(read_id(cli, args->ids.items[0], &id));
  hsc_status *status = hsc_store_get(store, id, &found);
  const hsc_experiment *e = found.items;
  if (!status && args->samples) {
    status = show_samples(cli, store, e);
  } else if (!status && cli->format == HSC_FORMAT_JSON) {
    json_t *document = experiment_json(e);
    status = print_json(cli, document);
    json_decref(document);
  } else if (!status) {
    char started[32];
    hsc_cli_paragraph(cli, "experiment %lld  %s  %s  %s on %s  (%s)\n", (long long)e->id,
                      time_text(e->started_ns, started), e->status, e->kind, e->device, e->command);
    hsc_bytes text = {0};
    if (e->result && !strcmp(e->kind, "patterns")) {
      status = hsc_patterns_text(e->result, &cli->out_style, &text);
      if (!status)
        hsc_cli_put(cli, &text);
    } else {
      status = show_tasks(cli, store, e);
    }
    hsc_bytes_deinit(&text);
  }
  hsc_experiment_list_deinit(&found);
  return status;
}

// ---- compare ------------------------------------------------------------------------------------

typedef struct series_group {
  const char *name;
  double *values;  // a median a task
  size_t count, capacity;
} series_group;
typedef struct series_groups {
  series_group *items;
  size_t count;
} series_groups;

// The run times of an experiment, by what was run.
static hsc_status *read_groups(hsc_store *store, int64_t id, hsc_arena *arena, series_groups *out) {
  json_t *tasks = NULL;
  json_t *task;
  size_t t;
  HSC_TRY(hsc_store_tasks(store, id, &tasks));
  out->items = HSC_NEW_ARRAY(arena, series_group, json_array_size(tasks) + 1);
  hsc_status *status = hsc_arena_status(arena);
  json_array_foreach (tasks, t, task) {
    size_t n;
    size_t g = 0;
    double *runs = hsc_json_doubles(hsc_json_path(task, "answer", "series", "run_ns", NULL), &n);
    const char *name = group_of(arena, json_string_value(json_object_get(task, "key")));
    if (n == 0 || status) {
      hsc_free(runs);
      continue;
    }
    while (g < out->count && strcmp(out->items[g].name, name) != 0)
      g++;
    series_group *group = &out->items[g];
    if (g == out->count) {
      out->count++;
      *group = (series_group){.name = name, .capacity = json_array_size(tasks)};
      group->values = HSC_NEW_ARRAY(arena, double, group->capacity);
      status = hsc_arena_status(arena);
    }
    if (!status && group->count < group->capacity)
      group->values[group->count++] = hsc_stats_median(runs, n);
    hsc_free(runs);
  }
  json_decref(tasks);
  return status;
}

// "run of model.hlo on cpu, done": two experiments may be of anything. Errors: NOT_FOUND.
static hsc_status *describe(hsc_store *store, int64_t id, hsc_arena *arena, const char **out_text) {
  hsc_experiment_list found = {0};
  hsc_status *status = hsc_store_get(store, id, &found);
  if (!status) {
    const hsc_experiment *e = &found.items[0];
    *out_text =
        hsc_arena_printf(arena, "%s of %s on %s, %s", e->kind, e->subject, e->device, e->status);
    status = hsc_arena_status(arena);
  }
  hsc_experiment_list_deinit(&found);
  return status;
}

static hsc_status *compare(const results_args *args, hsc_cli *cli, hsc_store *store) {
  int64_t ids[2];
  series_groups groups[2] = {{0}};
  hsc_table *table = NULL;
  if (args->ids.count != 2)
    return hsc_cli_usage(cli, "compare needs the numbers of two experiments");
  const char *names[2];
  for (int i = 0; i < 2; i++) {
    HSC_TRY(read_id(cli, args->ids.items[i], &ids[i]));
    HSC_TRY(describe(store, ids[i], cli->arena, &names[i]));  // NOT_FOUND in words
    HSC_TRY(read_groups(store, ids[i], cli->arena, &groups[i]));
  }
  if (ids[0] == ids[1])
    return hsc_cli_usage(cli, "compare needs two experiments; %lld is one", (long long)ids[0]);
  HSC_TRY(hsc_table_create("compare", &table));
  static const char *const columns[][2] = {
      {"what", ""}, {"first", "s"}, {"second", "s"}, {"ratio", "ratio"}, {"second is", ""}};
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  size_t both = 0;
  for (size_t g = 0; g < groups[1].count; g++) {
    const series_group *b = &groups[1].items[g];
    const series_group *a = NULL;
    for (size_t k = 0; k < groups[0].count && !a; k++)
      if (!strcmp(groups[0].items[k].name, b->name))
        a = &groups[0].items[k];
    if (!a)
      continue;
    both++;
    double first = hsc_stats_median(a->values, a->count) / 1e9;
    double second = hsc_stats_median(b->values, b->count) / 1e9;
    hsc_table_row(table);
    hsc_table_text(table, b->name);
    hsc_table_double(table, first);
    hsc_table_double(table, second);
    hsc_table_double(table, second / first);
    hsc_table_text(table, "cannot tell: measured one after the other");
  }
  hsc_table_note(
      table,
      "what the machine did between the two experiments cannot be distinguished from what "
      "differs between them, however many runs each has; measured in turn: hloscope run "
      "-d A,B --processes=6 (two devices), hloscope gate --against (two versions), "
      "hloscope.compare in Python (two programs)");
  for (int i = 0; i < 2; i++)
    if (groups[i].count > both)
      hsc_table_note(table, "%zu series %s in experiment %lld only", groups[i].count - both,
                     groups[i].count - both == 1 ? "is" : "are", (long long)ids[i]);
  if (both) {
    hsc_table_note(table, "first: %s; second: %s", names[0], names[1]);
    return hsc_cli_table(cli, table);
  }
  hsc_table_destroy(table);
  return HSC_ERR(FAILED_PRECONDITION,
                 "no time is in both: experiment %lld (%s) has %zu series of runs, experiment %lld "
                 "(%s) %zu, and none of one name",
                 (long long)ids[0], names[0], groups[0].count, (long long)ids[1], names[1],
                 groups[1].count);
}

static hsc_status *run(const void *args_of_command, hsc_cli *cli) {
  const results_args *args = args_of_command;
  hsc_store *store = NULL;
  if (args->verb == VERB_LIST && args->ids.count)
    return hsc_cli_usage(cli, "list takes no numbers; hloscope results show %s shows one",
                         args->ids.items[0]);
  if (args->store && !hsc_file_exists(args->store))
    return HSC_ERR(NOT_FOUND, "%s: no such result store", args->store);
  HSC_TRY(hsc_store_open(args->store, &store));
  hsc_status *status;
  if (args->verb == VERB_SHOW)
    status = show(args, cli, store);
  else if (args->verb == VERB_COMPARE)
    status = compare(args, cli, store);
  else
    status = list(args, cli, store);
  hsc_store_close(store);
  return status;
}

const hsc_command_body hsc_command_results = {
    .options = options,
    .args_bytes = sizeof(results_args),
    .run = run,
    .description =
        "Every experiment is stored with its machine and every raw sample, in one SQLite file. Any "
        "tool that reads SQLite can query it; docs/formats/results.md describes the tables.",
    .examples =
        "hloscope results\nhloscope results show 3\nhloscope results show 3 --samples "
        "--format=csv\nhloscope results "
        "compare 2 3",
};
