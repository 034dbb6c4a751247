// look.c - does a device give wrong numbers for these programs, or not get through? For
// tools/hunt.py, which blames what is said here.
//
//   hunt_look HLOSCOPE DEVICE LIMIT_S [crash]      programs as lines on standard input
//
// Each program is written as StableHLO beside its file first (p.hlo: p.mlir), and that is looked
// at: what StableHLO cannot say (a fusion) no framework can hand to a compiler either.
//
// Writes one line a program: "agrees", "differs", "ends" (a crash) or "unknown" (refused, too late,
// or nothing to compare with), a tab, what was seen. One observer (lab/reduce/symptom.h) looks at
// all of them: its workers stay. `crash`, and a device that only compiles: crashes are looked for.
#include <stdlib.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/reduce/symptom.h"
#include "worker/scratch.h"

static const char *verdict_of(const hsc_symptom *symptom, const hsc_observation *seen) {
  if (seen->shows)
    return symptom->kind == HSC_SYMPTOM_WRONG ? "differs" : "ends";
  bool runs = seen->text && !strcmp(seen->text, "runs");
  bool ran = symptom->kind == HSC_SYMPTOM_WRONG ? seen->known : runs;
  return ran ? "agrees" : "unknown";
}

static void tell(const char *verdict, const char *seen) {
  printf("%s\t%.*s\n", verdict, (int)strcspn(seen, "\n"), seen);
  fflush(stdout);
}

// Writes the program as StableHLO; *out_path NULL: it cannot be said, which was told.
static hsc_status *write_stablehlo(const char *path, hsc_arena *arena, const char **out_path) {
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  *out_path = NULL;
  HSC_TRY(hsc_program_read_file(path, &module));
  hsc_status *status = hsc_program_write(module, HSC_FORMAT_MLIR_TEXT, &text);
  if (status && hsc_status_code(status) == HSC_UNIMPLEMENTED) {
    tell("unknown", hsc_status_message(status));
    hsc_status_free(status);
    status = NULL;
  } else if (!status) {
    const char *ending = strrchr(path, '.');
    size_t length = ending ? (size_t)(ending - path) : strlen(path);
    *out_path = hsc_arena_printf(arena, "%.*s.mlir", (int)length, path);
    status = hsc_arena_status(arena);
    if (!status)
      status = hsc_file_write_atomic(*out_path, text.data, text.size);
  }
  hsc_bytes_deinit(&text);
  hsc_module_destroy(module);
  return status;
}

// A program that cannot be compared may have ended the process: that is looked for by itself.
static hsc_status *look_at(hsc_observer *observer, const char *path, bool crash_only) {
  hsc_symptom wrong = {.kind = HSC_SYMPTOM_WRONG, .text = "wrong"};
  hsc_symptom crash = {.kind = HSC_SYMPTOM_CRASH, .text = "crash"};
  hsc_symptom *symptom = crash_only ? &crash : &wrong;
  hsc_looked_at program = {.path = path};
  hsc_observation seen = {0};
  HSC_TRY(hsc_observer_look(observer, symptom, &program, &seen));
  if (!crash_only && !seen.known) {
    hsc_observation_deinit(&seen);
    symptom = &crash;
    HSC_TRY(hsc_observer_look(observer, symptom, &program, &seen));
  }
  const char *verdict = verdict_of(symptom, &seen);
  if (!crash_only && symptom == &crash && !strcmp(verdict, "agrees"))
    verdict = "unknown";
  tell(verdict, seen.text ? seen.text : "");
  hsc_observation_deinit(&seen);
  return NULL;
}

static hsc_status *run(int argc, char **argv) {
  hsc_arena *arena = NULL;
  hsc_observer *observer = NULL;
  char *scratch = NULL;
  char line[4096];
  hsc_device_spec device = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_scratch_create(&scratch));
  HSC_GOTO(hsc_device_spec_parse(argv[2], arena, &device));
  int64_t limit_ns = (int64_t)(strtod(argv[3], NULL) * 1e9);
  HSC_GOTO(hsc_observer_create(&(hsc_observer_options){.device = &device,
                                                       .executable = argv[1],
                                                       .scratch = scratch,
                                                       .limit_ns = limit_ns,
                                                       .reference_limit_ns = limit_ns},
                               &observer));
  bool crash_only = device.topology || (argc > 4 && !strcmp(argv[4], "crash"));
  while (fgets(line, sizeof line, stdin)) {
    const char *path = NULL;
    line[strcspn(line, "\n")] = 0;
    HSC_GOTO(write_stablehlo(line, arena, &path));
    if (path)
      HSC_GOTO(look_at(observer, path, crash_only));
  }
done:
  hsc_observer_destroy(observer);
  hsc_scratch_destroy(scratch);
  hsc_arena_destroy(arena);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s HLOSCOPE DEVICE LIMIT_S [crash]\n", argv[0]);
    return 2;
  }
  hsc_status *status = run(argc, argv);
  if (!status)
    return 0;
  fprintf(stderr, "%s: %s\n", argv[2], hsc_status_message(status));
  hsc_status_free(status);
  return 1;
}
