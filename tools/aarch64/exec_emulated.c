// exec_emulated.c - make aarch64: every program of that build is linked to it, so that the AArch64
// programs which it starts are emulated too. The kernel does that by itself only where binfmt_misc
// is set up, which takes root and changes the machine.
//
// What is started is looked up as execvp does; an AArch64 ELF file becomes
//   QEMU -L ROOT -0 argv[0] FILE argv[1]...
// and everything else is left as it is. EMULATOR and EMULATED_ROOT come from the compiler's command
// line.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEFORE = 5 };  // words before the file's own arguments: QEMU -L ROOT -0 argv[0]

typedef int exec_function(const char *, char *const[], char *const[]);
typedef int spawn_function(pid_t *,
                           const char *,
                           const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *,
                           char *const[],
                           char *const[]);

static bool is_emulated(const char *path) {
  Elf64_Ehdr header = {0};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t got = read(file, &header, sizeof header);
  close(file);
  return got == (ssize_t)sizeof header && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
         header.e_machine == EM_AARCH64;
}

// The file that a name without a slash means.
static bool look_up(const char *name, char out_path[PATH_MAX]) {
  const char *path = getenv("PATH");
  if (strchr(name, '/') || !path)
    return snprintf(out_path, PATH_MAX, "%s", name) < PATH_MAX;
  while (*path) {
    size_t length = strcspn(path, ":");
    snprintf(out_path, PATH_MAX, "%.*s/%s", (int)length, length ? path : ".", name);
    if (!access(out_path, X_OK))
      return true;
    path += length + (path[length] == ':');
  }
  return false;
}

// The command line with the emulator before it; NULL without memory.
static char **with_emulator(const char *path, char *const argv[]) {
  size_t count = 0;
  while (argv[count])
    count++;
  char **words = calloc(BEFORE + count + 2, sizeof *words);
  if (!words)
    return NULL;
  char *const first[BEFORE + 1] = {
      EMULATOR, "-L", EMULATED_ROOT, "-0", count ? argv[0] : (char *)path, (char *)path};
  memcpy(words, first, sizeof first);
  for (size_t i = 1; i < count; i++)
    words[BEFORE + i] = argv[i];
  return words;
}

int execve(const char *path, char *const argv[], char *const environment[]) {
  exec_function *real = (exec_function *)dlsym(RTLD_NEXT, "execve");
  if (!is_emulated(path))
    return real(path, argv, environment);
  char **words = with_emulator(path, argv);
  return words ? real(EMULATOR, words, environment) : -1;
}

int execv(const char *path, char *const argv[]) {
  return execve(path, argv, environ);
}

int execvp(const char *name, char *const argv[]) {
  char path[PATH_MAX];
  if (!look_up(name, path)) {
    errno = ENOENT;
    return -1;
  }
  return execve(path, argv, environ);
}

// An emulated process is cloned with memory of its own, so that a failing exec of the child would
// not be seen here: what cannot be started is said before.
int posix_spawn(pid_t *pid,
                const char *path,
                const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes,
                char *const argv[],
                char *const environment[]) {
  spawn_function *real = (spawn_function *)dlsym(RTLD_NEXT, "posix_spawn");
  if (access(path, X_OK))
    return errno;
  if (!is_emulated(path))
    return real(pid, path, actions, attributes, argv, environment);
  char **words = with_emulator(path, argv);
  int error = words ? real(pid, EMULATOR, actions, attributes, words, environment) : ENOMEM;
  free(words);
  return error;
}

int posix_spawnp(pid_t *pid,
                 const char *name,
                 const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes,
                 char *const argv[],
                 char *const environment[]) {
  char path[PATH_MAX];
  if (!look_up(name, path))
    return ENOENT;
  return posix_spawn(pid, path, actions, attributes, argv, environment);
}
