// test_ops.c - the reference evaluator or the built-in device against XLA:CPU, one op at a time
// (ops/README.md). TAP: one line a family.
//
//   test_ops evaluator|cpu DIRECTORY [FAMILY [CASE]]    all families of the directory, or one, or
//   the cases of it whose name contains CASE
#include <dirent.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/text/text.h"
#include "backend.h"
#include "formats/common/formats.h"
#include "ops_corpus.h"

// Where a backend differs by rights, or refuses what it has not got yet. Such a case must still
// differ: one that agrees is reported, so that the table stays true.
static const struct {
  const char *backend, *family, *prefix, *why;
} known[] = {
    {"evaluator", "subnormals", "",
     "XLA:CPU flushes subnormal numbers to zero; the evaluator keeps them"},
    {"cpu", "order", "set_dimension_size", "not built yet: sizes at run time"},
    {"cpu", "subnormals", "", "XLA:CPU flushes subnormal numbers to zero; the device keeps them"},
};

static const char *known_difference(const backend *target, const ops_case *one) {
  for (size_t i = 0; i < HSC_COUNT_OF(known); i++)
    if (strcmp(known[i].backend, backend_name(target)) == 0 &&
        strcmp(known[i].family, one->family) == 0 && hsc_starts_with(one->name, known[i].prefix))
      return known[i].why;
  return NULL;
}

typedef struct tally {
  backend *target;
  const char *only;
  int cases, failed, known, known_agreeing;
  hsc_bytes report;
} tally;

static hsc_status *check(backend *target, const ops_case *one, hsc_bytes *report, bool *out_good) {
  hsc_module *module = NULL;
  hsc_literal *result = NULL;
  hsc_status *status = NULL;
  *out_good = false;
  HSC_GOTO(hsc_hlo_text_parse(hsc_view_of(one->hlo), one->name, &module));
  HSC_GOTO(
      backend_run(target, module, one->argument_count, one->arguments, one->arena, &result, NULL));
  int leaves = hsc_shape_leaf_count(&result->shape);
  *out_good = leaves == one->result_count;
  if (!*out_good)
    hsc_bytes_printf(report, "#   %s: %d results, expected %d\n", one->name, leaves,
                     one->result_count);
  for (int i = 0; i < leaves && *out_good; i++) {
    const hsc_literal *leaf = result;
    for (int skip = i; hsc_shape_is_tuple(&leaf->shape);) {
      int e = 0;
      while (skip >= hsc_shape_leaf_count(&leaf->elements[e].shape))
        skip -= hsc_shape_leaf_count(&leaf->elements[e++].shape);
      leaf = &leaf->elements[e];
    }
    hsc_bytes why = {0};
    if (!ops_case_judge(one, i, leaf, &why)) {
      *out_good = false;
      hsc_bytes_printf(report, "#   %s\n", hsc_bytes_text(&why));
    }
    hsc_bytes_deinit(&why);
  }
done:
  hsc_module_destroy(module);
  return status;
}

static hsc_status *run(void *user, const ops_case *one) {
  tally *t = user;
  if (t->only && !strstr(one->name, t->only))
    return NULL;
  bool good = false;
  if (known_difference(t->target, one)) {
    hsc_bytes unread = {0};
    hsc_status *failure = check(t->target, one, &unread, &good);
    t->known++;
    t->known_agreeing += good && !failure;
    if (failure && hsc_status_code(failure) != HSC_UNIMPLEMENTED) {
      hsc_bytes_printf(&t->report, "#   %s: %s\n", one->name, hsc_status_message(failure));
      t->failed++;
    }
    hsc_status_free(failure);
    hsc_bytes_deinit(&unread);
    return NULL;
  }
  hsc_status *status = check(t->target, one, &t->report, &good);
  if (status) {
    hsc_bytes_printf(&t->report, "#   %s: %s\n", one->name, hsc_status_message(status));
    hsc_status_free(status);
    good = false;
  }
  t->cases++;
  t->failed += !good;
  return NULL;
}

static int is_family(const struct dirent *entry) {
  return hsc_ends_with(entry->d_name, ".json.gz");
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s evaluator|cpu DIRECTORY [FAMILY [CASE]]\n", argv[0]);
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
  struct dirent **entries = NULL;
  int count = scandir(argv[1], &entries, is_family, alphasort);
  int failures = 0;
  int number = 0;
  if (count <= 0) {
    fprintf(stderr, "%s: no families (*.json.gz) there\n", argv[1]);
    return 2;
  }
  for (int i = 0; i < count; i++) {
    char *path = NULL;
    hsc_bytes name = {0};
    hsc_bytes_printf(&name, "%s/%s", argv[1], entries[i]->d_name);
    path = hsc_bytes_take(&name);
    size_t stem = strlen(entries[i]->d_name) - strlen(".json.gz");
    if (argc < 3 || (strlen(argv[2]) == stem && strncmp(argv[2], entries[i]->d_name, stem) == 0)) {
      tally t = {.target = target, .only = argc > 3 ? argv[3] : NULL};
      int64_t start = hsc_now_ns();
      hsc_status *status = path ? ops_corpus_each(path, run, &t) : hsc_status_out_of_memory();
      if (status) {
        hsc_bytes_printf(&t.report, "#   %s: %s\n", path, hsc_status_message(status));
        hsc_status_free(status);
        t.failed++;
      }
      if (t.known > 0 && t.known_agreeing == t.known && !t.only) {
        hsc_bytes_printf(&t.report,
                         "#   all %d known differences agree now: take them out of the table\n",
                         t.known);
        t.failed++;
      }
      if (t.known > 0)
        hsc_bytes_printf(&t.report,
                         "#   %d cases are known to differ from XLA:CPU or to be refused\n",
                         t.known - t.known_agreeing);
      bool good = t.failed == 0 && t.cases + t.known > 0;
      printf("%s %d - %.*s: %d of %d cases agree (%.2f s)\n%s", good ? "ok" : "not ok", ++number,
             (int)stem, entries[i]->d_name, t.cases - t.failed, t.cases,
             (double)(hsc_now_ns() - start) * 1e-9, hsc_bytes_text(&t.report));
      failures += !good;
      hsc_bytes_deinit(&t.report);
    }
    hsc_free(path);
    free(entries[i]);
  }
  free(entries);
  backend_close(target);
  printf("1..%d\n", number);
  return failures || number == 0 ? 1 : 0;
}
