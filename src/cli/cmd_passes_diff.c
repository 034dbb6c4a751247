// cmd_passes_diff.c - hloscope passes diff: two stages of a compile, or two compilers' programs,
// aligned by instruction.
#include <errno.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "cli/document.h"
#include "cli/cmd_passes.h"
#include "cli/interrupt.h"
#include "cli/report_files.h"
#include "formats/common/formats.h"
#include "lab/passes/hlo_diff.h"
#include "lab/passes/optimized.h"
#include "lab/verdict/agreement.h"
#include "worker/scratch.h"
#include "lab/devices/devices.h"
#include "passes/manager/passes.h"

// A stage of a compile: a file, and what people call it.
typedef struct stage {
  const char *path, *title;
} stage;

// "input", "output", a run's number, or a pass (after its first run that changed the program).
static hsc_status *find_stage(
    const char *text, const hsc_pass_list *list, const char *optimized, hsc_cli *cli, stage *out) {
  char *end = NULL;
  errno = 0;
  long number = strtol(text, &end, 10);
  const char *last = list->first_dump;
  if (!strcmp(text, "input")) {
    *out = (stage){list->first_dump, "before the first pass"};
    return NULL;
  }
  if (!strcmp(text, "output")) {
    *out = (stage){optimized, "optimised"};
    return NULL;
  }
  if (*text && !*end && !errno) {
    if (number < 0 || (size_t)number >= list->row_count)
      return hsc_cli_usage(cli, "run %ld is not among the %zu runs of this compile", number,
                           list->row_count);
    for (long i = 0; i <= number; i++)
      if (list->rows[i].dump)
        last = list->rows[i].dump;
    *out = (stage){
        last, hsc_arena_printf(cli->arena, "after run %ld, %s", number, list->rows[number].pass)};
    return NULL;
  }
  bool ran = false;
  for (size_t i = 0; i < list->row_count; i++) {
    if (strcmp(list->rows[i].pass, text) != 0)
      continue;
    ran = true;
    if (!list->rows[i].dump)
      continue;
    *out = (stage){list->rows[i].dump, hsc_arena_printf(cli->arena, "after run %zu, %s", i, text)};
    return NULL;
  }
  if (ran)
    return HSC_ERR(FAILED_PRECONDITION, "no run of %s changed this program", text);
  const char **names = NULL;
  size_t count = 0;
  HSC_TRY(hsc_pass_list_names((hsc_pass_list *)(uintptr_t)list, false, &names, &count));
  const char *near = hsc_did_you_mean(text, names, count);
  return hsc_cli_usage(
      cli,
      near ? "no pass '%s' ran; did you mean '%s'?"
           : "no pass '%s' ran; --from and --to take a pass, a run's number, input or output",
      text, near);
}

// The stage before the first run of a pass that changed something, and the one after it.
static hsc_status *stages_of_pass(const char *pass,
                                  const hsc_pass_list *list,
                                  hsc_cli *cli,
                                  stage out[2]) {
  HSC_TRY(find_stage(pass, list, NULL, cli, &out[1]));
  const char *before = list->first_dump;
  for (size_t i = 0; i < list->row_count; i++) {
    if (list->rows[i].dump == out[1].path) {
      out[0] = (stage){before, hsc_arena_printf(cli->arena, "before run %zu, %s", i, pass)};
      return NULL;
    }
    if (list->rows[i].dump)
      before = list->rows[i].dump;
  }
  return HSC_ERR(INTERNAL, "the dump before %s is gone", pass);
}

static hsc_status *compile_on(const passes_args *args,
                              hsc_cli *cli,
                              const char *device_name,
                              const char *directory,
                              bool dumps,
                              hsc_pass_list *list,
                              const char **out_optimized) {
  hsc_device_spec device;
  hsc_lab_worker *worker = NULL;
  json_t *overrides = NULL;
  hsc_status *status = NULL;
  HSC_TRY(hsc_device_spec_parse(device_name, cli->arena, &device));
  HSC_TRY(hsc__passes_check_disabled(args, cli, &device));
  HSC_GOTO(hsc__passes_overrides(args, cli, true, &overrides));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = &device, .no_disk_cache = true, .stop = &hsc_cli_stop},
      &worker));
  hsc_passes_collect_options o = {.program = args->program,
                                  .transforms = args->transforms.items,
                                  .transform_count = args->transforms.count,
                                  .overrides = overrides,
                                  .scratch = directory,
                                  .dumps = dumps,
                                  .limit_ns = (int64_t)(args->limit_s * 1e9)};
  hsc_cli_progress(cli, "compiling on %s", device.text);
  HSC_GOTO(hsc_passes_collect(worker, &o, list));
  *out_optimized = hsc_arena_printf(cli->arena, "%s/optimized.pb", directory);
done:
  hsc_lab_worker_destroy(worker);
  json_decref(overrides);
  return status;
}

static bool has_hidden_values(const hsc_instr *instr) {
  return instr && instr->op == HSC_OP_CONSTANT && instr->attr.literal.value &&
         instr->attr.literal.value->elided;
}

// Whether the two are one program, as far as their texts say: a constant whose values a dump leaves
// out is matched by its shape, and was not compared.
static hsc_status *judge_diff(const hsc_diff *diff, hsc_agreement **out_agreement) {
  HSC_TRY(hsc_agreement_create("instruction", out_agreement));
  for (size_t i = 0; i < diff->row_count; i++) {
    const hsc_diff_row *row = &diff->rows[i];
    const hsc_instr *instr = row->right ? row->right : row->left;
    if (row->state != HSC_DIFF_KEPT)
      hsc_agreement_compared(*out_agreement, instr->name, HSC_FINDING_DIFFERENT);
    else if (has_hidden_values(row->left) || has_hidden_values(row->right))
      hsc_agreement_gap(*out_agreement, json_pack("{s:s}", "instruction", instr->name), instr->name,
                        "the dump left its values out");
    else
      hsc_agreement_compared(*out_agreement, instr->name, HSC_FINDING_EQUAL);
  }
  return NULL;
}

// The document of docs/schemas/passes_diff.json; the page's has the kept instructions too.
static hsc_status *document_of(const hsc_diff *diff,
                               const hsc_agreement *agreement,
                               const char *program,
                               const stage stages[2],
                               bool kept_too,
                               hsc_cli *cli,
                               json_t **out_document) {
  HSC_TRY(hsc_diff_json(diff, kept_too, out_document));
  json_t *document = *out_document;
  HSC_TRY(hsc_agreement_into(agreement, document));
  json_object_set_new(document, "program", json_string(program));
  json_object_set_new(document, "from", json_string(stages[0].title));
  json_object_set_new(document, "to", json_string(stages[1].title));
  // for reports: how to make it again
  json_object_set_new(document, "command", json_string(cli->command_line));
  return NULL;
}

static hsc_status *write_page(const passes_args *args, json_t *document, hsc_cli *cli) {
  hsc_bytes page = {0};
  const char *program = hsc_report_base_name(args->program);
  hsc_page to;
  char *text = json_dumps(document, JSON_COMPACT);
  if (!text)
    return hsc_status_out_of_memory();
  hsc_page_begin(&to, hsc_arena_printf(cli->arena, "hloscope: what changed in %s", program), &page);
  hsc_report_add_document(&to, program, document, hsc_view_of(text), cli);
  hsc_page_end(&to);
  free(text);
  hsc_status *status = hsc_arena_status(cli->arena);
  if (!status)
    status = hsc_bytes_status(&page);
  if (!status)
    status = hsc_cli_write_to(cli, args->output, &page);
  hsc_bytes_deinit(&page);
  return status;
}

enum { SHORT_LINES = 26 };  // of the first screen

static hsc_status *print_diff(const passes_args *args, hsc_cli *cli, const stage stages[2]) {
  hsc_module *left = NULL;
  hsc_module *right = NULL;
  hsc_diff diff = {0};
  hsc_bytes out = {0};
  json_t *document = NULL;
  hsc_agreement *agreement = NULL;
  hsc_status *status = NULL;
  for (int i = 0; i < 2; i++)
    if (!stages[i].path)
      return HSC_ERR(UNIMPLEMENTED, "the device wrote no HLO for this stage (%s)", stages[i].title);
  HSC_GOTO(hsc_optimized_module(stages[0].path, &left));
  HSC_GOTO(hsc_optimized_module(stages[1].path, &right));
  HSC_GOTO(hsc_diff_modules(left, right, &diff));
  HSC_GOTO(judge_diff(&diff, &agreement));
  if (args->output) {
    HSC_GOTO(document_of(&diff, agreement, args->program, stages, true, cli, &document));
    HSC_GOTO(write_page(args, document, cli));
    if (!strcmp(args->output, "-"))
      goto done;
    json_decref(document);
    document = NULL;
  }
  if (cli->format == HSC_FORMAT_JSON) {
    HSC_GOTO(document_of(&diff, agreement, args->program, stages, false, cli, &document));
    HSC_GOTO(hsc_cli_document(cli, document));
    goto done;
  }
  hsc_agreement_sentence(agreement, &out);
  hsc_bytes_append_text(&out, ": ");
  hsc_diff_counts(&diff, &out);
  hsc_cli_paragraph(cli, "%s\n", hsc_bytes_text(&out));
  hsc_bytes_reset(&out);
  hsc_bytes_printf(&out, "--- %s\n+++ %s\n", stages[0].title, stages[1].title);
  hsc_diff_text(&diff, &cli->out_style, args->all ? 0 : SHORT_LINES, &out);
  HSC_GOTO(hsc_bytes_status(&out));
  hsc_cli_put(cli, &out);
  if (args->output)
    hsc_cli_say(cli, "both sides beside each other: %s", args->output);
done:
  json_decref(document);
  hsc_agreement_destroy(agreement);
  hsc_bytes_deinit(&out);
  hsc_diff_deinit(&diff);
  hsc_module_destroy(left);
  hsc_module_destroy(right);
  return status;
}

hsc_status *hsc__passes_diff(const passes_args *args, hsc_cli *cli) {
  char *scratch = NULL;
  hsc_pass_list list = {0};
  hsc_pass_list other = {0};
  stage stages[2] = {{0}, {0}};
  const char *optimized = NULL;
  const char *device = args->device ? args->device : hsc_default_device();
  const char *comma = strchr(device, ',');
  hsc_status *status = NULL;
  if (args->against) {
    stages[0] = (stage){args->program, args->program};
    stages[1] = (stage){args->against, args->against};
    return print_diff(args, cli, stages);
  }
  HSC_GOTO(hsc_scratch_create(&scratch));
  HSC_GOTO(hsc_pass_list_init(&list));
  HSC_GOTO(hsc_pass_list_init(&other));
  if (comma) {
    const char *names[] = {hsc_arena_strndup(cli->arena, device, (size_t)(comma - device)),
                           comma + 1};
    for (int i = 0; i < 2; i++) {
      HSC_GOTO(compile_on(args, cli, names[i], hsc_arena_printf(cli->arena, "%s/%d", scratch, i),
                          false, i ? &other : &list, &stages[i].path));
      stages[i].title = hsc_arena_printf(cli->arena, "optimised by %s", names[i]);
    }
  } else {
    HSC_GOTO(compile_on(args, cli, device, scratch, true, &list, &optimized));
    if (args->pass) {
      HSC_GOTO(stages_of_pass(args->pass, &list, cli, stages));
    } else {
      HSC_GOTO(find_stage(args->from ? args->from : "input", &list, optimized, cli, &stages[0]));
      HSC_GOTO(find_stage(args->to ? args->to : "output", &list, optimized, cli, &stages[1]));
    }
  }
  HSC_GOTO(print_diff(args, cli, stages));
done:
  hsc_pass_list_deinit(&list);
  hsc_pass_list_deinit(&other);
  hsc_scratch_destroy(scratch);
  return status;
}
