// shims.c - what Debian 12's static libraries (LLVM, libstdc++, libgcc's unwinder, OpenBLAS) ask of
// glibc and of Fortran that glibc 2.28 and a machine without Fortran do not have. tools/portable/cc
// links it into every program and library of `make wheel`; each answers as the real one does.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

// glibc 2.32: true while the process has never had a second thread. False is always safe: atomic
// operations are used then.
HIDDEN char __libc_single_threaded = 0;

// glibc 2.36
HIDDEN uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
  }
  return value;
}

// glibc 2.33: mallinfo with sizes that do not wrap at 4 GiB; these do. LLVM asks for the bytes in
// use, for statistics that it prints on request only.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
HIDDEN struct mallinfo2 mallinfo2(void) {
  struct mallinfo m = mallinfo();
  return (struct mallinfo2){(unsigned)m.arena,   (unsigned)m.ordblks,  (unsigned)m.smblks,
                            (unsigned)m.hblks,   (unsigned)m.hblkhd,   (unsigned)m.usmblks,
                            (unsigned)m.fsmblks, (unsigned)m.uordblks, (unsigned)m.fordblks,
                            (unsigned)m.keepcost};
}

// glibc 2.35: the loaded object that holds an address, for the unwinder.
struct wanted_object {
  uintptr_t address;
  struct dl_find_object *found;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *user) {
  struct wanted_object *wanted = user;
  const ElfW(Phdr) *frame = NULL;
  const ElfW(Phdr) *holder = NULL;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME)
      frame = segment;
    if (segment->p_type == PT_LOAD && wanted->address - begin < segment->p_memsz)
      holder = segment;
  }
  if (!holder || !frame)
    return 0;
  memset(wanted->found, 0, sizeof *wanted->found);
  wanted->found->dlfo_map_start = (void *)(info->dlpi_addr + holder->p_vaddr);
  wanted->found->dlfo_map_end = (char *)wanted->found->dlfo_map_start + holder->p_memsz;
  wanted->found->dlfo_eh_frame = (void *)(info->dlpi_addr + frame->p_vaddr);
  return 1;
}

HIDDEN int _dl_find_object(void *address, struct dl_find_object *found) {
  struct wanted_object wanted = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_at_object, &wanted) ? 0 : -1;
}

// Code that was compiled for programs takes stdin for a variable of its own file, which it is not
// in a shared library. There --wrap=stdin gives it this one.
extern FILE *__real_stdin __attribute__((weak));
HIDDEN FILE *__wrap_stdin = NULL;
__attribute__((constructor)) static void copy_stdin(void) {
  if (&__real_stdin)
    __wrap_stdin = __real_stdin;
}

// libgfortran: `a // b`, cut or filled with blanks to the length of the result. LAPACK makes names
// of options with it.
void _gfortran_concat_string(
    size_t length, char *to, size_t length_a, const char *a, size_t length_b, const char *b);
HIDDEN void _gfortran_concat_string(
    size_t length, char *to, size_t length_a, const char *a, size_t length_b, const char *b) {
  size_t from_a = length_a < length ? length_a : length;
  size_t from_b = length_b < length - from_a ? length_b : length - from_a;
  memcpy(to, a, from_a);
  memcpy(to + from_a, b, from_b);
  memset(to + from_a + from_b, ' ', length - from_a - from_b);
}

// libmicrohttpd as Debian builds it has TLS by GnuTLS; hloscope serves on 127.0.0.1 without. Asked
// for TLS all the same, it is told that there is none.
#define NO_TLS -1250  // GNUTLS_E_UNIMPLEMENTED_FEATURE
#define GNUTLS(name) \
  int gnutls_##name(void); \
  HIDDEN int gnutls_##name(void) { \
    return NO_TLS; \
  }
GNUTLS(alpn_set_protocols)
GNUTLS(bye)
GNUTLS(certificate_allocate_credentials)
GNUTLS(certificate_free_credentials)
GNUTLS(certificate_server_set_request)
GNUTLS(certificate_set_dh_params)
GNUTLS(certificate_set_retrieve_function2)
GNUTLS(certificate_set_retrieve_function3)
GNUTLS(certificate_set_x509_key_mem)
GNUTLS(certificate_set_x509_key_mem2)
GNUTLS(certificate_set_x509_trust_mem)
GNUTLS(cipher_get)
GNUTLS(credentials_set)
GNUTLS(deinit)
GNUTLS(dh_params_deinit)
GNUTLS(dh_params_import_pkcs3)
GNUTLS(dh_params_init)
GNUTLS(global_deinit)
GNUTLS(handshake)
GNUTLS(init)
GNUTLS(priority_deinit)
GNUTLS(priority_init)
GNUTLS(priority_set)
GNUTLS(protocol_get_version)
GNUTLS(psk_allocate_server_credentials)
GNUTLS(psk_free_server_credentials)
GNUTLS(psk_set_server_credentials_function)
GNUTLS(record_check_pending)
GNUTLS(record_get_direction)
GNUTLS(record_recv)
GNUTLS(record_send)
GNUTLS(session_get_ptr)
GNUTLS(session_set_ptr)
GNUTLS(transport_set_int2)
HIDDEN int gnutls_global_init(void);
HIDDEN int gnutls_global_init(void) {
  return 0;  // libmicrohttpd calls it when it is loaded and stops the process otherwise
}
HIDDEN const char *gnutls_strerror(int code);
HIDDEN const char *gnutls_strerror(int code) {
  (void)code;
  return "built without TLS";
}
void *(*gnutls_malloc)(size_t)HIDDEN = NULL;
