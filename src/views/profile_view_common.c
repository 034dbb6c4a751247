// profile_view_common.c - what the views of a profile share.
#include <math.h>
#include <stdlib.h>

#include "base/text/text.h"
#include "views/profile_internal.h"

bool hsc__profile_room(const hsc__profile_view *cx) {
  return !cx->options->limit || (int64_t)hsc_table_row_count(cx->table) < cx->options->limit;
}

void hsc__table_view(hsc_table *table, hsc_view text) {
  if (!text.size)
    hsc_table_missing(table);
  else
    hsc_table_printf(table, "%.*s", (int)(text.size < INT32_MAX ? text.size : INT32_MAX),
                     text.data);
}

static int compare_groups(const void *a, const void *b) {
  const hsc__op_group *x = a;
  const hsc__op_group *y = b;
  if (x->op.self_ps != y->op.self_ps)
    return x->op.self_ps > y->op.self_ps ? -1 : 1;
  if (x->op.total_ps != y->op.total_ps)
    return x->op.total_ps > y->op.total_ps ? -1 : 1;
  size_t size = x->op.name.size < y->op.name.size ? x->op.name.size : y->op.name.size;
  int order = size ? memcmp(x->op.name.data, y->op.name.data, size) : 0;
  if (order)
    return order;
  if (x->op.name.size < y->op.name.size)
    return -1;
  return x->op.name.size > y->op.name.size;
}

// "TPU:0-7" when they are numbered in a row, else the first and how many more.
static const char *device_text(hsc__profile_view *cx, const bool *has) {
  const hsc_profile *profile = cx->profile;
  int count = 0;
  int first = -1;
  int last = -1;
  for (int i = 0; i < (int)profile->devices.count; i++)
    if (has[i]) {
      first = first < 0 ? i : first;
      last = i;
      count++;
    }
  const char *name = profile->devices.items[first].name;
  const char *colon = strrchr(name, ':');
  const char *end = strrchr(profile->devices.items[last].name, ':');
  if (count == 1)
    return name;
  // their names, not their places in the profile: two processes may have a device 0 each
  bool same_kind =
      colon && end && !strncmp(name, profile->devices.items[last].name, (size_t)(colon - name) + 1);
  if (same_kind && strtol(end + 1, NULL, 10) - strtol(colon + 1, NULL, 10) == count - 1)
    return hsc_arena_printf(cx->arena, "%s-%s", name, end + 1);
  return hsc_arena_printf(cx->arena, "%s and %d more", name, count - 1);
}

// "TPU" of "host/TPU:3": what runs on one kind of device is not what runs on another.
static hsc_view kind_of(const char *device) {
  const char *begin = hsc_path_file(device);
  return (hsc_view){begin, strcspn(begin, ":")};
}

// Devices of one kind tell the same of an operator, but files that were put together may tell it on
// one of them only.
static void take_what_is_missing(hsc__op_group *group,
                                 const hsc_profile_op *op,
                                 const hsc_profile_device *device) {
  hsc_profile_op *sum = &group->op;
  if (!sum->category.size)
    sum->category = op->category;
  if (!sum->op_name.size)
    sum->op_name = op->op_name;
  if (!sum->source.size)
    sum->source = op->source;
  if (!sum->text.size)
    sum->text = op->text;
  if (!sum->instr)
    sum->instr = op->instr;
  if (isnan(sum->flops))
    sum->flops = op->flops;
  if (isnan(sum->bytes))
    sum->bytes = op->bytes;
  if (isnan(group->peak_flops))
    group->peak_flops = device->peak_flops;
  if (isnan(group->peak_bytes))
    group->peak_bytes = device->peak_bytes;
}

hsc_status *hsc__profile_groups(hsc__profile_view *cx,
                                hsc__op_group **out_groups,
                                size_t *out_count) {
  hsc_profile *profile = cx->profile;
  HSC_TRY(hsc__profile_join(profile));
  hsc__op_group *groups = HSC_NEW_ARRAY(cx->arena, hsc__op_group, profile->ops.count + 1);
  bool *has =
      HSC_NEW_ARRAY(cx->arena, bool, (profile->ops.count + 1) * (profile->devices.count + 1));
  if (!groups || !has)
    return hsc_status_out_of_memory();
  hsc_map *by_key = NULL;
  HSC_TRY(hsc_map_create(&by_key));
  hsc_status *status = NULL;
  size_t count = 0;
  hsc_bytes key = {0};
  for (size_t i = 0; i < profile->ops.count; i++) {
    const hsc_profile_op *op = &profile->ops.items[i];
    if (!op->count || (cx->program >= 0 && op->module != cx->program))
      continue;
    // Two hosts or devices run the same program under the same number and name.
    const hsc_profile_module *module = op->module >= 0 ? &profile->modules.items[op->module] : NULL;
    hsc_bytes_reset(&key);
    int64_t numbers[2] = {module && module->has_id ? module->program_id : -1,
                          cx->options->by_device ? op->device : 0};
    hsc_bytes_append(&key, numbers, sizeof numbers);
    if (module)
      hsc_bytes_append(&key, module->name.data, module->name.size);
    hsc_bytes_append_char(&key, 0);
    hsc_view kind = kind_of(profile->devices.items[op->device].name);
    hsc_bytes_append(&key, kind.data, kind.size);
    hsc_bytes_append_char(&key, 0);
    hsc_bytes_append(&key, op->name.data, op->name.size);
    // a kernel without HLO works for several of the framework's operators
    if (!module && op->op_name.size) {
      hsc_bytes_append_char(&key, 0);
      hsc_bytes_append(&key, op->op_name.data, op->op_name.size);
    }
    HSC_GOTO(hsc_bytes_status(&key));
    hsc__op_group *group = hsc_map_get(by_key, hsc_bytes_view(&key));
    if (!group) {
      group = &groups[count++];
      group->op = *op;
      group->peak_flops = profile->devices.items[op->device].peak_flops;
      group->peak_bytes = profile->devices.items[op->device].peak_bytes;
      hsc_view kept = {hsc_arena_strndup(cx->arena, key.data, key.size), key.size};
      if (!kept.data)
        HSC_GOTO(hsc_status_out_of_memory());
      HSC_GOTO(hsc_map_put(by_key, kept, group));
    } else {
      hsc_profile_op *sum = &group->op;
      sum->count += op->count;
      sum->total_ps = hsc__sat_add(sum->total_ps, op->total_ps);
      sum->self_ps = hsc__sat_add(sum->self_ps, op->self_ps);
      if (op->min_ps < sum->min_ps)
        sum->min_ps = op->min_ps;
      if (op->max_ps > sum->max_ps)
        sum->max_ps = op->max_ps;
      take_what_is_missing(group, op, &profile->devices.items[op->device]);
    }
    has[(size_t)(group - groups) * profile->devices.count + (size_t)op->device] = true;
  }
  for (size_t i = 0; i < count; i++)
    groups[i].devices = device_text(cx, has + i * profile->devices.count);
  if (count)
    qsort(groups, count, sizeof *groups, compare_groups);
  *out_groups = groups;
  *out_count = count;
done:
  hsc_bytes_deinit(&key);
  hsc_map_destroy(by_key);
  return status;
}
