// ops_table.c - prints how far each operation may be from XLA:CPU, and how far it is, as a table in
// Markdown (docs/conformance.md).
//
//   ops_table evaluator|cpu DIRECTORY
#include <dirent.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "backend.h"
#include "formats/common/formats.h"
#include "ops_corpus.h"

enum { MAX_ROWS = 1024 };

typedef struct row {
  char op[48], type[16];
  int cases;
  int64_t ulp;      // the largest bound; -1 = none
  double rel, abs;  // the same
  uint64_t worst_ulp;
  double worst_part;
} row;

static struct {
  backend *target;
  row rows[MAX_ROWS];
  int count;
} table;

static row *row_of(const char *op, const char *type) {
  for (int i = 0; i < table.count; i++)
    if (strcmp(table.rows[i].op, op) == 0 && strcmp(table.rows[i].type, type) == 0)
      return &table.rows[i];
  if (table.count == MAX_ROWS)
    return NULL;
  row *r = &table.rows[table.count++];
  *r = (row){.ulp = -1, .rel = -1, .abs = -1};
  snprintf(r->op, sizeof r->op, "%s", op);
  snprintf(r->type, sizeof r->type, "%s", type);
  return r;
}

static hsc_status *add(void *user, const ops_case *one) {
  hsc_module *module = NULL;
  hsc_literal *result = NULL;
  hsc_status *status = hsc_hlo_text_parse(hsc_view_of(one->hlo), one->name, &module);
  if (!status)
    status = backend_run(table.target, module, one->argument_count, one->arguments, one->arena,
                         &result, NULL);
  hsc_module_destroy(module);
  // refused, or a record of what XLA:CPU flushes
  if (status || strcmp(one->family, "subnormals") == 0) {
    hsc_status_free(status);
    return NULL;
  }
  for (int i = 0; i < one->result_count; i++) {
    const hsc_literal *leaf = hsc_shape_is_tuple(&result->shape) ? &result->elements[i] : result;
    hsc_type type = leaf->shape.type;
    if (!hsc_shape_is_array(&leaf->shape) ||
        (!hsc_type_is_float(type) && !hsc_type_is_complex(type)))
      continue;
    row *r = row_of(one->op, hsc_type_text(type));
    if (!r)
      return HSC_ERR(RESOURCE_EXHAUSTED, "more than %d rows", MAX_ROWS);
    uint64_t ulp;
    double part;
    ops_case_measure(one, i, leaf, &ulp, &part);
    const ops_agree *how = &one->agree[i];
    r->cases++;
    if (how->ulp > r->ulp)
      r->ulp = how->ulp;
    if (how->rel > r->rel)
      r->rel = how->rel;
    if (how->abs > r->abs)
      r->abs = how->abs;
    if (ulp > r->worst_ulp)
      r->worst_ulp = ulp;
    if (part > r->worst_part)
      r->worst_part = part;
  }
  return NULL;
}

// Ulps; where the bound is not in ulps, a part of the value, or a difference beside the largest
// value.
static void print_cell(const row *r) {
  if (r->rel >= 0)
    printf(" %.0e of the value (%.0e) |", r->rel, r->worst_part);
  else if (r->ulp > 0 || r->abs < 1e-30)
    printf(" %lld (%llu) |", (long long)(r->ulp > 0 ? r->ulp : 0),
           (unsigned long long)r->worst_ulp);  // smaller than a normal number: subnormals
  else
    printf(" %.0e apart (%.0e) |", r->abs, r->worst_part);
}

static void widen(row *all, const row *one) {
  all->cases += one->cases;
  if (one->ulp > all->ulp)
    all->ulp = one->ulp;
  if (one->rel > all->rel)
    all->rel = one->rel;
  if (one->abs > all->abs)
    all->abs = one->abs;
  if (one->worst_ulp > all->worst_ulp)
    all->worst_ulp = one->worst_ulp;
  if (one->worst_part > all->worst_part)
    all->worst_part = one->worst_part;
}

static int by_name(const void *a, const void *b) {
  const row *x = a;
  const row *y = b;
  int order = strcmp(x->op, y->op);
  return order ? order : strcmp(x->type, y->type);
}

static int is_family(const struct dirent *entry) {
  return hsc_ends_with(entry->d_name, ".json.gz");
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s evaluator|cpu DIRECTORY\n", argv[0]);
    return 2;
  }
  hsc_status *status = backend_open(argv[1], &table.target);
  struct dirent **entries = NULL;
  int count = scandir(argv[2], &entries, is_family, alphasort);
  for (int i = 0; i < count && !status; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[2], entries[i]->d_name);
    status = ops_corpus_each(path, add, NULL);
  }
  for (int i = 0; i < count; i++)
    free(entries[i]);
  free(entries);
  backend_close(table.target);
  if (status) {
    fprintf(stderr, "%s\n", hsc_status_message(status));
    hsc_status_free(status);
    return 1;
  }
  qsort(table.rows, (size_t)table.count, sizeof table.rows[0], by_name);
  static const char *const columns[] = {"f32", "f64", "bf16", "f16", "c64", "c128"};
  printf("| op |");
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    printf(" %s |", columns[c]);
  printf(" 8 bits and less |\n|---|---|---|---|---|---|---|---|\n");
  for (int first = 0, next; first < table.count; first = next) {
    row narrow = {.ulp = -1, .rel = -1, .abs = -1};
    next = first;
    while (next < table.count && strcmp(table.rows[next].op, table.rows[first].op) == 0)
      next++;
    printf("| `%s` |", table.rows[first].op);
    for (size_t c = 0; c < HSC_COUNT_OF(columns); c++) {
      int at = first;
      while (at < next && strcmp(table.rows[at].type, columns[c]) != 0)
        at++;
      if (at < next)
        print_cell(&table.rows[at]);
      else
        printf(" |");
    }
    for (int i = first; i < next; i++)
      if (table.rows[i].type[0] == 'f' &&
          (table.rows[i].type[1] == '8' || table.rows[i].type[1] == '4'))
        widen(&narrow, &table.rows[i]);
    if (narrow.cases)
      print_cell(&narrow);
    else
      printf(" |");
    printf("\n");
  }
  return table.count > 0 ? 0 : 1;
}
