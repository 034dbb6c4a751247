// checks_bytes.c - arrays whose bytes, place or time a plugin that works on small whole numbers may
// not have met: every bit pattern, memory that ends with the array, buffers that go while they are
// read, copies that outlive what they were made of, pieces out of order.
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/random.h"
#include "lab/conform/conform_internal.h"

// ---- bit patterns -------------------------------------------------------------------------------

// The float types of hsc__conform_types, in their order.
static const conform_type *float_type(int number) {
  int seen = 0;
  for (int i = 0; i < hsc__conform_type_count; i++)
    if (strchr("fnc", hsc__conform_types[i].kind) && seen++ == number)
      return &hsc__conform_types[i];
  return NULL;
}

int hsc__conform_buffer_bits_count(void) {
  int count = 0;
  while (float_type(count))
    count++;
  return count;
}

void hsc__conform_buffer_bits_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%s", float_type(number)->text);
}

// Denormal numbers, both zeros, infinities, NaNs with and without a payload, and bits by chance,
// of one real number of that many bytes, the fraction of which has `fraction` bits.
static uint64_t pattern(hsc_random *random, size_t bytes, int fraction, int i) {
  uint64_t sign = 1ULL << (bytes * 8 - 1);
  uint64_t infinity = (sign - 1) & ~((1ULL << fraction) - 1);
  const uint64_t special[] = {1,        sign,         sign | 1,     (1ULL << fraction) - 1,
                              infinity, infinity | 1, sign | ~0ULL, infinity | sign};
  return i < (int)HSC_COUNT_OF(special) ? special[i] : hsc_random_u64(random);
}

void hsc__conform_buffer_bits(hsc_conform *c, int number) {
  enum { BYTES = 4096 };
  static unsigned char in[BYTES];
  static unsigned char out[BYTES];
  const conform_type *type = float_type(number);
  size_t real = type->kind == 'c' ? type->bytes / 2 : type->bytes;
  int fraction = real == 8 ? 52 : 23;
  if (real == 2)
    fraction = type->type == PJRT_Buffer_Type_BF16 ? 7 : 10;
  hsc_random random;
  hsc_random_init(&random, 1);
  for (size_t i = 0; i < BYTES / real; i++) {
    uint64_t bits = real == 1 ? i : pattern(&random, real, fraction, (int)i);
    memcpy(in + i * real, &bits, real);  // little-endian, as every host of the API is
  }
  int64_t dims[1] = {BYTES / (int64_t)type->bytes};
  PJRT_Buffer *buffer = hsc__conform_upload(c, type->type, dims, 1, in, BYTES);
  if (!buffer && c->outcome == HSC_CONFORM_FAIL && type->type != PJRT_Buffer_Type_F32)
    c->outcome = HSC_CONFORM_NOT_OFFERED;
  if (!buffer || !hsc__conform_download(c, buffer, 1, out, BYTES))
    return;
  for (size_t i = 0; i < BYTES; i += real) {
    uint64_t was = 0;
    uint64_t is = 0;
    memcpy(&was, in + i, real);
    memcpy(&is, out + i, real);
    EXPECT(c, was == is, "the bits 0x%llx came back as 0x%llx", (unsigned long long)was,
           (unsigned long long)is);
  }
}

// ---- the host's memory --------------------------------------------------------------------------

static const size_t lengths[] = {1, 3, 15, 33, 255, 1000};  // bytes

int hsc__conform_buffer_ends_count(void) {
  return (int)HSC_COUNT_OF(lengths);
}

void hsc__conform_buffer_ends_name(int number, char out_text[64]) {
  snprintf(out_text, 64, "%zu-bytes", lengths[number]);
}

// Two pages, of which the second one may not be touched; NULL ends the check.
static char *fenced_page(hsc_conform *c, size_t *out_page) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *out_page = page;
  if (pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE))
    return pages;
  hsc__conform_fail(c, "no memory");
  return NULL;
}

void hsc__conform_buffer_ends(hsc_conform *c, int number) {
  size_t page;
  size_t bytes = lengths[number];
  char *from = fenced_page(c, &page);
  char *to = from ? fenced_page(c, &page) : NULL;
  if (!to)
    return;
  unsigned char *in = (unsigned char *)from + page - bytes;
  unsigned char *out = (unsigned char *)to + page - bytes;
  for (size_t i = 0; i < bytes; i++)
    in[i] = (unsigned char)(i * 5 + 1);
  int64_t dims[1] = {(int64_t)bytes};
  hsc__conform_step(c,
                    "// the array, and where it is read to, end with a page; the next is "
                    "PROT_NONE");
  PJRT_Buffer *buffer = hsc__conform_upload(c, PJRT_Buffer_Type_U8, dims, 1, in, bytes);
  if (!buffer || !hsc__conform_download(c, buffer, 1, out, bytes))
    return;
  EXPECT(c, !memcmp(in, out, bytes), "%zu bytes came back changed", bytes);
  hsc__conform_buffer_free(c, buffer);
}

void hsc__conform_compile_ends(hsc_conform *c, int number) {
  size_t page;
  size_t size = strlen(hsc__conform_doubles);
  char *pages = hsc__conform_client(c) ? fenced_page(c, &page) : NULL;
  if (!pages)
    return;
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)hsc__conform_doubles,
                          .code_size = size,
                          .format = "mlir, and what follows it",
                          .format_size = 4};
  hsc__conform_step(c, "// the text ends with a page, without a zero; the next is PROT_NONE");
  hsc__conform_program_step(c, &program);
  program.code = memcpy(pages + page - size, hsc__conform_doubles, size);
  hsc_view options = hsc__conform_options_proto(c);
  PJRT_Client_Compile_Args args =
      ARGS_OF(PJRT_Client_Compile, .client = c->client, .program = &program,
              .compile_options = options.data, .compile_options_size = options.size);
  if (!hsc__conform_offered(c, HSC_FN_PJRT_Client_Compile, &args))
    return;
  munmap(pages, page);  // borrowed for the call, and no longer
  hsc__conform_expect_times(
      c, hsc__conform_run_one(c, args.executable, hsc__conform_some_floats(c)), 2);
}

// ---- lifetimes ----------------------------------------------------------------------------------

enum { OTHERS = 16 };

// Arrays of other numbers, of the size of hsc__conform_some_floats: they take the memory that was
// just given back.
static void take_memory(hsc_conform *c) {
  static const float others[4] = {-1, -2, -3, -4};
  conform_place place = {0};
  for (int i = 0; i < OTHERS && c->outcome == HSC_CONFORM_PASS; i++) {
    if (i == 1)
      place = hsc__conform_silence(c);
    hsc__conform_upload(c, PJRT_Buffer_Type_F32, hsc__conform_four, 1, others, sizeof others);
  }
  if (c->outcome == HSC_CONFORM_PASS)
    hsc__conform_resume(c, place);
}

void hsc__conform_buffer_read_destroyed(hsc_conform *c, int number) {
  float out[4] = {0};
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_ToHostBuffer_Args args =
      ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = buffer, .dst = out, .dst_size = sizeof out);
  hsc__conform_step(c, "static float out[4];");
  hsc__conform_name(c, out, "out");
  if (!buffer || !OK(c, PJRT_Buffer_ToHostBuffer, &args))
    return;
  hsc__conform_buffer_free(c, buffer);
  take_memory(c);
  if (c->outcome != HSC_CONFORM_PASS ||
      !hsc__conform_await(c, args.event, "the event of PJRT_Buffer_ToHostBuffer"))
    return;
  for (int i = 0; i < 4; i++)
    EXPECT(c, out[i] == hsc__conform_one_to_four[i],
           "element %d is %g: the read had begun before the buffer was destroyed", i, out[i]);
}

void hsc__conform_buffer_copy_stays(hsc_conform *c, int number) {
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_Memory_Args at = ARGS_OF(PJRT_Buffer_Memory, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_Buffer_Memory, &at))
    return;
  PJRT_Buffer_CopyToMemory_Args args =
      ARGS_OF(PJRT_Buffer_CopyToMemory, .buffer = buffer, .dst_memory = at.memory);
  if (!OK(c, PJRT_Buffer_CopyToMemory, &args))
    return;
  hsc__conform_buffer_free(c, buffer);
  take_memory(c);
  if (c->outcome == HSC_CONFORM_PASS)
    hsc__conform_expect_times(c, args.dst_buffer, 1);
}

// ---- pieces -------------------------------------------------------------------------------------

void hsc__conform_manager_order(hsc_conform *c, int number) {
  PJRT_Device_DefaultMemory_Args memory =
      ARGS_OF(PJRT_Device_DefaultMemory, .device = hsc__conform_device(c, 0));
  if (!memory.device || !OK(c, PJRT_Device_DefaultMemory, &memory))
    return;
  PJRT_ShapeSpec spec = {.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                         .dims = hsc__conform_four,
                         .num_dims = 1,
                         .element_type = PJRT_Buffer_Type_F32};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args make =
      ARGS_OF(PJRT_Client_CreateBuffersForAsyncHostToDevice, .client = c->client,
              .shape_specs = &spec, .num_shape_specs = 1, .memory = memory.memory);
  if (!OK(c, PJRT_Client_CreateBuffersForAsyncHostToDevice, &make))
    return;
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args get =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer,
              .transfer_manager = make.transfer_manager, .buffer_index = 0);
  if (!OK(c, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, &get))
    return;
  for (int part = 3; part >= 0; part--) {
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args put =
        ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_TransferData,
                .transfer_manager = make.transfer_manager, .data = hsc__conform_one_to_four + part,
                .offset = part * (int64_t)sizeof(float), .transfer_size = sizeof(float),
                .is_last_transfer = part == 0);
    if (!OK(c, PJRT_AsyncHostToDeviceTransferManager_TransferData, &put) ||
        !hsc__conform_await(c, put.done_with_h2d_transfer, "a transfer"))
      return;
  }
  hsc__conform_expect_times(c, get.buffer_out, 1);
}

// ---- memory in use ------------------------------------------------------------------------------

// -1 ends the check.
static int64_t in_use(hsc_conform *c) {
  PJRT_Device_MemoryStats_Args args =
      ARGS_OF(PJRT_Device_MemoryStats, .device = hsc__conform_device(c, 0));
  return args.device && OK(c, PJRT_Device_MemoryStats, &args) ? args.bytes_in_use : -1;
}

void hsc__conform_client_in_use(hsc_conform *c, int number) {
  enum { MIB = 1 << 20, SIZE = 16 * MIB, TRIES = 200, PAUSE_NS = 10000000 };
  static const int64_t dims[1] = {SIZE};
  int64_t before = in_use(c);
  void *data = before < 0 ? NULL : hsc_arena_alloc(c->arena, SIZE);
  PJRT_Buffer *buffer =
      data ? hsc__conform_upload(c, PJRT_Buffer_Type_U8, dims, 1, memset(data, 1, SIZE), SIZE)
           : NULL;
  int64_t with = buffer ? in_use(c) : -1;
  if (with < 0)
    return;
  EXPECT(c, with >= before + SIZE, "%lld bytes are in use before an array of 16 MiB, %lld with it",
         (long long)before, (long long)with);
  hsc__conform_buffer_free(c, buffer);
  int64_t after = in_use(c);
  conform_place place = hsc__conform_silence(c);
  for (int i = 0; i < TRIES && after > with - SIZE / 2; i++) {  // it may be given back later
    hsc_sleep_ns(PAUSE_NS);
    after = in_use(c);
  }
  hsc__conform_resume(c, place);
  EXPECT(c, after <= with - SIZE / 2,
         "%lld bytes are in use with an array of 16 MiB, %lld after it", (long long)with,
         (long long)after);
}
