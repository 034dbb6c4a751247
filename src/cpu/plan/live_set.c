// live_set.c - see live_set.h. Recursion is as deep as a tree: some dozens of levels.
#include "cpu/plan/live_set.h"

static hsc_cpu_value *node(const hsc_cpu_plan *plan, int32_t value) {
  return &plan->values[value];
}

static uint32_t priority(int32_t value) {
  uint32_t x = (uint32_t)value * 2654435769u;
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ x >> 13;
}

static bool is_before(const hsc_cpu_plan *plan, int32_t a, int32_t b) {
  return node(plan, a)->def != node(plan, b)->def ? node(plan, a)->def < node(plan, b)->def : a < b;
}

static void renew(const hsc_cpu_plan *plan, int32_t at) {
  hsc_cpu_value *v = node(plan, at);
  v->last_below = v->last;
  for (int side = 0; side < 2; side++)
    if (v->below[side] >= 0 && node(plan, v->below[side])->last_below > v->last_below)
      v->last_below = node(plan, v->below[side])->last_below;
}

// What comes before `value` and what comes after it.
static void split(
    const hsc_cpu_plan *plan, int32_t at, int32_t value, int32_t *before, int32_t *after) {
  if (at < 0) {
    *before = *after = -1;
    return;
  }
  if (is_before(plan, at, value)) {
    *before = at;
    split(plan, node(plan, at)->below[1], value, &node(plan, at)->below[1], after);
  } else {
    *after = at;
    split(plan, node(plan, at)->below[0], value, before, &node(plan, at)->below[0]);
  }
  renew(plan, at);
}

static int32_t inserted(const hsc_cpu_plan *plan, int32_t at, int32_t value) {
  if (at < 0 || priority(value) > priority(at)) {
    split(plan, at, value, &node(plan, value)->below[0], &node(plan, value)->below[1]);
    renew(plan, value);
    return value;
  }
  int32_t *side = &node(plan, at)->below[is_before(plan, at, value)];
  *side = inserted(plan, *side, value);
  renew(plan, at);
  return at;
}

void hsc__live_set_begin(hsc_cpu_plan *plan, int32_t value) {
  hsc_cpu_value *v = node(plan, value);
  v->set = value;
  v->below[0] = v->below[1] = -1;
  v->last_below = v->last;
  plan->sets[value].first_value = value;
  plan->sets[value].value_count = 1;
  plan->sets[value].joined = -1;
}

int32_t hsc__live_set_of(const hsc_cpu_plan *plan, int32_t value) {
  int32_t set = node(plan, value)->set;
  while (plan->sets[set].joined >= 0) {
    // Each look halves the way.
    int32_t next = plan->sets[set].joined;
    if (plan->sets[next].joined >= 0)
      plan->sets[set].joined = plan->sets[next].joined;
    set = plan->sets[set].joined;
  }
  node(plan, value)->set = set;
  return set;
}

void hsc__live_set_add(hsc_cpu_plan *plan, int32_t set, int32_t value) {
  node(plan, value)->set = set;
  node(plan, value)->below[0] = node(plan, value)->below[1] = -1;
  plan->sets[set].first_value = inserted(plan, plan->sets[set].first_value, value);
  plan->sets[set].value_count++;
}

static void add_all(hsc_cpu_plan *plan, int32_t set, int32_t at) {
  if (at < 0)
    return;
  int32_t left = node(plan, at)->below[0];
  int32_t right = node(plan, at)->below[1];
  add_all(plan, set, left);
  hsc__live_set_add(plan, set, at);
  add_all(plan, set, right);
}

void hsc__live_set_join(hsc_cpu_plan *plan, int32_t into, int32_t from) {
  hsc_cpu_set *to = &plan->sets[into];
  hsc_cpu_set *gone = &plan->sets[from];
  int32_t smaller = gone->first_value;
  if (gone->value_count > to->value_count) {
    smaller = to->first_value;
    to->first_value = gone->first_value;
    to->value_count = gone->value_count;
  }
  gone->joined = into;
  gone->first_value = -1;
  gone->value_count = 0;
  add_all(plan, into, smaller);
}

// Whether a value of the tree meets `value`, and is in conflict with it.
static bool meets(const hsc_cpu_plan *plan,
                  int32_t at,
                  int32_t value,
                  bool (*conflict)(const void *plan, int32_t a, int32_t b)) {
  const hsc_cpu_value *v = node(plan, value);
  while (at >= 0 && node(plan, at)->last_below >= v->def) {
    const hsc_cpu_value *here = node(plan, at);
    if (here->def > v->last) {
      at = here->below[0];
      continue;
    }
    if (here->last >= v->def && conflict(plan, at, value))
      return true;
    if (meets(plan, here->below[0], value, conflict))
      return true;
    at = here->below[1];
  }
  return false;
}

static bool any_meets(const hsc_cpu_plan *plan,
                      int32_t at,
                      int32_t other,
                      bool (*conflict)(const void *plan, int32_t a, int32_t b)) {
  for (; at >= 0; at = node(plan, at)->below[1])
    if (meets(plan, other, at, conflict) ||
        any_meets(plan, node(plan, at)->below[0], other, conflict))
      return true;
  return false;
}

bool hsc__live_sets_meet(const hsc_cpu_plan *plan,
                         int32_t set_a,
                         int32_t set_b,
                         bool (*conflict)(const void *plan, int32_t a, int32_t b)) {
  bool swap = plan->sets[set_b].value_count < plan->sets[set_a].value_count;
  int32_t smaller = plan->sets[swap ? set_b : set_a].first_value;
  int32_t larger = plan->sets[swap ? set_a : set_b].first_value;
  return any_meets(plan, smaller, larger, conflict);
}

void hsc__live_set_hull(const hsc_cpu_plan *plan, int32_t set, int32_t *out_from, int32_t *out_to) {
  int32_t at = plan->sets[set].first_value;
  *out_to = node(plan, at)->last_below;
  while (node(plan, at)->below[0] >= 0)
    at = node(plan, at)->below[0];
  *out_from = node(plan, at)->def;
}
