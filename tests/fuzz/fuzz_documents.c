// fuzz_documents.c - any bytes as the JSON that commands read again: what report, stats and passes
// report draw, and what a store of results holds.
//
// The first byte says who reads it: 'r' report, 's' stats, 'p' passes report, 'c' two experiments
// of a store compared, any other one of a store shown. Commands run as from a shell: an answer or
// an error, never an exit.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "cli/command.h"
#include "lab/store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], document[96], page[96], store[96];

static void leave(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command))
    fputs("fuzz_documents: a folder stays in /tmp\n", stderr);
}

static void prepare(void) {
  snprintf(folder, sizeof folder, "/tmp/hsc-fuzz-documents-XXXXXX");
  if (!mkdtemp(folder))
    abort();
  atexit(leave);
  snprintf(document, sizeof document, "%s/a.json", folder);
  snprintf(page, sizeof page, "%s/page", folder);
}

// As hsc_cli_main does, which would close standard output.
static void run(int argc, char **argv) {
  hsc_cli cli = {.command_name = argv[0], .command_line = argv[0], .quiet = true};
  const hsc_command *command = hsc_command_find(argv[0]);
  hsc_common_args common;
  hsc_status *status = hsc_arena_create(&cli.arena);
  void *args = status ? NULL : hsc_arena_alloc(cli.arena, command->body->args_bytes);
  hsc_option_set sets[] = {{command->body->options, args},
                           {hsc_command_common_options(command), &common}};
  if (!status)
    status =
        hsc_options_parse(command->name, sets, HSC_COUNT_OF(sets), argc - 1, argv + 1, cli.arena);
  cli.format = command->first_format;
  if (!status && common.format >= 0)
    hsc_output_format_of_name(hsc_format_choices[common.format], &cli.format);
  if (!status)
    status = command->body->run(args, &cli);
  hsc_bytes text = {0};
  if (status)
    hsc_error_text(status, &(hsc_text_style){0}, &text);
  hsc_bytes_deinit(&text);
  hsc_status_free(status);
  hsc_arena_destroy(cli.arena);
}

// Everything that is printed goes nowhere, for as long as this lasts.
static void run_silent(int argc, char **argv) {
  fflush(stdout);
  fflush(stderr);
  int kept[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (kept[0] < 0 || nowhere < 0)
    abort();
  dup2(nowhere, STDOUT_FILENO);
  if (!getenv("HSC_FUZZ_TALK"))
    dup2(nowhere, STDERR_FILENO);
  run(argc, argv);
  fflush(stdout);
  dup2(kept[0], STDOUT_FILENO);
  dup2(kept[1], STDERR_FILENO);
  close(nowhere);
  close(kept[0]);
  close(kept[1]);
}

static const char *text_of(const json_t *object, const char *key, const char *otherwise) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : otherwise;
}

// The store's file, with the document as the result of an experiment and as answers of its tasks.
static bool fill(const json_t *root) {
  hsc_store *opened = NULL;
  snprintf(store, sizeof store, "%s/store.sqlite", folder);
  unlink(store);
  hsc_status *status = hsc_store_open(store, &opened);
  for (int side = 0; side < 2 && !status; side++) {
    int64_t id;
    const json_t *task;
    size_t i;
    status =
        hsc_store_begin(opened,
                        &(hsc_experiment){.kind = text_of(root, "kind", "patterns"),
                                          .command = text_of(root, "command", "hloscope patterns"),
                                          .device = text_of(root, "device", "cpu"),
                                          .subject = text_of(root, "subject", "a.hlo"),
                                          .plan = text_of(root, "plan", "plan"),
                                          .configuration = json_object_get(root, "configuration"),
                                          .environment = json_object_get(root, "environment")},
                        &id);
    json_array_foreach (json_object_get(root, "tasks"), i, task) {
      if (status || i > 8)
        break;
      status = hsc_store_put_task(opened, id,
                                  &(hsc_task){.key = text_of(task, "key", "key"),
                                              .status = text_of(task, "status", "ok"),
                                              .message = text_of(task, "message", NULL),
                                              .answer = json_object_get(task, "answer")});
    }
    if (!status)
      status = hsc_store_finish(opened, id, "done", (json_t *)(uintptr_t)root);
  }
  hsc_store_close(opened);
  bool filled = !status;
  hsc_status_free(status);
  return filled;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char no_store[] = "--samples";
  if (size < 1 || size > 60000)
    return 0;
  if (!*folder)
    prepare();
  char who = (char)data[0];
  char *report[] = {"report", document, "-o", "-"};
  char *both[] = {"report", document, document, "-o", "-"};
  char *stats[] = {"stats", document};
  char *stats_json[] = {"stats", document, document, "--format=json", "--resamples=100"};
  char *passes[] = {"passes", "report", "a.hlo", "--results", document, "--output", page};
  char *show[] = {"results", "show", "2", "--store", store};
  char *samples[] = {"results", "show", "1", "--store", store, no_store};
  char *compare[] = {"results", "compare", "1", "2", "--store", store};
  if (who == 'r' || who == 's' || who == 'p') {
    hsc_status *status = hsc_file_write_atomic(document, data + 1, size - 1);
    if (status) {
      hsc_status_free(status);
      return 0;
    }
  }
  if (who == 'r') {
    run_silent(4, report);
    run_silent(5, both);
  } else if (who == 's') {
    run_silent(2, stats);
    run_silent(5, stats_json);
  } else if (who == 'p') {
    run_silent(7, passes);
  } else {
    json_t *root = json_loadb((const char *)data + 1, size - 1, JSON_ALLOW_NUL, NULL);
    if (json_is_object(root) && fill(root)) {
      if (who == 'c')
        run_silent(6, compare);
      else
        run_silent(5, show);
      run_silent(6, samples);
    }
    json_decref(root);
  }
  return 0;
}
