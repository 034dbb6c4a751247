// checks_execute.c - running programs: arguments, outputs, donation, what is refused, threads.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lab/conform/conform_internal.h"

static const char doubles_donated[] =
    "module @m { func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> "
    "tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n} }\n";

void hsc__conform_execute_add(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  hsc__conform_expect_times(
      c, hsc__conform_run_one(c, loaded, loaded ? hsc__conform_some_floats(c) : NULL), 2);
}

void hsc__conform_execute_no_arguments(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(
      c,
      "module @m { func.func public @main() -> tensor<4xf32> {\n"
      "  %0 = stablehlo.constant dense<[3.0, 6.0, 9.0, 12.0]> : tensor<4xf32>\n"
      "  return %0 : tensor<4xf32>\n} }\n");
  PJRT_Buffer *output = NULL;
  if (loaded && hsc__conform_execute(c, loaded, NULL, 0, &output, 1))
    hsc__conform_expect_times(c, output, 3);
}

void hsc__conform_execute_many_outputs(hsc_conform *c, int number) {
  enum { COUNT = 40 };
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, "module @m { func.func public @main(%a: tensor<4xf32>) -> (");
  for (int i = 0; i < COUNT; i++)
    hsc_bytes_printf(&text, "%stensor<4xf32>", i ? ", " : "");
  hsc_bytes_append_text(&text, ") {\n");
  for (int i = 0; i < COUNT; i++)
    hsc_bytes_printf(&text,
                     "  %%k%d = stablehlo.constant dense<%d.0> : tensor<4xf32>\n"
                     "  %%r%d = stablehlo.multiply %%a, %%k%d : tensor<4xf32>\n",
                     i, i + 1, i, i);
  hsc_bytes_append_text(&text, "  return ");
  for (int i = 0; i < COUNT; i++)
    hsc_bytes_printf(&text, "%s%%r%d", i ? ", " : "", i);
  hsc_bytes_append_text(&text, " : ");
  for (int i = 0; i < COUNT; i++)
    hsc_bytes_printf(&text, "%stensor<4xf32>", i ? ", " : "");
  hsc_bytes_append_text(&text, "\n} }\n");
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc_bytes_text(&text));
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  PJRT_Buffer *outputs[COUNT] = {NULL};
  if (argument && hsc__conform_execute(c, loaded, &argument, 1, outputs, COUNT))
    for (int i = 0; i < COUNT && c->outcome == HSC_CONFORM_PASS; i++)
      hsc__conform_expect_times(c, outputs[i], (float)(i + 1));
  hsc_bytes_deinit(&text);
}

void hsc__conform_execute_many_arguments(hsc_conform *c, int number) {
  enum { COUNT = 200 };
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, "module @m { func.func public @main(");
  for (int i = 0; i < COUNT; i++)
    hsc_bytes_printf(&text, "%s%%a%d: tensor<4xf32>", i ? ", " : "", i);
  hsc_bytes_append_text(
      &text,
      ") -> tensor<4xf32> {\n  %r0 = stablehlo.subtract %a0, %a199 : tensor<4xf32>\n"
      "  return %r0 : tensor<4xf32>\n} }\n");
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  static PJRT_Buffer *arguments[COUNT];
  static const float thrice[4] = {3, 6, 9, 12};
  PJRT_Buffer *output = NULL;
  PJRT_Buffer *others = loaded ? hsc__conform_some_floats(c) : NULL;
  for (int i = 1; i < COUNT; i++)
    arguments[i] = others;
  if (others)
    arguments[0] =
        hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1, thrice, sizeof thrice);
  if (arguments[0] && hsc__conform_execute(c, loaded, arguments, COUNT, &output, 1))
    hsc__conform_expect_times(c, output, 2);
}

// Runs without events, and without waiting: the next run's argument is the last one's output.
static PJRT_Buffer *launch(hsc_conform *c, PJRT_LoadedExecutable *loaded, PJRT_Buffer *argument) {
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const *lists[1] = {&argument};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args args = ARGS_OF(
      PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
      .argument_lists = lists, .num_devices = 1, .num_args = 1, .output_lists = output_lists);
  return OK(c, PJRT_LoadedExecutable_Execute, &args) ? outputs[0] : NULL;
}

void hsc__conform_execute_no_events(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  if (argument)
    hsc__conform_expect_times(c, launch(c, loaded, argument), 2);
}

void hsc__conform_execute_chain(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Buffer *value = loaded ? hsc__conform_some_floats(c) : NULL;
  for (int i = 0; value && i < 10; i++) {
    PJRT_Buffer *next = launch(c, loaded, value);
    hsc__conform_buffer_free(c, value);  // while the run that reads it may still be under way
    value = next;
  }
  hsc__conform_expect_times(c, value, 1024);
}

static bool is_deleted(hsc_conform *c, PJRT_Buffer *buffer) {
  PJRT_Buffer_IsDeleted_Args args = ARGS_OF(PJRT_Buffer_IsDeleted, .buffer = buffer);
  return OK(c, PJRT_Buffer_IsDeleted, &args) && args.is_deleted;
}

void hsc__conform_execute_donation(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, doubles_donated);
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  PJRT_Buffer *output = hsc__conform_run_one(c, loaded, argument);
  if (!output)
    return;
  hsc__conform_expect_times(c, output, 2);
  EXPECT(c, is_deleted(c, argument), "the donated argument is still there");
}

void hsc__conform_execute_non_donatable(hsc_conform *c, int number) {
  static const int64_t kept[1] = {0};
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, doubles_donated);
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  if (!argument)
    return;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .non_donatable_input_indices = kept,
                                 .num_non_donatable_input_indices = 1};
  PJRT_Buffer *const *lists[1] = {&argument};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args args = ARGS_OF(
      PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
      .argument_lists = lists, .num_devices = 1, .num_args = 1, .output_lists = output_lists);
  if (!OK(c, PJRT_LoadedExecutable_Execute, &args))
    return;
  hsc__conform_expect_times(c, outputs[0], 2);
  EXPECT(c, !is_deleted(c, argument), "an argument that may not be donated is gone");
  hsc__conform_expect_times(c, argument, 1);
}

void hsc__conform_execute_arguments_stay(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  for (int i = 0; argument && i < 3; i++)
    hsc__conform_expect_times(c, hsc__conform_run_one(c, loaded, argument), 2);
  if (!argument)
    return;
  EXPECT(c, !is_deleted(c, argument), "an argument that was not donated is gone");
  hsc__conform_expect_times(c, argument, 1);
}

// Runs what must be refused: at the call, by the event, or by the output.
static void expect_no_run(hsc_conform *c,
                          PJRT_LoadedExecutable *loaded,
                          PJRT_Buffer *const *arguments,
                          size_t argument_count,
                          const char *what) {
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *const *lists[1] = {arguments};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args args =
      ARGS_OF(PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
              .argument_lists = lists, .num_devices = 1, .num_args = argument_count,
              .output_lists = output_lists);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_LoadedExecutable_Execute, &args, &called);
  if (called && !error && outputs[0]) {
    PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = outputs[0]);
    if (!OK(c, PJRT_Buffer_ReadyEvent, &ready))
      return;
    PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = ready.event);
    error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  }
  EXPECT(c, error, "it ran with %s", what);
  hsc__conform_error_free(c, error);
}

void hsc__conform_execute_too_few(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  if (loaded)
    expect_no_run(c, loaded, NULL, 0, "no argument for its one parameter");
}

void hsc__conform_execute_wrong_shape(hsc_conform *c, int number) {
  static const int64_t dims[1] = {3};
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Buffer *argument =
      loaded ? hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, 1, hsc__conform_one_to_four, 12)
             : NULL;
  if (argument)
    expect_no_run(c, loaded, &argument, 1, "three elements for a parameter of hsc__conform_four");
}

void hsc__conform_execute_wrong_type(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Buffer *argument = loaded ? hsc__conform_upload(c, PJRT_Buffer_Type_U8, hsc__conform_four, 1,
                                                       hsc__conform_one_to_four, 4)
                                 : NULL;
  if (argument)
    expect_no_run(c, loaded, &argument, 1, "u8 for a parameter of f32");
}

void hsc__conform_execute_empty_array(hsc_conform *c, int number) {
  static const int64_t dims[2] = {0, 3};
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(
      c,
      "module @m { func.func public @main(%a: tensor<0x3xf32>) -> tensor<0x3xf32> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<0x3xf32>\n  return %0 : tensor<0x3xf32>\n} }\n");
  PJRT_Buffer *argument =
      loaded ? hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, 2, hsc__conform_one_to_four, 0)
             : NULL;
  PJRT_Buffer *output = hsc__conform_run_one(c, loaded, argument);
  char out[1];
  if (output)
    hsc__conform_download(c, output, 2, out, 0);
}

void hsc__conform_execute_steady(hsc_conform *c, int number) {
  enum { COUNT = 1024, RUNS = 50 };
  static const int64_t dims[1] = {COUNT};
  static float in[COUNT];
  for (int i = 0; i < COUNT; i++)
    in[i] = 1 / (float)(i + 1);
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(
      c,
      "module @m { func.func public @main(%a: tensor<1024xf32>) -> tensor<f32> {\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<1024xf32>, tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n} }\n");
  PJRT_Buffer *argument =
      loaded ? hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, 1, in, sizeof in) : NULL;
  float first = 0;
  for (int i = 0; argument && i < RUNS; i++) {
    float sum = 0;
    PJRT_Buffer *output = hsc__conform_run_one(c, loaded, argument);
    if (!output || !hsc__conform_download(c, output, 0, &sum, sizeof sum))
      return;
    if (i == 0)
      first = sum;
    EXPECT(c, !memcmp(&sum, &first, sizeof sum), "run %d gives %.9g, the first gave %.9g", i + 1,
           sum, first);
    hsc__conform_buffer_free(c, output);
  }
}

// ---- which numbers ------------------------------------------------------------------------------

static const int64_t sizes[] = {1, 7, 63, 64, 65, 1001, 4097, 100003};

int hsc__conform_execute_size_count(void) {
  return (int)HSC_COUNT_OF(sizes);
}

void hsc__conform_execute_size_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%lld", (long long)sizes[number]);
}

// Whole numbers, so that each way to add them gives the same sum.
void hsc__conform_execute_size(hsc_conform *c, int number) {
  enum { MOST = 100003 };
  static float in[MOST];
  static float out[MOST];
  int64_t n = sizes[number];
  size_t bytes = (size_t)n * sizeof *in;
  float sum = 0;
  float seen = 0;
  for (int64_t i = 0; i < n; i++)
    in[i] = (float)(i % 17);
  for (int64_t i = 0; i < n; i++)
    sum += in[i];
  char text[1024];
  snprintf(text, sizeof text,
           "module @m { func.func public @main(%%a: tensor<%lldxf32>) -> (tensor<%lldxf32>, "
           "tensor<f32>) {\n"
           "  %%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "  %%0 = stablehlo.multiply %%a, %%a : tensor<%lldxf32>\n"
           "  %%1 = stablehlo.add %%0, %%a : tensor<%lldxf32>\n"
           "  %%2 = stablehlo.reduce(%%a init: %%z) applies stablehlo.add across dimensions = [0] "
           ": (tensor<%lldxf32>, tensor<f32>) -> tensor<f32>\n"
           "  return %%1, %%2 : tensor<%lldxf32>, tensor<f32>\n} }\n",
           (long long)n, (long long)n, (long long)n, (long long)n, (long long)n, (long long)n);
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, text);
  PJRT_Buffer *argument =
      loaded ? hsc__conform_upload(c, PJRT_Buffer_Type_F32, &n, 1, in, bytes) : NULL;
  PJRT_Buffer *outputs[2] = {NULL};
  if (!argument || !hsc__conform_execute(c, loaded, &argument, 1, outputs, 2) ||
      !hsc__conform_download(c, outputs[0], 1, out, bytes) ||
      !hsc__conform_download(c, outputs[1], 0, &seen, sizeof seen))
    return;
  for (int64_t i = 0; i < n; i++)
    EXPECT(c, out[i] == in[i] * in[i] + in[i], "element %lld of %lld is %g, not %g", (long long)i,
           (long long)n, out[i], in[i] * in[i] + in[i]);
  EXPECT(c, seen == sum, "the sum of %lld numbers is %.9g, not %.9g", (long long)n, seen, sum);
}

// Each argument takes the memory that the one before it gave back.
void hsc__conform_execute_fresh(hsc_conform *c, int number) {
  enum { RUNS = 20 };
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  conform_place place = {0};
  for (int i = 1; loaded && i <= RUNS; i++) {
    float values[4] = {(float)i, 2 * (float)i, 3 * (float)i, 4 * (float)i};
    if (i == 3)
      place = hsc__conform_silence(c);
    PJRT_Buffer *in =
        hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1, values, sizeof values);
    PJRT_Buffer *out = hsc__conform_run_one(c, loaded, in);
    if (i > 1)  // of the first run nothing can be seen
      hsc__conform_expect_times(c, out, 2 * (float)i);
    if (c->outcome != HSC_CONFORM_PASS)
      return;
    hsc__conform_buffer_free(c, out);
    hsc__conform_buffer_free(c, in);  // last, so that the next one gets its place
  }
  c->steps_fd = loaded ? place.fd : c->steps_fd;
}

void hsc__conform_execute_failed_argument(hsc_conform *c, int number) {
  PJRT_Buffer *argument = hsc__conform_failed_floats(c, "made to fail");
  PJRT_LoadedExecutable *loaded = argument ? hsc__conform_compile(c, hsc__conform_doubles) : NULL;
  if (loaded)
    expect_no_run(c, loaded, &argument, 1, "an argument that has failed, and its result is fine");
}

void hsc__conform_execute_twice_the_same(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(
      c,
      "module @m { func.func public @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
      "  return %0, %0 : tensor<4xf32>, tensor<4xf32>\n} }\n");
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  PJRT_Buffer *outputs[2] = {NULL};
  if (!argument || !hsc__conform_execute(c, loaded, &argument, 1, outputs, 2))
    return;
  EXPECT(c, outputs[0] != outputs[1], "two results are one buffer, which can be destroyed once");
  hsc__conform_expect_times(c, outputs[0], 2);
  hsc__conform_buffer_free(c, outputs[0]);
  hsc__conform_expect_times(c, outputs[1], 2);
}

// A result that is an argument, after the argument is gone and others took its memory.
void hsc__conform_execute_identity(hsc_conform *c, int number) {
  enum { OTHERS = 16 };
  static const float others[4] = {-1, -2, -3, -4};
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(
      c,
      "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  return %a : tensor<4xf32>\n} }\n");
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  PJRT_Buffer *output = hsc__conform_run_one(c, loaded, argument);
  if (!output)
    return;
  hsc__conform_buffer_free(c, argument);
  conform_place place = hsc__conform_silence(c);
  for (int i = 0; i < OTHERS && c->outcome == HSC_CONFORM_PASS; i++)
    hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1, others, sizeof others);
  hsc__conform_resume(c, place);
  hsc__conform_expect_times(c, output, 1);
}

// Two arguments could be donated; the list of those that may not is longer than one, not in order.
void hsc__conform_execute_non_donatable_two(hsc_conform *c, int number) {
  static const int64_t kept[2] = {1, 0};
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(
      c,
      "module @m { func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, "
      "%b: tensor<4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {\n"
      "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
      "  %1 = stablehlo.subtract %b, %a : tensor<4xf32>\n"
      "  return %0, %1 : tensor<4xf32>, tensor<4xf32>\n} }\n");
  PJRT_Buffer *in[2] = {NULL};
  for (int i = 0; loaded && i < 2; i++)
    in[i] = hsc__conform_some_floats(c);
  if (!in[0] || !in[1])
    return;
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .non_donatable_input_indices = kept,
                                 .num_non_donatable_input_indices = 2};
  PJRT_Buffer *const *lists[1] = {in};
  PJRT_Buffer *outputs[2] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args args = ARGS_OF(
      PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
      .argument_lists = lists, .num_devices = 1, .num_args = 2, .output_lists = output_lists);
  if (!OK(c, PJRT_LoadedExecutable_Execute, &args))
    return;
  hsc__conform_expect_times(c, outputs[0], 2);
  hsc__conform_expect_times(c, outputs[1], 0);
  for (int i = 0; i < 2; i++) {
    EXPECT(c, !is_deleted(c, in[i]), "argument %d may not be donated, and is gone", i);
    hsc__conform_expect_times(c, in[i], 1);
  }
}

// ---- threads ------------------------------------------------------------------------------------

typedef struct crew_job {
  hsc_conform c;  // of this thread: its own calls and findings
  int number, work;
} crew_job;

static const char *const works[] = {"transfers", "compiles", "executions", "everything"};

int hsc__conform_threads_count(void) {
  return (int)HSC_COUNT_OF(works);
}

void hsc__conform_threads_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", works[number]);
}

static void *crew_member(void *user) {
  enum { TIMES = 20 };
  crew_job *job = user;
  hsc_conform *c = &job->c;
  PJRT_LoadedExecutable *loaded = job->work ? hsc__conform_compile(c, hsc__conform_doubles) : NULL;
  for (int i = 0; i < TIMES && c->outcome == HSC_CONFORM_PASS; i++) {
    float factor = (float)(job->number + 1);
    float values[4] = {factor, 2 * factor, 3 * factor, 4 * factor};
    PJRT_Buffer *in =
        hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1, values, sizeof values);
    if (job->work == 0 || job->work == 3)
      hsc__conform_expect_times(c, in, factor);
    if (job->work == 1 || (job->work == 3 && i % 4 == 0)) {
      PJRT_LoadedExecutable *more = hsc__conform_compile(c, hsc__conform_doubles);
      PJRT_LoadedExecutable_Destroy_Args destroy =
          ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = more);
      if (more)
        OK(c, PJRT_LoadedExecutable_Destroy, &destroy);
    }
    if (job->work >= 2) {
      PJRT_Buffer *out = hsc__conform_run_one(c, loaded, in);
      hsc__conform_expect_times(c, out, 2 * factor);
      hsc__conform_buffer_free(c, out);
    }
    hsc__conform_buffer_free(c, in);
    c->steps.size = 0;
    c->known_count = c->call_count = 0;
  }
  return NULL;
}

void hsc__conform_threads(hsc_conform *c, int number) {
  enum { THREADS = 8 };
  if (!hsc__conform_client(c))
    return;
  crew_job *jobs = hsc_alloc(THREADS * sizeof *jobs);
  EXPECT(c, jobs, "no memory");
  pthread_t threads[THREADS];
  int started = 0;
  for (; started < THREADS; started++) {
    jobs[started] = (crew_job){.number = started, .work = number};
    jobs[started].c.api = c->api;
    jobs[started].c.client = c->client;
    jobs[started].c.steps_fd = -1;
    if (pthread_create(&threads[started], NULL, crew_member, &jobs[started]))
      break;
  }
  for (int t = 0; t < started; t++)
    pthread_join(threads[t], NULL);
  for (int t = 0; t < started; t++) {
    if (jobs[t].c.outcome == HSC_CONFORM_FAIL)
      hsc__conform_fail(c, "thread %d: %s", t, hsc_bytes_text(&jobs[t].c.seen));
    hsc_bytes_deinit(&jobs[t].c.seen);
    hsc_bytes_deinit(&jobs[t].c.steps);
    hsc_bytes_deinit(&jobs[t].c.compile_options);
  }
  hsc_free(jobs);
}
