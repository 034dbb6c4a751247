// test_plugin_threads.c - one client under many threads: the same program, shared and donated
// buffers, transfers, compiles. Wants the thread sanitizer.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/core/clock.h"
#include "pjrt/client.h"
#include "plugin/plugin_internal.h"

enum { THREADS = 4, ROUNDS = 150 };

static const char step[] =
    "HloModule step, input_output_alias={ {}: (0, {}, may-alias) }\n"
    "ENTRY main {\n"
    "  w = f32[2,2] parameter(0)\n"
    "  g = f32[2,2] parameter(1)\n"
    "  ROOT n = f32[2,2] dot(w, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "}\n";

static hsc_plugin *plugin;
static hsc_client *client;
static hsc_executable *shared_program;
static hsc_buffer *shared_buffer;  // the unit matrix times two

static hsc_buffer *put(float a, float b, float c, float d, hsc_status **status) {
  static const int64_t dims[2] = {2, 2};
  const float data[4] = {a, b, c, d};
  hsc_buffer *buffer = NULL;
  if (!*status)
    *status =
        hsc_buffer_from_host(client, 0, &(hsc_host_array){PJRT_Buffer_Type_F32, 2, dims, data},
                             HSC_HOST_COPY, NULL, &buffer);
  return buffer;
}

static int open_device(void **state) {
  hsc_status *status = hsc_plugin_open_table(hsc__plugin_table(), "built-in", &plugin);
  if (!status)
    status = hsc_client_create(plugin, NULL, 0, &client);
  if (!status)
    status = hsc_client_compile(client, hsc_view_of(step), "hlo", (hsc_view){0}, &shared_program);
  shared_buffer = put(2, 0, 0, 2, &status);
  if (status)
    fail_msg("%s", hsc_status_message(status));
  return 0;
}

static int close_device(void **state) {
  hsc_buffer_destroy(shared_buffer);
  hsc_executable_destroy(shared_program);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  return 0;
}

typedef struct worker {
  int number;
  hsc_status *status;
  int wrong;
} worker;

// w := w * 2, ten times in place, from a matrix of this thread's number.
static hsc_status *ten_steps(worker *self, hsc_executable *program) {
  hsc_status *status = NULL;
  hsc_execution *run = NULL;
  float n = (float)self->number;
  float found[4];
  hsc_buffer *w = put(n, n, n, n, &status);
  if (!status)
    status = hsc_execution_create(program, 2, &run);
  if (!status) {
    hsc_execution_set_argument(run, 0, w);
    hsc_execution_set_argument(run, 1, shared_buffer);
    hsc_execution_allow_donation(run, true);
    // Only the weights may be taken: the shared one is not aliased.
    for (int i = 0; !status && i < 10; i++) {
      status = hsc_execution_run(run);
      if (!status)
        status = hsc_execution_await(run);
      if (!status && i < 9)
        status = hsc_execution_feed(run, 0, 0);
    }
    if (!status)
      status = hsc_buffer_to_host(hsc_execution_output(run, 0), found, sizeof found);
    for (int i = 0; !status && i < 4; i++)
      self->wrong += found[i] != n * 1024.0f;
  }
  hsc_execution_destroy(run);
  hsc_buffer_destroy(w);
  return status;
}

static void *work(void *argument) {
  worker *self = argument;
  for (int round = 0; round < ROUNDS && !self->status; round++) {
    self->status = ten_steps(self, shared_program);
    if (round % 25 == 0 && !self->status) {  // and now and then a program of one's own
      hsc_executable *own = NULL;
      self->status = hsc_client_compile(client, hsc_view_of(step), "hlo", (hsc_view){0}, &own);
      if (!self->status)
        self->status = ten_steps(self, own);
      hsc_executable_destroy(own);
    }
  }
  return NULL;
}

static void threads_share_a_client_a_program_and_a_buffer(void **state) {
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.number = i + 1};
    pthread_create(&threads[i], NULL, work, &workers[i]);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    if (workers[i].status)
      fail_msg("thread %d: %s", i, hsc_status_message(workers[i].status));
    assert_int_equal(workers[i].wrong, 0);
  }
}

// A buffer is deleted while others read it: each of them gets the numbers or a clean error.
typedef struct reader {
  hsc_buffer *buffer;
  int good, refused, wrong;
} reader;

static void *read_until_deleted(void *argument) {
  reader *self = argument;
  for (int i = 0; i < 20000 && !self->refused; i++) {
    float found[4];
    hsc_status *status = hsc_buffer_to_host(self->buffer, found, sizeof found);
    self->refused += hsc_status_code(status) == HSC_INVALID_ARGUMENT;
    self->wrong += status ? hsc_status_code(status) != HSC_INVALID_ARGUMENT : found[3] != 4.0f;
    self->good += !status;
    hsc_status_free(status);
  }
  return NULL;
}

static void deletion_meets_readers(void **state) {
  for (int round = 0; round < 20; round++) {
    pthread_t threads[2];
    reader readers[2];
    hsc_status *status = NULL;
    hsc_buffer *buffer = put(1, 2, 3, 4, &status);
    assert_null(status);
    for (int i = 0; i < 2; i++) {
      readers[i] = (reader){.buffer = buffer};
      pthread_create(&threads[i], NULL, read_until_deleted, &readers[i]);
    }
    hsc_sleep_ns(200 * 1000);
    // The client has no word for Delete; a donating run does the same.
    hsc_execution *run;
    assert_null(hsc_execution_create(shared_program, 2, &run));
    hsc_execution_set_argument(run, 0, buffer);
    hsc_execution_set_argument(run, 1, shared_buffer);
    hsc_execution_allow_donation(run, true);
    status = hsc_execution_run(run);
    if (status)
      fail_msg("%s", hsc_status_message(status));
    assert_null(hsc_execution_await(run));
    for (int i = 0; i < 2; i++)
      pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
      assert_int_equal(readers[i].wrong, 0);
    hsc_execution_destroy(run);
    hsc_buffer_destroy(buffer);
  }
}

// A host's thread with the smallest stack compiles a program of a long chain: our own threads have
// the depth for it.
static void *compile_chain(void *argument) {
  hsc_bytes text = {0};
  hsc_executable *executable = NULL;
  hsc_bytes_append_text(&text, "HloModule chain\nENTRY main {\n  v0 = f32[64] parameter(0)\n");
  for (int i = 1; i <= 400; i++)
    hsc_bytes_printf(&text, "  v%d = f32[64] %s(v%d, v%d)\n", i, i % 2 ? "add" : "multiply", i - 1,
                     i > 1 ? i - 2 : 0);
  hsc_bytes_append_text(&text, "  ROOT r = f32[64] negate(v400)\n}\n");
  *(hsc_status **)argument =
      hsc_client_compile(client, hsc_bytes_view(&text), "hlo", (hsc_view){0}, &executable);
  hsc_executable_destroy(executable);
  hsc_bytes_deinit(&text);
  return NULL;
}

static void small_stacks_of_hosts_are_enough(void **state) {
  pthread_attr_t attributes;
  pthread_t thread;
  hsc_status *status = NULL;
  pthread_attr_init(&attributes);
  assert_int_equal(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  assert_int_equal(pthread_create(&thread, &attributes, compile_chain, &status), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

// Sixteen threads, each with programs, buffers and numbers of its own: 24 programs each, or as many
// as fit into HLOSCOPE_SOAK_SECONDS (make soak).
enum { MANY_THREADS = 16, OWN_PROGRAMS = 24 };

typedef struct compiler {
  int number, programs, wrong;
  int64_t until_ns;
  hsc_status *status;
} compiler;

// tanh(x * w) * n + n, which is n where the numbers of x cancel: x = (n, -n), w = (1, 1).
static hsc_status *compile_and_run(compiler *self, int n) {
  char text[600];
  float found[4];
  hsc_status *status = NULL;
  hsc_executable *program = NULL;
  hsc_execution *run = NULL;
  snprintf(text, sizeof text,
           "HloModule own\nENTRY main {\n  x = f32[2,2] parameter(0)\n  w = f32[2,2] "
           "parameter(1)\n  d = f32[2,2] dot(x, w), lhs_contracting_dims={1}, "
           "rhs_contracting_dims={0}\n  t = f32[2,2] tanh(d)\n  c = f32[] constant(%d)\n  b = "
           "f32[2,2] broadcast(c), dimensions={}\n  m = f32[2,2] multiply(t, b)\n  ROOT s = "
           "f32[2,2] add(m, b)\n}\n",
           n);
  hsc_buffer *x = put((float)n, (float)-n, 40, 40, &status);
  hsc_buffer *w = put(1, 1, 1, 1, &status);
  if (!status)
    status = hsc_client_compile(client, hsc_view_of(text), "hlo", (hsc_view){0}, &program);
  if (!status)
    status = hsc_execution_create(program, 2, &run);
  for (int i = 0; i < 3 && !status; i++) {
    hsc_execution_set_argument(run, 0, x);
    hsc_execution_set_argument(run, 1, w);
    status = hsc_execution_run(run);
    if (!status)
      status = hsc_execution_await(run);
    if (!status)
      status = hsc_buffer_to_host(hsc_execution_output(run, 0), found, sizeof found);
    if (!status)
      self->wrong += found[0] != (float)n || found[1] != (float)n || found[2] != 2.0f * (float)n ||
                     found[3] != 2.0f * (float)n;
  }
  hsc_execution_destroy(run);
  hsc_executable_destroy(program);
  hsc_buffer_destroy(x);
  hsc_buffer_destroy(w);
  return status;
}

static void *compile_for_long(void *argument) {
  compiler *self = argument;
  while (!self->status &&
         (self->until_ns ? hsc_now_ns() < self->until_ns : self->programs < OWN_PROGRAMS)) {
    // Some programs are the same in several threads at once, most are not.
    int n = self->programs % 3 ? 1 + self->programs % 1000 : 1000 + self->number;
    self->status = compile_and_run(self, n);
    self->programs++;
  }
  return NULL;
}

static void sixteen_threads_compile_and_run(void **state) {
  static compiler compilers[MANY_THREADS];
  pthread_t threads[MANY_THREADS];
  const char *seconds = getenv("HLOSCOPE_SOAK_SECONDS");
  int64_t until = seconds ? hsc_now_ns() + (int64_t)(atof(seconds) * 1e9) : 0;
  int programs = 0;
  for (int i = 0; i < MANY_THREADS; i++) {
    compilers[i] = (compiler){.number = i, .until_ns = until};
    assert_int_equal(pthread_create(&threads[i], NULL, compile_for_long, &compilers[i]), 0);
  }
  for (int i = 0; i < MANY_THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < MANY_THREADS; i++) {
    if (compilers[i].status)
      fail_msg("thread %d: %s", i, hsc_status_message(compilers[i].status));
    assert_int_equal(compilers[i].wrong, 0);
    programs += compilers[i].programs;
  }
  print_message("# %d programs, three runs each\n", programs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sixteen_threads_compile_and_run),
      cmocka_unit_test(threads_share_a_client_a_program_and_a_buffer),
      cmocka_unit_test(deletion_meets_readers),
      cmocka_unit_test(small_stacks_of_hosts_are_enough),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
