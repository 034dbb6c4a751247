// profile_samples.c - what each operator took in each step: samples for comparisons.
#include <stdlib.h>

#include "views/profile_internal.h"

static int compare_numbers(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

// The last step of the device that begins at or before `at`, when it has not ended; -1 = none.
// Steps are in order of device, then start.
static int64_t step_at(const hsc_profile *profile, int32_t device, int64_t at) {
  size_t low = 0;
  size_t high = profile->steps.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const hsc_profile_step *s = &profile->steps.items[middle];
    if (s->device < device || (s->device == device && s->start_ps <= at))
      low = middle + 1;
    else
      high = middle;
  }
  if (!low)
    return -1;
  const hsc_profile_step *s = &profile->steps.items[low - 1];
  return s->device == device && at < s->end_ps ? (int64_t)low - 1 : -1;
}

hsc_status *hsc_profile_step_samples(hsc_profile *profile,
                                     hsc_arena *arena,
                                     hsc_profile_sample **out_samples,
                                     size_t *out_count,
                                     size_t *out_step_count) {
  HSC_TRY(hsc__profile_join(profile));
  size_t steps = 0;
  size_t count = 0;
  int64_t *numbers = HSC_NEW_ARRAY(arena, int64_t, profile->steps.count + 1);
  hsc_profile_sample *samples = HSC_NEW_ARRAY(arena, hsc_profile_sample, profile->ops.count + 1);
  int32_t *sample_of = HSC_NEW_ARRAY(arena, int32_t, profile->ops.count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < profile->steps.count; i++)
    numbers[i] = profile->steps.items[i].number;
  if (profile->steps.count)
    qsort(numbers, profile->steps.count, sizeof *numbers, compare_numbers);
  for (size_t i = 0; i < profile->steps.count; i++)
    if (i == 0 || numbers[i] != numbers[i - 1])
      numbers[steps++] = numbers[i];
  hsc_map *by_key = NULL;
  HSC_TRY(hsc_map_create(&by_key));
  hsc_status *status = NULL;
  for (size_t i = 0; i < profile->ops.count; i++) {
    hsc_profile_op *op = &profile->ops.items[i];
    op->instr = hsc__profile_instr(profile, op);
    hsc_view program = op->module >= 0 ? profile->modules.items[op->module].name : (hsc_view){0};
    const char *program_text =
        hsc_arena_strndup(arena, program.data ? program.data : "", program.size);
    const hsc_profile_module *module = op->module >= 0 ? &profile->modules.items[op->module] : NULL;
    char *key = hsc_arena_printf(arena, "%lld/%s/%.*s",
                                 (long long)(module && module->has_id ? module->program_id : -1),
                                 program_text ? program_text : "", hsc_view_shown(op->name, 4096),
                                 op->name.data ? op->name.data : "");
    if (!key)
      HSC_GOTO(hsc_status_out_of_memory());
    hsc_profile_sample *sample = hsc_map_get(by_key, hsc_view_of(key));
    if (!sample) {
      sample = &samples[count++];
      *sample = (hsc_profile_sample){
          .op = op, .program = program_text, .step_ns = HSC_NEW_ARRAY(arena, double, steps + 1)};
      if (!sample->step_ns)
        HSC_GOTO(hsc_status_out_of_memory());
      HSC_GOTO(hsc_map_put(by_key, hsc_view_of(key), sample));
    }
    sample->count += op->count;
    sample->self_ps = hsc__sat_add(sample->self_ps, op->self_ps);
    sample_of[i] = (int32_t)(sample - samples);
  }
  for (size_t i = 0; i < profile->events.count; i++) {
    const hsc__op_event *e = &profile->events.items[i];
    int64_t step = step_at(profile, profile->ops.items[e->op].device, e->start_ps);
    if (step < 0)
      continue;
    const int64_t *found = bsearch(&profile->steps.items[step].number, numbers, steps,
                                   sizeof *numbers, compare_numbers);
    if (found)
      samples[sample_of[e->op]].step_ns[found - numbers] +=
          (double)(e->self_ps > 0 ? e->self_ps : 0) / 1000;
  }
  *out_samples = samples;
  *out_count = count;
  *out_step_count = steps;
done:
  hsc_map_destroy(by_key);
  return status;
}
