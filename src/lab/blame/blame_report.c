// blame_report.c - the folder of a blame: what is in it, the reduction, and the text of the issue.
#include <stdlib.h>
#include <unistd.h>

#include "lab/blame/blame_report.h"

#include "base/files/file_io.h"
#include "base/text/text.h"
#include "formats/common/formats.h"
#include "lab/blame/blame_internal.h"
#include "lab/reduce/reduction_files.h"
#include "lab/run/kept_failure.h"
#include "lab/run/json_tree.h"
#include "lab/store/environment.h"
#include "report/page.h"

enum { MOST_FILES = 64, ZIP_LIMIT_BYTES = 5000000 };

typedef struct folder {
  const hsc_blame_options *options;
  const hsc_blame_report_options *report;
  json_t *document;  // of the blame
  json_t *machine;
  json_t *reduced;  // of the reduction; NULL = none
  hsc_arena *arena;
  const char *names[MOST_FILES];  // of files, in the folder
  int count;
  const char *program;     // the copy's name
  json_t *again;           // the blame of the reduced program; NULL = not asked
  const char *no_reduced;  // why the program was not reduced; NULL = it was
} folder;

static void add_name(folder *f, const char *name) {
  if (f->count < MOST_FILES && name)
    f->names[f->count++] = hsc_arena_strdup(f->arena, name);
}

static hsc_status *write_file(folder *f, const char *name, hsc_view data) {
  const char *path = hsc_arena_printf(f->arena, "%s/%s", f->report->directory, name);
  HSC_TRY(hsc_arena_status(f->arena));
  HSC_TRY(hsc_file_write_atomic(path, data.data, data.size));
  add_name(f, name);
  return NULL;
}

static hsc_status *write_json(folder *f, const char *name, const json_t *value) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 2);
  hsc_json_tree(&json, value);
  hsc_bytes_append_char(&out, '\n');
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    status = write_file(f, name, hsc_bytes_view(&out));
  hsc_bytes_deinit(&out);
  return status;
}

// ---- the programs -------------------------------------------------------------------------------

// What `hloscope blame` takes as a whole: the program, its inputs where they are not the seed's,
// options, seed and device.
static hsc_status *keep_failure(folder *f) {
  const hsc_blame_options *o = f->options;
  char name[32];
  json_t *input;
  size_t i;
  hsc_run_options run = {.program = o->program,
                         .overrides = o->overrides,
                         .seed = o->seed,
                         .data = o->data,
                         .command = f->report->command};
  HSC_TRY(hsc_failure_keep(f->report->directory, &run, o->device->text,
                           hsc_json_text(f->document, "headline")));
  f->program = hsc_arena_printf(f->arena, "program-%s", hsc_path_file(o->program));
  add_name(f, f->program);
  add_name(f, "failure.json");
  json_array_foreach (o->data, i, input) {
    snprintf(name, sizeof name, "input_%zu.bin", i);
    if (json_is_string(input))
      add_name(f, name);
  }
  return hsc_arena_status(f->arena);
}

// Whether what is wrong is of the kind that a smaller program can show.
static bool can_be_reduced(const folder *f) {
  const char *verdict = hsc_json_text(f->document, "verdict");
  bool at_fault = hsc_blame_exit_code(verdict) == 1;
  return at_fault && strcmp(verdict, "nondeterministic") != 0 && strcmp(verdict, "program") != 0 &&
         f->report->reduce_s > 0 && hsc_json_text(f->document, "symptom");
}

static void add_reduced(folder *f, json_t *reduction) {
  json_t *files[] = {json_object_get(reduction, "files"), json_object_get(reduction, "inputs")};
  const char *key;
  json_t *value;
  size_t i;
  json_object_foreach (files[0], key, value)
    if (json_is_string(value))
      add_name(f, hsc_path_file(json_string_value(value)));
  json_array_foreach (files[1], i, value)
    if (json_is_string(value))
      add_name(f, hsc_path_file(json_string_value(value)));
}

static hsc_status *reduce(folder *f) {
  const hsc_blame_options *o = f->options;
  hsc_reduction reduction = {0};
  hsc_reduction_options r = {.program = o->program,
                             .data = o->data,
                             .observer = {.device = o->device,
                                          .reference = o->against,
                                          .substitute = o->against ? NULL : o->substitute,
                                          .overrides = o->overrides,
                                          .executable = o->executable,
                                          .seed = o->seed,
                                          .limit_ns = o->limit_ns,
                                          .stop = o->stop},
                             .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                             .budget_s = f->report->reduce_s,
                             .candidate_format = HSC_FORMAT_HLO_TEXT,
                             .command = f->report->command,
                             .store = f->report->store};
  if (o->symptom)
    r.symptom = *o->symptom;
  else
    HSC_TRY(hsc_symptom_parse(hsc_json_text(f->document, "symptom"), f->arena, &r.symptom));
  const char *base = hsc_arena_printf(f->arena, "%s/reduced", f->report->directory);
  HSC_TRY(hsc_arena_status(f->arena));
  hsc_status *status = hsc_reduce_program(&r, &reduction);
  if (!status)
    status = hsc_reduction_write(&r, &reduction, base, &f->reduced);
  if (!status)
    status = hsc_task_table_end(&reduction.tasks, NULL, false, f->reduced);
  hsc_reduction_deinit(&reduction);
  if (!status)
    add_reduced(f, f->reduced);
  return status;
}

// A reduction keeps the symptom; whether it kept the culprit too is asked here. Programs that need
// inputs of their own are not asked: a blame makes its inputs by a seed.
static hsc_status *blame_again(folder *f) {
  hsc_blame_options o = *f->options;
  o.program = hsc_arena_printf(f->arena, "%s/reduced.hlo", f->report->directory);
  o.runs = 2;
  o.journal = NULL;
  o.data = NULL;
  if (json_array_size(json_object_get(f->reduced, "inputs")))
    return NULL;
  HSC_TRY(hsc_arena_status(f->arena));
  HSC_TRY(hsc_blame(&o, &f->again));
  json_t *row = json_pack("{s:O, s:O, s:O}", "verdict", json_object_get(f->again, "verdict"),
                          "pass", json_object_get(f->again, "pass"), "headline",
                          json_object_get(f->again, "headline"));
  if (!row)
    return hsc_status_out_of_memory();
  json_object_set_new(f->reduced, "blame", row);
  return NULL;
}

static bool same_culprit(const folder *f) {
  return json_equal(json_object_get(f->again, "verdict"),
                    json_object_get(f->document, "verdict")) &&
         json_equal(json_object_get(f->again, "pass"), json_object_get(f->document, "pass"));
}

static hsc_status *reduce_or_say_why(folder *f) {
  if (!can_be_reduced(f)) {
    f->no_reduced = "there is nothing that a smaller program could show by itself";
    return NULL;
  }
  hsc_status *failed = reduce(f);
  if (!failed)
    failed = blame_again(f);
  if (!failed || hsc_status_code(failed) == HSC_CANCELLED ||
      hsc_status_code(failed) == HSC_RESOURCE_EXHAUSTED)
    return failed;
  f->no_reduced = hsc_arena_strdup(f->arena, hsc_status_message(failed));
  hsc_status_free(failed);
  return hsc_arena_status(f->arena);
}

// ---- the issue ----------------------------------------------------------------------------------

static void write_block(folder *f, const char *name, const char *language, hsc_bytes *out) {
  enum { MOST_BYTES = 20000 };
  hsc_bytes data = {0};
  const char *path = hsc_arena_printf(f->arena, "%s/%s", f->report->directory, name);
  hsc_status *failed = path ? hsc_file_read(path, &data) : NULL;
  if (!failed && data.size && data.size <= MOST_BYTES)
    hsc_bytes_printf(out, "`%s`:\n```%s\n%.*s```\n\n", name, language, (int)data.size, data.data);
  else
    hsc_bytes_printf(out, "`%s` is attached.\n\n", name);
  hsc_status_free(failed);
  hsc_bytes_deinit(&data);
}

static void write_reduction(folder *f, hsc_bytes *out) {
  hsc_bytes_printf(
      out, "Reduced to %lld of %lld instructions; each form was run afresh in a new process%s.\n\n",
      (long long)json_integer_value(json_object_get(f->reduced, "instructions_after")),
      (long long)json_integer_value(json_object_get(f->reduced, "instructions_before")),
      json_is_true(json_object_get(f->reduced, "verified"))
          ? ", and all that could be run here show it"
          : ", and not all show it: see `blame.json`");
  if (f->again)
    hsc_bytes_printf(out, "The reduced program by itself: %s%s.\n\n",
                     hsc_json_text(f->again, "headline"),
                     same_culprit(f) ? "" : " (another culprit than the whole program's)");
}

// The smallest program that there is: what was reduced, else the whole.
static const char *smallest(const folder *f) {
  return f->reduced ? "reduced.hlo" : f->program;
}

static void write_commands(const folder *f, hsc_bytes *out) {
  hsc_bytes_append_text(out, "With hloscope:\n```\n");
  // a reduced program that needs inputs of its own has them in reduced.py
  const char *name = f->again ? "reduced.hlo" : f->program;
  hsc_bytes_printf(out, "hloscope blame %s -d %s --seed %lld", name, f->options->device->text,
                   (long long)f->options->seed);
  if (f->options->symptom)
    hsc_bytes_printf(out, " --symptom %s", f->options->symptom->text);
  if (f->options->against)
    hsc_bytes_printf(out, " --against %s", f->options->against->text);
  hsc_bytes_append_text(out,
                        "\n```\nor, with the inputs and options, in the unpacked "
                        "`report.zip`: `hloscope blame .`\n\n");
}

// run_hlo_module is XLA's own: it holds a platform against another.
static void write_run_hlo_module(const folder *f, hsc_bytes *out) {
  const char *device = f->options->device->text;
  const char *platform = hsc_starts_with(device, "tpu") ? "TPU" : "CPU";
  if (hsc_starts_with(device, "cuda"))
    platform = "CUDA";
  const char *key;
  json_t *value;
  hsc_bytes_append_text(out, "```\n");
  if (json_object_size(f->options->overrides))
    hsc_bytes_append_text(out, "XLA_FLAGS='");
  size_t count = 0;
  json_object_foreach (f->options->overrides, key, value) {
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    hsc_bytes_printf(out, "%s--%s=%s", count++ ? " " : "", key,
                     text ? text : json_string_value(value));
    free(text);
  }
  if (count)
    hsc_bytes_append_text(out, "' ");
  hsc_bytes_printf(out, "run_hlo_module --platform=%s --reference_platform=Interpreter %s\n```\n",
                   platform, smallest(f));
}

static void write_reproduction(folder *f, hsc_bytes *out) {
  const json_t *files = json_object_get(f->reduced, "files");
  hsc_bytes_append_text(out, "### Steps to reproduce\n\n");
  if (f->reduced)
    write_reduction(f, out);
  else
    hsc_bytes_printf(out, "Not reduced: %s.\n\n", f->no_reduced);
  if (hsc_json_text(files, "jax"))
    write_block(f, "reduced.py", "python", out);
  write_block(f, smallest(f), "", out);
  hsc_bytes_append_text(out, "Without hloscope:\n");
  if (hsc_json_text(files, "jax"))
    hsc_bytes_append_text(out, "```\npython reduced.py\n```\n");
  else
    write_run_hlo_module(f, out);
  write_commands(f, out);
}

static void write_evidence(const folder *f, hsc_bytes *out) {
  json_t *row;
  size_t i;
  hsc_bytes_append_text(out, "### Evidence\n\n| asked | found |\n|---|---|\n");
  json_array_foreach (json_object_get(f->document, "evidence"), i, row) {
    const char *texts[] = {hsc_json_text(row, "question"), hsc_json_text(row, "answer")};
    for (int k = 0; k < 2; k++) {
      hsc_bytes_append_text(out, "| ");
      for (const char *c = texts[k] ? texts[k] : ""; *c; c++)
        if (*c == '|')
          hsc_bytes_append_text(out, "\\|");
        else
          hsc_bytes_append_char(out, *c == '\n' ? ' ' : *c);
      hsc_bytes_append_char(out, ' ');
    }
    hsc_bytes_append_text(out, "|\n");
  }
  hsc_bytes_printf(out, "\nCoverage: %s.\n\n",
                   hsc_json_text(json_object_get(f->document, "coverage"), "sentence"));
}

static void write_system(const folder *f, const char *heading, hsc_bytes *out) {
  json_t *versions = json_object_get(f->document, "versions");
  json_t *value;
  const char *key;
  hsc_bytes_printf(out, "### %s\n\n```\n", heading);
  json_object_foreach (versions, key, value)
    if (json_is_string(value))
      hsc_bytes_printf(out, "%s: %s\n", key, json_string_value(value));
  json_object_foreach (f->options->overrides, key, value)
    hsc_bytes_printf(out, "option: %s=%s\n", key,
                     json_is_string(value) ? json_string_value(value) : "(see blame.json)");
  const char *const keys[] = {"hloscope", "kernel", "cpu"};
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    if (hsc_json_text(f->machine, keys[i]))
      hsc_bytes_printf(out, "%s: %s\n", keys[i], hsc_json_text(f->machine, keys[i]));
  hsc_bytes_append_text(out, "```\n");
}

static void write_description(const folder *f, hsc_bytes *out) {
  const char *headline = hsc_json_text(f->document, "headline");
  json_t *instruction = json_object_get(f->document, "instruction");
  hsc_bytes_printf(out, "<!-- title: %s -->\n\n### Description\n\n%s\n\n", headline, headline);
  if (hsc_json_text(instruction, "text"))
    hsc_bytes_printf(out, "First in `%s`.\n\n", hsc_json_text(instruction, "text"));
}

// jax-ml/jax's form: what happens, how to see it in JAX, the system.
static void write_for_jax(folder *f, hsc_bytes *out) {
  write_description(f, out);
  write_reproduction(f, out);
  write_evidence(f, out);
  write_system(f, "System info (python version, jaxlib version, accelerator, etc.)", out);
}

// openxla/xla has no form; its people ask for HLO and the command of their own tool.
static void write_for_xla(folder *f, hsc_bytes *out) {
  write_description(f, out);
  if (f->reduced)
    write_reduction(f, out);
  hsc_bytes_append_text(out, "### HLO\n\n");
  write_block(f, smallest(f), "", out);
  hsc_bytes_append_text(out, "### Command\n\n");
  write_run_hlo_module(f, out);
  write_commands(f, out);
  write_evidence(f, out);
  write_system(f, "Environment", out);
}

static hsc_status *write_issue(folder *f,
                               const char *name,
                               void (*write)(folder *f, hsc_bytes *out)) {
  hsc_bytes out = {0};
  write(f, &out);
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    status = write_file(f, name, hsc_bytes_view(&out));
  hsc_bytes_deinit(&out);
  return status;
}

static hsc_status *write_page(folder *f) {
  hsc_bytes out = {0};
  hsc_bytes data = {0};
  hsc_json json;
  hsc_page page;
  hsc_json_init(&json, &data, 0);
  hsc_json_tree(&json, f->document);
  hsc_page_begin(&page, hsc_json_text(f->document, "headline"), &out);
  hsc_page_part(&page, "blame", "blame.json", f->report->command ? f->report->command : "", NULL,
                hsc_bytes_view(&data));
  hsc_page_end(&page);
  hsc_status *status = hsc_bytes_status(&data);
  if (!status)
    status = hsc_bytes_status(&out);
  if (!status)
    status = write_file(f, "index.html", hsc_bytes_view(&out));
  hsc_bytes_deinit(&data);
  hsc_bytes_deinit(&out);
  return status;
}

static hsc_status *write_zip(folder *f) {
  hsc_bytes out = {0};
  hsc_status *status =
      hsc__blame_zip(f->report->directory, f->names, f->count, ZIP_LIMIT_BYTES, &out);
  if (!status)
    status = write_file(f, "report.zip", hsc_bytes_view(&out));
  hsc_bytes_deinit(&out);
  return status;
}

// The kernel, the processor, the version of hloscope: nothing that names a machine or its user.
static hsc_status *redact_machine(folder *f) {
  static const char *const keys[] = {"hloscope", "kernel", "cpu"};
  json_t *rest = json_object();
  if (!rest)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    if (json_object_get(f->machine, keys[i]))
      json_object_set(rest, keys[i], json_object_get(f->machine, keys[i]));
  json_decref(f->machine);
  f->machine = rest;
  return NULL;
}

hsc_status *hsc_blame_report(const hsc_blame_options *options,
                             const hsc_blame_report_options *report,
                             json_t *document) {
  folder f = {.options = options, .report = report, .document = document};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&f.arena));
  HSC_GOTO(hsc_dir_make(report->directory));
  HSC_GOTO(hsc_environment_capture(false, &f.machine));
  if (report->redact)
    HSC_GOTO(redact_machine(&f));
  HSC_GOTO(keep_failure(&f));
  HSC_GOTO(reduce_or_say_why(&f));
  json_object_set_new(document, "report", json_string(report->directory));
  json_object_set_new(document, "reduced", f.reduced ? json_incref(f.reduced) : json_null());
  HSC_GOTO(write_issue(&f, "ISSUE.md", write_for_jax));
  HSC_GOTO(write_issue(&f, "ISSUE-xla.md", write_for_xla));
  HSC_GOTO(write_json(&f, "blame.json", document));
  HSC_GOTO(write_json(&f, "machine.json", f.machine));
  HSC_GOTO(write_page(&f));
  HSC_GOTO(write_zip(&f));
done:
  json_decref(f.machine);
  json_decref(f.reduced);
  json_decref(f.again);
  hsc_arena_destroy(f.arena);
  return status;
}
