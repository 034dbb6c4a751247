// ablate_result.c - the result of an ablation while it grows: one more variant, the time it took.
#include "base/core/clock.h"
#include "lab/ablate/ablate_internal.h"

hsc_status *hsc__ablate_add(
    ablate_run *run, variant_kind kind, const char *name, const char *disable, int *out_number) {
  if (!HSC_GROW(run->variants, run->variant_count, run->variant_capacity))
    return hsc_status_out_of_memory();
  run->variants[run->variant_count] =
      (ablate_variant){.kind = kind,
                       .name = hsc_arena_strdup(run->arena, name),
                       .disable = hsc_arena_strdup(run->arena, disable),
                       .first = -1,
                       .second = -1,
                       .same_as = run->variant_count};
  if (out_number)
    *out_number = run->variant_count;
  run->variant_count++;
  return hsc_arena_status(run->arena);
}

double hsc__ablate_wall_seconds(const ablate_run *run) {
  return run->earlier_s + (double)(hsc_wall_ns() - run->started_ns) * 1e-9;
}
