// ablate_pairs.c - two passes off at a time, of those that mattered: do their effects add up?
#include <math.h>
#include <stdlib.h>

#include "lab/ablate/ablate_internal.h"
#include "lab/run/json_tree.h"

static double size_of(const ablate_run *run, const ablate_variant *v) {
  double ratio = hsc_json_number(json_object_get(v->total_time, "ratio"));
  if (isfinite(ratio) && v->verdict &&
      (!strcmp(v->verdict, "slower") || !strcmp(v->verdict, "faster")))
    return 1e6 * fabs(log(ratio));
  return fabs((double)(v->facts.instructions - run->variants[0].facts.instructions)) +
         fabs((double)(v->facts.kernels - run->variants[0].facts.kernels));
}

static double size_in(const ablate_run *run, int number) {
  return size_of(run, &run->variants[number]);
}

hsc_status *hsc__ablate_pairs(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  int singles = run->variant_count;
  int count = 0;
  int *chosen = HSC_NEW_ARRAY(run->arena, int, singles + 1);
  HSC_TRY(hsc_arena_status(run->arena));
  for (int i = 1; i < singles; i++) {
    const ablate_variant *v = &run->variants[i];
    if (v->kind != VARIANT_PASS || !v->answer || v->same_as != i)
      continue;
    int at = count++;
    for (; at > 0 && size_in(run, chosen[at - 1]) < size_in(run, i); at--)
      chosen[at] = chosen[at - 1];
    chosen[at] = i;
  }
  if (count > o->pair_most)
    count = o->pair_most;
  for (int a = 0; a < count; a++)
    for (int b = a + 1; b < count; b++) {
      int number = 0;
      const char *first = run->variants[chosen[a]].name;
      const char *second = run->variants[chosen[b]].name;
      const char *name = hsc_arena_printf(run->arena, "%s + %s", first, second);
      const char *disable = hsc_arena_printf(run->arena, "%s,%s", first, second);
      HSC_TRY(hsc_arena_status(run->arena));
      HSC_TRY(hsc__ablate_add(run, VARIANT_PAIR, name, disable, &number));
      run->variants[number].first = chosen[a];
      run->variants[number].second = chosen[b];
    }
  if (run->variant_count == singles)
    return NULL;
  return hsc__ablate_compile_all(run, singles, run->variant_count);
}
