// profile_operators.c - which operator an event is, and which run of its program it is of.
//
// Writers say it in four ways. A TPU's line of operators says everything in the metadata of an
// event; XLA:CPU and GPUs refer to the name by a stat hlo_op, by number or as text; kernels that no
// HLO instruction stands behind have the framework's name alone; and of a file that was cut only
// the number is left. Numbers lead to a slot of w->first_op, texts to one of w->texts; operators of
// one name but several programs or devices hang on one slot, by `next`.
#include <math.h>

#include "base/text/text.h"
#include "views/profile_walk.h"

static hsc_profile_op blank_op(const hsc__walk *w, int32_t module) {
  return (hsc_profile_op){.device = w->device,
                          .module = module,
                          .flops = NAN,
                          .bytes = NAN,
                          .min_ps = INT64_MAX,
                          .next = -1};
}

// "scope/name:" of XLA's writers: the type that would follow is the name's last part anyway.
static hsc_view without_colon(hsc_view name) {
  if (name.size && name.data[name.size - 1] == ':')
    name.size--;
  return name;
}

// Of a device's line of operators: everything is given by the event's metadata.
int32_t hsc__walk_op_of_metadata(hsc__walk *w, int32_t position) {
  const hsc_xevent_meta *meta = &w->plane->event_metas[position];
  int64_t program_id = 0;
  hsc_profile_op op = blank_op(w, -1);
  hsc_view short_name = meta->display_name.size ? meta->display_name : meta->name;
  op.name = short_name;
  if (meta->display_name.size || (meta->name.size && meta->name.data[0] == '%'))
    op.text = meta->name;
  // the whole instruction: its name is the first word
  if (op.name.size && op.name.data[0] == '%') {
    size_t end = 1;
    while (end < op.name.size && op.name.data[end] != ' ')
      end++;
    op.name = (hsc_view){op.name.data + 1, end - 1};
  }
  hsc_view module_name = {0};
  bool has_program = false;
  hsc_xstat_cursor at = hsc_xstats_of(meta->message, HSC_XEVENT_META_STATS);
  for (hsc_xstat stat; hsc_xstat_next(&at, &stat);) {
    const hsc_xstat_meta *what = hsc_xplane_stat_meta(w->plane, stat.metadata_id);
    if (!what)
      continue;
    if (hsc_view_equals_text(what->name, "program_id")) {
      program_id = hsc_xstat_int(&stat);
      has_program = true;
    } else if (hsc_view_equals_text(what->name, "hlo_category"))
      op.category = hsc_xstat_text(w->plane, &stat);
    else if (hsc_view_equals_text(what->name, "flops"))
      op.flops = hsc_xstat_number(&stat);
    else if (hsc_view_equals_text(what->name, "bytes_accessed"))
      op.bytes = hsc_xstat_number(&stat);
    else if (hsc_view_equals_text(what->name, "tf_op"))
      op.op_name = without_colon(hsc_xstat_text(w->plane, &stat));
    else if (hsc_view_equals_text(what->name, "source"))
      op.source = hsc_xstat_text(w->plane, &stat);
    else if (hsc_view_equals_text(what->name, "hlo_module"))
      module_name = hsc_xstat_text(w->plane, &stat);
  }
  if (has_program || module_name.size)
    op.module =
        hsc__profile_module_of(w->profile, w->space, has_program ? &program_id : NULL, module_name);
  op.activity = hsc__activity_of_category(op.category.size ? op.category : op.name);
  if (!HSC__ADD(&w->profile->ops, op))
    return -1;
  return (int32_t)w->profile->ops.count - 1;
}

// Of an event with a stat hlo_op: by the operator's name and the program's number.
static int32_t op_of_stats(hsc__walk *w,
                           hsc_view name,
                           hsc_view module_name,
                           int64_t program_id,
                           bool has_program,
                           int32_t *first) {
  hsc_profile *profile = w->profile;
  for (int32_t i = *first; i >= 0; i = profile->ops.items[i].next) {
    const hsc_profile_op *op = &profile->ops.items[i];
    const hsc_profile_module *module = op->module >= 0 ? &profile->modules.items[op->module] : NULL;
    if (op->device != w->device)
      continue;
    bool same;
    if (!module)
      same = !has_program && !module_name.size;
    else if (has_program)
      same = module->program_id == program_id;
    else
      same = hsc_view_equals(module->name, module_name);
    if (same)
      return i;
  }
  hsc_profile_op op = blank_op(w, -1);
  op.name = name;
  if (has_program || module_name.size)
    op.module =
        hsc__profile_module_of(profile, w->space, has_program ? &program_id : NULL, module_name);
  // What frontends call an instruction (psum.3) does not tell what it is; its program does.
  const hsc_instr *instr = hsc__profile_instr(profile, &op);
  op.activity = hsc__activity_of_category(instr ? hsc_view_of(hsc_op_text(instr->op)) : name);
  op.next = *first;
  if (!HSC__ADD(&profile->ops, op))
    return -1;
  return *first = (int32_t)profile->ops.count - 1;
}

// Where a name of an operator that is given as text, not by number, keeps its first operator. NULL
// = no memory.
static int32_t *slot_of_text(hsc__walk *w, hsc_view text) {
  int32_t *slot = hsc_map_get(w->texts, text);
  if (slot)
    return slot;
  slot = HSC_NEW(w->profile->arena, int32_t);
  if (!slot)
    return NULL;
  *slot = -1;
  hsc_status *status = hsc_map_put(w->texts, text, slot);
  if (!status)
    return slot;
  hsc_status_free(status);
  return NULL;
}

// Of a file that was cut: the metadata of the event are gone, its number is its name.
int32_t hsc__walk_op_of_number(hsc__walk *w, int64_t number) {
  const char *name = hsc_arena_printf(w->profile->arena, "event %lld", (long long)number);
  int32_t *slot = name ? slot_of_text(w, hsc_view_of(name)) : NULL;
  return slot ? op_of_stats(w, hsc_view_of(name), (hsc_view){0}, 0, false, slot) : -1;
}

// Threads of a device work on a run at the same time: it lasts from the first of its operators to
// the end of the last.
bool hsc__walk_add_run(hsc__walk *w, int64_t id, int32_t module, int64_t start, int64_t end) {
  hsc_profile *profile = w->profile;
  if (w->last_run < 0 || profile->runs.items[w->last_run].id != id ||
      profile->runs.items[w->last_run].device != w->device ||
      profile->runs.items[w->last_run].module != module) {
    int64_t key[3] = {id, module, w->device};
    int32_t *at = hsc_map_get(w->runs, (hsc_view){(const char *)key, sizeof key});
    if (!at) {
      at = HSC_NEW(profile->arena, int32_t);
      const char *kept = hsc_arena_copy(profile->arena, key, sizeof key);
      if (!at || !kept || !HSC__ADD(&profile->runs, (hsc__run){w->device, module, id, start, end}))
        return false;
      *at = (int32_t)profile->runs.count - 1;
      hsc_status *status = hsc_map_put(w->runs, (hsc_view){kept, sizeof key}, at);
      if (status) {
        hsc_status_free(status);
        return false;
      }
    }
    w->last_run = *at;
  }
  hsc__run *run = &profile->runs.items[w->last_run];
  if (start < run->start_ps)
    run->start_ps = start;
  if (end > run->end_ps)
    run->end_ps = end;
  return true;
}

int32_t hsc__walk_op_of_event(hsc__walk *w, const hsc__walk_stats *stats) {
  if (w->is_device_plane ? !hsc__walk_device(w) : !hsc__walk_device_of(w, stats->ordinal))
    return -1;
  hsc_view module_name =
      stats->hlo_module.kind ? hsc_xstat_text(w->plane, &stats->hlo_module) : (hsc_view){0};
  if (stats->hlo_op.kind == HSC_XSTAT_REF) {
    const hsc_xstat_meta *name = hsc_xplane_stat_meta(w->plane, (int64_t)stats->hlo_op.u);
    if (name)
      return op_of_stats(w, name->name, module_name, stats->program_id, stats->has_program,
                         &w->first_op[w->plane->event_meta_count + (name - w->plane->stat_metas)]);
  }
  hsc_view text = hsc_xstat_text(w->plane, &stats->hlo_op);
  int32_t *slot = slot_of_text(w, text);
  if (!slot)
    return -1;
  return op_of_stats(w, text, module_name, stats->program_id, stats->has_program, slot);
}

// A kernel of a GPU's stream that no HLO instruction stands behind (TensorFlow without XLA): one
// operator for each name of the framework.
int32_t hsc__walk_op_of_kernel(hsc__walk *w, const hsc_xevent *event, hsc_view kernel) {
  if (!hsc__walk_device(w))
    return -1;
  hsc_xstat stat;
  hsc_view op_name = {0};
  if (hsc_xstat_find(event->message, HSC_XEVENT_STATS, w->id_tf_op, &stat) ||
      hsc_xstat_find(event->message, HSC_XEVENT_STATS, w->id_level_0, &stat))
    op_name = without_colon(hsc_xstat_text(w->plane, &stat));
  // both are the file's own bytes, at places of their own: what they say is compared, not where
  hsc_view parts[2] = {kernel, op_name};
  hsc_bytes key = {0};
  hsc_bytes_append(&key, parts[0].data ? parts[0].data : "", parts[0].size);
  hsc_bytes_append_char(&key, '\0');
  hsc_bytes_append(&key, parts[1].data ? parts[1].data : "", parts[1].size);
  int32_t *slot = key.failed ? NULL : hsc_map_get(w->texts, hsc_bytes_view(&key));
  if (slot || key.failed) {
    hsc_bytes_deinit(&key);
    return slot ? *slot : -1;
  }
  hsc_profile_op op = blank_op(w, -1);
  op.name = kernel;
  op.op_name = op_name;
  op.category = HSC_VIEW("kernel");
  op.activity = hsc__activity_of_category(kernel);
  slot = HSC_NEW(w->profile->arena, int32_t);
  const char *kept = hsc_arena_copy(w->profile->arena, key.data, key.size);
  hsc_view kept_key = {kept, key.size};
  hsc_bytes_deinit(&key);
  if (!slot || !kept || !HSC__ADD(&w->profile->ops, op))
    return -1;
  hsc_status *status = hsc_map_put(w->texts, kept_key, slot);
  if (status) {
    hsc_status_free(status);
    return -1;
  }
  return *slot = (int32_t)w->profile->ops.count - 1;
}
