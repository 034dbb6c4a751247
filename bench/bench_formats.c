// bench_formats.c - how fast programs are read and written: each model in each format, repeated to tens of megabytes, on one thread.
//
// usage: bench_formats [--rounds N] PROGRAM...     A program's text is repeated as functions of one module, so that what is parsed is one large
// program; formats take turns in each round. One table on stdout: format, bytes, the median of the rounds in MB/s, and the goal.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/formats.h"

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

static int compare(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b; }

// One module whose entry calls `count` copies of the program with the same arguments.
static hsc_status *repeat(const hsc_module *program, int count, hsc_module **out_module) {
  hsc_module *m;
  hsc_builder b;
  HSC_TRY(hsc_module_create("repeated", &m));
  hsc_builder_init(&b, m, "main_of_all");
  const hsc_computation *entry = program->entry;
  hsc_instr **arguments = HSC_NEW_ARRAY(m->arena, hsc_instr *, entry->parameter_count + 1), **results = HSC_NEW_ARRAY(m->arena, hsc_instr *, count);
  for (int i = 0; i < entry->parameter_count; i++) arguments[i] = hsc_build_parameter(&b, i, hsc_shape_copy(m->arena, entry->parameters[i]->shape), NULL);
  for (int i = 0; i < count; i++) {
    hsc_computation *copy;
    char suffix[16];
    snprintf(suffix, sizeof suffix, "c%d", i);
    hsc_status *status = hsc_computation_clone(m, entry, suffix, true, &copy);
    if (status) return status;
    results[i] = hsc_build_call(&b, copy, entry->parameter_count, arguments);
  }
  HSC_TRY(hsc_builder_finish(&b, hsc_build_tuple(&b, count, results), &m->entry));
  HSC_TRY(hsc_module_sort(m));
  *out_module = m;
  return NULL;
}

int main(int argc, char **argv) {
  static const double goals[FORMATS] = {[HSC_FORMAT_HLO_TEXT] = 50, [HSC_FORMAT_HLO_PROTO] = 200, [HSC_FORMAT_MLIR_BYTECODE] = 100};
  int rounds = 5, first = 1;
  if (argc > 2 && !strcmp(argv[1], "--rounds")) rounds = atoi(argv[2]), first = 3;
  if (rounds < 1 || rounds > MAX_ROUNDS || first >= argc) return fprintf(stderr, "usage: bench_formats [--rounds N] PROGRAM...\n"), 2;
  printf("| program | format | MB | instructions | reading, MB/s | writing, MB/s | goal of reading |\n|---|---|---|---|---|---|---|\n");
  for (int p = first; p < argc; p++) {
    hsc_module *program, *module;
    hsc_status *status = hsc_program_read_file(argv[p], &program);
    if (status) return fail(status);
    hsc_bytes files[FORMATS] = {0};
    status = hsc_program_write(program, HSC_FORMAT_HLO_TEXT, &files[0]);
    if (status) return fail(status);
    int count = (int)(WANTED_BYTES / (files[0].size + 1)) + 1;
    hsc_bytes_deinit(&files[0]);
    if ((status = repeat(program, count, &module))) return fail(status);
    double read[FORMATS][MAX_ROUNDS], write[FORMATS][MAX_ROUNDS];
    for (int round = 0; round < rounds; round++) {
      for (int f = 0; f < FORMATS; f++) {
        hsc_bytes_reset(&files[f]);
        double start = now();
        if ((status = hsc_program_write(module, (hsc_format)f, &files[f]))) return fail(status);
        double written = now();
        hsc_module *again;
        if ((status = hsc_program_read_as((hsc_format)f, hsc_bytes_view(&files[f]), argv[p], &again))) return fail(status);
        double end = now();
        hsc_module_destroy(again);
        write[f][round] = (double)files[f].size * 1e-6 / (written - start);
        read[f][round] = (double)files[f].size * 1e-6 / (end - written);
      }
    }
    const char *name = strrchr(argv[p], '/') ? strrchr(argv[p], '/') + 1 : argv[p];
    for (int f = 0; f < FORMATS; f++) {
      qsort(read[f], (size_t)rounds, sizeof(double), compare);
      qsort(write[f], (size_t)rounds, sizeof(double), compare);
      printf("| %.*s x %d | %s | %.1f | %" PRId64 " | %.0f | %.0f |", (int)strcspn(name, "."), name, count, hsc_format_text((hsc_format)f), (double)files[f].size * 1e-6,
             hsc_module_instr_count(module), read[f][rounds / 2], write[f][rounds / 2]);
      if (goals[f] > 0) printf(" %.0f |\n", goals[f]);
      else printf(" |\n");
      hsc_bytes_deinit(&files[f]);
    }
    hsc_module_destroy(module);
    hsc_module_destroy(program);
  }
  return 0;
}
