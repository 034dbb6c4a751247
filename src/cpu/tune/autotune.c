// autotune.c - see autotune.h.
#include "base/core/ints.h"
#include "base/core/clock.h"
#include "cpu/tune/autotune.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/kernels/move/convert.h"

enum { ROUNDS = 6, FAIR_ROUNDS = 2, MAX_TRIES = 6, PIECE = 4096, ZONE_BYTE = 0xA5 };
// a candidate that takes longer is run twice, not ROUNDS times
static const int64_t LONG_NS = 20 * 1000 * 1000;
// a turn of a candidate repeats until it took that long
static const int64_t SHORT_NS = 200 * 1000;
// of the best time
static const double FAR_SLOWER = 1.3;
static const double WORTH = 0.97;

typedef struct slot {
  char *at;
  int64_t bytes;
} slot;

typedef struct tuning {
  const hsc_tune_problem *problem;
  int level;
  char *block;
  int64_t block_bytes;
  slot inputs[2], output, scratch;
  char *reference;  // the reference's output; heap, NULL = none yet
  int reference_candidate;
} tuning;

// ---- numbers ------------------------------------------------------------------------------------

static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// In [-1, 1], away from zero: products neither vanish nor become denormal.
static void fill(const hsc_shape *shape, char *to, uint64_t seed) {
  float values[PIECE];
  int64_t count = hsc_shape_elements(shape);
  int64_t bytes = (int64_t)hsc_type_bytes(shape->type);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t here = count - done < PIECE ? count - done : PIECE;
    for (int64_t i = 0; i < here; i++) {
      uint64_t bits = next(&state);
      float size = 0.0625f + (float)(bits >> 40 & 0xffff) * (0.9375f / 65536);
      values[i] = bits >> 63 ? -size : size;
    }
    hsc_convert_array(HSC_TYPE_F32, values, shape->type, to + done * bytes, here);
  }
}

// Sums of rounded products differ by their order; what is compared is a difference beside 1 and the
// numbers themselves, as XLA's comparator does.
static double tolerance(hsc_type type) {
  if (type == HSC_TYPE_F64)
    return 1e-6;
  if (type == HSC_TYPE_F32)
    return 1e-3;
  return 1e-1;
}

// The first element that differs; -1 = none.
static int64_t differs(const hsc_shape *shape,
                       const char *left,
                       const char *right,
                       double *out_left,
                       double *out_right) {
  double x[PIECE / 4];
  double y[PIECE / 4];
  double limit = tolerance(shape->type);
  int64_t count = hsc_shape_elements(shape);
  int64_t bytes = (int64_t)hsc_type_bytes(shape->type);
  int64_t piece = PIECE / 4;
  for (int64_t done = 0; done < count; done += piece) {
    int64_t here = count - done < piece ? count - done : piece;
    hsc_convert_array(shape->type, left + done * bytes, HSC_TYPE_F64, x, here);
    hsc_convert_array(shape->type, right + done * bytes, HSC_TYPE_F64, y, here);
    for (int64_t i = 0; i < here; i++) {
      double a = fabs(x[i]);
      double b = fabs(y[i]);
      double scale = (a > b ? a : b) + 1;
      bool same = x[i] == y[i] || (isnan(x[i]) && isnan(y[i])) || fabs(x[i] - y[i]) / scale < limit;
      if (same)
        continue;
      *out_left = x[i];
      *out_right = y[i];
      return done + i;
    }
  }
  return -1;
}

// ---- the block ----------------------------------------------------------------------------------

static hsc_status *make_block(tuning *t) {
  const hsc_tune_problem *p = t->problem;
  slot *slots[] = {&t->inputs[0], &t->inputs[1], &t->output, &t->scratch};
  t->inputs[0].bytes = hsc_shape_bytes(p->inputs[0]);
  t->inputs[1].bytes = hsc_shape_bytes(p->inputs[1]);
  t->output.bytes = hsc_shape_bytes(p->output);
  for (int i = 0; i < p->candidate_count; i++)
    if (!p->candidates[i].refused && p->candidates[i].scratch_bytes > t->scratch.bytes)
      t->scratch.bytes = p->candidates[i].scratch_bytes;
  t->block_bytes = HSC_TUNE_REDZONE_BYTES;
  for (size_t i = 0; i < HSC_COUNT_OF(slots); i++)
    t->block_bytes += hsc_round_up(slots[i]->bytes, 64) + HSC_TUNE_REDZONE_BYTES;
  if (posix_memalign((void **)&t->block, 4096, (size_t)t->block_bytes))
    return hsc_status_out_of_memory();
  memset(t->block, ZONE_BYTE, (size_t)t->block_bytes);
  char *at = t->block + HSC_TUNE_REDZONE_BYTES;
  for (size_t i = 0; i < HSC_COUNT_OF(slots); i++) {
    slots[i]->at = at;
    memset(at, 0, (size_t)slots[i]->bytes);
    at += hsc_round_up(slots[i]->bytes, 64) + HSC_TUNE_REDZONE_BYTES;
  }
  return NULL;
}

// The first byte of a red zone that is not as it was, -1 = none; *out_after: what lies before it.
static int64_t touched(const tuning *t, const char **out_after) {
  const slot *slots[] = {&t->inputs[0], &t->inputs[1], &t->output, &t->scratch};
  static const char *const names[] = {"before the first input", "after the first input",
                                      "after the second input", "after the output",
                                      "after the scratch slot"};
  const char *from = t->block;
  for (size_t i = 0; i <= HSC_COUNT_OF(slots); i++) {
    const char *end = i < HSC_COUNT_OF(slots) ? slots[i]->at : t->block + t->block_bytes;
    for (; from < end; from++) {
      if ((unsigned char)*from == ZONE_BYTE)
        continue;
      *out_after = names[i];
      return from - t->block;
    }
    if (i < HSC_COUNT_OF(slots))
      from = slots[i]->at + slots[i]->bytes;
  }
  return -1;
}

// ---- one candidate ------------------------------------------------------------------------------

static hsc_status *run_once(const tuning *t, int number, int64_t *out_ns) {
  const hsc_tune_candidate *c = &t->problem->candidates[number];
  int64_t start = hsc_now_ns();
  hsc_status *status = c->run(c->context, (void *const[]){t->inputs[0].at, t->inputs[1].at},
                              t->output.at, t->scratch.at);
  *out_ns = hsc_now_ns() - start;
  return status;
}

// The first run: is it timed at all, and does it do what it should?
static hsc_status *try_out(tuning *t, int number, hsc_arena *arena, hsc_autotune_result *r) {
  const hsc_tune_candidate *c = &t->problem->candidates[number];
  *r = (hsc_autotune_result){
      .algorithm = c->algorithm, .scratch_bytes = c->scratch_bytes, .failure = HSC_AUTOTUNE_OK};
  if (c->refused) {
    r->failure = HSC_AUTOTUNE_DISQUALIFIED;
    r->message = c->refused;
    return NULL;
  }
  // one before it may have written there
  for (int i = 0; i < 2 && t->level >= 3 && number > 0; i++)
    fill(t->problem->inputs[i], t->inputs[i].at, 1 + (uint64_t)i);
  if (t->level >= 3)
    fill(t->problem->output, t->output.at, 3 + (uint64_t)number);
  hsc_status *failed = run_once(t, number, &r->run_time_ns);
  if (failed) {
    r->failure = HSC_AUTOTUNE_DISQUALIFIED;
    r->message = hsc_arena_strdup(arena, hsc_status_message(failed));
    r->run_time_ns = 0;
    hsc_status_free(failed);
    return NULL;
  }
  if (t->level < 4)
    return NULL;
  const char *where = NULL;
  int64_t at = touched(t, &where);
  if (at >= 0) {
    r->failure = HSC_AUTOTUNE_REDZONE_MODIFIED;
    r->buffer_address = at;
    r->message = hsc_arena_printf(arena, "%s wrote %s: byte %lld of the block is 0x%02x", c->name,
                                  where, (long long)at, (unsigned char)t->block[at]);
    // The zones and inputs are made anew: what it did there must not be laid on others.
    free(t->block);
    t->block = NULL;
    t->scratch.bytes = 0;
    HSC_TRY(make_block(t));
    for (int i = 0; i < 2; i++)
      fill(t->problem->inputs[i], t->inputs[i].at, 1 + (uint64_t)i);
    return NULL;
  }
  if (!t->reference) {
    t->reference = hsc_alloc((size_t)t->output.bytes + 1);
    if (!t->reference)
      return hsc_status_out_of_memory();
    memcpy(t->reference, t->output.at, (size_t)t->output.bytes);
    t->reference_candidate = number;
    return NULL;
  }
  double wanted = 0;
  double found = 0;
  int64_t element = differs(t->problem->output, t->reference, t->output.at, &wanted, &found);
  if (element < 0)
    return NULL;
  const hsc_tune_candidate *reference = &t->problem->candidates[t->reference_candidate];
  r->failure = HSC_AUTOTUNE_WRONG_RESULT;
  r->reference = reference->algorithm;
  r->message = hsc_arena_printf(arena, "element %lld is %g by %s and %g by %s", (long long)element,
                                found, c->name, wanted, reference->name);
  return NULL;
}

// A turn: at least one run, the shortest counts. Runs in which a core was taken away say little, so
// others follow.
static void take_turn(const tuning *t, int number, hsc_autotune_result *r) {
  int64_t spent = 0;
  bool quiet = false;
  for (int tries = 0; (tries < MAX_TRIES && !quiet && spent < LONG_NS) || spent < SHORT_NS;
       tries++) {
    int64_t ns;
    hsc_usage before, after;
    hsc_usage_get(&before);
    hsc_status *failed = run_once(t, number, &ns);
    hsc_usage_get(&after);
    if (failed) {
      hsc_status_free(failed);
      return;
    }
    if (ns < r->run_time_ns)
      r->run_time_ns = ns;
    spent += ns;
    quiet |= after.involuntary_switches == before.involuntary_switches;
  }
}

static int32_t fastest(const hsc_autotune_result *results, int count) {
  int32_t best = -1;
  int32_t first = -1;
  for (int32_t i = 0; i < count; i++) {
    if (results[i].failure >= 0)
      continue;
    if (first < 0)
      first = i;
    if (best < 0 || results[i].run_time_ns < results[best].run_time_ns)
      best = i;
  }
  return best >= 0 && (double)results[best].run_time_ns > WORTH * (double)results[first].run_time_ns
             ? first
             : best;
}

hsc_status *hsc_autotune_run(const hsc_tune_problem *problem,
                             int level,
                             hsc_arena *arena,
                             hsc_autotune_result **out_results,
                             int32_t *out_best) {
  hsc_status *status = NULL;
  tuning t = {.problem = problem, .level = level};
  int count = problem->candidate_count;
  hsc_autotune_result *results = *out_results =
      HSC_NEW_ARRAY(arena, hsc_autotune_result, count + 1);
  *out_best = -1;
  HSC_GOTO(hsc_arena_status(arena));
  HSC_GOTO(make_block(&t));
  if (level >= 2) {
    for (int i = 0; i < 2; i++)
      fill(problem->inputs[i], t.inputs[i].at, 1 + (uint64_t)i);
    fill(problem->output, t.output.at, 3);
  }
  for (int i = 0; i < count; i++)
    HSC_GOTO(try_out(&t, i, arena, &results[i]));
  for (int round = 0; round < ROUNDS; round++) {
    int32_t best = fastest(results, count);
    if (best < 0 || (round >= 1 && results[best].run_time_ns > LONG_NS))
      break;
    double limit = FAR_SLOWER * (double)results[best].run_time_ns;
    // The first runs touched memory for the first time, and anything may have come between: nobody
    // is left out for them.
    for (int i = 0; i < count; i++)
      if (results[i].failure < 0 && (round < FAIR_ROUNDS || (double)results[i].run_time_ns < limit))
        take_turn(&t, i, &results[i]);
  }
  *out_best = fastest(results, count);
done:
  free(t.block);
  hsc_free(t.reference);
  return status;
}
