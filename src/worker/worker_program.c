// worker_program.c - programs of a worker: read, transformed, fingerprinted once; their host
// values.
#include "base/files/file_io.h"
#include "worker/program_spec.h"
#include "worker/worker_internal.h"

static hsc_status *program_key(json_t *request,
                               const char **out_path,
                               hsc_bytes *out_key,
                               const char **transforms,
                               size_t room,
                               size_t *out_count) {
  HSC_TRY(hsc__request_text(request, "program", true, out_path));
  hsc_bytes_append_text(out_key, *out_path);
  json_t *list = json_object_get(request, "transforms");
  json_t *item;
  if (list && !json_is_array(list))
    return HSC_ERR(INVALID_ARGUMENT, "\"transforms\" is not an array");
  if (json_array_size(list) > room)
    return HSC_ERR(INVALID_ARGUMENT, "more than %zu transforms", room);
  size_t i;
  json_array_foreach (list, i, item) {
    if (!json_is_string(item))
      return HSC_ERR(INVALID_ARGUMENT, "\"transforms\" holds something that is no string");
    transforms[i] = json_string_value(item);
    hsc_bytes_printf(out_key, "|%s", transforms[i]);
  }
  *out_count = json_array_size(list);
  if (json_is_true(json_object_get(request, "whole")))
    hsc_bytes_append_text(out_key, "|whole");
  return hsc_bytes_status(out_key);
}

// The file as it is goes to the plugin where that is possible, else what the (transformed) module
// prints to.
hsc_status *hsc__worker_code(const hsc_worker *worker, worker_program *program) {
  if (program->code_format)
    return NULL;
  int64_t start = hsc_now_ns();
  hsc_format format = HSC_FORMAT_COUNT;
  if (program->code.size > 0 &&
      hsc_format_detect(hsc_bytes_view(&program->code), program->key, &format)) {
    bool is_mlir = format == HSC_FORMAT_MLIR_TEXT || format == HSC_FORMAT_MLIR_BYTECODE;
    if (is_mlir || (format == HSC_FORMAT_HLO_TEXT && worker->own_device)) {
      program->code_format = is_mlir ? "mlir" : "hlo";
      return NULL;
    }
  }
  hsc_bytes_reset(&program->code);
  HSC_TRY(hsc_program_write(program->module,
                            worker->own_device ? HSC_FORMAT_HLO_TEXT : HSC_FORMAT_HLO_PROTO,
                            &program->code));
  program->code_format = "hlo";
  program->write_ns = hsc_now_ns() - start;
  return NULL;
}

static void program_destroy(worker_program *program) {
  if (!program)
    return;
  hsc_module_destroy(program->module);
  hsc_bytes_deinit(&program->code);
  hsc_free(program->key);
  hsc_free(program);
}

// What compiled programs are kept by. How values are cut over devices is in a program's own text,
// not in its module, and programs that differ in it alone are compiled to others.
static void fingerprint(worker_program *program, hsc_hash128 code) {
  hsc_hash128 both[2] = {hsc_module_fingerprint(program->module), code};
  bool is_spread = program->spread.partition_count * program->spread.replica_count > 1;
  hsc_hash128 hash = is_spread ? hsc_hash128_of(both, sizeof both, 0) : both[0];
  hsc_hash128_hex(hash, program->fingerprint);
}

enum { MAX_TRANSFORMS = 8 };

static hsc_status *open_program(hsc_worker *worker,
                                const char *path,
                                const char *const *transforms,
                                size_t count,
                                worker_program *program) {
  // our standard input is the requests: nobody would ever write a program there
  if (!strcmp(path, "-"))
    return HSC_ERR(INVALID_ARGUMENT, "a worker reads programs from files, not from \"-\"");
  hsc__worker_at(worker, "reading the program");
  int64_t start = hsc_now_ns();
  HSC_TRY(hsc_program_look(path));
  HSC_TRY(hsc_file_read_unpacked(path, (size_t)1 << 32, &program->code));
  int64_t read = hsc_now_ns();
  HSC_TRY(hsc__worker_read_spread(hsc_bytes_view(&program->code), path, program));
  hsc_hash128 code = hsc_hash128_of(program->code.data, program->code.size, 0);
  int64_t parsed = hsc_now_ns();
  hsc__worker_at(worker, "transforming the program");
  for (size_t i = 0; i < count; i++)
    HSC_TRY(hsc_program_transform(transforms[i], &program->module));
  if (count > 0)
    hsc_bytes_reset(&program->code);  // it is another program now
  program->transform_ns = hsc_now_ns() - parsed;
  program->read_ns = read - start;
  program->parse_ns = parsed - read;
  fingerprint(program, code);
  HSC_TRY(hsc__worker_shapes(program));
  hsc__worker_at(worker, NULL);
  return NULL;
}

hsc_status *hsc__worker_program(hsc_worker *worker, json_t *request, worker_program **out_program) {
  const char *path = NULL;
  const char *transforms[MAX_TRANSFORMS];
  size_t count = 0;
  hsc_bytes key = {0};
  worker_program *program = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(program_key(request, &path, &key, transforms, MAX_TRANSFORMS, &count));
  for (worker_program *p = worker->programs; p; p = p->next) {
    if (strcmp(p->key, hsc_bytes_text(&key)) != 0)
      continue;
    *out_program = p;
    goto done;
  }
  program = hsc_alloc(sizeof(*program));
  if (!program)
    HSC_GOTO(hsc_status_out_of_memory());
  program->key = hsc_strdup(hsc_bytes_text(&key));
  HSC_GOTO(hsc__request_bool(request, "whole", &program->is_whole));
  HSC_GOTO(open_program(worker, path, transforms, count, program));
  program->next = worker->programs;
  worker->programs = *out_program = program;
  program = NULL;
done:
  program_destroy(program);
  hsc_bytes_deinit(&key);
  return status;
}

// Moves every float by the share `perturbation` of itself, at least by its type's precision, up or
// down as a hash of its place says.
static void perturb_floats(hsc_literal *literal, double perturbation, uint64_t key) {
  hsc_type type = literal->shape.type;
  double precision;
  if (type == HSC_TYPE_F64)
    precision = 0x1p-52;
  else if (type == HSC_TYPE_F32)
    precision = 0x1p-23;
  else if (type == HSC_TYPE_F16)
    precision = 0x1p-10;
  else
    precision = 0x1p-7;
  bool moves =
      type == HSC_TYPE_F64 || type == HSC_TYPE_F32 || type == HSC_TYPE_F16 || type == HSC_TYPE_BF16;
  int64_t count = moves ? hsc_shape_elements(&literal->shape) : 0;
  double share = perturbation > precision ? perturbation : precision;
  for (int64_t i = 0; i < count; i++) {
    uint64_t h = (key + (uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
    hsc_literal_set_double(literal, i,
                           hsc_literal_get_double(literal, i) * (h >> 63 ? 1 + share : 1 - share));
  }
}

// One input from its entry of a job's "data": the bytes of a file, else as seeded for an argument.
static hsc_status *fill_input(worker_program *program, int input, uint64_t seed, json_t *entry) {
  hsc_literal *literal = program->inputs[input];
  size_t size = (size_t)hsc_shape_bytes(&literal->shape);
  hsc_bytes bytes = {0};
  if (!json_is_string(entry)) {
    int64_t argument = json_is_integer(entry) ? json_integer_value(entry) : input;
    hsc_literal_fill(literal, seed, (uint32_t)argument);
    return NULL;
  }
  const char *path = json_string_value(entry);
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status && bytes.size != size)
    status = HSC_ERR(INVALID_ARGUMENT, "%s has %zu bytes; input %d takes %zu", path, bytes.size,
                     input, size);
  if (!status && size)
    memcpy(literal->data, bytes.data, size);
  hsc_bytes_deinit(&bytes);
  return status;
}

hsc_status *hsc__worker_fill_inputs(worker_program *program,
                                    uint64_t seed,
                                    double perturbation,
                                    json_t *data) {
  bool given = data && !json_is_null(data);
  if (given && (!json_is_array(data) || json_array_size(data) != (size_t)program->input_count))
    return HSC_ERR(INVALID_ARGUMENT, "\"data\" is not a list of %d entries, one an input",
                   program->input_count);
  if (program->inputs && !given && !program->given && program->seed == seed &&
      program->perturbation == perturbation)
    return NULL;
  if (!program->inputs) {
    hsc_literal **inputs =
        HSC_NEW_ARRAY(program->module->arena, hsc_literal *, program->input_count + 1);
    HSC_TRY(hsc_arena_status(program->module->arena));
    for (int i = 0; i < program->input_count; i++)
      HSC_TRY(hsc_literal_create(program->module->arena, program->input_shapes[i], &inputs[i]));
    program->inputs = inputs;
  }
  program->given = true;  // until all of it is as the seed says
  for (int i = 0; i < program->input_count; i++) {
    HSC_TRY(fill_input(program, i, seed, given ? json_array_get(data, (size_t)i) : NULL));
    if (perturbation > 0)
      perturb_floats(program->inputs[i], perturbation, (uint64_t)i << 32);
  }
  program->given = given;
  program->seed = seed;
  program->perturbation = perturbation;
  return NULL;
}

void hsc__worker_programs_destroy(hsc_worker *worker) {
  while (worker->programs) {
    worker_program *next = worker->programs->next;
    program_destroy(worker->programs);
    worker->programs = next;
  }
}

void hsc__write_program_times(worker_program *program, hsc_json *answer) {
  if (program->reported)
    return;
  program->reported = true;
  hsc_json_key(answer, "program");
  const hsc_answer_reading times = {.read_ns = program->read_ns,
                                    .parse_ns = program->parse_ns,
                                    .transform_ns = program->transform_ns,
                                    .write_ns = program->write_ns};
  hsc_answer_write(answer, &hsc_answer_reading_layout, &times);
}
