// test_programs.c - the programs of models/ on the reference evaluator or the built-in device,
// against what XLA:CPU made of them (reference/). TAP: one line a program.
//
//   test_programs evaluator|cpu SOURCE_ROOT [PREFIX...]    programs whose names start with one of
//   the prefixes; none = all
//   test_programs passes SOURCE_ROOT [PREFIX...]           each program on the device once for
//   every pass: without it, or with it when it runs on request, and with
//                                                          it alone (where a run takes no longer
//                                                          than LONG_RUN_NS). Programs that come
//                                                          out alike are run once.
//                                                          Ends with a table of the passes.
//   test_programs files PROGRAM...                         the same for programs of any format that
//   is read, against the reference evaluator
#include <dirent.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/text/text.h"
#include "backend.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "program_reference.h"
#include "random_module.h"

static const hsc_literal *leaf_of(const hsc_literal *literal, int leaf) {
  while (hsc_shape_is_tuple(&literal->shape)) {
    int e = 0;
    while (leaf >= hsc_shape_leaf_count(&literal->elements[e].shape))
      leaf -= hsc_shape_leaf_count(&literal->elements[e++].shape);
    literal = &literal->elements[e];
  }
  return literal;
}

// A program with its arguments, and what it is to give: a reference of XLA:CPU, or else what the
// evaluator says.
typedef struct test_case {
  backend *target;
  const program_reference *reference;
  hsc_literal *expected;
  hsc_module *module;
  hsc_literal **arguments;
} test_case;

static hsc_status *test_case_read(test_case *c, const char *path, hsc_arena *arena) {
  HSC_TRY(hsc_program_read_file(path, &c->module));
  int count = c->module->entry->parameter_count;
  c->arguments = HSC_NEW_ARRAY(arena, hsc_literal *, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    HSC_TRY(hsc_literal_create(arena, &c->module->entry->parameters[i]->shape, &c->arguments[i]));
    hsc_literal_fill(c->arguments[i], c->reference ? program_reference_seed(c->reference) : 1,
                     (uint32_t)i);
  }
  return c->reference ? NULL : hsc_evaluate(c->module, count, c->arguments, arena, &c->expected);
}

// Appends to out_why where the result is not as the reference of XLA:CPU has it.
static void judge_by_reference(const test_case *c, const hsc_literal *result, hsc_bytes *out_why) {
  int leaves = hsc_shape_leaf_count(&result->shape);
  int expected = program_reference_output_count(c->reference);
  if (leaves != expected)
    hsc_bytes_printf(out_why, "%d results, expected %d", leaves, expected);
  for (int i = 0; i < leaves && out_why->size == 0; i++)
    program_reference_judge(c->reference, i, leaf_of(result, i), c->arguments, out_why);
}

static hsc_status *judge_by_evaluator(const test_case *c,
                                      const hsc_literal *result,
                                      hsc_bytes *out_why) {
  hsc_difference d = {0};
  hsc_status *error = NULL;
  if (!random_results_agree(c->expected, result, &d, &error) && !error)
    hsc_bytes_printf(out_why, "output %d element %lld is %.9g, the evaluator has %.9g", d.leaf,
                     (long long)d.index, d.right, d.left);
  return error;
}

// Runs the program; appends to out_why what is not as it is to be.
static hsc_status *judge(const test_case *c,
                         backend_program *program,
                         int64_t *out_ns,
                         hsc_bytes *out_why) {
  hsc_arena *arena = NULL;
  hsc_literal *result = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(backend_program_run(program, c->module->entry->parameter_count, c->arguments, arena,
                               &result, out_ns));
  if (c->reference)
    judge_by_reference(c, result, out_why);
  else
    HSC_GOTO(judge_by_evaluator(c, result, out_why));
done:
  hsc_arena_destroy(arena);
  return status;
}

// ---- every pass ---------------------------------------------------------------------------------

// The module and the order in which its instructions run, which its fingerprint leaves out.
static hsc_status *ordered_fingerprint(const hsc_module *module, hsc_hash128 *out_hash) {
  hsc_module *copy = NULL;
  hsc_bytes words = {0};
  HSC_TRY(hsc_module_clone(module, &copy));
  hsc_hash128 of_module = hsc_module_fingerprint(copy);
  hsc_bytes_append(&words, &of_module, sizeof of_module);
  for (int c = 0; c < copy->computation_count; c++) {
    int32_t number = 0;
    for (hsc_instr *instr = copy->computations[c]->first; instr; instr = instr->next) {
      hsc_hash128 form = hsc_instr_fingerprint(instr);
      instr->index = number++;
      hsc_bytes_append(&words, &form, sizeof form);
      for (int i = 0; i < instr->operand_count; i++)
        hsc_bytes_append(&words, &instr->operands[i]->index, sizeof instr->index);
    }
  }
  *out_hash = hsc_hash128_of(words.data, words.size, 0);
  hsc_status *status = hsc_bytes_status(&words);
  hsc_bytes_deinit(&words);
  hsc_module_destroy(copy);
  return status;
}

// all passes but one (or with one that runs on request); one alone
enum { SWITCHED, ALONE, WAYS };

typedef struct tally {
  // differ: from the program of the default passes, or for ALONE of no passes; those that are alike
  // agree with it
  int programs, differ, agree;
} tally;

typedef struct pass_tallies {
  tally of[WAYS][HSC_PASS_COUNT];
  int variants, runs;
} pass_tallies;

typedef struct outcome {
  hsc_hash128 program;
  bool agrees;
  int64_t run_ns;
} outcome;

// by the default passes; without fusion such programs take minutes
enum { LONG_RUN_NS = 100000000 };

enum { MAX_OUTCOMES = WAYS * (HSC_PASS_COUNT + 1) };
typedef struct outcomes {
  outcome v[MAX_OUTCOMES];
  int count;
} outcomes;

// Compiles with the flags, and runs what no variant before came out as. A variant that fails is
// told on stdout.
static bool try_variant(const test_case *c,
                        const char *flags,
                        outcomes *known,
                        pass_tallies *tallies,
                        hsc_hash128 *out_program) {
  backend_program *program = NULL;
  hsc_bytes why = {0};
  bool agrees = false;
  hsc_status *status = backend_compile(c->target, c->module, flags, &program);
  if (!status)
    status = ordered_fingerprint(backend_program_module(program), out_program);
  tallies->variants++;
  if (!status) {
    for (int i = 0; i < known->count; i++) {
      if (memcmp(&known->v[i].program, out_program, sizeof *out_program) != 0)
        continue;
      agrees = known->v[i].agrees;
      goto done;
    }
    int64_t run_ns = 0;
    status = judge(c, program, &run_ns, &why);
    agrees = !status && why.size == 0;
    tallies->runs++;
    known->v[known->count++] = (outcome){*out_program, agrees, run_ns};
  }
  if (!agrees)
    printf("#   %s: %s\n", flags, status ? hsc_status_message(status) : hsc_bytes_text(&why));
done:
  hsc_status_free(status);
  hsc_bytes_deinit(&why);
  backend_program_release(program);
  return agrees;
}

static bool check_passes(const test_case *c, pass_tallies *tallies) {
  static outcomes known;
  static const char *const bases[WAYS] = {
      [SWITCHED] = "", [ALONE] = "--xla_enable_hlo_passes_only=none"};
  bool good = true;
  known.count = 0;
  for (int way = 0; way < WAYS; way++) {
    hsc_hash128 base = {0, 0};
    if (way == ALONE && known.count > 0 && known.v[0].run_ns > LONG_RUN_NS)
      continue;
    good &= try_variant(c, bases[way], &known, tallies, &base);
    for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
      char flags[128];
      hsc_hash128 program = {0, 0};
      const char *flag;
      if (way == ALONE)
        flag = "xla_enable_hlo_passes_only";
      else if (hsc_pass_is_on_request((hsc_pass_id)pass))
        flag = "hloscope_enable_hlo_passes";
      else
        flag = "xla_disable_hlo_passes";
      snprintf(flags, sizeof flags, "--%s=%s", flag, hsc_pass_text((hsc_pass_id)pass));
      tally *t = &tallies->of[way][pass];
      bool agrees = try_variant(c, flags, &known, tallies, &program);
      t->programs++;
      t->differ += memcmp(&program, &base, sizeof base) != 0;
      t->agree += agrees;
      good &= agrees;
    }
  }
  return good;
}

static void print_tallies(const pass_tallies *tallies) {
  printf(
      "# %d variants, %d programs that differ were run\n# %-44s  switched: differ agree  of   "
      "alone: differ agree  of\n",
      tallies->variants, tallies->runs, "pass");
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    const tally *s = &tallies->of[SWITCHED][pass];
    const tally *a = &tallies->of[ALONE][pass];
    printf("# %-7s %-36s %17d %5d %3d %15d %5d %3d\n",
           hsc_pass_is_on_request((hsc_pass_id)pass) ? "with" : "without",
           hsc_pass_text((hsc_pass_id)pass), s->differ, s->agree, s->programs, a->differ, a->agree,
           a->programs);
  }
}

// ---- all together -------------------------------------------------------------------------------

static bool wanted(const char *name, int count, char **prefixes) {
  for (int i = 0; i < count; i++)
    if (hsc_starts_with(name, prefixes[i]))
      return true;
  return count == 0;
}

static int is_reference(const struct dirent *entry) {
  return hsc_ends_with(entry->d_name, ".json") || hsc_ends_with(entry->d_name, ".json.gz");
}

// `path`: of a reference, or with `by_evaluator` of a program. passes: NULL = the program once.
// *out_ns: what the run took, or all runs and compilations.
static bool check(backend *target,
                  const char *root,
                  const char *path,
                  bool by_evaluator,
                  pass_tallies *passes,
                  int64_t *out_ns,
                  hsc_bytes *out_why) {
  test_case c = {.target = target};
  hsc_arena *arena = NULL;
  program_reference *reference = NULL;
  backend_program *program = NULL;
  hsc_bytes hlo = {0};
  hsc_status *status = NULL;
  bool good = false;
  HSC_GOTO(hsc_arena_create(&arena));
  if (!by_evaluator) {
    HSC_GOTO(program_reference_read(path, &reference));
    c.reference = reference;
    hsc_bytes_printf(&hlo, "%s/%s", root, program_reference_hlo(reference));
  }
  HSC_GOTO(test_case_read(&c, by_evaluator ? path : hsc_bytes_text(&hlo), arena));
  if (passes) {
    int64_t start = hsc_now_ns();
    good = check_passes(&c, passes);
    *out_ns = hsc_now_ns() - start;
    if (!good)
      hsc_bytes_append_text(out_why, "variants do not agree, see above");
  } else {
    HSC_GOTO(backend_compile(target, c.module, getenv("XLA_FLAGS"), &program));
    HSC_GOTO(judge(&c, program, out_ns, out_why));
    good = out_why->size == 0;
  }
done:
  if (status)
    hsc_bytes_append_text(out_why, hsc_status_message(status));
  hsc_status_free(status);
  hsc_bytes_deinit(&hlo);
  backend_program_release(program);
  hsc_module_destroy(c.module);
  hsc_arena_destroy(arena);
  program_reference_destroy(reference);
  return good;
}

static int number, failures;

static void tell(bool good, const char *name, int64_t ns, hsc_bytes *why) {
  printf("%s %d - %s (%.2f s)\n", good ? "ok" : "not ok", ++number, name, (double)ns * 1e-9);
  if (!good)
    printf("#   %s\n", hsc_bytes_text(why));
  fflush(stdout);
  failures += !good;
  hsc_bytes_deinit(why);
}

static void check_references(
    backend *target, const char *root, int prefix_count, char **prefixes, pass_tallies *passes) {
  hsc_bytes folder = {0};
  hsc_bytes_printf(&folder, "%s/tests/conformance/reference", root);
  struct dirent **entries = NULL;
  int count = scandir(hsc_bytes_text(&folder), &entries, is_reference, alphasort);
  for (int i = 0; i < count; i++) {
    if (wanted(entries[i]->d_name, prefix_count, prefixes)) {
      hsc_bytes path = {0};
      hsc_bytes why = {0};
      int64_t ns = 0;
      hsc_bytes_printf(&path, "%s/%s", hsc_bytes_text(&folder), entries[i]->d_name);
      tell(check(target, root, hsc_bytes_text(&path), false, passes, &ns, &why), entries[i]->d_name,
           ns, &why);
      hsc_bytes_deinit(&path);
    }
    free(entries[i]);
  }
  free(entries);
  hsc_bytes_deinit(&folder);
}

static void check_files(backend *target, int count, char **paths, pass_tallies *passes) {
  for (int i = 0; i < count; i++) {
    hsc_bytes why = {0};
    int64_t ns = 0;
    tell(check(target, NULL, paths[i], true, passes, &ns, &why), paths[i], ns, &why);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr,
            "usage: %s evaluator|cpu|passes SOURCE_ROOT [PREFIX...]\n       %s files PROGRAM...\n",
            argv[0], argv[0]);
    return 2;
  }
  static pass_tallies tallies;
  bool files = strcmp(argv[1], "files") == 0;
  bool passes = files || strcmp(argv[1], "passes") == 0;
  backend *target = NULL;
  hsc_status *opened = backend_open(passes ? "cpu" : argv[1], &target);
  if (opened) {
    printf("Bail out! %s\n", hsc_status_message(opened));
    hsc_status_free(opened);
    return 1;
  }
  if (files)
    check_files(target, argc - 2, argv + 2, &tallies);
  else
    check_references(target, argv[2], argc - 3, argv + 3, passes ? &tallies : NULL);
  backend_close(target);
  if (passes)
    print_tallies(&tallies);
  printf("1..%d\n", number);
  return failures || number == 0 ? 1 : 0;
}
