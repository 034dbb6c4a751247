// tuner.c - see tuner.h.
#include "base/core/build_id.h"
#include "base/core/log.h"
#include "base/files/file_io.h"
#include "cpu/tune/tuner.h"

#include "base/files/disk_cache.h"

struct hsc_cpu_tuned {
  hsc_arena *arena;
  hsc_map *entries;  // key text -> hsc_autotune_entry
};

struct hsc_cpu_tuner {
  hsc_cpu_device *device;
  const hsc_cpu_compile_options *options;
  hsc_arena *arena;
  char *device_text;  // what results are bound to
  // hlo -> hsc_autotune_entry: results of this device from a file; NULL = none
  hsc_map *loaded;
  hsc_autotune_denied *denied;
  int denied_count;
  // hlo -> hsc_autotune_entry: of this compilation, in the order of asking
  hsc_map *entries;
  char *cache_dir;  // heap; NULL = results are not kept on disk
};

// ---- what a device remembers --------------------------------------------------------------------

void hsc__cpu_tuned_destroy(hsc_cpu_tuned *tuned) {
  if (!tuned)
    return;
  hsc_map_destroy(tuned->entries);
  hsc_arena_destroy(tuned->arena);
  hsc_free(tuned);
}

static const char *copy_text(hsc_arena *arena, const char *text) {
  return text ? hsc_arena_strdup(arena, text) : NULL;
}

static hsc_status *copy_entry(hsc_arena *arena,
                              const hsc_autotune_entry *from,
                              hsc_autotune_entry **out_entry) {
  hsc_autotune_entry *to = *out_entry = HSC_NEW(arena, hsc_autotune_entry);
  hsc_autotune_result *results = HSC_NEW_ARRAY(arena, hsc_autotune_result, from->result_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  *to = *from;
  to->device = copy_text(arena, from->device);
  to->hlo = copy_text(arena, from->hlo);
  to->results = results;
  for (int i = 0; i < from->result_count; i++) {
    results[i] = from->results[i];
    results[i].message = copy_text(arena, from->results[i].message);
  }
  return hsc_arena_status(arena);
}

// Under the device's lock.
static hsc_status *remember(hsc_cpu_device *device, hsc_view key, const hsc_autotune_entry *entry) {
  if (!device->tuned) {
    hsc_cpu_tuned *made = hsc_alloc(sizeof *made);
    if (!made)
      return hsc_status_out_of_memory();
    hsc_status *status = hsc_arena_create(&made->arena);
    if (!status)
      status = hsc_map_create(&made->entries);
    if (status) {
      hsc__cpu_tuned_destroy(made);
      return status;
    }
    device->tuned = made;
  }
  hsc_autotune_entry *copy = NULL;
  HSC_TRY(copy_entry(device->tuned->arena, entry, &copy));
  return hsc_map_put(device->tuned->entries, key, copy);
}

// ---- names --------------------------------------------------------------------------------------

// Shapes and attributes without names: f32[8,64] dot(f32[8,32], f32[32,64]),
// lhs_contracting_dims={1}, rhs_contracting_dims={0}
static hsc_status *describe(const hsc_instr *instr, hsc_bytes *out) {
  hsc_bytes whole = {0};
  hsc_instr_print(
      instr,
      &(hsc_print_options){
          .no_metadata = true, .no_layouts = true, .no_backend_config = true, .no_percent = true},
      &whole);
  hsc_status *status = hsc_bytes_status(&whole);
  if (!status) {
    const char *open = strchr(whole.data, '(');
    const char *close = open ? strchr(open, ')') : NULL;
    hsc_shape_print(&instr->shape, false, out);
    hsc_bytes_printf(out, " %s(", hsc_op_text(instr->op));
    for (int i = 0; i < instr->operand_count; i++) {
      if (i > 0)
        hsc_bytes_append_text(out, ", ");
      hsc_shape_print(&instr->operands[i]->shape, false, out);
    }
    hsc_bytes_append_text(out, close ? close : ")");
    status = hsc_bytes_status(out);
  }
  hsc_bytes_deinit(&whole);
  return status;
}

static char *describe_device(hsc_cpu_device *device, hsc_arena *arena) {
  uint32_t features[HSC_CPU_FEATURE_WORDS];
  hsc_cpu_features(features);
  return hsc_arena_printf(arena, "hloscope %s, features %016llx", device->description,
                          (unsigned long long)hsc_hash64(features, sizeof features, 0));
}

static hsc_status *make_key(const hsc_cpu_tuner *t, const char *hlo, hsc_bytes *out) {
  hsc_bytes_printf(out, "autotune %s\ndevice %s\nbuild %s\nchecked %d\n%s", hlo, t->device_text,
                   hsc_build_id(), t->options->autotune_level >= 4,
                   t->options->strict_dot_conv_math ? "strict\n" : "");
  return hsc_bytes_status(out);
}

// ---- the files ----------------------------------------------------------------------------------

static hsc_status *load_results(hsc_cpu_tuner *t, const char *path) {
  hsc_bytes text = {0};
  hsc_autotune_entry *entries = NULL;
  int count = 0;
  int here = 0;
  hsc_status *status = hsc_file_read(path, &text);
  if (!status)
    status = hsc_autotune_read(hsc_bytes_view(&text), path, t->arena, &entries, &count);
  if (!status)
    status = hsc_map_create(&t->loaded);
  for (int i = 0; !status && i < count; i++) {
    if (strcmp(entries[i].device, t->device_text))
      continue;
    status = hsc_map_put(t->loaded, hsc_view_of(entries[i].hlo), &entries[i]);
    here++;
  }
  if (!status && here < count)
    hsc_log("autotune", 1, "%s: %d of %d results are of another device; this one is: %s", path,
            count - here, count, t->device_text);
  hsc_bytes_deinit(&text);
  return hsc_status_note(status, "while: loading autotune results from %s", path);
}

static hsc_status *load_denylist(hsc_cpu_tuner *t, const char *path) {
  hsc_bytes text = {0};
  hsc_status *status = hsc_file_read(path, &text);
  if (!status)
    status = hsc_autotune_denylist_read(hsc_bytes_view(&text), path, t->arena, &t->denied,
                                        &t->denied_count);
  hsc_bytes_deinit(&text);
  return hsc_status_note(status, "while: reading the denylist of algorithms %s", path);
}

static hsc_status *find_cache_dir(hsc_cpu_tuner *t) {
  if (t->options->autotune_cache_dir) {
    hsc_bytes path = {0};
    hsc_bytes_append_text(&path, t->options->autotune_cache_dir);
    t->cache_dir = hsc_bytes_take(&path);
    return t->cache_dir ? NULL : hsc_status_out_of_memory();
  }
  char *base = NULL;
  hsc_status *status = hsc_cache_dir(&base);
  if (status) {  // no place to keep results: they are measured again next time
    hsc_status_free(status);
    return NULL;
  }
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/autotune", base);
  hsc_free(base);
  t->cache_dir = hsc_bytes_take(&path);
  return t->cache_dir ? NULL : hsc_status_out_of_memory();
}

hsc_status *hsc__cpu_tuner_create(hsc_cpu_device *device,
                                  const hsc_cpu_compile_options *options,
                                  hsc_cpu_tuner **out_tuner) {
  hsc_status *status = NULL;
  hsc_cpu_tuner *t = *out_tuner = hsc_alloc(sizeof *t);
  if (!t)
    return hsc_status_out_of_memory();
  *t = (hsc_cpu_tuner){.device = device, .options = options};
  HSC_GOTO(hsc_arena_create(&t->arena));
  HSC_GOTO(hsc_map_create(&t->entries));
  t->device_text = describe_device(device, t->arena);
  HSC_GOTO(hsc_arena_status(t->arena));
  if (options->load_autotune_results_from)
    HSC_GOTO(load_results(t, options->load_autotune_results_from));
  if (options->algorithm_denylist_path)
    HSC_GOTO(load_denylist(t, options->algorithm_denylist_path));
  if (options->autotune_level > 0)
    HSC_GOTO(find_cache_dir(t));
  return NULL;
done:
  hsc__cpu_tuner_destroy(t);
  *out_tuner = NULL;
  return status;
}

void hsc__cpu_tuner_destroy(hsc_cpu_tuner *t) {
  if (!t)
    return;
  hsc_free(t->cache_dir);
  hsc_map_destroy(t->loaded);
  hsc_map_destroy(t->entries);
  hsc_arena_destroy(t->arena);
  hsc_free(t);
}

static hsc_status *write_file(hsc_cpu_tuner *t,
                              const char *path,
                              void (*write)(const hsc_autotune_entry *entries,
                                            int count,
                                            hsc_bytes *out)) {
  int count = (int)hsc_map_count(t->entries);
  hsc_autotune_entry *entries = HSC_NEW_ARRAY(t->arena, hsc_autotune_entry, count + 1);
  HSC_TRY(hsc_arena_status(t->arena));
  for (int i = 0; i < count; i++)
    entries[i] = *(const hsc_autotune_entry *)hsc_map_at(t->entries, (size_t)i, NULL);
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, "");
  write(entries, count, &text);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  hsc_bytes_deinit(&text);
  return hsc_status_note(status, "while: writing autotune results to %s", path);
}

hsc_status *hsc__cpu_tuner_finish(hsc_cpu_tuner *t) {
  if (t->options->dump_autotune_results_to)
    HSC_TRY(write_file(t, t->options->dump_autotune_results_to, hsc_autotune_results_write));
  if (t->options->dump_autotune_logs_to)
    HSC_TRY(write_file(t, t->options->dump_autotune_logs_to, hsc_autotune_logs_write));
  return NULL;
}

// ---- looking up and measuring -------------------------------------------------------------------

static bool is_denied(const hsc_cpu_tuner *t, const char *hlo, int64_t algorithm) {
  for (int i = 0; i < t->denied_count; i++)
    if (t->denied[i].algorithm == algorithm && !strcmp(t->denied[i].hlo, hlo))
      return true;
  return false;
}

static bool is_in_denylist(const hsc_cpu_tuner *t, const char *hlo) {
  for (int i = 0; i < t->denied_count; i++)
    if (!strcmp(t->denied[i].hlo, hlo))
      return true;
  return false;
}

// ---- faults on purpose (hloscope_autotune_faults) -----------------------------------------------
// Only where results are checked, at level 4: what is found there is never chosen.

static hsc_status *compute_nothing(void *context,
                                   void *const *inputs,
                                   void *output,
                                   void *scratch) {
  return NULL;
}
static hsc_status *write_before_output(void *context,
                                       void *const *inputs,
                                       void *output,
                                       void *scratch) {
  ((volatile char *)output)[-1] ^= 1;
  return NULL;
}
static hsc_status *fail(void *context, void *const *inputs, void *output, void *scratch) {
  return HSC_ERR(INTERNAL, "a fault on purpose");
}

static const hsc_tune_candidate faults[] = {
    {.algorithm = HSC_TUNE_FIRST_FAULT, .name = "fault-wrong", .run = compute_nothing},
    {.algorithm = HSC_TUNE_FIRST_FAULT + 1, .name = "fault-redzone", .run = write_before_output},
    {.algorithm = HSC_TUNE_FIRST_FAULT + 2, .name = "fault-error", .run = fail},
};

static hsc_status *measure(hsc_cpu_tuner *t,
                           const hsc_instr *instr,
                           const char *hlo,
                           hsc_autotune_entry *out) {
  hsc_status *status = NULL;
  hsc_tune_candidate candidates[HSC_TUNE_MAX_CANDIDATES];
  hsc_tune_products *products = NULL;
  hsc_arena *arena = NULL;
  int count = 0;
  hsc_autotune_result *results = NULL;
  *out = (hsc_autotune_entry){
      .device = t->device_text, .hlo = hlo, .is_conv = instr->op == HSC_OP_CONVOLUTION, .best = -1};
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc__tune_products_make(t->device, instr, t->options->strict_dot_conv_math, arena,
                                   candidates, &count, &products));
  for (int i = 0; i < t->device->extra_candidate_count && count < HSC_TUNE_MAX_CANDIDATES; i++)
    candidates[count++] = t->device->extra_candidates[i];
  for (size_t i = 0; i < HSC_COUNT_OF(faults) && t->options->autotune_faults &&
                     t->options->autotune_level >= 4 && count < HSC_TUNE_MAX_CANDIDATES;
       i++)
    candidates[count++] = faults[i];
  for (int i = 0; i < count; i++)
    if (is_denied(t, hlo, candidates[i].algorithm))
      candidates[i].refused = "the denylist names it";
  hsc_tune_problem problem = {.inputs = {&instr->operands[0]->shape, &instr->operands[1]->shape},
                              .output = &instr->shape,
                              .candidates = candidates,
                              .candidate_count = count};
  HSC_GOTO(hsc_autotune_run(&problem, t->options->autotune_level, t->arena, &results, &out->best));
  // Messages of refusals lie in an arena that ends here.
  for (int i = 0; i < count; i++)
    results[i].message = copy_text(t->arena, results[i].message);
  out->results = results;
  out->result_count = count;
  HSC_GOTO(hsc_arena_status(t->arena));
done:
  hsc__tune_products_deinit(products);
  hsc_arena_destroy(arena);
  return status;
}

static hsc_status *from_disk(hsc_cpu_tuner *t, hsc_view key, hsc_autotune_entry **out_entry) {
  hsc_bytes payload = {0};
  bool found = false;
  hsc_status *status = hsc_disk_cache_get(t->cache_dir, key, &payload, &found);
  if (!status && found) {
    hsc_autotune_entry *entries = NULL;
    int count = 0;
    status = hsc_autotune_read(hsc_bytes_view(&payload), "a kept autotune result", t->arena,
                               &entries, &count);
    if (!status && count == 1)
      *out_entry = &entries[0];
  }
  hsc_bytes_deinit(&payload);
  return status;
}

static hsc_status *to_disk(hsc_cpu_tuner *t, hsc_view key, const hsc_autotune_entry *entry) {
  hsc_bytes payload = {0};
  hsc_bytes information = {0};
  hsc_bytes_printf(&information, "name %s\n", entry->hlo);
  hsc_autotune_logs_write(entry, 1, &payload);
  hsc_status *status = hsc_bytes_status(&payload);
  if (!status)
    status = hsc_disk_cache_put(t->cache_dir, key, hsc_bytes_view(&information),
                                hsc_bytes_view(&payload));
  if (status)
    hsc_log("autotune", 1, "a result is not kept: %s", hsc_status_message(status));
  hsc_status_free(status);
  hsc_bytes_deinit(&information);
  hsc_bytes_deinit(&payload);
  return NULL;
}

// A result for this product from wherever one is, measured when there is none. A denylist is of
// this compilation: what it changes is neither taken from the device's memory and the disk nor put
// there.
static hsc_status *find(hsc_cpu_tuner *t,
                        const hsc_instr *instr,
                        const char *hlo,
                        hsc_autotune_entry **out_entry) {
  hsc_status *status = NULL;
  hsc_autotune_entry *entry = NULL;
  hsc_bytes key = {0};
  hsc_autotune_entry *loaded = t->loaded ? hsc_map_get(t->loaded, hsc_view_of(hlo)) : NULL;
  *out_entry = NULL;
  if (loaded && loaded->best >= 0 && !is_denied(t, hlo, loaded->results[loaded->best].algorithm)) {
    *out_entry = loaded;
    return NULL;
  }
  if (t->options->autotune_level == 0)
    return NULL;
  bool shared = !is_in_denylist(t, hlo) && t->device->extra_candidate_count == 0 &&
                !t->options->autotune_faults;
  HSC_GOTO(make_key(t, hlo, &key));
  if (shared) {
    pthread_mutex_lock(&t->device->lock);
    const hsc_autotune_entry *known =
        t->device->tuned ? hsc_map_get(t->device->tuned->entries, hsc_bytes_view(&key)) : NULL;
    if (known)
      status = copy_entry(t->arena, known, &entry);
    pthread_mutex_unlock(&t->device->lock);
    HSC_GOTO(status);
  }
  if (shared && !entry && t->cache_dir)
    HSC_GOTO(from_disk(t, hsc_bytes_view(&key), &entry));
  if (!entry) {
    entry = HSC_NEW(t->arena, hsc_autotune_entry);
    HSC_GOTO(hsc_arena_status(t->arena));
    HSC_GOTO(measure(t, instr, hlo, entry));
    if (shared && t->cache_dir)
      HSC_GOTO(to_disk(t, hsc_bytes_view(&key), entry));
  }
  if (shared) {
    pthread_mutex_lock(&t->device->lock);
    status = remember(t->device, hsc_bytes_view(&key), entry);
    pthread_mutex_unlock(&t->device->lock);
  }
  *out_entry = entry;
done:
  hsc_bytes_deinit(&key);
  return status;
}

static hsc_status *check(const hsc_cpu_tuner *t, const hsc_autotune_entry *entry) {
  for (int i = 0; i < entry->result_count; i++) {
    const hsc_autotune_result *r = &entry->results[i];
    if (r->failure != HSC_AUTOTUNE_REDZONE_MODIFIED && r->failure != HSC_AUTOTUNE_WRONG_RESULT)
      continue;
    const char *why = r->message ? r->message : "";
    if (t->options->crash_on_verification_failures)
      return HSC_ERR(
          FAILED_PRECONDITION,
          "autotune: algorithm %lld of %s: %s: %s (xla_gpu_crash_on_verification_failures)",
          (long long)r->algorithm, entry->hlo, hsc_autotune_failure_text(r->failure), why);
    hsc_log("autotune", 1, "algorithm %lld of %s: %s: %s", (long long)r->algorithm, entry->hlo,
            hsc_autotune_failure_text(r->failure), why);
  }
  if (entry->best >= 0)
    return NULL;
  if (entry->is_conv && t->options->strict_conv_algorithm_picker)
    return hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION, "autotune: no algorithm works for %s", entry->hlo),
        "xla_gpu_strict_conv_algorithm_picker=false goes on with the default algorithm");
  hsc_log("autotune", 1, "no algorithm works for %s: the default is taken", entry->hlo);
  return NULL;
}

hsc_status *hsc__cpu_tuner_pick(void *tuner,
                                const hsc_instr *instr,
                                int64_t *out_algorithm,
                                const char **out_name) {
  hsc_cpu_tuner *t = tuner;
  *out_algorithm = -1;
  if (!hsc__tune_wants(instr))
    return NULL;
  hsc_bytes hlo = {0};
  hsc_status *status = describe(instr, &hlo);
  hsc_autotune_entry *entry = status ? NULL : hsc_map_get(t->entries, hsc_bytes_view(&hlo));
  if (!status && !entry) {
    char *kept = hsc_arena_strdup(t->arena, hsc_bytes_text(&hlo));
    status = hsc_arena_status(t->arena);
    if (!status)
      status = find(t, instr, kept, &entry);
    if (!status && entry)
      status = hsc_map_put(t->entries, hsc_view_of(kept), entry);
    if (!status && entry)
      status = check(t, entry);
  }
  hsc_bytes_deinit(&hlo);
  HSC_TRY_NOTE(status, "while: choosing an algorithm for %s", instr->name);
  if (!entry || entry->best < 0)
    return NULL;
  *out_algorithm = entry->results[entry->best].algorithm;
  *out_name = hsc_tune_algorithm_name(entry->is_conv, *out_algorithm);
  return NULL;
}
