// child_program.c - starts the user's program with the tracer preloaded and waits for it.
#include "base/process/python.h"
#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "base/files/places.h"
#include "cli/child_program.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/devices/devices.h"
#include "trace/capture_folder.h"

extern char **environ;

static hsc_status *tracer_library(hsc_cli *cli, const char **out_path) {
  HSC_TRY(hsc_place_find(HSC_PLACE_MODULE, "libhloscope_pjrt_tracer.so", cli->arena, out_path));
  if (!strpbrk(*out_path, " :"))
    return NULL;
  // LD_PRELOAD knows no quotes: blanks and colons end a name. A link without them stands for it.
  char *directory = NULL;
  HSC_TRY(hsc_private_dir(&directory));
  const char *link = hsc_arena_printf(cli->arena, "%s/tracer-%016" PRIx64 ".so", directory,
                                      hsc_hash64(*out_path, strlen(*out_path), 0));
  hsc_free(directory);
  HSC_TRY(hsc_arena_status(cli->arena));
  if (symlink(*out_path, link) < 0 && errno != EEXIST)
    return hsc_status_errno(errno, "cannot make the link that LD_PRELOAD needs", link);
  *out_path = link;
  return NULL;
}

// The parent's environment with our variables in place of theirs; a preload that is there already
// stays, after ours.
static char **child_environment(hsc_cli *cli, const char *const *set, size_t set_count) {
  size_t count = 0;
  while (environ[count])
    count++;
  char **list = HSC_NEW_ARRAY(cli->arena, char *, count + set_count + 1);
  if (!list)
    return NULL;
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    bool replaced = false;
    for (size_t k = 0; k < set_count; k++) {
      size_t name = strcspn(set[k], "=") + 1;
      replaced |= !strncmp(environ[i], set[k], name);
    }
    if (!replaced)
      list[at++] = environ[i];
  }
  for (size_t k = 0; k < set_count; k++)
    list[at++] = (char *)(uintptr_t)set[k];
  return list;
}

hsc_status *hsc_cli_run_program(hsc_cli *cli,
                                const hsc_list *command,
                                const char *const *set,
                                size_t set_count,
                                int *out_wait) {
  const char *before = getenv("LD_PRELOAD");
  const char *library = NULL;
  HSC_TRY(tracer_library(cli, &library));
  const char **all = HSC_NEW_ARRAY(cli->arena, const char *, set_count + 1);
  if (!all)
    return hsc_status_out_of_memory();
  all[0] = hsc_arena_printf(cli->arena, "LD_PRELOAD=%s%s%s", library, before && *before ? ":" : "",
                            before ? before : "");
  for (size_t i = 0; i < set_count; i++)
    all[i + 1] = set[i];
  HSC_TRY(hsc_arena_status(cli->arena));
  char **environment = child_environment(cli, all, set_count + 1);
  char **argv = HSC_NEW_ARRAY(cli->arena, char *, command->count + 1);
  if (!environment || !argv)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < command->count; i++)
    argv[i] = (char *)(uintptr_t)command->items[i];
  // Ctrl-C is the program's: it ends, and then we report.
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  struct sigaction old_int;
  struct sigaction old_quit;
  sigaction(SIGINT, &ignore, &old_int);
  sigaction(SIGQUIT, &ignore, &old_quit);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  int error = posix_spawnp(&child, argv[0], NULL, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  hsc_status *status = hsc_cli_not_started(argv[0], error);
  while (!status && waitpid(child, out_wait, 0) < 0)
    if (errno != EINTR)
      status = HSC_ERR(INTERNAL, "lost the program: %s", strerror(errno));
  sigaction(SIGINT, &old_int, NULL);
  sigaction(SIGQUIT, &old_quit, NULL);
  return status;
}

// The hook's folder: in a checkout and where hloscope is installed beside its Python package, or in
// the Python package that holds the program itself.
static const char *hook_folder(hsc_cli *cli) {
  const char *python = NULL;
  hsc_status *status = hsc_python_package_dir(cli->arena, &python);
  if (!status)
    return hsc_arena_printf(cli->arena, "%s/hloscope/site", python);
  hsc_status_free(status);
  char *self = NULL;
  status = hsc_self_dir((const void *)(uintptr_t)&hook_folder, &self);
  const char *folder = status ? NULL : hsc_arena_printf(cli->arena, "%s/../site", self);
  hsc_status_free(status);
  hsc_free(self);
  return folder && hsc_file_exists(folder) ? folder : NULL;
}

hsc_status *hsc_cli_not_started(const char *program, int error) {
  if (!error)
    return NULL;
  return hsc_status_make(error == ENOENT ? HSC_NOT_FOUND : HSC_PERMISSION_DENIED, __FILE__,
                         __LINE__, "cannot start '%s': %s", program, strerror(error));
}

const char *hsc_cli_python_hook(hsc_cli *cli) {
  const char *folder = hook_folder(cli);  // programs in other languages need none
  return folder ? hsc_python_path(cli->arena, folder) : NULL;
}

void hsc_cli_program_ended(hsc_cli *cli, int waited) {
  if (WIFSIGNALED(waited)) {
    hsc_cli_say(cli, "the program was ended by signal %d (%s)", WTERMSIG(waited),
                strsignal(WTERMSIG(waited)));
    cli->exit_code = 128 + WTERMSIG(waited);
    return;
  }
  cli->exit_code = WEXITSTATUS(waited);
  if (cli->exit_code)
    hsc_cli_say(cli, "the program failed: exit code %d", cli->exit_code);
}

void hsc_cli_tell_of_recording(hsc_cli *cli, hsc_status *status) {
  if (!status)
    return;
  hsc_cli_say(cli, "the recording cannot be shown: %s", hsc_status_message(status));
  if (hsc_status_hint_text(status))
    hsc_cli_say(cli, "  %s", hsc_status_hint_text(status));
  hsc_status_free(status);
}

void hsc_cli_say_why_nothing(hsc_cli *cli) {
  const char *device = getenv("PJRT_DEVICE");
  if (device && !strcmp(device, "CPU"))
    hsc_cli_say(
        cli,
        "PJRT_DEVICE=CPU: PyTorch/XLA's own CPU device is inside of torch_xla, is no plugin "
        "and cannot be recorded; PJRT_DEVICE=HLOSCOPE can, where hloscope's Python package is "
        "installed");
}

hsc_status *hsc_cli_set_aside(hsc_cli *cli, const char *path) {
  char *kept = NULL;
  HSC_TRY(hsc_capture_set_aside(path, &kept));
  if (kept)
    hsc_cli_say(cli, "%s was there already: the earlier run is %s now", path, kept);
  hsc_free(kept);
  return NULL;
}
