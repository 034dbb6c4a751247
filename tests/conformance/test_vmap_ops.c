// test_vmap_ops.c - vmap of every program in the op corpus: batching any of its arguments gives
// what the examples give one by one. TAP: one line a family.
//
// Example 0 has the corpus's arguments, the others have them rolled by some elements. The evaluator
// is the judge on both sides.
//
//   test_vmap_ops DIRECTORY [FAMILY [CASE]]
#include <dirent.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "formats/common/formats.h"
#include "ops_corpus.h"
#include "transform/transform.h"

enum { EXAMPLES = 3 };

typedef struct tally {
  const char *only;
  int cases, failed, refused;
  hsc_bytes report;
} tally;

static hsc_status *roll(hsc_arena *arena, const hsc_literal *from, int64_t by, hsc_literal **out) {
  HSC_TRY(hsc_literal_copy(arena, from, out));
  int64_t count = hsc_shape_elements(&from->shape);
  size_t bytes = hsc_type_bytes(from->shape.type);
  for (int64_t i = 0; i < count; i++)
    memcpy((char *)(*out)->data + (size_t)i * bytes,
           (char *)from->data + (size_t)((i + by) % count) * bytes, bytes);
  return NULL;
}

static hsc_status *stack(hsc_arena *arena, hsc_literal *const *examples, hsc_literal **out) {
  int64_t dims[HSC_MAX_RANK + 1] = {EXAMPLES};
  const hsc_shape *one = &examples[0]->shape;
  for (int i = 0; i < one->rank; i++)
    dims[i + 1] = one->dims[i];
  hsc_shape shape = hsc_shape_array(arena, one->type, one->rank + 1, dims);
  HSC_TRY(hsc_literal_create(arena, &shape, out));
  size_t bytes = (size_t)hsc_shape_bytes(one);
  for (int e = 0; e < EXAMPLES && bytes; e++)
    memcpy((char *)(*out)->data + (size_t)e * bytes, examples[e]->data, bytes);
  return NULL;
}

// Example `e` of a batched result has the bits of `one`, or is within a few ULP of it.
static bool same_example(const hsc_literal *batched,
                         int e,
                         const hsc_literal *one,
                         hsc_bytes *why) {
  if (hsc_shape_is_tuple(&one->shape)) {
    for (int i = 0; i < one->shape.element_count; i++)
      if (!same_example(&batched->elements[i], e, &one->elements[i], why))
        return false;
    return true;
  }
  bool fits = batched->shape.rank == one->shape.rank + 1 && batched->shape.dims[0] == EXAMPLES &&
              batched->shape.type == one->shape.type;
  for (int i = 0; fits && i < one->shape.rank; i++)
    fits = batched->shape.dims[i + 1] == one->shape.dims[i];
  if (!fits) {
    hsc_bytes_append_text(why, "shape ");
    hsc_shape_print(&batched->shape, false, why);
    hsc_bytes_append_text(why, " for examples of ");
    hsc_shape_print(&one->shape, false, why);
    return false;
  }
  size_t bytes = (size_t)hsc_shape_bytes(&one->shape);
  if (bytes == 0)
    return true;
  hsc_literal slice = *one;
  slice.data = (char *)batched->data + (size_t)e * bytes;
  hsc_difference d;
  hsc_status *status = hsc_literal_compare(&slice, one, &d);
  if (!status && d.nan_mismatches == 0 && (d.max_ulp <= 4 || d.max_rel <= 1e-6))
    return true;
  hsc_bytes_printf(why, "example %d, element %lld: %g batched, %g alone", e, (long long)d.index,
                   d.left, d.right);
  hsc_status_free(status);
  return false;
}

// The bits of `subset` say which arguments are batched.
static hsc_status *check(const ops_case *one,
                         const hsc_module *module,
                         unsigned subset,
                         hsc_arena *arena,
                         bool *out_good,
                         hsc_bytes *why) {
  int count = one->argument_count;
  int64_t chosen[32];
  hsc_transform_options options = hsc_transform_options_default();
  options.randomness = HSC_RANDOMNESS_SAME;
  options.arguments = chosen;
  hsc_literal *batched_arguments[32];
  hsc_literal *examples[32][EXAMPLES];
  hsc_literal *batched = NULL;
  for (int a = 0; a < count; a++) {
    for (int e = 0; e < EXAMPLES; e++) {
      examples[a][e] = one->arguments[a];
      if (e > 0 && subset >> a & 1)
        HSC_TRY(roll(arena, one->arguments[a], e, &examples[a][e]));
    }
    batched_arguments[a] = one->arguments[a];
    if (!(subset >> a & 1))
      continue;
    chosen[options.argument_count++] = a;
    HSC_TRY(stack(arena, examples[a], &batched_arguments[a]));
  }
  hsc_module *vmapped = NULL;
  HSC_TRY(hsc_transform_vmap(module, EXAMPLES, &options, &vmapped));
  hsc_status *status = hsc_evaluate(vmapped, count, batched_arguments, arena, &batched);
  *out_good = !status;
  for (int e = 0; e < EXAMPLES && *out_good; e++) {
    hsc_literal *alone_arguments[32];
    hsc_literal *alone = NULL;
    for (int a = 0; a < count; a++)
      alone_arguments[a] = examples[a][e];
    HSC_GOTO(hsc_evaluate(module, count, alone_arguments, arena, &alone));
    *out_good = same_example(batched, e, alone, why);
  }
  if (!*out_good && !status) {
    hsc_bytes text = {0};
    hsc_module_print(vmapped, NULL, &text);
    hsc_bytes_append_text(why, "\n");
    for (const char *p = hsc_bytes_text(&text), *end; *p; p = *end ? end + 1 : end) {
      end = strchr(p, '\n') ? strchr(p, '\n') : p + strlen(p);
      hsc_bytes_printf(why, "#       %.*s\n", (int)(end - p), p);
    }
    hsc_bytes_deinit(&text);
  }
done:
  hsc_module_destroy(vmapped);
  return status;
}

// What cannot be batched, and says so.
static bool may_refuse(const ops_case *one) {
  return strstr(one->hlo, "set-dimension-size") != NULL;
}

static hsc_status *run(void *user, const ops_case *one) {
  tally *t = user;
  if ((t->only && !strstr(one->name, t->only)) || one->argument_count == 0 ||
      one->argument_count > 32)
    return NULL;
  hsc_module *module = NULL;
  hsc_status *status = hsc_hlo_text_parse(hsc_view_of(one->hlo), one->name, &module);
  if (status)
    return status;
  unsigned last = one->argument_count <= 4 ? 1u << one->argument_count : 2u;
  unsigned all = one->argument_count < 32 ? (1u << one->argument_count) - 1 : ~0u;
  for (unsigned s = 1; s <= last && !status; s++) {
    unsigned subset = s == last ? all : s;
    if (s == last && one->argument_count <= 4)
      break;
    hsc_arena *arena = NULL;
    hsc_bytes why = {0};
    bool good = false;
    status = hsc_arena_create(&arena);
    if (!status)
      status = check(one, module, subset, arena, &good, &why);
    if (status && may_refuse(one)) {
      t->refused++;
      good = true;
      hsc_status_free(status);
      status = NULL;
    } else if (status) {
      hsc_bytes_printf(&why, "%s\n#     %s", hsc_status_message(status), hsc_status_notes(status));
      hsc_status_free(status);
      status = NULL;
    }
    t->cases++;
    if (!good) {
      t->failed++;
      hsc_bytes_printf(&t->report, "#   %s, arguments %#x batched: %s\n", one->name, subset,
                       hsc_bytes_text(&why));
    }
    hsc_bytes_deinit(&why);
    hsc_arena_destroy(arena);
  }
  hsc_module_destroy(module);
  return status;
}

static int is_family(const struct dirent *entry) {
  return hsc_ends_with(entry->d_name, ".json.gz");
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s DIRECTORY [FAMILY [CASE]]\n", argv[0]);
    return 2;
  }
  struct dirent **entries = NULL;
  int count = scandir(argv[1], &entries, is_family, alphasort);
  int failures = 0;
  int number = 0;
  for (int i = 0; i < count; i++) {
    size_t stem = strlen(entries[i]->d_name) - strlen(".json.gz");
    if (argc < 3 || (strlen(argv[2]) == stem && strncmp(argv[2], entries[i]->d_name, stem) == 0)) {
      tally t = {.only = argc > 3 ? argv[3] : NULL};
      hsc_bytes path = {0};
      hsc_bytes_printf(&path, "%s/%s", argv[1], entries[i]->d_name);
      hsc_status *status = ops_corpus_each(hsc_bytes_text(&path), run, &t);
      if (status) {
        hsc_bytes_printf(&t.report, "#   %s\n", hsc_status_message(status));
        hsc_status_free(status);
        t.failed++;
      }
      printf("%s %d - vmap of %.*s: %d of %d agree, %d refused\n%s", t.failed ? "not ok" : "ok",
             ++number, (int)stem, entries[i]->d_name, t.cases - t.failed, t.cases, t.refused,
             hsc_bytes_text(&t.report));
      failures += t.failed > 0;
      hsc_bytes_deinit(&t.report);
      hsc_bytes_deinit(&path);
    }
    free(entries[i]);
  }
  free(entries);
  printf("1..%d\n", number);
  return failures || number == 0 ? 1 : 0;
}
