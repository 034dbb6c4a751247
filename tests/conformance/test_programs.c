// test_programs.c - the programs of models/ on the reference evaluator or the built-in device, against what XLA:CPU made of them (reference/). TAP: one line a program.
//
//   test_programs evaluator|cpu SOURCE_ROOT [PREFIX...]    programs whose names start with one of the prefixes; none = all
#include <dirent.h>
#include <stdlib.h>

#include "backend.h"
#include "formats/formats.h"
#include "program_reference.h"

static const hsc_literal *leaf_of(const hsc_literal *literal, int leaf) {
  while (hsc_shape_is_tuple(&literal->shape)) {
    int e = 0;
    while (leaf >= hsc_shape_leaf_count(&literal->elements[e].shape)) leaf -= hsc_shape_leaf_count(&literal->elements[e++].shape);
    literal = &literal->elements[e];
  }
  return literal;
}

static hsc_status *check(backend *target, const char *root, const program_reference *reference, hsc_arena *arena, int64_t *out_ns, hsc_bytes *out_why) {
  hsc_bytes path = {0};
  hsc_module *module = NULL;
  hsc_literal *result = NULL, **arguments = NULL;
  hsc_status *status = NULL;
  hsc_bytes_printf(&path, "%s/%s", root, program_reference_hlo(reference));
  HSC_GOTO(hsc_bytes_status(&path));
  HSC_GOTO(hsc_program_read_file(path.data, &module));
  int count = module->entry->parameter_count;
  arguments = HSC_NEW_ARRAY(arena, hsc_literal *, count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    HSC_GOTO(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], program_reference_seed(reference), (uint32_t)i);
  }
  HSC_GOTO(backend_run(target, module, count, arguments, arena, &result, out_ns));
  int leaves = hsc_shape_leaf_count(&result->shape);
  if (leaves != program_reference_output_count(reference)) hsc_bytes_printf(out_why, "%d results, expected %d", leaves, program_reference_output_count(reference));
  for (int i = 0; i < leaves && out_why->size == 0; i++) program_reference_judge(reference, i, leaf_of(result, i), arguments, out_why);
done:
  hsc_module_destroy(module);
  hsc_bytes_deinit(&path);
  return status;
}

static bool wanted(const char *name, int count, char **prefixes) {
  for (int i = 0; i < count; i++)
    if (hsc_starts_with(name, prefixes[i])) return true;
  return count == 0;
}

static int is_reference(const struct dirent *entry) { return hsc_ends_with(entry->d_name, ".json") || hsc_ends_with(entry->d_name, ".json.gz"); }

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s evaluator|cpu SOURCE_ROOT [PREFIX...]\n", argv[0]);
    return 2;
  }
  backend *target = NULL;
  hsc_status *opened = backend_open(argv[1], &target);
  if (opened) {
    printf("Bail out! %s\n", hsc_status_message(opened));
    hsc_status_free(opened);
    return 1;
  }
  argv++;
  argc--;
  hsc_bytes folder = {0};
  hsc_bytes_printf(&folder, "%s/tests/conformance/reference", argv[1]);
  struct dirent **entries = NULL;
  int count = scandir(hsc_bytes_text(&folder), &entries, is_reference, alphasort), number = 0, failures = 0;
  for (int i = 0; i < count; i++) {
    if (wanted(entries[i]->d_name, argc - 2, argv + 2)) {
      hsc_bytes path = {0}, why = {0};
      hsc_arena *arena = NULL;
      program_reference *reference = NULL;
      int64_t ns = 0;
      hsc_bytes_printf(&path, "%s/%s", hsc_bytes_text(&folder), entries[i]->d_name);
      hsc_status *status = program_reference_read(hsc_bytes_text(&path), &reference);
      if (!status) status = hsc_arena_create(&arena);
      if (!status) status = check(target, argv[1], reference, arena, &ns, &why);
      bool good = !status && why.size == 0;
      printf("%s %d - %s (%.2f s)\n", good ? "ok" : "not ok", ++number, entries[i]->d_name, (double)ns * 1e-9);
      if (!good) printf("#   %s\n", status ? hsc_status_message(status) : hsc_bytes_text(&why));
      failures += !good;
      hsc_status_free(status);
      hsc_arena_destroy(arena);
      program_reference_destroy(reference);
      hsc_bytes_deinit(&path);
      hsc_bytes_deinit(&why);
    }
    free(entries[i]);
  }
  free(entries);
  hsc_bytes_deinit(&folder);
  backend_close(target);
  printf("1..%d\n", number);
  return failures || number == 0 ? 1 : 0;
}
