// count.c - instructions of one run of a program on the built-in device with one thread: the same
// at every run, whatever else the machine does.
//
//   count PROGRAM...      a line for each: its name and the instructions of its third run
//
// The program runs in a child between two stops. Where the kernel offers a counter of instructions
// (perf_event_open) it is read at them; elsewhere the child is stepped, one instruction after the
// other (ptrace), which costs some microseconds each. Exit code 77: neither is allowed here.
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/random.h"
#include "cpu/core/cpu.h"
#include "formats/common/formats.h"

enum { NOT_HERE = 77, MAX_BUFFERS = 32, WARM_RUNS = 2 };

// ---- the child ----------------------------------------------------------------------------------

// Floats within an eighth of zero, whole numbers below 64, without an order.
static void fill(const hsc_shape *shape, void *data) {
  hsc_literal literal = {.shape = *shape, .data = data};
  hsc_random random;
  hsc_random_init(&random, 1);
  for (int64_t i = 0; i < hsc_shape_elements(shape); i++) {
    int64_t drawn = (int64_t)hsc_random_below(&random, 64);
    if (hsc_type_is_float(shape->type))
      hsc_literal_set_double(&literal, i, (double)(drawn - 32) / 256);
    else
      hsc_literal_set_int(&literal, i, drawn);
  }
}

static hsc_status *buffer_of(const hsc_shape *shape, void **out) {
  size_t bytes = (size_t)hsc_shape_bytes(shape);
  if (posix_memalign(out, HSC_CPU_ALIGNMENT, bytes + HSC_CPU_ALIGNMENT))
    return hsc_status_out_of_memory();
  memset(*out, 0, bytes);
  return NULL;
}

static hsc_status *run_between_stops(const char *path) {
  hsc_module *module;
  hsc_cpu_device *device;
  hsc_cpu_executable *executable;
  void *inputs[MAX_BUFFERS] = {0};
  void *outputs[MAX_BUFFERS] = {0};
  HSC_TRY(hsc_program_read_file(path, &module));
  HSC_TRY(hsc_cpu_device_create(&(hsc_cpu_device_options){.thread_count = 1}, &device));
  HSC_TRY(hsc_cpu_compile(device, module, NULL, &executable));
  int input_count = hsc_cpu_executable_input_count(executable);
  int output_count = hsc_cpu_executable_output_count(executable);
  if (input_count > MAX_BUFFERS || output_count > MAX_BUFFERS)
    return HSC_ERR(INVALID_ARGUMENT, "%s: more than %d arguments or results", path, MAX_BUFFERS);
  for (int i = 0; i < input_count; i++) {
    const hsc_shape *shape = hsc_cpu_executable_input_shape(executable, i);
    HSC_TRY(buffer_of(shape, &inputs[i]));
    fill(shape, inputs[i]);
  }
  for (int o = 0; o < output_count; o++)
    HSC_TRY(buffer_of(hsc_cpu_executable_output_shape(executable, o), &outputs[o]));
  for (int run = 0; run < WARM_RUNS; run++)
    HSC_TRY(hsc_cpu_execute(executable, (const void *const *)inputs, outputs));
  raise(SIGSTOP);
  hsc_status *status = hsc_cpu_execute(executable, (const void *const *)inputs, outputs);
  raise(SIGSTOP);
  return status;  // the process ends: it frees nothing
}

static int child(const char *path) {
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
    return NOT_HERE;
  hsc_status *status = run_between_stops(path);
  if (!status)
    return 0;
  fprintf(stderr, "count: %s: %s\n", path, hsc_status_message(status));
  return 1;
}

// ---- counting -----------------------------------------------------------------------------------

static int open_counter(pid_t pid) {
  struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                 .size = sizeof attr,
                                 .config = PERF_COUNT_HW_INSTRUCTIONS,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1};
  return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

// Until the child stops itself or ends.
static bool go_on(pid_t pid, int *out_state) {
  return ptrace(PTRACE_CONT, pid, NULL, NULL) == 0 && waitpid(pid, out_state, 0) == pid;
}

// A repeated instruction (rep movs) stays where it is: counters take it for one.
static long place_of(pid_t pid) {
#if defined(__x86_64__)
  return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), NULL);
#else
  static long steps;
  (void)pid;
  return ++steps;
#endif
}

static long long count_steps(pid_t pid, int *state) {
  long long steps = 0;
  long place = 0;
  while (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 && waitpid(pid, state, 0) == pid) {
    if (!WIFSTOPPED(*state) || WSTOPSIG(*state) == SIGSTOP)
      break;
    long now = place_of(pid);
    steps += now != place;
    place = now;
  }
  return steps;
}

static long long count_by_counter(pid_t pid, int counter, int *state) {
  long long before = 0;
  long long after = 0;
  if (read(counter, &before, sizeof before) != sizeof before || !go_on(pid, state) ||
      read(counter, &after, sizeof after) != sizeof after)
    return 0;
  return after - before;
}

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int count_one(const char *path) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid < 0)
    return NOT_HERE;
  if (pid == 0)
    _exit(child(path));
  int state = 0;
  if (waitpid(pid, &state, 0) != pid || !WIFSTOPPED(state))
    return WIFEXITED(state) ? WEXITSTATUS(state) : 1;
  int counter = open_counter(pid);
  long long count =
      counter >= 0 ? count_by_counter(pid, counter, &state) : count_steps(pid, &state);
  if (counter >= 0)
    close(counter);
  bool stopped = WIFSTOPPED(state);
  if (stopped)
    stopped = go_on(pid, &state);
  const char *name = name_of(path);
  const char *dot = strchr(name, '.');
  printf("%.*s\t%lld\n", (int)(dot ? dot - name : (long)strlen(name)), name, count);
  return stopped && WIFEXITED(state) ? WEXITSTATUS(state) : 1;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    int code = count_one(argv[i]);
    if (code)
      return code;
  }
  return 0;
}
