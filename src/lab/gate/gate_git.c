// gate_git.c - what a baseline that is a revision needs of git: is it one, a file as it was, the
// whole tree as it was.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/text/text.h"
#include "base/files/file_io.h"
#include "lab/gate/gate_internal.h"

extern char **environ;

hsc_status *hsc__gate_spawn(const char *const *argv,
                            const char *output,
                            struct rusage *out_usage,
                            int *out_wait) {
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int waited;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output ? output : "/dev/null",
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  int code = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code)
    return hsc_status_errno(code, "cannot start", argv[0]);
  while ((waited = wait4(pid, out_wait, 0, out_usage)) < 0 && errno == EINTR)
    continue;
  return waited < 0 ? hsc_status_errno(errno, "cannot wait for", argv[0]) : NULL;
}

// False also where there is no git.
static bool git_works(const char *const *argv, const char *output) {
  struct rusage usage;
  int waited = 0;
  hsc_status *status = hsc__gate_spawn(argv, output, &usage, &waited);
  bool works = !status && WIFEXITED(waited) && WEXITSTATUS(waited) == 0;
  hsc_status_free(status);
  return works;
}

bool hsc__gate_is_revision(const char *name, hsc_arena *arena) {
  const char *commit = hsc_arena_printf(arena, "%s^{commit}", name);
  const char *const argv[] = {"git",  "rev-parse", "--verify", "-q", "--end-of-options",
                              commit, NULL};
  return commit && *name && *name != '-' && git_works(argv, NULL);
}

bool hsc__gate_file_at(const char *revision, const char *path, const char *to, hsc_arena *arena) {
  const char *slash = strrchr(path, '/');
  const char *directory = slash ? hsc_arena_strndup(arena, path, (size_t)(slash - path) + 1) : ".";
  const char *name = hsc_arena_printf(arena, "%s:./%s", revision, hsc_path_file(path));
  const char *const argv[] = {"git", "-C", directory, "show", "--end-of-options", name, NULL};
  return directory && name && git_works(argv, to);
}

hsc_status *hsc__gate_tree_at(const char *revision,
                              const char *directory,
                              hsc_arena *arena,
                              const char **out_inside) {
  const char *prefix_file = hsc_arena_printf(arena, "%s.prefix", directory);
  const char *const add[] = {"git",     "worktree", "add",    "--detach",
                             "--force", directory,  revision, NULL};
  const char *const ask[] = {"git", "rev-parse", "--show-prefix", NULL};
  hsc_bytes prefix = {0};
  HSC_TRY(hsc_arena_status(arena));
  if (!git_works(ask, prefix_file) || !git_works(add, NULL))
    return hsc_status_hint(
        HSC_ERR(FAILED_PRECONDITION, "%s: git cannot check it out beside this tree", revision),
        "git worktree add --detach DIR %s says why", revision);
  hsc_status *status = hsc_file_read(prefix_file, &prefix);
  if (!status) {
    size_t length = strcspn(hsc_bytes_text(&prefix), "\n");
    *out_inside =
        hsc_arena_printf(arena, "%s/%.*s", directory, (int)length, hsc_bytes_text(&prefix));
  }
  hsc_bytes_deinit(&prefix);
  return status ? status : hsc_arena_status(arena);
}

void hsc__gate_tree_remove(const char *directory) {
  const char *const argv[] = {"git", "worktree", "remove", "--force", directory, NULL};
  git_works(argv, NULL);
}
