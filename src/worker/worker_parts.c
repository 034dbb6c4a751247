// worker_parts.c - inputs and outputs of a program on one device and on several.
//
// The host has whole arrays. Every device of a program of several partitions gets its piece of each
// input, and the pieces of an output are put together again. How they are cut the compiled program
// says (spmd_parameters_shardings, spmd_output_sharding); where it says nothing, every device has
// the whole. With several replicas each has all of it.
#include "worker/worker_internal.h"

// ---- shapes -------------------------------------------------------------------------------------

// The whole of what one device has a piece of.
static hsc_status *whole_shape(const hsc_shape *piece,
                               const char *sharding,
                               int64_t devices,
                               hsc_arena *arena,
                               const hsc_shape **out_shape) {
  hsc_pieces pieces;
  hsc_shape *whole = HSC_NEW(arena, hsc_shape);
  HSC_TRY(hsc_arena_status(arena));
  *out_shape = piece;
  if (!sharding || hsc_shape_is_tuple(piece))
    return NULL;
  HSC_TRY(hsc_pieces_read(hsc_view_of(sharding), piece->rank, devices, arena, &pieces));
  int64_t dims[HSC_MAX_RANK];
  for (int d = 0; d < piece->rank; d++)
    dims[d] = piece->dims[d] * pieces.counts[d];
  *whole = hsc_shape_array(arena, piece->type, piece->rank, dims);
  *out_shape = whole;
  return hsc_arena_status(arena);
}

// The element type on the other side; PJRT_Buffer_Type_INVALID for what has none.
static PJRT_Buffer_Type buffer_type(hsc_type type) {
  // Both sides name their element types alike ("f32"); the numbers differ.
  static PJRT_Buffer_Type types[HSC_TYPE_COUNT];
  static bool known;
  if (!known) {
    for (int t = 0; t < HSC_TYPE_COUNT; t++) {
      types[t] = PJRT_Buffer_Type_INVALID;
      for (int p = PJRT_Buffer_Type_INVALID + 1; p < 64; p++)
        if (!strcmp(hsc_type_text((hsc_type)t), hsc_pjrt_type_text((PJRT_Buffer_Type)p)))
          types[t] = (PJRT_Buffer_Type)p;
    }
    known = true;
  }
  return types[type];
}

static hsc_status *input_shapes(worker_program *program) {
  hsc_arena *arena = program->module->arena;
  hsc_computation *entry = program->module->entry;
  int input = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    const hsc_instr *parameter = entry->parameters[p];
    for (int leaf = 0; leaf < hsc_shape_leaf_count(&parameter->shape); leaf++) {
      const hsc_shape *at = hsc_shape_leaf(&parameter->shape, leaf);
      if (buffer_type(at->type) == PJRT_Buffer_Type_INVALID)
        return HSC_ERR(UNIMPLEMENTED, "parameter %d is a %s: the worker cannot make one", p,
                       hsc_type_text(at->type));
      if (program->in_parts)
        HSC_TRY(whole_shape(at, parameter->sharding, program->spread.partition_count, arena, &at));
      program->input_shapes[input++] = at;
      program->input_bytes += hsc_shape_bytes(at);
    }
  }
  return NULL;
}

static hsc_status *output_shapes(worker_program *program) {
  hsc_arena *arena = program->module->arena;
  const hsc_instr *root = program->module->entry->root;
  hsc_module_shardings cut = {0};
  if (program->in_parts && root->sharding)
    HSC_TRY(hsc_sharding_results(root->sharding, arena, &cut));
  for (int i = 0; i < program->output_count; i++) {
    const char *sharding = i < cut.result_count ? cut.results[i] : NULL;
    HSC_TRY(whole_shape(hsc_shape_leaf(&root->shape, i), sharding, program->spread.partition_count,
                        arena, &program->output_shapes[i]));
  }
  return NULL;
}

hsc_status *hsc__worker_shapes(worker_program *program) {
  hsc_arena *arena = program->module->arena;
  hsc_computation *entry = program->module->entry;
  for (int p = 0; p < entry->parameter_count; p++)
    program->input_count += hsc_shape_leaf_count(&entry->parameters[p]->shape);
  program->output_count = hsc_shape_leaf_count(&entry->root->shape);
  program->input_shapes = HSC_NEW_ARRAY(arena, const hsc_shape *, program->input_count + 1);
  program->output_shapes = HSC_NEW_ARRAY(arena, const hsc_shape *, program->output_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(input_shapes(program));
  return output_shapes(program);
}

// ---- how they are cut ---------------------------------------------------------------------------

// The same on all replicas: device r * partitions + p has what partition p has.
static hsc_status *read_pieces(const worker_program *program,
                               const char *sharding,
                               const hsc_shape *shape,
                               hsc_arena *arena,
                               hsc_pieces *out) {
  int64_t partitions = program->spread.partition_count;
  int64_t devices = partitions * program->spread.replica_count;
  hsc_pieces one;
  HSC_TRY(hsc_pieces_read(hsc_view_of(sharding ? sharding : "{replicated}"), shape->rank,
                          partitions, arena, &one));
  *out = one;
  out->device_count = devices;
  out->piece_of = HSC_NEW_ARRAY(arena, int64_t, devices + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int64_t d = 0; d < devices; d++)
    out->piece_of[d] = one.piece_of[d % partitions];
  return NULL;
}

// A device that cuts its outputs and does not say how would be put together wrongly.
static hsc_status *check_output(const worker_program *program,
                                const worker_executable *executable,
                                const hsc_array_spec *spec,
                                int output) {
  const hsc_shape *whole = program->output_shapes[output];
  const hsc_pieces *pieces = &executable->output_pieces[output];
  bool fits = spec->rank == whole->rank;
  for (int d = 0; d < whole->rank && fits; d++)
    fits = spec->dims[d] == hsc_piece_dim(pieces, whole->dims, d);
  if (fits)
    return NULL;
  return HSC_ERR(UNIMPLEMENTED,
                 "the device does not say how output %d is cut over its %d devices, so it cannot "
                 "be put together",
                 output, executable->device_count);
}

static hsc_status *find_pieces(const worker_program *program, worker_executable *e) {
  hsc_bytes code = {0};
  const char *format = NULL;
  const hsc_array_spec *specs = NULL;
  hsc_module_shardings cut = {0};
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_create(&e->parts_arena));
  hsc_arena *arena = e->parts_arena;
  hsc_status *unsaid = hsc_executable_optimized_program(e->executable, &code, &format);
  if (!unsaid)
    unsaid = hsc_hlo_proto_shardings(hsc_bytes_view(&code), arena, &cut);
  hsc_status_free(unsaid);  // then nothing is cut, which the outputs' shapes show
  e->input_pieces = HSC_NEW_ARRAY(arena, hsc_pieces, program->input_count + 1);
  e->output_pieces = HSC_NEW_ARRAY(arena, hsc_pieces, program->output_count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < program->input_count; i++)
    HSC_GOTO(read_pieces(program, i < cut.parameter_count ? cut.parameters[i] : NULL,
                         program->input_shapes[i], arena, &e->input_pieces[i]));
  if (hsc_executable_output_count(e->executable) != (size_t)program->output_count)
    HSC_GOTO(HSC_ERR(INTERNAL, "the compiled program has %zu outputs and the program %d",
                     hsc_executable_output_count(e->executable), program->output_count));
  HSC_GOTO(hsc_executable_outputs(e->executable, &specs));
  for (int i = 0; i < program->output_count; i++) {
    HSC_GOTO(read_pieces(program, i < cut.result_count ? cut.results[i] : NULL,
                         program->output_shapes[i], arena, &e->output_pieces[i]));
    HSC_GOTO(check_output(program, e, &specs[i], i));
  }
done:
  hsc_bytes_deinit(&code);
  return status;
}

hsc_status *hsc__worker_prepare(const worker_program *program, worker_executable *executable) {
  int64_t devices = program->spread.partition_count * program->spread.replica_count;
  int inputs = program->input_count;
  if (executable->execution)
    return NULL;
  executable->device_count = devices > 1 ? (int)devices : 1;
  executable->input_count = inputs;
  if (devices > 1 && !executable->output_pieces)
    HSC_TRY(find_pieces(program, executable));
  if (!executable->inputs)
    executable->inputs =
        hsc_alloc(((size_t)inputs * (size_t)executable->device_count + 1) * sizeof(hsc_buffer *));
  if (!executable->inputs)
    return hsc_status_out_of_memory();
  return hsc_execution_create_on(executable->executable, (size_t)executable->device_count,
                                 (size_t)inputs, &executable->execution);
}

// ---- copies -------------------------------------------------------------------------------------

// The piece of `input` that `device` has; `room` holds it until the next call.
static hsc_status *cut_piece(const worker_program *program,
                             const worker_executable *executable,
                             int input,
                             int device,
                             hsc_bytes *room,
                             hsc_host_array *array) {
  const hsc_shape *shape = program->input_shapes[input];
  const hsc_pieces *pieces = &executable->input_pieces[input];
  size_t element = hsc_pjrt_type_bytes(array->type);
  int64_t *dims = (int64_t *)(uintptr_t)array->dims;
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++)
    count *= dims[d] = hsc_piece_dim(pieces, shape->dims, d);
  hsc_bytes_reset(room);
  size_t size = (size_t)count * element;
  void *piece = hsc_bytes_extend(room, size ? size : 1);
  HSC_TRY(hsc_bytes_status(room));
  int64_t number = pieces->piece_of[device];
  hsc_piece_move(&(hsc_piece_copy){.pieces = pieces,
                                   .whole_dims = shape->dims,
                                   .element_bytes = element,
                                   .piece = number < 0 ? 0 : number,
                                   .to_piece = true},
                 program->inputs[input]->data, piece);
  array->data = piece;
  return NULL;
}

static hsc_status *transfer_one(hsc_client *client,
                                const worker_program *program,
                                worker_executable *executable,
                                int input,
                                int device,
                                hsc_bytes *room) {
  const hsc_shape *shape = program->input_shapes[input];
  int64_t dims[HSC_MAX_RANK];
  hsc_host_array array = {buffer_type(shape->type), shape->rank, shape->dims,
                          program->inputs[input]->data};
  if (executable->input_pieces) {
    array.dims = dims;
    HSC_TRY(cut_piece(program, executable, input, device, room, &array));
  }
  hsc_buffer *buffer = NULL;
  HSC_TRY(hsc_buffer_from_host(client, device, &array, HSC_HOST_COPY, NULL, &buffer));
  hsc_buffer **place = &executable->inputs[device * executable->input_count + input];
  hsc_buffer_destroy(*place);
  *place = buffer;
  hsc_execution_set_argument_on(executable->execution, (size_t)device, (size_t)input, buffer);
  return NULL;
}

hsc_status *hsc__worker_transfer_in(hsc_client *client,
                                    worker_program *program,
                                    worker_executable *executable) {
  hsc_bytes room = {0};
  hsc_status *status = NULL;
  for (int d = 0; d < executable->device_count; d++)
    for (int i = 0; i < program->input_count; i++)
      HSC_GOTO(transfer_one(client, program, executable, i, d, &room));
  for (int i = 0; i < executable->device_count * program->input_count; i++)
    HSC_GOTO(hsc_buffer_await(executable->inputs[i]));
done:
  hsc_bytes_deinit(&room);
  return status;
}

static hsc_status *fetch_buffer(
    worker_executable *executable, int device, int output, hsc_bytes *out_data, int64_t *io_ns) {
  hsc_buffer *buffer =
      hsc_execution_output_on(executable->execution, (size_t)device, (size_t)output);
  size_t size = 0;
  if (!buffer)
    return HSC_ERR(INTERNAL, "output %d of device %d is gone", output, device);
  HSC_TRY(hsc_buffer_host_bytes(buffer, &size));
  hsc_bytes_reset(out_data);
  void *room = size ? hsc_bytes_extend(out_data, size) : NULL;
  HSC_TRY(hsc_bytes_status(out_data));
  int64_t start = hsc_now_ns();
  if (size)
    HSC_TRY(hsc_buffer_to_host(buffer, room, size));
  *io_ns += hsc_now_ns() - start;
  return NULL;
}

// Puts a device's piece into the whole, or holds it against the copy that is there already.
static void place_piece(const hsc_piece_copy *copy,
                        hsc_view piece,
                        hsc_bytes *whole,
                        hsc_bytes *earlier,
                        bool is_first,
                        worker_output *how) {
  if (is_first) {
    hsc_piece_move(copy, whole->data, (void *)(uintptr_t)piece.data);
    return;
  }
  hsc_bytes_reset(earlier);
  void *room = hsc_bytes_extend(earlier, piece.size ? piece.size : 1);
  if (!room)
    return;  // out of memory, which the caller sees in the bytes
  // behind its end a piece that is filled up holds whatever the device left there
  for (int d = 0; d < copy->pieces->rank; d++)
    if (copy->whole_dims[d] % copy->pieces->counts[d])
      return;
  hsc_piece_copy back = *copy;
  back.to_piece = true;
  hsc_piece_move(&back, whole->data, room);
  how->copies_differ |= piece.size && memcmp(room, piece.data, piece.size) != 0;
}

static hsc_status *fetch_pieces(const worker_program *program,
                                worker_executable *executable,
                                int output,
                                hsc_bytes *out_data,
                                worker_output *how) {
  const hsc_shape *shape = program->output_shapes[output];
  const hsc_pieces *pieces = &executable->output_pieces[output];
  size_t element = hsc_pjrt_type_bytes(buffer_type(shape->type));
  size_t size = (size_t)hsc_shape_elements(shape) * element;
  hsc_bytes piece = {0};
  hsc_bytes earlier = {0};
  hsc_status *status = NULL;
  int holders = 0;
  how->pieces = 1;
  for (int d = 0; d < shape->rank; d++)
    how->pieces *= (int)pieces->counts[d];
  bool *seen = hsc_alloc((size_t)how->pieces);
  hsc_bytes_reset(out_data);
  if (size && !hsc_bytes_extend(out_data, size))
    HSC_GOTO(hsc_bytes_status(out_data));
  if (!seen)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int d = 0; d < executable->device_count; d++) {
    int64_t number = pieces->piece_of[d];
    if (number < 0)
      continue;
    HSC_GOTO(fetch_buffer(executable, d, output, &piece, &how->transfer_ns));
    hsc_piece_copy copy = {
        .pieces = pieces, .whole_dims = shape->dims, .element_bytes = element, .piece = number};
    place_piece(&copy, hsc_bytes_view(&piece), out_data, &earlier, !seen[number], how);
    HSC_GOTO(hsc_bytes_status(&earlier));
    seen[number] = true;
    holders++;
  }
  how->copies = holders / how->pieces;
done:
  hsc_free(seen);
  hsc_bytes_deinit(&piece);
  hsc_bytes_deinit(&earlier);
  return status;
}

hsc_status *hsc__worker_fetch(const worker_program *program,
                              worker_executable *executable,
                              int output,
                              hsc_bytes *out_data,
                              worker_output *out_how) {
  *out_how = (worker_output){.pieces = 1, .copies = 1};
  if (executable->output_pieces)
    return fetch_pieces(program, executable, output, out_data, out_how);
  return fetch_buffer(executable, 0, output, out_data, &out_how->transfer_ns);
}
