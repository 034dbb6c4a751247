// report_files.c - what each file is, and what of it goes into the page.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/report_files.h"

#include <jansson.h>
#include <stdlib.h>

#include "cli/profile_peaks.h"
#include "cli/profile_short.h"
#include "cli/report_lead.h"
#include "cli/report_sums.h"
#include "cli/trace_short.h"
#include "lab/run/samples.h"
#include "lab/run/stats_document.h"
#include "report/hlo_stages.h"
#include "views/dataset.h"
#include "views/timeline_page.h"
#include "views/views.h"

// What a document is, by the keys that its schema demands; the first row that fits.
static const struct {
  const char *kind, *keys[3];  // all must be there
} kinds[] = {
    {"patterns", {"patterns", "compilation_dominance", NULL}},
    {"passes_ablate", {"variants", "baseline", NULL}},
    {"passes_list", {"pipelines", "totals", NULL}},
    {"passes_validate", {"stages", "runner", "verdict"}},
    {"passes_time", {"front_end", "phases", NULL}},
    {"stats", {"series", "comparisons", "settings"}},
    {"passes_diff", {"from", "to", "instructions"}},
    {"run", {"devices", "inputs_seed", NULL}},
    {"explain", {"findings", "next", NULL}},
    {"doctor", {"checks", NULL}},
};

static const char *kind_of(const json_t *document) {
  for (size_t i = 0; i < HSC_COUNT_OF(kinds); i++) {
    bool fits = true;
    for (int k = 0; k < 3 && kinds[i].keys[k]; k++)
      fits = fits && json_object_get(document, kinds[i].keys[k]);
    if (fits)
      return kinds[i].kind;
  }
  return "other";
}

// The command that makes such a document again, as far as the document tells.
static const char *command_of(hsc_cli *cli, const char *kind, const json_t *document) {
  const json_t *configuration = json_object_get(document, "configuration");
  const char *program = json_string_value(json_object_get(document, "program"));
  const char *device = json_string_value(json_object_get(document, "device"));
  if (!device)
    device = json_string_value(json_object_get(configuration, "device"));
  if (!program)
    program = json_string_value(json_object_get(configuration, "program"));
  const char *of = program ? program : "";
  const char *typed = json_string_value(json_object_get(document, "command"));
  // as it was typed; below what documents without it tell
  if (typed && hsc_starts_with(typed, "hloscope "))
    return hsc_arena_strdup(cli->arena, typed);
  if (!strcmp(kind, "patterns"))
    return hsc_arena_printf(
        cli->arena, "hloscope patterns %s%s--device %s --warmup %lld --trials %lld --output p.json",
        of, *of ? " " : "", device ? device : "cpu",
        (long long)json_integer_value(json_object_get(configuration, "warmup_iterations")),
        (long long)json_integer_value(json_object_get(configuration, "measurement_trials")));
  if (!strcmp(kind, "passes_ablate"))
    return hsc_arena_printf(cli->arena, "hloscope passes ablate %s --device %s --format=json", of,
                            device ? device : "cpu");
  if (!strcmp(kind, "passes_list"))
    return hsc_arena_printf(cli->arena, "hloscope passes list %s --device %s --format=json", of,
                            device ? device : "cpu");
  if (!strcmp(kind, "passes_time") || !strcmp(kind, "passes_validate"))
    return hsc_arena_printf(cli->arena, "hloscope passes %s %s --device %s --format=json", kind + 7,
                            of, device ? device : "cpu");
  if (!strcmp(kind, "run")) {
    const char *list = "";
    size_t i;
    json_t *row;
    json_array_foreach (json_object_get(document, "devices"), i, row)
      list = hsc_arena_printf(cli->arena, "%s%s%s", list, i ? "," : "",
                              json_string_value(json_object_get(row, "device")));
    return hsc_arena_printf(cli->arena, "hloscope run %s --device %s --format=json", of, list);
  }
  return "";
}

void hsc_report_add_document(
    hsc_page *page, const char *label, const json_t *document, hsc_view text, hsc_cli *cli) {
  const char *kind = kind_of(document);
  hsc_page_lead lead = {0};
  hsc_report_lead(kind, document, &lead);
  hsc_report_sums(kind, document, &lead.sums);
  hsc_page_part(page, kind, label, command_of(cli, kind, document), &lead, text);
  if (lead.sentence.failed || lead.next.failed || lead.sums.failed)
    page->out->failed = true;
  hsc_lead_deinit(&lead);
}

static hsc_status *add_document(hsc_page *page, const char *path, hsc_view text, hsc_cli *cli) {
  json_error_t error;
  text = hsc_text_after_mark(text);
  json_t *document = json_loadb(text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
  if (!document) {
    hsc_status *status = hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "this is no JSON: %s", error.text),
                                       path, error.line, error.column, NULL);
    return hsc_status_hint(
        status,
        "report takes what hloscope writes with --format=json or --output, captures, and profiles");
  }
  const char *program = json_string_value(json_object_get(document, "program"));
  const char *label = program ? hsc_arena_printf(cli->arena, "%s: %s", hsc_report_base_name(path),
                                                 hsc_report_base_name(program))
                              : hsc_report_base_name(path);
  hsc_report_add_document(page, label, document, text, cli);
  json_decref(document);
  return NULL;
}

// {"timeline": ..., "tables": [...]}: what captures and profiles have in common on the page.
typedef struct recording {
  hsc_status *(*timeline)(const void *source, bool all, hsc_bytes *out_json);
  // NULL table: left out
  hsc_status *(*table)(void *source, int view, int64_t limit, hsc_table **out_table);
  int view_count;
  hsc_status *(*lead)(void *source, const char *path, hsc_page_lead *out_lead);
} recording;

static hsc_status *capture_timeline(const void *source, bool all, hsc_bytes *out) {
  (void)all;  // nothing is left out of a capture
  return hsc_timeline_of_capture(source, out);
}
static hsc_status *profile_timeline(const void *source, bool all, hsc_bytes *out) {
  return hsc_timeline_of_profile(source, all, out);
}

static hsc_status *capture_table(void *source, int view, int64_t limit, hsc_table **out_table) {
  if (view == HSC_VIEW_events)
    return NULL;  // the timeline has them
  return hsc_view_table(source, (hsc_view_id)view, &(hsc_view_options){.limit = limit}, out_table);
}

static hsc_status *profile_table(void *source, int view, int64_t limit, hsc_table **out_table) {
  hsc_profile_options view_options = {.limit = limit,
                                      .open_fusions = view == HSC_PROFILE_VIEW_hlo_operators};
  return hsc_profile_table(source, (hsc_profile_view_id)view, &view_options, out_table);
}

static hsc_status *capture_lead(void *source, const char *path, hsc_page_lead *out_lead) {
  return hsc_cli_trace_lead(source, path, out_lead);
}
static hsc_status *profile_lead(void *source, const char *path, hsc_page_lead *out_lead) {
  return hsc_cli_profile_lead(source, path, out_lead);
}

static const recording captures = {capture_timeline, capture_table, HSC_VIEW_COUNT, capture_lead};
static const recording profiles = {profile_timeline, profile_table, HSC_PROFILE_VIEW_COUNT,
                                   profile_lead};

static hsc_status *add_recording(hsc_page *page,
                                 const recording *r,
                                 void *source,
                                 const char *kind,
                                 const char *path,
                                 const char *command,
                                 const hsc_report_options *o) {
  hsc_bytes text = {0};
  hsc_json json;
  hsc_bytes_append_text(&text, "{\"timeline\":");
  hsc_status *status =
      o->first_piece ? o->first_piece(o->user, path, &text) : r->timeline(source, o->all, &text);
  hsc_bytes_append_text(&text, ",\"tables\":");
  hsc_json_init(&json, &text, 0);
  hsc_json_begin_array(&json);
  for (int v = 0; v < r->view_count && !status; v++) {
    hsc_table *table = NULL;
    status = r->table(source, v, o->limit, &table);
    if (!status && table && hsc_table_row_count(table))
      hsc_table_json(table, &json);
    hsc_table_destroy(table);
  }
  hsc_json_end_array(&json);
  hsc_bytes_append_char(&text, '}');
  hsc_page_lead lead = {0};
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status)
    status = r->lead(source, path, &lead);
  if (!status)
    hsc_page_part(page, kind, hsc_report_base_name(path), command, &lead, hsc_bytes_view(&text));
  hsc_lead_deinit(&lead);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *add_capture(hsc_page *page,
                               const char *path,
                               const hsc_report_options *o,
                               hsc_cli *cli) {
  hsc_capture *capture = NULL;
  HSC_TRY(hsc_capture_open(path, &capture));
  hsc_status *status =
      add_recording(page, &captures, capture, "capture", path,
                    hsc_arena_printf(cli->arena, "hloscope tables %s summary", path), o);
  hsc_capture_close(capture);
  return status;
}

static hsc_status *add_profile(hsc_page *page,
                               const char *path,
                               const hsc_report_options *o,
                               hsc_cli *cli) {
  hsc_profile *profile = NULL;
  HSC_TRY(hsc_profile_open(path, &profile));
  hsc_cli_profile_peaks(profile);
  hsc_status *status =
      add_recording(page, &profiles, profile, "profile", path,
                    hsc_arena_printf(cli->arena, "hloscope tables %s hlo-operators", path), o);
  hsc_profile_close(profile);
  return status;
}

// A folder of exported captures: its tables, a part each.
static hsc_status *add_dataset(hsc_page *page,
                               const char *path,
                               const hsc_report_options *o,
                               hsc_cli *cli) {
  for (int v = 0; v < HSC_DATASET_VIEWS; v++) {
    const char *name = hsc_dataset_view_name((hsc_dataset_view)v);
    hsc_table *table = NULL;
    hsc_bytes text = {0};
    hsc_json json;
    HSC_TRY(hsc_dataset_table(path, (hsc_dataset_view)v, (size_t)o->limit, &table));
    hsc_json_init(&json, &text, 0);
    hsc_table_json(table, &json);
    hsc_table_destroy(table);
    hsc_status *status = hsc_bytes_status(&text);
    if (!status)
      hsc_page_part(page, "table",
                    hsc_arena_printf(cli->arena, "%s: %s", hsc_report_base_name(path), name),
                    hsc_arena_printf(cli->arena, "hloscope tables %s %s", path, name), NULL,
                    hsc_bytes_view(&text));
    hsc_bytes_deinit(&text);
    HSC_TRY(status);
  }
  return NULL;
}

typedef struct stage_pages {
  hsc_page *page;
  const char *path;
  hsc_cli *cli;
} stage_pages;

void hsc_report_add_stages(hsc_page *page,
                           const char *label,
                           const char *command,
                           const hsc_hlo_stages *stages,
                           const char *next,
                           hsc_view json) {
  hsc_page_lead lead = {0};
  hsc_report_lead_of_stages(stages, &lead);
  hsc_bytes_append_text(&lead.next, next);
  hsc_page_part(page, "hlo_stages", label, command, &lead, json);
  hsc_lead_deinit(&lead);
}

static hsc_status *add_stages(void *user, const hsc_hlo_stages *stages, hsc_view json) {
  stage_pages *to = user;
  hsc_report_add_stages(
      to->page,
      hsc_arena_printf(to->cli->arena, "%s: %s, stage by stage", hsc_report_base_name(to->path),
                       stages->module),
      hsc_arena_printf(to->cli->arena,
                       "hloscope passes dump PROGRAM --output %s && hloscope report %s", to->path,
                       to->path),
      stages, "Click an instruction to follow it through the stages, back to its line of source.",
      json);
  return NULL;
}

static hsc_status *add_dumps(hsc_page *page, const char *path, hsc_cli *cli) {
  size_t left_out = 0;
  HSC_TRY(hsc_hlo_stages_read(path, add_stages, &(stage_pages){page, path, cli}, &left_out));
  if (left_out)
    hsc_cli_say(cli,
                "%s: %zu more modules are not in the page, which takes the 8 with the most stages",
                path, left_out);
  return NULL;
}

// Several files with samples are compared, as `hloscope stats` does, before the parts of each.
static hsc_status *add_comparison(hsc_page *page, const hsc_list *files, hsc_cli *cli) {
  hsc_samples *samples = NULL;
  json_t *document = NULL;
  hsc_bytes command = {0};
  size_t with_samples = 0;
  HSC_TRY(hsc_samples_create(&samples));
  hsc_bytes_append_text(&command, "hloscope stats");
  for (size_t i = 0; i < files->count; i++) {
    if (!hsc_ends_with(files->items[i], ".json"))
      continue;
    size_t before = hsc_samples_count(samples);
    // what is wrong with a file is said where it is drawn
    hsc_status_free(hsc_samples_read(samples, files->items[i], &(hsc_samples_options){0}));
    with_samples += hsc_samples_count(samples) > before;
    if (hsc_samples_count(samples) > before)
      hsc_bytes_printf(&command, " %s", files->items[i]);
  }
  hsc_status *status = NULL;
  if (with_samples > 1)
    status = hsc_stats_document(samples, &(hsc_stats_options){.seed = 1, .resample_count = 2000},
                                &document);
  if (!status && json_array_size(json_object_get(document, "comparisons"))) {
    char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(9));
    hsc_page_lead lead = {0};
    hsc_report_lead("stats", document, &lead);
    if (text)
      hsc_page_part(page, "stats", "Comparison", hsc_bytes_text(&command), &lead,
                    hsc_view_of(text));
    else
      status = hsc_status_out_of_memory();
    hsc_lead_deinit(&lead);
    free(text);
  }
  json_decref(document);
  hsc_bytes_deinit(&command);
  hsc_samples_destroy(samples);
  return status;
}

static bool looks_like_json(hsc_view text) {
  size_t i = 0;
  while (i < text.size && strchr(" \t\r\n", text.data[i]))
    i++;
  return i < text.size && (text.data[i] == '{' || text.data[i] == '[');
}

static bool names_json(const char *path) {
  return !strcmp(path, "-") || hsc_ends_with(path, ".json") || hsc_ends_with(path, ".json.gz") ||
         hsc_ends_with(path, ".json.zst");
}

hsc_status *hsc_report_add_file(hsc_page *page,
                                const char *path,
                                const hsc_report_options *o,
                                hsc_cli *cli) {
  if (names_json(path)) {
    hsc_bytes text = {0};
    hsc_status *status = hsc_file_read_unpacked(path, INT32_MAX, &text);
    if (!status)
      status = add_document(page, path, hsc_bytes_view(&text), cli);
    hsc_bytes_deinit(&text);
    return status;
  }
  if (hsc_hlo_stages_is_at(path))
    return add_dumps(page, path, cli);
  if (hsc_dataset_is_at(path))
    return add_dataset(page, path, o, cli);
  if (hsc_xspace_is_at(path))
    return add_profile(page, path, o, cli);
  if (!hsc_ends_with(path, ".ring") && !hsc_ends_with(path, ".hsc") && hsc_file_exists(path)) {
    hsc_bytes text = {0};
    hsc_status *status = hsc_file_read(path, &text);
    bool json = !status && looks_like_json(hsc_bytes_view(&text));
    if (json)
      status = add_document(page, path, hsc_bytes_view(&text), cli);
    hsc_bytes_deinit(&text);
    if (json || status) {
      if (json)
        return status;
      hsc_status_free(status);  // a directory
    }
  }
  return add_capture(page, path, o, cli);
}

hsc_status *hsc_report_add_files(hsc_page *page,
                                 const hsc_list *files,
                                 const hsc_report_options *options,
                                 hsc_cli *cli) {
  if (files->count > 1)
    HSC_TRY(add_comparison(page, files, cli));
  for (size_t i = 0; i < files->count; i++)
    HSC_TRY(hsc_report_add_file(page, files->items[i], options, cli));
  return NULL;
}

const char *hsc_report_kind(const char *path) {
  if (hsc_ends_with(path, ".json"))
    return "json";
  if (hsc_ends_with(path, ".hsc") || hsc_ends_with(path, ".ring"))
    return "capture";
  if (hsc_ends_with(path, ".xplane.pb") || hsc_ends_with(path, ".xplane.pb.gz"))
    return "profile";
  return hsc_hlo_stages_is_at(path) ? "dumps" : NULL;
}
