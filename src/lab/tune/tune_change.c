// tune_change.c - changes of the program itself, each a file of its own, with the Python lines
// where a user would make them.
//
// batch       jax.vmap over what is fed: several steps in one call; time is counted a step
// donate      arguments whose memory the results may take: memory only
// precision   dots that ask for HIGH or HIGHEST at the default
// argument    constants of 64 KiB and more as arguments, with the same values
#include <math.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "lab/tune/tune_internal.h"
#include "transform/transform.h"

static const double CHANGE_WEIGHT = 1.5;
enum { BATCH = 8, CONSTANT_BYTES = 65536, MOST_PLACES = 3 };

static bool read_program(const tune_run *run, hsc_module **out_module) {
  hsc_status *unread = hsc_program_read_file(run->options->program, out_module);
  hsc_status_free(unread);  // what we cannot read we cannot change
  return !unread;
}

static hsc_status *write_program(tune_run *run, const hsc_module *module, tune_candidate *c) {
  hsc_bytes text = {0};
  const char *path = hsc_arena_printf(run->arena, "%s/changed_%d.hlo", run->scratch, run->count);
  hsc_status *status = hsc_arena_status(run->arena);
  if (!status)
    status = hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &text);
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  if (!status)
    c->program = path;
  hsc_bytes_deinit(&text);
  return status;
}

// "model.py:31, model.py:40 and 7 more": where instructions come from, each place once.
typedef struct places {
  hsc_bytes text;
  int count, more;
} places;

static void add_place(places *p, const hsc_instr *instr) {
  char place[512];
  const hsc_metadata *m = instr->metadata;
  if (m && m->source_file && m->source_line > 0)
    snprintf(place, sizeof place, "%s:%d", m->source_file, m->source_line);
  else
    snprintf(place, sizeof place, "%%%s", instr->name);
  if (p->text.size && strstr(hsc_bytes_text(&p->text), place))
    return;
  if (p->count++ >= MOST_PLACES)
    p->more++;
  else
    hsc_bytes_printf(&p->text, "%s%s", p->text.size ? ", " : "", place);
}

static const char *places_text(tune_run *run, places *p) {
  const char *text = hsc_arena_strdup(run->arena, hsc_bytes_text(&p->text));
  if (p->more)
    text = hsc_arena_printf(run->arena, "%s and %d more", text, p->more);
  hsc_bytes_deinit(&p->text);
  return text;
}

// ---- inputs that were given ---------------------------------------------------------------------

// "data" of the program's own inputs, an entry a leaf: as given, else as the seed makes them. A new
// reference.
static json_t *own_inputs(const tune_run *run, const hsc_module *module) {
  if (run->options->data)
    return json_copy(run->options->data);
  json_t *data = json_array();
  for (int i = 0; i < module->entry->parameter_count; i++)
    for (int k = 0; k < hsc_shape_leaf_count(&module->entry->parameters[i]->shape); k++)
      json_array_append_new(data, json_null());
  return data;
}

// The file's numbers BATCH times, one after the other: every example gets what was given.
static hsc_status *write_repeated(tune_run *run, const char *from, size_t input, json_t *data) {
  hsc_bytes numbers = {0};
  hsc_bytes repeated = {0};
  const char *path = hsc_arena_printf(run->arena, "%s/batch_%zu.bin", run->scratch, input);
  hsc_status *status = hsc_arena_status(run->arena);
  if (!status)
    status = hsc_file_read(from, &numbers);
  for (int i = 0; i < BATCH && !status; i++)
    hsc_bytes_append(&repeated, numbers.data, numbers.size);
  if (!status)
    status = hsc_bytes_status(&repeated);
  if (!status)
    status = hsc_file_write_atomic(path, repeated.data, repeated.size);
  if (!status)
    json_array_set_new(data, input, json_string(path));
  hsc_bytes_deinit(&numbers);
  hsc_bytes_deinit(&repeated);
  return status;
}

// "data" of the batched program, whose parameters have the leaves of `module`; NULL where the seed
// makes everything. A new reference.
static hsc_status *batched_inputs(tune_run *run,
                                  const hsc_module *module,
                                  const hsc_module *batched,
                                  json_t **out_data) {
  json_t *data = run->options->data ? json_copy(run->options->data) : NULL;
  hsc_status *status = NULL;
  size_t input = 0;
  for (int i = 0; data && i < module->entry->parameter_count; i++) {
    const hsc_shape *one = &module->entry->parameters[i]->shape;
    const hsc_shape *many = &batched->entry->parameters[i]->shape;
    for (int k = 0; k < hsc_shape_leaf_count(one) && !status; k++, input++) {
      const char *path = json_string_value(json_array_get(data, input));
      bool is_batched =
          hsc_shape_bytes(hsc_shape_leaf(one, k)) != hsc_shape_bytes(hsc_shape_leaf(many, k));
      if (path && is_batched)
        status = write_repeated(run, path, input, data);
    }
  }
  *out_data = data;
  return status;
}

// ---- batch --------------------------------------------------------------------------------------

static hsc_status *add_batch(tune_run *run, const hsc_module *module) {
  hsc_module *batched = NULL;
  hsc_transform_options options = hsc_transform_options_default();
  tune_candidate *c = NULL;
  hsc_status *refused = hsc_transform_vmap(module, BATCH, &options, &batched);
  if (refused) {  // a program that cannot be batched
    hsc_status_free(refused);
    return NULL;
  }
  json_t *data = NULL;
  hsc_status *status = batched_inputs(run, module, batched, &data);
  hsc_module_destroy(batched);
  if (!status)
    status =
        hsc__tune_add(run, TUNE_CHANGE, "batch",
                      "jax.vmap(f) over 8 inputs that are there at once; time is counted an input",
                      "a call does more at once", CHANGE_WEIGHT, &c);
  if (status) {
    json_decref(data);
    return status;
  }
  c->data = data;
  c->transform = hsc_arena_printf(run->arena, "vmap:%d", BATCH);
  c->parts = BATCH;
  return hsc_arena_status(run->arena);
}

// ---- donate -------------------------------------------------------------------------------------

static hsc_status *add_donation(tune_run *run, const hsc_module *module) {
  hsc_transform_options options = hsc_transform_options_default();
  int32_t *parameters = NULL;
  int32_t count = 0;
  int32_t data = -1;
  hsc_module *donating = NULL;
  tune_candidate *c = NULL;
  hsc_bytes numbers = {0};
  if (module->alias_count || module->donor_count)
    return NULL;
  hsc_status *status =
      hsc_transform_feedback(module, &options, run->arena, &parameters, &count, &data);
  // Parameters that are tuples have leaves of another count.
  for (int i = 0; i < module->entry->parameter_count && !status; i++)
    if (module->entry->parameters[i]->shape.type == HSC_TYPE_TUPLE)
      count = 0;
  if (status || data >= 0 || count == 0) {
    hsc_status_free(status);
    return NULL;
  }
  bool tuple = module->entry->root->shape.type == HSC_TYPE_TUPLE;
  HSC_TRY(hsc_module_clone(module, &donating));
  hsc_alias *aliases = HSC_NEW_ARRAY(donating->arena, hsc_alias, count + 1);
  status = hsc_arena_status(donating->arena);
  for (int32_t i = 0; i < count && !status; i++) {
    if (parameters[i] < 0)
      continue;
    hsc_alias *a = &aliases[donating->alias_count++];
    a->parameter = parameters[i];
    if (tuple)
      a->output_index = HSC_DIMS(donating->arena, i);
    hsc_bytes_printf(&numbers, "%s%d", numbers.size ? ", " : "", parameters[i]);
  }
  donating->aliases = aliases;
  if (!status && donating->alias_count)
    status = hsc__tune_add(
        run, TUNE_CHANGE, "donate",
        hsc_arena_printf(run->arena, "jax.jit(f, donate_argnums=...): arguments %s become results",
                         hsc_bytes_text(&numbers)),
        "results have the shapes of arguments", CHANGE_WEIGHT, &c);
  if (c) {
    c->memory_only = true;
    status = write_program(run, donating, c);
  }
  hsc_bytes_deinit(&numbers);
  hsc_module_destroy(donating);
  return status;
}

// ---- precision ----------------------------------------------------------------------------------

static hsc_status *add_precision(tune_run *run, const hsc_module *module) {
  static const hsc_dims standard = {0};
  hsc_module *changed = NULL;
  tune_candidate *c = NULL;
  places p = {0};
  HSC_TRY(hsc_module_clone(module, &changed));
  HSC_FOR_EACH_COMPUTATION (changed, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      bool dot = instr->op == HSC_OP_DOT;
      bool high = false;
      const hsc_dims *precision = dot ? &instr->attr.dot.precision : NULL;
      for (int i = 0; precision && i < precision->count; i++)
        high |= precision->v[i] > 0;
      if (!high)
        continue;
      instr->attr.dot.precision = standard;
      add_place(&p, instr);
    }
  hsc_status *status = NULL;
  const char *where = places_text(run, &p);
  if (p.count)
    status = hsc__tune_add(
        run, TUNE_CHANGE, "precision",
        hsc_arena_printf(run->arena, "precision=jax.lax.Precision.DEFAULT at %s", where),
        "products ask for more than the default precision", CHANGE_WEIGHT, &c);
  if (c && !status) {
    c->risk = "less precision: other inputs may come out further off";
    status = write_program(run, changed, c);
  }
  hsc_module_destroy(changed);
  return status;
}

// ---- argument -----------------------------------------------------------------------------------

static bool is_large_constant(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONSTANT && hsc_shape_bytes(&instr->shape) >= CONSTANT_BYTES &&
         instr->attr.literal.value && instr->attr.literal.value->data;
}

static hsc_status *save_value(tune_run *run, const hsc_instr *constant, int number, json_t *data) {
  const char *path = hsc_arena_printf(run->arena, "%s/constant_%d.bin", run->scratch, number);
  HSC_TRY(hsc_arena_status(run->arena));
  HSC_TRY(hsc_file_write_atomic(path, constant->attr.literal.value->data,
                                (size_t)hsc_shape_bytes(&constant->shape)));
  json_array_append_new(data, json_string(path));
  return NULL;
}

static hsc_status *add_arguments(tune_run *run, const hsc_module *module) {
  hsc_module *changed = NULL;
  tune_candidate *c = NULL;
  places p = {0};
  HSC_TRY(hsc_module_clone(module, &changed));
  json_t *data = own_inputs(run, module);
  hsc_computation *entry = changed->entry;
  hsc_status *status = NULL;
  int found = 0;
  for (hsc_instr *next = NULL, *instr = entry->first; instr && !status; instr = next) {
    next = instr->next;
    if (!is_large_constant(instr))
      continue;
    hsc_builder b;
    add_place(&p, instr);
    status = save_value(run, instr, found, data);
    hsc_builder_at(&b, entry, entry->first);
    hsc_instr *parameter =
        hsc_build_parameter(&b, entry->parameter_count, instr->shape, "constant");
    hsc_status *built = hsc_builder_finish(&b, NULL, NULL);
    status = status ? status : built;
    if (!status)
      status = hsc_instr_replace_uses(instr, parameter);
    if (!status)
      hsc_instr_remove(instr);
    found++;
  }
  changed->layout_text = NULL;
  const char *where = places_text(run, &p);
  if (found && !status)
    status = hsc_module_verify(changed);
  if (found && !status)
    status = hsc__tune_add(
        run, TUNE_CHANGE, "argument",
        hsc_arena_printf(run->arena, "%d constants of 64 KiB and more as arguments of f: %s", found,
                         where),
        "the program holds large constants", CHANGE_WEIGHT, &c);
  if (c && !status)
    status = write_program(run, changed, c);
  if (c)
    c->data = json_incref(data);
  json_decref(data);
  hsc_module_destroy(changed);
  return status;
}

hsc_status *hsc__tune_changes(tune_run *run) {
  hsc_module *module = NULL;
  if (run->options->transform_count || !read_program(run, &module))
    return NULL;
  hsc_status *status = NULL;
  HSC_GOTO(add_batch(run, module));
  HSC_GOTO(add_donation(run, module));
  HSC_GOTO(add_precision(run, module));
  HSC_GOTO(add_arguments(run, module));
done:
  hsc_module_destroy(module);
  return status;
}
