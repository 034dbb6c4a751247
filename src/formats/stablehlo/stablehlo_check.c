// stablehlo_check.c - what StableHLO asks of an operation and HLO does not: groups of replicas,
// types of regions, forms of attributes.
//
// Looked at before an operation is imported. What both ask for (shapes above all) is left to HLO's
// own rules, which say it of the instruction. Not asked for, because HLO takes it and computes what
// it says: convolutions of two integer types (c27), layouts of tuples in custom calls.
// Source: the constraints (C1, C2, ...) of the StableHLO specification; their order there is that
// of the checks here.
#include <stdlib.h>

#include "formats/stablehlo/stablehlo_internal.h"

typedef hsc_status *check_function(const hsc__importer *im, const hsc__mlir_op *op);
#define BAD(...) return HSC_OP_ERR(INVALID_ARGUMENT, im, op, __VA_ARGS__)

static bool is_list_of_arrays(const hsc__mlir_attr *attr) {
  return attr && attr->kind == HSC_MLIR_ARRAY;
}

static bool is_integers(const hsc__mlir_attr *attr) {
  return attr && attr->kind == HSC_MLIR_DENSE && attr->type &&
         (hsc_type_class_of(attr->type->shape.type) == HSC_CLASS_SIGNED ||
          hsc_type_class_of(attr->type->shape.type) == HSC_CLASS_UNSIGNED);
}

// Types that are both known and differ; what is dynamic fits everything.
static bool differ(const hsc__mlir_type *a, const hsc__mlir_type *b) {
  if (a->kind != b->kind)
    return a->kind == HSC_MLIR_TENSOR || b->kind == HSC_MLIR_TENSOR;
  if (a->kind == HSC_MLIR_TENSOR)
    return !a->shape.dynamic && !b->shape.dynamic && !hsc_shape_equal(&a->shape, &b->shape);
  if (a->kind != HSC_MLIR_TUPLE)
    return false;
  if (a->element_count != b->element_count)
    return true;
  for (int i = 0; i < a->element_count; i++)
    if (differ(a->elements[i], b->elements[i]))
      return true;
  return false;
}

static const hsc__mlir_op *terminator_of(const hsc__mlir_block *block) {
  return block && block->op_count ? block->ops[block->op_count - 1] : NULL;
}

// ---- several devices ----------------------------------------------------------------------------

// Rows of replicas, each replica in one of them. Rows may be filled up with -1 where they need not
// be equally long.
static hsc_status *check_groups(const hsc__importer *im, const hsc__mlir_op *op, bool equal) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, "replica_groups");
  if (!is_integers(attr))
    return NULL;
  if (attr->type->shape.rank != 2)
    BAD("its replica_groups are of rank %d: groups of replicas are the rows of a matrix",
        attr->type->shape.rank);
  hsc_dims ids;
  HSC_TRY(hsc__import_dims(im, op, "replica_groups", &ids));
  bool *seen = HSC_NEW_ARRAY(im->arena, bool, ids.count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  int named = 0;
  for (int i = 0; i < ids.count; i++) {
    if (ids.v[i] == -1 && !equal)
      continue;
    named++;
    if (ids.v[i] < 0)
      BAD("its replica_groups name replica %lld", (long long)ids.v[i]);
    if (ids.v[i] >= ids.count)
      continue;  // then one before it is missing
    if (seen[ids.v[i]])
      BAD("its replica_groups name replica %lld twice", (long long)ids.v[i]);
    seen[ids.v[i]] = true;
  }
  for (int i = 0; i < named; i++)
    if (!seen[i])
      BAD("its replica_groups leave out replica %d", i);
  return NULL;
}

static hsc_status *check_channel(const hsc__importer *im, const hsc__mlir_op *op, int64_t least) {
  int64_t channel = hsc__import_int(op, "channel_id", 0);
  if (hsc__import_int(op, "use_global_device_ids", 0) && channel < least)
    BAD("it uses global device ids, and its channel is %lld: %s is needed", (long long)channel,
        least ? "a positive one" : "one that is not negative");
  return NULL;
}

static bool is_promotable(hsc_type from, hsc_type to) {
  hsc_type_class a = hsc_type_class_of(from);
  hsc_type_class b = hsc_type_class_of(to);
  bool integers = (a == HSC_CLASS_SIGNED || a == HSC_CLASS_UNSIGNED || a == HSC_CLASS_PRED) &&
                  (b == HSC_CLASS_SIGNED || b == HSC_CLASS_UNSIGNED || b == HSC_CLASS_PRED);
  return (integers || a == b) && hsc_type_bits(from) <= hsc_type_bits(to);
}

// A region that takes an accumulator and a value of each of `count` inputs: operands first_input,
// ...; initial values (none = the inputs) first_initial, ...
static hsc_status *check_reducer(const hsc__importer *im,
                                 const hsc__mlir_op *op,
                                 int region,
                                 int count,
                                 int first_input,
                                 int first_initial) {
  const hsc__mlir_block *block = region < op->region_count ? op->regions[region] : NULL;
  const hsc__mlir_op *end = terminator_of(block);
  // What is missing HLO's rules say.
  if (!end || block->argument_count != 2 * count || end->operand_count != count ||
      first_input + count > op->operand_count || first_initial + count > op->operand_count)
    return NULL;
  for (int i = 0; i < count; i++) {
    const hsc__mlir_type *accumulator = block->arguments[i].type;
    const hsc__mlir_type *value = block->arguments[count + i].type;
    const hsc__mlir_type *result = end->operands[i]->type;
    const hsc__mlir_type *input = op->operands[first_input + i]->type;
    const hsc__mlir_type *initial = op->operands[first_initial + i]->type;
    if (result->kind != HSC_MLIR_TENSOR)
      BAD("its computation gives something that is no tensor");
    if (accumulator->kind != HSC_MLIR_TENSOR || value->kind != HSC_MLIR_TENSOR ||
        input->kind != HSC_MLIR_TENSOR || initial->kind != HSC_MLIR_TENSOR)
      continue;
    hsc_type to = result->shape.type;
    if (accumulator->shape.type != to || value->shape.type != to)
      BAD("its computation takes %s and %s, and gives %s: they are one type",
          hsc_type_text(accumulator->shape.type), hsc_type_text(value->shape.type),
          hsc_type_text(to));
    if (!is_promotable(initial->shape.type, to) || !is_promotable(input->shape.type, to))
      BAD("its computation is of type %s, to which %s does not widen", hsc_type_text(to),
          hsc_type_text(is_promotable(initial->shape.type, to) ? input->shape.type
                                                               : initial->shape.type));
  }
  return NULL;
}

static hsc_status *check_all_reduce(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *groups = hsc__mlir_attr_get(op, "replica_groups");
  HSC_TRY(check_groups(im, op, false));
  if (is_integers(groups) && hsc__import_int(op, "use_global_device_ids", 0) &&
      !hsc_shape_elements(&groups->type->shape))
    BAD("it uses global device ids, and its replica_groups are empty");
  HSC_TRY(check_channel(im, op, 1));
  for (int i = 0; i < op->operand_count; i++)
    HSC_TRY(check_reducer(im, op, 0, 1, i, i));
  return NULL;
}

static hsc_status *check_reduce_scatter(const hsc__importer *im, const hsc__mlir_op *op) {
  HSC_TRY(check_groups(im, op, true));
  HSC_TRY(check_channel(im, op, 1));
  int64_t dim = hsc__import_int(op, "scatter_dimension", 0);
  const hsc__mlir_type *type = op->operand_count ? op->operands[0]->type : NULL;
  if (type && type->kind == HSC_MLIR_TENSOR && dim >= 0 && dim < type->shape.rank &&
      !type->shape.dynamic && type->shape.dims[dim] == 0)
    BAD("dimension %lld, which it scatters, is empty", (long long)dim);
  return check_reducer(im, op, 0, 1, 0, 0);
}

static hsc_status *check_all_gather(const hsc__importer *im, const hsc__mlir_op *op) {
  HSC_TRY(check_groups(im, op, true));
  return check_channel(im, op, 0);
}

static hsc_status *check_all_to_all(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *groups = hsc__mlir_attr_get(op, "replica_groups");
  int64_t parts = hsc__import_int(op, "split_count", 0);
  HSC_TRY(check_groups(im, op, true));
  if (is_integers(groups) && (groups->type->shape.dims[0] || groups->type->shape.dims[1]) &&
      (!groups->type->shape.dims[0] || groups->type->shape.dims[1] != parts))
    BAD("its replica_groups are %lld of %lld replicas; it splits into %lld parts",
        (long long)groups->type->shape.dims[0], (long long)groups->type->shape.dims[1],
        (long long)parts);
  for (int i = 0; i < op->operand_count && i < op->result_count; i++)
    if (op->operands[i]->type->kind == HSC_MLIR_TENSOR &&
        op->results[i].type->kind == HSC_MLIR_TENSOR &&
        op->operands[i]->type->shape.type != op->results[i].type->shape.type)
      BAD("result %d has another element type than its operand", i);
  return NULL;
}

static int compare_ids(const void *a, const void *b) {
  const int64_t *x = a;
  const int64_t *y = b;
  return (*x > *y) - (*x < *y);
}

static hsc_status *check_permute(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(op, "source_target_pairs");
  hsc_dims pairs;
  if (!is_integers(attr))
    return NULL;
  if (attr->type->shape.rank != 2 || attr->type->shape.dims[1] != 2)
    BAD("its source_target_pairs are no list of pairs");
  HSC_TRY(hsc__import_dims(im, op, "source_target_pairs", &pairs));
  int64_t *sorted = HSC_NEW_ARRAY(im->arena, int64_t, pairs.count / 2 + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int side = 0; side < 2; side++) {  // sources, targets
    int count = 0;
    for (int i = side; i < pairs.count; i += 2)
      sorted[count++] = pairs.v[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_ids);
    if (count && sorted[0] < 0)
      BAD("its source_target_pairs name replica %lld", (long long)sorted[0]);
    for (int i = 1; i < count; i++)
      if (sorted[i] == sorted[i - 1])
        BAD("replica %lld is a %s twice", (long long)sorted[i], side ? "target" : "source");
  }
  return NULL;
}

enum { DEVICE_TO_DEVICE = 1, DEVICE_TO_HOST = 2, HOST_TO_DEVICE = 3 };

static hsc_status *check_channel_type(const hsc__importer *im,
                                      const hsc__mlir_op *op,
                                      int64_t of_host) {
  int64_t type = hsc__import_int(op, "channel_type", DEVICE_TO_DEVICE);
  bool host = hsc__import_int(op, "is_host_transfer", 0) != 0;
  if (type != (host ? of_host : DEVICE_TO_DEVICE))
    BAD("its channel is of type %lld; a transfer to another %s has %lld", (long long)type,
        host ? "place, the host," : "device", (long long)(host ? of_host : DEVICE_TO_DEVICE));
  return NULL;
}

static hsc_status *check_tensors_and_token(const hsc__importer *im, const hsc__mlir_op *op) {
  for (int i = 0; i + 1 < op->result_count; i++)
    if (op->results[i].type->kind == HSC_MLIR_TOKEN)
      BAD("result %d is a token; only the last one is", i);
  return NULL;
}

static hsc_status *check_send(const hsc__importer *im, const hsc__mlir_op *op) {
  return check_channel_type(im, op, DEVICE_TO_HOST);
}

static hsc_status *check_recv(const hsc__importer *im, const hsc__mlir_op *op) {
  HSC_TRY(check_channel_type(im, op, HOST_TO_DEVICE));
  return check_tensors_and_token(im, op);
}

static hsc_status *check_infeed(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *layout = hsc__mlir_attr_get(op, "layout");
  HSC_TRY(check_tensors_and_token(im, op));
  if (!layout)
    return NULL;
  if (!is_list_of_arrays(layout))
    BAD("its layout is no list");
  if (layout->count && layout->count != op->result_count - 1)
    BAD("its layout is for %d results; it has %d besides the token", layout->count,
        op->result_count - 1);
  for (int i = 0; i < layout->count; i++) {
    if (!is_list_of_arrays(layout->elements[i]))
      BAD("its layout of result %d is no list of dimensions", i);
    for (int k = 0; k < layout->elements[i]->count; k++)
      if (layout->elements[i]->elements[k]->kind != HSC_MLIR_INT)
        BAD("its layout of result %d is no list of dimensions", i);
  }
  return NULL;
}

// ---- regions ------------------------------------------------------------------------------------

static hsc_status *check_padding(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *padding = hsc__mlir_attr_get(op, "padding");
  if (is_integers(padding) && hsc_shape_elements(&padding->type->shape) &&
      (padding->type->shape.rank != 2 || padding->type->shape.dims[1] != 2))
    BAD("its padding is no list of pairs");
  return NULL;
}

static hsc_status *check_reduce(const hsc__importer *im, const hsc__mlir_op *op) {
  HSC_TRY(check_padding(im, op));
  int count = op->operand_count / 2;
  return check_reducer(im, op, 0, count, 0, count);
}

static hsc_status *check_scatter(const hsc__importer *im, const hsc__mlir_op *op) {
  int count = (op->operand_count - 1) / 2;
  return check_reducer(im, op, 0, count, count + 1, 0);
}

static hsc_status *check_select_and_scatter(const hsc__importer *im, const hsc__mlir_op *op) {
  HSC_TRY(check_padding(im, op));
  return op->operand_count == 3 ? check_reducer(im, op, 1, 1, 1, 2) : NULL;
}

static hsc_status *check_branches(const hsc__importer *im, const hsc__mlir_op *op) {
  for (int r = 0; r < op->region_count; r++) {
    if (!op->regions[r])
      continue;
    if (op->regions[r]->argument_count)
      BAD("branch %d has %d arguments; branches have none", r, op->regions[r]->argument_count);
    const hsc__mlir_op *end = terminator_of(op->regions[r]);
    for (int i = 0; end && i < end->operand_count && i < op->result_count; i++)
      if (differ(end->operands[i]->type, op->results[i].type))
        BAD("branch %d gives result %d in another type than it has", r, i);
  }
  return NULL;
}

static hsc_status *check_while(const hsc__importer *im, const hsc__mlir_op *op) {
  static const char *const names[] = {"condition", "body"};
  for (int r = 0; r < op->region_count && r < 2; r++) {
    const hsc__mlir_block *block = op->regions[r];
    const hsc__mlir_op *end = r == 1 ? terminator_of(block) : NULL;
    for (int i = 0; block && i < block->argument_count && i < op->operand_count; i++) {
      if (differ(block->arguments[i].type, op->operands[i]->type))
        BAD("its %s takes argument %d in another type than operand %d has", names[r], i, i);
      if (end && i < end->operand_count && differ(end->operands[i]->type, op->operands[i]->type))
        BAD("its body gives value %d in another type than operand %d has", i, i);
    }
  }
  return NULL;
}

// ---- attributes ---------------------------------------------------------------------------------

static hsc_status *check_accuracy(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *accuracy = hsc__mlir_attr_get(op, "result_accuracy");
  enum { HIGHEST = 1 };
  if (!accuracy || accuracy->kind != HSC_MLIR_ACCURACY || accuracy->count < 4 ||
      accuracy->elements[3]->integer != HIGHEST)
    return NULL;
  if (accuracy->elements[0]->number != 0 || accuracy->elements[1]->number != 0 ||
      accuracy->elements[2]->integer != 0)
    BAD("its result_accuracy is the highest, with tolerances besides");
  return NULL;
}

static hsc_status *check_precision(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *precision = hsc__mlir_attr_get(op, "precision_config");
  const hsc__mlir_attr *algorithm = hsc__mlir_attr_get(op, "accumulation_type");
  if (!is_list_of_arrays(precision))
    return NULL;
  if (precision->count > 2)
    BAD("its precision_config has %d elements; it has two operands", precision->count);
  for (int i = 0; i < precision->count; i++) {
    if (precision->elements[i]->kind != HSC_MLIR_ENUM)
      BAD("element %d of its precision_config is no precision", i);
    if (algorithm && precision->elements[i]->integer != 0)
      BAD("it names an algorithm, and a precision besides");
  }
  return NULL;
}

static hsc_status *check_convolution(const hsc__importer *im, const hsc__mlir_op *op) {
  hsc_dims reversal, spatial;
  HSC_TRY(check_padding(im, op));
  HSC_TRY(hsc__import_dims(im, op, "window_reversal", &reversal));
  HSC_TRY(hsc__import_dims(im, op, "input_spatial_dimensions", &spatial));
  if (reversal.count && reversal.count != spatial.count)
    BAD("its window_reversal has %d elements for %d spatial dimensions", reversal.count,
        spatial.count);
  if (op->operand_count > 1 && op->operands[0]->type->kind == HSC_MLIR_TENSOR &&
      op->operands[1]->type->kind == HSC_MLIR_TENSOR &&
      op->operands[0]->type->shape.type != op->operands[1]->type->shape.type)
    BAD("its lhs is of type %s, its rhs of %s: both must be of one",
        hsc_type_text(op->operands[0]->type->shape.type),
        hsc_type_text(op->operands[1]->type->shape.type));
  return check_precision(im, op);
}

// "{1,0}" of an alias; moves *at after it. -1 when it is none.
static int alias_path(const char **at, const char *end, int64_t *path, int most) {
  int count = 0;
  if (*at == end || **at != '{')
    return -1;
  for (++*at; *at < end && **at != '}';) {
    int64_t value = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && value < INT32_MAX; ++*at)
      value = 10 * value + (**at - '0');
    if (count == most)
      return -1;
    path[count++] = value;
    while (*at < end && (**at == ',' || **at == ' '))
      ++*at;
    if (*at < end && **at != '}' && (**at < '0' || **at > '9'))
      return -1;
  }
  return *at < end ? (++*at, count) : -1;
}

static const hsc__mlir_type *type_at(const hsc__mlir_type *type, const int64_t *path, int count) {
  for (int i = 0; i < count && type; i++)
    type = type->kind == HSC_MLIR_TUPLE && path[i] < type->element_count ? type->elements[path[i]]
                                                                         : NULL;
  return type;
}

// {output}: (operand, {operand indices}), as the readers write it.
static hsc_status *check_aliases(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *list = hsc__mlir_attr_get(op, "output_operand_aliases");
  for (int i = 0; is_list_of_arrays(list) && i < list->count; i++) {
    const hsc__mlir_attr *alias = list->elements[i];
    if (alias->kind != HSC_MLIR_ALIAS)
      continue;
    int64_t output[HSC_MAX_TUPLE_DEPTH];
    int64_t input[HSC_MAX_TUPLE_DEPTH];
    int64_t operand = 0;
    const char *at = alias->text.data;
    const char *end = at + alias->text.size;
    int output_count = alias_path(&at, end, output, HSC_MAX_TUPLE_DEPTH);
    while (at < end && (*at < '0' || *at > '9') && *at != '{')
      at++;
    for (; at < end && *at >= '0' && *at <= '9' && operand < INT32_MAX; at++)
      operand = 10 * operand + (*at - '0');
    while (at < end && *at != '{')
      at++;
    int input_count = alias_path(&at, end, input, HSC_MAX_TUPLE_DEPTH);
    if (output_count < 0 || input_count < 0)
      BAD("alias %d of its results is none", i);
    if (operand >= op->operand_count)
      BAD("alias %d of its results names operand %lld; it has %d", i, (long long)operand,
          op->operand_count);
    bool one = op->result_count == 1;
    bool several = !one && output_count > 0 && output[0] < op->result_count;
    const hsc__mlir_type *to;
    if (one)
      to = type_at(op->results[0].type, output, output_count);
    else if (several)
      to = type_at(op->results[output[0]].type, output + 1, output_count - 1);
    else
      to = NULL;
    const hsc__mlir_type *from = type_at(op->operands[operand]->type, input, input_count);
    if (!to)
      BAD("alias %d of its results names a result that is not there", i);
    if (!from)
      BAD("alias %d of its results names a part of operand %lld that is not there", i,
          (long long)operand);
    if (differ(from, to))
      BAD("alias %d of its results is of another type than operand %lld", i, (long long)operand);
  }
  return NULL;
}

static hsc_status *check_layout_list(const hsc__importer *im,
                                     const hsc__mlir_op *op,
                                     const hsc__mlir_attr *layouts,
                                     bool of_results,
                                     int count,
                                     const hsc__mlir_type *tuple) {
  const char *what = of_results ? "result" : "operand";
  if (layouts->count != count)
    BAD("%d %s layouts for %d %ss", layouts->count, what, count, what);
  for (int i = 0; i < count; i++) {
    const hsc__mlir_type *type;
    if (tuple)
      type = tuple->elements[i];
    else if (of_results)
      type = op->results[i].type;
    else
      type = op->operands[i]->type;
    const hsc__mlir_attr *layout = layouts->elements[i];
    bool empty = layout->kind != HSC_MLIR_DENSE || !hsc_shape_elements(&layout->type->shape);
    if (type->kind != HSC_MLIR_TENSOR && !empty)
      BAD("%s %d is no tensor, and has a layout", what, i);
  }
  return NULL;
}

// Which kind of configuration goes with which version of the call's interface.
static hsc_status *check_backend_config(const hsc__importer *im, const hsc__mlir_op *op) {
  enum { STATUS_RETURNING = 2, UNIFIED = 3, TYPED_FFI = 4 };
  const hsc__mlir_attr *config = hsc__mlir_attr_get(op, "backend_config");
  int64_t api = hsc__import_int(op, "api_version", 1);
  if (config && api == TYPED_FFI && config->kind == HSC_MLIR_STRING && config->text.size)
    BAD("its backend_config is text; calls of the typed FFI have a dictionary");
  if (config && (api == STATUS_RETURNING || api == UNIFIED) && config->kind == HSC_MLIR_DICT)
    BAD("its backend_config is a dictionary; only calls of the typed FFI have one");
  return NULL;
}

static hsc_status *check_custom_call(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *operands = hsc__mlir_attr_get(op, "operand_layouts");
  const hsc__mlir_attr *results = hsc__mlir_attr_get(op, "result_layouts");
  HSC_TRY(check_aliases(im, op));
  // Of StableHLO's three calls about buffers, which go between tensors and memory: tensors are
  // pinned into buffers, and come out of them again.
  if (hsc_view_equals_text(hsc__import_text(op, "call_target_name"), "Pin") &&
      op->result_count == 1 && op->results[0].type->kind == HSC_MLIR_TENSOR)
    BAD("a call of Pin gives a buffer (memref); its result is a tensor");
  HSC_TRY(check_backend_config(im, op));
  bool given = is_list_of_arrays(operands) && operands->count;
  bool answered = is_list_of_arrays(results) && results->count;
  if (!given && !answered)
    return NULL;
  const hsc__mlir_type *tuple = op->result_count == 1 && op->results[0].type->kind == HSC_MLIR_TUPLE
                                    ? op->results[0].type
                                    : NULL;
  int result_count = tuple ? tuple->element_count : op->result_count;
  if ((!given && op->operand_count) || (!answered && result_count))
    BAD("it has layouts for its %s alone", given ? "operands" : "results");
  if (given)
    HSC_TRY(check_layout_list(im, op, operands, false, op->operand_count, NULL));
  return answered ? check_layout_list(im, op, results, true, result_count, tuple) : NULL;
}

// A name in a namespace: "dialect.operation".
static bool is_namespaced(hsc_view name) {
  bool dotted = false;
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool other = (c >= '0' && c <= '9') || c == '_' || c == '$';
    if (i == 0 && !letter)
      return false;
    if (c == '.' && i + 1 < name.size)
      dotted = true;
    else if (!letter && !other && c != '.')
      return false;
  }
  return dotted;
}

static hsc_status *check_composite(const hsc__importer *im, const hsc__mlir_op *op) {
  hsc_view name = hsc__import_text(op, "name");
  if (!is_namespaced(name))
    BAD("its name is no name in a namespace, as \"dialect.operation\" is one");
  return NULL;
}

// ---- shapes that come as operands ---------------------------------------------------------------

static hsc_status *check_shape_operand(const hsc__importer *im, const hsc__mlir_op *op, int index) {
  if (index >= op->operand_count || op->result_count != 1 ||
      op->results[0].type->kind != HSC_MLIR_TENSOR)
    return NULL;
  const hsc_instr *instr = op->operands[index]->instr;
  const hsc_shape *result = &op->results[0].type->shape;
  if (!instr || !hsc_shape_is_array(&instr->shape))
    return NULL;
  if (instr->shape.rank != 1)
    BAD("its shape is an operand of rank %d: a list is wanted", instr->shape.rank);
  bool splat = instr->op == HSC_OP_BROADCAST && instr->operands[0]->op == HSC_OP_CONSTANT;
  const hsc_instr *constant = splat ? instr->operands[0] : instr;
  if (constant->op != HSC_OP_CONSTANT || constant->attr.literal.value->elided ||
      !hsc_type_is_integral(constant->shape.type) || result->dynamic)
    return NULL;
  if (instr->shape.dims[0] != result->rank)
    BAD("its shape has %lld dimensions, and its result %d", (long long)instr->shape.dims[0],
        result->rank);
  for (int d = 0; d < result->rank; d++) {
    int64_t wanted = hsc_literal_get_int(constant->attr.literal.value, splat ? 0 : d);
    if (wanted != result->dims[d])
      BAD("its shape says %lld for dimension %d, and its result has %lld", (long long)wanted, d,
          (long long)result->dims[d]);
  }
  return NULL;
}

static hsc_status *check_shape_0(const hsc__importer *im, const hsc__mlir_op *op) {
  return check_shape_operand(im, op, 0);
}
static hsc_status *check_shape_1(const hsc__importer *im, const hsc__mlir_op *op) {
  return check_shape_operand(im, op, 1);
}
static hsc_status *check_shape_2(const hsc__importer *im, const hsc__mlir_op *op) {
  return check_shape_operand(im, op, 2);
}

static hsc_status *check_broadcast(const hsc__importer *im, const hsc__mlir_op *op) {
  hsc_dims sizes;
  HSC_TRY(hsc__import_dims(im, op, "broadcast_sizes", &sizes));
  if (op->operand_count != 1 || op->result_count != 1 ||
      op->operands[0]->type->kind != HSC_MLIR_TENSOR ||
      op->results[0].type->kind != HSC_MLIR_TENSOR)
    return NULL;
  const hsc_shape *from = &op->operands[0]->type->shape;
  const hsc_shape *to = &op->results[0].type->shape;
  if (from->dynamic || to->dynamic)
    return NULL;
  bool fits = to->rank == from->rank + sizes.count;
  for (int d = 0; fits && d < to->rank; d++)
    fits = to->dims[d] == (d < sizes.count ? sizes.v[d] : from->dims[d - sizes.count]);
  if (!fits)
    BAD("its result is not its operand with broadcast_sizes before its dimensions");
  return NULL;
}

static hsc_status *check_constant_like(const hsc__importer *im, const hsc__mlir_op *op) {
  const hsc__mlir_attr *value = hsc__mlir_attr_get(op, "value");
  if (!value || !value->type || op->result_count != 1 ||
      op->results[0].type->kind != HSC_MLIR_TENSOR)
    return NULL;
  if (value->type->kind == HSC_MLIR_ELEMENT &&
      value->type->shape.type != op->results[0].type->shape.type)
    BAD("its value is of type %s, its result of %s", hsc_type_text(value->type->shape.type),
        hsc_type_text(op->results[0].type->shape.type));
  return NULL;
}

static hsc_status *check_triangular_solve(const hsc__importer *im, const hsc__mlir_op *op) {
  if (hsc__import_int(op, "transpose_a", 1) == 0)
    BAD("its transpose_a says nothing");
  return NULL;
}

// By the number of the operation's row in stablehlo_ops.def.
static check_function *const checks[] = {
#define check_none NULL
#define check_ragged_dot hsc__import_check_ragged_dot
#define SHLO(name, hlo, import, export, check, form, properties) check_##check,
#define OTHER(name, import, check, form, properties) check_##check,
#include "formats/mlir/stablehlo_ops.def"
#undef check_none
#undef check_ragged_dot
};

hsc_status *hsc__import_check(const hsc__importer *im, const hsc__mlir_op *op, int row) {
  check_function *check = row >= 0 ? checks[row] : NULL;
  return check ? check(im, op) : NULL;
}
