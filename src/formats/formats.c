// formats.c - the door: which format, unpack, read, verify; and write.
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "formats/common/formats.h"
#include "formats/mlir/mlir_ir.h"

#include <stdlib.h>

typedef struct format_row {
  const char *text, *extensions, *doc;
} format_row;
static const format_row rows[HSC_FORMAT_COUNT] = {
#define FORMAT(id, text, extensions, doc) [HSC_FORMAT_##id] = {text, extensions, doc},
#include "formats/common/formats.def"
#undef FORMAT
};

enum { MAX_PROGRAM_BYTES = INT32_MAX };  // after unpacking

const char *hsc_format_text(hsc_format format) {
  return (unsigned)format < HSC_FORMAT_COUNT ? rows[format].text : "unknown";
}

bool hsc_format_parse(hsc_view text, hsc_format *out_format) {
  for (int i = 0; i < HSC_FORMAT_COUNT; i++) {
    if (!hsc_view_equals_text(text, rows[i].text))
      continue;
    *out_format = (hsc_format)i;
    return true;
  }
  return false;
}

// What a reader is told besides the bytes.
typedef struct read_as {
  int partition_count;        // 0 = as the program says
  const hsc_dim_size *sizes;  // [size_count] of symbolic dimensions
  int size_count;
} read_as;

static hsc_status *read_mlir(
    bool is_text, hsc_view bytes, const char *path, const read_as *as, hsc_module **out_module) {
  hsc_arena *arena = NULL;
  hsc__mlir_op *top = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = is_text ? hsc__mlir_text_read(bytes, path, arena, &top)
                               : hsc__mlir_bytecode_read(bytes, path, arena, &top);
  if (!status)
    status = hsc__stablehlo_import(top, path, as->partition_count, as->sizes, as->size_count,
                                   out_module);
  hsc_arena_destroy(arena);
  return status;
}

static hsc_status *read_unpacked(hsc_format format,
                                 hsc_view bytes,
                                 const char *path,
                                 const read_as *as,
                                 hsc_module **out_module) {
  bool is_mlir = format == HSC_FORMAT_MLIR_BYTECODE || format == HSC_FORMAT_MLIR_TEXT;
  if (as->size_count && !is_mlir)
    return hsc_status_at(
        HSC_ERR(INVALID_ARGUMENT, "%s has no symbolic dimensions: there is nothing to give %s to",
                hsc_format_text(format), as->sizes[0].name),
        path, 0, 0, NULL);
  switch (format) {
    case HSC_FORMAT_HLO_TEXT:
      return hsc_hlo_text_parse(bytes, path, out_module);
    case HSC_FORMAT_HLO_PROTO:
      return hsc_hlo_proto_read(bytes, path, out_module);
    case HSC_FORMAT_MLIR_BYTECODE:
      return read_mlir(false, bytes, path, as, out_module);
    case HSC_FORMAT_MLIR_TEXT:
      return read_mlir(true, bytes, path, as, out_module);
    case HSC_FORMAT_COUNT:
      break;
  }
  return hsc_status_at(
      HSC_ERR(UNIMPLEMENTED, "%s: not built yet: reading this format", hsc_format_text(format)),
      path, 0, 0, NULL);
}

static hsc_status *read_verified(hsc_format format,
                                 hsc_view bytes,
                                 const char *path,
                                 const read_as *as,
                                 hsc_module **out_module) {
  hsc_module *module;
  HSC_TRY(read_unpacked(format, bytes, path, as, &module));
  hsc_status *status = hsc_module_verify(module);
  if (status) {
    hsc_module_destroy(module);
    return status;
  }
  *out_module = module;
  return NULL;
}

static hsc_status *read_any(const hsc_format *format,
                            hsc_view bytes,
                            const char *path,
                            const read_as *as,
                            hsc_module **out_module) {
  hsc_bytes unpacked = {0};
  hsc_status *status = NULL;
  if (hsc_is_packed(bytes)) {
    status = hsc_decompress(bytes, MAX_PROGRAM_BYTES, &unpacked);
    if (status) {
      status = hsc_status_at(status, path, 0, 0, NULL);
      goto done;
    }
    bytes = hsc_bytes_view(&unpacked);
  }
  bytes = hsc_text_after_mark(bytes);
  hsc_format found = HSC_FORMAT_HLO_TEXT;
  if (format) {
    found = *format;
  } else if (!hsc_format_detect(bytes, path, &found)) {
    status = bytes.size == 0 ? HSC_ERR(INVALID_ARGUMENT, "the program is empty")
                             : HSC_ERR(INVALID_ARGUMENT,
                                       "this is no program that is known here: expected HLO text, "
                                       "HloModuleProto, MLIR text or MLIR bytecode");
    status = hsc_status_at(status, path, 0, 0, NULL);
    goto done;
  }
  status = read_verified(found, bytes, path, as, out_module);

done:
  hsc_bytes_deinit(&unpacked);
  return status;
}

hsc_status *hsc_program_read_for(hsc_view bytes,
                                 const char *path,
                                 int partition_count,
                                 hsc_module **out_module) {
  return read_any(NULL, bytes, path, &(read_as){.partition_count = partition_count}, out_module);
}

hsc_status *hsc_program_read_sized(hsc_view bytes,
                                   const char *path,
                                   const hsc_dim_size *sizes,
                                   int size_count,
                                   hsc_module **out_module) {
  return read_any(NULL, bytes, path, &(read_as){.sizes = sizes, .size_count = size_count},
                  out_module);
}

hsc_status *hsc_program_read(hsc_view bytes, const char *path, hsc_module **out_module) {
  return read_any(NULL, bytes, path, &(read_as){0}, out_module);
}

hsc_status *hsc_program_read_as(hsc_format format,
                                hsc_view bytes,
                                const char *path,
                                hsc_module **out_module) {
  return read_any(&format, bytes, path, &(read_as){0}, out_module);
}

hsc_status *hsc_program_read_file(const char *path, hsc_module **out_module) {
  hsc_bytes bytes = {0};
  if (strcmp(path, "-") != 0)
    HSC_TRY(hsc_program_look(path));
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status)
    status = hsc_program_read(hsc_bytes_view(&bytes), path, out_module);
  hsc_bytes_deinit(&bytes);
  return status;
}

static hsc_status *write_mlir(const hsc_module *module,
                              bool is_text,
                              const hsc_write_options *options,
                              hsc_bytes *notes,
                              hsc_bytes *out) {
  hsc_arena *arena = NULL;
  hsc__mlir_op *top = NULL;
  hsc__mlir_print_options print = {.generic = options->generic, .locations = options->locations};
  bool newest = options->stablehlo_version.major == 0 && options->stablehlo_version.minor == 0;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_status *status = hsc__stablehlo_export(module, is_text, arena, notes, &top);
  if (!status && is_text)
    status = hsc__mlir_text_write(top, &print, out);
  else if (!status)
    status = hsc__mlir_bytecode_write(
        top, newest ? HSC_STABLEHLO_NEWEST : options->stablehlo_version, module->source_path, out);
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc_program_write_with(const hsc_module *module,
                                   hsc_format format,
                                   const hsc_write_options *options,
                                   hsc_bytes *notes,
                                   hsc_bytes *out_bytes) {
  static const hsc_write_options none;
  switch (format) {
    case HSC_FORMAT_HLO_TEXT:
      hsc_module_print(module, NULL, out_bytes);
      return hsc_bytes_status(out_bytes);
    case HSC_FORMAT_HLO_PROTO:
      return hsc_hlo_proto_write(module, out_bytes);
    case HSC_FORMAT_MLIR_TEXT:
    case HSC_FORMAT_MLIR_BYTECODE:
      return write_mlir(module, format == HSC_FORMAT_MLIR_TEXT, options ? options : &none, notes,
                        out_bytes);
    case HSC_FORMAT_COUNT:
      break;
  }
  return HSC_ERR(UNIMPLEMENTED, "%s: not built yet: writing this format", hsc_format_text(format));
}

hsc_status *hsc_program_write(const hsc_module *module, hsc_format format, hsc_bytes *out_bytes) {
  return hsc_program_write_with(module, format, NULL, NULL, out_bytes);
}

static int64_t version_rank(hsc_stablehlo_version v) {
  return ((int64_t)v.major << 40) + ((int64_t)v.minor << 20) + v.patch;
}

hsc_status *hsc_stablehlo_version_parse(hsc_view text, hsc_stablehlo_version *out_version) {
  hsc_stablehlo_version v = {0};
  char copy[32];
  int used = 0;
  snprintf(copy, sizeof copy, "%.*s", hsc_view_shown(text, 31), text.data);
  if (sscanf(copy, "%3d.%3d.%3d%n", &v.major, &v.minor, &v.patch, &used) != 3 ||
      (size_t)used != text.size || v.major < 0 || v.minor < 0 || v.patch < 0)
    return HSC_ERR(INVALID_ARGUMENT,
                   "'%.*s' is no version of StableHLO; expected three numbers like 1.9.0",
                   (int)text.size, text.data);
  hsc_stablehlo_version newest = HSC_STABLEHLO_NEWEST;
  newest.patch = 999;
  if (version_rank(v) < version_rank(HSC_STABLEHLO_OLDEST) ||
      version_rank(v) > version_rank(newest))
    return HSC_ERR(
        INVALID_ARGUMENT, "StableHLO %.*s: versions from %d.%d.%d to %d.%d.%d can be written",
        (int)text.size, text.data, HSC_STABLEHLO_OLDEST.major, HSC_STABLEHLO_OLDEST.minor,
        HSC_STABLEHLO_OLDEST.patch, HSC_STABLEHLO_NEWEST.major, HSC_STABLEHLO_NEWEST.minor,
        HSC_STABLEHLO_NEWEST.patch);
  *out_version = v;
  return NULL;
}
