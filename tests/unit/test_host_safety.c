// test_host_safety.c - the plugin in somebody else's process: it leaves signal handlers and mask,
// locale, rounding mode, floating-point flags, affinity, limits, working directory, umask and
// environment as they are; threads and descriptors go with the last client; a child after fork
// computes.
#include <dirent.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pjrt/client.h"
#include "unit.h"

extern char **environ;

typedef struct host_state {
  struct sigaction actions[65];
  sigset_t mask;
  char locale[256];
  int rounding;
  cpu_set_t affinity;
  struct rlimit limits[RLIM_NLIMITS];
  char directory[4096];
  mode_t umask;
  uint64_t environment;  // a sum over the texts
} host_state;

static int entries_of(const char *path) {
  int count = 0;
  DIR *folder = opendir(path);
  for (struct dirent *e; folder && (e = readdir(folder));)
    count += e->d_name[0] != '.';
  if (folder)
    closedir(folder);
  return count;
}

static void read_state(host_state *s) {
  memset(s, 0, sizeof *s);
  for (int n = 1; n < 65; n++)
    sigaction(n, NULL, &s->actions[n]);
  pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
  snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
  s->rounding = fegetround();
  sched_getaffinity(0, sizeof s->affinity, &s->affinity);
  for (int n = 0; n < (int)RLIM_NLIMITS; n++)
    getrlimit(n, &s->limits[n]);
  assert_non_null(getcwd(s->directory, sizeof s->directory));
  s->umask = umask(0);
  umask(s->umask);
  for (char **e = environ; *e; e++)
    for (const char *at = *e; *at; at++)
      s->environment = s->environment * 31 + (unsigned char)*at;
}

static void expect_same(const host_state *a, const host_state *b) {
  for (int n = 1; n < 65; n++)
    if (a->actions[n].sa_handler != b->actions[n].sa_handler ||
        a->actions[n].sa_flags != b->actions[n].sa_flags)
      fail_msg("the handler of signal %d changed", n);
  assert_memory_equal(&a->mask, &b->mask, sizeof a->mask);
  assert_string_equal(a->locale, b->locale);
  assert_int_equal(a->rounding, b->rounding);
  assert_memory_equal(&a->affinity, &b->affinity, sizeof a->affinity);
  assert_memory_equal(a->limits, b->limits, sizeof a->limits);
  assert_string_equal(a->directory, b->directory);
  assert_int_equal(a->umask, b->umask);
  assert_true(a->environment == b->environment);
}

static const char program[] =
    "HloModule p\nENTRY e { x = f32[64,64] parameter(0) y = f32[64,64] dot(x, x), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT z = f32[64,64] tanh(y) }\n";

// Opens the library as a host does, compiles, runs, closes. The first number of the result.
static float use(const char *path) {
  static float data[64 * 64];
  static const int64_t dims[2] = {64, 64};
  hsc_plugin *plugin;
  hsc_client *client;
  hsc_executable *executable;
  hsc_buffer *in = NULL;
  hsc_execution *execution;
  for (int i = 0; i < 64 * 64; i++)
    data[i] = i % 65 ? 0 : 0.5f;
  EXPECT_OK(hsc_plugin_open(path, &plugin));
  EXPECT_OK(hsc_client_create(plugin, NULL, 0, &client));
  EXPECT_OK(hsc_client_compile(client, hsc_view_of(program), "hlo", (hsc_view){0}, &executable));
  EXPECT_OK(hsc_buffer_from_host(client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 2, dims, data},
                                 HSC_HOST_COPY, NULL, &in));
  EXPECT_OK(hsc_execution_create(executable, 1, &execution));
  hsc_execution_set_argument(execution, 0, in);
  EXPECT_OK(hsc_execution_run(execution));
  EXPECT_OK(hsc_execution_await(execution));
  EXPECT_OK(hsc_buffer_to_host(hsc_execution_output(execution, 0), data, sizeof data));
  hsc_execution_destroy(execution);
  hsc_buffer_destroy(in);
  hsc_executable_destroy(executable);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  return data[0];
}

// tanh(0.25): the diagonal of x is a half.
static void expect_right(float value) {
  assert_true(value > 0.2449f && value < 0.2450f);
}

static char library[4096];

static int find_library(void **state) {
  ssize_t size = readlink("/proc/self/exe", library, sizeof library - 64);
  char *slash = size > 0 ? strrchr(library, '/') : NULL;
  if (!slash)
    return -1;
  snprintf(slash, 64, "/../../libhloscope_cpu_pjrt.so");
  return access(library, R_OK);
}

static void the_hosts_state_stays(void **state) {
  host_state before, after;
  setlocale(LC_ALL, "C.UTF-8");
  fesetround(FE_UPWARD);
  umask(027);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  read_state(&before);
  expect_right(use(library));
  read_state(&after);
  expect_same(&before, &after);
  fesetround(FE_TONEAREST);
}

// Threads and descriptors are back where they were after the second round: what the first one
// opened for good (the library, LLVM) is opened once.
static void clients_leave_nothing_behind(void **state) {
  expect_right(use(library));
  int threads = entries_of("/proc/self/task");
  int descriptors = entries_of("/proc/self/fd");
  const char *wanted = getenv("HLOSCOPE_SOAK_CLIENTS");  // make soak: 10,000
  int rounds = wanted ? atoi(wanted) : 20;
  for (int round = 0; round < rounds; round++)
    expect_right(use(library));
  for (int wait = 0; wait < 100 && entries_of("/proc/self/task") > threads; wait++)
    usleep(10000);
  assert_int_equal(entries_of("/proc/self/task"), threads);
  assert_int_equal(entries_of("/proc/self/fd"), descriptors);
}

// A host that forks (data loaders): the child opens a client of its own.
static void a_child_computes_after_fork(void **state) {
  int how;
  expect_right(use(library));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(60);
    float value = use(library);
    _exit(value > 0.2449f && value < 0.2450f ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFEXITED(how));
  assert_int_equal(WEXITSTATUS(how), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_hosts_state_stays),
      cmocka_unit_test(clients_leave_nothing_behind),
      cmocka_unit_test(a_child_computes_after_fork),
  };
  return cmocka_run_group_tests(tests, find_library, NULL);
}
