// eval_custom.c - custom calls: those that mean something without a device, by a table of names;
// LAPACK's; those that were registered. All others are refused by name.
#include <pthread.h>

#include "base/text/text.h"
#include "hlo/ir/custom.h"
#include "hlo/eval/eval_internal.h"

static hsc_status *identity(hsc__eval *cx,
                            const hsc_instr *instr,
                            hsc__value **operands,
                            hsc__value **out_value) {
  (void)cx;
  if (instr->operand_count == 1 && hsc_shape_equal(&operands[0]->shape, &instr->shape)) {
    *out_value = hsc__value_retain(operands[0]);
    return NULL;
  }
  if (hsc_shape_is_tuple(&instr->shape) && instr->shape.element_count == instr->operand_count)
    return hsc__value_tuple(&instr->shape, operands, out_value);
  return HSC_ERR(UNIMPLEMENTED,
                 "custom-call %s: not built yet: a result of another shape than its operand, in "
                 "the reference evaluator",
                 instr->attr.custom.target);
}

static hsc_status *zeros(hsc__eval *cx,
                         const hsc_instr *instr,
                         hsc__value **operands,
                         hsc__value **out_value) {
  (void)cx;
  (void)operands;
  return hsc__value_zeros(&instr->shape, out_value);
}

// TopK(x) gives (values, indices) of the largest k of the last dimension; k is in the result's
// shape.
static hsc_status *top_k(hsc__eval *cx,
                         const hsc_instr *instr,
                         hsc__value **operands,
                         hsc__value **out_value) {
  (void)cx;
  const hsc_shape *shape = &instr->shape;
  bool good = hsc_shape_is_tuple(shape) && shape->element_count == 2 && instr->operand_count == 1;
  const hsc_shape *values = good ? &shape->elements[0] : NULL;
  const hsc_shape *indices = good ? &shape->elements[1] : NULL;
  const hsc_shape *from = good ? &operands[0]->shape : NULL;
  good = good && values->rank >= 1 && values->rank == from->rank && values->type == from->type &&
         indices->type == HSC_TYPE_S32 && hsc_shape_same_dims(values, indices);
  for (int i = 0; good && i < from->rank; i++)
    good = i + 1 < from->rank ? values->dims[i] == from->dims[i] : values->dims[i] <= from->dims[i];
  if (!good)
    return HSC_ERR(INVALID_ARGUMENT,
                   "custom-call TopK: its shape is not (values, indices) of its operand");
  HSC_TRY(hsc__value_zeros(shape, out_value));
  return hsc__top_k(operands[0], shape->elements[0].dims[shape->elements[0].rank - 1], true,
                    (*out_value)->elements[0], (*out_value)->elements[1]);
}

static const struct {
  const char *target;
  hsc__eval_fn run;
  const char *doc;
} targets[] = {
    {"TopK", top_k, "the largest k of the last dimension"},
    {"ApproxTopK", hsc__eval_approx_top_k, "the first k in the order of a comparator"},
    {"Eigh", hsc__eval_eigh, "eigenvectors and eigenvalues of a symmetric matrix"},
    {"Qr", hsc__eval_qr, "QR by Householder reflectors"},
    {"ProductOfElementaryHouseholderReflectors", hsc__eval_householder_product, "Q of such a QR"},
    {"tridiagonal_solve_perturbed_ffi", hsc__eval_tridiagonal_perturbed,
     "a tridiagonal system whose pivots are kept from zero"},
    {"Sharding", identity, "a sharding annotation"},
    {"SPMDFullToShardShape", identity, "one device: the shard is the whole"},
    {"SPMDShardToFullShape", identity, "one device: the shard is the whole"},
    {"LayoutConstraint", identity, "a layout annotation"},
    {"annotate_device_placement", identity, "a placement annotation"},
    {"MoveToHost", identity, "a placement annotation"},
    {"MoveToDevice", identity, "a placement annotation"},
    {"PinToHost", identity, "a placement annotation"},
    {"PinToDevice", identity, "a placement annotation"},
    {"xla.sdy.FuncResultSharding", identity, "a sharding annotation"},
    {"control_dep", zeros, "an order between two values: every run is in the order of the program"},
    {"dce_sink", zeros, "keeps its operands alive"},
    {"AllocateBuffer", zeros, "memory whose contents nobody promised"},
};

// ---- registered targets -------------------------------------------------------------------------

typedef struct registered {
  hsc_custom_fn function;
  void *user;
} registered;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hsc_map *registry;  // never freed: the functions live as long as the process

hsc_status *hsc_custom_register(const char *target, hsc_custom_fn function, void *user) {
  registered *entry = hsc_alloc(sizeof *entry);
  if (!entry)
    return hsc_status_out_of_memory();
  *entry = (registered){function, user};
  pthread_mutex_lock(&lock);
  hsc_status *status = registry ? NULL : hsc_map_create(&registry);
  registered *before = status ? NULL : hsc_map_get(registry, hsc_view_of(target));
  if (!status && before)
    *before = *entry;
  if (!status && !before)
    status = hsc_map_put(registry, hsc_view_of(target), entry);
  pthread_mutex_unlock(&lock);
  if (status || before)
    hsc_free(entry);
  return status;
}

static bool find_registered(const char *target, registered *out_entry) {
  pthread_mutex_lock(&lock);
  registered *entry = registry ? hsc_map_get(registry, hsc_view_of(target)) : NULL;
  if (entry)
    *out_entry = *entry;
  pthread_mutex_unlock(&lock);
  return entry != NULL;
}

static int find_target(const char *target) {
  for (size_t i = 0; i < HSC_COUNT_OF(targets); i++)
    if (strcmp(targets[i].target, target) == 0)
      return (int)i;
  return -1;
}

bool hsc_custom_is_registered(const char *target) {
  registered entry;
  return find_registered(target, &entry);
}

bool hsc_custom_is_known(const char *target) {
  registered entry;
  return find_target(target) >= 0 || hsc__lapack_is_target(target) ||
         find_registered(target, &entry);
}

const char *hsc_custom_callback_hint(const char *target) {
  // frameworks' own names for functions of theirs: nobody else can bring an implementation
  if (!strstr(target, "python") || !strstr(target, "callback"))
    return NULL;
  return "it calls a Python function of the process that made the program, which a file does not "
         "hold: run that process on the device, or export the program without the callback";
}

hsc_status *hsc_custom_check(const char *target) {
  if (hsc_custom_is_known(target))
    return NULL;
  const char *names[HSC_COUNT_OF(targets) + 256];
  size_t count = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(targets); i++)
    names[count++] = targets[i].target;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; registry && i < hsc_map_count(registry) && count < HSC_COUNT_OF(names); i++) {
    hsc_view name;
    hsc_map_at(registry, i, &name);
    names[count++] = name.data;  // the map's copy, which ends with NUL and stays
  }
  pthread_mutex_unlock(&lock);
  const char *near = hsc_did_you_mean(target, names, count);
  hsc_status *status =
      HSC_ERR(UNIMPLEMENTED, "custom-call: no implementation of target '%s' is known", target);
  if (near)
    return hsc_status_hint(status, "did you mean %s?", near);
  const char *hint = hsc_custom_callback_hint(target);
  if (hint)
    return hsc_status_hint(status, "%s", hint);
  return hsc_status_hint(
      status,
      "from JAX, jax.ffi.register_ffi_target(\"%s\", handler, platform=\"hloscope\") brings one",
      target);
}

// Strides in elements of the arrangement that `layout` names, by dimension.
static void layout_strides(const hsc_shape *shape, const hsc_layout *layout, int64_t *out_strides) {
  int64_t stride = 1;
  for (int i = 0; i < shape->rank; i++) {
    int64_t dim = layout->minor_to_major[i];
    out_strides[dim] = stride;
    stride *= shape->dims[dim];
  }
}

void hsc_custom_to_layout(const hsc_literal *from, const hsc_layout *layout, void *to) {
  int64_t own[HSC_MAX_RANK], other[HSC_MAX_RANK];
  hsc__strides(&from->shape, own);
  layout_strides(&from->shape, layout, other);
  hsc__copy_strided(from->shape.rank, from->shape.dims, hsc_type_bytes(from->shape.type), to, other,
                    from->data, own);
}

void hsc_custom_from_layout(hsc_literal *to, const hsc_layout *layout, const void *from) {
  int64_t own[HSC_MAX_RANK], other[HSC_MAX_RANK];
  hsc__strides(&to->shape, own);
  layout_strides(&to->shape, layout, other);
  hsc__copy_strided(to->shape.rank, to->shape.dims, hsc_type_bytes(to->shape.type), to->data, own,
                    from, other);
}

static int count_leaves(const hsc__value *value) {
  if (!hsc_shape_is_tuple(&value->shape))
    return 1;
  int count = 0;
  for (int i = 0; i < value->shape.element_count; i++)
    count += count_leaves(value->elements[i]);
  return count;
}

static hsc_literal *flatten(const hsc__value *value, hsc_literal *at) {
  if (!hsc_shape_is_tuple(&value->shape)) {
    *at = (hsc_literal){.shape = value->shape, .data = value->data};
    return at + 1;
  }
  for (int i = 0; i < value->shape.element_count; i++)
    at = flatten(value->elements[i], at);
  return at;
}

static hsc_status *run_on_arrays(hsc_custom_fn function,
                                 void *user,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  hsc__value *result = NULL;
  hsc_custom_call call = {.target = instr->attr.custom.target, .instr = instr};
  call.config = instr->attr.custom.opaque ? instr->attr.custom.opaque : instr->backend_config;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc__value_zeros(&instr->shape, &result));
  for (int i = 0; i < instr->operand_count; i++)
    call.operand_count += count_leaves(operands[i]);
  call.result_count = count_leaves(result);
  hsc_literal *in = HSC_NEW_ARRAY(arena, hsc_literal, call.operand_count + 1);
  hsc_literal *out = HSC_NEW_ARRAY(arena, hsc_literal, call.result_count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  call.operands = in;
  call.results = out;
  for (int i = 0; i < instr->operand_count; i++)
    in = flatten(operands[i], in);
  flatten(result, out);
  HSC_GOTO(function(user, &call));
  *out_value = result;
  result = NULL;
done:
  hsc__value_release(result);
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc__eval_custom_call(hsc__eval *cx,
                                  const hsc_instr *instr,
                                  hsc__value **operands,
                                  hsc__value **out_value) {
  const char *target = instr->attr.custom.target ? instr->attr.custom.target : "";
  registered entry;
  int row = find_target(target);
  if (row >= 0)
    return targets[row].run(cx, instr, operands, out_value);
  // What was registered comes before LAPACK: a host may bring its own.
  if (find_registered(target, &entry))
    return run_on_arrays(entry.function, entry.user, instr, operands, out_value);
  if (hsc__lapack_is_target(target))
    return run_on_arrays(hsc__lapack_run, NULL, instr, operands, out_value);
  return hsc_custom_check(target);
}
