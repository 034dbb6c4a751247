// cli_program.c - a program that a command was given, as a file that can be read more than once.
#include "base/files/file_io.h"
#include "cli/command.h"
#include "cli/sized_program.h"
#include "formats/common/formats.h"
#include "worker/scratch.h"

#include <sys/stat.h>

// Named as people know it: documents and messages tell this name.
static hsc_status *keep_stream(hsc_cli *cli, const char *from, const char **out_path) {
  hsc_bytes bytes = {0};
  hsc_status *status = NULL;
  bool is_input = !strcmp(from, "-");
  const char *name = is_input ? "standard-input" : strrchr(from, '/');
  if (!cli->scratch)
    HSC_TRY(hsc_scratch_create(&cli->scratch));
  const char *path = hsc_arena_printf(cli->arena, "%s/%s", cli->scratch, name ? name : from);
  HSC_TRY(hsc_arena_status(cli->arena));
  HSC_GOTO(hsc_file_read(from, &bytes));
  HSC_GOTO(hsc_file_write_atomic(path, bytes.data, bytes.size));
  *out_path = path;
done:
  hsc_bytes_deinit(&bytes);
  return status;
}

hsc_status *hsc_cli_check_readable(hsc_cli *cli, const char *const *path) {
  struct stat found;
  if (!strcmp(*path, "-") ||
      (stat(*path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)))
    HSC_TRY(keep_stream(cli, *path, (const char **)(uintptr_t)path));
  return hsc_program_look(*path);
}

hsc_status *hsc_cli_program_file(hsc_cli *cli, const char *const *path) {
  if (!*path)
    return NULL;
  HSC_TRY(hsc_cli_check_readable(cli, path));
  return hsc_cli_check_sizes(cli, *path);
}
