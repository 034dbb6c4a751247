// fingerprint.c - a 128-bit hash of what a module means.
//
// An instruction hashes its op, shape, attributes, texts that a compiler may act on (sharding,
// frontend attributes, backend config), and the hashes of its operands, control predecessors and
// called computations. A computation hashes its root and the sum over all its instructions, so that
// neither names nor the order of independent instructions matter, while a second copy of the same
// instruction does. Operations count by their names and types by XLA's numbers: caches and stores
// keep fingerprints, and a new row in a table must not change them.
#include "hlo/print/print_internal.h"

// Raw "key=value" pieces are a set: the printer puts some in places of their own.
static void hash_pieces(hsc__hasher *h, const char *text) {
  hsc_hash128 sum = {0, 0};
  hsc__piece piece;
  hsc__hash_u64(h, text != NULL);
  if (!text)
    return;
  for (const char *at = text; hsc__next_piece(&at, &piece);) {
    hsc_hash128 hash = hsc_hash128_of(piece.text.data, piece.text.size, 0);
    sum.low += hash.low;
    sum.high += hash.high;
  }
  hsc__hash_u64(h, sum.low);
  hsc__hash_u64(h, sum.high);
}

typedef struct fingerprinter {
  hsc__ptr_map computations;  // computation -> hsc_hash128 *
  hsc_arena *arena;
} fingerprinter;

// of calls; the verifier allows fewer. What lies deeper counts by its size only.
enum { MAX_DEPTH = 2048 };

static hsc_hash128 hash_computation(fingerprinter *f,
                                    const hsc_computation *computation,
                                    int depth);

static hsc_hash128 hash_instr(fingerprinter *f,
                              const hsc__ptr_map *hashes,
                              const hsc_instr *instr,
                              int depth) {
  hsc__hasher h = {{1, 0x5bd1e995}};
  hsc__hash_text(&h, hsc_op_text(instr->op));
  hsc__hash_shape(&h, &instr->shape);
  hsc__hash_attr(&h, instr->op, &instr->attr);
  if (instr->sharding || instr->frontend_attributes || instr->backend_config ||
      instr->extra_attributes) {
    hsc__hash_text(&h, instr->sharding);
    hsc__hash_text(&h, instr->frontend_attributes);
    hsc__hash_text(&h, instr->backend_config);
    hash_pieces(&h, instr->extra_attributes);
  }
  hsc__hash_u64(&h, (uint64_t)instr->operand_count << 32 | (uint32_t)instr->called_count);
  for (int i = 0; i < instr->operand_count; i++) {
    const hsc_hash128 *operand = hsc__ptr_map_get(hashes, instr->operands[i]);
    hsc__hash_u64(&h, operand ? operand->low : 0);
    hsc__hash_u64(&h, operand ? operand->high : 0);
  }
  for (int i = 0; i < instr->called_count; i++) {
    hsc_hash128 called = hash_computation(f, instr->called[i], depth + 1);
    hsc__hash_u64(&h, called.low);
    hsc__hash_u64(&h, called.high);
  }
  hsc_hash128 edges = {0, 0};  // a set
  for (int i = 0; i < instr->control_count; i++) {
    const hsc_hash128 *predecessor = hsc__ptr_map_get(hashes, instr->control_predecessors[i]);
    if (!predecessor)
      continue;
    edges.low += predecessor->low;
    edges.high += predecessor->high;
  }
  hsc__hash_u64(&h, edges.low);
  hsc__hash_u64(&h, edges.high);
  return h.state;
}

static hsc_hash128 hash_computation(fingerprinter *f,
                                    const hsc_computation *computation,
                                    int depth) {
  const hsc_hash128 *known = hsc__ptr_map_get(&f->computations, computation);
  if (known)
    return *known;
  hsc__hasher h = {{(uint64_t)computation->parameter_count, (uint64_t)computation->instr_count}};
  if (depth > MAX_DEPTH)
    return h.state;
  hsc__ptr_map hashes = {0};
  hsc_hash128 sum = {0, 0};
  const hsc_hash128 *root = NULL;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next) {
    hsc_hash128 *hash = HSC_NEW(f->arena, hsc_hash128);
    *hash = hash_instr(f, &hashes, instr, depth);
    hsc__ptr_map_put(&hashes, instr, hash);
    sum.low += hash->low;
    sum.high += hash->high;
    if (instr == computation->root)
      root = hash;
  }
  hsc__hash_u64(&h, root ? root->low : 0);
  hsc__hash_u64(&h, root ? root->high : 0);
  hsc__hash_u64(&h, sum.low);
  hsc__hash_u64(&h, sum.high);
  hsc__hash_text(&h, computation->execution_thread);
  hsc__ptr_map_deinit(&hashes);
  hsc_hash128 *keep = hsc_arena_copy(f->arena, &h.state, sizeof h.state);
  hsc__ptr_map_put(&f->computations, computation, keep);
  return h.state;
}

// Out of memory gives zero, which no program has.
static hsc_hash128 with_fingerprinter(const hsc_computation *computation) {
  fingerprinter f = {0};
  hsc_hash128 hash = {0, 0};
  hsc_status *status = hsc_arena_create(&f.arena);
  if (!status) {
    hash = hash_computation(&f, computation, 0);
    status = hsc_arena_status(f.arena);
    if (status || f.computations.failed)
      hash = (hsc_hash128){0, 0};
  }
  hsc_status_free(status);
  hsc__ptr_map_deinit(&f.computations);
  hsc_arena_destroy(f.arena);
  return hash;
}

hsc_hash128 hsc_computation_fingerprint(const hsc_computation *computation) {
  return with_fingerprinter(computation);
}

hsc_hash128 hsc_attr_hash(const hsc_instr *instr) {
  hsc__hasher h = {{(uint64_t)instr->op + 1, 0x5bd1e995}};
  hsc__hash_attr(&h, instr->op, &instr->attr);
  for (int i = 0; i < instr->called_count; i++) {
    hsc_hash128 called = hsc_computation_fingerprint(instr->called[i]);
    hsc__hash_u64(&h, called.low);
    hsc__hash_u64(&h, called.high);
  }
  return h.state;
}

hsc_hash128 hsc_instr_fingerprint(const hsc_instr *instr) {
  fingerprinter f = {0};
  hsc__ptr_map operands = {0};
  hsc_hash128 hash = {0, 0};
  hsc_status *status = hsc_arena_create(&f.arena);
  for (int i = 0; i < instr->operand_count && !status; i++) {
    if (hsc__ptr_map_get(&operands, instr->operands[i]))
      continue;
    hsc__hasher h = {{(uint64_t)i, 0x9e3779b9}};
    hsc__hash_shape(&h, &instr->operands[i]->shape);
    hsc__ptr_map_put(&operands, instr->operands[i],
                     hsc_arena_copy(f.arena, &h.state, sizeof h.state));
    status = hsc_arena_status(f.arena);
  }
  if (!status) {
    hash = hash_instr(&f, &operands, instr, 0);
    status = hsc_arena_status(f.arena);
    if (status || f.computations.failed || operands.failed)
      hash = (hsc_hash128){0, 0};
  }
  hsc_status_free(status);
  hsc__ptr_map_deinit(&operands);
  hsc__ptr_map_deinit(&f.computations);
  hsc_arena_destroy(f.arena);
  return hash;
}

static void hash_aliases(hsc__hasher *h, const hsc_alias *aliases, int count) {
  hsc__hash_u64(h, (uint64_t)count);
  for (int i = 0; i < count; i++) {
    hsc__hash_dims(h, aliases[i].output_index);
    hsc__hash_u64(h, (uint64_t)aliases[i].parameter << 1 | aliases[i].must_alias);
    hsc__hash_dims(h, aliases[i].parameter_index);
  }
}

hsc_hash128 hsc_module_fingerprint(const hsc_module *module) {
  if (!module->entry)
    return (hsc_hash128){0, 0};
  hsc__hasher h = {with_fingerprinter(module->entry)};
  if (h.state.low == 0 && h.state.high == 0)
    return h.state;
  hash_aliases(&h, module->aliases, module->alias_count);
  hash_aliases(&h, module->donors, module->donor_count);
  hsc__hash_u64(&h, (uint64_t)module->num_partitions << 32 | (uint32_t)module->replica_count);
  hash_pieces(&h, module->extra_attributes);
  // The entry's layout as printed, so that a module that was built and one that was read from its
  // text agree.
  hsc_bytes layout = {0};
  hsc__print_entry_layout(module, &layout);
  hsc__hash_text(&h, hsc_bytes_text(&layout));
  hsc_bytes_deinit(&layout);
  return h.state;
}
