// lab_compile.c - one compile in a worker, and many over several workers.
#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "worker/lab_compile.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/scratch.h"

void hsc_compiled_deinit(hsc_compiled *compiled) {
  hsc_status_free(compiled->status);
  hsc_free(compiled->last_words);
  hsc_free(compiled->fingerprint);
  hsc_bytes_deinit(&compiled->optimized);
  hsc_bytes_deinit(&compiled->xspace);
  json_decref(compiled->start);
  json_decref(compiled->body);
  *compiled = (hsc_compiled){0};
}

// ---- the request --------------------------------------------------------------------------------

static json_t *override_json(const hsc_override *o) {
  switch (o->type) {
    case HSC_OVERRIDE_BOOL:
      return json_boolean(o->boolean);
    case HSC_OVERRIDE_INT:
      return json_integer(o->integer);
    case HSC_OVERRIDE_DOUBLE:
      return json_real(o->real);
    default:
      return json_string(o->text ? o->text : "");
  }
}

// One directory takes all dumps of a compile: XLA has one option for it.
static hsc_status *add_dumps(const hsc_compile_request *r, json_t *overrides) {
  const char *dir = r->dump_dir ? r->dump_dir : r->metadata_dir;
  if (!dir)
    return NULL;
  if (r->dump_dir && r->metadata_dir && strcmp(r->dump_dir, r->metadata_dir) != 0)
    return HSC_ERR(INVALID_ARGUMENT,
                   "dump_dir and metadata_dir differ: a compile dumps into one directory");
  HSC_TRY(hsc_dir_make(dir));
  json_object_set_new(overrides, "xla_dump_to", json_string(dir));
  if (r->metadata_dir)
    json_object_set_new(overrides, "xla_dump_module_metadata", json_true());
  // Without a word about the form, XLA writes text of the first and last module even where only
  // metadata is wanted.
  json_object_set_new(overrides, "xla_dump_hlo_as_text",
                      json_boolean(r->dump_dir && !r->dump_protos));
  if (r->dump_dir && r->dump_protos)
    json_object_set_new(overrides, "xla_dump_hlo_as_proto", json_true());
  if (r->dump_passes)
    json_object_set_new(overrides, "xla_dump_hlo_pass_re", json_string(r->dump_passes));
  return NULL;
}

static hsc_status *make_request(const hsc_compile_request *r, const char *scratch, json_t **out) {
  json_t *overrides = json_object();
  json_t *transforms = json_array();
  hsc_status *status =
      overrides && transforms ? add_dumps(r, overrides) : hsc_status_out_of_memory();
  for (size_t i = 0; i < r->override_count; i++)
    json_object_set_new(overrides, r->overrides[i].name, override_json(&r->overrides[i]));
  for (size_t i = 0; i < r->transform_count; i++)
    json_array_append_new(transforms, json_string(r->transforms[i]));
  json_t *request = json_pack("{s:s, s:s, s:o, s:o}", "job", "compile", "program", r->program,
                              "transforms", transforms, "overrides", overrides);
  char path[4200];
  if (r->want_optimized) {
    snprintf(path, sizeof path, "%s/optimized", scratch);
    json_object_set_new(request, "optimized_to", json_string(path));
  }
  if (r->want_xspace) {
    snprintf(path, sizeof path, "%s/xspace", scratch);
    json_object_set_new(request, "xspace_to", json_string(path));
  }
  if (!status && !request)
    status = hsc_status_out_of_memory();
  if (status)
    json_decref(request);
  *out = status ? NULL : request;
  return status;
}

// ---- the answer ---------------------------------------------------------------------------------

static int64_t count_of(const json_t *body, const char *key) {
  const json_t *value = json_object_get(body, key);
  return json_is_number(value) ? (int64_t)json_number_value(value) : -1;
}

static hsc_status *take_file(const json_t *body, const char *key, hsc_bytes *out) {
  const char *path = json_string_value(json_object_get(body, key));
  if (!path)
    return NULL;
  hsc_status *status = hsc_file_read(path, out);
  unlink(path);
  return status;
}

static hsc_status *read_answer(hsc_answer *answer, hsc_compiled *c) {
  hsc_answer_code code;
  hsc_answer_read(&hsc_answer_code_layout, answer->body, &code);
  const char *fingerprint =
      json_string_value(json_object_get(answer->body, "executable_fingerprint"));
  c->outcome = answer->outcome;
  c->status = hsc_answer_take_status(answer);
  c->exit = answer->exit;
  c->last_words = answer->last_words;
  answer->last_words = NULL;
  c->started = answer->started;
  c->body = json_incref(answer->body);
  c->compile_ns = count_of(c->body, "compile_ns");
  c->instructions = code.instructions;
  c->fusions = code.fusions;
  c->flops = code.flops;
  c->bytes = code.bytes;
  c->cost_from_device = code.cost_from && !strcmp(code.cost_from, "device");
  c->code_bytes = code.code_bytes;
  c->temp_bytes = code.temp_bytes;
  c->peak_bytes = code.peak_bytes;
  if (fingerprint && !(c->fingerprint = hsc_strdup(fingerprint)))
    return hsc_status_out_of_memory();
  HSC_TRY(take_file(c->body, "optimized", &c->optimized));
  return take_file(c->body, "xspace", &c->xspace);
}

hsc_status *hsc_lab_compile(hsc_lab_worker *worker,
                            const hsc_compile_request *request,
                            hsc_compiled *out_compiled) {
  char *scratch = NULL;
  json_t *job = NULL;
  hsc_answer answer = {0};
  *out_compiled = (hsc_compiled){.compile_ns = -1, .instructions = -1, .fusions = -1};
  hsc_status *status = NULL;
  if (request->want_optimized || request->want_xspace)
    HSC_GOTO(hsc_scratch_create(&scratch));
  HSC_GOTO(make_request(request, scratch, &job));
  int64_t start = hsc_now_ns();
  HSC_GOTO(
      hsc_lab_worker_call(worker, job, request->limit_ns > 0 ? request->limit_ns : -1, &answer));
  out_compiled->call_ns = hsc_now_ns() - start;
  HSC_GOTO(read_answer(&answer, out_compiled));
  if (out_compiled->started && hsc_lab_worker_device(worker))
    out_compiled->start = json_incref(hsc_lab_worker_device(worker));
done:
  hsc_answer_deinit(&answer);
  json_decref(job);
  hsc_scratch_destroy(scratch);
  if (status)
    hsc_compiled_deinit(out_compiled);
  return status;
}

// ---- options as people write them ---------------------------------------------------------------

static json_t *value_of(const char *text) {
  char *end = NULL;
  if (!strcmp(text, "true") || !strcmp(text, "false"))
    return json_boolean(text[0] == 't');
  if (strchr("0123456789-+.", *text) && *text) {
    long long whole = strtoll(text, &end, 10);
    if (*end == 0)
      return json_integer(whole);
    double real = strtod(text, &end);
    if (*end == 0 && isfinite(real))
      return json_real(real);
  }
  return json_string(text);
}

hsc_status *hsc_overrides_parse(const char *const *items, size_t count, json_t **out_overrides) {
  json_t *overrides = json_object();
  hsc_bytes name = {0};
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  for (size_t i = 0; i < count && overrides; i++) {
    const char *equals = strchr(items[i], '=');
    if (equals == items[i] || (!equals && name.size == 0))
      HSC_GOTO(HSC_ERR(INVALID_ARGUMENT, "compile option '%s' is not NAME=VALUE", items[i]));
    if (equals) {
      hsc_bytes_reset(&name);
      hsc_bytes_reset(&text);
      hsc_bytes_append(&name, items[i], (size_t)(equals - items[i]));
      hsc_bytes_append_text(&text, equals + 1);
    } else {
      hsc_bytes_printf(&text, ",%s", items[i]);
    }
    HSC_GOTO(hsc_bytes_status(&text));
    json_object_set_new(overrides, hsc_bytes_text(&name), value_of(hsc_bytes_text(&text)));
  }
done:
  hsc_bytes_deinit(&name);
  hsc_bytes_deinit(&text);
  if (status) {
    json_decref(overrides);
    overrides = NULL;
  }
  *out_overrides = overrides;
  return status || overrides ? status : hsc_status_out_of_memory();
}

// ---- many ---------------------------------------------------------------------------------------

typedef struct compile_many {
  const hsc_lab_worker_options *options;
  const hsc_compile_request *requests;
  size_t count, next;
  const volatile int *stop;
  hsc_compile_done done;
  void *user;
  hsc_status *status;  // the first error; then nothing new is taken
  pthread_mutex_t lock;
} compile_many;

static bool take_next(compile_many *many, size_t *out_index) {
  pthread_mutex_lock(&many->lock);
  bool more = many->next < many->count && !many->status && !(many->stop && *many->stop);
  if (more)
    *out_index = many->next++;
  pthread_mutex_unlock(&many->lock);
  return more;
}

static void end_one(compile_many *many, size_t index, hsc_status *status, hsc_compiled *compiled) {
  pthread_mutex_lock(&many->lock);
  if (!status)
    status = many->done(many->user, index, compiled);
  if (status && !many->status)
    many->status = status;
  else
    hsc_status_free(status);
  pthread_mutex_unlock(&many->lock);
  hsc_compiled_deinit(compiled);
}

static void *compile_thread(void *user) {
  compile_many *many = user;
  hsc_lab_worker *worker = NULL;
  size_t index = 0;
  hsc_status *status = hsc_lab_worker_create(many->options, &worker);
  if (status) {
    hsc_compiled nothing = {0};
    end_one(many, 0, status, &nothing);
    return NULL;
  }
  while (take_next(many, &index)) {
    hsc_compiled compiled;
    status = hsc_lab_compile(worker, &many->requests[index], &compiled);
    end_one(many, index, status, &compiled);
  }
  hsc_lab_worker_destroy(worker);
  return NULL;
}

hsc_status *hsc_compile_many(const hsc_lab_worker_options *options,
                             int job_count,
                             const hsc_compile_request *requests,
                             size_t count,
                             const volatile int *stop,
                             hsc_compile_done done,
                             void *user) {
  compile_many many = {.options = options,
                       .requests = requests,
                       .count = count,
                       .stop = stop,
                       .done = done,
                       .user = user};
  size_t threads = job_count < 1 ? 1 : (size_t)job_count;
  size_t started = 0;
  if (threads > count)
    threads = count;
  if (count == 0)
    return NULL;
  pthread_t *ids = hsc_alloc(threads * sizeof(*ids));
  if (!ids)
    return hsc_status_out_of_memory();
  pthread_mutex_init(&many.lock, NULL);
  // The calling thread does the first share, so one job starts no thread.
  while (started + 1 < threads && pthread_create(&ids[started], NULL, compile_thread, &many) == 0)
    started++;
  compile_thread(&many);
  for (size_t i = 0; i < started; i++)
    pthread_join(ids[i], NULL);
  pthread_mutex_destroy(&many.lock);
  hsc_free(ids);
  return many.status;
}
