// hlo_diff.c - alignment of two modules.
#include "lab/passes/hlo_diff.h"

const char *hsc_diff_state_text(hsc_diff_state state) {
  static const char *const text[] = {"kept", "changed", "fused", "moved", "added", "removed"};
  return text[state];
}

// One side: all instructions by number (instr->index), what they are matched with, and two hashes.
typedef struct side {
  hsc_instr **all;      // [count]
  int32_t *match;       // [count], number on the other side; -1 = none yet
  uint64_t *identity;   // op, shape, attributes, where in the user's program
  uint64_t *structure;  // of the whole expression
  int32_t count;
} side;

static hsc_status *take_side(const hsc_module *module, hsc_arena *arena, side *out) {
  int64_t count = hsc_module_instr_count(module);
  if (count > INT32_MAX)
    return HSC_ERR(OUT_OF_RANGE, "a module of %lld instructions", (long long)count);
  out->all = HSC_NEW_ARRAY(arena, hsc_instr *, count + 1);
  out->match = HSC_NEW_ARRAY(arena, int32_t, count + 1);
  out->identity = HSC_NEW_ARRAY(arena, uint64_t, count + 1);
  out->structure = HSC_NEW_ARRAY(arena, uint64_t, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      instr->index = out->count;
      out->match[out->count] = -1;
      out->all[out->count++] = instr;
    }
  return NULL;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

static uint64_t text_hash(const char *text) {
  return text ? hsc_hash64(text, strlen(text), 7) : 0;
}

// Operands come before their users in a computation, so one walk is enough.
static void hash_side(side *s) {
  for (int32_t i = 0; i < s->count; i++) {
    const hsc_instr *instr = s->all[i];
    uint64_t own = hsc_instr_fingerprint(instr).low;
    uint64_t structure = own;
    s->identity[i] = mix(own, instr->metadata ? text_hash(instr->metadata->op_name) : 0);
    for (int k = 0; k < instr->operand_count; k++)
      structure = mix(structure, s->structure[instr->operands[k]->index]);
    s->structure[i] = structure;
  }
}

static void match_names(side *left, side *right, const hsc_module *right_module) {
  for (int32_t i = 0; i < left->count; i++) {
    const hsc_instr *l = left->all[i];
    const hsc_instr *r =
        right_module->names ? hsc_map_get(right_module->names, hsc_view_of(l->name)) : NULL;
    if (!r || r->op != l->op || right->match[r->index] >= 0)
      continue;
    left->match[i] = r->index;
    right->match[r->index] = i;
  }
}

// Equal keys are matched in their order. Buckets are chains through `next`, by
// the key's low bits.
static hsc_status *match_keys(side *left,
                              side *right,
                              const uint64_t *left_keys,
                              const uint64_t *right_keys,
                              hsc_arena *arena) {
  uint32_t size = 1024;
  while (size < (uint32_t)right->count * 2 && size < (1u << 30))
    size *= 2;
  int32_t *heads = HSC_NEW_ARRAY(arena, int32_t, size);
  int32_t *next = HSC_NEW_ARRAY(arena, int32_t, right->count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int32_t j = right->count - 1; j >= 0; j--) {  // from the end, so that chains are in order
    if (right->match[j] >= 0 || right->all[j]->op == HSC_OP_PARAMETER)
      continue;
    uint32_t bucket = (uint32_t)(right_keys[j] ^ right_keys[j] >> 32) & (size - 1);
    next[j] = heads[bucket];
    heads[bucket] = j + 1;
  }
  for (int32_t i = 0; i < left->count; i++) {
    if (left->match[i] >= 0 || left->all[i]->op == HSC_OP_PARAMETER)
      continue;
    int32_t *link = &heads[(uint32_t)(left_keys[i] ^ left_keys[i] >> 32) & (size - 1)];
    while (*link &&
           (right_keys[*link - 1] != left_keys[i] || right->all[*link - 1]->op != left->all[i]->op))
      link = &next[*link - 1];
    if (!*link)
      continue;
    int32_t j = *link - 1;
    *link = next[j];
    left->match[i] = j;
    right->match[j] = i;
  }
  return NULL;
}

// What of a matched instruction is not as it was; NULL = nothing.
static const char *difference(const side *left,
                              const side *right,
                              const hsc_instr *l,
                              const hsc_instr *r) {
  if (!hsc_shape_equal(&l->shape, &r->shape))
    return "shape";
  if (!hsc_shape_equal_layout(&l->shape, &r->shape))
    return "layout";
  if (l->operand_count != r->operand_count)
    return "operands";
  for (int k = 0; k < l->operand_count; k++)
    if (left->match[l->operands[k]->index] != r->operands[k]->index)
      return "operands";
  if (left->identity[l->index] == right->identity[r->index])
    return NULL;
  hsc_hash128 a = hsc_instr_fingerprint(l);
  hsc_hash128 b = hsc_instr_fingerprint(r);
  return a.low == b.low && a.high == b.high ? NULL : "attributes";
}

static void mark_fusions(const hsc_module *module) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    computation->scratch = NULL;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      if (instr->op == HSC_OP_FUSION && instr->called_count)
        instr->called[0]->scratch = instr;
}

static void add_removed(hsc_diff *diff, const hsc_instr *left) {
  diff->rows[diff->row_count++] =
      (hsc_diff_row){.state = HSC_DIFF_REMOVED, .left = left, .what = ""};
}

static void add_rows(hsc_diff *diff, const side *left, const side *right, bool *shown) {
  for (int32_t j = 0; j < right->count; j++) {
    const hsc_instr *r = right->all[j];
    if (right->match[j] < 0) {
      diff->rows[diff->row_count++] =
          (hsc_diff_row){.state = HSC_DIFF_ADDED, .right = r, .what = ""};
      continue;
    }
    const hsc_instr *l = left->all[right->match[j]];
    // Removed ones that were just before its left side.
    int32_t first = l->index;
    while (first > 0 && left->all[first - 1]->parent == l->parent && left->match[first - 1] < 0 &&
           !shown[first - 1])
      first--;
    for (int32_t i = first; i < l->index; i++) {
      shown[i] = true;
      add_removed(diff, left->all[i]);
    }
    const char *what = difference(left, right, l, r);
    bool same_place =
        !strcmp(l->parent->name, r->parent->name) ||
        (l->parent == l->parent->module->entry && r->parent == r->parent->module->entry);
    const hsc_instr *into = r->parent->scratch;
    bool was_fused = l->parent->scratch != NULL;
    hsc_diff_state state;
    if (!same_place && into && !was_fused)
      state = HSC_DIFF_FUSED;
    else if (what)
      state = HSC_DIFF_CHANGED;
    else if (same_place)
      state = HSC_DIFF_KEPT;
    else
      state = HSC_DIFF_MOVED;
    // A computation that only got another name is where it was.
    if (state == HSC_DIFF_MOVED && (into != NULL) == was_fused)
      state = HSC_DIFF_KEPT;
    diff->rows[diff->row_count++] = (hsc_diff_row){.state = state,
                                                   .left = l,
                                                   .right = r,
                                                   .what = what ? what : "",
                                                   .into = state == HSC_DIFF_FUSED ? into : NULL};
  }
  for (int32_t i = 0; i < left->count; i++)
    if (left->match[i] < 0 && !shown[i])
      add_removed(diff, left->all[i]);
}

hsc_status *hsc_diff_modules(hsc_module *left_module,
                             hsc_module *right_module,
                             hsc_diff *out_diff) {
  side left = {0};
  side right = {0};
  hsc_arena *arena = NULL;
  hsc_status *status = NULL;
  *out_diff = (hsc_diff){.left = left_module, .right = right_module};
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(take_side(left_module, arena, &left));
  HSC_GOTO(take_side(right_module, arena, &right));
  hash_side(&left);
  hash_side(&right);
  match_names(&left, &right, right_module);
  HSC_GOTO(match_keys(&left, &right, left.identity, right.identity, arena));
  HSC_GOTO(match_keys(&left, &right, left.structure, right.structure, arena));
  // Parameters of the entry are the program's; those of a computation are matched by its name and
  // their number.
  for (int k = 0;
       left_module->entry && right_module->entry && k < left_module->entry->parameter_count &&
       k < right_module->entry->parameter_count;
       k++) {
    const hsc_instr *l = left_module->entry->parameters[k];
    const hsc_instr *r = right_module->entry->parameters[k];
    if (left.match[l->index] >= 0 || right.match[r->index] >= 0)
      continue;
    left.match[l->index] = r->index;
    right.match[r->index] = l->index;
  }
  mark_fusions(left_module);
  mark_fusions(right_module);
  bool *shown = HSC_NEW_ARRAY(arena, bool, left.count + 1);
  out_diff->rows = hsc_alloc(((size_t)left.count + (size_t)right.count + 1) * sizeof(hsc_diff_row));
  if (!out_diff->rows)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc_arena_status(arena));
  add_rows(out_diff, &left, &right, shown);
  for (size_t i = 0; i < out_diff->row_count; i++)
    out_diff->counts[out_diff->rows[i].state]++;
done:
  hsc_arena_destroy(arena);
  if (status)
    hsc_diff_deinit(out_diff);
  return status;
}

void hsc_diff_deinit(hsc_diff *diff) {
  hsc_free(diff->rows);
  *diff = (hsc_diff){0};
}
