// test_device.c - a device after a PJRT plugin against XLA:CPU: single ops (ops/README.md) or the
// programs of models/ (reference/). TAP.
//
//   test_device PLUGIN.so ops DIRECTORY [FAMILY [CASE]]          all families, one, or the cases
//   whose name contains CASE
//   test_device PLUGIN.so programs SOURCE_ROOT [PREFIX...]       programs whose names start with
//   one of the prefixes; none = all
//
// What a device refuses as not built yet is counted and told, and is no failure; wrong numbers,
// other errors and crashes are.
#include <dirent.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/text/text.h"
#include "device_run.h"
#include "formats/common/formats.h"
#include "ops_corpus.h"
#include "program_reference.h"

static device_run device;

static int is_json(const struct dirent *entry) {
  return hsc_ends_with(entry->d_name, ".json") || hsc_ends_with(entry->d_name, ".json.gz");
}

// ---- single ops ---------------------------------------------------------------------------------

// Where our device follows the definition, as the evaluator does, and XLA:CPU does not.
static bool differs_by_rights(const ops_case *one) {
  return strcmp(one->family, "subnormals") == 0;
}

typedef struct tally {
  const char *only;
  int cases, failed, refused, passed_over;
  hsc_bytes report;
} tally;

static hsc_status *check_case(const ops_case *one, hsc_bytes *why) {
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_text_parse(hsc_view_of(one->hlo), one->name, &module);
  hsc_literal **results = HSC_NEW_ARRAY(one->arena, hsc_literal *, one->result_count + 1);
  if (!status)
    status = hsc_arena_status(one->arena);
  if (!status)
    status =
        device_run_program(&device, hsc_view_of(one->hlo), one->argument_count, one->arguments,
                           &module->entry->root->shape, one->arena, one->result_count, results);
  for (int i = 0; !status && i < one->result_count && why->size == 0; i++)
    ops_case_judge(one, i, results[i], why);
  hsc_module_destroy(module);
  return status;
}

static hsc_status *run_case(void *user, const ops_case *one) {
  tally *t = user;
  hsc_bytes why = {0};
  if (t->only && !strstr(one->name, t->only))
    return NULL;
  if (differs_by_rights(one)) {
    t->passed_over++;
    return NULL;
  }
  hsc_status *status = check_case(one, &why);
  bool refused = hsc_status_code(status) == HSC_UNIMPLEMENTED;
  t->cases++;
  t->refused += refused;
  if ((status && !refused) || why.size > 0) {
    t->failed++;
    hsc_bytes_printf(&t->report, "#   %s: %s\n", one->name,
                     status ? hsc_status_message(status) : hsc_bytes_text(&why));
  } else if (refused && t->only) {
    hsc_bytes_printf(&t->report, "#   %s: refused: %s\n", one->name, hsc_status_message(status));
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&why);
  return NULL;
}

static bool check_family(const char *folder, const char *file, const char *only, int number) {
  hsc_bytes path = {0};
  tally t = {.only = only};
  hsc_bytes_printf(&path, "%s/%s", folder, file);
  int64_t start = hsc_now_ns();
  hsc_status *status = ops_corpus_each(hsc_bytes_text(&path), run_case, &t);
  if (status)
    hsc_bytes_printf(&t.report, "#   %s: %s\n", hsc_bytes_text(&path), hsc_status_message(status));
  bool good = !status && t.failed == 0 && t.cases + t.passed_over > 0;
  printf("%s %d - %s: %d of %d cases agree, %d not built yet (%.2f s)\n%s", good ? "ok" : "not ok",
         number, file, t.cases - t.failed - t.refused, t.cases, t.refused,
         (double)(hsc_now_ns() - start) * 1e-9, hsc_bytes_text(&t.report));
  fflush(stdout);
  hsc_status_free(status);
  hsc_bytes_deinit(&t.report);
  hsc_bytes_deinit(&path);
  return good;
}

// ---- programs -----------------------------------------------------------------------------------

static hsc_status *check_program(const char *root,
                                 const program_reference *reference,
                                 hsc_arena *arena,
                                 hsc_bytes *out_why) {
  hsc_bytes path = {0};
  hsc_bytes text = {0};
  hsc_module *module = NULL;
  hsc_status *status = NULL;
  int results = program_reference_output_count(reference);
  hsc_bytes_printf(&path, "%s/%s", root, program_reference_hlo(reference));
  HSC_GOTO(hsc_bytes_status(&path));
  HSC_GOTO(hsc_program_read_file(path.data, &module));
  HSC_GOTO(hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &text));
  int count = module->entry->parameter_count;
  hsc_literal **arguments = HSC_NEW_ARRAY(arena, hsc_literal *, count + 1);
  hsc_literal **values = HSC_NEW_ARRAY(arena, hsc_literal *, results + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    HSC_GOTO(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], program_reference_seed(reference), (uint32_t)i);
  }
  HSC_GOTO(device_run_program(&device, hsc_bytes_view(&text), count, arguments,
                              &module->entry->root->shape, arena, results, values));
  for (int i = 0; i < results && out_why->size == 0; i++)
    program_reference_judge(reference, i, values[i], arguments, out_why);
done:
  hsc_module_destroy(module);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&path);
  return status;
}

static bool check_reference(const char *root, const char *folder, const char *file, int number) {
  hsc_bytes path = {0};
  hsc_bytes why = {0};
  hsc_arena *arena = NULL;
  program_reference *reference = NULL;
  hsc_bytes_printf(&path, "%s/%s", folder, file);
  int64_t start = hsc_now_ns();
  hsc_status *status = program_reference_read(hsc_bytes_text(&path), &reference);
  if (!status)
    status = hsc_arena_create(&arena);
  if (!status)
    status = check_program(root, reference, arena, &why);
  bool refused = hsc_status_code(status) == HSC_UNIMPLEMENTED;
  bool good = refused || (!status && why.size == 0);
  printf("%s %d - %s (%.2f s)%s%s\n", good ? "ok" : "not ok", number, file,
         (double)(hsc_now_ns() - start) * 1e-9, refused ? " # SKIP " : "",
         refused ? hsc_status_message(status) : "");
  if (!good)
    printf("#   %s\n", status ? hsc_status_message(status) : hsc_bytes_text(&why));
  fflush(stdout);
  hsc_status_free(status);
  hsc_arena_destroy(arena);
  program_reference_destroy(reference);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&why);
  return good;
}

// ---- the walk -----------------------------------------------------------------------------------

static bool wanted(const char *file, bool ops, int count, char **names) {
  if (count == 0)
    return true;
  for (int i = 0; i < (ops ? 1 : count); i++) {
    size_t size = strlen(names[i]);
    if (strncmp(file, names[i], size) == 0 && (!ops || strcmp(file + size, ".json.gz") == 0))
      return true;
  }
  return false;
}

int main(int argc, char **argv) {
  bool ops = argc > 2 && strcmp(argv[2], "ops") == 0;
  if (argc < 4 || (!ops && strcmp(argv[2], "programs") != 0)) {
    fprintf(
        stderr,
        "usage: %s PLUGIN.so ops DIRECTORY [FAMILY [CASE]] | programs SOURCE_ROOT [PREFIX...]\n",
        argv[0]);
    return 2;
  }
  hsc_bytes folder = {0};
  struct dirent **entries = NULL;
  int number = 0;
  int failures = 0;
  hsc_bytes_printf(&folder, "%s%s", argv[3], ops ? "" : "/tests/conformance/reference");
  hsc_status *status = device_run_open(argv[1], &device);
  if (status) {
    fprintf(stderr, "%s\n", hsc_status_message(status));
    hsc_status_free(status);
    return 1;
  }
  int count = scandir(hsc_bytes_text(&folder), &entries, is_json, alphasort);
  for (int i = 0; i < count; i++) {
    if (wanted(entries[i]->d_name, ops, argc - 4, argv + 4))
      failures +=
          ops ? !check_family(hsc_bytes_text(&folder), entries[i]->d_name,
                              argc > 5 ? argv[5] : NULL, ++number)
              : !check_reference(argv[3], hsc_bytes_text(&folder), entries[i]->d_name, ++number);
    free(entries[i]);
  }
  free(entries);
  hsc_bytes_deinit(&folder);
  device_run_close(&device);
  printf("1..%d\n", number);
  return failures || number == 0 ? 1 : 0;
}
