// bench_formats.c - how fast programs are read and written: each model in each format, repeated to
// tens of megabytes, on one thread.
//
// usage: bench_formats [--rounds N] PROGRAM...     A program's text is repeated as functions of one
// module, so that what is parsed is one large
// program; formats take turns in each round. One table on stdout: bytes, and medians of the rounds:
// parsing (bytes to instructions; of MLIR to a tree of operations, which is what MLIR's own parser
// makes), importing (that tree to HLO), checking what was read, writing. Time is the processor's
// time of the thread.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/mlir/mlir_ir.h"

enum { MAX_ROUNDS = 64, WANTED_BYTES = 24 << 20, FORMATS = HSC_FORMAT_COUNT };

// The processor's time of this thread, so that a busy machine counts less.
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(hsc_status *status) {
  fprintf(stderr, "bench_formats: %s\n", hsc_status_message(status));
  hsc_status_free(status);
  return 1;
}

static int compare(const void *a, const void *b) {
  return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

// One module whose entry calls `count` copies of the program with the same arguments.
static hsc_status *repeat(const hsc_module *program, int count, hsc_module **out_module) {
  hsc_module *m;
  hsc_builder b;
  HSC_TRY(hsc_module_create("repeated", &m));
  hsc_builder_init(&b, m, "main_of_all");
  const hsc_computation *entry = program->entry;
  hsc_instr **arguments = HSC_NEW_ARRAY(m->arena, hsc_instr *, entry->parameter_count + 1);
  hsc_instr **results = HSC_NEW_ARRAY(m->arena, hsc_instr *, count);
  for (int i = 0; i < entry->parameter_count; i++)
    arguments[i] =
        hsc_build_parameter(&b, i, hsc_shape_copy(m->arena, entry->parameters[i]->shape), NULL);
  for (int i = 0; i < count; i++) {
    hsc_computation *copy;
    char suffix[16];
    snprintf(suffix, sizeof suffix, "c%d", i);
    hsc_status *status = hsc_computation_clone(m, entry, suffix, true, &copy);
    if (status)
      return status;
    results[i] = hsc_build_call(&b, copy, entry->parameter_count, arguments);
  }
  HSC_TRY(hsc_builder_finish(&b, hsc_build_tuple(&b, count, results), &m->entry));
  HSC_TRY(hsc_module_sort(m));
  *out_module = m;
  return NULL;
}

typedef struct times {
  double tree, read, verify, write;  // seconds; tree is a part of read, 0 where there is none
} times;

static hsc_status *read_mlir(
    bool is_text, hsc_view bytes, double start, times *t, hsc_module **out_module) {
  hsc_arena *arena = NULL;
  hsc__mlir_op *top;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = is_text ? hsc__mlir_text_read(bytes, "bench", arena, &top)
                               : hsc__mlir_bytecode_read(bytes, "bench", arena, &top);
  t->tree = now() - start;
  if (!status)
    status = hsc__stablehlo_import(top, "bench", 0, NULL, 0, out_module);
  hsc_arena_destroy(arena);
  return status;
}

static hsc_status *measure(const hsc_module *module, hsc_format format, hsc_bytes *file, times *t) {
  hsc_module *again;
  hsc_bytes_reset(file);
  double start = now();
  HSC_TRY(hsc_program_write(module, format, file));
  t->write = now() - start;
  hsc_view bytes = hsc_bytes_view(file);
  start = now();
  switch (format) {
    case HSC_FORMAT_HLO_TEXT:
      HSC_TRY(hsc_hlo_text_parse(bytes, "bench", &again));
      break;
    case HSC_FORMAT_HLO_PROTO:
      HSC_TRY(hsc_hlo_proto_read(bytes, "bench", &again));
      break;
    default:
      HSC_TRY(read_mlir(format == HSC_FORMAT_MLIR_TEXT, bytes, start, t, &again));
  }
  t->read = now() - start;
  start = now();
  hsc_status *status = hsc_module_verify(again);
  t->verify = now() - start;
  hsc_module_destroy(again);
  return status;
}

static double median(const times *rounds, int count, size_t place) {
  double values[MAX_ROUNDS];
  for (int i = 0; i < count; i++)
    memcpy(&values[i], (const char *)&rounds[i] + place, sizeof(double));
  qsort(values, (size_t)count, sizeof(double), compare);
  return values[count / 2];
}

static hsc_status *bench_program(const char *path, int rounds) {
  static const char *const goals[FORMATS] = {[HSC_FORMAT_HLO_TEXT] = "50",
                                             [HSC_FORMAT_HLO_PROTO] = "200",
                                             [HSC_FORMAT_MLIR_TEXT] = "",
                                             [HSC_FORMAT_MLIR_BYTECODE] = "100"};
  static times all[FORMATS][MAX_ROUNDS];
  hsc_module *program, *module;
  hsc_bytes files[FORMATS] = {0};
  HSC_TRY(hsc_program_read_file(path, &program));
  HSC_TRY(hsc_program_write(program, HSC_FORMAT_HLO_TEXT, &files[0]));
  int count = (int)(WANTED_BYTES / (files[0].size + 1)) + 1;
  HSC_TRY(repeat(program, count, &module));
  for (int round = 0; round < rounds; round++)
    for (int f = 0; f < FORMATS; f++)
      HSC_TRY(measure(module, (hsc_format)f, &files[f], &all[f][round]));
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  double instructions = (double)hsc_module_instr_count(module);
  for (int f = 0; f < FORMATS; f++) {
    double mb = (double)files[f].size * 1e-6;
    double tree = median(all[f], rounds, offsetof(times, tree));
    double read = median(all[f], rounds, offsetof(times, read));
    double parse = tree > 0 ? tree : read;
    double each = 1e6 / instructions;
    char import[32] = "";
    if (tree > 0)
      snprintf(import, sizeof import, "%.2f", (read - tree) * each);
    printf("| %.*s x %d | %s | %.1f | %.0f | %.0f | %s | %.2f | %s | %.0f | %.2f | %.0f |\n",
           (int)strcspn(name, "."), name, count, hsc_format_text((hsc_format)f), mb, mb * each,
           mb / parse, goals[f], parse * each, import, mb / read,
           median(all[f], rounds, offsetof(times, verify)) * each,
           mb / median(all[f], rounds, offsetof(times, write)));
    hsc_bytes_deinit(&files[f]);
  }
  hsc_module_destroy(module);
  hsc_module_destroy(program);
  return NULL;
}

int main(int argc, char **argv) {
  int rounds = 5;
  int first = 1;
  if (argc > 2 && !strcmp(argv[1], "--rounds")) {
    rounds = atoi(argv[2]);
    first = 3;
  }
  if (rounds < 1 || rounds > MAX_ROUNDS || first >= argc) {
    fprintf(stderr, "usage: bench_formats [--rounds N] PROGRAM...\n");
    return 2;
  }
  puts(
      "| program | format | MB | bytes an instruction | parsing, MB/s | goal | parsing, us an "
      "instruction | importing, us | both, MB/s | checking, us | writing, MB/s |");
  puts("|---|---|---|---|---|---|---|---|---|---|---|");
  for (int p = first; p < argc; p++) {
    hsc_status *status = bench_program(argv[p], rounds);
    if (status)
      return fail(status);
  }
  return 0;
}
