// Near misses of every example (near_miss.h), the evaluator being the judge: whatever a rule of the
// algebraic simplifier or a pass makes of them, the numbers stay. What a rule does when others use
// its parts too is written down in near_misses.after.txt, because no number shows it.
//
//   build/tests/unit/test_near_misses . --update     writes the file anew; read the difference
//   build/tests/unit/test_near_misses . --count      says how many programs there were
#include <math.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "near_miss.h"
#include "passes/algsimp/rules.h"
#include "unit.h"

static const char *source_root;
static bool update;
static bool count_them;

// The example's program into `out`; where its entry computation begins.
static size_t print_example(size_t example, hsc_bytes *out) {
  hsc_rule_example e = hsc_rule_example_get(example);
  hsc_rule_example_print(&e, out);
  return (size_t)(strstr(hsc_bytes_text(out), "ENTRY") - hsc_bytes_text(out));
}

static void print_name(size_t example, hsc_bytes *out) {
  hsc_rule_example e = hsc_rule_example_get(example);
  hsc_bytes_printf(out, "%s: %s", hsc_op_text(e.op), e.text);
}

// What is run, and what came of it.
typedef struct {
  const char *what;     // the rule or pass, for messages
  const char *pass;     // its name
  const char *options;  // of the algebraic simplifier; NULL = none
  int64_t offered;      // near misses that were made
  int64_t programs;     // of them, those that are programs and were tried
  int64_t rewritten;    // of them, what the pass changed
  int64_t failed;       // of these, with other numbers
} trial;

static hsc_status *run_pass(hsc_module *module, const trial *t, bool *out_changed) {
  hsc_pass_log log = {0};
  hsc_status *status = hsc_passes_run(module, t->pass,
                                      &(hsc_pass_options){.fuel = -1,
                                                          .verify = true,
                                                          .algsimp = t->options,
                                                          .target = &hsc_pass_example_target,
                                                          .memory_limit_bytes = 1000},
                                      &log);
  *out_changed = log.run_count == 1 && log.runs[0].changed;
  hsc_pass_log_deinit(&log);
  return status;
}

enum { MAX_ARGUMENTS = 16, LOOP_US = 20000 };

typedef struct {
  hsc_arena *arena;
  hsc_literal *arguments[MAX_ARGUMENTS];
} inputs;

static bool inputs_make(inputs *in, const hsc_module *module, uint64_t seed) {
  const hsc_computation *entry = module->entry;
  if (entry->parameter_count > MAX_ARGUMENTS)
    return false;
  EXPECT_OK(hsc_arena_create(&in->arena));
  for (int i = 0; i < entry->parameter_count; i++) {
    EXPECT_OK(hsc_literal_create(in->arena, &entry->parameters[i]->shape, &in->arguments[i]));
    hsc_literal_fill(in->arguments[i], seed, (uint32_t)i);
  }
  return true;
}

static bool same_enough(const hsc_difference *d, const hsc_shape *shape) {
  bool is_number = isfinite(d->left) && isfinite(d->right);
  hsc_type type = hsc_shape_leaf(shape, d->leaf)->type;
  if (!hsc_type_is_float(type) && !hsc_type_is_complex(type))
    return d->max_ulp == 0;
  // What overflows or has no real root may come out otherwise: each_rule_keeps_the_limits of
  // test_algsimp_rules.c has the list of that.
  return !is_number || d->max_ulp <= 256 || d->max_abs <= 1e-4 || d->max_rel <= 1e-3;
}

// What the evaluator says of a program before and after the pass.
typedef enum { SAME, NO_NUMBERS, DIFFERENT } verdict;

static verdict compare_once(const hsc_module *before, const hsc_module *after, uint64_t seed) {
  inputs in = {0};
  hsc_literal *left = NULL;
  hsc_literal *right = NULL;
  hsc_difference d;
  int count = before->entry->parameter_count;
  if (!inputs_make(&in, before, seed))
    return NO_NUMBERS;
  verdict v = NO_NUMBERS;
  hsc_status *refused = hsc_evaluate(before, count, in.arguments, in.arena, &left);
  if (!refused) {
    EXPECT_OK(hsc_evaluate(after, count, in.arguments, in.arena, &right));
    EXPECT_OK(hsc_literal_compare(left, right, &d));
    v = same_enough(&d, &left->shape) ? SAME : DIFFERENT;
  }
  hsc_status_free(refused);
  hsc_arena_destroy(in.arena);
  return v;
}

static verdict compare(const hsc_module *before, const hsc_module *after) {
  verdict v = compare_once(before, after, 1);
  return v == SAME ? compare_once(before, after, 2) : v;
}

// A near miss of a loop may not end: it has so much processor time, of which the others need less
// than a tenth.
static verdict compare_loops(const hsc_module *before, const hsc_module *after) {
  int state = 0;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value.tv_usec = LOOP_US}, NULL);
    _exit((int)compare(before, after));
  }
  assert_int_equal(waitpid(child, &state, 0), child);
  return WIFEXITED(state) ? (verdict)WEXITSTATUS(state) : NO_NUMBERS;
}

// The numbers before and after the pass are the same.
static void judge(trial *t, const char *text, const char *change) {
  hsc_module *module = NULL;
  hsc_module *original = NULL;
  bool changed = false;
  near_miss_parse(text, &module);
  if (!module)
    return;
  t->programs++;
  EXPECT_OK(hsc_module_clone(module, &original));
  hsc_status *status = run_pass(module, t, &changed);
  if (status && hsc_status_code(status) != HSC_UNIMPLEMENTED) {
    t->failed++;
    print_error("%s; %s: %s\n%s", t->what, change, hsc_status_message(status), text);
  }
  if (changed && !status) {
    bool has_loop = strstr(text, " while(") != NULL;
    verdict v = has_loop ? compare_loops(original, module) : compare(original, module);
    t->rewritten++;
    t->failed += v == DIFFERENT;
    if (v == DIFFERENT)
      print_error("%s; %s: other numbers\n%s", t->what, change, text);
  }
  hsc_status_free(status);
  hsc_module_destroy(module);
  hsc_module_destroy(original);
}

static void visit(void *context, const char *text, const char *change) {
  judge(context, text, change);
}

// The examples of passes are programs and not lines: one change of four in the quick suite, each
// time the same.
static void visit_some(void *context, const char *text, const char *change) {
  trial *t = context;
  if (t->offered++ % cases_of(4, 1) == 0)
    judge(t, text, change);
}

static void say_count(const trial *t) {
  if (count_them)
    print_message("%8lld programs, %8lld rewritten: %s\n", (long long)t->programs,
                  (long long)t->rewritten, t->what);
}

static int64_t all_failed;

static void rules_keep_the_numbers_of_their_near_misses(void **state) {
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    hsc_bytes text = {0};
    hsc_bytes what = {0};
    print_name(i, &what);
    size_t entry = print_example(i, &text);
    trial t = {.what = hsc_bytes_text(&what),
               .pass = "algsimp",
               .options = hsc_rule_example_get(i).options};
    near_misses(hsc_bytes_text(&text), entry, visit, &t);
    say_count(&t);
    all_failed += t.failed;
    hsc_bytes_deinit(&text);
    hsc_bytes_deinit(&what);
  }
  assert_int_equal(all_failed, 0);
}

// Passes whose result has a choice: eigenvectors are known up to their signs (and within the space
// of equal eigenvalues), so a program that reads them otherwise may get other numbers.
static bool has_a_choice(int pass) {
  return pass == HSC_PASS_eigh_expander;
}

static void passes_keep_the_numbers_of_their_near_misses(void **state) {
  all_failed = 0;
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++) {
    trial t = {.what = hsc_pass_text((hsc_pass_id)pass), .pass = hsc_pass_text((hsc_pass_id)pass)};
    if (!has_a_choice(pass))
      near_misses(hsc_pass_example((hsc_pass_id)pass), 0, visit_some, &t);
    say_count(&t);
    all_failed += t.failed;
  }
  assert_int_equal(all_failed, 0);
}

// "rule: changed beside users of x, y; left alone beside users of a", a line for each rule.
static void write_users(size_t rule, hsc_bytes *out) {
  hsc_bytes text = {0};
  hsc_bytes lists[2] = {{0}, {0}};
  trial t = {.pass = "algsimp", .options = hsc_rule_example_get(rule).options};
  print_example(rule, &text);
  for (int which = 0;; which++) {
    hsc_module *module = NULL;
    const char *name = NULL;
    bool changed = false;
    near_miss_parse(hsc_bytes_text(&text), &module);
    assert_non_null(module);
    if (near_miss_add_user(module, which, &name)) {
      EXPECT_OK(run_pass(module, &t, &changed));
      hsc_bytes_printf(&lists[changed], " %s", name);
    }
    hsc_module_destroy(module);
    if (!name)
      break;
  }
  print_name(rule, out);
  hsc_bytes_printf(out, "\n  changed beside users of%s; left alone beside users of%s\n",
                   lists[1].size ? hsc_bytes_text(&lists[1]) : " none",
                   lists[0].size ? hsc_bytes_text(&lists[0]) : " none");
  hsc_bytes_deinit(&lists[0]);
  hsc_bytes_deinit(&lists[1]);
  hsc_bytes_deinit(&text);
}

static void rules_beside_other_users_are_as_written_down(void **state) {
  hsc_bytes text = {0};
  hsc_bytes expected = {0};
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/unit/near_misses.after.txt", source_root);
  for (size_t i = 0; i < hsc_rule_example_count(); i++)
    write_users(i, &text);
  if (update)
    EXPECT_OK(hsc_file_write_atomic(path, text.data, text.size));
  EXPECT_OK(hsc_file_read(path, &expected));
  const char *now = hsc_bytes_text(&text);
  const char *then = hsc_bytes_text(&expected);
  size_t line = 0;
  for (size_t at = 0; now[at] && now[at] == then[at]; at++)
    if (now[at] == '\n')
      line = at + 1;
  if (strcmp(now, then) != 0)
    fail_msg("beside other users a rule does no longer what %s says, from here on:\n%.400s", path,
             now + line);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&expected);
}

// ---- fingerprints -------------------------------------------------------------------------------

typedef struct meaning {
  const char *of;
  hsc_hash128 fingerprint;
  hsc_bytes text;
  int64_t others, alike;
} meaning;

// Without metadata, and without the first line's word on whether the program is scheduled: what it
// computes depends on neither.
static void print_meaning(hsc_module *module, hsc_bytes *out) {
  module->is_scheduled = false;
  hsc_module_print(module, &(hsc_print_options){.no_metadata = true}, out);
}

static void fingerprint_differs(void *context, const char *text, const char *change) {
  meaning *m = context;
  hsc_module *module = NULL;
  hsc_bytes printed = {0};
  near_miss_parse(text, &module);
  if (!module)
    return;
  print_meaning(module, &printed);
  hsc_hash128 fingerprint = hsc_module_fingerprint(module);
  bool is_equal = fingerprint.low == m->fingerprint.low && fingerprint.high == m->fingerprint.high;
  if (strcmp(hsc_bytes_text(&printed), hsc_bytes_text(&m->text)) != 0) {
    m->others++;
    m->alike += is_equal;
    if (is_equal)
      print_error("%s; %s: the same fingerprint\n", m->of, change);
  }
  hsc_bytes_deinit(&printed);
  hsc_module_destroy(module);
}

static int64_t count_alike(const char *of, const char *text) {
  hsc_module *module = NULL;
  meaning m = {.of = of};
  near_miss_parse(text, &module);
  assert_non_null(module);
  print_meaning(module, &m.text);
  m.fingerprint = hsc_module_fingerprint(module);
  near_misses(text, 0, fingerprint_differs, &m);
  assert_true(m.others > 0);
  hsc_bytes_deinit(&m.text);
  hsc_module_destroy(module);
  return m.alike;
}

// A program that differs in one number, operation, operand, type or size is another one to caches
// and stores: what is printed of an instruction, but for metadata, is part of its fingerprint.
static void near_misses_have_other_fingerprints(void **state) {
  static const char *const files[] = {"tests/fuzz/corpus/hlo_text/attributes.hlo",
                                      "tests/conformance/hlo/printed/attributes.hlo",
                                      "tests/conformance/hlo/printed/every_op.hlo"};
  int64_t alike = 0;
  for (int pass = 0; pass < HSC_PASS_COUNT; pass++)
    alike += count_alike(hsc_pass_text((hsc_pass_id)pass), hsc_pass_example((hsc_pass_id)pass));
  for (size_t i = 0; i < HSC_COUNT_OF(files); i++) {
    char path[1024];
    hsc_bytes text = {0};
    snprintf(path, sizeof path, "%s/%s", source_root, files[i]);
    EXPECT_OK(hsc_file_read(path, &text));
    alike += count_alike(files[i], hsc_bytes_text(&text));
    hsc_bytes_deinit(&text);
  }
  assert_int_equal(alike, 0);
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  update = argc > 2 && !strcmp(argv[2], "--update");
  count_them = argc > 2 && !strcmp(argv[2], "--count");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_keep_the_numbers_of_their_near_misses),
      cmocka_unit_test(passes_keep_the_numbers_of_their_near_misses),
      cmocka_unit_test(rules_beside_other_users_are_as_written_down),
      cmocka_unit_test(near_misses_have_other_fingerprints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
