// kept_failure.c - failure.json and the files beside it.
#include "base/text/text.h"
#include "lab/run/kept_failure.h"

#include <stdlib.h>

#include "base/files/file_io.h"
#include "hlo/ir/hlo.h"
#include "lab/run/json_tree.h"
#include "worker/program_spec.h"

static const char FILE_NAME[] = "failure.json";

// ---- what went wrong ----------------------------------------------------------------------------

const char *hsc_failure_find(const json_t *result, const char **out_words) {
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(result, "devices"), i, row)
    if (strcmp(hsc_json_text(row, "status"), "ok") != 0) {
      *out_words = hsc_json_text(row, "message") ? hsc_json_text(row, "message")
                                                 : hsc_json_text(row, "status");
      return hsc_json_text(row, "device");
    }
  json_array_foreach (json_object_get(result, "compare"), i, row) {
    const char *device = hsc_json_text(row, "device");
    if (strcmp(hsc_json_text(row, "verdict"), "different") != 0)
      continue;
    *out_words = "its numbers are others";
    return strcmp(device, "reference") != 0 ? device : hsc_json_text(row, "against");
  }
  return NULL;
}

// ---- the folder ---------------------------------------------------------------------------------

static hsc_status *copy_file(const char *from, const char *directory, const char *name) {
  hsc_bytes data = {0};
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/%s", directory, name);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_read(from, &data);
  if (!status)
    status = hsc_file_write_atomic(hsc_bytes_text(&path), data.data, data.size);
  hsc_bytes_deinit(&data);
  hsc_bytes_deinit(&path);
  return status;
}

// The file as it is, under its own name; what transforms made of it as program.hlo.
static hsc_status *keep_program(const char *directory,
                                const hsc_run_options *run,
                                hsc_bytes *out_name) {
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  hsc_bytes path = {0};
  if (!run->transform_count) {
    hsc_bytes_printf(out_name, "program-%s", hsc_path_file(run->program));
    HSC_TRY(hsc_bytes_status(out_name));
    return copy_file(run->program, directory, hsc_bytes_text(out_name));
  }
  hsc_bytes_append_text(out_name, "program.hlo");
  hsc_bytes_printf(&path, "%s/program.hlo", directory);
  hsc_status *status =
      hsc_program_open(run->program, run->transforms, run->transform_count, &module);
  if (!status) {
    hsc_module_print(module, NULL, &text);
    status = hsc_bytes_status(&text);
  }
  if (!status)
    status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_write_atomic(hsc_bytes_text(&path), text.data, text.size);
  hsc_module_destroy(module);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&path);
  return status;
}

// Names in the folder, null where the seed makes the input.
static hsc_status *keep_inputs(const char *directory, json_t *data, json_t *out_names) {
  json_t *path;
  size_t i;
  char name[32];
  json_array_foreach (data, i, path) {
    if (!json_is_string(path)) {
      json_array_append_new(out_names, json_null());
      continue;
    }
    snprintf(name, sizeof name, "input_%zu.bin", i);
    HSC_TRY(copy_file(json_string_value(path), directory, name));
    json_array_append_new(out_names, json_string(name));
  }
  return NULL;
}

static hsc_status *write_document(const char *directory, const json_t *document) {
  hsc_bytes out = {0};
  hsc_bytes path = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 2);
  hsc_json_tree(&json, document);
  hsc_bytes_append_char(&out, '\n');
  hsc_bytes_printf(&path, "%s/%s", directory, FILE_NAME);
  hsc_status *status = hsc_bytes_status(&out);
  if (!status)
    status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_write_atomic(hsc_bytes_text(&path), out.data, out.size);
  hsc_bytes_deinit(&out);
  hsc_bytes_deinit(&path);
  return status;
}

hsc_status *hsc_failure_keep(const char *directory,
                             const hsc_run_options *run,
                             const char *device,
                             const char *words) {
  hsc_bytes program = {0};
  json_t *inputs = NULL;
  json_t *document = NULL;
  hsc_status *status = NULL;
  inputs = json_array();
  HSC_GOTO(hsc_dir_make(directory));
  HSC_GOTO(keep_program(directory, run, &program));
  HSC_GOTO(keep_inputs(directory, run->data, inputs));
  document = json_pack("{s:s, s:s, s:s, s:I, s:O, s:O*, s:s?}", "program", hsc_bytes_text(&program),
                       "device", device, "words", words, "seed", (json_int_t)run->seed, "inputs",
                       inputs, "options", run->overrides, "command", run->command);
  if (!document)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(write_document(directory, document));  // last: a folder with it is whole
done:
  json_decref(document);
  json_decref(inputs);
  hsc_bytes_deinit(&program);
  return status;
}

// ---- and back -----------------------------------------------------------------------------------

bool hsc_is_kept_failure(const char *path) {
  char name[4200];
  snprintf(name, sizeof name, "%s/%s", path, FILE_NAME);
  return hsc_file_exists(name);
}

static const char *in_folder(hsc_arena *arena, const char *directory, const json_t *name) {
  return hsc_arena_printf(arena, "%s/%s", directory, json_string_value(name));
}

// What others wrote may not name files outside of its folder.
static bool is_name(const json_t *name) {
  return json_is_string(name) && !strchr(json_string_value(name), '/');
}

static hsc_status *take_document(const char *directory,
                                 json_t *document,
                                 hsc_arena *arena,
                                 hsc_kept_failure *out) {
  json_t *inputs = json_object_get(document, "inputs");
  json_t *options = json_object_get(document, "options");
  json_t *name;
  size_t i;
  if (!is_name(json_object_get(document, "program")) || !hsc_json_text(document, "device"))
    return HSC_ERR(INVALID_ARGUMENT, "%s/%s: it names no device, or no program of its folder",
                   directory, FILE_NAME);
  out->program = in_folder(arena, directory, json_object_get(document, "program"));
  out->device = hsc_arena_strdup(arena, hsc_json_text(document, "device"));
  out->words = hsc_arena_strdup(
      arena, hsc_json_text(document, "words") ? hsc_json_text(document, "words") : "");
  out->seed = (uint64_t)json_integer_value(json_object_get(document, "seed"));
  if (json_object_size(options))
    out->overrides = json_incref(options);
  if (json_array_size(inputs))
    out->data = json_array();
  json_array_foreach (inputs, i, name)
    json_array_append_new(
        out->data, is_name(name) ? json_string(in_folder(arena, directory, name)) : json_null());
  return hsc_arena_status(arena);
}

hsc_status *hsc_failure_read(const char *directory, hsc_arena *arena, hsc_kept_failure *out) {
  hsc_bytes text = {0};
  json_error_t error = {0};
  *out = (hsc_kept_failure){0};
  const char *path = hsc_arena_printf(arena, "%s/%s", directory, FILE_NAME);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(hsc_file_read(path, &text));
  json_t *document = json_loadb(text.data ? text.data : "", text.size, 0, &error);
  hsc_bytes_deinit(&text);
  if (!document)
    return HSC_ERR(INVALID_ARGUMENT, "%s:%d: %s", path, error.line, error.text);
  hsc_status *status = take_document(directory, document, arena, out);
  json_decref(document);
  return status;
}
