// sweep_pool.c - which task is next: the longest expected first, by what tasks of the same program
// on the same device took so far.
//
// Groups (a program on a device) are looked through at each turn, tasks are not: a plan of 200,000
// tasks has some hundred groups. A group's first result scales what its other tasks are expected to
// take.
#include "lab/sweep/sweep_internal.h"

typedef struct group {
  int64_t *tasks;  // [count], longest expected last: taken from the end
  int64_t count;
  double seconds, expected;  // of its tasks that are through, and what was expected of them
} group;

struct hsc__pool {
  const hsc_sweep *sweep;
  hsc_arena *arena;
  group *groups;  // [sweep->group_count]
  int64_t left, dropped;
};

static double scale_of(const group *g) {
  return g->expected > 0 ? g->seconds / g->expected : 1;
}

double hsc__pool_expected(const hsc__pool *pool, int64_t task) {
  const hsc_sweep_task *t = &pool->sweep->tasks[task];
  return t->cost_s * scale_of(&pool->groups[t->group]);
}

// Into its place: costs rise towards the end.
static void insert(hsc__pool *pool, int64_t task) {
  const hsc_sweep_task *tasks = pool->sweep->tasks;
  group *g = &pool->groups[tasks[task].group];
  int64_t at = g->count++;
  for (; at > 0 && tasks[g->tasks[at - 1]].cost_s > tasks[task].cost_s; at--)
    g->tasks[at] = g->tasks[at - 1];
  g->tasks[at] = task;
  pool->left++;
}

hsc_status *hsc__pool_create(const hsc_sweep *sweep, const bool *wanted, hsc__pool **out_pool) {
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc__pool *pool = HSC_NEW(arena, hsc__pool);
  int64_t *sizes = HSC_NEW_ARRAY(arena, int64_t, sweep->group_count + 1);
  group *groups = HSC_NEW_ARRAY(arena, group, sweep->group_count + 1);
  hsc_status *status = hsc_arena_status(arena);
  for (int64_t i = 0; i < sweep->count && !status; i++)
    sizes[sweep->tasks[i].group]++;
  for (int g = 0; g < sweep->group_count && !status; g++) {
    groups[g].tasks = HSC_NEW_ARRAY(arena, int64_t, sizes[g] + 1);
    status = hsc_arena_status(arena);
  }
  if (status) {
    hsc_arena_destroy(arena);
    return status;
  }
  *pool = (hsc__pool){.sweep = sweep, .arena = arena, .groups = groups};
  // Tasks of one cost stay in the order of the plan: the last of them is put in first.
  for (int64_t i = sweep->count - 1; i >= 0; i--)
    if (wanted[i])
      insert(pool, i);
  *out_pool = pool;
  return NULL;
}

void hsc__pool_destroy(hsc__pool *pool) {
  if (pool)
    hsc_arena_destroy(pool->arena);
}

int64_t hsc__pool_take(hsc__pool *pool) {
  group *best = NULL;
  double longest = -1;
  for (int i = 0; i < pool->sweep->group_count; i++) {
    group *g = &pool->groups[i];
    double expected =
        g->count ? pool->sweep->tasks[g->tasks[g->count - 1]].cost_s * scale_of(g) : -1;
    if (expected <= longest)
      continue;
    longest = expected;
    best = g;
  }
  if (!best)
    return -1;
  pool->left--;
  return best->tasks[--best->count];
}

// Out of its place; the order of the others stays.
static int64_t take_at(hsc__pool *pool, group *g, int64_t at) {
  int64_t task = g->tasks[at];
  g->count--;
  pool->left--;
  memmove(g->tasks + at, g->tasks + at + 1, (size_t)(g->count - at) * sizeof *g->tasks);
  return task;
}

int64_t hsc__pool_take_any(hsc__pool *pool, hsc_random *random) {
  int64_t at = pool->left ? (int64_t)hsc_random_below(random, (uint64_t)pool->left) : -1;
  for (int i = 0; at >= 0 && i < pool->sweep->group_count; i++) {
    if (at < pool->groups[i].count)
      return take_at(pool, &pool->groups[i], at);
    at -= pool->groups[i].count;
  }
  return -1;
}

void hsc__pool_drop(hsc__pool *pool, int64_t task) {
  group *g = &pool->groups[pool->sweep->tasks[task].group];
  for (int64_t at = 0; at < g->count; at++)
    if (g->tasks[at] == task) {
      take_at(pool, g, at);
      pool->dropped++;
      break;
    }
}

void hsc__pool_return(hsc__pool *pool, int64_t task) {
  insert(pool, task);
}

void hsc__pool_learn(hsc__pool *pool, int64_t task, double seconds) {
  group *g = &pool->groups[pool->sweep->tasks[task].group];
  if (!(seconds > 0))
    return;
  g->seconds += seconds;
  g->expected += pool->sweep->tasks[task].cost_s;
}

int64_t hsc__pool_left(const hsc__pool *pool) {
  return pool->left;
}

int64_t hsc__pool_dropped(const hsc__pool *pool) {
  return pool->dropped;
}
