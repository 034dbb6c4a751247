// cmd_passes_list.c - hloscope passes list, dump, show: the passes that ran, in call order.
#include <math.h>
#include <unistd.h>

#include "base/text/text.h"
#include "base/files/file_io.h"
#include "cli/document.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "cli/report_files.h"
#include "formats/common/formats.h"
#include "report/hlo_stages.h"
#include "worker/scratch.h"
#include "passes/manager/passes.h"

// The built-in compiler's passes need no device: they run here for what comes from standard input,
// and for programs that cannot be built.
static hsc_status *run_passes_alone(const passes_args *args,
                                    const char *directory,
                                    const char *pattern,
                                    hsc_pass_list *list) {
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_read_file(args->program, &module));
  hsc_pass_options options = {.disable = args->disable,
                              .enable = args->enable,
                              .fuel = args->fuel,
                              .pass_fuel = args->pass_fuel,
                              .dump_to = directory,
                              .dump_pass_re = pattern,
                              .dump_module_metadata = true};
  list->module = hsc_arena_strdup(list->arena, module->name);
  hsc_status *status = hsc_passes_run(module, NULL, &options, NULL);
  hsc_module_destroy(module);
  if (status)
    return status;
  hsc_bytes text = {0};
  const char *path = hsc_arena_printf(list->arena, "%s/module_0000.metadata.textproto", directory);
  status = hsc_arena_status(list->arena);
  if (!status)
    status = hsc_file_read(path, &text);
  if (!status)
    status = hsc_pass_list_read_metadata(hsc_bytes_view(&text), path, list);
  if (!status)
    hsc_pass_list_nest(list);
  list->from = "module metadata";
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *collect(const passes_args *args,
                           hsc_cli *cli,
                           const hsc_device_spec *device,
                           const char *directory,
                           const char *pattern,
                           hsc_pass_list *list) {
  json_t *overrides = NULL;
  hsc_lab_worker *worker = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc__passes_check_disabled(args, cli, device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  if (args->enable)
    json_object_set_new(overrides, "hloscope_enable_hlo_passes", json_string(args->enable));
  if (args->pass_fuel)
    json_object_set_new(overrides, "xla_fuel", json_string(args->pass_fuel));
  if (args->fuel >= 0)
    json_object_set_new(overrides, "hloscope_pass_fuel", json_integer(args->fuel));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = device, .no_disk_cache = true, .stop = &hsc_cli_stop},
      &worker));
  hsc_passes_collect_options o = {.program = args->program,
                                  .transforms = args->transforms.items,
                                  .transform_count = args->transforms.count,
                                  .overrides = overrides,
                                  .scratch = directory,
                                  .dumps = device->source != HSC_DEVICE_BUILT_IN || pattern,
                                  .bare = !pattern,
                                  .pass_re = pattern,
                                  .limit_ns = (int64_t)(args->limit_s * 1e9)};
  if (device->source != HSC_DEVICE_BUILT_IN)
    hsc_cli_progress(cli, "compiling on %s", device->text);
  HSC_GOTO(hsc_passes_collect(worker, &o, list));
done:
  hsc_lab_worker_destroy(worker);
  json_decref(overrides);
  return status;
}

static hsc_status *run_built_in(const passes_args *args,
                                hsc_cli *cli,
                                const hsc_device_spec *device,
                                const char *directory,
                                const char *pattern,
                                hsc_pass_list *list) {
  HSC_TRY(hsc__passes_check_own(args->disable, cli));
  HSC_TRY(hsc__passes_check_own(args->enable, cli));
  HSC_TRY(hsc__passes_check_own(args->pass_fuel, cli));
  hsc_status *status = collect(args, cli, device, directory, pattern, list);
  // Constants that were left out of the text: nothing to run, and passes nevertheless.
  if (!status || hsc_status_code(status) != HSC_FAILED_PRECONDITION || args->transforms.count > 0)
    return status;
  hsc_status_free(status);
  return run_passes_alone(args, directory, pattern, list);
}

// "113 → 89", "8" where nothing changed: what a screen has room for.
static void add_change(hsc_table *table, int64_t before, int64_t after) {
  if (before < 0)
    hsc_table_missing(table);
  else if (after < 0 || after == before)
    hsc_table_printf(table, "%lld", (long long)before);
  else
    hsc_table_printf(table, "%lld → %lld", (long long)before, (long long)after);
}

static void add_count(hsc_table *table, int64_t value) {
  if (value < 0)
    hsc_table_missing(table);
  else
    hsc_table_int(table, value);
}

enum { SHORT_ROWS = 22 };  // of the first screen

// How long a run must have taken to be among the `most` longest that changed the program, or that
// may have; -1 where all fit.
static int64_t shortest_shown(const hsc_pass_list *list, size_t most) {
  for (int64_t low = -1;;) {
    size_t longer = 0;
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < list->row_count; i++) {
      const hsc_pass_row *r = &list->rows[i];
      if (r->changed == 0 || r->duration_ns < low)
        continue;
      longer++;
      if (r->duration_ns > low && r->duration_ns < next)
        next = r->duration_ns;
    }
    if (longer <= most || next == INT64_MAX)
      return low;
    low = next;
  }
}

// "9 of 31 passes changed the program: 90 instructions became 67. The longest, fusion, took 45.9 us
// of the 248 us in passes."
static void say_what_changed(const hsc_pass_list *list, hsc_cli *cli) {
  hsc_pass_totals t = hsc_pass_list_totals(list);
  const hsc_pass_row *longest = NULL;
  int64_t before = -1;
  int64_t after = -1;
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *r = &list->rows[i];
    if (before < 0)
      before = r->instructions_before;
    if (r->instructions_after >= 0)
      after = r->instructions_after;
    if (!r->nested && !r->counts && (!longest || r->duration_ns > longest->duration_ns))
      longest = r;
  }
  hsc_bytes text = {0};
  char took[32];
  char whole[32];
  hsc_bytes_printf(&text, "%d of %d runs of passes changed the program", t.changed, t.runs);
  if (before >= 0 && after >= 0)
    hsc_bytes_printf(&text, ": %lld instructions became %lld", (long long)before, (long long)after);
  hsc_bytes_printf(&text, ".");
  if (longest && longest->duration_ns > 0) {
    hsc_format_quantity((double)longest->duration_ns, "ns", false, took);
    hsc_format_quantity(t.seconds, "s", false, whole);
    hsc_bytes_printf(&text, " The longest, %s, took %s of the %s in passes.", longest->pass, took,
                     whole);
  }
  hsc_cli_paragraph(cli, "%s\n", hsc_bytes_text(&text));
  hsc_cli_print(cli, "\n");
  hsc_bytes_deinit(&text);
}

// `few`: the columns of the first screen.
static void add_row(hsc_table *table, const hsc_pass_row *r, size_t number, bool few) {
  hsc_table_row(table);
  hsc_table_int(table, (int64_t)number);
  hsc_table_printf(table, "%*s%s", 2 * r->depth, "", r->pipeline);
  hsc_table_printf(table, r->nested ? "[%s]" : "%s", r->pass);
  if (!few && r->changed < 0)
    hsc_table_missing(table);
  else if (!few)
    hsc_table_bool(table, r->changed);
  hsc_table_double(table, r->duration_ns < 0 ? NAN : (double)r->duration_ns * 1e-9);
  if (few) {
    add_change(table, r->instructions_before, r->instructions_after);
    add_change(table, r->fusions_before, r->fusions_after);
    return;
  }
  add_count(table, r->instructions_before);
  add_count(table, r->instructions_after);
  add_count(table, r->fusions_before);
  add_count(table, r->fusions_after);
}

static void add_notes(hsc_table *table, const hsc_pass_list *list, size_t left_out, bool few) {
  hsc_pass_totals t = hsc_pass_list_totals(list);
  hsc_table_note(
      table, "%d pipelines, %d distinct passes, %d runs, %d changed something; %.3f ms in passes",
      t.pipelines, t.passes, t.runs, t.changed, t.seconds * 1e3);
  if (left_out)
    hsc_table_note(table, "%zu shorter runs that changed something: --changed", left_out);
  if (few)
    hsc_table_note(table,
                   "every run of every pass: --all; what one did: hloscope passes diff, as a page "
                   "with all stages: hloscope passes show");
  if (t.idle && !few)
    hsc_table_note(table, "%d of the pipelines had no pass to run", t.idle);
  if (t.nested)
    hsc_table_note(table,
                   "[name]: a pipeline inside another one; its time is that of the passes in it, "
                   "and is counted once");
  for (size_t i = 0; i < list->row_count; i++) {
    if (!list->rows[i].counts || few)
      continue;
    char *counts = hsc_arena_strdup(list->arena, list->rows[i].counts);
    for (char *c = counts; c && *c; c++)
      *c = *c == '_' ? ' ' : *c;
    hsc_table_note(table, "%s: %s", list->rows[i].pass, counts ? counts : "");
  }
  if (list->compile_ns >= 0)
    hsc_table_note(table, "the whole compile took %.3f ms", (double)list->compile_ns * 1e-6);
}

static hsc_status *print_table(const hsc_pass_list *list,
                               bool changed_only,
                               size_t most,
                               hsc_cli *cli) {
  hsc_table *table = NULL;
  int64_t shortest = most ? shortest_shown(list, most) : -1;
  size_t left_out = 0;
  HSC_TRY(hsc_table_create("passes", &table));
  static const char *const columns[][2] = {
      {"run", "count"},   {"pipeline", ""},     {"pass", ""},
      {"changed", ""},    {"time", "s"},        {"instructions", "count"},
      {"after", "count"}, {"fusions", "count"}, {"fusions after", "count"}};
  static const char *const few[][2] = {{"run", "count"}, {"pipeline", ""},     {"pass", ""},
                                       {"time", "s"},    {"instructions", ""}, {"fusions", ""}};
  for (size_t i = 0; i < (most ? HSC_COUNT_OF(few) : HSC_COUNT_OF(columns)); i++)
    hsc_table_column(table, most ? few[i][0] : columns[i][0], most ? few[i][1] : columns[i][1]);
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *r = &list->rows[i];
    if (changed_only && r->changed == 0)
      continue;
    if (r->duration_ns < shortest) {
      left_out++;
      continue;
    }
    add_row(table, r, i, most > 0);
  }
  add_notes(table, list, left_out, most > 0);
  return hsc_cli_table(cli, table);
}

hsc_status *hsc__passes_list(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  hsc_pass_list list = {0};
  char *scratch = NULL;
  json_t *document = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc__passes_device(args, cli, &device));
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_scratch_create_for_dumps(&scratch));
  if (device.source == HSC_DEVICE_BUILT_IN)
    HSC_GOTO(run_built_in(args, cli, &device, scratch, NULL, &list));
  else
    HSC_GOTO(collect(args, cli, &device, scratch, NULL, &list));
  if (cli->format == HSC_FORMAT_JSON) {
    HSC_GOTO(hsc_pass_list_json(&list, args->program, device.text, &document));
    // for reports: how to make it again
    json_object_set_new(document, "command", json_string(cli->command_line));
    HSC_GOTO(hsc_cli_document(cli, document));
  } else {
    bool is_short = cli->format == HSC_FORMAT_TEXT && !args->changed_only && !args->all;
    if (is_short)
      say_what_changed(&list, cli);
    HSC_GOTO(print_table(&list, args->changed_only || is_short, is_short ? SHORT_ROWS : 0, cli));
  }
done:
  json_decref(document);
  hsc_scratch_destroy(scratch);
  hsc_pass_list_deinit(&list);
  return status;
}

hsc_status *hsc__passes_dump(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  hsc_pass_list list = {0};
  hsc_status *status = NULL;
  const char *pattern = args->pattern ? args->pattern : ".*";
  const char *directory = args->output ? args->output : hsc_cli_new_name(cli, "");
  HSC_TRY(hsc_arena_status(cli->arena));
  HSC_TRY(hsc__passes_device(args, cli, &device));
  bool is_new = !hsc_file_exists(directory);
  HSC_GOTO(hsc_pass_list_init(&list));
  if (device.source == HSC_DEVICE_BUILT_IN)
    HSC_GOTO(run_built_in(args, cli, &device, directory, pattern, &list));
  else
    HSC_GOTO(collect(args, cli, &device, directory, pattern, &list));
  HSC_GOTO(print_table(&list, true, 0, cli));
  hsc_cli_say(cli, "the HLO after each of them is in %s", directory);
done:
  if (status && is_new)
    rmdir(directory);  // where nothing was dumped into it
  hsc_pass_list_deinit(&list);
  return status;
}

// ---- show: the dumps as a page ------------------------------------------------------------------

typedef struct stage_page {
  hsc_page page;
  hsc_cli *cli;
  const char *program, *device;
} stage_page;

static hsc_status *add_module(void *user, const hsc_hlo_stages *stages, hsc_view json) {
  stage_page *to = user;
  hsc_report_add_stages(&to->page,
                        hsc_arena_printf(to->cli->arena, "%s, stage by stage", stages->module),
                        to->cli->command_line, stages,
                        hsc_arena_printf(to->cli->arena,
                                         "What each pass is worth: hloscope passes ablate %s "
                                         "--device %s",
                                         to->program, to->device),
                        json);
  return NULL;
}

hsc_status *hsc__passes_show(const passes_args *args, hsc_cli *cli) {
  hsc_device_spec device;
  hsc_pass_list list = {0};
  hsc_bytes out = {0};
  char *scratch = NULL;
  size_t left_out = 0;
  hsc_status *status = NULL;
  const char *output = args->output ? args->output : hsc_cli_new_name(cli, ".html");
  stage_page page = {.cli = cli, .program = args->program};
  HSC_TRY(hsc__passes_device(args, cli, &device));
  page.device = device.text;
  HSC_TRY(hsc_arena_status(cli->arena));
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_scratch_create_for_dumps(&scratch));
  if (device.source == HSC_DEVICE_BUILT_IN)
    HSC_GOTO(run_built_in(args, cli, &device, scratch, ".*", &list));
  else
    HSC_GOTO(collect(args, cli, &device, scratch, ".*", &list));
  hsc_page_begin(&page.page,
                 hsc_arena_printf(cli->arena, "hloscope: %s on %s",
                                  hsc_report_base_name(args->program), device.text),
                 &out);
  HSC_GOTO(hsc_hlo_stages_read(scratch, add_module, &page, &left_out));
  hsc_page_end(&page.page);
  HSC_GOTO(hsc_bytes_status(&out));
  HSC_GOTO(hsc_cli_write_to(cli, output, &out));
  if (strcmp(output, "-") != 0)
    hsc_cli_say(cli, "%s: open it in a browser", output);
  if (left_out)
    hsc_cli_say(cli, "%zu more modules are not in the page, which takes the 8 with the most stages",
                left_out);
done:
  hsc_bytes_deinit(&out);
  hsc_scratch_destroy(scratch);
  hsc_pass_list_deinit(&list);
  return status;
}
