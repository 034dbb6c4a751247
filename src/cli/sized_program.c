// sized_program.c - --dim. See sized_program.h.
#include "cli/sized_program.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "cli/sized_cache.h"

enum { MOST_UNPACKED_BYTES = INT32_MAX };

static bool is_program(const hsc_option *option) {
  return option->positional && hsc_starts_with(option->name, "PROGRAM");
}

// What names programs by their files, for other days and machines, takes none of our copies.
bool hsc_command_takes_programs(const hsc_command *command) {
  if (!strcmp(command->name, "gate") || !strcmp(command->name, "sweep"))
    return false;
  for (const hsc_option *it = command->body->options; it && it->kind != HSC_OPTION_KIND_END; it++)
    if (is_program(it))
      return true;
  return false;
}

// NAME=N
static hsc_status *read_size(hsc_cli *cli, const char *text, hsc_dim_size *out_size) {
  const char *equals = strchr(text, '=');
  char *end = NULL;
  errno = 0;
  long long size = equals ? strtoll(equals + 1, &end, 10) : 0;
  if (!equals || equals == text || end == equals + 1 || *end || errno || size < 0)
    return hsc_cli_usage(cli, "--dim takes NAME=N, as b=8 or 0.1=8, and not %s", text);
  out_size->name = hsc_arena_strndup(cli->arena, text, (size_t)(equals - text));
  out_size->size = size;
  return hsc_arena_status(cli->arena);
}

hsc_status *hsc_cli_read_sizes(hsc_cli *cli, hsc_dim_size **out_sizes) {
  const hsc_list *dims = &cli->dims;
  hsc_dim_size *sizes = HSC_NEW_ARRAY(cli->arena, hsc_dim_size, dims->count + 1);
  HSC_TRY(hsc_arena_status(cli->arena));
  for (size_t i = 0; i < dims->count; i++) {
    HSC_TRY(read_size(cli, dims->items[i], &sizes[i]));
    for (size_t k = 0; k < i; k++)
      if (!strcmp(sizes[k].name, sizes[i].name))
        return hsc_cli_usage(cli, "--dim gives %s two sizes", sizes[i].name);
  }
  *out_sizes = sizes;
  return NULL;
}

// The file's name without the endings of programs, and with the sizes: "attention.b=8.t=128".
static char *sized_name(hsc_cli *cli, const char *path, const hsc_list *dims) {
  static const char *const endings[] = {".gz", ".zst", ".mlirbc", ".mlir", ".bc"};
  const char *slash = strrchr(path, '/');
  char *name = hsc_arena_strdup(cli->arena, slash ? slash + 1 : path);
  if (name && !strcmp(name, "-"))
    name = hsc_arena_strdup(cli->arena, "stdin");
  for (size_t i = 0; name && i < HSC_COUNT_OF(endings); i++)
    if (hsc_ends_with(name, endings[i]) && strlen(name) > strlen(endings[i]))
      name[strlen(name) - strlen(endings[i])] = 0;
  for (size_t i = 0; name && i < dims->count; i++)
    name = hsc_arena_printf(cli->arena, "%s.%s", name, dims->items[i]);
  return name;
}

static hsc_status *write_copy(hsc_cli *cli,
                              const char *path,
                              const hsc_list *dims,
                              hsc_view source,
                              const hsc_module *module,
                              const char **out_path) {
  hsc_bytes bytes = {0};
  const char *folder = NULL;
  hsc_hash128 hash = hsc_hash128_of(source.data, source.size, 0);
  const char *name = sized_name(cli, path, dims);
  hsc_status *status = NULL;
  HSC_GOTO(hsc_sized_folder(hash.low, cli->arena, &folder));
  const char *copy = hsc_arena_printf(cli->arena, "%s/%s.hlo.pb", folder, name);
  HSC_GOTO(hsc_arena_status(cli->arena));
  HSC_GOTO(hsc_program_write(module, HSC_FORMAT_HLO_PROTO, &bytes));
  HSC_GOTO(hsc_file_write_atomic(copy, bytes.data, bytes.size));
  *out_path = copy;
  // That older copies stay where they are is no reason to run nothing.
  hsc_status_free(hsc_sized_remove(&(hsc_sized_prune){.max_age_ns = -1,
                                                      .max_bytes = HSC_SIZED_MOST_MIB * 1048576ll,
                                                      .spared_ns = 3600 * 1000000000ll},
                                   &(hsc_disk_pruned){0}));
done:
  hsc_bytes_deinit(&bytes);
  return status;
}

// *io_path becomes that of the copy.
static hsc_status *size_program(hsc_cli *cli,
                                const hsc_list *dims,
                                const hsc_dim_size *sizes,
                                const char **io_path) {
  hsc_bytes bytes = {0};
  hsc_module *module = NULL;
  if (strcmp(*io_path, "-") != 0 && !hsc_file_exists(*io_path))
    return NULL;  // the command says what it expected
  HSC_TRY(hsc_file_read(*io_path, &bytes));
  hsc_status *status =
      hsc_program_read_sized(hsc_bytes_view(&bytes), *io_path, sizes, (int)dims->count, &module);
  cli->is_usage_error |= status && hsc_status_code(status) == HSC_FAILED_PRECONDITION;
  if (!status)
    status = write_copy(cli, *io_path, dims, hsc_bytes_view(&bytes), module, io_path);
  hsc_module_destroy(module);
  hsc_bytes_deinit(&bytes);
  return status;
}

hsc_status *hsc_cli_size_programs(hsc_cli *cli, const hsc_option *options, void *args) {
  hsc_dim_size *sizes = NULL;
  const hsc_list *dims = &cli->dims;
  if (!dims->count)
    return NULL;
  HSC_TRY(hsc_cli_read_sizes(cli, &sizes));
  for (const hsc_option *it = options; it && it->kind != HSC_OPTION_KIND_END; it++) {
    if (!is_program(it))
      continue;
    void *field = (char *)args + it->offset;
    if (it->kind == HSC_OPTION_KIND_STRING) {
      const char **path = field;
      if (*path)
        HSC_TRY(size_program(cli, dims, sizes, path));
      continue;
    }
    hsc_list *list = field;
    size_t count = list->count > cli->after_dashes ? list->count - cli->after_dashes : 0;
    const char **items = HSC_NEW_ARRAY(cli->arena, const char *, list->count + 1);
    HSC_TRY(hsc_arena_status(cli->arena));
    for (size_t i = 0; i < list->count; i++)
      items[i] = list->items[i];
    for (size_t i = 0; i < count; i++)
      HSC_TRY(size_program(cli, dims, sizes, &items[i]));
    list->items = items;
  }
  return NULL;
}

// Bytes that a program with symbolic dimensions cannot do without: a type with a dimension that is
// open, in text; the operation that asks for its size, in bytecode.
static bool may_be_symbolic(hsc_view bytes) {
  static const char *const signs[] = {"tensor<?", "x?x", "get_dimension_size"};
  for (size_t i = 0; i < HSC_COUNT_OF(signs); i++)
    if (memmem(bytes.data, bytes.size, signs[i], strlen(signs[i])))
      return true;
  return false;
}

// Whether the first bytes are those of a format that has no symbolic dimensions: it is not read for
// them.
static hsc_status *is_always_sized(const char *path, bool *out_always) {
  char head[4096];
  size_t size = 0;
  hsc_format format = HSC_FORMAT_HLO_TEXT;
  HSC_TRY(hsc_file_head(path, head, sizeof head, &size));
  *out_always = hsc_format_detect((hsc_view){head, size}, path, &format) &&
                !hsc_is_packed((hsc_view){head, size}) &&
                (format == HSC_FORMAT_HLO_TEXT || format == HSC_FORMAT_HLO_PROTO);
  return NULL;
}

hsc_status *hsc_cli_check_sizes(hsc_cli *cli, const char *path) {
  hsc_bytes unpacked = {0};
  hsc_module *module = NULL;
  hsc_status *status = NULL;
  bool always = false;
  HSC_TRY(is_always_sized(path, &always));
  if (always)
    return NULL;
  HSC_GOTO(hsc_file_read_unpacked(path, MOST_UNPACKED_BYTES, &unpacked));
  if (may_be_symbolic(hsc_bytes_view(&unpacked)))
    status = hsc_program_read(hsc_bytes_view(&unpacked), path, &module);
  // Every other mistake in it is for the command, which may be asked about just that.
  if (status && hsc_status_code(status) != HSC_FAILED_PRECONDITION) {
    hsc_status_free(status);
    status = NULL;
  }
  cli->is_usage_error |= status != NULL;
done:
  hsc_module_destroy(module);
  hsc_bytes_deinit(&unpacked);
  return status;
}
