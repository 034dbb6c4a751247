// given_inputs.c - see given_inputs.h. The numbers are written once, as workers read them: row by
// row, little-endian.
#include "base/text/text.h"
#include "lab/run/given_inputs.h"

#include <stdlib.h>

#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "formats/numpy/numpy_file.h"
#include "hlo/ir/hlo.h"
#include "worker/program_spec.h"
#include "worker/scratch.h"

// What NumPy calls a type of HLO; those that it has no letter for are ml_dtypes' and kept as bytes.
static const struct {
  const char *letter, *name;
  hsc_type type;
} TYPES[] = {
    {"b1", "bool", HSC_TYPE_PRED},     {"i1", "int8", HSC_TYPE_S8},
    {"i2", "int16", HSC_TYPE_S16},     {"i4", "int32", HSC_TYPE_S32},
    {"i8", "int64", HSC_TYPE_S64},     {"u1", "uint8", HSC_TYPE_U8},
    {"u2", "uint16", HSC_TYPE_U16},    {"u4", "uint32", HSC_TYPE_U32},
    {"u8", "uint64", HSC_TYPE_U64},    {"f2", "float16", HSC_TYPE_F16},
    {"f4", "float32", HSC_TYPE_F32},   {"f8", "float64", HSC_TYPE_F64},
    {"c8", "complex64", HSC_TYPE_C64}, {"c16", "complex128", HSC_TYPE_C128},
};

// One input of the program: a leaf of a parameter.
typedef struct input_place {
  const hsc_instr *parameter;
  const hsc_shape *shape;
  int leaf, leaf_count;
  const hsc_numpy_array *array;  // NULL = the seed's
} input_place;

static const char *numpy_name(hsc_type type) {
  for (size_t i = 0; i < HSC_COUNT_OF(TYPES); i++)
    if (TYPES[i].type == type)
      return TYPES[i].name;
  return NULL;
}

static const char *name_of_letter(const char *letter) {
  for (size_t i = 0; i < HSC_COUNT_OF(TYPES); i++)
    if (!strcmp(TYPES[i].letter, letter))
      return TYPES[i].name;
  return letter;
}

// Whether the array's elements are the bytes of that type: NumPy's own, or as many bytes without a
// letter ("|V2" is what it writes for ml_dtypes.bfloat16).
static bool same_type(const hsc_numpy_array *array, hsc_type type) {
  const char *own = numpy_name(type);
  if (own)
    return !strcmp(name_of_letter(array->type + 1), own);
  return array->type[1] == 'V' && array->item_bytes == hsc_type_bytes(type);
}

static bool same_dims(const hsc_numpy_array *array, const hsc_shape *shape) {
  bool same = array->rank == shape->rank;
  for (int i = 0; i < shape->rank && same; i++)
    same = array->dims[i] == shape->dims[i];
  return same;
}

// What the framework calls the parameter, else its own name.
static const char *name_of(const input_place *place) {
  const hsc_metadata *metadata = place->parameter->metadata;
  return metadata && metadata->op_name ? metadata->op_name : place->parameter->name;
}

static bool has_name(const input_place *place, const char *name, hsc_arena *arena) {
  const char *own = place->parameter->name;
  const char *given = name_of(place);
  if (place->leaf_count > 1) {  // NAME.0, NAME.1 of a tuple
    own = hsc_arena_printf(arena, "%s.%d", own, place->leaf);
    given = hsc_arena_printf(arena, "%s.%d", given, place->leaf);
  }
  return !strcmp(own, name) || !strcmp(given, name);
}

static input_place *places_of(const hsc_module *module, hsc_arena *arena, size_t *out_count) {
  const hsc_computation *entry = module->entry;
  size_t count = 0;
  for (int p = 0; p < entry->parameter_count; p++)
    count += (size_t)hsc_shape_leaf_count(&entry->parameters[p]->shape);
  input_place *places = HSC_NEW_ARRAY(arena, input_place, count + 1);
  size_t at = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    const hsc_instr *parameter = entry->parameters[p];
    int leaves = hsc_shape_leaf_count(&parameter->shape);
    for (int leaf = 0; leaf < leaves; leaf++)
      places[at++] = (input_place){.parameter = parameter,
                                   .shape = hsc_shape_leaf(&parameter->shape, leaf),
                                   .leaf = leaf,
                                   .leaf_count = leaves};
  }
  *out_count = count;
  return places;
}

// "x f32[8,16], y s32[]": what the program wants, for messages; the first few.
static const char *wanted(const input_place *places, size_t count, hsc_arena *arena) {
  enum { MOST = 6 };
  hsc_bytes text = {0};
  for (size_t i = 0; i < count && i < MOST; i++) {
    hsc_bytes_printf(&text, "%s%s", i ? ", " : "", name_of(&places[i]));
    if (places[i].leaf_count > 1)
      hsc_bytes_printf(&text, ".%d", places[i].leaf);
    hsc_bytes_append_char(&text, ' ');
    hsc_shape_print(places[i].shape, false, &text);
  }
  if (count > MOST)
    hsc_bytes_printf(&text, " and %zu more", count - MOST);
  const char *kept = hsc_arena_strdup(arena, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return kept;
}

static hsc_status *assign(const hsc_given_inputs_options *o,
                          const hsc_numpy_array *arrays,
                          size_t array_count,
                          hsc_arena *arena,
                          input_place *places,
                          size_t count) {
  size_t named = 0;
  const char *stray = NULL;
  for (size_t a = 0; a < array_count; a++) {
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
      found = !places[i].array && has_name(&places[i], arrays[a].name, arena);
      if (found)
        places[i].array = &arrays[a];
    }
    named += found;
    if (!found && !stray)
      stray = arrays[a].name;
  }
  HSC_TRY(hsc_arena_status(arena));
  if (named && stray)
    return hsc_status_hint(HSC_ERR(INVALID_ARGUMENT, "%s has '%s', which is no input of %s",
                                   o->file, stray, o->program),
                           "the inputs are: %s", wanted(places, count, arena));
  if (named)
    return NULL;
  if (array_count != count)
    return hsc_status_hint(HSC_ERR(INVALID_ARGUMENT,
                                   "%s has %zu array%s without the inputs' names, %s takes %zu "
                                   "input%s",
                                   o->file, array_count, hsc_plural((double)array_count, "", "s"),
                                   o->program, count, hsc_plural((double)count, "", "s")),
                           "save one array an input, in their order, or some by their names: %s",
                           wanted(places, count, arena));
  for (size_t i = 0; i < count; i++)
    places[i].array = &arrays[i];
  return NULL;
}

static hsc_status *check(const hsc_given_inputs_options *o, const input_place *place) {
  const hsc_numpy_array *array = place->array;
  const char *name = *array->name ? array->name : "x";
  const char *type = numpy_name(place->shape->type);
  hsc_status *status = NULL;
  hsc_bytes text = {0};
  hsc_shape_print(place->shape, false, &text);
  if (!same_type(array, place->shape->type)) {
    status =
        HSC_ERR(INVALID_ARGUMENT, "input %s of %s is %s; %s in %s is %s", name_of(place),
                o->program, hsc_bytes_text(&text), name, o->file, name_of_letter(array->type + 1));
    status = type ? hsc_status_hint(status, "save %s.astype(numpy.%s)", name, type)
                  : hsc_status_hint(status,
                                    "save %s.astype(ml_dtypes.T), T being NumPy's name "
                                    "of %s",
                                    name, hsc_type_text(place->shape->type));
  } else if (!same_dims(array, place->shape)) {
    hsc_bytes given = {0};
    for (int i = 0; i < array->rank; i++)
      hsc_bytes_printf(&given, "%s%lld", i ? "," : "", (long long)array->dims[i]);
    status = hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "input %s of %s is %s; %s in %s is [%s]", name_of(place),
                o->program, hsc_bytes_text(&text), name, o->file, hsc_bytes_text(&given)),
        "save %s in the program's shape, or export the program for yours", name);
    hsc_bytes_deinit(&given);
  } else if (array->type[0] == '>') {
    status = hsc_status_hint(
        HSC_ERR(INVALID_ARGUMENT, "%s in %s has its bytes the other way round", name, o->file),
        "save %s.astype(%s.dtype.newbyteorder(\"<\"))", name, name);
  }
  hsc_bytes_deinit(&text);
  return status;
}

// Row by row: NumPy keeps some arrays column by column.
static void reorder(const hsc_numpy_array *array, char *to) {
  int64_t index[HSC_NUMPY_MAX_RANK] = {0};
  size_t count = array->data.size / array->item_bytes;
  for (size_t i = 0; i < count; i++) {
    size_t from = 0;
    for (int d = array->rank; d-- > 0;)
      from = from * (size_t)array->dims[d] + (size_t)index[d];
    memcpy(to + i * array->item_bytes, array->data.data + from * array->item_bytes,
           array->item_bytes);
    for (int d = array->rank; d-- > 0 && ++index[d] == array->dims[d];)
      index[d] = 0;
  }
}

static hsc_status *write_array(const char *dir,
                               size_t input,
                               const input_place *place,
                               hsc_bytes *path) {
  const hsc_numpy_array *array = place->array;
  char *ordered = NULL;
  hsc_status *status = NULL;
  hsc_bytes_reset(path);
  hsc_bytes_printf(path, "%s/input-%zu", dir, input);
  HSC_TRY(hsc_bytes_status(path));
  if (array->is_fortran && array->rank > 1) {
    ordered = hsc_alloc(array->data.size + 1);
    if (!ordered)
      return hsc_status_out_of_memory();
    reorder(array, ordered);
  }
  status = hsc_file_write_atomic(hsc_bytes_text(path), ordered ? ordered : array->data.data,
                                 array->data.size);
  hsc_free(ordered);
  return status;
}

void hsc_given_inputs_deinit(hsc_given_inputs *inputs) {
  json_decref(inputs->data);
  hsc_scratch_destroy(inputs->dir);
  *inputs = (hsc_given_inputs){0};
}

hsc_status *hsc_given_inputs_digest(const json_t *data, char out_text[33]) {
  hsc_bytes all = {0};
  hsc_bytes file = {0};
  hsc_status *status = NULL;
  size_t i;
  json_t *entry;
  json_array_foreach (data, i, entry) {
    char text[33] = "seed";
    if (json_is_string(entry) && !status) {
      hsc_bytes_reset(&file);
      status = hsc_file_read(json_string_value(entry), &file);
      hsc_hash128_hex(hsc_hash128_of(file.data, file.size, 0), text);
    }
    hsc_bytes_printf(&all, "%s ", text);
  }
  if (!status)
    status = hsc_bytes_status(&all);
  if (!status)
    hsc_hash128_hex(hsc_hash128_of(all.data, all.size, 0), out_text);
  hsc_bytes_deinit(&file);
  hsc_bytes_deinit(&all);
  return status;
}

hsc_status *hsc_given_inputs_read(const hsc_given_inputs_options *o, hsc_given_inputs *out) {
  hsc_module *module = NULL;
  hsc_arena *arena = NULL;
  hsc_bytes file = {0};
  hsc_bytes path = {0};
  hsc_numpy_array *arrays = NULL;
  size_t array_count = 0;
  size_t count = 0;
  hsc_status *status = NULL;
  *out = (hsc_given_inputs){0};
  if (!o->file)
    return NULL;
  json_t *data = json_array();
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_file_read(o->file, &file));
  HSC_GOTO(hsc_numpy_read(hsc_bytes_view(&file), o->file, arena, &arrays, &array_count));
  HSC_GOTO(hsc_program_open(o->program, o->transforms, o->transform_count, &module));
  input_place *places = places_of(module, arena, &count);
  HSC_GOTO(hsc_arena_status(arena));
  HSC_GOTO(assign(o, arrays, array_count, arena, places, count));
  HSC_GOTO(hsc_scratch_create(&out->dir));
  for (size_t i = 0; i < count; i++) {
    if (!places[i].array) {
      json_array_append_new(data, json_null());
      continue;
    }
    HSC_GOTO(check(o, &places[i]));
    HSC_GOTO(write_array(out->dir, i, &places[i], &path));
    json_array_append_new(data, json_string(hsc_bytes_text(&path)));
  }
  if (json_array_size(data) != count)
    HSC_GOTO(hsc_status_out_of_memory());
  out->data = json_incref(data);
done:
  if (status)
    hsc_given_inputs_deinit(out);
  json_decref(data);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&file);
  hsc_arena_destroy(arena);
  hsc_module_destroy(module);
  return status;
}
