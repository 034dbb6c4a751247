// profile_join.c - what a profile does not tell of its operators, from the HLO that it carries: by
// program number and instruction name.
#include <math.h>

#include "base/text/view_find.h"
#include "formats/common/formats.h"
#include "views/profile_internal.h"

// "jit_train_step(38)" -> the name; the number in *out_id, -1 = none.
static hsc_view split_name(hsc_view name, int64_t *out_id) {
  *out_id = -1;
  if (!name.size || name.data[name.size - 1] != ')')
    return name;
  size_t open = name.size - 1;
  while (open > 0 && name.data[open - 1] >= '0' && name.data[open - 1] <= '9')
    open--;
  if (!open || name.data[open - 1] != '(' || open == name.size - 1)
    return name;
  int64_t id = 0;
  for (size_t i = open; i < name.size - 1; i++)
    id = (int64_t)((uint64_t)id * 10 + (uint64_t)(name.data[i] - '0'));
  *out_id = id;
  return (hsc_view){name.data, open - 1};
}

// The plane of the host's metadata has a metadata for each program: its number (or it is in the
// name) and a stat with the HLO.
static void find_hlo(const hsc_xspace *space, hsc_profile_module *module) {
  for (int32_t p = 0; p < space->plane_count; p++) {
    const hsc_xplane *plane = &space->planes[p];
    int64_t hlo_id = hsc_xplane_stat_id(plane, "Hlo Proto");
    if (hlo_id < 0)
      hlo_id = hsc_xplane_stat_id(plane, "hlo_proto");
    if (hlo_id < 0)
      continue;
    for (int32_t i = 0; i < plane->event_meta_count; i++) {
      const hsc_xevent_meta *meta = &plane->event_metas[i];
      int64_t id;
      hsc_view name = split_name(meta->name, &id);
      // The number in the name counts: writers that put profiles together number metadata anew.
      int64_t number = id >= 0 ? id : meta->id;
      if (module->has_id ? number != module->program_id : !hsc_view_equals(name, module->name))
        continue;
      hsc_xstat stat;
      if (!hsc_xstat_find(meta->message, HSC_XEVENT_META_STATS, hlo_id, &stat) ||
          stat.kind != HSC_XSTAT_BYTES)
        continue;
      module->hlo = stat.bytes;
      if (!module->name.size)
        module->name = name;
      return;
    }
  }
}

int32_t hsc__profile_module_of(hsc_profile *profile,
                               const hsc_xspace *space,
                               const int64_t *program_id,
                               hsc_view name) {
  for (size_t i = 0; i < profile->modules.count; i++) {
    hsc_profile_module *m = &profile->modules.items[i];
    if (m->space != space || m->has_id != (program_id != NULL) ||
        (program_id && m->program_id != *program_id))
      continue;
    if (program_id || hsc_view_equals(m->name, name)) {
      if (!m->name.size)
        m->name = name;
      return (int32_t)i;
    }
  }
  hsc_profile_module module = {.program_id = program_id ? *program_id : 0,
                               .has_id = program_id != NULL,
                               .name = name,
                               .space = space};
  find_hlo(space, &module);
  if (!HSC__ADD(&profile->modules, module))
    return -1;
  return (int32_t)profile->modules.count - 1;
}

hsc_activity hsc__activity_of_category(hsc_view category) {
  static const struct {
    const char *part;
    hsc_activity activity;
  } rows[] = {{"all-reduce", HSC_ACTIVITY_COLLECTIVE},     {"all-gather", HSC_ACTIVITY_COLLECTIVE},
              {"reduce-scatter", HSC_ACTIVITY_COLLECTIVE}, {"all-to-all", HSC_ACTIVITY_COLLECTIVE},
              {"collective", HSC_ACTIVITY_COLLECTIVE},     {"infeed", HSC_ACTIVITY_TRANSFER},
              {"outfeed", HSC_ACTIVITY_TRANSFER},          {"host send", HSC_ACTIVITY_TRANSFER},
              {"host recv", HSC_ACTIVITY_TRANSFER},        {"Memcpy", HSC_ACTIVITY_TRANSFER}};
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++)
    if (hsc__view_contains(category, rows[i].part))
      return rows[i].activity;
  return HSC_ACTIVITY_COMPUTE;
}

bool hsc__view_contains(hsc_view text, const char *part) {
  return !part || hsc_view_find(text, part);
}

// A custom call is what it calls: its own name is the frontend's.
static const char *category_of(hsc_profile *profile, const hsc_instr *instr) {
  if (instr->op == HSC_OP_CUSTOM_CALL && instr->attr.custom.target)
    return hsc_arena_printf(profile->arena, "custom-call %s", instr->attr.custom.target);
  if (instr->op != HSC_OP_FUSION)
    return hsc_op_text(instr->op);
  static const char *const kinds[] = {"loop fusion", "input fusion", "output fusion",
                                      "custom fusion"};
  return kinds[instr->attr.fusion.kind];
}

static hsc_view source_of(hsc_profile *profile, const hsc_instr *instr) {
  const hsc_metadata *metadata = instr->metadata;
  if (!metadata)
    return (hsc_view){0};
  if (metadata->source_file && *metadata->source_file)
    return hsc_view_of(
        hsc_arena_printf(profile->arena, "%s:%d", metadata->source_file, metadata->source_line));
  const hsc_stack_index *index = instr->parent->module->stack_index;
  int32_t frame = metadata->stack_frame_id;
  if (!index || frame < 1 || frame > index->frame_count)
    return (hsc_view){0};
  int32_t location = index->frames[frame - 1].location;
  if (location < 1 || location > index->location_count)
    return (hsc_view){0};
  const hsc_file_location *at = &index->locations[location - 1];
  if (at->file_name < 1 || at->file_name > index->file_name_count)
    return (hsc_view){0};
  return hsc_view_of(
      hsc_arena_printf(profile->arena, "%s:%d", index->file_names[at->file_name - 1], at->line));
}

static void read_module(hsc_profile *profile, hsc_profile_module *module) {
  module->tried = true;
  if (!module->hlo.size)
    return;
  hsc_status *status =
      hsc_program_read_as(HSC_FORMAT_HLO_PROTO, module->hlo, "the profile's HLO", &module->module);
  if (!status)
    return;
  hsc__profile_note(profile, "the HLO of %.*s(%lld) cannot be used: %s", (int)module->name.size,
                    module->name.data, (long long)module->program_id, hsc_status_message(status));
  hsc_status_free(status);
  module->module = NULL;
}

static void join(hsc_profile *profile, hsc_profile_op *op) {
  hsc_profile_module *module = &profile->modules.items[op->module];
  if (!module->tried)
    read_module(profile, module);
  if (!module->module)
    return;
  op->instr = hsc_module_find_instr(module->module, op->name);
  if (!op->instr)
    return;
  const hsc_instr *instr = op->instr;
  op->is_container =
      instr->op == HSC_OP_WHILE || instr->op == HSC_OP_CALL || instr->op == HSC_OP_CONDITIONAL;
  if (!op->category.size) {
    op->category = hsc_view_of(category_of(profile, instr));
    op->activity = hsc__activity_of_category(op->category);
  }
  if (!op->op_name.size && instr->metadata && instr->metadata->op_name)
    op->op_name = hsc_view_of(instr->metadata->op_name);
  if (!op->source.size)
    op->source = source_of(profile, instr);
  if (op->is_container || (!isnan(op->flops) && !isnan(op->bytes)))
    return;
  hsc_cost cost;
  hsc_instr_cost(instr, &cost);
  if (cost.uncounted > 0) {  // what is not known is no number
    op->cost_unknown = true;
    return;
  }
  if (isnan(op->flops))
    op->flops = cost.flops;
  if (isnan(op->bytes))
    op->bytes = cost.bytes_read + cost.bytes_written;
  op->cost_from_model = true;
}

const hsc_instr *hsc__profile_instr(hsc_profile *profile, const hsc_profile_op *op) {
  if (op->instr || op->module < 0)
    return op->instr;
  hsc_profile_module *module = &profile->modules.items[op->module];
  if (!module->tried)
    read_module(profile, module);
  return module->module ? hsc_module_find_instr(module->module, op->name) : NULL;
}

hsc_status *hsc__profile_join(hsc_profile *profile) {
  if (profile->joined)
    return NULL;
  profile->joined = true;
  size_t without_hlo = 0;
  size_t not_found = 0;
  for (size_t i = 0; i < profile->ops.count; i++) {
    hsc_profile_op *op = &profile->ops.items[i];
    bool complete = op->category.size && op->op_name.size && !isnan(op->flops) && !isnan(op->bytes);
    // no instruction of their own: hloscope's device copies for a loop
    if (complete || hsc__view_contains(op->text, " = copy of the state of "))
      continue;
    if (op->module >= 0)
      join(profile, op);
    if (op->instr)
      continue;
    if (op->module < 0 || !profile->modules.items[op->module].module)
      without_hlo++;
    else
      not_found++;
  }
  if (without_hlo)
    hsc__profile_note(
        profile, "%zu of %zu operators have no cost: the profile carries no HLO of their program",
        without_hlo, profile->ops.count);
  if (not_found)
    hsc__profile_note(
        profile,
        "%zu of %zu operators have no cost: their program's HLO has no instruction of that name",
        not_found, profile->ops.count);
  return hsc_arena_status(profile->arena);
}
