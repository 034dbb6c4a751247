// fusion_log.c - what the passes that fuse decided about pairs of kernels, kept while they run.
//
// A pass that says no tells it with the pair and the reason. Instructions become others while
// passes run (an operation becomes the root of a fusion, two fusions become one), so the log keeps
// who became whom by id and resolves all pairs in the end, when the kernels are what they will be.
#include "passes/manager/passes_internal.h"

#include <string.h>

typedef struct refusal {
  uint32_t producer, reader;  // ids
  hsc_not_fused reason;
} refusal;

struct hsc_fusion_log {
  refusal *refusals;  // [count]
  size_t count, room;
  // [became_room] id -> the id of what stands in its place; 0 = itself
  uint32_t *became;
  uint32_t became_room;
};

hsc_status *hsc__fusion_log_begin(hsc_module *module) {
  module->fusion_log = HSC_NEW(module->arena, struct hsc_fusion_log);
  return hsc_arena_status(module->arena);
}

void hsc__fusion_refused(const hsc_instr *producer, const hsc_instr *reader, hsc_not_fused reason) {
  hsc_module *module = reader->parent->module;
  struct hsc_fusion_log *log = module->fusion_log;
  refusal row = {producer->id, reader->id, reason};
  if (!log || reason < 0)
    return;
  // without memory the arena's status says so in the end
  if (HSC_GROW_IN(module->arena, log->refusals, log->count, log->room))
    log->refusals[log->count++] = row;
}

void hsc__fusion_became(const hsc_instr *old, const hsc_instr *now) {
  hsc_module *module = now->parent->module;
  struct hsc_fusion_log *log = module->fusion_log;
  if (!log)
    return;
  // room for all ids that there are; the arena's memory is zeroed, so the new ones are themselves
  if (old->id >= log->became_room &&
      !HSC_RESERVE_IN(module->arena, log->became, log->became_room,
                      module->next_id - log->became_room + 1, log->became_room))
    return;
  log->became[old->id] = now->id;
}

// ---- what the program carries -------------------------------------------------------------------

// What the instruction with this id became, a kernel of the program; NULL = it is gone.
static const hsc_instr *now_of(const struct hsc_fusion_log *log,
                               hsc_instr *const *by_id,
                               uint32_t id_count,
                               uint32_t id) {
  for (uint32_t steps = 0; steps < id_count; steps++) {
    uint32_t next = id < log->became_room ? log->became[id] : 0;
    if (!next)
      break;
    id = next;
  }
  return id < id_count && by_id[id] ? hsc_instr_computed(by_id[id]) : NULL;
}

// The refusals by reader, in their order: where each reader's begin, and their producers.
typedef struct sorted {
  const hsc_instr **producers;  // [log->count]
  hsc_not_fused *reasons;       // [log->count]
  uint32_t *first;              // [id_count + 1]
} sorted;

static hsc_status *sort_refusals(const hsc_module *module, hsc_instr *const *by_id, sorted *out) {
  const struct hsc_fusion_log *log = module->fusion_log;
  uint32_t ids = module->next_id;
  const hsc_instr **readers = HSC_NEW_ARRAY(module->arena, const hsc_instr *, log->count + 1);
  uint32_t *next = HSC_NEW_ARRAY(module->arena, uint32_t, ids + 1);
  out->producers = HSC_NEW_ARRAY(module->arena, const hsc_instr *, log->count + 1);
  out->reasons = HSC_NEW_ARRAY(module->arena, hsc_not_fused, log->count + 1);
  out->first = HSC_NEW_ARRAY(module->arena, uint32_t, ids + 1);
  HSC_TRY(hsc_arena_status(module->arena));
  for (size_t i = 0; i < log->count; i++) {
    readers[i] = now_of(log, by_id, ids, log->refusals[i].reader);
    if (readers[i])
      out->first[readers[i]->id + 1]++;
  }
  for (uint32_t id = 0; id < ids; id++)
    out->first[id + 1] += out->first[id];
  memcpy(next, out->first, (ids + 1) * sizeof *next);
  for (size_t i = 0; i < log->count; i++) {
    if (!readers[i])
      continue;
    uint32_t at = next[readers[i]->id]++;
    out->producers[at] = now_of(log, by_id, ids, log->refusals[i].producer);
    out->reasons[at] = log->refusals[i].reason;
  }
  return NULL;
}

// The names of the reasons against this pair, each once.
static void put_reasons(const sorted *all, const hsc_instr *from, uint32_t reader, hsc_bytes *out) {
  bool given[HSC_NOT_FUSED_COUNT] = {false};
  bool any = false;
  for (uint32_t i = all->first[reader]; i < all->first[reader + 1]; i++) {
    hsc_not_fused reason = all->reasons[i];
    if (all->producers[i] != from || given[reason])
      continue;
    hsc_bytes_printf(out, "%s%s", any ? " " : "", hsc_not_fused_text(reason));
    given[reason] = any = true;
  }
  if (!any)
    hsc_bytes_append_text(out, hsc_not_fused_text(HSC_NOT_FUSED_NOT_ASKED));
}

static hsc_status *write_reader(const sorted *all, hsc_instr *reader) {
  hsc_arena *arena = reader->parent->module->arena;
  const char *had = reader->frontend_attributes;
  hsc_bytes text = {0};
  size_t kept = had && strlen(had) > 2 ? strlen(had) - 1 : 0;  // without its closing brace
  hsc_bytes_append(&text, kept ? had : "{", kept ? kept : 1);
  size_t start = text.size;
  for (int i = 0; i < reader->operand_count; i++) {
    const hsc_instr *from = hsc_instr_computed(reader->operands[i]);
    if (!hsc_op_is_kernel(from->op))
      continue;
    hsc_bytes_printf(&text, "%s%s%d=\"", text.size > start || kept ? "," : "",
                     HSC_NOT_FUSED_ATTRIBUTE, i);
    put_reasons(all, from, reader->id, &text);
    hsc_bytes_append_char(&text, '"');
  }
  if (text.size > start) {
    hsc_bytes_append_char(&text, '}');
    reader->frontend_attributes = hsc_arena_strdup(arena, hsc_bytes_text(&text));
  }
  hsc_status *status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  return status ? status : hsc_arena_status(arena);
}

hsc_status *hsc__fusion_log_end(hsc_module *module) {
  sorted all;
  if (!module->fusion_log)
    return NULL;
  hsc_instr **by_id = HSC_NEW_ARRAY(module->arena, hsc_instr *, module->next_id);
  HSC_TRY(hsc_arena_status(module->arena));
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      by_id[instr->id] = instr;
  HSC_TRY(sort_refusals(module, by_id, &all));
  hsc__mark_embedded(module);
  HSC_FOR_EACH_COMPUTATION (module, computation)
    if (!hsc__computation_is_embedded(computation))
      HSC_FOR_EACH_INSTR_IN (computation, instr)
        if (hsc_op_is_kernel(instr->op))
          HSC_TRY(write_reader(&all, instr));
  module->fusion_log = NULL;
  return NULL;
}
