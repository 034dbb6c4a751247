// test_collectives.c - programs of several devices at the level of the executable: each rank on a
// thread, results against sums written out here.
#include <pthread.h>
#include <stdlib.h>

#include "cpu/core/communicator.h"
#include "formats/common/formats.h"
#include "plugin/ffi_abi.h"
#include "plugin/plugin_host.h"
#include "unit.h"

enum { RANKS = 4, N = 8 };

static hsc_cpu_device *device;
static hsc_code ends[RANKS];  // of the last run, by rank
static float lost = -1;       // the first number of the rank that fails; -1 = none

static int open_device(void **state) {
  hsc_cpu_device_options options = {.thread_count = 2};
  return hsc_cpu_device_create(&options, &device) ? -1 : 0;
}

static int close_device(void **state) {
  hsc_cpu_device_destroy(device);
  return 0;
}

static hsc_status *try_compile(const char *text, hsc_cpu_executable **out) {
  hsc_module *module;
  EXPECT_OK(hsc_program_read(hsc_view_of(text), "test", &module));
  hsc_status *status = hsc_cpu_compile(device, module, NULL, out);
  hsc_module_destroy(module);
  return status;
}

typedef struct rank {
  hsc_cpu_executable *executable;
  hsc_cpu_communicator *communicator;
  int number;
  float *in, *out;
  hsc_status *status;
  pthread_t thread;
} rank;

static void *run_rank(void *argument) {
  rank *r = argument;
  const void *inputs[] = {r->in};
  void *outputs[] = {r->out};
  r->status = hsc_cpu_execute_rank(r->executable, r->communicator, r->number, inputs, outputs);
  if (r->status)
    hsc_cpu_communicator_fail(r->communicator);
  return NULL;
}

// Rank r's input is r * 100 + i; out[r] gets its result of at most 64 numbers. One input, one
// output.
static hsc_status *run_all(hsc_cpu_executable *executable, float out[RANKS][64]) {
  rank ranks[RANKS];
  hsc_cpu_communicator *communicator;
  hsc_status *status = NULL;
  EXPECT_OK(hsc_cpu_communicator_create(RANKS, NULL, &communicator));
  for (int r = 0; r < RANKS; r++) {
    ranks[r] = (rank){.executable = executable, .communicator = communicator, .number = r};
    assert_int_equal(posix_memalign((void **)&ranks[r].in, 64, 256) |
                         posix_memalign((void **)&ranks[r].out, 64, 256),
                     0);
    for (int i = 0; i < N; i++)
      ranks[r].in[i] = (float)(r * 100 + i);
    assert_int_equal(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) {
    pthread_join(ranks[r].thread, NULL);
    memcpy(out[r], ranks[r].out, sizeof out[r]);
    free(ranks[r].in);
    free(ranks[r].out);
    ends[r] = hsc_status_code(ranks[r].status);
    if (!status)
      status = ranks[r].status;
    else
      hsc_status_free(ranks[r].status);
  }
  hsc_cpu_communicator_destroy(communicator);
  return status;
}

// Where the first number says so: as a kernel of a user's does when its device is lost.
static XLA_FFI_Error *lose_device(XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Buffer *in = frame->args.args[0];
  const XLA_FFI_Buffer *out = frame->rets.rets[0];
  if (*(const float *)in->data == lost)
    return frame->api->Error_Create(
        &(XLA_FFI_Error_Create_Args){.struct_size = sizeof(XLA_FFI_Error_Create_Args),
                                     .message = "the device is lost",
                                     .errc = HSC_OUT_OF_RANGE});
  memcpy(out->data, in->data, N * sizeof(float));
  return NULL;
}

// `body` uses x = f32[8] and has the root; the module has RANKS partitions.
static hsc_cpu_executable *compile_body(const char *body) {
  char text[4096];
  hsc_cpu_executable *executable;
  snprintf(text, sizeof text,
           "HloModule m, num_partitions=%d\n"
           "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
           "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }\n"
           "ENTRY main {\n  x = f32[8] parameter(0)\n%s}\n",
           RANKS, body);
  EXPECT_OK(try_compile(text, &executable));
  return executable;
}

#define FOR_ALL(count) \
  for (int r = 0; r < RANKS; r++) \
    for (int i = 0; i < (count); i++)

static void every_collective_gives_its_numbers(void **state) {
  float out[RANKS][64];
  hsc_cpu_executable *e = compile_body(
      "  ROOT y = f32[8] all-reduce(x), channel_id=1, replica_groups={{0,1,2,3}}, "
      "use_global_device_ids=true, to_apply=add\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)(600 + 4 * i));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  ROOT y = f32[8] all-reduce(x), channel_id=1, replica_groups={{0,2},{3,1}}, "
      "use_global_device_ids=true, to_apply=max\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)((r % 2 ? 300 : 200) + i));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  ROOT y = f32[8] all-reduce(x), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), "
      "use_global_device_ids=true, to_apply=add\n");
  EXPECT_OK(run_all(e, out));  // {0,2},{1,3}
  FOR_ALL(N) assert_true(out[r][i] == (float)((r % 2 ? 400 : 200) + 2 * i));
  hsc_cpu_executable_release(e);

  // without a channel: between replicas, of which there is one
  e = compile_body("  ROOT y = f32[8] all-reduce(x), to_apply=add\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)(r * 100 + i));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  m = f32[2,4] reshape(x)\n  ROOT y = f32[2,8] all-gather(m), channel_id=1, "
      "replica_groups={{1,0},{2,3}}, dimensions={1}, use_global_device_ids=true\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(16) {
    int row = i / 8;
    int column = i % 8;
    int from;
    if (r < 2) {
      if (column < 4)
        from = 1;
      else
        from = 0;
    } else if (column < 4)
      from = 2;
    else
      from = 3;
    assert_true(out[r][i] == (float)(from * 100 + row * 4 + column % 4));
  }
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  ROOT y = f32[2] reduce-scatter(x), channel_id=1, replica_groups={{0,1,2,3}}, "
      "dimensions={0}, use_global_device_ids=true, to_apply=add\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(2) assert_true(out[r][i] == (float)(600 + 4 * (2 * r + i)));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  ROOT y = f32[8] all-to-all(x), channel_id=1, replica_groups={{0,1,2,3}}, "
      "dimensions={0}\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)(i / 2 * 100 + 2 * r + i % 2));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  ROOT y = f32[8] collective-permute(x), channel_id=1, "
      "source_target_pairs={{0,1},{1,2},{3,3}}\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (r == 0 ? 0 : (float)((r == 3 ? 300 : (r - 1) * 100) + i)));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  ROOT y = f32[8] collective-broadcast(x), channel_id=1, replica_groups={{2,0},{1,3}}\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)((r % 2 ? 100 : 200) + i));
  hsc_cpu_executable_release(e);

  // What is started and ended, as XLA's compilers write it.
  e = compile_body(
      "  s = f32[8] all-reduce-start(x), channel_id=1, replica_groups={{0,1,2,3}}, "
      "use_global_device_ids=true, to_apply=add\n  n = f32[8] negate(x)\n"
      "  d = f32[8] all-reduce-done(s)\n  ROOT y = f32[8] add(d, n)\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)(600 + 4 * i - (r * 100 + i)));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  s = (f32[8], f32[16]) all-gather-start(x), channel_id=1, replica_groups={{1,0},{2,3}}, "
      "dimensions={0}, use_global_device_ids=true\n  ROOT y = f32[16] all-gather-done(s)\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(16)
  assert_true(out[r][i] == (float)((r < 2 ? (i < 8 ? 1 : 0) : (i < 8 ? 2 : 3)) * 100 + i % 8));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  s = (f32[8], f32[8], u32[], u32[]) collective-permute-start(x), channel_id=1, "
      "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n  ROOT y = f32[8] "
      "collective-permute-done(s)\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)((r + 3) % 4 * 100 + i));
  hsc_cpu_executable_release(e);

  e = compile_body(
      "  p = u32[] partition-id()\n  f = f32[] convert(p)\n  b = f32[8] broadcast(f), "
      "dimensions={}\n  ROOT y = f32[8] multiply(x, b)\n");
  EXPECT_OK(run_all(e, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)(r * (r * 100 + i)));
  hsc_cpu_executable_release(e);
}

static const char loop[] =
    "HloModule loop, num_partitions=4\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "condition { p = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = "
    "s32[] constant(50) ROOT c = pred[] compare(i, n), direction=LT }\n"
    "body { p = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(p), index=0 x = f32[8] "
    "get-tuple-element(p), index=1\n"
    "  one = s32[] constant(1) j = s32[] add(i, one)\n"
    "  y = f32[8] all-reduce(x), channel_id=1, replica_groups={{0,1,2,3}}, "
    "use_global_device_ids=true, to_apply=add\n"
    "  quarter = f32[] constant(0.25) q = f32[8] broadcast(quarter), dimensions={} z = f32[8] "
    "multiply(y, q) ROOT t = (s32[], f32[8]) tuple(j, z) }\n"
    "ENTRY main { x = f32[8] parameter(0) zero = s32[] constant(0) init = (s32[], f32[8]) "
    "tuple(zero, x)\n"
    "  w = (s32[], f32[8]) while(init), condition=condition, body=body ROOT r = f32[8] "
    "get-tuple-element(w), index=1 }\n";

static void a_loop_reuses_its_rendezvous(void **state) {
  hsc_cpu_executable *executable, *loaded;
  float out[RANKS][64];
  hsc_bytes bytes = {0};
  EXPECT_OK(try_compile(loop, &executable));
  for (int round = 0; round < 20; round++) {
    EXPECT_OK(run_all(executable, out));
    FOR_ALL(N) assert_true(out[r][i] == (float)(150 + i));  // the mean stays
  }
  EXPECT_OK(hsc_cpu_executable_serialize(executable, &bytes));  // and after a reload
  EXPECT_OK(hsc_cpu_executable_deserialize(device, hsc_bytes_view(&bytes), &loaded));
  EXPECT_OK(run_all(loaded, out));
  FOR_ALL(N) assert_true(out[r][i] == (float)(150 + i));
  hsc_cpu_executable_release(executable);
  hsc_cpu_executable_release(loaded);
  hsc_bytes_deinit(&bytes);
}

// A device that fails before a collective, whichever it is: the others, which wait for it there,
// end with an error too and do not hang; the next run is as if nothing had been.
static void one_that_fails_ends_all(void **state) {
  float out[RANKS][64];
  lost = -1;
  assert_int_equal(hsc__host_register_ffi("test_lose_device", NULL, NULL, NULL, lose_device),
                   HSC_OK);
  hsc_cpu_executable *executable = compile_body(
      "  c = f32[8] custom-call(x), custom_call_target=\"test_lose_device\", "
      "api_version=API_VERSION_TYPED_FFI\n"
      "  s = f32[8] all-reduce(c), channel_id=1, replica_groups={{0,1,2,3}}, "
      "use_global_device_ids=true, to_apply=add\n"
      "  ROOT y = f32[8] collective-permute(s), channel_id=2, "
      "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n");
  for (int failing = 0; failing < RANKS; failing++) {
    lost = (float)(failing * 100);
    hsc_status *status = run_all(executable, out);
    assert_non_null(status);
    hsc_status_free(status);
    for (int r = 0; r < RANKS; r++) {
      if (r == failing)
        assert_int_equal(ends[r], HSC_OUT_OF_RANGE);
      else
        assert_true(ends[r] != HSC_OK && ends[r] != HSC_OUT_OF_RANGE);
    }
    lost = -1;
    EXPECT_OK(run_all(executable, out));
    FOR_ALL(N) assert_true(out[r][i] == (float)(600 + 4 * i));
  }
  hsc_cpu_executable_release(executable);
}

static void what_is_not_built_is_named(void **state) {
  hsc_cpu_executable *executable;
  EXPECT_CODE(
      UNIMPLEMENTED,
      try_compile(
          "HloModule m, num_partitions=4\n"
          "f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] subtract(a, b) }\n"
          "ENTRY main { x = f32[8] parameter(0) ROOT y = f32[8] all-reduce(x), channel_id=1, "
          "replica_groups={{0,1,2,3}}, to_apply=f }\n",
          &executable));
  EXPECT_CODE(
      INVALID_ARGUMENT,
      try_compile("HloModule m, num_partitions=4\n"
                  "f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
                  "ENTRY main { x = f32[8] parameter(0) ROOT y = f32[8] all-reduce(x), "
                  "channel_id=1, replica_groups={{0,1,2,9}}, to_apply=f }\n",
                  &executable));
  EXPECT_CODE(
      INVALID_ARGUMENT,
      try_compile("HloModule m, num_partitions=4\n"
                  "f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
                  "ENTRY main { x = f32[8] parameter(0) ROOT y = f32[8] all-reduce(x), "
                  "channel_id=1, replica_groups={{0,1},{1,2,3}}, to_apply=f }\n",
                  &executable));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_collective_gives_its_numbers),
      cmocka_unit_test(a_loop_reuses_its_rendezvous),
      cmocka_unit_test(one_that_fails_ends_all),
      cmocka_unit_test(what_is_not_built_is_named),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
