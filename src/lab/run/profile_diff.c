// profile_diff.c - two profiles of the same work, operator by operator.
#include "lab/run/profile_diff.h"

#include <math.h>
#include <stdlib.h>

#include "stats/stats.h"

typedef struct side {
  hsc_profile_sample *samples;
  size_t count, steps;
  int32_t *match;  // [count] index on the other side, -1 = none yet
} side;

typedef struct row {
  int32_t before, after;  // -1 = not there
  const char *how;
  double change;  // ns a step (or in all)
} row;

static bool same_view(hsc_view a, hsc_view b) {
  return hsc_view_equals(a, b);
}

// "scope/name:" and "scope/name" are one name: some writers put the type after a colon.
static hsc_view plain(hsc_view name) {
  while (name.size && name.data[name.size - 1] == ':')
    name.size--;
  return name;
}

static bool by_name(const hsc_profile_sample *a, const hsc_profile_sample *b) {
  if (!same_view(a->op->name, b->op->name) || strcmp(a->program, b->program))
    return false;
  if (a->op->category.size && b->op->category.size && !same_view(a->op->category, b->op->category))
    return false;
  hsc_view x = plain(a->op->op_name);
  hsc_view y = plain(b->op->op_name);
  return !x.size || !y.size || same_view(x, y);
}

static bool by_metadata(const hsc_profile_sample *a, const hsc_profile_sample *b) {
  hsc_view x = plain(a->op->op_name);
  hsc_view y = plain(b->op->op_name);
  return x.size && same_view(x, y) && same_view(a->op->category, b->op->category);
}

static bool by_structure(const hsc_profile_sample *a, const hsc_profile_sample *b) {
  if (!a->op->instr || !b->op->instr || a->op->instr->op != b->op->instr->op ||
      !hsc_shape_equal(&a->op->instr->shape, &b->op->instr->shape))
    return false;
  hsc_hash128 x = hsc_instr_fingerprint(a->op->instr);
  hsc_hash128 y = hsc_instr_fingerprint(b->op->instr);
  return x.low == y.low && x.high == y.high;
}

typedef bool (*rule)(const hsc_profile_sample *a, const hsc_profile_sample *b);

// Pairs what a rule joins. Where several fit, they are paired in their order when the numbers agree
// on both sides, else left.
static void pair(side *a, side *b, rule fits, const char *how, row *rows, size_t *row_count) {
  for (size_t i = 0; i < a->count; i++) {
    if (a->match[i] >= 0)
      continue;
    size_t here = 0;
    size_t there = 0;
    size_t rank = 0;
    for (size_t k = 0; k < a->count; k++)
      if (a->match[k] < 0 && fits(&a->samples[i], &a->samples[k])) {
        rank += k < i;
        here++;
      }
    for (size_t k = 0; k < b->count; k++)
      there += b->match[k] < 0 && fits(&a->samples[i], &b->samples[k]);
    if (!there || here != there)
      continue;
    for (size_t k = 0; k < b->count; k++) {
      if (b->match[k] >= 0 || !fits(&a->samples[i], &b->samples[k]))
        continue;
      if (rank--)
        continue;
      a->match[i] = (int32_t)k;
      b->match[k] = (int32_t)i;
      rows[(*row_count)++] = (row){(int32_t)i, (int32_t)k, how, 0};
      break;
    }
  }
}

static double per_step(const side *s, int32_t index) {
  if (index < 0)
    return 0;
  if (!s->steps)
    return (double)s->samples[index].self_ps / 1000;
  return hsc_stats_median(s->samples[index].step_ns, s->steps);
}

static int by_change(const void *a, const void *b) {
  double x = fabs(((const row *)a)->change);
  double y = fabs(((const row *)b)->change);
  if (x != y)
    return x > y ? -1 : 1;
  const row *r = a;
  const row *s = b;
  return r->before != s->before ? r->before - s->before : r->after - s->after;
}

static hsc_status *read_side(hsc_profile *profile, hsc_arena *arena, side *out) {
  HSC_TRY(hsc_profile_step_samples(profile, arena, &out->samples, &out->count, &out->steps));
  out->match = HSC_NEW_ARRAY(arena, int32_t, out->count + 1);
  if (!out->match)
    return hsc_status_out_of_memory();
  memset(out->match, 0xff, (out->count + 1) * sizeof *out->match);
  return NULL;
}

static void put_numbers(hsc_table *table, double before, double after) {
  hsc_table_double(table, before);
  hsc_table_double(table, after);
  hsc_table_double(table, after - before);
  if (before > 0)
    hsc_table_double(table, after / before);
  else
    hsc_table_missing(table);
}

static void put_name(hsc_table *table, const hsc_profile_sample *sample) {
  if (sample)
    hsc_table_printf(table, "%.*s", (int)sample->op->name.size, sample->op->name.data);
  else
    hsc_table_missing(table);
}

static hsc_status *put_total(hsc_table *table, hsc_arena *arena, const side *a, const side *b) {
  const side *sides[2] = {a, b};
  double *sums[2];
  double in_all[2] = {0, 0};
  for (int s = 0; s < 2; s++) {
    sums[s] = HSC_NEW_ARRAY(arena, double, sides[s]->steps + 1);
    if (!sums[s])
      return hsc_status_out_of_memory();
    for (size_t i = 0; i < sides[s]->count; i++) {
      for (size_t k = 0; k < sides[s]->steps; k++)
        sums[s][k] += sides[s]->samples[i].step_ns[k];
      in_all[s] += (double)sides[s]->samples[i].self_ps / 1000;
    }
    if (sides[s]->steps)
      in_all[s] = hsc_stats_median(sums[s], sides[s]->steps);
  }
  hsc_table_row(table);
  hsc_table_text(table, "all operators");
  for (int i = 0; i < 3; i++)
    hsc_table_missing(table);
  put_numbers(table, in_all[0], in_all[1]);
  return NULL;
}

// What only one side has, by index; the row says which.
static void add_alone(const side *s, bool is_after, row *rows, size_t *io_count) {
  for (size_t i = 0; i < s->count; i++)
    if (s->match[i] < 0)
      rows[(*io_count)++] =
          is_after ? (row){-1, (int32_t)i, NULL, 0} : (row){(int32_t)i, -1, NULL, 0};
}

static void put_row(hsc_table *table, const side *a, const side *b, const row *r) {
  const hsc_profile_sample *x = r->before >= 0 ? &a->samples[r->before] : NULL;
  const hsc_profile_sample *y = r->after >= 0 ? &b->samples[r->after] : NULL;
  hsc_view framework = {0};
  if (x && x->op->op_name.size)
    framework = x->op->op_name;
  else if (y)
    framework = y->op->op_name;
  hsc_table_row(table);
  put_name(table, x ? x : y);
  if (x && y && !same_view(x->op->name, y->op->name))
    put_name(table, y);
  else
    hsc_table_missing(table);
  const char *alone = x ? "only in A" : "only in B";
  hsc_table_text(table, r->how ? r->how : alone);
  if (framework.size)
    hsc_table_printf(table, "%.*s", (int)framework.size, framework.data);
  else
    hsc_table_missing(table);
  put_numbers(table, per_step(a, r->before), per_step(b, r->after));
}

hsc_status *hsc_profile_diff(hsc_profile *before,
                             hsc_profile *after,
                             int64_t limit,
                             hsc_table **out_table) {
  hsc_arena *arena = NULL;
  hsc_table *table = NULL;
  hsc_status *status = NULL;
  side a = {0};
  side b = {0};
  size_t count = 0;
  *out_table = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_table_create("profile-diff", &table));
  HSC_GOTO(read_side(before, arena, &a));
  HSC_GOTO(read_side(after, arena, &b));
  row *rows = HSC_NEW_ARRAY(arena, row, a.count + b.count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  pair(&a, &b, by_name, "name", rows, &count);
  pair(&a, &b, by_metadata, "metadata", rows, &count);
  pair(&a, &b, by_structure, "structure", rows, &count);
  add_alone(&a, false, rows, &count);
  add_alone(&b, true, rows, &count);
  for (size_t i = 0; i < count; i++)
    rows[i].change = per_step(&b, rows[i].after) - per_step(&a, rows[i].before);
  if (count)
    qsort(rows, count, sizeof *rows, by_change);
  hsc_table_column(table, "operator", "");
  hsc_table_column(table, "in_b", "");
  hsc_table_column(table, "matched_by", "");
  hsc_table_column(table, "op_name", "");
  hsc_table_column(table, "a", "ns");
  hsc_table_column(table, "b", "ns");
  hsc_table_column(table, "change", "ns");
  hsc_table_column(table, "ratio", "ratio");
  HSC_GOTO(put_total(table, arena, &a, &b));
  for (size_t i = 0; i < count && (!limit || (int64_t)i < limit); i++)
    put_row(table, &a, &b, &rows[i]);
  if (limit && (int64_t)count > limit)
    hsc_table_note(table, "the %lld largest of %zu differences (--limit)", (long long)limit, count);
  if (a.steps >= 2 && b.steps >= 2)
    hsc_table_note(table, "medians of self time a step, %zu steps against %zu", a.steps, b.steps);
  else
    hsc_table_note(table, "self time in all, %zu and %zu steps", a.steps, b.steps);
  hsc_table_note(table,
                 "one process on each side: a ratio alone does not tell a slower operator from a "
                 "slower process");
  *out_table = table;
  table = NULL;
done:
  hsc_table_destroy(table);
  hsc_arena_destroy(arena);
  return status;
}
