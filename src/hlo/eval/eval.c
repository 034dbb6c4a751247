// eval.c - the reference evaluator: runs a computation's instructions in program order, frees
// values after their last use.
//
// A computation is prepared once (which instructions are needed, where operands come from, who uses
// a value last) and then run any number of times. One function per op, found by the table below.
#include "hlo/eval/eval_internal.h"

static hsc_status *same(hsc__eval *cx,
                        const hsc_instr *instr,
                        hsc__value **operands,
                        hsc__value **out_value) {
  (void)cx;
  (void)instr;
  *out_value = hsc__value_retain(operands[0]);
  return NULL;
}

static hsc_status *no_host_queue(hsc__eval *cx,
                                 const hsc_instr *instr,
                                 hsc__value **operands,
                                 hsc__value **out_value) {
  (void)cx;
  (void)operands;
  (void)out_value;
  return HSC_ERR(
      UNIMPLEMENTED,
      "%s: not built yet: the reference evaluator has no host or peer to exchange data with (%%%s)",
      hsc_op_text(instr->op), instr->name);
}

// Ops that are missing here and not elementwise answer hsc_op_not_built.
static const hsc__eval_fn functions[HSC_OP_COUNT] = {
    [HSC_OP_CONSTANT] = hsc__eval_constant,
    [HSC_OP_IOTA] = hsc__eval_iota,
    [HSC_OP_SELECT] = hsc__eval_select,
    [HSC_OP_CLAMP] = hsc__eval_clamp,
    // moves
    [HSC_OP_COPY] = hsc__eval_same_bytes,
    [HSC_OP_RESHAPE] = hsc__eval_same_bytes,
    [HSC_OP_BITCAST] = hsc__eval_bitcast,
    [HSC_OP_BITCAST_CONVERT] = hsc__eval_bitcast_convert,
    [HSC_OP_BROADCAST] = hsc__eval_broadcast,
    [HSC_OP_TRANSPOSE] = hsc__eval_transpose,
    [HSC_OP_SLICE] = hsc__eval_slice,
    [HSC_OP_REVERSE] = hsc__eval_reverse,
    [HSC_OP_PAD] = hsc__eval_pad,
    [HSC_OP_CONCATENATE] = hsc__eval_concatenate,
    [HSC_OP_DYNAMIC_SLICE] = hsc__eval_dynamic_slice,
    [HSC_OP_DYNAMIC_UPDATE_SLICE] = hsc__eval_dynamic_update_slice,
    [HSC_OP_GET_DIMENSION_SIZE] = hsc__eval_get_dimension_size,
    [HSC_OP_SET_DIMENSION_SIZE] = hsc__eval_set_dimension_size,
    [HSC_OP_DYNAMIC_RESHAPE] = hsc__eval_dynamic_reshape,
    [HSC_OP_GATHER] = hsc__eval_gather,
    [HSC_OP_SCATTER] = hsc__eval_scatter,
    // arithmetic over many elements
    [HSC_OP_REDUCE] = hsc__eval_reduce,
    [HSC_OP_MAP] = hsc__eval_map,
    [HSC_OP_SCAN] = hsc__eval_scan,
    [HSC_OP_REDUCE_WINDOW] = hsc__eval_reduce_window,
    [HSC_OP_SELECT_AND_SCATTER] = hsc__eval_select_and_scatter,
    [HSC_OP_SORT] = hsc__eval_sort,
    [HSC_OP_TOPK] = hsc__eval_topk,
    [HSC_OP_DOT] = hsc__eval_dot,
    [HSC_OP_RAGGED_DOT] = hsc__eval_ragged_dot,
    [HSC_OP_SCALED_DOT] = hsc__eval_scaled_dot,
    [HSC_OP_CONVOLUTION] = hsc__eval_convolution,
    [HSC_OP_BATCH_NORM_INFERENCE] = hsc__eval_batch_norm_inference,
    [HSC_OP_BATCH_NORM_TRAINING] = hsc__eval_batch_norm_training,
    [HSC_OP_BATCH_NORM_GRAD] = hsc__eval_batch_norm_grad,
    [HSC_OP_FFT] = hsc__eval_fft,
    [HSC_OP_CHOLESKY] = hsc__eval_cholesky,
    [HSC_OP_TRIANGULAR_SOLVE] = hsc__eval_triangular_solve,
    // random numbers
    [HSC_OP_RNG] = hsc__eval_rng,
    [HSC_OP_RNG_BIT_GENERATOR] = hsc__eval_rng_bit_generator,
    [HSC_OP_RNG_GET_AND_UPDATE_STATE] = hsc__eval_rng_get_and_update_state,
    // control
    [HSC_OP_CALL] = hsc__eval_call,
    [HSC_OP_FUSION] = hsc__eval_call,
    [HSC_OP_WHILE] = hsc__eval_while,
    [HSC_OP_CONDITIONAL] = hsc__eval_conditional,
    [HSC_OP_TUPLE] = hsc__eval_tuple,
    [HSC_OP_GET_TUPLE_ELEMENT] = hsc__eval_get_tuple_element,
    [HSC_OP_AFTER_ALL] = hsc__eval_after_all,
    [HSC_OP_ADD_DEPENDENCY] = same,
    [HSC_OP_OPT_BARRIER] = same,
    [HSC_OP_DOMAIN] = same,
    [HSC_OP_ASYNC_START] = hsc__eval_async_start,
    [HSC_OP_ASYNC_UPDATE] = same,
    [HSC_OP_ASYNC_DONE] = hsc__eval_async_done,
    [HSC_OP_COPY_START] = hsc__eval_copy_start,
    [HSC_OP_COPY_DONE] = hsc__eval_async_done,
    [HSC_OP_CUSTOM_CALL] = hsc__eval_custom_call,
    // one participant
    [HSC_OP_ALL_GATHER] = hsc__eval_collective,
    [HSC_OP_ALL_REDUCE] = hsc__eval_collective,
    [HSC_OP_ALL_TO_ALL] = hsc__eval_collective,
    [HSC_OP_REDUCE_SCATTER] = hsc__eval_collective,
    [HSC_OP_COLLECTIVE_BROADCAST] = hsc__eval_collective,
    [HSC_OP_RAGGED_ALL_TO_ALL] = hsc__eval_collective,
    [HSC_OP_COLLECTIVE_PERMUTE] = hsc__eval_collective,
    [HSC_OP_ALL_GATHER_START] = hsc__eval_collective_start,
    [HSC_OP_ALL_REDUCE_START] = hsc__eval_collective_start,
    [HSC_OP_COLLECTIVE_PERMUTE_START] = hsc__eval_collective_start,
    [HSC_OP_ALL_GATHER_DONE] = hsc__eval_async_done,
    [HSC_OP_ALL_REDUCE_DONE] = same,
    [HSC_OP_COLLECTIVE_PERMUTE_DONE] = hsc__eval_async_done,
    [HSC_OP_PARTITION_ID] = hsc__eval_device_id,
    [HSC_OP_REPLICA_ID] = hsc__eval_device_id,
    [HSC_OP_INFEED] = no_host_queue,
    [HSC_OP_OUTFEED] = no_host_queue,
    [HSC_OP_SEND] = no_host_queue,
    [HSC_OP_SEND_DONE] = no_host_queue,
    [HSC_OP_RECV] = no_host_queue,
    [HSC_OP_RECV_DONE] = no_host_queue,
};

static hsc__eval_fn function_of(hsc_op op) {
  if (functions[op])
    return functions[op];
  return hsc_op_traits(op) & HSC_TRAIT_ELEMENTWISE ? hsc__eval_elementwise : NULL;
}

// Ops whose shape is given, not inferred, and whose result comes from elsewhere (an operand, a
// callee): the verifier cannot see that both agree.
static bool shape_is_a_claim(hsc_op op) {
  if (hsc_op_traits(op) & (HSC_TRAIT_ASYNC | HSC_TRAIT_COLLECTIVE))
    return true;
  switch (op) {
    case HSC_OP_CUSTOM_CALL:
    case HSC_OP_SCAN:
    case HSC_OP_RAGGED_DOT:
    case HSC_OP_SCALED_DOT:
    case HSC_OP_DYNAMIC_RESHAPE:
      return true;
    default:
      return false;
  }
}

static bool fits(const hsc_shape *shape, const hsc__value *value) {
  if (!hsc_shape_is_tuple(shape))
    return hsc_shape_equal(shape, &value->shape);
  if (!hsc_shape_is_tuple(&value->shape) || value->shape.element_count != shape->element_count)
    return false;
  for (int32_t i = 0; i < shape->element_count; i++)
    if (!fits(&shape->elements[i], value->elements[i]))
      return false;
  return true;
}

static hsc_status *run_function(hsc__eval *cx,
                                const hsc_instr *instr,
                                hsc__value **operands,
                                hsc__value **out_value);

static hsc_status *run_instr(hsc__eval *cx,
                             const hsc_instr *instr,
                             hsc__value **operands,
                             hsc__value **out_value) {
  HSC_TRY(run_function(cx, instr, operands, out_value));
  if (!shape_is_a_claim(instr->op) || fits(&instr->shape, *out_value))
    return NULL;
  hsc__value_release(*out_value);
  *out_value = NULL;
  return HSC_ERR(INVALID_ARGUMENT, "%s %%%s: its shape is not that of its value",
                 hsc_op_text(instr->op), instr->name);
}

// What runs other computations is counted by what those do; a fusion at its border.
static bool is_control(hsc_op op) {
  return op == HSC_OP_CALL || op == HSC_OP_WHILE || op == HSC_OP_CONDITIONAL ||
         op == HSC_OP_ASYNC_START || op == HSC_OP_SCAN;
}

// The cost of an instruction that runs often is counted once.
static const hsc_cost *cost_of(hsc__eval *cx, const hsc_instr *instr, hsc_cost *room) {
  hsc_cost *known = hsc__ptr_map_get(&cx->costs, instr);
  if (known)
    return known;
  hsc_instr_cost(instr, room);
  known = hsc_alloc(sizeof *known);
  if (!known)
    return room;
  *known = *room;
  hsc__ptr_map_put(&cx->costs, instr, known);
  if (!cx->costs.failed)
    return known;
  hsc_free(known);
  return room;
}

static void count_work(hsc__eval *cx, const hsc_instr *instr) {
  cx->work->instructions++;
  if (is_control(instr->op) || cx->fusion_depth)
    return;
  hsc_cost room;
  const hsc_cost *cost = cost_of(cx, instr, &room);
  cx->work->operations += cost->flops + cost->transcendentals;
  hsc_cost_add(&cx->work->cost, cost, 1);
  if (!cx->work->by_op)
    return;
  struct hsc_op_cost *by_op = &cx->work->by_op->of[instr->op];
  by_op->runs++;
  hsc_cost_add(&by_op->cost, cost, 1);
}

static void forget_costs(hsc__eval *cx) {
  for (size_t i = 0; i < cx->costs.capacity; i++)
    hsc_free(cx->costs.values[i]);
  hsc__ptr_map_deinit(&cx->costs);
}

static hsc_status *run_function(hsc__eval *cx,
                                const hsc_instr *instr,
                                hsc__value **operands,
                                hsc__value **out_value) {
  if (cx->work)
    count_work(cx, instr);
  hsc__eval_fn function = function_of(instr->op);
  if (!function)
    return hsc_op_not_built(instr->op, "the reference evaluator");
  for (int32_t i = 0; i < instr->operand_count; i++)
    if (operands[i]->sizes)
      return hsc__eval_sized(cx, instr, function, operands, out_value);
  return function(cx, instr, operands, out_value);
}

// ---- schedules ----------------------------------------------------------------------------------

// One needed instruction. Values live in slots numbered by position.
typedef struct scheduled {
  const hsc_instr *instr;
  int32_t *operands;  // [operand_count] slots
  // [operand_count]; true when the value is read later, or is earlier in the list too. It gets
  // an extra
  //   reference while the op runs, so that "one reference" means "the op may overwrite it".
  bool *read_again;
  int32_t dying_count;
  int32_t *dying;  // slots whose last use this is
} scheduled;

typedef struct schedule {
  const hsc_computation *computation;
  scheduled *steps;  // [count]; slot i is the value of step i
  int32_t count, root;
} schedule;

static hsc_view pointer_key(const void *const *pointer) {
  return (hsc_view){(const char *)pointer, sizeof(*pointer)};
}

// Numbers of the instructions in program order, from 1 so that NULL is "not there", in `positions`.
static hsc_status *number_instructions(const hsc_computation *computation,
                                       const void **keys,
                                       hsc_map *positions) {
  uintptr_t at = 0;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next) {
    keys[at] = instr;
    HSC_TRY(hsc_map_put(positions, pointer_key(&keys[at]), (void *)(at + 1)));
    at++;
  }
  return NULL;
}

static int32_t position_of(const hsc_map *positions, const hsc_instr *instr) {
  const void *key = instr;
  return (int32_t)(uintptr_t)hsc_map_get(positions, pointer_key(&key)) - 1;
}

static hsc_status *build_schedule(hsc_arena *arena,
                                  const hsc_computation *computation,
                                  hsc_map *positions,
                                  schedule *s) {
  int32_t total = 0;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
    total++;
  const void **keys = HSC_NEW_ARRAY(arena, const void *, total + 1);
  const hsc_instr **all = HSC_NEW_ARRAY(arena, const hsc_instr *, total + 1);
  int32_t *slot_of = HSC_NEW_ARRAY(arena, int32_t, total + 1);
  int32_t *last_use = HSC_NEW_ARRAY(arena, int32_t, total + 1);
  int32_t *seen_at = HSC_NEW_ARRAY(arena, int32_t, total + 1);
  bool *needed = HSC_NEW_ARRAY(arena, bool, total + 1);
  s->steps = HSC_NEW_ARRAY(arena, scheduled, total + 1);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(number_instructions(computation, keys, positions));

  int32_t at = 0;
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next)
    all[at++] = instr;
  for (at = total - 1; at >= 0; at--) {
    const hsc_instr *instr = all[at];
    if (instr == computation->root || instr->op == HSC_OP_PARAMETER || hsc_instr_has_effect(instr))
      needed[at] = true;
    if (!needed[at])
      continue;
    for (int32_t i = 0; i < instr->operand_count; i++) {
      int32_t from = position_of(positions, instr->operands[i]);
      if (from < 0 || from >= at)
        return HSC_ERR(INVALID_ARGUMENT,
                       "%s: operand %d comes after its use or from another computation",
                       instr->name, (int)i);
      needed[from] = true;
    }
  }
  for (at = 0; at < total; at++) {
    if (!needed[at])
      continue;
    scheduled *step = &s->steps[s->count];
    step->instr = all[at];
    step->operands = HSC_NEW_ARRAY(arena, int32_t, all[at]->operand_count + 1);
    step->read_again = HSC_NEW_ARRAY(arena, bool, all[at]->operand_count + 1);
    step->dying = HSC_NEW_ARRAY(arena, int32_t, all[at]->operand_count + 1);
    HSC_TRY(hsc_arena_status(arena));
    slot_of[at] = s->count;
    last_use[s->count] = -1;
    for (int32_t i = 0; i < all[at]->operand_count; i++) {
      step->operands[i] = slot_of[position_of(positions, all[at]->operands[i])];
      last_use[step->operands[i]] = s->count;
    }
    if (all[at] == computation->root)
      s->root = s->count;
    s->count++;
  }
  for (int32_t i = 0; i < s->count; i++) {
    if (i == s->root || last_use[i] < 0)
      continue;
    scheduled *step = &s->steps[last_use[i]];
    step->dying[step->dying_count++] = i;
  }
  for (at = 0; at < s->count; at++) {
    scheduled *step = &s->steps[at];
    for (int32_t i = 0; i < step->instr->operand_count; i++) {
      int32_t slot = step->operands[i];
      step->read_again[i] = slot == s->root || last_use[slot] != at || seen_at[slot] == at + 1;
      seen_at[slot] = at + 1;
    }
  }
  return NULL;
}

static hsc_status *schedule_get(hsc__eval *cx,
                                const hsc_computation *computation,
                                const schedule **out_schedule) {
  const void *key = computation;
  schedule *s = hsc_map_get(cx->schedules, pointer_key(&key));
  if (!s) {
    s = HSC_NEW(cx->arena, schedule);
    const void **stored = HSC_NEW(cx->arena, const void *);
    HSC_TRY(hsc_arena_status(cx->arena));
    s->computation = computation;
    if (!computation->root)
      return HSC_ERR(INVALID_ARGUMENT, "%s: a computation without a root cannot be run",
                     computation->name);
    hsc_map *positions = NULL;
    HSC_TRY(hsc_map_create(&positions));
    hsc_status *status = build_schedule(cx->arena, computation, positions, s);
    hsc_map_destroy(positions);
    if (status)
      return status;
    *stored = computation;
    HSC_TRY(hsc_map_put(cx->schedules, pointer_key(stored), s));
  }
  *out_schedule = s;
  return NULL;
}

// ---- running ------------------------------------------------------------------------------------

static hsc_status *run_step(hsc__eval *cx,
                            const scheduled *step,
                            hsc__value **slots,
                            hsc__value **operands,
                            hsc__value **out_value) {
  const hsc_instr *instr = step->instr;
  int32_t count = instr->operand_count;
  for (int32_t i = 0; i < count; i++) {
    operands[i] = slots[step->operands[i]];
    if (step->read_again[i])
      hsc__value_retain(operands[i]);
  }
  hsc_status *status = run_instr(cx, instr, operands, out_value);
  for (int32_t i = 0; i < count; i++) {
    if (step->read_again[i])
      hsc__value_release(operands[i]);
    else if (!operands[i])
      slots[step->operands[i]] = NULL;  // taken by the op
  }
  for (int32_t i = 0; i < step->dying_count; i++) {
    hsc__value_release(slots[step->dying[i]]);
    slots[step->dying[i]] = NULL;
  }
  if (status && instr->line > 0)
    return hsc_status_note(status, "while: evaluating %%%s = %s at line %d", instr->name,
                           hsc_op_text(instr->op), (int)instr->line);
  return status ? hsc_status_note(status, "while: evaluating %%%s = %s", instr->name,
                                  hsc_op_text(instr->op))
                : NULL;
}

hsc_status *hsc__eval_run(hsc__eval *cx,
                          const hsc_computation *computation,
                          int argument_count,
                          hsc__value **arguments,
                          hsc__value **out_value) {
  hsc_status *status = NULL;
  const schedule *s = NULL;
  hsc__value **slots = NULL;
  hsc__value *few[8];
  hsc__value **operands = few;
  if (cx->depth >= HSC__MAX_CALL_DEPTH)
    HSC_GOTO(HSC_ERR(RESOURCE_EXHAUSTED, "%s: calls are nested more than %d deep",
                     computation->name, HSC__MAX_CALL_DEPTH));
  if (argument_count != computation->parameter_count)
    HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "%s: %d arguments given, %d parameters", computation->name,
                     argument_count, (int)computation->parameter_count));
  HSC_GOTO(schedule_get(cx, computation, &s));
  slots = hsc_alloc((size_t)s->count * sizeof(*slots));
  if (!slots)
    HSC_GOTO(hsc_status_out_of_memory());
  cx->depth++;
  for (int32_t i = 0; i < s->count && !status; i++) {
    const scheduled *step = &s->steps[i];
    const hsc_instr *instr = step->instr;
    // the caller's reference moves into the slot; a parameter that nobody reads is dropped
    if (instr->op == HSC_OP_PARAMETER) {
      slots[i] = arguments[instr->attr.index.value];
      arguments[instr->attr.index.value] = NULL;
      continue;
    }
    if (instr->operand_count > (int32_t)HSC_COUNT_OF(few)) {
      operands = hsc_alloc((size_t)instr->operand_count * sizeof(*operands));
      if (!operands) {
        operands = few;
        status = hsc_status_out_of_memory();
        break;
      }
    }
    status = run_step(cx, step, slots, operands, &slots[i]);
    if (operands != few)
      hsc_free(operands);
    operands = few;
  }
  cx->depth--;
  if (!status) {
    *out_value = slots[s->root];
    slots[s->root] = NULL;
  }
done:
  for (int i = 0; i < argument_count; i++) {
    hsc__value_release(arguments[i]);
    arguments[i] = NULL;
  }
  if (slots)
    for (int32_t i = 0; i < s->count; i++)
      hsc__value_release(slots[i]);
  hsc_free(slots);
  return status;
}

// ---- the public functions -----------------------------------------------------------------------

static void eval_deinit(hsc__eval *cx) {
  forget_costs(cx);
  hsc_map_destroy(cx->schedules);
  hsc_map_destroy(cx->plans);
  hsc_arena_destroy(cx->arena);
}

void hsc_random_state_start(uint64_t random_state[2]) {
  random_state[0] = 0x7012395ull;
  random_state[1] = 0;
}

static hsc_status *eval_init(hsc__eval *cx) {
  *cx = (hsc__eval){0};
  hsc_random_state_start(cx->random_state);
  hsc_status *status = hsc_arena_create(&cx->arena);
  if (!status)
    status = hsc_map_create(&cx->schedules);
  if (!status)
    status = hsc_map_create(&cx->plans);
  if (status)
    eval_deinit(cx);
  return status;
}

static hsc_status *wrap(int count, hsc_literal *const *literals, hsc__value ***out_values) {
  hsc__value **values = hsc_alloc((size_t)count * sizeof(*values));
  if (!values)
    return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++) {
    hsc_status *status = hsc__value_from_literal(literals[i], &values[i]);
    if (status) {
      for (int j = 0; j < i; j++)
        hsc__value_release(values[j]);
      hsc_free(values);
      return status;
    }
  }
  *out_values = values;
  return NULL;
}

static hsc_status *evaluate(const hsc_computation *computation,
                            int argument_count,
                            hsc_literal *const *arguments,
                            hsc_arena *arena,
                            hsc_work *work,
                            hsc_literal **out_result) {
  if (argument_count != computation->parameter_count)
    return HSC_ERR(INVALID_ARGUMENT, "%s takes %d arguments, not %d", computation->name,
                   (int)computation->parameter_count, argument_count);
  for (int i = 0; i < argument_count; i++) {
    const hsc_instr *parameter = computation->parameters[i];
    if (hsc_shape_equal(&parameter->shape, &arguments[i]->shape))
      continue;
    hsc_bytes wanted = {0};
    hsc_bytes given = {0};
    hsc_shape_print(&parameter->shape, false, &wanted);
    hsc_shape_print(&arguments[i]->shape, false, &given);
    hsc_status *status = HSC_ERR(
        INVALID_ARGUMENT, "argument %d (%%%s) of %s has shape %s, expected %s", i, parameter->name,
        computation->name, hsc_bytes_text(&given), hsc_bytes_text(&wanted));
    hsc_bytes_deinit(&wanted);
    hsc_bytes_deinit(&given);
    return status;
  }
  hsc__eval cx;
  HSC_TRY(eval_init(&cx));
  cx.work = work;
  hsc__value **values = NULL;
  hsc__value *result = NULL;
  hsc_status *status = wrap(argument_count, arguments, &values);
  if (!status)
    status = hsc__eval_run(&cx, computation, argument_count, values, &result);
  if (!status)
    status = hsc__value_to_literal(result, arena, out_result);
  hsc__value_release(result);
  hsc_free(values);
  eval_deinit(&cx);
  return status;
}

hsc_status *hsc_evaluate_computation(const hsc_computation *computation,
                                     int argument_count,
                                     hsc_literal *const *arguments,
                                     hsc_arena *arena,
                                     hsc_literal **out_result) {
  return evaluate(computation, argument_count, arguments, arena, NULL, out_result);
}

hsc_status *hsc_evaluate_counted(const hsc_module *module,
                                 int argument_count,
                                 hsc_literal *const *arguments,
                                 hsc_arena *arena,
                                 hsc_work *io_work,
                                 hsc_literal **out_result) {
  if (!module->entry)
    return HSC_ERR(INVALID_ARGUMENT, "%s has no entry computation", module->name);
  return evaluate(module->entry, argument_count, arguments, arena, io_work, out_result);
}

hsc_status *hsc_evaluate(const hsc_module *module,
                         int argument_count,
                         hsc_literal *const *arguments,
                         hsc_arena *arena,
                         hsc_literal **out_result) {
  if (!module->entry)
    return HSC_ERR(INVALID_ARGUMENT, "%s has no entry computation", module->name);
  return hsc_evaluate_computation(module->entry, argument_count, arguments, arena, out_result);
}

hsc_status *hsc_evaluate_instr(const hsc_instr *instr,
                               hsc_literal *const *operands,
                               hsc_arena *arena,
                               hsc_literal **out_result) {
  uint64_t random_state[2];
  hsc_random_state_start(random_state);
  return hsc_evaluate_instr_drawing(instr, operands, random_state, arena, out_result);
}

hsc_status *hsc_evaluate_instr_drawing(const hsc_instr *instr,
                                       hsc_literal *const *operands,
                                       uint64_t random_state[2],
                                       hsc_arena *arena,
                                       hsc_literal **out_result) {
  if (instr->op == HSC_OP_PARAMETER)
    return HSC_ERR(INVALID_ARGUMENT, "%s: a parameter has no value of its own", instr->name);
  hsc__eval cx;
  HSC_TRY(eval_init(&cx));
  memcpy(cx.random_state, random_state, sizeof cx.random_state);
  hsc__value **values = NULL;
  hsc__value *result = NULL;
  int made = 0;
  hsc_status *status = wrap(instr->operand_count, operands, &values);
  if (!status) {
    made = instr->operand_count;
    status = run_instr(&cx, instr, values, &result);
  }
  if (!status)
    status = hsc__value_to_literal(result, arena, out_result);
  for (int i = 0; i < made; i++)
    hsc__value_release(values[i]);
  hsc_free(values);
  hsc__value_release(result);
  memcpy(random_state, cx.random_state, sizeof cx.random_state);
  eval_deinit(&cx);
  return status;
}
