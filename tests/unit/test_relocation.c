// test_relocation.c - relocations of both processors, on either: the encodings are those that
// objdump shows for the instructions named beside them.
#include "unit.h"

#include <elf.h>
#include <string.h>

#include "cpu/core/relocation.h"

enum { IMAGE_BYTES = 3 * 4096 };
static uint8_t image[IMAGE_BYTES] __attribute__((aligned(4096)));

static hsc_cpu_relocation made(uint32_t type, size_t place, size_t symbol, int64_t addend) {
  return (hsc_cpu_relocation){.type = type,
                              .image = image,
                              .place = place,
                              .place_bytes = IMAGE_BYTES - place,
                              .symbol = symbol,
                              .addend = addend};
}

static uint32_t word_at(size_t place) {
  uint32_t word;
  memcpy(&word, image + place, 4);
  return word;
}

typedef struct encoding {
  uint32_t type;
  size_t place, symbol;
  int64_t addend;
  uint32_t before, after;
} encoding;

static void instructions_of_aarch64_get_what_they_refer_to(void **state) {
  static const encoding cases[] = {
      // bl 0 -> bl .+0x1000; bl .-0x1000
      {R_AARCH64_CALL26, 0x100, 0x1100, 0, 0x94000000, 0x94000400},
      {R_AARCH64_CALL26, 0x1100, 0x100, 0, 0x94000000, 0x97fffc00},
      {R_AARCH64_JUMP26, 0x100, 0x104, 0, 0x14000000, 0x14000001},  // b .+4
      // adrp x0, the second page after; the page before
      {R_AARCH64_ADR_PREL_PG_HI21, 0xffc, 0x2010, 0, 0x90000000, 0xd0000000},
      {R_AARCH64_ADR_PREL_PG_HI21, 0x1000, 0xff8, 0, 0x90000000, 0xf0ffffe0},
      {R_AARCH64_ADR_PREL_LO21, 0x10, 0x15, 0, 0x10000001, 0x30000021},     // adr x1, .+5
      {R_AARCH64_ADD_ABS_LO12_NC, 0, 0x1230, 8, 0x91000000, 0x9108e000},    // add x0, x0, #0x238
      {R_AARCH64_LDST8_ABS_LO12_NC, 0, 0x1231, 0, 0x39400000, 0x3948c400},  // ldrb w0, [x0, #0x231]
      {R_AARCH64_LDST16_ABS_LO12_NC, 0, 0x1232, 0, 0x79400000,
       0x79446400},  // ldrh w0, [x0, #0x232]
      {R_AARCH64_LDST32_ABS_LO12_NC, 0, 0x1234, 0, 0xbd400000, 0xbd423400},  // ldr s0, [x0, #0x234]
      {R_AARCH64_LDST64_ABS_LO12_NC, 0, 0x1238, 0, 0xfd400000, 0xfd411c00},  // ldr d0, [x0, #0x238]
      {R_AARCH64_LDST128_ABS_LO12_NC, 0, 0x1240, 0, 0x3dc00000,
       0x3dc09000},  // ldr q0, [x0, #0x240]
      {R_AARCH64_PREL32, 0x40, 0x20, 4, 0, 0xffffffe4},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    const encoding *c = &cases[i];
    memcpy(image + c->place, &c->before, 4);
    hsc_cpu_relocation r = made(c->type, c->place, c->symbol, c->addend);
    EXPECT_OK(hsc_cpu_relocate(EM_AARCH64, &r));
    if (word_at(c->place) != c->after)
      fail_msg("type %u: %08x, not %08x", c->type, word_at(c->place), c->after);
  }
}

static void references_of_x86_64_are_relative_to_where_they_stand(void **state) {
  hsc_cpu_relocation r = made(R_X86_64_PLT32, 0x100, 0x200, -4);
  EXPECT_OK(hsc_cpu_relocate(EM_X86_64, &r));
  assert_int_equal(word_at(0x100), 0xfc);
  r = made(R_X86_64_GOTPCREL, 0x100, 0x200, -4);
  EXPECT_CODE(UNIMPLEMENTED, hsc_cpu_relocate(EM_X86_64, &r));
  r.outside = true;
  EXPECT_OK(hsc_cpu_relocate(EM_X86_64, &r));
  assert_int_equal(word_at(0x100), 0x104);  // the address stands in the stub's last 8 bytes
}

// An address within the code is written whole; one outside of it is in the table.
static void addresses_are_of_the_image(void **state) {
  static const struct {
    uint16_t machine;
    uint32_t type;
  } absolute[] = {{EM_X86_64, R_X86_64_64}, {EM_AARCH64, R_AARCH64_ABS64}};
  for (size_t i = 0; i < HSC_COUNT_OF(absolute); i++) {
    hsc_cpu_relocation r = made(absolute[i].type, 0x80, 0x90, 2);
    uint8_t *address;
    EXPECT_OK(hsc_cpu_relocate(absolute[i].machine, &r));
    memcpy(&address, image + 0x80, sizeof address);
    assert_ptr_equal(address, image + 0x92);
    r.outside = true;
    EXPECT_CODE(UNIMPLEMENTED, hsc_cpu_relocate(absolute[i].machine, &r));
    r.outside = false;
    r.place_bytes = 7;
    EXPECT_CODE(DATA_LOSS, hsc_cpu_relocate(absolute[i].machine, &r));
  }
}

static void what_cannot_be_reached_is_refused(void **state) {
  static const encoding cases[] = {
      {R_AARCH64_CALL26, 0, 0, 1 << 27, 0, 0},
      {R_AARCH64_CALL26, 0, 2, 0, 0, 0},  // not at an instruction
      {R_AARCH64_ADR_PREL_LO21, 0, 0, 1 << 20, 0, 0},
      {R_AARCH64_ADR_PREL_PG_HI21, 0, 0, INT64_C(1) << 33, 0, 0},
      {R_AARCH64_LDST128_ABS_LO12_NC, 0, 8, 0, 0, 0},
      {R_AARCH64_PREL32, 0, 0, INT64_C(1) << 32, 0, 0},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_cpu_relocation r = made(cases[i].type, cases[i].place, cases[i].symbol, cases[i].addend);
    EXPECT_CODE(DATA_LOSS, hsc_cpu_relocate(EM_AARCH64, &r));
  }
  hsc_cpu_relocation r = made(R_X86_64_PC32, 0, 0, INT64_C(1) << 32);
  EXPECT_CODE(DATA_LOSS, hsc_cpu_relocate(EM_X86_64, &r));
  r = made(R_AARCH64_TLSDESC, 0, 0, 0);
  EXPECT_CODE(UNIMPLEMENTED, hsc_cpu_relocate(EM_AARCH64, &r));
}

static void the_stub_of_this_machine_jumps(void **state) {
  uint8_t stub[HSC_CPU_STUB_BYTES];
  hsc_cpu_write_stub(EM_AARCH64, stub, image);
  static const uint8_t ldr_br[8] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6};
  assert_memory_equal(stub, ldr_br, 8);  // ldr x16, .+8; br x16
  assert_int_not_equal(hsc_cpu_machine(), EM_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_of_aarch64_get_what_they_refer_to),
      cmocka_unit_test(references_of_x86_64_are_relative_to_where_they_stand),
      cmocka_unit_test(addresses_are_of_the_image),
      cmocka_unit_test(what_cannot_be_reached_is_refused),
      cmocka_unit_test(the_stub_of_this_machine_jumps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
